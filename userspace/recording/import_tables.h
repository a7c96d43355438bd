// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/events.h"

namespace rtnlprof::events {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

// Each table turns the names of an event stream (tids, frame texts, lock names) into the ids of the event model, and
// sends a definition to the sink before the first use. Memory grows with what is distinct in the stream.

// What a `task` line says; absent keys leave what was known.
struct TaskLine {
  std::int32_t tid = 0;
  std::int32_t pid = 0;
  std::string comm;
  std::optional<std::int32_t> ppid;
  std::optional<std::int32_t> ns_tid;
  std::optional<std::string> cmdline;
  std::optional<std::string> cgroup;
  std::optional<std::string> container;
  std::optional<std::string> work;
  std::optional<bool> kernel_thread;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int32_t> life;  // tells lives of one tid apart where pid and start_ns cannot
};

// Threads by tid. A `task` line with another pid or start_ns is another life of the tid: a known one is resumed, else
// a new one begins. Events belong to the life named last.
class TaskTable {
 public:
  explicit TaskTable(EventSink& sink) : sink_(sink) {}

  void define(const TaskLine& line);
  // A tid that no line described gets a Task with nothing but the tid; 0 is no task unless a line described it.
  TaskId id_of(std::int32_t tid);

 private:
  struct Life {
    Task task;
    std::optional<std::int32_t> life;
    bool described = false;
  };

  std::size_t begin(std::int32_t tid);
  std::optional<std::size_t> find(const TaskLine& line) const;

  EventSink& sink_;
  std::vector<Life> lives_;  // TaskId - 1
  std::unordered_map<std::int32_t, std::vector<std::size_t>> by_tid_;
  std::unordered_map<std::int32_t, std::size_t> current_;
};

class FrameTable {
 public:
  explicit FrameTable(EventSink& sink) : sink_(sink) {}

  FrameId of_text(std::string_view text, bool user);
  FrameId of_details(Frame frame);
  // From now on `text` stands for `frame`.
  void define(std::string_view text, const Frame& frame);

 private:
  EventSink& sink_;
  TextMap<FrameId> kernel_;
  TextMap<FrameId> user_;
  TextMap<FrameId> details_;
  FrameId last_ = 0;
};

class StackTable {
 public:
  explicit StackTable(EventSink& sink) : sink_(sink) {}

  StackId of(const std::vector<FrameId>& frames, bool user, bool complete);

 private:
  EventSink& sink_;
  TextMap<StackId> ids_;
  std::string key_;
};

class LockTable {
 public:
  explicit LockTable(EventSink& sink) : sink_(sink) {}

  // Address of a lock given by address, by name, or both; 0 for neither. A lock known by name only gets the address
  // that its name has, or one from the non-canonical range, which no kernel uses.
  std::uint64_t resolve(std::optional<std::uint64_t> address, std::string_view name, std::string_view source);

 private:
  static constexpr std::uint64_t kSyntheticBase = 0x0001'0000'0000'0000;

  EventSink& sink_;
  std::unordered_map<std::uint64_t, std::string> names_;
  TextMap<std::uint64_t> addresses_;
  std::uint64_t synthetic_ = 0;
};

}  // namespace rtnlprof::events
