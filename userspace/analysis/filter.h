// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/events.h"

namespace rtnlprof {

// Whose waits and sleeps are shown. Values of one kind are alternatives, the kinds restrict each other; an empty kind
// does not restrict. Holders, wakers and owners are never filtered: they are the answer.
struct Filter {
  std::vector<std::int32_t> pids;    // thread groups
  std::vector<std::int32_t> tids;    // the host's
  std::vector<std::string> comms;    // globs
  std::vector<std::string> cgroups;  // paths; a cgroup stands for all below it, too
  std::vector<std::string> locks;    // names or globs
  std::uint64_t min_sleep_ns = 0;    // shorter sleeps are shown as one remainder
  std::uint64_t min_wait_ns = 0;     // shorter waits are left out

  [[nodiscard]] bool selects_task(const Task& task) const;
  [[nodiscard]] bool selects_lock(std::string_view name) const;
  // True when some tasks are not shown.
  [[nodiscard]] bool restricts_tasks() const;
};

}  // namespace rtnlprof
