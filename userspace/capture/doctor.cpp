// SPDX-License-Identifier: BSD-2-Clause
#include "capture/doctor.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <thread>

#include "capture/bpf_session.h"
#include "capture/kernel_btf.h"
#include "capture/probe_trial.h"
#include "capture/ring_reader.h"
#include "capture/rtnl_address.h"
#include "capture/translator.h"
#include "context/capabilities.h"
#include "context/host.h"
#include "symbols/kernel_symbols.h"

namespace rtnlprof {
namespace {

constexpr const char* kWorks = "works";
constexpr const char* kRefused = "refused";
constexpr const char* kAbsent = "absent";

Facility from_status(const std::string& name, const Status& status, const std::string& found, const std::string& lost,
                     const std::string& remedy) {
  if (status.ok()) return {name, kWorks, found, "", ""};
  return {name, kRefused, status.error().line(), lost, remedy};
}

void examine_privilege(std::vector<Facility>& into) {
  const Capabilities own = read_capabilities();
  std::string names;
  for (const std::string& name : missing_capabilities(own)) names += (names.empty() ? "" : ", ") + name;
  into.push_back(names.empty() ? Facility{"privilege", kWorks, "CAP_BPF and CAP_PERFMON", "", ""}
                               : Facility{"privilege", kRefused, "this process lacks " + names,
                                          "everything: no BPF program can be loaded", "run as root, e.g. with sudo"});
  const std::string remedy = "run as root, or grant it";
  if (!own.has(Capability::kSyslog)) {
    into.push_back({"CAP_SYSLOG", kRefused, "missing", "names of kernel functions where kptr_restrict is 1", remedy});
  }
  if (!own.has(Capability::kSysPtrace)) {
    into.push_back({"CAP_SYS_PTRACE", kRefused, "missing", "names of user functions of other users' programs", remedy});
  }
}

Facility examine_symbols(const Result<KernelSymbols>& symbols) {
  const std::string lost = "kernel frames are addresses without names; RTNL is not recognized";
  if (!symbols.ok()) return {"kernel symbols", kAbsent, symbols.error().line(), lost, "mount /proc"};
  if (!symbols.value().has_addresses()) {
    return {"kernel symbols", kRefused, "the kernel hides symbol addresses (kernel.kptr_restrict)", lost,
            "run as root, or sysctl kernel.kptr_restrict=1"};
  }
  return {"kernel symbols", kWorks, std::to_string(symbols.value().size()) + " symbols in /proc/kallsyms", "", ""};
}

// What came of a sleep of our own, recorded like any other.
struct OwnSleep {
  bool seen = false;
  rp_sleep record{};
};

OwnSleep record_own_sleep(BpfSession& bpf) {
  OwnSleep result;
  RingReader reader;
  if (!reader.start(bpf.ring_fds())) return result;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  bpf.start(static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
  pid_t tid = 0;
  std::thread sleeper([&tid] {
    tid = static_cast<pid_t>(syscall(SYS_gettid));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  sleeper.join();
  bpf.stop();
  reader.stop();
  std::uint32_t task_id = 0;
  for (RecordBatch batch = reader.next(0); !batch.empty(); batch = reader.next(0)) {
    for (std::size_t at = 0; at + sizeof(std::uint32_t) <= batch.size();) {
      std::uint32_t size = 0;
      std::memcpy(&size, batch.data() + at, sizeof(size));
      at += sizeof(size);
      rp_header header{};
      std::memcpy(&header, batch.data() + at, sizeof(header));
      if (header.type == RP_TASK) {
        rp_task task{};
        std::memcpy(&task, batch.data() + at, sizeof(task));
        if (task.tid == static_cast<std::uint32_t>(tid)) task_id = task.header.task_id;
      }
      if (header.type == RP_SLEEP && header.task_id == task_id && task_id != 0) {
        std::memcpy(&result.record, batch.data() + at, sizeof(result.record));
        result.seen = result.record.wake_ns - result.record.out_ns > 15'000'000;
      }
      at += size;
    }
  }
  return result;
}

Facility examine_own_sleep(BpfSession& bpf) {
  const std::string lost = "sleeps and wakers: the heart of a recording";
  if (const Status attached = bpf.attach(); !attached) {
    return {"recording a sleep", kRefused, attached.error().line(), lost, "check lockdown and seccomp"};
  }
  const OwnSleep own = record_own_sleep(bpf);
  if (!own.seen) {
    return {"recording a sleep", kRefused, "a sleep of 20 ms left no record", lost, "please report this kernel"};
  }
  return {"recording a sleep", kWorks,
          "20 ms asleep were recorded as " + std::to_string((own.record.wake_ns - own.record.out_ns) / 1000) +
              " us, state " + std::string(1, state_letter(own.record.state)) +
              (own.record.kernel_stack != 0 ? ", with its stack" : ""),
          "", ""};
}

Facility examine_iterator(BpfSession& bpf) {
  std::size_t tasks = 0;
  std::size_t stacks = 0;
  const auto begin = std::chrono::steady_clock::now();
  const Status read = bpf.snapshot(RP_SNAPSHOT_STACKS, [&](const rp_snapshot&, std::span<const std::uint64_t> frames) {
    ++tasks;
    if (!frames.empty()) ++stacks;
  });
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  return from_status("task iterator", read,
                     std::to_string(tasks) + " tasks, " + std::to_string(stacks) + " sleeping with a stack, in " +
                         std::to_string(took.count()) + " us",
                     "tasks that stay blocked from before the start until after the stop", "a kernel of 5.8 or newer");
}

void examine_programs(const BpfSession& bpf, std::vector<Facility>& into) {
  for (const Probe& probe : bpf.probes()) {
    const bool works = probe.status == "active";
    const std::string status = works ? kWorks : (probe.status == "refused" ? kRefused : kAbsent);
    Facility facility{probe.name + " (" + probe.mechanism + ")", status, works ? "loaded" : probe.reason, "", ""};
    if (!works && probe.name == "waker context") {
      facility.lost = "wakeups from interrupts are shown with context unknown";
      facility.remedy = "a kernel with CONFIG_KALLSYMS_ALL=y";
    }
    if (!works && probe.name.starts_with("contention")) {
      facility.lost = "lock waits and owners; they are inferred from sleeps in lock functions";
      facility.remedy = "a kernel of 5.19 or newer";
    }
    into.push_back(std::move(facility));
  }
}

Facility examine_rtnl(const Result<KernelSymbols>& symbols, BpfSession& bpf) {
  const std::string name = "address of rtnl_mutex";
  const std::string lost = "RTNL is recognized only by waiters whose stack says rtnl_lock";
  if (!symbols.ok()) return {name, kRefused, "no kernel symbols", lost, ""};
  const RtnlAddress rtnl = find_rtnl_address(symbols.value(), bpf);
  if (rtnl.address == 0) return {name, kRefused, rtnl.reason, lost, "a kernel with CONFIG_KALLSYMS_ALL=y"};
  return {name, kWorks, "from " + rtnl.source, "", ""};
}

void examine_fields(const KernelBtf& btf, std::vector<Facility>& into) {
  into.push_back(btf.has_field("task_struct", "sched_info")
                     ? Facility{"run-queue time", kWorks, "task_struct.sched_info", "", ""}
                     : Facility{"run-queue time", kAbsent, "the kernel keeps no sched_info", "time on the run queue",
                                "a kernel with CONFIG_SCHED_INFO=y (CONFIG_SCHEDSTATS)"});
  into.push_back(btf.has_field("task_struct", "blocker")
                     ? Facility{"lock of a task blocked before the start", kWorks, "task_struct.blocker", "", ""}
                     : Facility{"lock of a task blocked before the start", kAbsent, "the kernel keeps no blocker",
                                "such a wait is named by its stack only",
                                "a kernel of 6.16 or newer with CONFIG_DETECT_HUNG_TASK_BLOCKER=y"});
}

void examine_function_probes(std::vector<Facility>& into) {
  const std::string function = "rtnl_lock";
  const std::string lost = "one way to probe functions: hold times of uncontended locks and function latency";
  into.push_back(from_status("fentry", try_fentry(function), "attached to rtnl_lock and detached", lost,
                             "boot without lockdown, CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS=y"));
  into.push_back(from_status("kprobe.multi", try_kprobe_multi(function), "attached to rtnl_lock and detached", lost,
                             "boot without lockdown, a kernel of 5.18 or newer with CONFIG_FPROBE=y"));
  into.push_back(from_status("kprobe", try_kprobe(function), "attached to rtnl_lock and detached", lost,
                             "boot without lockdown, CONFIG_KPROBE_EVENTS=y"));
  into.push_back(from_status("software clock sampling", try_cpu_clock(), "opened on CPU 0",
                             "what a lock's holder runs while others wait", "CONFIG_PERF_EVENTS=y"));
}

}  // namespace

Diagnosis examine_host() {
  Diagnosis diagnosis;
  diagnosis.host = read_host();
  std::vector<Facility>& facilities = diagnosis.facilities;
  examine_privilege(facilities);
  const std::string lockdown = read_kernel_facts().lockdown;
  facilities.push_back({"kernel lockdown", kWorks,
                        lockdown.empty() ? "unknown (securityfs is not mounted)" : "mode " + lockdown, "", ""});
  const Result<KernelBtf> btf = KernelBtf::load();
  if (!btf.ok()) {
    facilities.push_back({"type information (BTF)", kAbsent, btf.error().message, "everything", btf.error().hint});
    return diagnosis;
  }
  facilities.push_back({"type information (BTF)", kWorks, "/sys/kernel/btf/vmlinux", "", ""});
  const Result<KernelSymbols> symbols = KernelSymbols::load();
  facilities.push_back(examine_symbols(symbols));
  examine_fields(btf.value(), facilities);

  Result<std::unique_ptr<BpfSession>> bpf = BpfSession::load({});
  if (!bpf.ok()) {
    facilities.push_back(
        {"BPF programs", kRefused, bpf.error().message, "everything: nothing can be recorded", bpf.error().hint});
  } else {
    facilities.push_back({"BPF programs", kWorks, "loaded and verified", "", ""});
    examine_programs(*bpf.value(), facilities);
    facilities.push_back(examine_rtnl(symbols, *bpf.value()));
    facilities.push_back(examine_iterator(*bpf.value()));
    facilities.push_back(examine_own_sleep(*bpf.value()));
    diagnosis.can_record = facilities.back().status == kWorks;
  }
  examine_function_probes(facilities);
  return diagnosis;
}

}  // namespace rtnlprof
