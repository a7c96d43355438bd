// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf_image.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "symbols/build_id.h"
#include "symbols/temp_dir.h"
#include "symbols/user_module.h"

namespace rtnlprof {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{1} << 37;  // 128 GiB, as a hole
constexpr std::size_t kSections = 5;

// A 64-bit file of headers only: an executable segment, a note segment and five sections, for tests to lie about.
struct Headers {
  Elf64_Ehdr file{};
  std::array<Elf64_Phdr, 2> segments{};
  std::array<Elf64_Shdr, kSections> sections{};

  Headers() {
    std::memcpy(file.e_ident, ELFMAG, SELFMAG);
    file.e_ident[EI_CLASS] = ELFCLASS64;
    file.e_ident[EI_DATA] = ELFDATA2LSB;
    file.e_ident[EI_VERSION] = EV_CURRENT;
    file.e_phoff = offsetof(Headers, segments);
    file.e_phentsize = sizeof(Elf64_Phdr);
    file.e_phnum = 2;
    file.e_shoff = offsetof(Headers, sections);
    file.e_shentsize = sizeof(Elf64_Shdr);
    file.e_shnum = kSections;
    file.e_shstrndx = 4;
    segments[0].p_type = PT_LOAD;
    segments[0].p_flags = PF_R | PF_X;
    segments[0].p_vaddr = 0x400000;
    segments[0].p_filesz = 0x10000;
    segments[1].p_type = PT_NOTE;
    constexpr std::array<std::uint32_t, kSections> kTypes = {SHT_NULL, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_STRTAB};
    for (std::size_t i = 0; i < kSections; ++i) sections[i].sh_type = kTypes[i];
    sections[1].sh_link = 2;
  }
  [[nodiscard]] std::string bytes() const {
    std::string text(sizeof *this, '\0');
    std::memcpy(text.data(), this, sizeof *this);
    return text;
  }
};

std::vector<std::uint8_t> in_memory(const Headers& headers) {
  const std::string bytes = headers.bytes();
  return {bytes.begin(), bytes.end()};
}

SharedFd open_shared(const std::string& path) {
  Result<UniqueFd> fd = open_regular(path);
  EXPECT_TRUE(fd.ok());
  return std::make_shared<const UniqueFd>(std::move(fd.value()));
}

long peak_memory_kb() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(ElfImage, ReadsWellFormedHeaders) {
  const auto bytes = in_memory(Headers());
  const auto image = ElfImage::open(ElfBytes(std::span<const std::uint8_t>(bytes)));
  ASSERT_TRUE(image.has_value());
  EXPECT_TRUE(image->is_64_bit());
  EXPECT_EQ(image->vaddr_of(0x123), 0x400123U);
  ASSERT_NE(image->section_of_type(SHT_SYMTAB), nullptr);
  EXPECT_EQ(image->section_of_type(SHT_SYMTAB), image->section(1));
  EXPECT_EQ(image->section(kSections), nullptr);
  EXPECT_EQ(image->section_named(".text"), nullptr);
  EXPECT_EQ(image->build_id(), std::nullopt);
}

TEST(ElfImage, FindsSectionsByTheirWholeName) {
  for (const char* const path : {SYMBOL_SAMPLE, SYMBOL_FIXTURES "/minidebug.so"}) {
    const auto image = ElfImage::open(ElfBytes(open_shared(path)));
    ASSERT_TRUE(image.has_value());
    EXPECT_NE(image->section_named(".text"), nullptr);
    EXPECT_EQ(image->section_named(".tex"), nullptr);
    EXPECT_EQ(image->section_named("text"), image->section_named("absent"));
    EXPECT_EQ(image->section_named(".gnu_debugdata") != nullptr, path != std::string(SYMBOL_SAMPLE));
  }
}

TEST(ElfImage, MapsNothing) {
  const test::TempDir dir;
  const ElfBytes bytes(open_shared(dir.copy(SYMBOL_SAMPLE, "/sample.so")));
  const ElfHandle elf = bytes.begin();
  ASSERT_NE(elf, nullptr);
  EXPECT_NE(elf_getdata(elf_getscn(elf.get(), 1), nullptr), nullptr);
  std::stringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  EXPECT_EQ(maps.str().find(dir.path()), std::string::npos);
}

TEST(HostileElf, SurvivesTruncationWhileInUse) {
  const test::TempDir dir;
  const std::string path = dir.copy(SYMBOL_SAMPLE, "/sample.so");
  const SharedFd fd = open_shared(path);
  const auto image = ElfImage::open(ElfBytes(fd));
  const auto module = UserModule::load(ElfBytes(fd), "/nonexistent");
  ASSERT_TRUE(image.has_value());
  ASSERT_NE(module, nullptr);
  for (const std::uintmax_t size : {std::uintmax_t{4096}, std::uintmax_t{100}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, size);
    for (std::uint64_t offset = 0; offset < 0x4000; offset += 0x10) {
      EXPECT_FALSE(module->find(offset, false).has_value()) << "its names are gone";
    }
    (void)ElfSymbols::read(*image);
    EXPECT_EQ(image->section_named(".text"), nullptr);
    (void)UserModule::load(ElfBytes(fd), "/nonexistent");
  }
  EXPECT_TRUE(ElfSymbols::read(*image).empty());
  EXPECT_EQ(UserModule::load(ElfBytes(fd), "/nonexistent"), nullptr);
}

TEST(HostileElf, RefusesAbsurdSectionCounts) {
  Headers headers;
  headers.file.e_shnum = 0;  // the number is in section 0
  headers.sections[0].sh_size = kSections;
  const auto fair = in_memory(headers);
  EXPECT_TRUE(ElfImage::open(ElfBytes(std::span<const std::uint8_t>(fair))).has_value());

  headers.sections[0].sh_size = 1'000'000'000;
  const test::TempDir dir;
  const std::string path = dir.write("/sections", headers.bytes());
  std::filesystem::resize_file(path, kHuge);
  EXPECT_FALSE(ElfImage::open(ElfBytes(open_shared(path))).has_value());

  for (const std::uint64_t offset : {UINT64_MAX, UINT64_MAX - 31, UINT64_MAX - 63, std::uint64_t{1} << 63}) {
    headers.file.e_shoff = offset;
    const auto bytes = in_memory(headers);
    EXPECT_FALSE(ElfImage::open(ElfBytes(std::span<const std::uint8_t>(bytes))).has_value());
    EXPECT_FALSE(read_build_id(dir.write("/offset", headers.bytes())).ok());
  }
}

TEST(HostileElf, SurvivesCountsMovedToSectionZero) {
  Headers headers;
  headers.file.e_phnum = PN_XNUM;
  headers.file.e_shstrndx = SHN_XINDEX;
  for (const std::uint32_t value : {0U, 2U, 4U, 5U, UINT32_MAX}) {
    headers.sections[0].sh_info = value;
    headers.sections[0].sh_link = value;
    for (const std::uint64_t offset : {std::uint64_t{offsetof(Headers, sections)}, std::uint64_t{0}, UINT64_MAX - 7}) {
      headers.file.e_shoff = offset;
      const auto bytes = in_memory(headers);
      const auto image = ElfImage::open(ElfBytes(std::span<const std::uint8_t>(bytes)));
      if (!image) continue;
      EXPECT_EQ(image->vaddr_of(0), std::nullopt) << "so many segments are not read";
      EXPECT_EQ(image->section_named(".text"), nullptr);
    }
  }
}

TEST(HostileElf, TakesNoMemoryForHoles) {
  Headers headers;
  for (Elf64_Shdr& section : headers.sections) {
    section.sh_offset = 4096;
    section.sh_size = kHuge / 2;
  }
  headers.segments[1].p_offset = 4096;
  headers.segments[1].p_filesz = kHuge / 2;
  const test::TempDir dir;
  const std::string path = dir.write("/hole", headers.bytes());
  std::filesystem::resize_file(path, kHuge);
  const long before_kb = peak_memory_kb();
  const auto module = UserModule::load(ElfBytes(open_shared(path)), "/nonexistent");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->build_id(), "");
  EXPECT_EQ(module->find(0x100, false).has_value(), false);
  EXPECT_LT(module->memory_bytes(), std::size_t{1} << 20);
  EXPECT_LT(peak_memory_kb() - before_kb, 512L << 10) << "a sanitizer holds back what was freed";
}

}  // namespace
}  // namespace rtnlprof
