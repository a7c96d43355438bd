// SPDX-License-Identifier: BSD-2-Clause
#include "recording/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <ostream>
#include <string>

#include "event_log.h"
#include "recording/reader.h"
#include "recording/writer.h"

namespace rtnlprof {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryDirectory;
using Mode = OutputFile::Mode;

TEST(OutputFile, ReplacesOurFileByANewPrivateInode) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out");
  testing::write_file(path, "old");
  std::filesystem::create_hard_link(path, directory.file("link"));
  std::filesystem::permissions(path, std::filesystem::perms::all);
  auto file = OutputFile::create(path, Mode::kGrowInPlace);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write("new").ok());
  ASSERT_TRUE((*file)->commit().ok());
  EXPECT_EQ(testing::read_file(path), "new");
  EXPECT_EQ(testing::read_file(directory.file("link")), "old");
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(OutputFile, RefusesSymbolicLinksAndDirectories) {
  const TemporaryDirectory directory;
  testing::write_file(directory.file("victim"), "precious");
  std::filesystem::create_symlink(directory.file("victim"), directory.file("link"));
  std::filesystem::create_symlink(directory.file("nowhere"), directory.file("dangling"));
  for (const Mode mode : {Mode::kGrowInPlace, Mode::kReplaceAtFinish}) {
    for (const char* name : {"link", "dangling"}) {
      const auto file = OutputFile::create(directory.file(name), mode);
      ASSERT_FALSE(file.ok());
      EXPECT_THAT(file.error().line(), HasSubstr("it is a symbolic link"));
    }
    const auto file = OutputFile::create(directory.file("."), mode);
    ASSERT_FALSE(file.ok());
    EXPECT_THAT(file.error().line(), HasSubstr("it is a directory"));
    EXPECT_FALSE(OutputFile::create(directory.file("no/such/directory"), mode).ok());
  }
  EXPECT_EQ(testing::read_file(directory.file("victim")), "precious");
}

TEST(OutputFile, ReplaceAtFinishKeepsTheOldFileUntilCommit) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out");
  testing::write_file(path, "old");
  {
    auto file = OutputFile::create(path, Mode::kReplaceAtFinish);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->write("half").ok());
    EXPECT_EQ(testing::read_file(path), "old");
  }
  EXPECT_EQ(testing::read_file(path), "old");
  {
    auto file = OutputFile::create(path, Mode::kReplaceAtFinish);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->write("new").ok());
    ASSERT_TRUE((*file)->commit().ok());
  }
  EXPECT_EQ(testing::read_file(path), "new");
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.file("."))) ++left;
  EXPECT_EQ(left, 1U);
}

TEST(OutputFile, DevicesAreOpenedAsTheyAre) {
  auto null = OutputFile::create("/dev/null", Mode::kReplaceAtFinish);
  ASSERT_TRUE(null.ok());
  EXPECT_TRUE((*null)->write("gone").ok());
  EXPECT_TRUE((*null)->commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(OutputStreamBuffer, KeepsTheFirstErrorOfAFullDevice) {
  auto full = OutputFile::create("/dev/full", Mode::kGrowInPlace);
  ASSERT_TRUE(full.ok());
  OutputStreamBuffer buffer(**full);
  std::ostream out(&buffer);
  out << "text" << std::flush;
  EXPECT_FALSE(out.good());
  ASSERT_FALSE(buffer.status().ok());
  EXPECT_THAT(buffer.status().error().line(), HasSubstr("No space left on device"));
}

TEST(RecordingWriter, ReportsAFullDeviceAtOnce) {
  const auto writer = RecordingWriter::create("/dev/full");
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().line(), HasSubstr("cannot write /dev/full: No space left on device"));
}

// A file size limit stands for a full disk: the write fails half-way. Exits with 7 when the writer says so, for good.
[[noreturn]] void fill_up(const std::string& path) {
  const rlimit limit{20'000, 20'000};
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, SIG_IGN);
  auto writer = RecordingWriter::create(path);
  (*writer)->on_header({});
  (*writer)->on_task({.id = 1, .tid = 10});
  std::uint64_t noise = 1;
  for (int i = 0; i < 100'000 && (*writer)->status().ok(); ++i) {
    noise = noise * 6364136223846793005ULL + 1;
    const auto time = static_cast<std::int64_t>(noise >> 20U);
    (*writer)->on_sleep({.task = 1, .out_ns = time, .wake_ns = time, .in_ns = time});
  }
  const bool failed = !(*writer)->status().ok();
  (*writer)->on_footer({});
  const bool still = !(*writer)->finish().ok() && !(*writer)->flush().ok();
  _exit(failed && still ? 7 : 1);
}

TEST(RecordingWriter, AFullDiskIsStickyAndLeavesWholeChunksReadable) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("x.rtnl");
  EXPECT_EXIT(fill_up(path), ::testing::ExitedWithCode(7), "");
  testing::EventLog read;
  const auto quality = read_recording(path, read);
  ASSERT_TRUE(quality.ok()) << quality.error().line();
  EXPECT_FALSE(quality.value().complete);
  EXPECT_GT(read.lines.size(), 100U);
}

}  // namespace
}  // namespace rtnlprof
