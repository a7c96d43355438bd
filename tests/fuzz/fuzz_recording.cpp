// SPDX-License-Identifier: BSD-2-Clause
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "checking_sink.h"
#include "recording/checksum.h"
#include "recording/format.h"
#include "recording/reader.h"

namespace {

namespace format = rtnlprof::format;

// A chunk with right checksums around `payload`, which a mutation of a whole file would hardly ever hit.
std::string chunk(format::ChunkType type, std::uint32_t sequence, const std::string& payload) {
  format::ChunkHeader header;
  header.type = type;
  header.sequence = sequence;
  header.stored_size = header.raw_size = static_cast<std::uint32_t>(payload.size());
  header.payload_crc = rtnlprof::crc32c(payload);
  return format::encode(header) + payload;
}

void read(const std::string& file) {
  rtnlprof::fuzz::CheckingSink sink;
  const auto quality = rtnlprof::read_recording(std::as_bytes(std::span(file)), "fuzz", sink);
  if (quality.ok() && quality.value().complete != sink.has_footer()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  read(input);
  // Header section with one record in twelve columns' worth of nothing but its start time.
  const std::string header_section("\x01\x01\x01\x01\x00", 5);
  read(format::encode(format::FileHeader{}) + chunk(format::ChunkType::kHeader, 0, header_section) +
       chunk(format::ChunkType::kEvents, 1, input));
  return 0;
}
