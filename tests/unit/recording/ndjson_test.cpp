// SPDX-License-Identifier: BSD-2-Clause
#include "recording/ndjson.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "event_log.h"
#include "recording/frame_text.h"
#include "recording/json_writer.h"
#include "recording/open.h"
#include "recording/reader.h"
#include "recording/rfc3339.h"
#include "recording/writer.h"

namespace rtnlprof {
namespace {

using ::testing::ElementsAre;
using testing::EventLog;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TemporaryDirectory;

const std::string kHeader =
    R"({"type":"header","schema":"rtnlprof.events/1","host":{"arch":"x86_64"},"start_ns":0,"end_ns":100})";

Result<StreamQuality> import_text(const std::string& text, EventSink& sink, bool keep_going = false) {
  std::istringstream in(text);
  return import_ndjson(in, sink, {.keep_going = keep_going});
}

// The events of `lines` under the usual header, without header and footer; an Error fails the test.
std::vector<std::string> events_of(const std::string& lines) {
  EventLog log;
  const auto quality = import_text(kHeader + "\n" + lines, log);
  EXPECT_TRUE(quality.ok()) << quality.error().line();
  if (!quality.ok() || log.lines.size() < 2) return {};
  return {log.lines.begin() + 1, log.lines.end() - 1};
}

std::string export_file(const std::string& path) {
  std::ostringstream out;
  const auto quality = export_ndjson(path, out);
  EXPECT_TRUE(quality.ok()) << quality.error().line();
  return out.str();
}

TEST(Ndjson, ReadsTheLinesOfTheContract) {
  const auto events = events_of(
      R"({"type":"task","tid":144390,"pid":144390,"ppid":1,"comm":"snmpd","cmdline":"/usr/sbin/snmpd","cgroup":"/s"})"
      "\n"
      R"({"type":"sleep","tid":144390,"out_ns":1000,"wake_ns":100846000,"in_ns":100850000,"state":"D","syscall":"ioctl",)"
      R"("kernel":["msleep","ixgbe_read+0x1f [ixgbe]"],"user":["ioctl"],"waker":{"tid":0,"context":"timer"}})"
      "\n"
      R"({"type":"wait","tid":71606,"lock":"0xffffffff831f5aa0","name":"rtnl_mutex","kind":"mutex","begin_ns":1,)"
      R"("end_ns":2,"result":0,"owner_tid":144390,"kernel":["msleep"]})"
      "\n");
  EXPECT_THAT(events, ElementsAre("task 1|144390|144390|1|0|snmpd|/usr/sbin/snmpd|/s|||0|-9223372036854775808|",
                                  "frame 1|0x0|msleep|0|||0|0|0|", "frame 2|0x0|ixgbe_read|31|ixgbe||0|0|0|",
                                  "stack 1|0|1|1,2,|", "frame 3|0x0|ioctl|0|||0|1|0|", "stack 2|1|1|3,|",
                                  "sleep 1|1000|100846000|100850000|D|16||1|2|0|4|0|",
                                  "task 2|71606|0|0|0||||||0|-9223372036854775808|",
                                  "lock 0xffffffff831f5aa0|rtnl_mutex|import|", "stack 3|0|1|1,|",
                                  "wait 2|0xffffffff831f5aa0|1|1|2|18446744073709551615|0|1|0|3|0|"));
}

TEST(Ndjson, RoundTripOfARecordingReturnsEveryEvent) {
  const TemporaryDirectory directory;
  const std::string first = directory.file("first.rtnl");
  const std::string second = directory.file("second.rtnl");
  testing::write_everything(first);
  const std::string text = export_file(first);
  auto writer = RecordingWriter::create(second);
  ASSERT_TRUE(writer.ok());
  const auto quality = import_text(text, **writer);
  ASSERT_TRUE(quality.ok()) << quality.error().line();
  EXPECT_TRUE(quality.value().complete);
  EXPECT_TRUE(quality.value().notes.empty()) << quality.value().notes.front();
  ASSERT_TRUE((*writer)->finish().ok());
  EventLog before;
  EventLog after;
  ASSERT_TRUE(read_recording(first, before).ok());
  ASSERT_TRUE(read_recording(second, after).ok());
  EXPECT_EQ(before.sorted(), after.sorted());
  // And from here on nothing changes any more.
  EXPECT_EQ(export_file(second), text);
}

TEST(Ndjson, ExportIsPlainAsciiJsonWithTheKeysOfTheContract) {
  const TemporaryDirectory directory;
  testing::write_everything(directory.file("x.rtnl"));
  std::istringstream in(export_file(directory.file("x.rtnl")));
  std::string line;
  bool first = true;
  bool seen_sleep = false;
  while (std::getline(in, line)) {
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7F; })) << line;
    const auto json = nlohmann::json::parse(line);
    if (first) {
      EXPECT_EQ(json["type"], "header");
      EXPECT_EQ(json["schema"], "rtnlprof.events/1");
      EXPECT_EQ(json["start_ns"], 123);
      EXPECT_EQ(json["end_ns"], 30'000'000'123);
      EXPECT_EQ(json["host"]["kernel_release"], "6.18.0");
      EXPECT_EQ(json["exit_status"], 130);
    }
    if (json["type"] == "sleep" && !seen_sleep) {
      seen_sleep = true;
      EXPECT_EQ(json["syscall"], "ioctl");
      EXPECT_EQ(json["state"], "D");
      EXPECT_EQ(json["kernel"], nlohmann::json({"msleep+0x1f", "ixgbe_read+0x7 [ixgbe]", "0xffffffff81999999"}));
      EXPECT_EQ(json["user"][0], "ioctl+0xb [/usr/lib/libc.so.6]");
      EXPECT_EQ(json["waker"], nlohmann::json({{"tid", 0}, {"context", "timer"}}));
    }
    first = false;
  }
  EXPECT_TRUE(seen_sleep);
}

