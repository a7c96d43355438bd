// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/flat_index.h"
#include "analysis/report_model.h"
#include "analysis/stack_table.h"
#include "analysis/task_table.h"

namespace rtnlprof {

// Count, sum and maximum of durations.
struct DurationSum {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t max_ns = 0;

  void add(std::uint64_t duration_ns);
  void add(const DurationSum& other);
};

// Sleeps of all tasks, summed up by task and stack; sleeps without a record of their own, or shorter than asked for,
// are one remainder per task.
class SleepTable {
 public:
  void add(TaskNo task, const Sleep& sleep, std::uint64_t duration_ns, std::int32_t syscall);
  void add_remainder(TaskNo task, const DurationSum& sum);

  // What the tables of some tasks' sleeps are made of.
  struct Row {
    TaskNo task = kNoTask;
    StackId kernel_stack = 0;
    StackId user_stack = 0;
    char state = '?';
    std::int32_t syscall = -1;  // as given to add(); kMixedSyscalls
    DurationSum sum;
  };
  static constexpr std::int32_t kMixedSyscalls = -2;

  // Sorted by task.
  [[nodiscard]] std::vector<Row> rows() const;
  [[nodiscard]] DurationSum remainder(TaskNo task) const;

 private:
  struct Key {
    TaskNo task;
    StackId kernel_stack;
    StackId user_stack;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::uint64_t operator()(const Key& key) const {
      return mix_bits((std::uint64_t{key.task} << 32U | key.kernel_stack) ^ mix_bits(key.user_stack));
    }
  };
  struct Value {
    DurationSum sum;
    std::int32_t syscall = -1;
    char state = '?';
  };
  FlatIndex<Key, Hash> keys_;
  std::vector<Value> values_;
  std::vector<DurationSum> remainders_;  // by task
};

// Tables of a set of rows (one task, or all). `totals` gives the bases of the shares; unknown bases give unknown
// shares. Rows with equal symbols are merged; sorted by time, longest first.
struct SleepTables {
  std::vector<SleepFunction> functions;
  std::vector<SleepStack> stacks;
};
struct SleepTableOptions {
  bool user_frames = true;                                  // false: stacks that differ in user frames only are merged
  std::string remainder_label;                              // "(shorter than 1ms)"
  std::string arch;                                         // for system call names
  const std::vector<std::string>* syscall_names = nullptr;  // for numbers from kNamedSyscalls on
};
// System calls of imported streams, given by name: this plus their number in SleepTableOptions::syscall_names.
inline constexpr std::int32_t kNamedSyscalls = 1 << 20;

[[nodiscard]] SleepTables make_sleep_tables(const SleepTable::Row* begin, const SleepTable::Row* end,
                                            const DurationSum& remainder, const SchedulerReport& totals,
                                            StackTable& stacks, const SleepTableOptions& options);

}  // namespace rtnlprof
