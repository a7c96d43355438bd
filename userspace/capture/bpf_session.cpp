// SPDX-License-Identifier: BSD-2-Clause
#include "capture/bpf_session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>

#include "capture/kernel_btf.h"
#include "capture/libbpf_log.h"
#include "capture/preempt_count.h"
#include "context/capabilities.h"
#include "context/host.h"
#include "rtnlprof.skel.h"

namespace rtnlprof {
namespace {

struct ProgramRow {
  const char* program;     // in the BPF object
  const char* probe;       // as shown
  const char* tracepoint;  // what must exist; null: nothing
  const char* loses;       // what is missing from the recording without it
  bool required;
};

constexpr std::array<ProgramRow, 7> kTracepoints{{
    {"on_sched_switch", "sched_switch", "sched_switch", "sleeps", true},
    {"on_fork", "sched_process_fork", "sched_process_fork", "tasks are known from their first switch only", false},
    {"on_exec", "sched_process_exec", "sched_process_exec", "names of tasks after exec", false},
    {"on_rename", "task_rename", "task_rename", "names of tasks that rename themselves", false},
    {"on_contention_begin", "contention_begin", "contention_begin", "lock waits", false},
    {"on_contention_end", "contention_end", "contention_end", "lock waits", false},
    {"snapshot_tasks", "iter/task", nullptr, "tasks in flight", true},
}};

// One of these is loaded for sched_waking, by where the kernel keeps its preempt count.
constexpr std::array<const char*, 4> kWakingPrograms{"on_sched_waking_variable", "on_sched_waking_pcpu_hot",
                                                     "on_sched_waking_table", "on_sched_waking_task"};

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool kernel_lists_symbol(std::string_view name) {
  // Asked of the kernel, not of KernelSymbols: the name counts also when kptr_restrict hides the address.
  FILE* file = std::fopen("/proc/kallsyms", "re");
  if (file == nullptr) return false;
  std::array<char, 512> line{};
  bool found = false;
  while (!found && std::fgets(line.data(), line.size(), file) != nullptr) {
    std::string_view text(line.data());
    const std::size_t third = text.find_last_of(' ');
    if (third == std::string_view::npos) continue;
    text.remove_prefix(third + 1);
    found = text.substr(0, text.find_first_of("\t\n")) == name;
  }
  std::fclose(file);
  return found;
}

// A misspelt name would go unnoticed.
Status check_disabled(const std::vector<std::string>& disable) {
  std::vector<std::string> known{"contention", "preempt_count_symbol", "queue_clock"};
  for (const ProgramRow& row : kTracepoints) known.emplace_back(row.probe);
  for (const std::string& name : disable) {
    if (listed(known, name)) continue;
    std::string names;
    for (const std::string& one : known) names += (names.empty() ? "" : ", ") + one;
    return Error{"there is no probe " + name + " to disable", "known are: " + names};
  }
  return {};
}

// Whether sched_clock_cpu() is the same on all CPUs: it is where the kernel trusts the TSC (sched_clock_stable(),
// kernel/sched/clock.c), and on arm64's architected timer. Elsewhere CPUs may be a tick apart.
bool clocks_agree(const std::string& clocksource) { return clocksource == "tsc" || clocksource == "arch_sys_counter"; }

Error explain_load_failure(int err, const std::string& log) {
  if (err == EPERM || err == EACCES) {
    const std::vector<std::string> missing = missing_capabilities(read_capabilities());
    if (!missing.empty()) {
      std::string names;
      for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
      return {"no privilege to load BPF programs: this process lacks " + names, "run it as root, e.g. with sudo"};
    }
    return {
        "the kernel refuses BPF programs to root: " + (log.empty() ? std::string(std::strerror(err)) : log),
        "check lockdown (/sys/kernel/security/lockdown), seccomp and the container's runtime; `rtnlprof doctor` tells "
        "more"};
  }
  return {"cannot load the BPF programs: " + (log.empty() ? std::string(std::strerror(err)) : log),
          "`rtnlprof doctor` tells what this kernel lacks"};
}

}  // namespace

RingPlan plan_rings(std::uint32_t cpus) {
  // One ring for every four CPUs keeps the ring's lock out of the way; 32 MiB in all is what bursts need that two
  // cores can make while the reader is off its CPU.
  RingPlan plan;
  plan.rings = std::min<std::uint32_t>(std::bit_ceil(std::max(1U, (cpus + 3) / 4)), RP_MAX_RINGS);
  plan.bytes = std::max<std::uint64_t>((std::uint64_t{32} << 20) / plan.rings, std::uint64_t{1} << 20);
  return plan;
}

std::uint32_t plan_slots(std::int64_t threads, std::int64_t pid_max) {
  constexpr std::int64_t kLeast = 16384;
  constexpr std::int64_t kMost = 262144;  // 80 MiB
  const std::int64_t wanted = std::clamp(threads * 4, kLeast, kMost);
  const std::int64_t useful = pid_max > 0 ? std::min(wanted, std::max(pid_max, kLeast)) : wanted;
  return std::bit_ceil(static_cast<std::uint32_t>(useful));
}

Result<std::unique_ptr<BpfSession>> BpfSession::load(const BpfOptions& options) {
  std::unique_ptr<BpfSession> session(new BpfSession);
  LibbpfLog log;
  session->skeleton_ = rtnlprof_bpf__open();
  if (session->skeleton_ == nullptr) return explain_load_failure(errno, log.summary());
  if (const Status chosen = session->choose_programs(options); !chosen) return chosen.error();

  const KernelFacts facts = read_kernel_facts();
  const auto cpus = static_cast<std::uint32_t>(std::max(1, libbpf_num_possible_cpus()));
  const RingPlan rings = plan_rings(cpus);
  session->ring_bytes_ = options.ring_bytes != 0 ? options.ring_bytes : rings.bytes;
  const std::uint32_t slots = plan_slots(facts.threads, facts.pid_max);
  session->fill_nodes();

  rtnlprof_bpf* skeleton = session->skeleton_;
  skeleton->rodata->slot_mask = slots - 1;
  skeleton->rodata->ring_mask = rings.rings - 1;
  skeleton->rodata->min_sleep_ns = options.min_sleep_ns;
  skeleton->rodata->wakeup_threshold = session->ring_bytes_ / 8;
  skeleton->rodata->node_count = session->node_count_;
  skeleton->rodata->clocks_agree = clocks_agree(facts.clocksource) && !listed(options.disable, "queue_clock") ? 1 : 0;
  bpf_map__set_max_entries(skeleton->maps.task_slots, slots);
  bpf_map__set_max_entries(skeleton->maps.rings, rings.rings);
  session->ring_fds_.assign(rings.rings, -1);
  if (const Status created = session->create_rings(); !created) return created.error();
  if (const int err = rtnlprof_bpf__load(skeleton); err != 0) return explain_load_failure(-err, log.summary());
  for (std::uint32_t i = 0; i < rings.rings; ++i) {
    if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.rings), &i, &session->ring_fds_[i], BPF_ANY) != 0) {
      return Error::from_errno("cannot install ring buffer", errno);
    }
  }
  if (const Status mapped = session->map_slots(); !mapped) return mapped.error();
  const int nodes_fd = bpf_map__fd(skeleton->maps.nodes);
  for (std::uint32_t cpu = 0; cpu < session->nodes_.size() && cpu < RP_MAX_CPUS; ++cpu) {
    bpf_map_update_elem(nodes_fd, &cpu, &session->nodes_[cpu], BPF_ANY);
  }
  if (session->uses_preempt_table_) {
    if (const Status filled = session->fill_preempt_counts(); !filled) {
      session->probes_.push_back({"waker context", "preempt count by address", "refused", filled.error().message});
    } else {
      session->probes_.push_back({"waker context", "preempt count by address", "active", ""});
    }
  }
  return session;
}