TEST(Ndjson, AnIncompleteRecordingHasNoEnd) {
  const TemporaryDirectory directory;
  testing::write_everything(directory.file("x.rtnl"), false);
  std::ostringstream out;
  const auto exported = export_ndjson(directory.file("x.rtnl"), out);
  ASSERT_TRUE(exported.ok());
  EXPECT_FALSE(exported.value().complete);
  EXPECT_THAT(out.str().substr(0, out.str().find('\n')), ::testing::Not(HasSubstr("end_ns")));
  EventLog log;
  const auto imported = import_text(out.str(), log);
  ASSERT_TRUE(imported.ok());
  EXPECT_FALSE(imported.value().complete);
  EXPECT_TRUE(std::none_of(log.lines.begin(), log.lines.end(),
                           [](const std::string& line) { return line.starts_with("footer"); }));
}

TEST(Ndjson, AReusedTidStartsANewLifeAndARenameDoesNot) {
  const auto events = events_of(R"({"type":"task","tid":5,"pid":5,"comm":"a","cmdline":"/bin/a","start_ns":1})"
                                "\n"
                                R"({"type":"task","tid":5,"pid":5,"comm":"b"})"  // renamed: the cmdline stays
                                "\n"
                                R"({"type":"task","tid":5,"pid":5,"comm":"c","start_ns":2})"  // another life
                                "\n"
                                R"({"type":"task","tid":5,"pid":4,"comm":"d"})"  // a thread of another process
                                "\n"
                                R"({"type":"wakeups","tid":5,"count":1})"
                                "\n"
                                R"({"type":"task","tid":5,"pid":5,"comm":"c","start_ns":2})"  // back to what is known
                                "\n"
                                R"({"type":"wakeups","tid":5,"count":2})"
                                "\n");
  EXPECT_THAT(events, ElementsAre("task 1|5|5|0|0|a|/bin/a||||0|1|", "task 1|5|5|0|0|b|/bin/a||||0|1|",
                                  "task 2|5|5|0|0|c|||||0|2|", "task 3|5|4|0|0|d|||||0|-9223372036854775808|",
                                  "wakeups 3|0|5|1|0|0|0|", "wakeups 2|0|5|2|0|0|0|"));
}

TEST(Ndjson, ATaskLineAfterItsFirstEventFillsItIn) {
  EXPECT_THAT(events_of(R"({"type":"wakeups","tid":5,"count":1})"
                        "\n"
                        R"({"type":"task","tid":5,"pid":4,"comm":"x"})"),
              ElementsAre("task 1|5|0|0|0||||||0|-9223372036854775808|", "wakeups 1|0|5|1|0|0|0|",
                          "task 1|5|4|0|0|x|||||0|-9223372036854775808|"));
}

