// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

namespace rtnlprof {

// Name of system call `nr` on `arch` (as uname -m: "x86_64", "aarch64"; "arm64" too), from Linux' syscall tables up to
// 6.18. Empty when unknown.
[[nodiscard]] std::string syscall_name(std::string_view arch, int nr);

// The inverse; -1 when unknown.
[[nodiscard]] int syscall_number(std::string_view arch, std::string_view name);

}  // namespace rtnlprof
