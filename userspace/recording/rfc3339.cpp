// SPDX-License-Identifier: BSD-2-Clause
#include "recording/rfc3339.h"

#include <chrono>

namespace rtnlprof {
namespace {

// Takes `digits` decimal digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take_any_of(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// ".789" -> 789'000'000; digits beyond nanoseconds are dropped.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!take_any_of(text, ".")) return 0;
  std::int64_t value = 0;
  std::int64_t scale = 100'000'000;
  const std::size_t before = text.size();
  while (const auto digit = take_number(text, 1)) {
    value += *digit * scale;
    scale /= 10;
  }
  return text.size() == before ? std::nullopt : std::optional(value);
}

std::optional<std::int64_t> take_zone_seconds(std::string_view& text) {
  if (take_any_of(text, "Zz")) return 0;
  const bool west = text.starts_with('-');
  if (!take_any_of(text, "+-")) return std::nullopt;
  const auto hours = take_number(text, 2);
  const bool colon = take_any_of(text, ":");
  const auto minutes = take_number(text, 2);
  if (!hours || !colon || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::int64_t seconds = std::int64_t{*hours} * 3600 + std::int64_t{*minutes} * 60;
  return west ? -seconds : seconds;
}

}  // namespace

std::optional<std::int64_t> parse_rfc3339(std::string_view text) {
  const auto year = take_number(text, 4);
  bool shape = take_any_of(text, "-");
  const auto month = take_number(text, 2);
  shape &= take_any_of(text, "-");
  const auto day = take_number(text, 2);
  shape &= take_any_of(text, "Tt ");
  const auto hour = take_number(text, 2);
  shape &= take_any_of(text, ":");
  const auto minute = take_number(text, 2);
  shape &= take_any_of(text, ":");
  const auto second = take_number(text, 2);
  if (!shape || !year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const auto fraction = take_fraction(text);
  const auto zone = take_zone_seconds(text);
  if (!fraction || !zone || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  // Nanoseconds in 64 bits end in 2262.
  if (!date.ok() || *year < 1970 || *year > 2261 || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = days * 86400 + std::int64_t{*hour} * 3600 + std::int64_t{*minute} * 60 + *second - *zone;
  return seconds * 1'000'000'000 + *fraction;
}

}  // namespace rtnlprof
