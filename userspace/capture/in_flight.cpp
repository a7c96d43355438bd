// SPDX-License-Identifier: BSD-2-Clause
#include "capture/in_flight.h"

#include <algorithm>

#include "capture/translator.h"

namespace rtnlprof {
namespace {

std::uint64_t last_run_ns(const rp_snapshot& task) {
  // sched_info.last_arrival follows the run queue's clock; se.exec_start that of task time, which leaves out
  // interrupts and stolen time, and so falls behind.
  return task.last_arrival_ns != 0 ? task.last_arrival_ns : task.exec_start_ns;
}

LockKind kind_of_blocker(std::uint64_t blocker) {
  switch (blocker & RP_BLOCKER_MASK) {
    case RP_BLOCKER_MUTEX:
      return LockKind::kMutex;
    case RP_BLOCKER_RWSEM_READER:
      return LockKind::kRwsemRead;
    case RP_BLOCKER_RWSEM_WRITER:
      return LockKind::kRwsemWrite;
    default:
      return LockKind::kUnknown;
  }
}

}  // namespace

std::int64_t scheduler_clock_offset_ns(std::span<const rp_snapshot> snapshot) {
  std::int64_t best = kUnknownTime;
  for (const rp_snapshot& task : snapshot) {
    if (last_run_ns(task) == 0) continue;
    const auto offset = static_cast<std::int64_t>(task.now_ns) - static_cast<std::int64_t>(last_run_ns(task));
    if (best == kUnknownTime || offset < best) best = offset;
  }
  return best;
}

const rp_slot* InFlightBuilder::slot_of(const rp_snapshot& task) const {
  for (std::uint32_t i = 0; i < RP_SLOT_PROBES; ++i) {
    const rp_slot& slot = slots_[(task.tid + i) & (slots_.size() - 1)];
    if (slot.tid == task.tid) return &slot;
  }
  return nullptr;
}

std::optional<InFlightFacts> InFlightBuilder::facts(const rp_snapshot& task) const {
  if (task.state == 0 || task.on_cpu != 0) return std::nullopt;
  InFlightFacts facts;
  InFlight& event = facts.event;
  event.task = task.task_id;
  event.state = state_letter(task.state);
  event.at_end = at_end_;
  const rp_slot* slot = slot_of(task);
  const bool seen_to_sleep = slot != nullptr && slot->out_ns != 0 && (slot->sleep_flags & RP_SLEEP_BEFORE) == 0;
  if (seen_to_sleep) {
    event.since_ns = static_cast<std::int64_t>(slot->out_ns);
    facts.kernel_stack_hash = slot->kernel_stack;
    facts.user_stack_hash = slot->user_stack;
  } else if (offset_ns_ != kUnknownTime && last_run_ns(task) != 0) {
    event.since_ns = std::min(static_cast<std::int64_t>(last_run_ns(task)) + offset_ns_, start_ns_);
  }
  event.started_before_recording = !seen_to_sleep;
  if (slot != nullptr) {
    for (const rp_pending_wait& wait : slot->waits) {
      if (wait.lock == 0) continue;
      event.lock = wait.lock;
      event.kind = lock_kind(wait.first_flags);
      event.owner = wait.owner_id;
      event.owner_is_one_of_many = (wait.owner_flags & RP_OWNER_ONE_OF_MANY) != 0;
      event.since_ns = static_cast<std::int64_t>(wait.begin_ns);
      facts.kernel_stack_hash = wait.kernel_stack;
      facts.user_stack_hash = wait.user_stack;
    }
  }
  if (task.blocker != 0) {
    event.lock = task.blocker & ~static_cast<std::uint64_t>(RP_BLOCKER_MASK);
    event.kind = kind_of_blocker(task.blocker);
    // Read this very moment, while the owner at the begin of the wait may be history.
    if (task.owner_of_blocker != 0) event.owner = static_cast<TaskId>(task.owner_of_blocker);
  }
  return facts;
}

}  // namespace rtnlprof
