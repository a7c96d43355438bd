// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rtnlprof {

// "0x1f".
[[nodiscard]] inline std::string to_hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return "0x" + std::string(digits.data(), end.ptr);
}

// The whole of "1f", at most 16 digits.
[[nodiscard]] inline std::optional<std::uint64_t> parse_hex_digits(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The whole of "0x1f".
[[nodiscard]] inline std::optional<std::uint64_t> parse_hex(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  return parse_hex_digits(text.substr(2));
}

}  // namespace rtnlprof