TEST(Ndjson, WakersFromInterruptsHaveNoTask) {
  const auto wakeup = [](const std::string& waker) {
    const auto events = events_of(R"({"type":"wakeups","tid":0,"count":1,"waker":)" + waker + "}");
    return events.empty() ? std::string() : events.back();
  };
  EXPECT_EQ(wakeup(R"({"tid":-1})"), "wakeups 0|0|1|1|0|0|0|");
  EXPECT_EQ(wakeup(R"({"tid":0})"), "wakeups 0|0|1|1|0|0|0|");
  EXPECT_EQ(wakeup(R"({"tid":7,"context":"softirq"})"), "wakeups 0|0|2|1|0|0|0|");
  EXPECT_EQ(wakeup(R"({"tid":-1,"context":"nmi"})"), "wakeups 0|0|3|1|0|0|0|");
  EXPECT_EQ(wakeup(R"({"tid":7})"), "wakeups 0|1|0|1|0|0|0|");
  EXPECT_EQ(wakeup("null"), "wakeups 0|0|5|1|0|0|0|");
}

TEST(Ndjson, LocksByAddressNameOrBoth) {
  const auto events =
      events_of(R"({"type":"wait","tid":0,"begin_ns":1,"end_ns":2,"lock":4096,"name":"a"})"
                "\n"
                R"({"type":"wait","tid":0,"begin_ns":1,"end_ns":2,"name":"a"})"  // the lock of that name
                "\n"
                R"({"type":"wait","tid":0,"begin_ns":1,"end_ns":2,"lock":"b"})"  // a name for want of an address
                "\n"
                R"({"type":"wait","tid":0,"begin_ns":1,"end_ns":2,"name":"b"})"
                "\n"
                R"({"type":"wait","tid":0,"begin_ns":1,"end_ns":2,"lock":"ffff888100000000"})"
                "\n"
                R"({"type":"wait","tid":0,"begin_ns":1,"end_ns":2})");
  const std::string rest = "|0|1|2|18446744073709551615|0|0|0|0|0|";
  EXPECT_THAT(events,
              ElementsAre("lock 0x1000|a|import|", "wait 0|0x1000" + rest, "wait 0|0x1000" + rest,
                          "lock 0x1000000000000|b|import|", "wait 0|0x1000000000000" + rest,
                          "wait 0|0x1000000000000" + rest, "wait 0|0xffff888100000000" + rest, "wait 0|0x0" + rest));
}

TEST(Ndjson, LostLinesOfOneClassAddUp) {
  EXPECT_THAT(events_of(R"({"type":"lost","class":"sleep","count":12})"
                        "\n"
                        R"({"type":"lost","class":"sleep","count":3})"),
              ElementsAre("lost sleep|12|", "lost sleep|15|"));
}

TEST(Ndjson, FramesAsObjectsCarryWhatATextCannot) {
  EXPECT_THAT(
      events_of(
          R"({"type":"frame","text":"odd [x] +0x1","user":true,"symbol":"odd","build_id":"ab","file_offset":"0x10"})"
          "\n"
          R"({"type":"wait","tid":0,"begin_ns":1,"end_ns":2,"user":["odd [x] +0x1",{"symbol":"f","unreliable":true}]})"),
      ElementsAre("frame 1|0x0|odd|0||ab|16|1|0|", "frame 2|0x0|f|0|||0|1|1|", "stack 1|1|1|1,2,|",
                  "wait 0|0x0|0|1|2|18446744073709551615|0|0|0|0|1|"));
}

