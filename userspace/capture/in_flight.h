// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/events.h"
#include "rtnlprof/bpf_events.h"

namespace rtnlprof {

// CLOCK_MONOTONIC minus the scheduler's clock, from a snapshot of all tasks: the one that was accounted last, the task
// that took the snapshot among them, has the scheduler's "now" to within a tick. kUnknownTime for an empty snapshot.
[[nodiscard]] std::int64_t scheduler_clock_offset_ns(std::span<const rp_snapshot> snapshot);

struct InFlightFacts {
  InFlight event;  // stacks not filled in
  std::uint64_t kernel_stack_hash = 0;
  std::uint64_t user_stack_hash = 0;
};

// What a task of a snapshot is in the middle of; nullopt: it runs, or is about to. `start_ns` is the recording's begin,
// `offset_ns` of scheduler_clock_offset_ns(). Pure.
[[nodiscard]] std::optional<InFlightFacts> in_flight_facts(const rp_snapshot& task, std::int64_t start_ns,
                                                           std::int64_t offset_ns, bool at_end);

}  // namespace rtnlprof
