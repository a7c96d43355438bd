// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace rtnlprof {

// Whether this kernel lets a function be probed in each of the ways it may offer, found by really loading and
// attaching a program of two instructions, and detaching it again. An Error says what was refused and why.
// Not thread-safe.
Status try_fentry(const std::string& function);
Status try_kprobe(const std::string& function);
Status try_kprobe_multi(const std::string& function);

// Whether PERF_COUNT_SW_CPU_CLOCK can sample a CPU.
Status try_cpu_clock();

}  // namespace rtnlprof