TEST(Ndjson, UnknownTypesAndKeysAreIgnoredAndCounted) {
  EventLog log;
  const auto quality = import_text(kHeader + "\n" + R"({"type":"quantum\u001b[31m","x":1})" + "\n" +
                                       R"({"type":"wakeups","tid":0,"count":1,"colour":"red","more":{"a":[1]}})",
                                   log);
  ASSERT_TRUE(quality.ok()) << quality.error().line();
  EXPECT_TRUE(quality.value().complete);
  EXPECT_THAT(quality.value().notes, ElementsAre("ignored 1 lines of types unknown to this version: quantum\\x1b[31m",
                                                 "ignored 2 keys unknown to this version"));
}

TEST(Ndjson, BlankLinesCrlfAndAByteOrderMarkAreFine) {
  EventLog log;
  const auto quality = import_text(
      "\xEF\xBB\xBF\r\n" + kHeader + "\r\n\r\n  \n" + R"({"type":"wakeups","tid":0,"count":1})" + "\r\n", log);
  ASSERT_TRUE(quality.ok()) << quality.error().line();
  EXPECT_EQ(log.lines.size(), 3U);
}

TEST(Ndjson, NotANumberOfANumberIsStillOne) {
  const auto events = events_of(R"({"type":"sleep","tid":0,"out_ns":1e3,"wake_ns":2000.0,"state":null})");
  EXPECT_THAT(events, ElementsAre("sleep 0|1000|2000|2000|?|-1||0|0|0|5|0|"));
}

TEST(Ndjson, TheHeaderMustComeFirstAndBeOurs) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "the event stream is empty"},
      {"\n\n", "the event stream is empty"},
      {"hello", "line 1: no header of an rtnlprof.events/1 stream: invalid JSON"},
      {R"({"type":"wakeups","tid":1})", "line 1: no header of an rtnlprof.events/1 stream: wakeups: comes before"},
      {R"({"type":"header","schema":"rtnlprof.events/2","start_ns":0})", "schema is not rtnlprof.events/1"},
      {R"({"type":"header","start_ns":0})", "missing key schema"},
      {R"({"type":"header","schema":"rtnlprof.events/1"})", "missing key start_ns"},
      {R"({"type":"header","schema":"rtnlprof.events/1","start_ns":5,"end_ns":4})", "end_ns is before start_ns"},
      {R"({"type":"header","schema":"rtnlprof.events/1","start_ns":5,"host":[]})", "host must be an object"},
      {R"({"type":"header","schema":"rtnlprof.events/1","start_ns":5,"cpus":-1})", "cpus must be between 0 and"},
      {R"({"type":"header","schema":"rtnlprof.events/1","start_ns":5,"started_at":"today"})", "RFC 3339"},
  };
  for (const auto& [text, reason] : cases) {
    for (const bool keep_going : {false, true}) {
      EventLog log;
      const auto quality = import_text(text, log, keep_going);
      ASSERT_FALSE(quality.ok()) << text;
      EXPECT_THAT(quality.error().message, HasSubstr(reason)) << text;
      EXPECT_TRUE(log.lines.empty());
    }
  }
}

class BadLine : public ::testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(BadLine, IsRefusedWithNumberAndReasonOrSkippedAndCounted) {
  const auto& [line, reason] = GetParam();
  const std::string good = R"({"type":"wakeups","tid":0,"count":1})";
  const std::string text = kHeader + "\n" + good + "\n" + line + "\n" + good + "\n";
  EventLog strict;
  const auto refused = import_text(text, strict);
  ASSERT_FALSE(refused.ok()) << line;
  EXPECT_THAT(refused.error().message, StartsWith("line 3: "));
  EXPECT_THAT(refused.error().message, HasSubstr(reason));
  EventLog lenient;
  const auto skipped = import_text(text, lenient, true);
  ASSERT_TRUE(skipped.ok()) << line;
  EXPECT_THAT(std::vector(lenient.lines.begin() + 1, lenient.lines.end() - 1),
              ElementsAre("wakeups 0|0|5|1|0|0|0|", "wakeups 0|0|5|1|0|0|0|", "lost bad line|1|"));
  EXPECT_THAT(skipped.value().notes, ElementsAre("skipped 1 bad lines"));
}

