// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rtnlprof {

// Valid UTF-8 of `bytes`: every ill-formed sequence becomes one U+FFFD (Unicode 15, table 3-7). For JSON and HTML.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

// Safe to print on a terminal: valid_utf8, and C0/C1 controls, DEL, and the bidirectional and zero-width format
// characters become \x1b or \u202e. Never holds an escape sequence or a line break.
[[nodiscard]] std::string terminal_safe(std::string_view bytes);

// Shell-style match of the whole of `text`: * ? [a-z] [!a] and \ to quote. Case-sensitive, '/' is not special.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

// "50us", "1ms", "2.5s", "3ns", "2m", "0" -> nanoseconds. A bare number other than 0 is refused: it has no unit.
[[nodiscard]] std::optional<std::uint64_t> parse_duration_ns(std::string_view text);

// Three significant digits with a unit: "1.25s", "46.0us", "0".
[[nodiscard]] std::string format_duration(std::uint64_t ns);

}  // namespace rtnlprof
