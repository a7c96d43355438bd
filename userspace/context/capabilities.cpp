// SPDX-License-Identifier: BSD-2-Clause
#include "context/capabilities.h"

#include <array>
#include <charconv>
#include <string_view>

#include "symbols/file_access.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxStatusBytes = 16384;

constexpr std::uint64_t bit(Capability capability) { return std::uint64_t{1} << static_cast<unsigned>(capability); }

// The whole range of user ids maps onto itself only in the initial namespace: "0 0 4294967295".
bool maps_all_ids(std::string_view uid_map) {
  std::array<std::uint64_t, 3> numbers{};
  const char* at = uid_map.data();
  const char* const end = at + uid_map.size();
  for (std::uint64_t& number : numbers) {
    while (at != end && (*at == ' ' || *at == '\t')) ++at;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return false;
    at = rest;
  }
  return numbers[0] == 0 && numbers[1] == 0 && numbers[2] == UINT32_MAX;
}

}  // namespace

const char* capability_name(Capability capability) {
  switch (capability) {
    case Capability::kSysPtrace:
      return "CAP_SYS_PTRACE";
    case Capability::kSysAdmin:
      return "CAP_SYS_ADMIN";
    case Capability::kSysResource:
      return "CAP_SYS_RESOURCE";
    case Capability::kSyslog:
      return "CAP_SYSLOG";
    case Capability::kPerfmon:
      return "CAP_PERFMON";
    case Capability::kBpf:
      return "CAP_BPF";
    case Capability::kCheckpointRestore:
      return "CAP_CHECKPOINT_RESTORE";
  }
  return "";
}

bool Capabilities::has(Capability capability) const {
  if ((effective & bit(capability)) != 0) return true;
  const bool included = capability == Capability::kBpf || capability == Capability::kPerfmon ||
                        capability == Capability::kCheckpointRestore;
  return included && (effective & bit(Capability::kSysAdmin)) != 0;
}

Capabilities read_capabilities(const std::string& root) {
  Capabilities capabilities;
  constexpr std::string_view kKey = "\nCapEff:\t";
  if (const auto status = read_kernel_file(root + "/proc/self/status", kMaxStatusBytes)) {
    const std::string& text = status.value();
    if (const std::size_t at = text.find(kKey); at != std::string::npos) {
      std::from_chars(text.data() + at + kKey.size(), text.data() + text.size(), capabilities.effective, 16);
    }
  }
  // Without the file there are no user namespaces.
  const auto uid_map = read_kernel_file(root + "/proc/self/uid_map", kMaxStatusBytes);
  capabilities.initial_user_namespace = !uid_map || maps_all_ids(uid_map.value());
  return capabilities;
}

std::vector<std::string> missing_capabilities(const Capabilities& capabilities) {
  std::vector<std::string> missing;
  for (const Capability needed : {Capability::kBpf, Capability::kPerfmon}) {
    if (!capabilities.has(needed)) missing.emplace_back(capability_name(needed));
  }
  return missing;
}

}  // namespace rtnlprof
