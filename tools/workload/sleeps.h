// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sleeps whose number, length, state and waker are known exactly. Between two of them a victim does nothing that could
// sleep: its memory is locked, delays are busy loops, nothing is printed.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workload/process.h"

namespace rtnlprof::workload {

inline constexpr int kMaxSleeps = 1000;

// One sleeping thread; in shared memory, written by its own process only.
struct Victim {
  char kind[16];
  char comm[16];
  char syscall[24];
  std::int32_t tid;
  std::int32_t pid;
  char state;  // S or D
  bool timer;  // ended by a timer interrupt; otherwise by the tasks in waker_tids
  std::int32_t count;
  std::int64_t total_ns;  // from just before the system call to just before the waker's wakeup (timer: to its return)
  std::int64_t max_ns;
  std::int64_t asked_ns;  // timer: what the sleeps were to last; total_ns has the time to get a CPU again on top
  char waker_comm[16];
  std::int32_t wakers;
  std::int32_t waker_tids[kMaxSleeps];
};

struct SleepOptions {
  int count = 50;
  std::int64_t sleep_ns = 10 * kMillisecond;
  bool fifo = false;  // SCHED_FIFO: the victims' own run-queue time does not blur the truth on a busy machine
};

// All kinds, in the order in which they run.
const std::vector<std::string>& sleep_kinds();
// Runs the victims of one kind to their end and returns them.
nlohmann::json run_sleeps(const std::string& kind, const SleepOptions& options);

// The kinds that can stay blocked: vfork (D), pipe (S), futex (S).
const std::vector<std::string>& blocked_kinds();
// Blocks one victim of each of `kinds`, prints "ready JSON" on stderr, and ends them at the deadline or on
// `board.stop`.
nlohmann::json run_blocked(Board& board, const std::vector<std::string>& kinds, std::int64_t duration_ns);

}  // namespace rtnlprof::workload
