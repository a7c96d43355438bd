// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/events.h"
#include "rtnlprof/bpf_events.h"

struct rtnlprof_bpf;
struct bpf_program;

namespace rtnlprof {

struct BpfOptions {
  std::uint64_t min_sleep_ns = 1'000'000;
  std::uint64_t ring_bytes = 0;      // of each ring, a power of two of pages; 0 = chosen for the host
  std::vector<std::string> disable;  // names of probes not to use, so that tests can walk every fallback
};

// The loaded BPF programs with their maps and links. Attached programs do nothing until start(); destruction detaches.
// One thread at a time, except that the rings are read by one other thread.
class BpfSession {
 public:
  // Loads what this kernel can run. An Error says why recording is impossible here and what to do about it;
  // what is merely missing is in probes().
  static Result<std::unique_ptr<BpfSession>> load(const BpfOptions& options);
  BpfSession(const BpfSession&) = delete;
  BpfSession& operator=(const BpfSession&) = delete;
  ~BpfSession();

  Status attach();
  // Programs begin to record; `start_ns` is given to sleeps that began earlier.
  void start(std::int64_t start_ns);
  // Programs stop recording and are detached; maps and iterators stay usable.
  void stop();

  [[nodiscard]] const std::vector<Probe>& probes() const { return probes_; }
  [[nodiscard]] bool records_locks() const;
  [[nodiscard]] const std::vector<int>& ring_fds() const { return ring_fds_; }
  [[nodiscard]] std::uint64_t ring_bytes() const { return ring_bytes_; }
  [[nodiscard]] int pairs_fd() const;
  // The slots of all tasks, shared with the programs: read racily while they run.
  [[nodiscard]] std::span<const rp_slot> slots() const { return slots_; }

  // Calls `visit` for every thread of the host; `frames` is empty unless flags has RP_SNAPSHOT_STACKS and it sleeps.
  Status snapshot(std::uint32_t flags,
                  const std::function<void(const rp_snapshot& task, std::span<const std::uint64_t> frames)>& visit);
  // RP_CODE_BYTES bytes of kernel code.
  Result<std::vector<std::uint8_t>> read_kernel_code(std::uint64_t address);

  // Cumulative losses by class, those of programs that the kernel skipped included.
  [[nodiscard]] std::vector<Lost> losses() const;
  // CPU time of all programs so far, measured only while statistics are enabled (bpf_enable_stats); nanoseconds.
  [[nodiscard]] std::uint64_t program_run_ns() const;

 private:
  BpfSession() = default;
  Status choose_programs(const BpfOptions& options);
  Status create_rings();
  Status map_slots();
  Status fill_preempt_counts();
  void fill_nodes();
  Result<std::string> run_iterator(bpf_program* program) const;

  rtnlprof_bpf* skeleton_ = nullptr;
  std::vector<Probe> probes_;
  std::vector<int> ring_fds_;
  std::uint64_t ring_bytes_ = 0;
  std::span<const rp_slot> slots_;
  std::uint32_t node_count_ = 1;
  std::vector<std::uint32_t> nodes_;
  bool uses_preempt_table_ = false;
};

// Ring sizing for a host: rings, and bytes of each. Pure.
struct RingPlan {
  std::uint32_t rings = 1;  // a power of two
  std::uint64_t bytes = 0;  // a power of two
};
[[nodiscard]] RingPlan plan_rings(std::uint32_t cpus);
// Slots for a host with this many threads now: a power of two. Pure.
[[nodiscard]] std::uint32_t plan_slots(std::int64_t threads, std::int64_t pid_max);

}  // namespace rtnlprof
