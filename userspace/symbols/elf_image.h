// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// ELF files by libelf, for files that must not be trusted: they belong to traced containers and may be malformed,
// change while they are read, or be made to hurt. libelf reads them by pread and maps nothing (a file truncated under a
// mapping is a SIGBUS). It allocates what a header claims, so it is asked only for what was found to be of fair size.

#include <gelf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/file_access.h"

namespace rtnlprof {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
// What libelf has read of a file; its memory is freed with the handle.
using ElfHandle = std::unique_ptr<Elf, ElfEnd>;

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

  // Null when these are no ELF file of this machine's byte order or it has more sections than any program.
  [[nodiscard]] ElfHandle begin() const;
  // A NUL-terminated string of at most `limit` bytes; nullopt when it is longer or not there.
  [[nodiscard]] std::optional<std::string> string_at(std::uint64_t offset, std::size_t limit) const;

 private:
  [[nodiscard]] int fd() const { return fd_ ? fd_->get() : borrowed_fd_; }
  [[nodiscard]] std::optional<std::size_t> read_some(std::uint64_t offset, std::span<std::uint8_t> into) const;
  template <typename T>
  [[nodiscard]] bool read_object(std::uint64_t offset, T& object) const;
  template <typename Ehdr, typename Shdr>
  [[nodiscard]] bool has_bounded_headers() const;

  SharedFd fd_;
  int borrowed_fd_ = -1;
  std::span<const std::uint8_t> memory_;
  std::shared_ptr<const std::vector<std::uint8_t>> owned_memory_;
};

// The headers of an ELF file of this machine's byte order, 32 or 64 bits. Immutable.
class ElfImage {
 public:
  // nullopt when `bytes` are no such file. At most 4,096 segments and 65,536 sections are considered.
  static std::optional<ElfImage> open(ElfBytes bytes);

  [[nodiscard]] const ElfBytes& bytes() const { return bytes_; }
  [[nodiscard]] bool is_64_bit() const { return is_64_bit_; }
  // GNU build-id as hex.
  [[nodiscard]] const std::optional<std::string>& build_id() const { return build_id_; }
  [[nodiscard]] std::size_t memory_bytes() const;

  // Where the byte at `file_offset` is loaded, by the executable PT_LOAD that covers it (or else any).
  [[nodiscard]] std::optional<std::uint64_t> vaddr_of(std::uint64_t file_offset) const;

  // Null when there is none.
  [[nodiscard]] const GElf_Shdr* section(std::size_t index) const;
  [[nodiscard]] const GElf_Shdr* section_of_type(std::uint32_t type) const;
  [[nodiscard]] const GElf_Shdr* section_named(std::string_view name) const;
  // The content of a section; nullopt when it is not all there or has more than `limit` bytes.
  [[nodiscard]] std::optional<std::vector<std::uint8_t>> content(const GElf_Shdr& section, std::size_t limit) const;
  // The symbols [first, first+count) of a symbol table, as many as it has; empty when they are not all there.
  [[nodiscard]] std::vector<GElf_Sym> symbols(const GElf_Shdr& table, std::size_t first, std::size_t count) const;

 private:
  explicit ElfImage(ElfBytes bytes) : bytes_(std::move(bytes)) {}
  void read_segments(Elf* elf, const GElf_Ehdr& header);
  void read_sections(Elf* elf, const GElf_Ehdr& header);
  [[nodiscard]] std::optional<std::string> find_build_id(Elf* elf) const;

  ElfBytes bytes_;
  bool is_64_bit_ = false;
  std::size_t section_names_ = 0;  // index of the section with the sections' names; 0 = none
  std::vector<GElf_Phdr> segments_;
  std::vector<GElf_Shdr> sections_;
  std::optional<std::string> build_id_;
};

}  // namespace rtnlprof
