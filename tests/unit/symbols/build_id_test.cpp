// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/build_id.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <vector>

#include "symbols/temp_dir.h"

namespace rtnlprof {
namespace {

// elfutils as the reference.
std::string reference_build_id(const std::string& path) {
  elf_version(EV_CURRENT);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Elf* const elf = elf_begin(fd, ELF_C_READ, nullptr);
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);
  std::string id;
  if (size > 0) {
    id = build_id_hex(std::span(static_cast<const std::uint8_t*>(bytes), static_cast<std::size_t>(size)));
  }
  elf_end(elf);
  close(fd);
  return id;
}

TEST(BuildId, AgreesWithElfutils) {
  for (const std::string& path : std::initializer_list<std::string>{
           std::string(SYMBOL_SAMPLE), std::string(SYMBOL_SAMPLE_UPGRADE), std::string(SYMBOL_FIXTURES "/stripped.so"),
           std::string(SYMBOL_FIXTURES "/sample.debug"), std::string(SYMBOL_FIXTURES "/minidebug.so")}) {
    const auto id = read_build_id(path);
    ASSERT_TRUE(id.ok()) << path << ": " << id.error().message;
    EXPECT_EQ(id.value().size(), 40U);
    EXPECT_EQ(id.value(), reference_build_id(path)) << path;
  }
  EXPECT_NE(read_build_id(std::string(SYMBOL_SAMPLE)).value(),
            read_build_id(std::string(SYMBOL_SAMPLE_UPGRADE)).value());
}

TEST(BuildId, SaysWhyThereIsNone) {
  const test::TempDir dir;
  EXPECT_FALSE(read_build_id(std::string(SYMBOL_SAMPLE_PLAIN)).ok());
  EXPECT_FALSE(read_build_id(dir.path() + "/absent").ok());
  EXPECT_FALSE(read_build_id(dir.path()).ok()) << "a directory";
  EXPECT_FALSE(read_build_id(dir.write("/text", "#!/bin/sh\n")).ok());
  EXPECT_FALSE(read_build_id(dir.write("/empty", "")).ok());
  EXPECT_FALSE(read_build_id(dir.write("/magic",
                                       "\x7f"
                                       "ELF"))
                   .ok());
  EXPECT_FALSE(read_build_id(std::string("/dev/zero")).ok());
}

TEST(BuildId, RefusesAFifoWithoutBlocking) {
  const test::TempDir dir;
  const std::string path = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(read_build_id(path).ok());
}

std::vector<std::uint8_t> note(std::uint32_t type, const std::string& name, const std::vector<std::uint8_t>& content,
                               std::size_t align = 4) {
  std::vector<std::uint8_t> bytes;
  const auto word = [&](std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  };
  word(static_cast<std::uint32_t>(name.size()) + 1);
  word(static_cast<std::uint32_t>(content.size()));
  word(type);
  bytes.insert(bytes.end(), name.begin(), name.end());
  bytes.push_back(0);
  while (bytes.size() % align != 0) bytes.push_back(0);
  bytes.insert(bytes.end(), content.begin(), content.end());
  while (bytes.size() % align != 0) bytes.push_back(0);
  return bytes;
}

TEST(BuildId, FindsTheNoteAmongOthers) {
  constexpr std::uint32_t kBuildId = 3;
  std::vector<std::uint8_t> notes = note(1, "GNU", {1, 2, 3, 4});
  const auto append = [&](const std::vector<std::uint8_t>& more) {
    notes.insert(notes.end(), more.begin(), more.end());
  };
  append(note(kBuildId, "XYZ", {9, 9}));
  append(note(kBuildId, "GNU", {0xde, 0xad, 0xbe, 0xef, 0x01}));
  EXPECT_EQ(build_id_of_notes(notes), "deadbeef01");
  std::vector<std::uint8_t> wide = note(5, "GNU", {1, 2, 3, 4}, 8);
  const auto id = note(kBuildId, "GNU", {0xab, 0xcd}, 8);
  wide.insert(wide.end(), id.begin(), id.end());
  EXPECT_EQ(build_id_of_notes(wide, 8), "abcd");
}

TEST(BuildId, SurvivesDamagedNotes) {
  constexpr std::uint32_t kBuildId = 3;
  const auto whole = note(kBuildId, "GNU", std::vector<std::uint8_t>(20, 0x5a));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(build_id_of_notes(std::span(whole).first(length)), std::nullopt) << length;
  }
  for (std::size_t at = 0; at < 12; ++at) {
    auto broken = whole;
    broken[at] = 0xff;
    (void)build_id_of_notes(broken);
    (void)build_id_of_notes(broken, 8);
  }
  EXPECT_EQ(build_id_of_notes(note(kBuildId, "GNU", {})), std::nullopt);
  EXPECT_EQ(build_id_of_notes(note(kBuildId, "GNU", std::vector<std::uint8_t>(65, 1))), std::nullopt);
}

TEST(BuildId, PadsAsTheKernelDoes) {
  EXPECT_EQ(padded_build_id("0123456789abcdef"), "0123456789abcdef000000000000000000000000");
  EXPECT_EQ(padded_build_id(std::string(40, 'a')), std::string(40, 'a'));
  EXPECT_EQ(padded_build_id(""), "");
  EXPECT_EQ(build_id_hex(std::array<std::uint8_t, 3>{0x00, 0x9f, 0xff}), "009fff");
}

TEST(BuildId, ReadsAnImageInMemory) {
  std::ifstream file(SYMBOL_SAMPLE, std::ios::binary);
  const std::vector<char> raw((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::vector<std::uint8_t> image(raw.begin(), raw.end());
  EXPECT_EQ(build_id_of_image(image), read_build_id(std::string(SYMBOL_SAMPLE)).value());
  EXPECT_EQ(build_id_of_image(std::span(image).first(80)), std::nullopt);
}

}  // namespace
}  // namespace rtnlprof
