// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What rtnl-workload can do. Each mode starts its processes, lets them work until the deadline or `board.stop`, and
// returns the truth: what each of them did, as measured from user space.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "workload/process.h"

namespace rtnlprof::workload {

struct WorkloadOptions {
  std::string mode = "storm";
  std::string hold_kind = "sleep";  // ladder: what the holder does while it holds, sleep or run
  std::string truth;                // file for the truth; empty: stdout
  std::int64_t duration_ns = 5 * kSecond;
  std::int64_t hold_ns = 20 * kMillisecond;
  int processes = 4;
  int threads = 1;
  int churners = 2;
  std::uint64_t seed = 1;
};

// One holder keeps the RTNL for `hold_ns`, again and again; every victim makes one cheap request in each hold, so
// that what the request takes is what it waited.
nlohmann::json run_ladder(Board& board, const WorkloadOptions& options);
// One holder keeps the RTNL from before the line "ready" on stderr until the end; every victim waits all that time.
nlohmann::json run_hold(Board& board, const WorkloadOptions& options);
// Devices and namespaces come and go while victims ask about theirs.
nlohmann::json run_storm(Board& board, const WorkloadOptions& options);

// Starts processes x threads victims, each running `work` with its slot (after `first_slot`) and index. Every one
// waits for `board.go` in between: `prepare` runs before it, one victim after the other.
void spawn_victims(Board& board, const WorkloadOptions& options, int first_slot,
                   const std::function<void(Slot&, int)>& prepare, const std::function<void(Slot&, int)>& work);
// Waits until the first `count` slots are ready (phase 1), then sets start_ns a little ahead and `go`.
void release_when_ready(Board& board, int count);
// For a worker: says that it is ready and waits for `go`. False: stopped before.
bool wait_for_go(Board& board, Slot& slot);

}  // namespace rtnlprof::workload
