// SPDX-License-Identifier: BSD-2-Clause
#include "base/text.h"

#include <fnmatch.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace rtnlprof {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t code;
  std::size_t length;  // bytes consumed, at least 1
};

// Decodes one code point; an ill-formed sequence yields U+FFFD for its maximal subpart.
Decoded decode(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t want = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  char32_t code = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    want = 1;
    code = lead & 0x1FU;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    want = 2;
    code = lead & 0x0FU;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    want = 3;
    code = lead & 0x07U;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {kReplacement, 1};
  }
  for (std::size_t i = 1; i <= want; ++i) {
    if (i >= bytes.size() || at(i) < low || at(i) > high) return {kReplacement, i};
    code = (code << 6U) | (at(i) & 0x3FU);
    low = 0x80;
    high = 0xBF;
  }
  return {code, want + 1};
}

void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6U));
    out += static_cast<char>(0x80 | (code & 0x3FU));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12U));
    out += static_cast<char>(0x80 | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80 | (code & 0x3FU));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18U));
    out += static_cast<char>(0x80 | ((code >> 12U) & 0x3FU));
    out += static_cast<char>(0x80 | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80 | (code & 0x3FU));
  }
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Characters that move, hide or reorder text without being visible.
bool is_invisible_format(char32_t code) {
  return code == 0x00AD || code == 0x061C || code == 0xFEFF || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         (code >= 0xE0000 && code <= 0xE007F);
}

void append_escaped(std::string& out, char32_t code) {
  std::array<char, 16> buffer{};
  const char* format = code < 0x100 ? "\\x%02x" : (code < 0x10000 ? "\\u%04x" : "\\U%08x");
  std::snprintf(buffer.data(), buffer.size(), format, static_cast<unsigned>(code));
  out += buffer.data();
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Decoded next = decode(bytes);
    append_utf8(out, next.code);
    bytes.remove_prefix(next.length);
  }
  return out;
}

std::string terminal_safe(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Decoded next = decode(bytes);
    if (is_control(next.code) || is_invisible_format(next.code)) {
      append_escaped(out, next.code);
    } else {
      append_utf8(out, next.code);
    }
    bytes.remove_prefix(next.length);
  }
  return out;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  return fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), 0) == 0;
}

std::optional<std::uint64_t> parse_duration_ns(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double scale = 0;
  if (unit == "ns") scale = 1;
  if (unit == "us" || unit == "\xC2\xB5s") scale = 1e3;
  if (unit == "ms") scale = 1e6;
  if (unit == "s") scale = 1e9;
  if (unit == "m" || unit == "min") scale = 60e9;
  if (unit == "h") scale = 3600e9;
  if (unit.empty() && value == 0) return 0;
  const double ns = std::round(value * scale);
  if (scale == 0 || ns > 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(ns);
}

std::string format_duration(std::uint64_t ns) {
  if (ns == 0) return "0";
  constexpr std::array<std::pair<double, const char*>, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  const auto value = static_cast<double>(ns);
  for (const auto& [scale, unit] : kUnits) {
    // 999.5 of a unit would print as 1000: give it to the next larger one.
    if (value < scale * 0.9995 && scale > 1) continue;
    const double scaled = value / scale;
    const int decimals = scale == 1 ? 0 : (scaled < 9.995 ? 2 : (scaled < 99.95 ? 1 : 0));
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.*f%s", decimals, scaled, unit);
    return buffer.data();
  }
  return "0";
}

}  // namespace rtnlprof
