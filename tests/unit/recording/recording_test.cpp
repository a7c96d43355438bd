// SPDX-License-Identifier: BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "event_log.h"
#include "recording/checksum.h"
#include "recording/encoder.h"
#include "recording/format.h"
#include "recording/reader.h"
#include "recording/writer.h"

namespace rtnlprof {
namespace {

using testing::EventLog;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;

Result<StreamQuality> read_bytes(const std::string& bytes, EventSink& sink) {
  return read_recording(std::as_bytes(std::span(bytes)), "memory", sink);
}

// A recording in several chunks, and the events in it.
struct Sample {
  TemporaryDirectory directory;
  std::string path = directory.file("sample.rtnl");
  std::string bytes;
  EventLog sent;

  explicit Sample(bool with_footer = true, int repeats = 3) {
    auto writer = RecordingWriter::create(path);
    EXPECT_TRUE(writer.ok());
    testing::send_everything(sent, false);
    testing::send_everything(**writer, false);
    EXPECT_TRUE((*writer)->flush().ok());
    for (int i = 0; i < repeats; ++i) {
      for (int k = 0; k < 10; ++k) {
        const Sleep sleep{.task = 1, .out_ns = i, .wake_ns = 1000 + k, .in_ns = 2000 + i, .state = 'S'};
        sent.on_sleep(sleep);
        (*writer)->on_sleep(sleep);
      }
      EXPECT_TRUE((*writer)->flush().ok());
    }
    const Footer footer{.end_ns = 30'000'000'123};
    if (with_footer) {
      sent.on_footer(footer);
      (*writer)->on_footer(footer);
    }
    EXPECT_TRUE((*writer)->finish().ok());
    bytes = testing::read_file(path);
    EXPECT_EQ((*writer)->bytes_written(), bytes.size());
  }
};

TEST(Crc32c, MatchesTheVectorsOfRfc3720) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
}

TEST(Recording, ReturnsEveryFieldOfEveryEvent) {
  const Sample sample;
  EventLog read;
  const auto quality = read_recording(sample.path, read);
  ASSERT_TRUE(quality.ok()) << quality.error().line();
  EXPECT_TRUE(quality.value().complete);
  EXPECT_TRUE(quality.value().notes.empty());
  EXPECT_EQ(read.sorted(), sample.sent.sorted());
}

TEST(Recording, SendsHeaderFirstDefinitionsBeforeUseAndFooterLast) {
  const Sample sample;
  EventLog read;
  ASSERT_TRUE(read_recording(sample.path, read).ok());
  EXPECT_THAT(read.lines.front(), ::testing::StartsWith("header "));
  EXPECT_THAT(read.lines.back(), ::testing::StartsWith("footer "));
  const auto first = [&](const std::string& type) {
    return std::find_if(read.lines.begin(), read.lines.end(),
                        [&](const std::string& line) { return line.starts_with(type); });
  };
  EXPECT_LT(first("task "), first("sleep "));
  EXPECT_LT(first("frame "), first("stack "));
  EXPECT_LT(first("stack "), first("sleep "));
  EXPECT_LT(first("lock "), first("wait "));
}

TEST(Recording, IsPrivateAndSaysHowMuchWasWritten) {
  const Sample sample;
  struct stat info {};
  ASSERT_EQ(stat(sample.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(Recording, WithoutFooterIsIncomplete) {
  const Sample sample(false);
  EventLog read;
  const auto quality = read_recording(sample.path, read);
  ASSERT_TRUE(quality.ok());
  EXPECT_FALSE(quality.value().complete);
  EXPECT_THAT(quality.value().notes.at(0), HasSubstr("did not finish"));
  EXPECT_EQ(read.sorted(), sample.sent.sorted());
}

TEST(Recording, ExtremeValuesSurvive) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("x.rtnl");
  EventLog sent;
  auto writer = RecordingWriter::create(path);
  ASSERT_TRUE(writer.ok());
  const auto send = [](EventSink& sink) {
    sink.on_header({.start_ns = -format::kMaxTime, .realtime_offset_ns = format::kMaxTime, .min_sleep_ns = UINT64_MAX});
    sink.on_task({.id = 1, .tid = INT32_MAX, .pid = INT32_MIN, .comm = std::string("a\0b\xFF\x1b[31m", 9)});
    sink.on_sleep({.task = 1, .out_ns = -format::kMaxTime, .wake_ns = 0, .in_ns = format::kMaxTime, .state = 'L'});
    sink.on_sleep({.task = 1, .out_ns = -format::kMaxTime, .wake_ns = -format::kMaxTime, .in_ns = -format::kMaxTime});
    sink.on_wakeups({1, {0, WakerContext::kNmi}, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX});
    sink.on_wait({.task = 1, .lock = UINT64_MAX, .kind = LockKind::kPercpuRwsemWrite, .result = INT32_MIN});
    sink.on_wait({.task = 1, .lock = 0});
    sink.on_lock({UINT64_MAX, std::string(100'000, 'n'), ""});
    sink.on_footer({.end_ns = format::kMaxTime, .has_exit_status = true, .exit_status = INT32_MIN});
  };
  send(sent);
  send(**writer);
  ASSERT_TRUE((*writer)->finish().ok());
  EventLog read;
  const auto quality = read_recording(path, read);
  ASSERT_TRUE(quality.ok()) << quality.error().line();
  EXPECT_EQ(read.sorted(), sent.sorted());
}

TEST(Recording, UndefinedIdsAndReversedTimesAreCountedNotWritten) {
  const TemporaryDirectory directory;
  auto writer = RecordingWriter::create(directory.file("x.rtnl"));
  ASSERT_TRUE(writer.ok());
  (*writer)->on_header({});
  (*writer)->on_task({.id = 1, .tid = 10});
  (*writer)->on_task({.id = UINT32_MAX, .tid = 11});                                           // absurd id
  (*writer)->on_sleep({.task = 7, .out_ns = 1, .wake_ns = 2, .in_ns = 3, .kernel_stack = 9});  // both undefined
  (*writer)->on_sleep({.task = 1, .out_ns = 5, .wake_ns = 4, .in_ns = 6});
  (*writer)->on_wait({.task = 1, .begin_ns = 5, .end_ns = 4});
  (*writer)->on_footer({.end_ns = 10});
  ASSERT_TRUE((*writer)->finish().ok());
  EventLog read;
  const auto quality = read_recording(directory.file("x.rtnl"), read);
  ASSERT_TRUE(quality.ok()) << quality.error().line();
  EXPECT_TRUE(quality.value().complete);
  const std::vector<std::string> expected{"sleep 0|1|2|3|?|-1||0|0|0|5|0|", "lost undefined_id|3|",
                                          "lost inconsistent|2|"};
  EXPECT_EQ(std::vector(read.lines.begin() + 2, read.lines.end() - 1), expected);
}

TEST(Recording, TruncatedAnywhereIsNeverCompleteAndNeverInvents) {
  const Sample sample;
  const auto everything = sample.sent.sorted();
  std::size_t errors = 0;
  std::size_t incomplete = 0;
  for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
    EventLog read;
    const auto quality = read_bytes(sample.bytes.substr(0, size), read);
    if (!quality.ok()) {
      EXPECT_EQ(incomplete, 0U) << "error after the first readable length, at " << size;
      ++errors;
      continue;
    }
    ++incomplete;
    ASSERT_FALSE(quality.value().complete) << size;
    ASSERT_FALSE(quality.value().notes.empty()) << size;
    ASSERT_LE(read.lines.size(), everything.size());
    const auto got = read.sorted();
    ASSERT_TRUE(std::includes(everything.begin(), everything.end(), got.begin(), got.end())) << size;
  }
  EXPECT_GT(errors, 0U);
  EXPECT_GT(incomplete, 100U);
}

TEST(Recording, TruncationNoteSaysWhereAndHowMuch) {
  const Sample sample;
  EventLog read;
  const auto quality = read_bytes(sample.bytes.substr(0, sample.bytes.size() - 3), read);
  ASSERT_TRUE(quality.ok());
  EXPECT_THAT(quality.value().notes.at(0), HasSubstr("file ends inside chunk 5, which starts at byte"));
  EXPECT_THAT(quality.value().notes.at(0), HasSubstr("the last 3 bytes of it are missing"));
}

TEST(Recording, AnyFlippedBitIsAnErrorThatNamesThePlace) {
  const Sample sample;
  for (std::size_t bit = 0; bit < sample.bytes.size() * 8; ++bit) {
    std::string flipped = sample.bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EventLog read;
    const auto quality = read_bytes(flipped, read);
    ASSERT_FALSE(quality.ok()) << "bit " << bit;
    if (bit / 8 >= format::kFileHeaderSize) {
      ASSERT_THAT(quality.error().message, HasSubstr("memory is damaged at chunk ")) << "bit " << bit;
    }
  }
}

TEST(Recording, AMissingChunkIsNoticed) {
  const Sample sample;
  // Cut the second data chunk out: find the chunk starts by their magic.
  std::vector<std::size_t> starts;
  for (std::size_t at = sample.bytes.find("RTCK"); at != std::string::npos; at = sample.bytes.find("RTCK", at + 1)) {
    starts.push_back(at);
  }
  ASSERT_EQ(starts.size(), 6U);  // header, 4 x events, footer
  const std::string cut = sample.bytes.substr(0, starts[2]) + sample.bytes.substr(starts[3]);
  EventLog read;
  const auto quality = read_bytes(cut, read);
  ASSERT_FALSE(quality.ok());
  EXPECT_THAT(quality.error().message, HasSubstr("chunk 2 is missing"));
}

TEST(Recording, ZerosAfterAHostCrashAreTruncation) {
  const Sample sample(false);
  EventLog read;
  const auto quality = read_bytes(sample.bytes + std::string(100'000, '\0'), read);
  ASSERT_TRUE(quality.ok()) << quality.error().line();
  EXPECT_FALSE(quality.value().complete);
  EXPECT_THAT(quality.value().notes.at(0), HasSubstr("only zeros from byte"));
  EXPECT_FALSE(read_bytes(sample.bytes + std::string(1000, '\0') + "x", read).ok());
}

TEST(Recording, DataAfterTheEndIsDamage) {
  const Sample sample;
  EventLog read;
  EXPECT_FALSE(read_bytes(sample.bytes + "x", read).ok());
  EXPECT_FALSE(read_bytes(sample.bytes + sample.bytes, read).ok());
}

TEST(Recording, ForeignFilesAreCalledWhatTheyAre) {
  EventLog read;
  const auto message = [&](const std::string& bytes) { return read_bytes(bytes, read).error().line(); };
  EXPECT_THAT(message(""), HasSubstr("is not an rtnlprof recording: it is empty"));
  EXPECT_THAT(message("PERFILE2 and more, and more, and more"), HasSubstr("it is a perf.data file"));
  EXPECT_THAT(message("{\"type\":\"header\"}"), HasSubstr("it looks like JSON"));
  EXPECT_THAT(message("\x1f\x8b\x08 and more"), HasSubstr("it is compressed"));
  EXPECT_THAT(message("\x7f"
                      "ELF"),
              HasSubstr("does not start with a recording's signature"));
  EXPECT_THAT(message(std::string(format::kMagic.substr(0, 5))), HasSubstr("ends inside its file header"));
  EXPECT_THAT(read_recording("/nonexistent/x.rtnl", read).error().line(), HasSubstr("No such file or directory"));
  EXPECT_THAT(read_recording("/tmp", read).error().line(), HasSubstr("Is a directory"));
}

TEST(Recording, ANewerFormatIsRefusedAndANewerMinorRead) {
  const Sample sample;
  const auto with_version = [&](format::FileHeader header) {
    return format::encode(header) + sample.bytes.substr(format::kFileHeaderSize);
  };
  EventLog read;
  const auto major = read_bytes(with_version({.major = 2}), read);
  ASSERT_FALSE(major.ok());
  EXPECT_THAT(major.error().message, HasSubstr("has recording format 2, this rtnlprof reads format 1"));
  EXPECT_TRUE(read_bytes(with_version({.minor = 9}), read).ok());
}

// Chunks with valid checksums around a payload of our making.
std::string chunk(format::ChunkType type, std::uint32_t sequence, const std::string& payload) {
  format::ChunkHeader header;
  header.type = type;
  header.sequence = sequence;
  header.stored_size = header.raw_size = static_cast<std::uint32_t>(payload.size());
  header.payload_crc = crc32c(payload);
  return format::encode(header) + payload;
}

std::string start_of_file() {
  const Sample sample;
  const std::size_t second = sample.bytes.find("RTCK", sample.bytes.find("RTCK") + 1);
  return sample.bytes.substr(0, second);
}

// A section of small numbers: one string per column.
std::string section(std::uint8_t type, std::uint8_t records, const std::vector<std::string>& columns) {
  std::string out{static_cast<char>(type), static_cast<char>(records), static_cast<char>(columns.size())};
  for (const std::string& column : columns) out += static_cast<char>(column.size());
  for (const std::string& column : columns) out += column;
  return out;
}

TEST(Recording, SkipsSectionsColumnsAndChunksOfLaterVersions) {
  constexpr std::size_t kTaskColumns = 17;
  std::vector<std::string> later(kTaskColumns + 1, std::string(1, '\0'));
  later[0] = "\x01";
  later[1] = "\x14";                                             // tid 10, zigzag
  later[6] = later[8] = later[10] = later[12] = later[14] = "";  // no characters
  later[kTaskColumns] = "what a later version adds";
  const std::vector<std::string> earlier{"\x02", "\x16"};  // a version that knew id and tid only
  const std::string events =
      section(80, 2, {"of the", "future"}) + section(3, 1, later) + section(3, 1, earlier) + section(7, 0, {});
  EventLog read;
  const auto quality = read_bytes(
      start_of_file() + chunk(format::ChunkType{99}, 1, "whatever") + chunk(format::ChunkType::kEvents, 2, events),
      read);
  ASSERT_TRUE(quality.ok()) << quality.error().line();
  ASSERT_EQ(read.lines.size(), 3U);
  EXPECT_EQ(read.lines[1], "task 1|10|0|0|0||||||0|-9223372036854775808|");
  EXPECT_EQ(read.lines[2], "task 2|11|0|0|0||||||0|-9223372036854775808|");
}

TEST(Recording, ForgedContentIsDamageWhateverItSays) {
  const std::string start = start_of_file();
  const std::string huge = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a column ends early", std::string("\x07", 1)},
      {"more records than bytes", std::string("\x07", 1) + huge + std::string("\x00", 1)},
      {"too many columns", std::string("\x07\x01", 2) + huge},
      {"a column is longer than its chunk", std::string("\x07\x01\x01", 3) + huge},
      {"an event refers to an undefined task", std::string("\x07\x01\x01\x01\x09", 5)},
      {"a definition has an impossible id", std::string("\x03\x01\x01\x01\x00", 5)},
      {"a section stands in the wrong chunk", std::string("\x01\x01\x01\x01\x00", 5)},
      {"bytes left over in a column", std::string("\x07\x01\x01\x02\x00\x00", 6)},
      {"an unknown kind", std::string("\x08\x01\x03\x01\x01\x01\x00\x00\x63", 9)},
      {"a text is longer than its column", std::string("\x10\x01\x02\x01\x01\x05\x61", 7)},
  };
  for (const auto& [reason, payload] : cases) {
    EventLog read;
    const auto quality = read_bytes(start + chunk(format::ChunkType::kEvents, 1, payload), read);
    ASSERT_FALSE(quality.ok()) << reason;
    EXPECT_THAT(quality.error().message, HasSubstr(reason));
  }
}

TEST(Recording, AChunkLargerThanAllowedIsRefusedBeforeItIsRead) {
  format::ChunkHeader header;
  header.sequence = 1;
  header.stored_size = format::kMaxChunkSize + 1;
  EventLog read;
  const auto quality = read_bytes(start_of_file() + format::encode(header) + "abc", read);
  ASSERT_FALSE(quality.ok());
  EXPECT_THAT(quality.error().message, HasSubstr("size is impossible"));
}

}  // namespace
}  // namespace rtnlprof
