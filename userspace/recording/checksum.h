// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace rtnlprof {

// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of `bytes`: finds every single-bit flip and every burst up to 32 bits.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

}  // namespace rtnlprof
