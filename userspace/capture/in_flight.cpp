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

std::optional<InFlightFacts> in_flight_facts(const rp_snapshot& task, std::int64_t start_ns, std::int64_t offset_ns,
                                             bool at_end) {
  if (task.state == 0 || task.on_cpu != 0) return std::nullopt;
  InFlightFacts facts;
  InFlight& event = facts.event;
  event.task = task.task_id;
  event.state = state_letter(task.state);
  event.at_end = at_end;
  const bool seen_to_sleep = task.out_ns != 0 && (task.sleep_flags & RP_SLEEP_BEFORE) == 0;
  if (seen_to_sleep) {
    event.since_ns = static_cast<std::int64_t>(task.out_ns);
    facts.kernel_stack_hash = task.kernel_stack;
    facts.user_stack_hash = task.user_stack;
  } else if (offset_ns != kUnknownTime && last_run_ns(task) != 0) {
    event.since_ns = static_cast<std::int64_t>(last_run_ns(task)) + offset_ns;
    if (task.out_ns != 0) event.since_ns = std::min(event.since_ns, start_ns);
  }
  event.started_before_recording = !seen_to_sleep && (event.since_ns == kUnknownTime || event.since_ns <= start_ns);
  if (task.wait.lock != 0) {
    event.lock = task.wait.lock;
    event.kind = lock_kind(task.wait.first_flags);
    event.owner = task.wait.owner_id;
    event.owner_is_one_of_many = (task.wait.owner_flags & RP_OWNER_ONE_OF_MANY) != 0;
    event.since_ns = static_cast<std::int64_t>(task.wait.begin_ns);
    facts.kernel_stack_hash = task.wait.kernel_stack;
    facts.user_stack_hash = task.wait.user_stack;
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
