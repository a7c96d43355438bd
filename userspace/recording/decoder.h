// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/events.h"
#include "recording/format.h"
#include "recording/ids.h"

namespace rtnlprof::format {

// Reads the sections of one chunk's payload back into records; the mirror of Encoder. Trusts nothing: whatever does not
// fit sets fault(), after which all values are 0. A column that an older writer did not have reads as 0s, columns
// that a newer one added are skipped.
class Decoder {
 public:
  template <typename T>
  using Ref = T&;

  Decoder(std::string_view payload, IdTables& ids) : rest_(payload), ids_(ids) {}

  // Goes to the next section; false at the end, or on a fault.
  bool next_section() {
    if (rest_.empty() || fault_ != nullptr) return false;
    Cursor head{rest_.data(), rest_.data() + rest_.size()};
    const std::uint64_t type = varint(head);
    section_ = static_cast<Section>(type < kSections ? type : 0);
    records_ = varint(head);
    const std::uint64_t columns = varint(head);
    if (columns > kMaxColumns) fail("too many columns");
    columns_.fill(Cursor{});
    std::array<std::uint64_t, kMaxColumns> sizes{};
    for (std::size_t i = 0; i < columns && fault_ == nullptr; ++i) sizes[i] = varint(head);
    for (std::size_t i = 0; i < columns && fault_ == nullptr; ++i) {
      if (sizes[i] > static_cast<std::size_t>(head.end - head.at)) return fail("a column is longer than its chunk");
      columns_[i] = {head.at, head.at + sizes[i]};
      head.at += sizes[i];
    }
    rest_ = {head.at, static_cast<std::size_t>(head.end - head.at)};
    // Every record takes at least a byte of the first column, which bounds the loop over a forged number of records.
    if (records_ != 0 && (columns == 0 || records_ > sizes[0])) fail("more records than bytes");
    next_ = 0;
    return fault_ == nullptr;
  }
  [[nodiscard]] Section section() const { return section_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }

  void begin_record() { next_ = 0; }
  // After the last record: all bytes must have been used.
  void end_section() {
    for (std::size_t i = 0; i < next_; ++i) {
      if (columns_[i].at != columns_[i].end) fail("bytes left over in a column");
    }
  }

  // What is wrong, nullptr while nothing is.
  [[nodiscard]] const char* fault() const { return fault_; }
  bool fail(const char* reason) {
    if (fault_ == nullptr) fault_ = reason;
    return false;
  }

  template <std::integral T>
  void number(T& value) {
    const std::uint64_t raw = varint(next());
    if constexpr (std::is_signed_v<T>) {
      const std::int64_t wide = unzigzag(raw);
      if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) fail("a number out of range");
      value = static_cast<T>(wide);
    } else {
      if (raw > std::numeric_limits<T>::max()) fail("a number out of range");
      value = static_cast<T>(raw);
    }
  }
  void time(std::int64_t& value) {
    Cursor& column = next();
    column.previous += static_cast<std::uint64_t>(unzigzag(varint(column)));
    value = bounded(static_cast<std::int64_t>(column.previous));
  }
  void time_before(std::int64_t& value, std::int64_t later) {
    const std::uint64_t raw = varint(next());
    if (raw > static_cast<std::uint64_t>(later + kMaxTime)) {
      fail("a time out of range");
      value = later;
      return;
    }
    value = static_cast<std::int64_t>(static_cast<std::uint64_t>(later) - raw);
  }
  void optional_time(std::int64_t& value) {
    const std::uint64_t raw = varint(next());
    value = raw == 0 ? kUnknownTime : bounded(unzigzag(raw - 1));
  }
  void count(std::uint64_t& value) { value = varint(next()) - 1; }
  void address(std::uint64_t& value) {
    Cursor& column = next();
    column.previous += static_cast<std::uint64_t>(unzigzag(varint(column)));
    value = column.previous;
  }
  void flag(bool& value) { value = varint(next()) != 0; }
  template <typename E>
  void choice(E& value, E last) {
    const std::uint64_t raw = varint(next());
    if (raw > static_cast<std::uint64_t>(last)) fail("an unknown kind");
    value = raw > static_cast<std::uint64_t>(last) ? E{} : static_cast<E>(raw);
  }
  void state(char& value) {
    const std::uint64_t raw = varint(next());
    value = raw < 0x80 ? static_cast<char>(raw) : '\0';
    if (!is_task_state(value)) {
      value = '?';
      if (raw != 0) fail("an unknown task state");
    }
  }
  void text(std::string_view& value) {
    const std::uint64_t size = varint(next());
    Cursor& column = next();
    const bool fits = size <= static_cast<std::size_t>(column.end - column.at);
    if (!fits) fail("a text is longer than its column");
    value = fits ? std::string_view(column.at, size) : std::string_view();
    column.at += value.size();
  }
  void text(std::string& value) {
    std::string_view view;
    text(view);
    value = view;
  }
  void frames(std::vector<FrameId>& frames) {
    frames.clear();
    const std::uint64_t size = varint(next());
    Cursor& column = next();
    if (size > kMaxFrames) fail("a stack is too deep");
    for (std::uint64_t i = 0; i < size && fault_ == nullptr; ++i) {
      frames.push_back(checked(ids_.frames, varint(column), "a stack refers to an undefined frame"));
    }
  }

  void task(TaskId& id) { id = checked(ids_.tasks, varint(next()), "an event refers to an undefined task"); }
  void stack(StackId& id) { id = checked(ids_.stacks, varint(next()), "an event refers to an undefined stack"); }
  void new_task(TaskId& id) { id = defined(ids_.tasks); }
  void new_frame(FrameId& id) { id = defined(ids_.frames); }
  void new_stack(StackId& id) { id = defined(ids_.stacks); }

 private:
  struct Cursor {
    const char* at = nullptr;  // nullptr: the column is not there
    const char* end = nullptr;
    std::uint64_t previous = 0;
  };

  static std::int64_t unzigzag(std::uint64_t value) {
    return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1U));
  }
  Cursor& next() { return columns_[next_++]; }
  std::uint64_t varint(Cursor& column) {
    if (column.at != column.end && static_cast<signed char>(*column.at) >= 0) {
      return static_cast<unsigned char>(*column.at++);
    }
    return long_varint(column);
  }
  std::uint64_t long_varint(Cursor& column) {
    if (column.at == nullptr) return 0;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (column.at == column.end) {
        fail("a column ends early");
        return 0;
      }
      const auto byte = static_cast<unsigned char>(*column.at++);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number is too long");
    return 0;
  }
  std::int64_t bounded(std::int64_t value) {
    if (value >= -kMaxTime && value <= kMaxTime) return value;
    fail("a time out of range");
    return 0;
  }
  std::uint32_t checked(const IdTable& table, std::uint64_t id, const char* reason) {
    if (id == 0) return 0;
    if (id <= UINT32_MAX && table.known(static_cast<std::uint32_t>(id))) return static_cast<std::uint32_t>(id);
    fail(reason);
    return 0;
  }
  std::uint32_t defined(IdTable& table) {
    const std::uint64_t id = varint(next());
    if (id <= UINT32_MAX && table.define(static_cast<std::uint32_t>(id))) return static_cast<std::uint32_t>(id);
    fail("a definition has an impossible id");
    return 0;
  }

  std::string_view rest_;
  IdTables& ids_;
  std::array<Cursor, kMaxColumns> columns_{};
  std::size_t next_ = 0;
  Section section_{};
  std::uint64_t records_ = 0;
  const char* fault_ = nullptr;
};

}  // namespace rtnlprof::format
