// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/bpf_session.h"
#include "symbols/kernel_symbols.h"

namespace rtnlprof {

struct RtnlAddress {
  std::uint64_t address = 0;  // of rtnl_mutex; 0 = not found
  std::string source;         // "kallsyms", "code of rtnl_lock"
  std::string reason;         // why not found
};

// Where the kernel's rtnl_mutex is: its symbol, or, on kernels without CONFIG_KALLSYMS_ALL, what the code of
// rtnl_lock() hands to mutex_lock(). When neither tells, the analysis learns it from waiters whose stack says
// rtnl_lock.
RtnlAddress find_rtnl_address(const KernelSymbols& symbols, BpfSession& bpf);

}  // namespace rtnlprof
