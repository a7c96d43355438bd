// SPDX-License-Identifier: BSD-2-Clause
#include "recording/line_reader.h"

#include <algorithm>

namespace rtnlprof {

Result<bool> LineReader::next() {
  long_line_.clear();
  too_long_ = false;
  bool any = false;
  while (true) {
    if (rest_.empty()) {
      const auto got = source_.read(buffer_.data(), buffer_.size());
      if (!got.ok()) return got.error();
      if (got.value() == 0) {
        line_ = long_line_;
        break;
      }
      rest_ = std::string_view(buffer_).substr(0, got.value());
    }
    any = true;
    const std::size_t newline = rest_.find('\n');
    const std::string_view part = rest_.substr(0, newline);
    rest_.remove_prefix(newline == std::string_view::npos ? rest_.size() : newline + 1);
    if (newline != std::string_view::npos && long_line_.empty()) {
      line_ = part;
      break;
    }
    const std::size_t room = kMaxLine + 1 - std::min(long_line_.size(), kMaxLine + 1);
    long_line_ += part.substr(0, room);
    if (newline != std::string_view::npos) {
      line_ = long_line_;
      break;
    }
  }
  if (!any) return false;
  ++number_;
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  if (number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.remove_prefix(3);
  too_long_ = line_.size() > kMaxLine;
  return true;
}

}  // namespace rtnlprof