std::string nested(std::size_t depth) {
  return R"({"type":"wakeups","tid":0,"x":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, BadLine,
    ::testing::Values(
        std::pair{"{", "invalid JSON"}, std::pair{"[1,2]", "not a JSON object"}, std::pair{"17", "not a JSON object"},
        std::pair{"{} {}", "invalid JSON"}, std::pair{"{}", "missing key type"},
        std::pair{R"({"type":7})", "type must be a string"},
        std::pair{R"({"type":"wakeups","tid":0,"x":")"
                  "\xFF"
                  R"("})",
                  "invalid JSON"},
        std::pair{R"({"type":"wakeups","tid":0,"x":1e999})", "invalid JSON"},
        std::pair{R"({"type":"wakeups","tid":0,"x":NaN})", "invalid JSON"},
        std::pair{R"({"type":"wakeups","tid":0,"x":"\ud800"})", "invalid JSON"}, std::pair{kHeader, "a second header"},
        std::pair{nested(100), "nested deeper than 64 levels"},
        std::pair{R"({"type":"wakeups"})", "wakeups: missing key tid"},
        std::pair{R"({"type":"wakeups","tid":"5"})", "tid must be a whole number"},
        std::pair{R"({"type":"wakeups","tid":-5})", "tid must be between 0 and 2147483647"},
        std::pair{R"({"type":"wakeups","tid":4294967296})", "tid must be between"},
        std::pair{R"({"type":"wakeups","tid":1,"count":-1})", "count must be between"},
        std::pair{R"({"type":"wakeups","tid":1,"count":1.5})", "count must be a whole number"},
        std::pair{R"({"type":"wakeups","tid":1,"waker":5})", "waker must be an object"},
        std::pair{R"({"type":"wakeups","tid":1,"waker":{"tid":5,"context":"kettle"}})", "unknown waker.context"},
        std::pair{R"({"type":"wakeups","tid":1,"waker":{"tid":-1,"context":"task"}})", "contradicts"},
        std::pair{R"({"type":"task","tid":1,"pid":1})", "task: missing key comm"},
        std::pair{R"({"type":"task","tid":1,"comm":"x"})", "task: missing key pid"},
        std::pair{R"({"type":"task","pid":1,"comm":"x"})", "task: missing key tid"},
        std::pair{R"({"type":"task","tid":1,"pid":1,"comm":null})", "task: missing key comm"},
        std::pair{R"({"type":"task","tid":1,"pid":1,"comm":5})", "comm must be a string"},
        std::pair{R"({"type":"task","tid":1,"pid":1,"comm":"x","kernel_thread":1})", "must be true or false"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":5})", "sleep: missing key wake_ns"},
        std::pair{R"({"type":"sleep","tid":1,"wake_ns":5})", "sleep: missing key out_ns"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":5,"wake_ns":4})", "wake_ns is before out_ns"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":5,"wake_ns":6,"in_ns":5})", "in_ns is before wake_ns"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":5,"wake_ns":18446744073709551615})", "a smaller number"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":-9223372036854775808,"wake_ns":0})", "out_ns must be between"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":1,"wake_ns":2,"state":"Q"})", "unknown state 'Q'"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":1,"wake_ns":2,"state":"R"})", "unknown state 'R'"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":1,"wake_ns":2,"state":"SD"})", "unknown state 'SD'"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":1,"wake_ns":2,"kernel":"msleep"})", "kernel must be an array"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":1,"wake_ns":2,"kernel":[7]})", "array of strings or objects"},
        std::pair{R"({"type":"sleep","tid":1,"out_ns":1,"wake_ns":2,"syscall":[]})", "syscall must be"},
        std::pair{R"({"type":"wait","tid":1,"begin_ns":2,"end_ns":1})", "end_ns is before begin_ns"},
        std::pair{R"({"type":"wait","tid":1,"begin_ns":2})", "wait: missing key end_ns"},
        std::pair{R"({"type":"wait","tid":1,"begin_ns":2,"end_ns":3,"kind":"padlock"})", "unknown kind 'padlock'"},
        std::pair{R"({"type":"wait","tid":1,"begin_ns":2,"end_ns":3,"lock":"0xZZ"})", "lock must be an address"},
        std::pair{R"({"type":"wait","tid":1,"begin_ns":2,"end_ns":3,"lock":-1})", "lock must be an address"},
        std::pair{R"({"type":"hold","tid":1,"acquired_ns":2,"released_ns":1})", "released_ns is before acquired_ns"},
        std::pair{R"({"type":"call","tid":1,"start_ns":2,"end_ns":1})", "end_ns is before start_ns"},
        std::pair{R"({"type":"in_flight","tid":1})", "in_flight: missing key since_ns"},
        std::pair{R"({"type":"suspend","begin_ns":2,"end_ns":1})", "end_ns is before begin_ns"},
        std::pair{R"({"type":"scheduler","tid":1,"policy":"SCHED_MAGIC"})", "unknown policy 'SCHED_MAGIC'"},
        std::pair{R"({"type":"frame","symbol":"x"})", "frame: missing key text"}));

