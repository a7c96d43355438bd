// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rtnlprof {

// "2026-02-03T04:05:06.789Z" or with "+01:00" -> nanoseconds since 1970 UTC; nothing when it is not RFC 3339. A leap
// second (:60) counts as the second after it.
[[nodiscard]] std::optional<std::int64_t> parse_rfc3339(std::string_view text);

}  // namespace rtnlprof
