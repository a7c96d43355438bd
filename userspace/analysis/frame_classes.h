// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What kernel function names say, for kernels since 4.x. Names may carry compiler suffixes (.isra.0, .constprop.0,
// .part.0, .cold, .llvm.123); all functions here see through them.

#include <string_view>

#include "model/events.h"

namespace rtnlprof {

// `symbol` without compiler suffixes: "__mutex_lock.constprop.0" -> "__mutex_lock".
[[nodiscard]] std::string_view canonical_symbol(std::string_view symbol);

// Frames of the tracer itself, on top of stacks taken in a probe: bpf_prog_*, __traceiter_*, bpf_get_stackid, ...
[[nodiscard]] bool is_tracing_frame(std::string_view symbol);

// Frames every sleep has on top, and that say nothing about it: __schedule, schedule, schedule_timeout*,
// schedule_hrtimeout*, wait_for_common*, *cond_resched*, ... Not shown in stacks.
[[nodiscard]] bool is_scheduler_frame(std::string_view symbol);

// Scheduler frames and io_schedule*: shown in stacks, but never the name of a sleep.
[[nodiscard]] bool is_anonymous_sleep_frame(std::string_view symbol);

// What a frame of a lock's acquisition says about the lock.
enum class LockFrame : std::uint8_t {
  kNone = 0,
  kMutex,
  kRwsemRead,
  kRwsemWrite,
  kRwsem,  // reader or writer
  kRtmutex,
  kPercpuRwsemRead,
  kPercpuRwsemWrite,
  kSemaphore,
  kRtnl,  // rtnl_lock and its variants: a mutex, and which
};
[[nodiscard]] LockFrame classify_lock_frame(std::string_view symbol);

// True for functions that wait for rtnl_mutex themselves, by a tail call that leaves no rtnl_lock frame, or for a mutex
// that is rtnl_mutex under another name (netlink_dump's cb_mutex). To be asked of the first frame above a mutex.
[[nodiscard]] bool is_rtnl_waiter_frame(std::string_view symbol);

}  // namespace rtnlprof
