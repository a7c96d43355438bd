// SPDX-License-Identifier: BSD-2-Clause
#include "capture/rtnl_address.h"

#include "symbols/mutex_code.h"

namespace rtnlprof {
namespace {

std::optional<MutexCall> decode(const std::vector<std::uint8_t>& code, std::uint64_t address) {
#if defined(__aarch64__)
  return decode_mutex_call_arm64(code, address);
#else
  return decode_mutex_call(code, address);
#endif
}

}  // namespace

RtnlAddress find_rtnl_address(const KernelSymbols& symbols, BpfSession& bpf) {
  if (!symbols.has_addresses()) return {0, "", "the kernel hides symbol addresses (kptr_restrict)"};
  if (const auto address = symbols.address_of("rtnl_mutex")) return {*address, "kallsyms", ""};
  const auto function = symbols.address_of("rtnl_lock");
  if (!function) return {0, "", "the kernel has no rtnl_lock (no networking?)"};
  const Result<std::vector<std::uint8_t>> code = bpf.read_kernel_code(*function);
  if (!code) return {0, "", code.error().message};
  const auto call = decode(code.value(), *function);
  if (!call)
    return {0, "", "rtnl_mutex is not in kallsyms (no CONFIG_KALLSYMS_ALL) and rtnl_lock's code is of unknown form"};
  // Only a call of the mutex code proves that the argument is a mutex.
  const auto callee = symbols.find(call->callee);
  if (!callee || callee->name.find("mutex_lock") == std::string_view::npos) {
    return {0, "", "rtnl_lock does not end in mutex_lock"};
  }
  return {call->mutex, "code of rtnl_lock", ""};
}

}  // namespace rtnlprof
