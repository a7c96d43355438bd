// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/process_maps.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "symbols/build_id.h"
#include "symbols/temp_dir.h"

namespace rtnlprof {
namespace {

TEST(ParseMaps, KeepsExecutableMappings) {
  const auto lines = parse_maps(
      "55d0c8e00000-55d0c8e02000 r--p 00000000 fe:00 262211                     /usr/bin/cat\n"
      "55d0c8e02000-55d0c8e07000 r-xp 00002000 fe:00 262211                     /usr/bin/cat\n"
      "7f0000000000-7f0000010000 rwxp 00000000 00:00 0 \n"
      "7ffd1c5f6000-7ffd1c5f8000 r-xp 00000000 00:00 0                          [vdso]\n"
      "7f1000000000-7f1000001000 r-xs 00001000 00:01 4242                       /memfd:jit (deleted)\n"
      "7f2000000000-7f2000001000 r-xp 00000000 08:11 7                          /opt/a b\\012c (deleted)\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0].path, "/usr/bin/cat");
  EXPECT_EQ(lines[0].start, 0x55d0c8e02000U);
  EXPECT_EQ(lines[0].end, 0x55d0c8e07000U);
  EXPECT_EQ(lines[0].file_offset, 0x2000U);
  EXPECT_EQ(lines[0].inode, 262211U);
  EXPECT_EQ(lines[0].device, makedev(0xfe, 0));
  EXPECT_TRUE(lines[0].file_backed);
  EXPECT_FALSE(lines[0].deleted);
  EXPECT_FALSE(lines[1].file_backed);
  EXPECT_EQ(lines[1].path, "");
  EXPECT_EQ(lines[2].path, "/memfd:jit");
  EXPECT_TRUE(lines[2].deleted);
  EXPECT_EQ(lines[3].path, "/opt/a b\nc");
  EXPECT_TRUE(lines[3].deleted);
  EXPECT_EQ(lines[4].path, "[vdso]");
  EXPECT_EQ(lines[5].path, "[vsyscall]");
}

TEST(ParseMaps, SkipsMalformedLines) {
  EXPECT_TRUE(parse_maps("").empty());
  EXPECT_TRUE(parse_maps("\n\n").empty());
  EXPECT_TRUE(parse_maps("zz-7f r-xp 0 0:0 0\n").empty());
  EXPECT_TRUE(parse_maps("1000-2000\n1000-2000 r-x\n1000-2000 r-xp\n1000-2000 r-xp 0 fe 3 /x\n").empty());
  EXPECT_TRUE(parse_maps("2000-1000 r-xp 00000000 00:00 0\n").empty()) << "ends before it starts";
}

TEST(ProcessMaps, FindsTheMappingOfAnAddress) {
  ProcessMaps maps;
  maps.mappings.push_back({.start = 0x1000, .end = 0x2000, .file_offset = 0, .file = nullptr, .label = "a"});
  maps.mappings.push_back({.start = 0x3000, .end = 0x4000, .file_offset = 0, .file = nullptr, .label = "b"});
  EXPECT_EQ(maps.find(0xfff), nullptr);
  EXPECT_EQ(maps.find(0x1000)->label, "a");
  EXPECT_EQ(maps.find(0x1fff)->label, "a");
  EXPECT_EQ(maps.find(0x2000), nullptr);
  EXPECT_EQ(maps.find(0x3fff)->label, "b");
  EXPECT_EQ(maps.find(0x4000), nullptr);
}

TEST(FileStore, SharesFilesAndBoundsOpenDescriptors) {
  const test::TempDir root;
  FileStore store(2);
  const auto add = [&](const std::string& name, const std::string& from) {
    const std::string path = std::filesystem::exists(root.path() + name) ? root.path() + name : root.copy(from, name);
    FileIdentity identity;
    EXPECT_TRUE(find_regular(path, identity).ok());
    MappedFile file;
    file.path = name;
    file.open_path = path;
    file.device = identity.device;
    file.inode = identity.inode;
    return store.add("/nonexistent", "0-0", file);
  };
  const auto first = add("/a.so", SYMBOL_SAMPLE);
  EXPECT_EQ(first->build_id, read_build_id(std::string(SYMBOL_SAMPLE)).value());
  EXPECT_EQ(add("/a.so", SYMBOL_SAMPLE), first) << "known";
  add("/b.so", SYMBOL_SAMPLE_UPGRADE);
  EXPECT_EQ(store.open_count(), 2U);
  add("/c.so", SYMBOL_SAMPLE);
  EXPECT_EQ(store.open_count(), 2U);
  EXPECT_NE(store.open(*first), nullptr) << "closed meanwhile, but still the same file";
  EXPECT_EQ(store.open_count(), 2U);
}

TEST(FileStore, DoesNotReopenAnotherVersion) {
  const test::TempDir root;
  FileStore store(0);
  const std::string path = root.copy(SYMBOL_SAMPLE, "/lib.so");
  FileIdentity identity;
  ASSERT_TRUE(find_regular(path, identity).ok());
  MappedFile wanted;
  wanted.path = "/lib.so";
  wanted.open_path = path;
  wanted.device = identity.device;
  wanted.inode = identity.inode;
  const auto file = store.add("/nonexistent", "0-0", wanted);
  EXPECT_NE(store.open(*file), nullptr);
  std::filesystem::remove(path);
  (void)root.copy(SYMBOL_SAMPLE_UPGRADE, "/lib.so");
  EXPECT_EQ(store.open(*file), nullptr);
}

TEST(FileStore, DoesNotTakeAnotherFileForTheMappedOne) {
  const test::TempDir root;
  FileStore store;
  MappedFile wanted;
  wanted.path = "/lib.so";
  wanted.open_path = root.copy(SYMBOL_SAMPLE, "/lib.so");
  wanted.device = 1;
  wanted.inode = 2;  // of the file that was mapped, since replaced
  const auto file = store.add("/nonexistent", "0-0", wanted);
  EXPECT_EQ(file->build_id, "");
  EXPECT_EQ(store.open(*file), nullptr);
}

TEST(ReadProcessMaps, CapturesThisProcess) {
  FileStore store;
  const auto maps = read_process_maps("/proc/self", getpid(), getpid(), getuid(), store);
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  const Mapping* const here =
      maps.value().find(reinterpret_cast<std::uint64_t>(reinterpret_cast<const void*>(&parse_maps)));
  ASSERT_NE(here, nullptr);
  ASSERT_NE(here->file, nullptr);
  EXPECT_EQ(here->file->path, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(here->file->build_id, read_build_id(std::string("/proc/self/exe")).value());
  EXPECT_FALSE(here->file->deleted);
}

TEST(ReadProcessMaps, SaysWhichFileIsMissing) {
  const test::TempDir root;
  FileStore store;
  const auto maps = read_process_maps(root.path() + "/proc/77", 77, 77, 0, store);
  ASSERT_FALSE(maps.ok());
  EXPECT_NE(maps.error().message.find("/proc/77/maps"), std::string::npos);
}

}  // namespace
}  // namespace rtnlprof
