// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "analysis/flat_index.h"
#include "analysis/lock_names.h"
#include "analysis/report_model.h"
#include "analysis/stack_table.h"
#include "analysis/task_table.h"
#include "model/events.h"

namespace rtnlprof {

// One wait as it is kept until the end.
struct WaitRecord {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  LockNo lock = kNoLock;
  TaskNo task = kNoTask;
  TaskNo owner = kNoTask;   // at begin
  std::uint32_t stack = 0;  // number of a (kernel, user) pair
  LockKind kind = LockKind::kUnknown;
  bool failed = false;
  bool inferred = false;  // from a sleep in the lock's slow path
};

struct HoldRecord {
  std::int64_t acquired_ns = 0;
  std::int64_t released_ns = 0;
  LockNo lock = kNoLock;
  TaskNo task = kNoTask;
  std::uint32_t stack = 0;
};

// A waker that ended a waiter's sleep: it released the lock.
struct ReleaseRecord {
  std::int64_t at_ns = 0;
  LockNo lock = kNoLock;
  TaskNo task = kNoTask;
  bool weak = false;
};

struct InFlightRecord {
  std::int64_t since_ns = kUnknownTime;
  LockNo lock = kNoLock;
  TaskNo task = kNoTask;
  TaskNo owner = kNoTask;
  std::uint32_t stack = 0;
  LockKind kind = LockKind::kUnknown;
  char state = '?';
  bool on_lock = false;  // of any kind, known by address, name or stack
  bool started_before_recording = false;
  bool at_end = true;
};

// What a stream says about locks, kept until its end. Then infer() adds what follows from it: names, waits that only
// left a sleep, and who released what.
class LockTable {
 public:
  explicit LockTable(StackTable& stacks) : stacks_(stacks) {}

  void define(const Lock& lock) { names_.define(lock); }
  void add_wait(const Wait& wait, TaskNo task, TaskNo owner);
  void add_hold(const Hold& hold, TaskNo task);
  // Every sleep; those that may be lock waits, or end one, are kept.
  void add_sleep(const Sleep& sleep, TaskNo task, TaskNo waker);
  void add_in_flight(const InFlight& in_flight, TaskNo task, TaskNo owner);

  void infer();

  // After infer().
  [[nodiscard]] const LockNames& names() const { return names_; }
  LockNames& names() { return names_; }
  [[nodiscard]] const std::deque<WaitRecord>& waits() const { return waits_; }
  [[nodiscard]] const std::vector<HoldRecord>& holds() const { return holds_; }
  [[nodiscard]] const std::vector<ReleaseRecord>& releases() const { return releases_; }
  [[nodiscard]] const std::vector<InFlightRecord>& in_flight() const { return in_flight_; }
  // A stream that has an end tells what was in flight then; what was at its start has become sleeps and waits by now.
  void forget_in_flight_at_start() {
    std::erase_if(in_flight_, [](const InFlightRecord& record) { return !record.at_end; });
  }
  [[nodiscard]] StackId kernel_stack(std::uint32_t pair) const;
  [[nodiscard]] StackId user_stack(std::uint32_t pair) const;
  [[nodiscard]] const LockEvidence& evidence(std::uint32_t pair);
  // Spinning time of a task's waits for a lock, where measured; by `spin_key`.
  [[nodiscard]] const FlatIndex<std::uint64_t>& spin_keys() const { return spin_keys_; }
  [[nodiscard]] std::uint64_t spin_ns(std::uint32_t number) const { return spins_[number]; }
  void set_min_wait_ns(std::uint64_t min_wait_ns) { min_wait_ns_ = min_wait_ns; }
  [[nodiscard]] std::uint64_t min_wait_ns() const { return min_wait_ns_; }
  // Anything about locks in the stream?
  [[nodiscard]] bool any_facts() const;

 private:
  // A sleep that is a lock wait, or lies in one.
  struct SleepRecord {
    std::int64_t out_ns = 0;
    std::int64_t wake_ns = 0;
    TaskNo task = kNoTask;
    TaskNo waker = kNoTask;
    std::uint32_t stack = 0;
    bool slow_path = false;
  };
  [[nodiscard]] std::uint32_t pair(StackId kernel, StackId user);
  void name_locks();
  void match_sleeps();
  void add_release(const WaitRecord& wait, TaskNo waker, std::int64_t at_ns);

  StackTable& stacks_;
  LockNames names_;
  FlatIndex<std::uint64_t> pairs_;
  std::vector<std::pair<bool, LockEvidence>> evidence_;
  std::deque<WaitRecord> waits_;
  std::vector<HoldRecord> holds_;
  std::vector<ReleaseRecord> releases_;
  std::vector<InFlightRecord> in_flight_;
  std::deque<SleepRecord> sleeps_;
  FlatIndex<std::uint64_t> spin_keys_;
  std::vector<std::uint64_t> spins_;
  std::uint64_t min_wait_ns_ = 0;
};

[[nodiscard]] inline std::uint64_t spin_key(LockNo lock, TaskNo task) { return std::uint64_t{lock} << 32U | task; }

}  // namespace rtnlprof
