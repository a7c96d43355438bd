// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <unordered_set>

#include "model/events.h"
#include "rtnlprof/bpf_events.h"

namespace rtnlprof {

// Short sleeps and other wakeups that the programs only count, by (sleeper, waker). The counts live in the slots, in
// the pairs map and in records; report() sends what has come since it was last called. One thread at a time.
class WakeupTotals {
 public:
  // A record that found no place in the map.
  void add(const rp_pair_record& record);
  // The task has exited: its pairs can leave the map once they are reported.
  void task_exited(TaskId task) { exited_.insert(task); }
  // Reads map and slots. With `final`, after the programs have stopped: wakeups that no switch-in consumed are counted
  // too. While they run, a count may be seen one report later, never twice.
  void report(int pairs_fd, std::span<const rp_slot> slots, bool final, EventSink& sink);

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // task, waker, context
  struct Total {
    rp_pair from_records{};
    rp_pair reported{};
  };
  void forget_exited(int pairs_fd);

  std::map<Key, Total> totals_;
  std::unordered_set<TaskId> exited_;
};

}  // namespace rtnlprof
