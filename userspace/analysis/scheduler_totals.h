// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/report_model.h"
#include "analysis/task_table.h"
#include "model/events.h"

namespace rtnlprof {

// Scheduling totals per task: as measured, and where they were not, summed up from single events.
class SchedulerTable {
 public:
  void set(TaskNo task, const SchedulerTotals& totals);  // replaces earlier ones
  void add_sleeps(TaskNo task, std::uint64_t sleeps, std::uint64_t sleep_ns);

  // `issued` counts the wakeups a task issued, `any_wakeups` says whether the stream could tell.
  [[nodiscard]] SchedulerReport report(TaskNo task, std::uint64_t issued, bool any_wakeups) const;
  // The whole sleep of a task; empty when nothing is known about it.
  [[nodiscard]] std::optional<std::uint64_t> sleep_ns(TaskNo task) const;
  [[nodiscard]] bool knows(TaskNo task) const { return task < entries_.size() && entries_[task].known; }

 private:
  struct Entry {
    SchedulerTotals totals;
    std::uint64_t sleeps = 0;
    std::uint64_t sleep_ns = 0;
    bool known = false;   // anything at all
    bool summed = false;  // sleeps and sleep_ns tell all there was
  };
  Entry& entry(TaskNo task);

  std::vector<Entry> entries_;
};

// Adds `part` to `sum`. What one of the two does not know, the sum does not know.
class SchedulerSum {
 public:
  void add(const SchedulerReport& part);
  [[nodiscard]] SchedulerReport result() const;

 private:
  SchedulerReport sum_;
  bool any_ = false;
};

// "SCHED_NORMAL"; empty when unknown.
[[nodiscard]] const char* policy_name(std::int32_t policy);

}  // namespace rtnlprof