Status BpfSession::choose_programs(const BpfOptions& options) {
  if (Status known = check_disabled(options.disable); !known) return known;
  Result<KernelBtf> loaded = KernelBtf::load();
  if (!loaded) return loaded.error();
  const KernelBtf& btf = *loaded;
  const auto program_named = [&](const char* name) { return bpf_object__find_program_by_name(skeleton_->obj, name); };
  const bool has_contention = btf.has_tracepoint("contention_begin") && btf.has_tracepoint("contention_end");

  for (const ProgramRow& row : kTracepoints) {
    Probe probe{row.probe, row.tracepoint != nullptr ? "tp_btf" : "iter", "active", ""};
    const bool is_contention = std::string_view(row.probe).starts_with("contention");
    if (listed(options.disable, row.probe) || (is_contention && listed(options.disable, "contention"))) {
      probe.status = "off";
      probe.reason = "switched off; missing: " + std::string(row.loses);
    } else if (row.tracepoint != nullptr &&
               (!btf.has_tracepoint(row.tracepoint) || (is_contention && !has_contention))) {
      probe.status = "absent";
      probe.reason = "this kernel has no tracepoint " + std::string(row.tracepoint) +
                     (is_contention ? " (it came with 5.19)" : "") + "; missing: " + row.loses;
    }
    if (probe.status != "active") {
      if (row.required) return Error{"cannot record without " + probe.name + ": " + probe.reason, ""};
      bpf_program__set_autoload(program_named(row.program), false);
    }
    probes_.push_back(std::move(probe));
  }

  // Where the preempt count is, and whether the kernel will resolve its name.
  const bool variable = btf.percpu_offset("__preempt_count").has_value();
  const bool pcpu_hot = btf.percpu_offset("pcpu_hot").has_value() && btf.has_field("pcpu_hot", "preempt_count");
  std::string chosen = "on_sched_waking_task";
  std::string mechanism = "tp_btf";
  if (pcpu_hot || variable) {
    const std::string name = pcpu_hot ? "pcpu_hot" : "__preempt_count";
    if (kernel_lists_symbol(name) && !listed(options.disable, "preempt_count_symbol")) {
      chosen = pcpu_hot ? "on_sched_waking_pcpu_hot" : "on_sched_waking_variable";
    } else {
      chosen = "on_sched_waking_table";
      uses_preempt_table_ = true;
    }
  }
  for (const char* name : kWakingPrograms) {
    bpf_program* program = program_named(name);
    if (program != nullptr) bpf_program__set_autoload(program, chosen == name);
  }
  if (!uses_preempt_table_) bpf_program__set_autoload(skeleton_->progs.find_run_queues, false);
  probes_.push_back({"sched_waking", mechanism, "active", ""});
  return {};
}

