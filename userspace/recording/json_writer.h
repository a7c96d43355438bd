// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace rtnlprof {

// `text` as a JSON string with its quotes: plain ASCII (everything else as \u escapes, ill-formed UTF-8 as U+FFFD), so
// that a stream printed on a terminal cannot move its cursor or reorder its text.
[[nodiscard]] std::string json_string(std::string_view text);

// Writes one JSON object a line. Keys are literals of this program and need no escaping.
class JsonWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}

  void begin(std::string_view type) {
    line_ += R"({"type":")";
    line_ += type;
    line_ += '"';
  }
  template <std::integral T>
  void number(std::string_view key, T value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    raw(key, {digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
  }
  void text(std::string_view key, std::string_view value) { raw(key, json_string(value)); }
  void text_unless_empty(std::string_view key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  void true_if(std::string_view key, bool value) {
    if (value) raw(key, "true");
  }
  // `json` is JSON already.
  void raw(std::string_view key, std::string_view json) {
    start(key);
    line_ += json;
  }
  void open(std::string_view key) {
    start(key);
    line_ += '{';
    first_ = true;
  }
  void close() {
    line_ += '}';
    first_ = false;
  }
  void end() {
    line_ += "}\n";
    if (line_.size() > kBatch) flush();
  }
  void flush() {
    out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
    line_.clear();
  }

 private:
  static constexpr std::size_t kBatch = 65536;

  void start(std::string_view key) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += '"';
    line_ += key;
    line_ += "\":";
  }

  std::ostream& out_;
  std::string line_;
  bool first_ = false;
};

}  // namespace rtnlprof
