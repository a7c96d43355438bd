// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "symbols/build_id.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxSegments = 4096;
constexpr std::size_t kMaxSections = 65536;
constexpr std::size_t kMaxSectionName = 64;
constexpr std::size_t kMaxNoteBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxNotes = 64;  // note segments and sections looked at for a build-id

struct Elf32Types {
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  using Shdr = Elf32_Shdr;
};
struct Elf64Types {
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  using Shdr = Elf64_Shdr;
};

template <typename T>
bool read_object(const ElfBytes& bytes, std::uint64_t offset, T& object) {
  std::array<std::uint8_t, sizeof(T)> raw{};
  if (!bytes.read(offset, raw)) return false;
  std::memcpy(&object, raw.data(), sizeof(T));
  return true;
}

// Reads a table of `count` objects; empty when it is not wholly there.
template <typename T>
std::vector<T> read_table(const ElfBytes& bytes, std::uint64_t offset, std::size_t count) {
  const auto raw = bytes.bytes(offset, count * sizeof(T), count * sizeof(T));
  if (!raw || count == 0) return {};
  std::vector<T> table(count);
  std::memcpy(table.data(), raw->data(), raw->size());
  return table;
}

}  // namespace

std::optional<std::size_t> ElfBytes::read_some(std::uint64_t offset, std::span<std::uint8_t> into) const {
  const int fd = fd_ ? fd_->get() : borrowed_fd_;
  if (fd >= 0) return read_at(fd, offset, into);
  if (offset > memory_.size()) return 0;
  const std::size_t count = std::min(into.size(), memory_.size() - static_cast<std::size_t>(offset));
  if (count != 0) std::memcpy(into.data(), memory_.data() + offset, count);
  return count;
}

bool ElfBytes::read(std::uint64_t offset, std::span<std::uint8_t> into) const {
  return read_some(offset, into) == into.size();
}

std::optional<std::string> ElfBytes::string_at(std::uint64_t offset, std::size_t limit) const {
  std::string text;
  std::array<std::uint8_t, 256> buffer{};
  while (text.size() <= limit) {
    const auto got = read_some(offset + text.size(), buffer);
    if (!got || *got == 0) return std::nullopt;
    const auto* const end = static_cast<const std::uint8_t*>(std::memchr(buffer.data(), 0, *got));
    const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - buffer.data()) : *got;
    text.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length));
    if (end != nullptr) return text.size() <= limit ? std::optional(std::move(text)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::vector<std::uint8_t>> ElfBytes::bytes(std::uint64_t offset, std::uint64_t size,
                                                         std::size_t limit) const {
  if (size > limit) return std::nullopt;
  // Look at the last byte first: no memory is taken for what is not there.
  std::array<std::uint8_t, 1> last{};
  if (size != 0 && (offset > UINT64_MAX - size || !read(offset + size - 1, last))) return std::nullopt;
  std::vector<std::uint8_t> data(static_cast<std::size_t>(size));
  if (!read(offset, data)) return std::nullopt;
  return data;
}

template <typename Types>
bool ElfImage::read_headers() {
  typename Types::Ehdr header;
  if (!read_object(bytes_, 0, header)) return false;
  machine_ = header.e_machine;
  if (header.e_phentsize == sizeof(typename Types::Phdr) && header.e_phnum <= kMaxSegments) {
    for (const auto& segment : read_table<typename Types::Phdr>(bytes_, header.e_phoff, header.e_phnum)) {
      segments_.push_back({.type = segment.p_type,
                           .flags = segment.p_flags,
                           .offset = segment.p_offset,
                           .vaddr = segment.p_vaddr,
                           .file_size = segment.p_filesz,
                           .align = segment.p_align});
    }
  }
  if (header.e_shentsize != sizeof(typename Types::Shdr) || header.e_shoff == 0) return true;
  // More sections than fit the header are counted in section 0.
  std::uint64_t count = header.e_shnum;
  std::uint64_t names = header.e_shstrndx;
  typename Types::Shdr first;
  if (!read_object(bytes_, header.e_shoff, first)) return true;
  if (count == 0) count = first.sh_size;
  if (names == SHN_XINDEX) names = first.sh_link;
  if (count > kMaxSections) return true;
  for (const auto& section :
       read_table<typename Types::Shdr>(bytes_, header.e_shoff, static_cast<std::size_t>(count))) {
    sections_.push_back({.name = section.sh_name,
                         .type = section.sh_type,
                         .link = section.sh_link,
                         .offset = section.sh_offset,
                         .size = section.sh_size,
                         .align = section.sh_addralign});
  }
  if (names < sections_.size()) section_names_ = sections_[static_cast<std::size_t>(names)].offset;
  return true;
}

std::optional<ElfImage> ElfImage::open(ElfBytes bytes) {
  std::array<std::uint8_t, EI_NIDENT> ident{};
  if (!bytes.read(0, ident) || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  constexpr std::uint8_t kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (ident[EI_DATA] != kByteOrder) return std::nullopt;
  ElfImage image(std::move(bytes));
  image.is_64_bit_ = ident[EI_CLASS] == ELFCLASS64;
  if (!image.is_64_bit_ && ident[EI_CLASS] != ELFCLASS32) return std::nullopt;
  const bool read = image.is_64_bit_ ? image.read_headers<Elf64Types>() : image.read_headers<Elf32Types>();
  return read ? std::optional(std::move(image)) : std::nullopt;
}

const ElfSection* ElfImage::section_of_type(std::uint32_t type) const {
  const auto it = std::find_if(sections_.begin(), sections_.end(), [&](const ElfSection& s) { return s.type == type; });
  return it == sections_.end() ? nullptr : &*it;
}

const ElfSection* ElfImage::section_named(std::string_view name) const {
  if (section_names_ == 0) return nullptr;
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_PROGBITS) continue;
    if (bytes_.string_at(section_names_ + section.name, kMaxSectionName) == name) return &section;
  }
  return nullptr;
}

std::optional<std::uint64_t> ElfImage::vaddr_of(std::uint64_t file_offset) const {
  const ElfSegment* found = nullptr;
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_LOAD || file_offset < segment.offset || file_offset - segment.offset >= segment.file_size) {
      continue;
    }
    if (found == nullptr || ((segment.flags & PF_X) != 0 && (found->flags & PF_X) == 0)) found = &segment;
  }
  if (found == nullptr) return std::nullopt;
  return found->vaddr + (file_offset - found->offset);
}

std::optional<std::string> ElfImage::build_id() const {
  std::size_t looked_at = 0;
  const auto look = [&](std::uint64_t offset, std::uint64_t size, std::uint64_t align) -> std::optional<std::string> {
    if (looked_at++ >= kMaxNotes) return std::nullopt;
    const auto notes = bytes_.bytes(offset, size, kMaxNoteBytes);
    return notes ? build_id_of_notes(*notes, align) : std::nullopt;
  };
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_NOTE) continue;
    if (auto id = look(segment.offset, segment.file_size, segment.align)) return id;
  }
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    if (auto id = look(section.offset, section.size, section.align)) return id;
  }
  return std::nullopt;
}

}  // namespace rtnlprof
