// SPDX-License-Identifier: BSD-2-Clause
#include "recording/checksum.h"

#include <array>

namespace rtnlprof {
namespace {

constexpr std::size_t kSlices = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

constexpr Tables make_tables() {
  constexpr std::uint32_t kReversedPolynomial = 0x82F63B78;
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kReversedPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

// Slicing-by-8: eight bytes a step, eight independent table look-ups.
std::uint32_t crc32c(std::string_view bytes) {
  const auto at = [&bytes](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  std::uint32_t crc = 0xFFFFFFFF;
  while (bytes.size() >= kSlices) {
    crc ^= at(0) | (at(1) << 8U) | (at(2) << 16U) | (at(3) << 24U);
    crc = kTables[7][crc & 0xFFU] ^ kTables[6][(crc >> 8U) & 0xFFU] ^ kTables[5][(crc >> 16U) & 0xFFU] ^
          kTables[4][crc >> 24U] ^ kTables[3][at(4)] ^ kTables[2][at(5)] ^ kTables[1][at(6)] ^ kTables[0][at(7)];
    bytes.remove_prefix(kSlices);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) crc = (crc >> 8U) ^ kTables[0][(crc ^ at(i)) & 0xFFU];
  return crc ^ 0xFFFFFFFF;
}

}  // namespace rtnlprof