Status BpfSession::create_rings() {
  for (int& fd : ring_fds_) {
    fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "rtnlprof_ring", 0, 0, static_cast<__u32>(ring_bytes_), nullptr);
    if (fd < 0) {
      const int err = errno;
      if (err == EPERM || err == EACCES) return explain_load_failure(err, "");
      return Error::from_errno("cannot create a ring buffer of " + std::to_string(ring_bytes_) + " bytes", err,
                               "its size must be a power of two and a multiple of the page size");
    }
  }
  if (bpf_map__set_inner_map_fd(skeleton_->maps.rings, ring_fds_.front()) != 0) {
    return Error::from_errno("cannot describe the ring buffers", errno);
  }
  return {};
}

Status BpfSession::map_slots() {
  const std::size_t count = bpf_map__max_entries(skeleton_->maps.task_slots);
  void* memory =
      mmap(nullptr, count * sizeof(rp_slot), PROT_READ, MAP_SHARED, bpf_map__fd(skeleton_->maps.task_slots), 0);
  if (memory == MAP_FAILED) return Error::from_errno("cannot map the task table", errno);
  slots_ = {static_cast<const rp_slot*>(memory), count};
  return {};
}

void BpfSession::fill_nodes() {
  std::uint32_t most = 0;
  for (const std::int32_t node : read_numa_nodes()) {
    nodes_.push_back(node < 0 ? 0 : static_cast<std::uint32_t>(node));
    most = std::max(most, nodes_.back());
  }
  node_count_ = most + 1;
}

Status BpfSession::fill_preempt_counts() {
  Result<KernelBtf> btf = KernelBtf::load();
  if (!btf) return btf.error();
  const Result<std::string> raw = run_iterator(skeleton_->progs.find_run_queues);
  if (!raw) return raw.error();
  std::map<std::uint32_t, std::uint64_t> run_queues;
  for (std::size_t at = 0; at + sizeof(rp_run_queue) <= raw.value().size(); at += sizeof(rp_run_queue)) {
    rp_run_queue record{};
    std::memcpy(&record, raw.value().data() + at, sizeof(record));
    run_queues[record.cpu] = record.address;
  }
  const auto addresses = preempt_count_addresses(*btf, run_queues);
  if (!addresses) return addresses.error();
  for (const auto& [cpu, address] : addresses.value()) {
    if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.preempt_counts), &cpu, &address, BPF_ANY) != 0) {
      return Error::from_errno("cannot fill the table of preempt counts", errno);
    }
  }
  return {};
}

Status BpfSession::attach() {
  LibbpfLog log;
  for (const ProgramRow& row : kTracepoints) {
    bpf_program* program = bpf_object__find_program_by_name(skeleton_->obj, row.program);
    if (row.tracepoint == nullptr) bpf_program__set_autoattach(program, false);
  }
  bpf_program__set_autoattach(skeleton_->progs.find_run_queues, false);
  bpf_program__set_autoattach(skeleton_->progs.read_kernel_code, false);
  if (const int err = rtnlprof_bpf__attach(skeleton_); err != 0) {
    return Error::from_errno(
        "cannot attach the BPF programs" + (log.summary().empty() ? "" : " (" + log.summary() + ")"), -err,
        "`rtnlprof doctor` tells what this kernel refuses");
  }
  return {};
}

void BpfSession::start(std::int64_t start_ns) {
  skeleton_->bss->start_ns = static_cast<std::uint64_t>(start_ns);
  skeleton_->bss->enabled = 1;
}

void BpfSession::stop() {
  skeleton_->bss->enabled = 0;
  rtnlprof_bpf__detach(skeleton_);
}

