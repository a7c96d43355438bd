// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "capture/code_table.h"
#include "capture/recorded_tasks.h"
#include "capture/wakeup_totals.h"
#include "model/events.h"
#include "rtnlprof/bpf_events.h"

namespace rtnlprof {

// Records of the ring buffers to events of a recording. One thread at a time.
//
// Records of different CPUs come through different rings: a sleep can be read before the task or the stack it names.
// Definitions of a batch go first, and an event that still misses one waits for the next batch.
class Translator {
 public:
  Translator(EventSink& sink, RecordedTasks& tasks, CodeTable& code, WakeupTotals& wakeups,
             std::shared_ptr<const KernelSymbols> symbols)
      : sink_(sink), tasks_(tasks), code_(code), wakeups_(wakeups), symbols_(std::move(symbols)) {}

  // A batch of records, each preceded by its size as u32. `last`: nothing more will come, send what is left.
  void add_batch(std::span<const std::byte> batch, bool last);
  // Names `lock` when it is a known object. Sent once per address.
  void introduce_lock(std::uint64_t address);
  // What was found out about RTNL's address.
  void name_lock(std::uint64_t address, const std::string& name, const std::string& source);

  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  using Record = std::span<const std::byte>;
  bool define(Record record);
  // False: something it names is not there yet. `force` sends it all the same.
  bool send(Record record, bool force);
  bool send_sleep(const rp_sleep& record, bool force);
  bool send_wait(const rp_wait& record, bool force);
  void exit_task(const rp_exit& record);

  EventSink& sink_;
  RecordedTasks& tasks_;
  CodeTable& code_;
  WakeupTotals& wakeups_;
  std::shared_ptr<const KernelSymbols> symbols_;
  std::vector<std::vector<std::byte>> waiting_;
  std::vector<rp_exit> exits_;          // of this batch
  std::vector<rp_exit> earlier_exits_;  // of the one before
  std::unordered_set<std::uint64_t> introduced_locks_;
  std::uint64_t events_ = 0;
};

// State letter of /proc/PID/stat for task_struct.__state (fs/proc/array.c); 'L' for TASK_RTLOCK_WAIT.
[[nodiscard]] char state_letter(std::uint32_t state);
// Kind of lock of contention flags (include/trace/events/lock.h).
[[nodiscard]] LockKind lock_kind(std::uint32_t contention_flags);

}  // namespace rtnlprof
