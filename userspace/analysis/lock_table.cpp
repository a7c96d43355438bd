// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/lock_table.h"

#include <algorithm>
#include <tuple>

namespace rtnlprof {

void LockTable::add_wait(const Wait& wait, TaskNo task, TaskNo owner) {
  WaitRecord record;
  record.begin_ns = wait.begin_ns;
  record.end_ns = std::max(wait.begin_ns, wait.end_ns);
  record.lock = names_.number(wait.lock);
  record.task = task;
  record.owner = owner;
  record.stack = pair(wait.kernel_stack, wait.user_stack);
  record.kind = wait.kind;
  record.failed = wait.result < 0;
  waits_.push_back(record);
  const auto waited = static_cast<std::uint64_t>(record.end_ns - record.begin_ns);
  if (wait.spin_ns != kUnknownCount && record.lock != kNoLock && waited >= min_wait_ns_) {
    value_at(spin_keys_, spins_, spin_key(record.lock, task)) += wait.spin_ns;
  }
}

void LockTable::add_hold(const Hold& hold, TaskNo task) {
  holds_.push_back({hold.acquired_ns, std::max(hold.acquired_ns, hold.released_ns), names_.number(hold.lock), task,
                    pair(hold.kernel_stack, hold.user_stack)});
}

void LockTable::add_sleep(const Sleep& sleep, TaskNo task, TaskNo waker) {
  const bool slow_path = stacks_.in_lock_slow_path(sleep.kernel_stack);
  const bool blocked = sleep.state == 'D' || sleep.state == 'L';
  if (slow_path || (blocked && stacks_.is_incomplete(sleep.kernel_stack))) {
    sleeps_.push_back({sleep.out_ns, std::max(sleep.out_ns, sleep.wake_ns), task, waker,
                       pair(sleep.kernel_stack, sleep.user_stack), slow_path});
  }
}

void LockTable::add_in_flight(const InFlight& in_flight, TaskNo task, TaskNo owner) {
  InFlightRecord record;
  record.since_ns = in_flight.since_ns;
  record.lock = names_.number(in_flight.lock);
  record.task = task;
  record.owner = owner;
  record.stack = pair(in_flight.kernel_stack, in_flight.user_stack);
  record.kind = in_flight.kind;
  record.state = in_flight.state;
  record.on_lock = record.lock != kNoLock || stacks_.in_lock_slow_path(in_flight.kernel_stack);
  record.started_before_recording = in_flight.started_before_recording;
  record.at_end = in_flight.at_end;
  in_flight_.push_back(record);
}

bool LockTable::any_facts() const {
  const bool waiting = std::any_of(in_flight_.begin(), in_flight_.end(), [](const auto& r) { return r.on_lock; });
  return names_.any_named() || !waits_.empty() || !holds_.empty() || waiting;
}

void LockTable::infer() {
  name_locks();
  match_sleeps();
}

StackId LockTable::kernel_stack(std::uint32_t pair) const { return static_cast<StackId>(pairs_.key(pair) >> 32U); }

StackId LockTable::user_stack(std::uint32_t pair) const { return static_cast<StackId>(pairs_.key(pair)); }

const LockEvidence& LockTable::evidence(std::uint32_t pair) {
  if (pair >= evidence_.size()) evidence_.resize(pairs_.size());
  auto& [known, evidence] = evidence_[pair];
  if (!known) {
    evidence = stacks_.lock_evidence(kernel_stack(pair));
    known = true;
  }
  return evidence;
}

std::uint32_t LockTable::pair(StackId kernel, StackId user) {
  return pairs_.insert(std::uint64_t{kernel} << 32U | user);
}

void LockTable::name_locks() {
  FlatIndex<std::uint64_t> seen;  // (lock, stack)
  struct Seen {
    std::uint64_t count = 0;
    LockKind kind = LockKind::kUnknown;
  };
  std::vector<Seen> counts;
  const auto count = [&](LockNo lock, std::uint32_t stack, LockKind kind) {
    if (lock == kNoLock) return;
    Seen& entry = value_at(seen, counts, std::uint64_t{lock} << 32U | stack);
    ++entry.count;
    if (entry.kind == LockKind::kUnknown) entry.kind = kind;
  };
  for (const WaitRecord& wait : waits_) count(wait.lock, wait.stack, wait.kind);
  for (const InFlightRecord& record : in_flight_) count(record.lock, record.stack, record.kind);
  for (std::uint32_t i = 0; i < seen.size(); ++i) {
    const std::uint64_t key = seen.key(i);
    names_.observe(static_cast<LockNo>(key >> 32U), counts[i].kind, evidence(static_cast<std::uint32_t>(key)),
                   counts[i].count);
  }
  names_.resolve();
  for (WaitRecord& wait : waits_) {
    wait.lock =
        wait.lock == kNoLock ? names_.by_evidence(wait.kind, evidence(wait.stack)) : names_.canonical(wait.lock);
  }
  for (InFlightRecord& record : in_flight_) {
    record.lock = names_.canonical(record.lock);
    if (record.lock == kNoLock && record.on_lock) record.lock = names_.by_evidence(record.kind, evidence(record.stack));
  }
  for (ReleaseRecord& release : releases_) release.lock = names_.canonical(release.lock);
  for (HoldRecord& hold : holds_) {
    hold.lock = hold.lock == kNoLock ? names_.by_evidence(LockKind::kUnknown, evidence(hold.stack))
                                     : names_.canonical(hold.lock);
  }
}

// Sorts every kept sleep to the wait of its task that contains it. One in a slow path that lies in none is a wait of
// its own: the probes did not see it begin, or there were none.
void LockTable::match_sleeps() {
  if (sleeps_.empty()) return;
  std::sort(sleeps_.begin(), sleeps_.end(), [](const SleepRecord& a, const SleepRecord& b) {
    return std::tie(a.task, a.out_ns, a.wake_ns) < std::tie(b.task, b.out_ns, b.wake_ns);
  });
  std::vector<bool> has_sleeps(sleeps_.back().task + std::size_t{1});
  for (const SleepRecord& sleep : sleeps_) has_sleeps[sleep.task] = true;

  struct Span {
    TaskNo task;
    std::int64_t begin_ns;
    std::int64_t end_ns;
    std::uint32_t wait;  // UINT32_MAX: not finished
  };
  constexpr std::uint32_t kUnfinished = UINT32_MAX;
  std::vector<Span> spans;
  const auto add_span = [&](TaskNo task, std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t wait) {
    if (task < has_sleeps.size() && has_sleeps[task]) spans.push_back({task, begin_ns, end_ns, wait});
  };
  for (std::size_t i = 0; i < waits_.size(); ++i) {
    add_span(waits_[i].task, waits_[i].begin_ns, waits_[i].end_ns, static_cast<std::uint32_t>(i));
  }
  for (const InFlightRecord& record : in_flight_) {
    if (record.on_lock && record.at_end && record.since_ns != kUnknownTime) {
      add_span(record.task, record.since_ns, INT64_MAX, kUnfinished);
    }
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.task, a.begin_ns, a.end_ns, a.wait) < std::tie(b.task, b.begin_ns, b.end_ns, b.wait);
  });

  std::size_t next = 0;
  // Sleeps are given back as they turn into waits: with millions of them both at once would be too much.
  for (; !sleeps_.empty(); sleeps_.pop_front()) {
    const SleepRecord& sleep = sleeps_.front();
    // A task waits for one lock at a time, so its spans do not overlap: skip what ended before this sleep began. A
    // sleep that begins in a wait also ends in it, whatever the times say: the two may be of different clocks.
    while (next < spans.size() &&
           (spans[next].task < sleep.task || (spans[next].task == sleep.task && spans[next].end_ns <= sleep.out_ns))) {
      ++next;
    }
    if (next < spans.size() && spans[next].task == sleep.task && spans[next].begin_ns <= sleep.out_ns) {
      if (spans[next].wait != kUnfinished) {
        const WaitRecord& wait = waits_[spans[next].wait];
        add_release(wait, sleep.waker, std::min(sleep.wake_ns, wait.end_ns));
      }
      continue;
    }
    if (!sleep.slow_path) continue;
    const LockEvidence& found = evidence(sleep.stack);
    if (found.frame == LockFrame::kNone) continue;  // renamed since
    WaitRecord wait;
    wait.begin_ns = sleep.out_ns;
    wait.end_ns = sleep.wake_ns;
    wait.kind = kind_of(found.frame);
    wait.lock = names_.by_evidence(wait.kind, found);
    wait.task = sleep.task;
    wait.stack = sleep.stack;
    wait.inferred = true;
    waits_.push_back(wait);
    add_release(wait, sleep.waker, sleep.wake_ns);
  }
}

void LockTable::add_release(const WaitRecord& wait, TaskNo waker, std::int64_t at_ns) {
  // Who gave up was woken by a signal or a timeout. Writers of a percpu_rwsem are woken by any reader.
  if (waker == kNoTask || waker == wait.task || wait.failed) return;
  if (wait.kind == LockKind::kPercpuRwsemRead || wait.kind == LockKind::kPercpuRwsemWrite) return;
  const bool weak = wait.kind == LockKind::kRwsemRead || wait.kind == LockKind::kRwsemWrite;
  releases_.push_back({at_ns, wait.lock, waker, weak});
}

}  // namespace rtnlprof
