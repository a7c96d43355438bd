// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/events.h"
#include "recording/format.h"
#include "recording/ids.h"

namespace rtnlprof::format {

// Gathers the records of one section in columns: one stream of LEB128 varints per field, so that like stands beside
// like and compresses well. The calls that make up a record (records.h) must come in the same order every time, and
// match those of Decoder.
class Encoder {
 public:
  template <typename T>
  using Ref = const T&;

  explicit Encoder(IdTables& ids) : ids_(ids) {}

  void begin_record() {
    next_ = 0;
    ++records_;
  }

  template <std::integral T>
  void number(T value) {
    if constexpr (std::is_signed_v<T>) {
      append(zigzag(value));
    } else {
      append(value);
    }
  }
  // A time near the one of the record before.
  void time(std::int64_t value) {
    Column& column = next();
    const std::int64_t bounded = std::clamp(value, -kMaxTime, kMaxTime);
    append(column, zigzag(bounded - column.previous));
    column.previous = bounded;
  }
  // A time at or before `later`, which the record already has.
  void time_before(std::int64_t value, std::int64_t later) { append(static_cast<std::uint64_t>(later - value)); }
  void optional_time(std::int64_t value) { append(value < -kMaxTime || value > kMaxTime ? 0 : zigzag(value) + 1); }
  // kUnknownCount becomes 0, which is also what a reader finds in a column that is not there.
  void count(std::uint64_t value) { append(value + 1); }
  void address(std::uint64_t value) {
    Column& column = next();
    append(column, zigzag(static_cast<std::int64_t>(value - static_cast<std::uint64_t>(column.previous))));
    column.previous = static_cast<std::int64_t>(value);
  }
  void flag(bool value) { append(value ? 1 : 0); }
  template <typename E>
  void choice(E value, E last) {
    append(value <= last ? static_cast<std::uint64_t>(value) : 0);
  }
  void state(char value) { append(static_cast<unsigned char>(is_task_state(value) ? value : '?')); }
  void text(std::string_view value) {
    value = value.substr(0, kMaxText);
    append(value.size());
    next().bytes.append(value);
    size_ += value.size();
  }
  void frames(const std::vector<FrameId>& frames) {
    const std::size_t size = std::min(frames.size(), kMaxFrames);
    append(size);
    Column& column = next();
    for (std::size_t i = 0; i < size; ++i) append(column, checked(ids_.frames, frames[i]));
  }

  void task(TaskId id) { append(checked(ids_.tasks, id)); }
  void stack(StackId id) { append(checked(ids_.stacks, id)); }
  // The writer has defined it.
  void new_task(TaskId id) { append(id); }
  void new_frame(FrameId id) { append(id); }
  void new_stack(StackId id) { append(id); }

  [[nodiscard]] std::uint64_t records() const { return records_; }
  // Bytes in the columns.
  [[nodiscard]] std::size_t size() const { return size_; }
  // References to what was never defined, written as 0.
  [[nodiscard]] std::uint64_t undefined_ids() const { return undefined_; }

  // Appends the section to a chunk's payload and starts anew.
  void move_to(std::string& payload, Section section) {
    append_varint(payload, static_cast<std::uint64_t>(section));
    append_varint(payload, records_);
    append_varint(payload, columns_.size());
    for (const Column& column : columns_) append_varint(payload, column.bytes.size());
    for (Column& column : columns_) {
      payload += column.bytes;
      column.bytes.clear();
      column.previous = 0;
    }
    records_ = 0;
    size_ = 0;
  }

 private:
  struct Column {
    std::string bytes;
    std::int64_t previous = 0;
  };

  static std::uint64_t zigzag(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
  }
  static std::size_t append_varint(std::string& out, std::uint64_t value) {
    std::size_t size = 1;
    for (; value >= 0x80; value >>= 7U, ++size) out += static_cast<char>(value | 0x80U);
    out += static_cast<char>(value);
    return size;
  }
  Column& next() {
    if (next_ == columns_.size()) columns_.emplace_back();
    return columns_[next_++];
  }
  void append(Column& column, std::uint64_t value) { size_ += append_varint(column.bytes, value); }
  void append(std::uint64_t value) { append(next(), value); }
  std::uint32_t checked(const IdTable& table, std::uint32_t id) {
    if (id == 0 || table.known(id)) return id;
    ++undefined_;
    return 0;
  }

  IdTables& ids_;
  std::vector<Column> columns_;
  std::size_t next_ = 0;
  std::uint64_t records_ = 0;
  std::size_t size_ = 0;
  std::uint64_t undefined_ = 0;
};

}  // namespace rtnlprof::format
