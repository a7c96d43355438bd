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
constexpr std::size_t kMaxSectionNames = std::size_t{4} << 20;  // bytes of the table of sections' names
constexpr std::size_t kMaxNoteBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxNotes = 64;         // note segments and sections looked at for a build-id
constexpr std::size_t kMaxBuildIdBytes = 64;  // SHA-1 has 20, --build-id=0x... may be anything

// The bytes [offset, offset+size) as objects of `type`; null when they are not all there or more than `limit`. libelf
// checks them against the file's size, which in a sparse file says nothing about how much memory is fair.
Elf_Data* read_chunk(Elf* elf, std::uint64_t offset, std::uint64_t size, Elf_Type type, std::size_t limit) {
  if (size == 0 || size > limit || offset > static_cast<std::uint64_t>(INT64_MAX)) return nullptr;
  return elf_getdata_rawchunk(elf, static_cast<std::int64_t>(offset), static_cast<std::size_t>(size), type);
}

std::optional<std::string> gnu_build_id(Elf_Data* notes) {
  const auto* const bytes = static_cast<const std::uint8_t*>(notes->d_buf);
  GElf_Nhdr note;
  std::size_t name = 0;
  std::size_t description = 0;
  std::size_t next = 0;
  while ((next = gelf_getnote(notes, next, &note, &name, &description)) != 0) {
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        std::memcmp(bytes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz != 0 &&
        note.n_descsz <= kMaxBuildIdBytes) {
      return build_id_hex(std::span(bytes + description, note.n_descsz));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> ElfBytes::read_some(std::uint64_t offset, std::span<std::uint8_t> into) const {
  if (fd() >= 0) return read_at(fd(), offset, into);
  if (offset > memory_.size()) return 0;
  const std::size_t count = std::min(into.size(), memory_.size() - static_cast<std::size_t>(offset));
  if (count != 0) std::memcpy(into.data(), memory_.data() + offset, count);
  return count;
}

template <typename T>
bool ElfBytes::read_object(std::uint64_t offset, T& object) const {
  std::array<std::uint8_t, sizeof(T)> raw{};
  if (read_some(offset, raw) != raw.size()) return false;
  std::memcpy(&object, raw.data(), sizeof(T));
  return true;
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

// What elf_begin and elf_memory take on trust: that an image in memory has a whole ELF header, that section 0 is there
// when it holds the number of sections (more than fit the header), and that number, for which they allocate.
template <typename Ehdr, typename Shdr>
bool ElfBytes::has_bounded_headers() const {
  Ehdr header;
  if (!read_object(0, header)) return false;
  if (header.e_shnum != 0 || header.e_shoff == 0) return true;
  Shdr first;
  return read_object(header.e_shoff, first) && first.sh_size <= kMaxSections;
}

ElfHandle ElfBytes::begin() const {
  static const unsigned version = elf_version(EV_CURRENT);
  std::array<std::uint8_t, EI_NIDENT> ident{};
  if (version == EV_NONE || !read_object(0, ident) || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) return nullptr;
  constexpr std::uint8_t kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (ident[EI_DATA] != kByteOrder) return nullptr;
  const bool bounded = ident[EI_CLASS] == ELFCLASS64 ? has_bounded_headers<Elf64_Ehdr, Elf64_Shdr>()
                                                     : has_bounded_headers<Elf32_Ehdr, Elf32_Shdr>();
  if (!bounded) return nullptr;
  // libelf writes to an image only when told to (ELF_C_WRITE), but has no type for that.
  auto* const memory = reinterpret_cast<char*>(const_cast<std::uint8_t*>(memory_.data()));
  ElfHandle elf(fd() >= 0 ? elf_begin(fd(), ELF_C_READ, nullptr) : elf_memory(memory, memory_.size()));
  if (elf != nullptr && elf_kind(elf.get()) != ELF_K_ELF) elf.reset();
  return elf;
}

void ElfImage::read_segments(Elf* elf, const GElf_Ehdr& header) {
  if (header.e_phentsize != gelf_fsize(elf, ELF_T_PHDR, 1, EV_CURRENT) || header.e_phnum > kMaxSegments) return;
  GElf_Phdr segment;
  for (int i = 0; i < header.e_phnum && gelf_getphdr(elf, i, &segment) != nullptr; ++i) segments_.push_back(segment);
}

void ElfImage::read_sections(Elf* elf, const GElf_Ehdr& header) {
  std::size_t count = 0;
  if (header.e_shentsize != gelf_fsize(elf, ELF_T_SHDR, 1, EV_CURRENT)) return;
  if (elf_getshdrnum(elf, &count) != 0 || count == 0 || count > kMaxSections) return;
  sections_.reserve(count);
  GElf_Shdr section;
  for (std::size_t i = 0; i < count && gelf_getshdr(elf_getscn(elf, i), &section) != nullptr; ++i) {
    sections_.push_back(section);
  }
  if (elf_getshdrstrndx(elf, &section_names_) != 0) section_names_ = 0;
}

std::optional<ElfImage> ElfImage::open(ElfBytes bytes) {
  const ElfHandle elf = bytes.begin();
  GElf_Ehdr header;
  if (elf == nullptr || gelf_getehdr(elf.get(), &header) == nullptr) return std::nullopt;
  ElfImage image(std::move(bytes));
  image.is_64_bit_ = gelf_getclass(elf.get()) == ELFCLASS64;
  image.read_segments(elf.get(), header);
  image.read_sections(elf.get(), header);
  image.build_id_ = image.find_build_id(elf.get());
  return image;
}

std::optional<std::string> ElfImage::find_build_id(Elf* elf) const {
  std::size_t looked_at = 0;
  const auto look = [&](std::uint64_t offset, std::uint64_t size, std::uint64_t align) -> std::optional<std::string> {
    if (looked_at++ >= kMaxNotes) return std::nullopt;
    Elf_Data* const notes = read_chunk(elf, offset, size, align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR, kMaxNoteBytes);
    return notes != nullptr ? gnu_build_id(notes) : std::nullopt;
  };
  for (const GElf_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE) continue;
    if (auto id = look(segment.p_offset, segment.p_filesz, segment.p_align)) return id;
  }
  for (const GElf_Shdr& section : sections_) {
    if (section.sh_type != SHT_NOTE) continue;
    if (auto id = look(section.sh_offset, section.sh_size, section.sh_addralign)) return id;
  }
  return std::nullopt;
}

std::size_t ElfImage::memory_bytes() const {
  return sizeof *this + segments_.capacity() * sizeof(GElf_Phdr) + sections_.capacity() * sizeof(GElf_Shdr);
}

std::optional<std::uint64_t> ElfImage::vaddr_of(std::uint64_t file_offset) const {
  const GElf_Phdr* found = nullptr;
  for (const GElf_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || file_offset < segment.p_offset ||
        file_offset - segment.p_offset >= segment.p_filesz) {
      continue;
    }
    if (found == nullptr || ((segment.p_flags & PF_X) != 0 && (found->p_flags & PF_X) == 0)) found = &segment;
  }
  if (found == nullptr) return std::nullopt;
  return found->p_vaddr + (file_offset - found->p_offset);
}

const GElf_Shdr* ElfImage::section(std::size_t index) const {
  return index < sections_.size() ? &sections_[index] : nullptr;
}

const GElf_Shdr* ElfImage::section_of_type(std::uint32_t type) const {
  const auto it =
      std::find_if(sections_.begin(), sections_.end(), [&](const GElf_Shdr& s) { return s.sh_type == type; });
  return it == sections_.end() ? nullptr : &*it;
}

const GElf_Shdr* ElfImage::section_named(std::string_view name) const {
  // Not by elf_strptr: of an image in memory it trusts the size of the table.
  const GElf_Shdr* const table = section_names_ != 0 ? section(section_names_) : nullptr;
  const auto names = table != nullptr ? content(*table, kMaxSectionNames) : std::nullopt;
  if (!names) return nullptr;
  const std::string_view text(reinterpret_cast<const char*>(names->data()), names->size());
  for (const GElf_Shdr& section : sections_) {
    if (section.sh_type != SHT_PROGBITS || section.sh_name >= text.size()) continue;
    const std::string_view rest = text.substr(section.sh_name);
    if (rest.size() > name.size() && rest.starts_with(name) && rest[name.size()] == '\0') return &section;
  }
  return nullptr;
}

std::optional<std::vector<std::uint8_t>> ElfImage::content(const GElf_Shdr& section, std::size_t limit) const {
  const ElfHandle elf = bytes_.begin();
  if (elf == nullptr) return std::nullopt;
  const Elf_Data* const data = read_chunk(elf.get(), section.sh_offset, section.sh_size, ELF_T_BYTE, limit);
  if (data == nullptr) return std::nullopt;
  const auto* const bytes = static_cast<const std::uint8_t*>(data->d_buf);
  return std::vector<std::uint8_t>(bytes, bytes + data->d_size);
}

std::vector<GElf_Sym> ElfImage::symbols(const GElf_Shdr& table, std::size_t first, std::size_t count) const {
  // A handle for each call: libelf keeps what it has read until the handle is closed.
  const ElfHandle elf = bytes_.begin();
  if (elf == nullptr) return {};
  const std::uint64_t size_of_one = gelf_fsize(elf.get(), ELF_T_SYM, 1, EV_CURRENT);
  const std::uint64_t there = table.sh_size / size_of_one;
  if (first >= there || table.sh_offset > UINT64_MAX - first * size_of_one) return {};
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, there - first));
  Elf_Data* const data =
      read_chunk(elf.get(), table.sh_offset + first * size_of_one, count * size_of_one, ELF_T_SYM, count * size_of_one);
  if (data == nullptr) return {};
  std::vector<GElf_Sym> symbols(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (gelf_getsym(data, static_cast<int>(i), &symbols[i]) == nullptr) return {};
  }
  return symbols;
}

}  // namespace rtnlprof
