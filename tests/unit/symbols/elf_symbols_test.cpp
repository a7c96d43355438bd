// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "symbols/elf_image.h"
#include "symbols/temp_dir.h"
#include "symbols/user_module.h"

namespace rtnlprof {
namespace {

std::vector<std::uint8_t> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> raw((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return {raw.begin(), raw.end()};
}

// A symbol of the file under test, for an ELF file put together by the test.
struct Function {
  std::string name;
  std::uint32_t value = 0;
  std::uint32_t size = 0;
  unsigned binding = STB_GLOBAL;
  unsigned type = STT_FUNC;
};

template <typename T>
void append(std::vector<std::uint8_t>& bytes, const T& object) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof object);
  std::memcpy(bytes.data() + at, &object, sizeof object);
}

// A 32-bit file: header, one executable segment (file 0x1000 -> vaddr 0x8001000), three sections.
std::vector<std::uint8_t> elf32(const std::vector<Function>& functions) {
  std::string strings(1, '\0');
  std::vector<std::uint8_t> symbols;
  append(symbols, Elf32_Sym{});
  for (const Function& function : functions) {
    Elf32_Sym symbol{};
    symbol.st_name = static_cast<std::uint32_t>(strings.size());
    symbol.st_value = function.value;
    symbol.st_size = function.size;
    symbol.st_info = static_cast<unsigned char>(ELF32_ST_INFO(function.binding, function.type));
    symbol.st_shndx = 1;
    append(symbols, symbol);
    strings += function.name;
    strings += '\0';
  }
  Elf32_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 1;
  header.e_shoff = sizeof header + sizeof(Elf32_Phdr);
  header.e_shentsize = sizeof(Elf32_Shdr);
  header.e_shnum = 3;
  Elf32_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_offset = 0x1000;
  segment.p_vaddr = 0x8001000;
  segment.p_filesz = 0x1000;
  const std::uint32_t symbols_at = header.e_shoff + 3 * sizeof(Elf32_Shdr);
  Elf32_Shdr symtab{};
  symtab.sh_type = SHT_SYMTAB;
  symtab.sh_offset = symbols_at;
  symtab.sh_size = static_cast<std::uint32_t>(symbols.size());
  symtab.sh_link = 2;
  Elf32_Shdr strtab{};
  strtab.sh_type = SHT_STRTAB;
  strtab.sh_offset = symbols_at + symtab.sh_size;
  strtab.sh_size = static_cast<std::uint32_t>(strings.size());
  std::vector<std::uint8_t> file;
  append(file, header);
  append(file, segment);
  append(file, Elf32_Shdr{});
  append(file, symtab);
  append(file, strtab);
  file.insert(file.end(), symbols.begin(), symbols.end());
  file.insert(file.end(), strings.begin(), strings.end());
  return file;
}

std::string name_at(const std::vector<Function>& functions, std::uint64_t vaddr) {
  const auto file = elf32(functions);
  const auto image = ElfImage::open(ElfBytes(std::span<const std::uint8_t>(file)));
  if (!image) return "no image";
  const auto match = ElfSymbols::read(*image).find(vaddr);
  return match ? match->name + "+" + std::to_string(match->offset) : "-";
}

TEST(ElfSymbols, UsesSizes) {
  const std::vector<Function> functions = {{"first", 0x8001000, 0x20}, {"second", 0x8001040, 0x20}};
  EXPECT_EQ(name_at(functions, 0x8001000), "first+0");
  EXPECT_EQ(name_at(functions, 0x800101f), "first+31");
  EXPECT_EQ(name_at(functions, 0x8001020), "-") << "padding, or a function that was stripped";
  EXPECT_EQ(name_at(functions, 0x8001040), "second+0");
  EXPECT_EQ(name_at(functions, 0x8001060), "-");
  EXPECT_EQ(name_at(functions, 0x8000fff), "-");
  EXPECT_EQ(name_at({}, 0x8001000), "-");
}

TEST(ElfSymbols, BoundsSymbolsWithoutASize) {
  const std::vector<Function> functions = {
      {"_start", 0x8001000, 0, STB_GLOBAL, STT_NOTYPE}, {"next", 0x8001100, 0x10}, {"tail", 0x8001200, 0}};
  EXPECT_EQ(name_at(functions, 0x80010ff), "_start+255");
  EXPECT_EQ(name_at(functions, 0x8001100), "next+0");
  EXPECT_EQ(name_at(functions, 0x8001110), "-") << "an unsized symbol ends at the next one";
  EXPECT_EQ(name_at(functions, 0x8001210), "tail+16");
  EXPECT_EQ(name_at(functions, 0x8041210), "-");
}

TEST(ElfSymbols, PrefersFunctionsOverLabelsInsideThem) {
  const std::vector<Function> functions = {{"outer", 0x8001000, 0x100},
                                           {".Lloop", 0x8001010, 0, STB_LOCAL, STT_NOTYPE},
                                           {"data", 0x8001010, 4, STB_GLOBAL, STT_OBJECT}};
  EXPECT_EQ(name_at(functions, 0x8001020), "outer+32");
}

TEST(ElfSymbols, PrefersTheNameAProgrammerWouldUse) {
  EXPECT_EQ(name_at({{"__ioctl", 0x8001000, 0x20, STB_GLOBAL},
                     {"__GI___ioctl", 0x8001000, 0x20, STB_LOCAL},
                     {"__GI_ioctl", 0x8001000, 0x20, STB_LOCAL},
                     {"ioctl", 0x8001000, 0x20, STB_WEAK},
                     {"__libc_ioctl", 0x8001000, 0x20, STB_GLOBAL}},
                    0x8001004),
            "ioctl+4");
  EXPECT_EQ(name_at({{"puts", 0x8001000, 8, STB_WEAK}, {"_IO_puts", 0x8001000, 8, STB_GLOBAL}}, 0x8001000), "puts+0");
  EXPECT_EQ(name_at({{"read@@GLIBC_2.2.5", 0x8001000, 8, STB_WEAK}}, 0x8001000), "read+0") << "versions cut off";
  EXPECT_EQ(name_at({{"__only", 0x8001000, 8, STB_LOCAL}}, 0x8001000), "__only+0");
}

TEST(ElfSymbols, ReadsTablesLargerThanOnePiece) {
  constexpr std::uint32_t kFunctions = 150'000;
  std::vector<Function> functions;
  functions.reserve(kFunctions);
  for (std::uint32_t i = 0; i < kFunctions; ++i) functions.push_back({"f" + std::to_string(i), 0x8001000 + 16 * i, 16});
  const auto file = elf32(functions);
  const test::TempDir dir;
  Result<UniqueFd> fd = open_regular(dir.write("/large", std::string(file.begin(), file.end())));
  ASSERT_TRUE(fd.ok());
  for (const ElfBytes& bytes : {ElfBytes(std::span<const std::uint8_t>(file)), ElfBytes(fd->get())}) {
    const auto image = ElfImage::open(bytes);
    ASSERT_TRUE(image.has_value());
    const ElfSymbols symbols = ElfSymbols::read(*image);
    for (const std::uint32_t i : {0U, 65534U, 65535U, 65536U, 131071U, kFunctions - 1}) {
      const auto match = symbols.find(0x8001000 + 16 * i + 3);
      ASSERT_TRUE(match.has_value()) << i;
      EXPECT_EQ(match->name, "f" + std::to_string(i));
    }
    EXPECT_FALSE(symbols.find(0x8001000 + 16 * kFunctions).has_value());
  }
}

TEST(ElfImage, MapsFileOffsetsToAddresses) {
  const auto file = elf32({});
  const auto image = ElfImage::open(ElfBytes(std::span<const std::uint8_t>(file)));
  ASSERT_TRUE(image.has_value());
  EXPECT_FALSE(image->is_64_bit());
  EXPECT_EQ(image->vaddr_of(0x1234), 0x8001234U);
  EXPECT_EQ(image->vaddr_of(0x0fff), std::nullopt);
  EXPECT_EQ(image->vaddr_of(0x2000), std::nullopt);
  EXPECT_EQ(image->vaddr_of(UINT64_MAX), std::nullopt);
}

// Reads everything a symbolizer would.
void exercise(std::span<const std::uint8_t> file) {
  const auto module = UserModule::load(ElfBytes(file), "/nonexistent");
  if (module == nullptr) return;
  for (std::uint64_t offset = 0; offset < 0x4000; offset += 0x40) (void)module->find(offset, true);
  (void)module->find(UINT64_MAX, false);
  (void)module->memory_bytes();
}

TEST(HostileElf, SurvivesTruncationAnywhere) {
  for (const char* const path : {SYMBOL_SAMPLE, SYMBOL_FIXTURES "/minidebug.so"}) {
    const auto file = contents(path);
    ASSERT_GT(file.size(), 1000U);
    for (std::size_t length = 0; length < file.size(); length += length < 1024 ? 1 : 211) {
      exercise(std::span(file).first(length));
    }
  }
}

TEST(HostileElf, SurvivesFlippedBytesInHeadersAndTables) {
  for (const char* const path : {SYMBOL_SAMPLE, SYMBOL_FIXTURES "/minidebug.so"}) {
    const auto file = contents(path);
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof header);
    std::uint64_t state = 42;  // a fixed seed: the same files every time
    const auto random = [&] {
      state = state * 6364136223846793005 + 1442695040888963407;
      return state >> 33;
    };
    for (int round = 0; round < 3000; ++round) {
      auto broken = file;
      const std::uint64_t changes = 1 + random() % 4;
      for (std::uint64_t i = 0; i < changes; ++i) {
        // Half of them in the ELF and program headers, half from the section headers on or anywhere.
        std::size_t at = random() % 1024;
        if (random() % 2 == 0) at = header.e_shoff + random() % (header.e_shnum * std::size_t{header.e_shentsize});
        if (random() % 4 == 0) at = random() % broken.size();
        constexpr std::uint8_t kValues[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
        broken[at % broken.size()] = kValues[random() % 5];
      }
      exercise(broken);
    }
  }
}

TEST(HostileElf, TakesNoMemoryForSizesThatAreNotThere) {
  auto file = contents(SYMBOL_SAMPLE);
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, file.data() + header.e_shoff + i * sizeof section, sizeof section);
    section.sh_size = UINT64_MAX / 2;
    std::memcpy(file.data() + header.e_shoff + i * sizeof section, &section, sizeof section);
  }
  const auto module = UserModule::load(ElfBytes(std::span<const std::uint8_t>(file)), "/nonexistent");
  ASSERT_NE(module, nullptr);
  EXPECT_LT(module->memory_bytes(), std::size_t{50} << 20);
}

}  // namespace
}  // namespace rtnlprof
