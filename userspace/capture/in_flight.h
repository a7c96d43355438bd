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

// What a task of a snapshot is in the middle of. Pure.
class InFlightBuilder {
 public:
  InFlightBuilder(std::span<const rp_slot> slots, std::int64_t start_ns, std::int64_t offset_ns, bool at_end)
      : slots_(slots), start_ns_(start_ns), offset_ns_(offset_ns), at_end_(at_end) {}

  // nullopt: it runs or is about to.
  [[nodiscard]] std::optional<InFlightFacts> facts(const rp_snapshot& task) const;

 private:
  [[nodiscard]] const rp_slot* slot_of(const rp_snapshot& task) const;

  std::span<const rp_slot> slots_;
  std::int64_t start_ns_;
  std::int64_t offset_ns_;
  bool at_end_;
};

}  // namespace rtnlprof
