// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/filter.h"
#include "analysis/lock_table.h"
#include "analysis/report_model.h"
#include "analysis/stack_table.h"
#include "analysis/task_table.h"

namespace rtnlprof {

struct LockReportContext {
  const TaskTable& tasks;
  StackTable& stacks;
  const Filter& filter;
  const std::vector<bool>& shown;  // by TaskNo: whose waits are shown
  std::int64_t end_ns = 0;         // of the recording
  std::int64_t realtime_offset_ns = kUnknownTime;
  bool always_list_rtnl = false;  // also without a single wait
  std::size_t worst_limit = 10;
};

struct LockReports {
  std::vector<LockReport> locks;                             // most waited for first
  std::vector<std::uint64_t> lock_wait_ns;                   // by TaskNo: it waited
  std::vector<std::uint64_t> waited_on_ns;                   // by TaskNo: shown waiters waited for it
  std::map<const InFlightRecord*, TaskNo> in_flight_owners;  // who holds the lock at the end, kNoTask = unknown
};

// One report per lock name. `table` must have been infer()red.
[[nodiscard]] LockReports make_lock_reports(LockTable& table, const LockReportContext& context);

// UTC, microseconds: "2026-01-31T12:00:00.123456Z". Empty when `offset_ns` (to CLOCK_REALTIME) is unknown.
[[nodiscard]] std::string wall_clock(std::int64_t at_ns, std::int64_t offset_ns);

}  // namespace rtnlprof
