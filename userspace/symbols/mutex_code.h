// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace rtnlprof {

// Which mutex a tiny wrapper such as rtnl_lock() takes, read off its machine code: kernels without CONFIG_KALLSYMS_ALL
// do not list rtnl_mutex, but rtnl_lock() is `mutex_lock(&rtnl_mutex)` and loads that address as its first argument.

struct MutexCall {
  std::uint64_t mutex = 0;   // the first argument
  std::uint64_t callee = 0;  // where the jump or call right after goes: the caller can check it is a mutex function
};

// x86-64. `code` is the beginning of the function (64 bytes are plenty), `code_address` where it runs. Accepts only
// entry padding (endbr64, nops, the ftrace call), a frame set-up, the load into %rdi and a direct jmp or call; all
// else gives nullopt, also an address that is not in the kernel's half. Pure and thread-safe.
[[nodiscard]] std::optional<MutexCall> decode_mutex_call(std::span<const std::uint8_t> code,
                                                         std::uint64_t code_address);
// arm64 (little-endian): adrp+add (or adr) into x0, then b or bl; the same rules.
[[nodiscard]] std::optional<MutexCall> decode_mutex_call_arm64(std::span<const std::uint8_t> code,
                                                               std::uint64_t code_address);

// The mutex alone.
[[nodiscard]] std::optional<std::uint64_t> decode_mutex_argument(std::span<const std::uint8_t> code,
                                                                 std::uint64_t code_address);
[[nodiscard]] std::optional<std::uint64_t> decode_mutex_argument_arm64(std::span<const std::uint8_t> code,
                                                                       std::uint64_t code_address);

}  // namespace rtnlprof
