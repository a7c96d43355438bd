// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"
#include "capture/kernel_btf.h"

namespace rtnlprof {

// Where each CPU keeps its preempt count (arch/x86/include/asm/preempt.h), computed from the address of its run queue:
// both are per-CPU variables, at distances that BTF gives. For kernels without CONFIG_KALLSYMS_ALL, which do not
// resolve the variable by name. An Error when BTF or the run queues do not tell.
Result<std::map<std::uint32_t, std::uint64_t>> preempt_count_addresses(
    const KernelBtf& btf, const std::map<std::uint32_t, std::uint64_t>& run_queues);

}  // namespace rtnlprof
