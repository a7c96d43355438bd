// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "context/cgroup.h"
#include "model/events.h"

namespace rtnlprof {

// Readers of facts about the host. `root` stands before /proc and /sys, "" = this host. What cannot be read stays
// unknown (empty, 0 or -1). Thread-safe.

[[nodiscard]] Host read_host(const std::string& root = "");

inline constexpr std::int32_t kUnknownParanoid = INT32_MIN;  // -1 is a value of perf_event_paranoid

struct KernelFacts {
  std::string lockdown;  // "none", "integrity", "confidentiality"; empty = unknown (no securityfs)
  std::int32_t kptr_restrict = -1;
  std::int32_t perf_event_paranoid = kUnknownParanoid;
  std::int32_t unprivileged_bpf_disabled = -1;
  std::int64_t pid_max = -1;
  std::int64_t threads = -1;  // tasks on the host now
  bool has_btf = false;       // /sys/kernel/btf/vmlinux
  std::string clocksource;    // "tsc", "kvm-clock", "hpet"; empty = unknown
};
[[nodiscard]] KernelFacts read_kernel_facts(const std::string& root = "");

// NUMA node of every possible CPU, by CPU number; -1 = unknown. A host without NUMA has one node, 0.
[[nodiscard]] std::vector<std::int32_t> read_numa_nodes(const std::string& root = "");

// "0-3,8,10-11" -> the numbers, ascending; malformed parts are skipped, numbers above 65535 refused.
[[nodiscard]] std::vector<std::uint32_t> parse_cpu_list(std::string_view text);

}  // namespace rtnlprof
