// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/cooperation.h"

#include <algorithm>

namespace rtnlprof {
namespace {

// LinuxKI's words: ICS is the interrupt control stack, "woken from interrupt context".
TaskRef interrupt_ref() {
  TaskRef ref;
  ref.tid = -1;
  ref.pid = -1;
  ref.comm = "ICS";
  return ref;
}

void sort_rows(std::vector<Cooperation>& rows) {
  std::sort(rows.begin(), rows.end(), [](const Cooperation& a, const Cooperation& b) {
    if (a.sleep_ns != b.sleep_ns) return a.sleep_ns > b.sleep_ns;
    if (a.count != b.count) return a.count > b.count;
    if (a.context != b.context) return a.context < b.context;
    return task_order(a.task, b.task);
  });
}

}  // namespace

void Cooperations::add(TaskNo sleeper, TaskNo waker, WakerContext context, std::uint64_t wakeups,
                       std::uint64_t sleep_ns) {
  if (context == WakerContext::kTask && waker == kNoTask) context = WakerContext::kUnknown;
  if (context != WakerContext::kTask) waker = kNoTask;
  Value& value = value_at(pairs_, values_, Key{sleeper, waker, context});
  value.count += wakeups;
  value.sleep_ns += sleep_ns;
}

Cooperations::Lists Cooperations::lists(const TaskTable& tasks, const SleepOf& sleep_of) const {
  Lists lists;
  lists.woke.resize(tasks.size());
  lists.woken_by.resize(tasks.size());
  for (std::uint32_t i = 0; i < pairs_.size(); ++i) {
    const Key& key = pairs_.key(i);
    Cooperation row;
    row.context = key.context;
    row.count = values_[i].count;
    row.sleep_ns = values_[i].sleep_ns;
    // Both halves have the sleeper's whole sleep as their base.
    const std::optional<std::uint64_t> whole = sleep_of(key.sleeper);
    if (whole && *whole > 0) row.share = static_cast<double>(row.sleep_ns) / static_cast<double>(*whole);
    if (key.context == WakerContext::kTask) {
      row.task = tasks.ref(key.sleeper);
      lists.woke[key.waker].push_back(row);
      row.task = tasks.ref(key.waker);
    } else if (key.context == WakerContext::kUnknown) {
      row.task.comm = "unknown";
    } else {
      row.task = interrupt_ref();
    }
    lists.woken_by[key.sleeper].push_back(std::move(row));
  }
  for (auto& rows : lists.woke) sort_rows(rows);
  for (auto& rows : lists.woken_by) sort_rows(rows);
  return lists;
}

std::vector<std::uint64_t> Cooperations::wakeups_issued(std::size_t task_count) const {
  std::vector<std::uint64_t> issued(task_count);
  for (std::uint32_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_.key(i).context == WakerContext::kTask) issued[pairs_.key(i).waker] += values_[i].count;
  }
  return issued;
}

}  // namespace rtnlprof
