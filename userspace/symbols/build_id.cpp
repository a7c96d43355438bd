// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/build_id.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "symbols/elf_image.h"
#include "symbols/file_access.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kKernelBuildIdBytes = 20;  // BUILD_ID_SIZE_MAX

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
  // As the only segment of an otherwise empty file, so that libelf reads them as it reads any others.
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = notes.size();
  segment.p_align = alignment;
  std::vector<std::uint8_t> image(segment.p_offset + notes.size());
  std::memcpy(image.data(), &header, sizeof header);
  std::memcpy(image.data() + sizeof header, &segment, sizeof segment);
  std::copy(notes.begin(), notes.end(), image.begin() + static_cast<std::ptrdiff_t>(segment.p_offset));
  return build_id_of_image(image);
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