TEST(Ndjson, AnEndlessLineIsCutNotSwallowed) {
  const std::string text = kHeader + "\n" + R"({"type":"wakeups","tid":0,"x":")" + std::string(17U << 20U, 'a') +
                           "\"}\n" + R"({"type":"wakeups","tid":0,"count":2})";
  EventLog strict;
  const auto refused = import_text(text, strict);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "line 2: longer than 16 MiB");
  EventLog lenient;
  ASSERT_TRUE(import_text(text, lenient, true).ok());
  EXPECT_EQ(lenient.lines.at(1), "wakeups 0|0|5|2|0|0|0|");
}

TEST(FrameText, RoundTripsWhatATextCanSay) {
  for (const char* text : {"msleep", "msleep+0x1f", "rtl8169_poll+0x2 [r8169]", "0xffffffff81000000", "foo.isra.0+0x10",
                           "std::vector<int, std::allocator<int> >::push_back(int&&)", "a[b]"}) {
    EXPECT_EQ(events::frame_text(events::parse_frame_text(text, false)), text);
  }
  const Frame sized = events::parse_frame_text("rtnl_lock+0x1b/0x40 [net]", false);
  EXPECT_EQ(sized.symbol, "rtnl_lock");
  EXPECT_EQ(sized.offset, 0x1bU);
  EXPECT_EQ(sized.module, "net");
  EXPECT_EQ(events::parse_frame_text("", false).symbol, "");
  EXPECT_EQ(events::parse_frame_text("+0x1", false).symbol, "+0x1");
  EXPECT_EQ(events::parse_frame_text("a+0x", false).symbol, "a+0x");
  EXPECT_EQ(events::parse_frame_text(" [x]", false).symbol, " [x]");
}

TEST(JsonString, IsAsciiAndNeverBreaks) {
  EXPECT_EQ(json_string("a\"b\\\n\x1b[31m"), R"("a\"b\\\n\u001b[31m")");
  EXPECT_EQ(json_string("\xE2\x80\xAE\xFF\x7F"), R"("\u202e\ufffd\u007f")");
}

TEST(Rfc3339, ParsesZonesAndFractions) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_rfc3339("2026-02-03T04:05:06.789Z"), 1'770'091'506'789'000'000);
  EXPECT_EQ(parse_rfc3339("2026-02-03T05:05:06.789000000999+01:00"), 1'770'091'506'789'000'000);
  for (const char* bad :
       {"", "today", "2026-02-30T00:00:00Z", "2026-02-03", "2026-02-03T04:05:06", "9999-01-01T00:00:00Z",
        "2026-02-03T24:00:00Z", "2026-02-03T04:05:06.Z", "2026-02-03T04:05:06Zx"}) {
    EXPECT_EQ(parse_rfc3339(bad), std::nullopt) << bad;
  }
}

TEST(ReadEvents, TellsRecordingsAndStreamsApartByContent) {
  const TemporaryDirectory directory;
  testing::write_everything(directory.file("a.json"));
  testing::write_file(directory.file("b.rtnl"), "\n " + kHeader + "\n");
  testing::write_file(directory.file("bad"), kHeader + "\n{\n");
  testing::write_file(directory.file("other"), "something else");
  EventLog log;
  EXPECT_TRUE(read_events(directory.file("a.json"), log).ok());
  EXPECT_TRUE(read_events(directory.file("b.rtnl"), log).ok());
  EXPECT_THAT(read_events(directory.file("bad"), log).error().message, HasSubstr("bad: line 2: invalid JSON"));
  EXPECT_THAT(read_events(directory.file("other"), log).error().message, HasSubstr("is not an rtnlprof recording"));
}

}  // namespace
}  // namespace rtnlprof