bool BpfSession::records_locks() const {
  return std::any_of(probes_.begin(), probes_.end(),
                     [](const Probe& probe) { return probe.name == "contention_end" && probe.status == "active"; });
}

int BpfSession::pairs_fd() const { return bpf_map__fd(skeleton_->maps.pairs); }

Result<std::string> BpfSession::run_iterator(bpf_program* program) const {
  bpf_link* link = bpf_program__attach_iter(program, nullptr);
  if (link == nullptr) {
    return Error::from_errno("cannot attach the task iterator", errno, "it needs CAP_BPF and CAP_PERFMON, or root");
  }
  const int fd = bpf_iter_create(bpf_link__fd(link));
  const int err = errno;
  std::string data;
  Status status;
  if (fd < 0) {
    status = Error::from_errno("cannot start the task iterator", err);
  } else {
    std::vector<char> buffer(std::size_t{64} << 10U);
    while (true) {
      const ssize_t got = read(fd, buffer.data(), buffer.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) status = Error::from_errno("cannot read the task iterator", errno);
      if (got <= 0) break;
      data.append(buffer.data(), static_cast<std::size_t>(got));
    }
    close(fd);
  }
  bpf_link__destroy(link);
  if (!status) return status.error();
  return data;
}

Status BpfSession::snapshot(
    std::uint32_t flags,
    const std::function<void(const rp_snapshot& task, std::span<const std::uint64_t> frames)>& visit) {
  skeleton_->bss->snapshot_flags = flags;
  const Result<std::string> raw = run_iterator(skeleton_->progs.snapshot_tasks);
  if (!raw) return raw.error();
  const std::string& data = raw.value();
  std::vector<std::uint64_t> frames;
  std::size_t at = 0;
  while (at + sizeof(rp_snapshot) <= data.size()) {
    rp_snapshot task{};
    std::memcpy(&task, data.data() + at, sizeof(task));
    at += sizeof(task);
    const std::size_t bytes = std::min<std::size_t>(task.frames, RP_KERNEL_FRAMES) * sizeof(std::uint64_t);
    if (at + bytes > data.size()) break;
    frames.resize(bytes / sizeof(std::uint64_t));
    std::memcpy(frames.data(), data.data() + at, bytes);
    at += bytes;
    visit(task, frames);
  }
  return {};
}

Result<std::vector<std::uint8_t>> BpfSession::read_kernel_code(std::uint64_t address) {
  skeleton_->bss->code_address = address;
  const Result<std::string> raw = run_iterator(skeleton_->progs.read_kernel_code);
  if (!raw) return raw.error();
  if (raw.value().size() < RP_CODE_BYTES) return Error{"the kernel does not let its code be read", ""};
  return std::vector<std::uint8_t>(raw.value().begin(), raw.value().begin() + RP_CODE_BYTES);
}

std::vector<Lost> BpfSession::losses() const {
  constexpr std::array<const char*, RP_LOSS_CLASSES> kNames{"sleep", "wait", "stack",  "task",
                                                            "exit",  "comm", "wakeups"};
  std::vector<Lost> result;
  std::vector<std::uint64_t> per_cpu(static_cast<std::size_t>(std::max(1, libbpf_num_possible_cpus())));
  for (std::uint32_t i = 0; i < RP_LOSS_CLASSES; ++i) {
    if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.lost), &i, per_cpu.data()) != 0) continue;
    std::uint64_t sum = 0;
    for (const std::uint64_t count : per_cpu) sum += count;
    result.push_back({kNames[i], sum});
  }
  // contention_begin and _end nest in themselves only for spinlocks taken by the programs, which are not ours to
  // report; the other programs never nest, so a skipped run there is an event lost.
  std::uint64_t skipped = 0;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton_->obj) {
    const std::string_view name = bpf_program__name(program);
    if (bpf_program__fd(program) < 0 || name.starts_with("on_contention")) continue;
    bpf_prog_info info{};
    __u32 size = sizeof(info);
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0) skipped += info.recursion_misses;
  }
  result.push_back({"skipped by the kernel", skipped});
  return result;
}

std::uint64_t BpfSession::program_run_ns() const {
  std::uint64_t sum = 0;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton_->obj) {
    if (bpf_program__fd(program) < 0) continue;
    bpf_prog_info info{};
    __u32 size = sizeof(info);
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0) sum += info.run_time_ns;
  }
  return sum;
}

BpfSession::~BpfSession() {
  if (slots_.data() != nullptr) {
    munmap(const_cast<rp_slot*>(slots_.data()), slots_.size_bytes());
  }
  if (skeleton_ != nullptr) rtnlprof_bpf__destroy(skeleton_);
  for (const int fd : ring_fds_) {
    if (fd >= 0) close(fd);
  }
}

}  // namespace rtnlprof
