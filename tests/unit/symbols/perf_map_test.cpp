// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/perf_map.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "symbols/temp_dir.h"

namespace rtnlprof {
namespace {

std::string name_at(const PerfMap& map, std::uint64_t address) {
  const auto match = map.find(address);
  return match ? std::string(match->name) + "+" + std::to_string(match->offset) : "-";
}

TEST(PerfMap, FindsJitFunctions) {
  const PerfMap map = PerfMap::parse(
      "7f0000001000 40 LazyCompile:~handler /srv/app.js:10\n"
      "0x7f0000002000 0x10 jit_stub\n"
      "7f0000000100 20 Interpreter\n");
  EXPECT_EQ(name_at(map, 0x7f0000001008), "LazyCompile:~handler /srv/app.js:10+8");
  EXPECT_EQ(name_at(map, 0x7f0000002000), "jit_stub+0");
  EXPECT_EQ(name_at(map, 0x7f0000002010), "-");
  EXPECT_EQ(name_at(map, 0x7f000000011f), "Interpreter+31");
  EXPECT_EQ(name_at(map, 0), "-");
}

TEST(PerfMap, LaterLinesReplaceEarlierOnes) {
  const PerfMap map = PerfMap::parse("1000 40 old\n1000 40 new\n");
  EXPECT_EQ(name_at(map, 0x1010), "new+16");
}

TEST(PerfMap, SkipsHostileLines) {
  const PerfMap map =
      PerfMap::parse(std::string("\n \nname only\n1000\n1000 \n1000 20\n1000 20 \n1000 0 empty\n") +
                     "-1000 20 negative\n1000 ffffffffffffffff endless\n" + "ffffffffffffffffff 20 too wide\n3000 20 " +
                     std::string(100000, 'x') + "\nfffffffffffffff0 20 wraps\n" +
                     std::string("2000 20 nul\0name\n", 17) + "4000 20 unfinished");
  EXPECT_EQ(name_at(map, 0x1000), "-");
  EXPECT_EQ(name_at(map, 0x2000), std::string("nul\0name", 8) + "+0") << "raw bytes: the output sanitizes";
  EXPECT_EQ(name_at(map, 0x3001).size(), 512U + 2) << "names are cut";
  EXPECT_EQ(name_at(map, 0xfffffffffffffff8), "wraps+8");
  EXPECT_EQ(name_at(map, 0x8), "-");
}

TEST(PerfMap, ReadsFilesAndLeavesOutTheLineBeingWritten) {
  const test::TempDir dir;
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    char line[64];
    std::snprintf(line, sizeof line, "%x 10 function_%d\n", 0x100000 + i * 16, i);
    text += line;
  }
  const std::string path = dir.write("/map", text + "1000 20 unfinis");
  const auto fd = open_regular(path);
  ASSERT_TRUE(fd.ok());
  const PerfMap map = PerfMap::read(fd.value().get());
  EXPECT_EQ(map.size(), 20000U);
  EXPECT_EQ(name_at(map, 0x100000 + 19999 * 16 + 3), "function_19999+3");
  EXPECT_EQ(name_at(map, 0x1000), "-");
}

TEST(PerfMap, OpensOnlyTheProcessesOwnRegularFile) {
  const test::TempDir root;
  const auto uid = static_cast<std::uint32_t>(getuid());
  EXPECT_FALSE(open_perf_map(root.path(), 7, uid).valid()) << "absent";
  root.write("/tmp/perf-7.map", "1000 20 f\n");
  EXPECT_TRUE(open_perf_map(root.path(), 7, uid).valid());
  if (uid != 0) {
    EXPECT_FALSE(open_perf_map(root.path(), 7, uid + 1).valid()) << "someone else's";
  }

  const std::string secret = root.write("/secret", "1000 20 secret\n");
  std::filesystem::create_symlink(secret, root.path() + "/tmp/perf-8.map");
  EXPECT_FALSE(open_perf_map(root.path(), 8, uid).valid()) << "a symbolic link";
  std::filesystem::create_symlink("/secret", root.path() + "/tmp/perf-9.map");
  EXPECT_FALSE(open_perf_map(root.path(), 9, uid).valid());
  ASSERT_EQ(mkfifo((root.path() + "/tmp/perf-10.map").c_str(), 0600), 0);
  EXPECT_FALSE(open_perf_map(root.path(), 10, uid).valid()) << "a FIFO would block";
  std::filesystem::create_directory(root.path() + "/tmp/perf-11.map");
  EXPECT_FALSE(open_perf_map(root.path(), 11, uid).valid());

  const test::TempDir other;
  std::filesystem::create_symlink(root.path() + "/tmp", other.path() + "/tmp");
  EXPECT_FALSE(open_perf_map(other.path(), 7, uid).valid()) << "a linked directory leads out of the root";
}

TEST(PerfMap, RefusesForeignOwners) {
  if (getuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  const test::TempDir root;
  const std::string path = root.write("/tmp/perf-7.map", "1000 20 f\n");
  ASSERT_EQ(chown(path.c_str(), 1234, 1234), 0);
  EXPECT_TRUE(open_perf_map(root.path(), 7, 1234).valid());
  EXPECT_FALSE(open_perf_map(root.path(), 7, 1235).valid());
}

}  // namespace
}  // namespace rtnlprof
