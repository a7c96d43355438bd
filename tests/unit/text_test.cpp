// SPDX-License-Identifier: BSD-2-Clause
#include "base/text.h"

#include <gtest/gtest.h>

namespace rtnlprof {
namespace {

TEST(ValidUtf8, KeepsWellFormedAndReplacesMaximalSubparts) {
  EXPECT_EQ(valid_utf8("caf\xC3\xA9 \xF0\x9F\x90\x9B"), "caf\xC3\xA9 \xF0\x9F\x90\x9B");
  EXPECT_EQ(valid_utf8("a\xFF"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(valid_utf8("\xE2\x82"), "\xEF\xBF\xBD");                              // truncated
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // surrogate
}

TEST(TerminalSafe, EscapesWhatMovesTheCursorOrReordersText) {
  EXPECT_EQ(terminal_safe("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
  EXPECT_EQ(terminal_safe("\xC2\x9B"), "\\x9b");  // C1 CSI
  EXPECT_EQ(terminal_safe("\xE2\x80\xAE"
                          "abc"),
            "\\u202eabc");  // right-to-left override
  EXPECT_EQ(terminal_safe("<script>\"'"), "<script>\"'");
}

TEST(GlobMatch, MatchesTheWholeText) {
  EXPECT_TRUE(glob_match("ixgbe_read_i2c_*", "ixgbe_read_i2c_byte_generic"));
  EXPECT_FALSE(glob_match("ixgbe", "ixgbe_read"));
  EXPECT_TRUE(glob_match("/system.slice/*", "/system.slice/a/b"));
}

TEST(ParseDuration, NeedsAUnitUnlessZero) {
  EXPECT_EQ(parse_duration_ns("50us"), 50'000U);
  EXPECT_EQ(parse_duration_ns("1ms"), 1'000'000U);
  EXPECT_EQ(parse_duration_ns("2.5s"), 2'500'000'000U);
  EXPECT_EQ(parse_duration_ns("0"), 0U);
  for (const char* bad : {"5", "", "ms", "-1ms", "1e3ms", "1 ms", "nan", "inf", "1msx", "99999999999999s"}) {
    EXPECT_EQ(parse_duration_ns(bad), std::nullopt) << bad;
  }
}

TEST(FormatDuration, ThreeSignificantDigits) {
  EXPECT_EQ(format_duration(0), "0");
  EXPECT_EQ(format_duration(999), "999ns");
  EXPECT_EQ(format_duration(46'000), "46.0us");
  EXPECT_EQ(format_duration(999'900), "1.00ms");
  EXPECT_EQ(format_duration(1'250'000'000), "1.25s");
  EXPECT_EQ(format_duration(100'846'000), "101ms");
}

}  // namespace
}  // namespace rtnlprof
