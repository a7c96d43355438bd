// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "recording/byte_source.h"

namespace rtnlprof {

// Splits a source into lines: LF or CRLF, the last one may lack it, a UTF-8 byte order mark at the start is dropped.
// Holds one line of at most kMaxLine bytes; a longer one is cut and flagged.
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = 16U << 20U;

  explicit LineReader(ByteSource& source) : source_(source) {}

  // True when there is a line, false at the end.
  Result<bool> next();
  // Valid until the next call.
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] bool too_long() const { return too_long_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }  // counts from 1

 private:
  static constexpr std::size_t kBuffer = 256U << 10U;

  ByteSource& source_;
  std::string buffer_ = std::string(kBuffer, '\0');
  std::string_view rest_;  // unread part of the buffer
  std::string long_line_;  // a line that does not lie in the buffer as a whole
  std::string_view line_;
  bool too_long_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace rtnlprof
