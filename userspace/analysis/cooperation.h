// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/flat_index.h"
#include "analysis/report_model.h"
#include "analysis/task_table.h"

namespace rtnlprof {

// Who woke whom, and how much sleep it ended (LinuxKI's cooperating/competing tasks).
class Cooperations {
 public:
  // `waker` counts only in task context: in an interrupt the task is the interrupted one, and innocent.
  void add(TaskNo sleeper, TaskNo waker, WakerContext context, std::uint64_t wakeups, std::uint64_t sleep_ns);

  // One row per pair, by sleeper and by waker. `sleep_of` gives a task's whole sleep, the base of the shares.
  struct Lists {
    std::vector<std::vector<Cooperation>> woke;      // by TaskNo
    std::vector<std::vector<Cooperation>> woken_by;  // by TaskNo
  };
  using SleepOf = std::function<std::optional<std::uint64_t>(TaskNo)>;
  // Sorted by sleep, then by count, most first.
  [[nodiscard]] Lists lists(const TaskTable& tasks, const SleepOf& sleep_of) const;
  // Wakeups each task issued, by TaskNo.
  [[nodiscard]] std::vector<std::uint64_t> wakeups_issued(std::size_t task_count) const;

 private:
  struct Key {
    TaskNo sleeper;
    TaskNo waker;  // kNoTask outside of task context
    WakerContext context;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::uint64_t operator()(const Key& key) const {
      return mix_bits((std::uint64_t{key.sleeper} << 32U | key.waker) ^
                      (static_cast<std::uint64_t>(key.context) << 61U));
    }
  };
  struct Value {
    std::uint64_t count = 0;
    std::uint64_t sleep_ns = 0;
  };
  FlatIndex<Key, Hash> pairs_;
  std::vector<Value> values_;
};

}  // namespace rtnlprof
