// SPDX-License-Identifier: BSD-2-Clause
#include "recording/format.h"

#include "recording/checksum.h"

namespace rtnlprof::format {
namespace {

void put(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFFU);
}

std::uint32_t get(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

std::string with_crc(std::string bytes, std::size_t size) {
  bytes.resize(size - 4);
  put(bytes, crc32c(bytes), 4);
  return bytes;
}

bool crc_matches(std::string_view bytes, std::size_t size) {
  return bytes.size() == size && crc32c(bytes.substr(0, size - 4)) == get(bytes, size - 4, 4);
}

}  // namespace

std::string encode(const FileHeader& header) {
  std::string out(kMagic);
  put(out, header.major, 2);
  put(out, header.minor, 2);
  put(out, static_cast<std::uint32_t>(header.state), 4);
  return with_crc(std::move(out), kFileHeaderSize);
}

std::string encode(const ChunkHeader& header) {
  std::string out;
  put(out, kChunkMagic, 4);
  put(out, static_cast<std::uint16_t>(header.type), 2);
  put(out, header.flags, 2);
  put(out, header.sequence, 4);
  put(out, header.stored_size, 4);
  put(out, header.raw_size, 4);
  put(out, header.records, 4);
  put(out, header.payload_crc, 4);
  return with_crc(std::move(out), kChunkHeaderSize);
}

std::optional<FileHeader> decode_file_header(std::string_view bytes) {
  if (!crc_matches(bytes, kFileHeaderSize)) return std::nullopt;
  FileHeader header;
  header.major = static_cast<std::uint16_t>(get(bytes, 8, 2));
  header.minor = static_cast<std::uint16_t>(get(bytes, 10, 2));
  header.state = static_cast<State>(get(bytes, 12, 4));
  return header;
}

std::optional<ChunkHeader> decode_chunk_header(std::string_view bytes) {
  if (!crc_matches(bytes, kChunkHeaderSize) || get(bytes, 0, 4) != kChunkMagic) return std::nullopt;
  ChunkHeader header;
  header.type = static_cast<ChunkType>(get(bytes, 4, 2));
  header.flags = static_cast<std::uint16_t>(get(bytes, 6, 2));
  header.sequence = get(bytes, 8, 4);
  header.stored_size = get(bytes, 12, 4);
  header.raw_size = get(bytes, 16, 4);
  header.records = get(bytes, 20, 4);
  header.payload_crc = get(bytes, 24, 4);
  return header;
}

}  // namespace rtnlprof::format
