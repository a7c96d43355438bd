// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

namespace rtnlprof {

// "_ZN3foo3barEv" -> "foo::bar()", also Rust's legacy scheme without its hash; anything else, and names whose
// demangled form could be enormous (substitutions can double it at every step), as they are. Thread-safe.
[[nodiscard]] std::string demangle(std::string_view symbol);

}  // namespace rtnlprof
