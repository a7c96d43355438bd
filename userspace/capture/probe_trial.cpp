// SPDX-License-Identifier: BSD-2-Clause
#include "capture/probe_trial.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "capture/libbpf_log.h"
#include "symbols/file_access.h"

namespace rtnlprof {
namespace {

// r0 = 0; exit
constexpr std::array<bpf_insn, 2> kReturnZero{
    {{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}}};

UniqueFd load(bpf_prog_type type, bpf_prog_load_opts& options) {
  options.sz = sizeof(options);
  return UniqueFd(
      bpf_prog_load(type, "rtnlprof_trial", "Dual BSD/GPL", kReturnZero.data(), kReturnZero.size(), &options));
}

Error refused(const std::string& what, int err) {
  std::string hint;
  if (err == EPERM || err == EACCES) hint = "kernel lockdown or missing privilege";
  return Error::from_errno(what, err, hint);
}

int open_event(perf_event_attr& attributes, int cpu) {
  attributes.size = sizeof(attributes);
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

Status try_fentry(const std::string& function) {
  const LibbpfLog quiet;
  const int id = libbpf_find_vmlinux_btf_id(function.c_str(), BPF_TRACE_FENTRY);
  if (id <= 0) return Error{"the kernel's BTF has no function " + function, ""};
  bpf_prog_load_opts options{};
  options.expected_attach_type = BPF_TRACE_FENTRY;
  options.attach_btf_id = static_cast<__u32>(id);
  const UniqueFd program = load(BPF_PROG_TYPE_TRACING, options);
  if (!program.valid()) return refused("cannot load an fentry program", errno);
  const UniqueFd link(bpf_link_create(program.get(), 0, BPF_TRACE_FENTRY, nullptr));
  if (!link.valid()) return refused("cannot attach fentry to " + function, errno);
  return {};
}

Status try_kprobe(const std::string& function) {
  std::ifstream file("/sys/bus/event_source/devices/kprobe/type");
  std::uint32_t type = 0;
  if (!(file >> type)) return Error{"the kernel has no kprobes (CONFIG_KPROBE_EVENTS)", ""};
  bpf_prog_load_opts options{};
  const UniqueFd program = load(BPF_PROG_TYPE_KPROBE, options);
  if (!program.valid()) return refused("cannot load a kprobe program", errno);
  perf_event_attr attributes{};
  attributes.type = type;
  attributes.kprobe_func = reinterpret_cast<std::uint64_t>(function.c_str());
  const UniqueFd event(open_event(attributes, 0));
  if (!event.valid()) return refused("cannot place a kprobe on " + function, errno);
  if (ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program.get()) != 0) {
    return refused("cannot attach a program to a kprobe", errno);
  }
  return {};
}

Status try_kprobe_multi(const std::string& function) {
  bpf_prog_load_opts options{};
  options.expected_attach_type = BPF_TRACE_KPROBE_MULTI;
  const UniqueFd program = load(BPF_PROG_TYPE_KPROBE, options);
  if (!program.valid()) return refused("cannot load a kprobe.multi program", errno);
  std::array<const char*, 1> names{function.c_str()};
  bpf_link_create_opts link_options{};
  link_options.sz = sizeof(link_options);
  link_options.kprobe_multi.syms = names.data();
  link_options.kprobe_multi.cnt = 1;
  const UniqueFd link(bpf_link_create(program.get(), 0, BPF_TRACE_KPROBE_MULTI, &link_options));
  if (!link.valid()) return refused("cannot attach kprobe.multi to " + function, errno);
  return {};
}

Status try_cpu_clock() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = 1'000'000;
  const UniqueFd event(open_event(attributes, 0));
  if (!event.valid()) return refused("cannot open a software clock event", errno);
  return {};
}

}  // namespace rtnlprof
