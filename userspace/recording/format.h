// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The fixed parts of a recording file; docs/recording-format.md has the whole. All integers are little-endian.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rtnlprof::format {

// As PNG's: not text, shows a transfer in text mode, and shows in `file` and `strings`.
inline constexpr std::string_view kMagic{"\x89RTNL\r\n\x1a", 8};
inline constexpr std::uint16_t kMajor = 1;  // raised when an older reader would misread the file
inline constexpr std::uint16_t kMinor = 0;  // raised when there is more in it, which older readers skip

inline constexpr std::size_t kFileHeaderSize = 32;
inline constexpr std::size_t kChunkHeaderSize = 32;
inline constexpr std::uint32_t kChunkMagic = 0x4B435452;  // "RTCK"

// A chunk closes at about kChunkTarget raw bytes; the first ones are smaller, so that a file cut early has some.
inline constexpr std::size_t kFirstChunkTarget = 4096;
inline constexpr std::size_t kChunkTarget = 1U << 20U;
inline constexpr std::uint32_t kMaxChunkSize = 64U << 20U;  // raw or stored; readers refuse more
inline constexpr std::size_t kMaxText = 16U << 20U;         // of one string; writers cut
inline constexpr std::size_t kMaxFrames = 4096;             // of one stack; writers cut
inline constexpr std::size_t kMaxColumns = 256;             // of one section; readers refuse more

// Times lie within ±(2^62 - 1) ns (146 years), so that a difference of two never overflows.
inline constexpr std::int64_t kMaxTime = (std::int64_t{1} << 62) - 1;

enum class State : std::uint32_t { kIncomplete = 0, kFinished = 1 };

struct FileHeader {
  std::uint16_t major = kMajor;
  std::uint16_t minor = kMinor;
  State state = State::kIncomplete;
};

enum class ChunkType : std::uint16_t { kHeader = 1, kEvents = 2, kFooter = 3 };

inline constexpr std::uint16_t kZstd = 1;  // flag: the payload is one zstd frame

struct ChunkHeader {
  ChunkType type = ChunkType::kEvents;
  std::uint16_t flags = 0;
  std::uint32_t sequence = 0;  // 0, 1, 2, …: a missing chunk shows
  std::uint32_t stored_size = 0;
  std::uint32_t raw_size = 0;
  std::uint32_t records = 0;
  std::uint32_t payload_crc = 0;
};

// Sections of a payload: the records of one type. Definitions come first; numbers are never reused.
enum class Section : std::uint32_t {
  kHeader = 1,
  kFooter = 2,
  kTask = 3,
  kFrame = 4,
  kStack = 5,
  kLock = 6,
  kSleep = 7,
  kWait = 8,
  kHold = 9,
  kCall = 10,
  kWakeups = 11,
  kScheduler = 12,
  kInFlight = 13,
  kSuspend = 14,
  kProbe = 15,
  kLost = 16,
  kNic = 17,
};
inline constexpr std::size_t kSections = 18;  // one past the last

[[nodiscard]] std::string encode(const FileHeader& header);
[[nodiscard]] std::string encode(const ChunkHeader& header);

// Nothing when the checksum (for a chunk also its magic) is wrong. `bytes` has the full header's size; the file's magic
// is the caller's to check.
[[nodiscard]] std::optional<FileHeader> decode_file_header(std::string_view bytes);
[[nodiscard]] std::optional<ChunkHeader> decode_chunk_header(std::string_view bytes);

}  // namespace rtnlprof::format
