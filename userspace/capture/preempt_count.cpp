// SPDX-License-Identifier: BSD-2-Clause
#include "capture/preempt_count.h"

#include <optional>

namespace rtnlprof {

Result<std::map<std::uint32_t, std::uint64_t>> preempt_count_addresses(
    const KernelBtf& btf, const std::map<std::uint32_t, std::uint64_t>& run_queues) {
  const Error unknown{"wakeups from interrupts cannot be told from those by tasks: the preempt count was not found",
                      ""};
  const std::optional<std::uint64_t> run_queue = btf.percpu_offset("runqueues");
  std::optional<std::uint64_t> count = btf.percpu_offset("__preempt_count");
  if (!count) {
    const std::optional<std::uint64_t> hot = btf.percpu_offset("pcpu_hot");
    const std::optional<std::uint64_t> field = btf.field_offset("pcpu_hot", "preempt_count");
    if (hot && field) count = *hot + *field;
  }
  if (!run_queue || !count || run_queues.empty()) return unknown;
  std::map<std::uint32_t, std::uint64_t> result;
  for (const auto& [cpu, address] : run_queues) result[cpu] = address - *run_queue + *count;
  return result;
}

}  // namespace rtnlprof
