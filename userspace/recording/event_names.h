// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The words of the event stream (rtnlprof.events/1) for enumerations.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/events.h"

namespace rtnlprof::events {

inline constexpr std::string_view kSchema = "rtnlprof.events/1";

inline constexpr std::array<std::string_view, 6> kWakerContexts{"task", "hardirq", "softirq",
                                                                "nmi",  "timer",   "unknown"};
inline constexpr std::array<std::string_view, 7> kLockKinds{
    "unknown", "mutex", "rwsem_read", "rwsem_write", "rtmutex", "percpu_rwsem_read", "percpu_rwsem_write"};
// include/uapi/linux/sched.h; 4 was SCHED_ISO and never came.
inline constexpr std::array<std::string_view, 8> kPolicies{
    "SCHED_NORMAL", "SCHED_FIFO", "SCHED_RR", "SCHED_BATCH", "", "SCHED_IDLE", "SCHED_DEADLINE", "SCHED_EXT"};

// Index of `word` in `words`; nothing when it is not among them.
template <std::size_t N>
[[nodiscard]] constexpr std::optional<std::size_t> index_of(const std::array<std::string_view, N>& words,
                                                            std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (!word.empty() && words[i] == word) return i;
  }
  return std::nullopt;
}

}  // namespace rtnlprof::events
