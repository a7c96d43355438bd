// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtnlprof {

// Numbers of <linux/capability.h>.
enum class Capability : std::uint8_t {
  kSysPtrace = 19,
  kSysAdmin = 21,
  kSysResource = 24,
  kSyslog = 34,
  kPerfmon = 38,
  kBpf = 39,
  kCheckpointRestore = 40,
};

// "CAP_BPF".
[[nodiscard]] const char* capability_name(Capability capability);

// The effective capabilities of this process, from ROOT/proc/self/status.
struct Capabilities {
  std::uint64_t effective = 0;         // bit mask of CapEff; 0 when it could not be read
  bool initial_user_namespace = true;  // false in a container's user namespace, where they do not count for BPF

  // CAP_SYS_ADMIN includes CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE, as it does in the kernel.
  [[nodiscard]] bool has(Capability capability) const;
};
[[nodiscard]] Capabilities read_capabilities(const std::string& root = "");

// Those without which nothing can be recorded and this process lacks, by name: CAP_BPF and CAP_PERFMON.
[[nodiscard]] std::vector<std::string> missing_capabilities(const Capabilities& capabilities);

}  // namespace rtnlprof
