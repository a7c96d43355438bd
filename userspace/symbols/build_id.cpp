// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/build_id.h"

#include <elf.h>

#include <cstring>

#include "symbols/elf_image.h"
#include "symbols/file_access.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxBuildIdBytes = 64;     // SHA-1 has 20, --build-id=0x... may be anything
constexpr std::size_t kKernelBuildIdBytes = 20;  // BUILD_ID_SIZE_MAX

constexpr std::size_t align_up(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

}  // namespace

std::string build_id_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string padded_build_id(std::string_view hex) {
  std::string padded(hex);
  if (!padded.empty() && padded.size() < 2 * kKernelBuildIdBytes) padded.resize(2 * kKernelBuildIdBytes, '0');
  return padded;
}

std::optional<std::string> build_id_of_notes(std::span<const std::uint8_t> notes, std::uint64_t alignment) {
  const std::size_t align = alignment == 8 ? 8 : 4;
  std::size_t at = 0;
  while (notes.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;  // the same in both classes
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::size_t name = at + sizeof note;
    if (note.n_namesz > notes.size() - name) break;
    const std::size_t description = at + align_up(sizeof note + note.n_namesz, align);
    if (description > notes.size() || note.n_descsz > notes.size() - description) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        std::memcmp(notes.data() + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz != 0 &&
        note.n_descsz <= kMaxBuildIdBytes) {
      return build_id_hex(notes.subspan(description, note.n_descsz));
    }
    const std::size_t next = description + align_up(note.n_descsz, align);
    if (next > notes.size()) break;
    at = next;
  }
  return std::nullopt;
}

std::optional<std::string> build_id_of_image(std::span<const std::uint8_t> image) {
  const auto elf = ElfImage::open(ElfBytes(image));
  return elf ? elf->build_id() : std::nullopt;
}

std::optional<std::string> read_build_id(int fd) {
  const auto elf = ElfImage::open(ElfBytes(fd));
  return elf ? elf->build_id() : std::nullopt;
}

Result<std::string> read_build_id(const std::string& path) {
  Result<UniqueFd> fd = open_regular(path);
  if (!fd) return fd.error();
  const auto elf = ElfImage::open(ElfBytes(fd->get()));
  if (!elf) return Error{path + " is not an ELF file of this machine's byte order", {}};
  auto id = elf->build_id();
  if (!id) return Error{path + " has no build-id", "it was linked without --build-id"};
  return *std::move(id);
}

}  // namespace rtnlprof
