// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A minimal reader of ELF headers for files that must not be trusted: they belong to traced containers and may be
// malformed, change while they are read, or be made to hurt. Everything is read by pread into buffers of bounded size,
// nothing is mapped (a file truncated under a mapping is a SIGBUS) and no size is believed. libelf maps or reads whole
// sections and libdwfl maps whole files, so neither is used here.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbols/file_access.h"

namespace rtnlprof {

// The bytes of an ELF file: an open file, or memory (a vDSO, a decompressed .gnu_debugdata).
class ElfBytes {
 public:
  explicit ElfBytes(SharedFd fd) : fd_(std::move(fd)) {}
  // A descriptor that the caller keeps open.
  explicit ElfBytes(int borrowed_fd) : borrowed_fd_(borrowed_fd) {}
  // Memory that lives as long as this object.
  explicit ElfBytes(std::span<const std::uint8_t> memory) : memory_(memory) {}
  // Memory that this object shares.
  explicit ElfBytes(std::shared_ptr<const std::vector<std::uint8_t>> memory)
      : memory_(*memory), owned_memory_(std::move(memory)) {}

  // Fills `into` from `offset`; false when there is not as much.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::uint8_t> into) const;
  // A NUL-terminated string of at most `limit` bytes; nullopt when it is longer or not there.
  [[nodiscard]] std::optional<std::string> string_at(std::uint64_t offset, std::size_t limit) const;
  // The bytes [offset, offset+size); nullopt when they are not all there or more than `limit`.
  [[nodiscard]] std::optional<std::vector<std::uint8_t>> bytes(std::uint64_t offset, std::uint64_t size,
                                                               std::size_t limit) const;

 private:
  [[nodiscard]] std::optional<std::size_t> read_some(std::uint64_t offset, std::span<std::uint8_t> into) const;

  SharedFd fd_;
  int borrowed_fd_ = -1;
  std::span<const std::uint8_t> memory_;
  std::shared_ptr<const std::vector<std::uint8_t>> owned_memory_;
};

struct ElfSegment {
  std::uint32_t type = 0;  // PT_LOAD, PT_NOTE
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t file_size = 0;
  std::uint64_t align = 0;
};

struct ElfSection {
  std::uint32_t name = 0;  // offset into the section name table
  std::uint32_t type = 0;
  std::uint32_t link = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t align = 0;
};

// The headers of an ELF file of this machine's byte order, 32 or 64 bits.
class ElfImage {
 public:
  // nullopt when `bytes` are no such file. At most 4,096 segments and 65,536 sections are considered.
  static std::optional<ElfImage> open(ElfBytes bytes);

  [[nodiscard]] const ElfBytes& bytes() const { return bytes_; }
  [[nodiscard]] bool is_64_bit() const { return is_64_bit_; }
  [[nodiscard]] std::uint16_t machine() const { return machine_; }
  [[nodiscard]] const std::vector<ElfSegment>& segments() const { return segments_; }
  [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
  [[nodiscard]] const ElfSection* section_of_type(std::uint32_t type) const;
  [[nodiscard]] const ElfSection* section_named(std::string_view name) const;

  // Where the byte at `file_offset` is loaded, by the executable PT_LOAD that covers it (or else any).
  [[nodiscard]] std::optional<std::uint64_t> vaddr_of(std::uint64_t file_offset) const;
  // GNU build-id as hex.
  [[nodiscard]] std::optional<std::string> build_id() const;

 private:
  explicit ElfImage(ElfBytes bytes) : bytes_(std::move(bytes)) {}
  template <typename Types>
  bool read_headers();

  ElfBytes bytes_;
  bool is_64_bit_ = false;
  std::uint16_t machine_ = 0;
  std::uint64_t section_names_ = 0;  // file offset
  std::vector<ElfSegment> segments_;
  std::vector<ElfSection> sections_;
};

}  // namespace rtnlprof
