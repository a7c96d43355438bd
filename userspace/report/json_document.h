// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace rtnlprof {

// Writes one JSON document to a stream as it goes, indented by one space a level; short arrays of strings stay on one
// line. Strings are made valid UTF-8 and escaped, so no input can break the document. The caller keeps the order of
// calls right: key() before every value in an object.
class JsonDocument {
 public:
  explicit JsonDocument(std::ostream& out) : out_(out) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);

  void value(std::string_view text);
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool truth);
  void value(double number);  // not finite: null
  template <std::integral T>
  void value(T number) {
    before_value();
    if constexpr (std::signed_integral<T>) {
      write_signed(number);
    } else {
      write_unsigned(number);
    }
  }
  void null();
  // Null when empty.
  template <typename T>
  void value(const std::optional<T>& maybe) {
    if (maybe) {
      value(*maybe);
    } else {
      null();
    }
  }
  // Text that is JSON already.
  void raw(std::string_view json);

  template <typename T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  // Null for an empty text: what is empty is not known.
  void member_or_null(std::string_view name, const std::string& text);
  void strings(std::string_view name, const std::vector<std::string>& texts);

 private:
  void open(char bracket);
  void close(char bracket);
  void before_value();
  void new_line();
  void write_text(std::string_view text);
  void write_signed(std::int64_t number);
  void write_unsigned(std::uint64_t number);

  struct Level {
    bool empty = true;
    bool array = false;
  };
  std::ostream& out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace rtnlprof
