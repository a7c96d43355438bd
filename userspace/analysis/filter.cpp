// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/filter.h"

#include <algorithm>

#include "base/text.h"

namespace rtnlprof {
namespace {

bool is_in_cgroup(std::string_view cgroup, std::string_view parent) {
  while (!parent.empty() && parent.back() == '/') parent.remove_suffix(1);
  if (!cgroup.starts_with(parent)) return false;
  return cgroup.size() == parent.size() || cgroup[parent.size()] == '/';
}

template <typename List, typename Predicate>
bool empty_or_any(const List& list, Predicate predicate) {
  return list.empty() || std::any_of(list.begin(), list.end(), predicate);
}

}  // namespace

bool Filter::selects_task(const Task& task) const {
  return empty_or_any(pids, [&](std::int32_t pid) { return pid == task.pid; }) &&
         empty_or_any(tids, [&](std::int32_t tid) { return tid == task.tid; }) &&
         empty_or_any(comms, [&](const std::string& glob) { return glob_match(glob, task.comm); }) &&
         empty_or_any(cgroups, [&](const std::string& path) { return is_in_cgroup(task.cgroup, path); });
}

bool Filter::selects_lock(std::string_view name) const {
  return empty_or_any(locks, [&](const std::string& glob) { return glob == name || glob_match(glob, name); });
}

bool Filter::restricts_tasks() const { return !pids.empty() || !tids.empty() || !comms.empty() || !cgroups.empty(); }

}  // namespace rtnlprof
