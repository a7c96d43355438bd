// SPDX-License-Identifier: BSD-2-Clause
#include "report/json_document.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace rtnlprof {

void JsonDocument::key(std::string_view name) {
  before_value();
  write_text(name);
  out_ << ": ";
  after_key_ = true;
}

void JsonDocument::value(std::string_view text) {
  before_value();
  write_text(text);
}

void JsonDocument::value(bool truth) {
  before_value();
  out_ << (truth ? "true" : "false");
}

void JsonDocument::value(double number) {
  if (!std::isfinite(number)) {
    null();
    return;
  }
  before_value();
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  out_.write(buffer.data(), end - buffer.data());
}

void JsonDocument::null() {
  before_value();
  out_ << "null";
}

void JsonDocument::raw(std::string_view json) {
  before_value();
  out_ << json;
}

void JsonDocument::member_or_null(std::string_view name, const std::string& text) {
  key(name);
  if (text.empty()) {
    null();
  } else {
    value(text);
  }
}

void JsonDocument::strings(std::string_view name, const std::vector<std::string>& texts) {
  key(name);
  before_value();
  out_ << '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out_ << ", ";
    write_text(texts[i]);
  }
  out_ << ']';
}

void JsonDocument::open(char bracket) {
  before_value();
  out_ << bracket;
  levels_.push_back({true, bracket == '['});
}

void JsonDocument::close(char bracket) {
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  out_ << bracket;
  if (levels_.empty()) out_ << '\n';
}

void JsonDocument::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  if (!levels_.back().empty) out_ << ',';
  levels_.back().empty = false;
  new_line();
}

void JsonDocument::new_line() {
  out_ << '\n';
  for (std::size_t i = 0; i < levels_.size(); ++i) out_ << ' ';
}

void JsonDocument::write_text(std::string_view text) {
  out_ << '"';
  for (const char c : valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_ << '\\' << c;
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 8> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "\\u%04x", byte);
      out_ << buffer.data();
    } else {
      out_ << c;
    }
  }
  out_ << '"';
}

void JsonDocument::write_signed(std::int64_t number) { out_ << number; }

void JsonDocument::write_unsigned(std::uint64_t number) { out_ << number; }

}  // namespace rtnlprof
