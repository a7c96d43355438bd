// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/events.h"

namespace rtnlprof {

// Parsers of /proc/PID files. Names in them are chosen by the task: a comm may hold blanks, parentheses and line
// breaks.

struct ProcStat {
  std::int32_t tid = 0;
  std::string comm;  // raw
  char state = '?';
  std::int32_t ppid = 0;
  bool kernel_thread = false;            // PF_KTHREAD
  std::int64_t start_ns = kUnknownTime;  // since boot, rounded down to a clock tick
};
// Text of /proc/PID/stat, `ticks_per_second` being sysconf(_SC_CLK_TCK).
[[nodiscard]] std::optional<ProcStat> parse_proc_stat(std::string_view text, long ticks_per_second);

struct ProcStatus {
  std::int32_t pid = 0;     // thread group, in the reader's namespace; 0 = unknown
  std::int32_t ns_tid = 0;  // innermost; 0 = the kernel does not tell
  std::int32_t ns_pid = 0;  // thread group in the innermost namespace; 0 likewise
  std::uint32_t uid = 0;    // effective
};
// Text of /proc/PID/status.
[[nodiscard]] ProcStatus parse_proc_status(std::string_view text);

// Text of /proc/PID/cmdline: arguments are ended by NUL, and joined by one space here.
[[nodiscard]] std::string join_cmdline(std::string_view text);

// Whether a task that started at `wanted_ns` can be the one that /proc says started at `proc_ns`: they agree to a clock
// tick.
[[nodiscard]] bool same_start(std::int64_t wanted_ns, std::int64_t proc_ns, long ticks_per_second);

}  // namespace rtnlprof
