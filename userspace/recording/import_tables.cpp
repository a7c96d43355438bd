// SPDX-License-Identifier: BSD-2-Clause
#include "recording/import_tables.h"

#include <algorithm>

#include "recording/frame_text.h"

namespace rtnlprof::events {
namespace {

// True when `target` changed.
template <typename T, typename U>
bool assign(T& target, const U& value) {
  if (target == value) return false;
  target = value;
  return true;
}
template <typename T>
bool assign_known(T& target, const std::optional<T>& value) {
  return value && assign(target, *value);
}

void append_number(std::string& key, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) key += static_cast<char>((value >> (8 * i)) & 0xFFU);
}

}  // namespace

std::size_t TaskTable::begin(std::int32_t tid) {
  Life& life = lives_.emplace_back();
  life.task.id = static_cast<TaskId>(lives_.size());
  life.task.tid = tid;
  by_tid_[tid].push_back(lives_.size() - 1);
  current_[tid] = lives_.size() - 1;
  return lives_.size() - 1;
}

std::optional<std::size_t> TaskTable::find(const TaskLine& line) const {
  const auto known = by_tid_.find(line.tid);
  if (known == by_tid_.end()) return std::nullopt;
  const auto same = [&](std::size_t index) {
    const Life& life = lives_[index];
    if (!life.described) return true;  // seen in events only, until now
    if (line.life || life.life) return line.life == life.life;
    const bool same_start =
        !line.start_ns || life.task.start_ns == kUnknownTime || *line.start_ns == life.task.start_ns;
    return line.pid == life.task.pid && same_start;
  };
  // The present life first, then the latest.
  if (same(current_.at(line.tid))) return current_.at(line.tid);
  const auto found = std::find_if(known->second.rbegin(), known->second.rend(), same);
  return found == known->second.rend() ? std::nullopt : std::optional(*found);
}

void TaskTable::define(const TaskLine& line) {
  const auto known = find(line);
  const std::size_t index = known ? *known : begin(line.tid);
  current_[line.tid] = index;
  Life& life = lives_[index];
  bool changed = !life.described;
  life.described = true;
  if (line.life) life.life = line.life;
  Task& task = life.task;
  changed |= assign(task.pid, line.pid);
  changed |= assign(task.comm, line.comm);
  changed |= assign_known(task.ppid, line.ppid);
  changed |= assign_known(task.ns_tid, line.ns_tid);
  changed |= assign_known(task.cmdline, line.cmdline);
  changed |= assign_known(task.cgroup, line.cgroup);
  changed |= assign_known(task.container, line.container);
  changed |= assign_known(task.work, line.work);
  changed |= assign_known(task.kernel_thread, line.kernel_thread);
  changed |= assign_known(task.start_ns, line.start_ns);
  if (changed) sink_.on_task(task);
}

TaskId TaskTable::id_of(std::int32_t tid) {
  const auto found = current_.find(tid);
  if (found != current_.end()) return static_cast<TaskId>(found->second + 1);
  if (tid == 0) return 0;
  const Task& task = lives_[begin(tid)].task;
  sink_.on_task(task);
  return task.id;
}

FrameId FrameTable::of_text(std::string_view text, bool user) {
  TextMap<FrameId>& known = user ? user_ : kernel_;
  if (const auto found = known.find(text); found != known.end()) return found->second;
  const FrameId id = of_details(parse_frame_text(text, user));
  known.emplace(text, id);
  return id;
}

FrameId FrameTable::of_details(Frame frame) {
  std::string key;
  for (const std::uint64_t value : {frame.address, frame.offset, frame.file_offset}) append_number(key, value, 8);
  key += static_cast<char>((frame.user ? 1 : 0) | (frame.unreliable ? 2 : 0));
  append_number(key, frame.symbol.size(), 4);
  append_number(key, frame.module.size(), 4);
  key.append(frame.symbol).append(frame.module).append(frame.build_id);
  const auto [entry, is_new] = details_.emplace(std::move(key), last_ + 1);
  if (!is_new) return entry->second;
  frame.id = ++last_;
  sink_.on_frame(frame);
  return frame.id;
}

void FrameTable::define(std::string_view text, const Frame& frame) {
  (frame.user ? user_ : kernel_).insert_or_assign(std::string(text), of_details(frame));
}

StackId StackTable::of(const std::vector<FrameId>& frames, bool user, bool complete) {
  key_.assign(1, static_cast<char>((user ? 1 : 0) | (complete ? 2 : 0)));
  for (const FrameId frame : frames) append_number(key_, frame, sizeof(FrameId));
  if (const auto found = ids_.find(key_); found != ids_.end()) return found->second;
  const auto id = static_cast<StackId>(ids_.size() + 1);
  ids_.emplace(key_, id);
  sink_.on_stack({id, user, complete, frames});
  return id;
}

std::uint64_t LockTable::resolve(std::optional<std::uint64_t> address, std::string_view name, std::string_view source) {
  if (!address && name.empty()) return 0;
  if (!address) {
    const auto known = addresses_.find(name);
    if (known != addresses_.end()) return known->second;
    address = kSyntheticBase + 0x100 * synthetic_++;
  }
  if (name.empty()) return *address;
  const auto [entry, is_new] = names_.try_emplace(*address, name);
  if (is_new || entry->second != name) {
    entry->second = name;
    addresses_.insert_or_assign(std::string(name), *address);
    sink_.on_lock({*address, std::string(name), std::string(source)});
  }
  return *address;
}

}  // namespace rtnlprof::events
