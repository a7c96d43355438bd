// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "recording/event_names.h"
#include "recording/frame_text.h"
#include "recording/hex.h"
#include "recording/json_writer.h"
#include "recording/ndjson.h"
#include "recording/reader.h"
#include "recording/rewindable.h"
#include "recording/syscalls.h"

namespace rtnlprof {
namespace {

// The first pass: everything that later events can change, in its last state.
class Catalogue final : public EventSink {
 public:
  Header header;
  Footer footer;
  bool has_footer = false;
  std::vector<Task> tasks;  // by id, as below; id 0 within = not defined
  std::vector<Frame> frames;
  std::vector<Stack> stacks;
  std::map<std::uint64_t, Lock> locks;
  std::map<TaskId, SchedulerTotals> scheduler;
  std::vector<Lost> lost;

  void on_header(const Header& event) override { header = event; }
  void on_footer(const Footer& event) override {
    footer = event;
    has_footer = true;
  }
  void on_task(const Task& event) override { put(tasks, event); }
  void on_frame(const Frame& event) override { put(frames, event); }
  void on_stack(const Stack& event) override { put(stacks, event); }
  void on_lock(const Lock& event) override { locks[event.address] = event; }
  void on_scheduler(const SchedulerTotals& event) override { scheduler[event.task] = event; }
  void on_lost(const Lost& event) override {
    const auto found = std::find_if(lost.begin(), lost.end(),
                                    [&](const Lost& known) { return known.event_class == event.event_class; });
    if (found == lost.end()) {
      lost.push_back(event);
    } else {
      *found = event;
    }
  }

 private:
  template <typename T>
  static void put(std::vector<T>& table, const T& event) {
    if (event.id >= table.size()) table.resize(event.id + std::size_t{1});
    table[event.id] = event;
  }
};

// The second pass: one line per event.
class Exporter final : public EventSink {
 public:
  Exporter(Catalogue& catalogue, bool complete, std::ostream& out) : known_(catalogue), json_(out) {
    write_header(complete);
    write_tasks();
    write_frames();
    for (const auto& [address, lock] : known_.locks) write_lock(lock);
  }

  void finish() {
    for (const auto& [task, totals] : known_.scheduler) write_scheduler(totals);
    for (const Lost& lost : known_.lost) {
      json_.begin("lost");
      json_.text("class", lost.event_class);
      json_.number("count", lost.count);
      json_.end();
    }
    json_.flush();
  }

  void on_sleep(const Sleep& event) override {
    mention(event.waker.task);
    begin("sleep", event.task);
    json_.number("out_ns", event.out_ns);
    json_.number("wake_ns", event.wake_ns);
    json_.number("in_ns", event.in_ns);
    write_state(event.state);
    if (!event.syscall_name.empty()) {
      json_.text("syscall", event.syscall_name);
    } else if (event.syscall >= 0) {
      const std::string name = syscall_name(known_.header.host.arch, event.syscall);
      if (name.empty()) {
        json_.number("syscall", event.syscall);
      } else {
        json_.text("syscall", name);
      }
    }
    write_stacks(event.kernel_stack, event.user_stack);
    write_waker(event.waker);
    json_.true_if("started_before_recording", event.started_before_recording);
    json_.end();
  }

  void on_wait(const Wait& event) override {
    mention(event.owner);
    begin("wait", event.task);
    write_lock_reference(event.lock, {}, event.kind);
    json_.number("begin_ns", event.begin_ns);
    json_.number("end_ns", event.end_ns);
    write_count("spin_ns", event.spin_ns);
    json_.number("result", event.result);
    write_owner(event.owner, event.owner_is_one_of_many);
    write_stacks(event.kernel_stack, event.user_stack);
    json_.end();
  }

  void on_hold(const Hold& event) override {
    begin("hold", event.task);
    write_lock_reference(event.lock, {}, event.kind);
    json_.number("acquired_ns", event.acquired_ns);
    json_.number("released_ns", event.released_ns);
    json_.text_unless_empty("detail", event.detail);
    write_stacks(event.kernel_stack, event.user_stack);
    json_.end();
  }

  void on_call(const Call& event) override {
    begin("call", event.task);
    json_.text("function", event.function);
    json_.text_unless_empty("module", event.module);
    json_.number("start_ns", event.start_ns);
    json_.number("end_ns", event.end_ns);
    write_stacks(event.kernel_stack, 0);
    json_.end();
  }

  void on_wakeups(const Wakeups& event) override {
    mention(event.waker.task);
    begin("wakeups", event.task);
    write_waker(event.waker);
    json_.number("count", event.count);
    json_.number("sleeps", event.sleeps);
    json_.number("sleep_ns", event.sleep_ns);
    json_.number("max_ns", event.max_ns);
    json_.end();
  }

  void on_in_flight(const InFlight& event) override {
    mention(event.owner);
    begin("in_flight", event.task);
    if (event.since_ns == kUnknownTime) {
      json_.raw("since_ns", "null");
    } else {
      json_.number("since_ns", event.since_ns);
    }
    write_state(event.state);
    write_lock_reference(event.lock, event.lock_name, event.kind);
    write_owner(event.owner, event.owner_is_one_of_many);
    write_stacks(event.kernel_stack, event.user_stack);
    json_.true_if("started_before_recording", event.started_before_recording);
    if (!event.at_end) json_.raw("at_end", "false");
    json_.end();
  }

  void on_suspend(const Suspend& event) override {
    json_.begin("suspend");
    json_.number("begin_ns", event.begin_ns);
    json_.number("end_ns", event.end_ns);
    json_.number("slept_ns", event.slept_ns);
    json_.text_unless_empty("kind", event.kind);
    json_.end();
  }

  void on_probe(const Probe& event) override {
    json_.begin("probe");
    json_.text("name", event.name);
    json_.text_unless_empty("mechanism", event.mechanism);
    json_.text_unless_empty("status", event.status);
    json_.text_unless_empty("reason", event.reason);
    json_.end();
  }

  // The members of its object become the line's; what cannot be merged so is kept as text.
  void on_nic(const Nic& event) override {
    json_.begin("nic");
    const auto object = nlohmann::ordered_json::parse(event.json, nullptr, false);
    if (!object.is_object() || object.contains("type") || object.contains("json")) {
      json_.text("json", event.json);
    } else {
      for (const auto& [key, value] : object.items()) {
        const std::string escaped = json_string(key);
        json_.raw(std::string_view(escaped).substr(1, escaped.size() - 2),
                  value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace));
      }
    }
    json_.end();
  }

 private:
  void write_header(bool complete) {
    const Header& header = known_.header;
    const Footer& footer = known_.footer;
    json_.begin("header");
    json_.text("schema", events::kSchema);
    json_.open("host");
    json_.text("hostname", header.host.hostname);
    json_.text("kernel_release", header.host.kernel_release);
    json_.text("kernel_version", header.host.kernel_version);
    json_.text("arch", header.host.arch);
    json_.number("cpus", header.host.cpus);
    json_.text("boot_id", header.host.boot_id);
    json_.close();
    json_.number("start_ns", header.start_ns);
    if (complete) json_.number("end_ns", footer.end_ns);
    json_.number("cpus", header.host.cpus);
    if (header.realtime_offset_ns != kUnknownTime) json_.number("realtime_offset_ns", header.realtime_offset_ns);
    json_.text("clock", header.clock);
    json_.text_unless_empty("command", header.command);
    if (footer.has_exit_status) json_.number("exit_status", footer.exit_status);
    json_.text_unless_empty("tool_version", header.tool_version);
    json_.number("min_sleep_ns", header.min_sleep_ns);
    json_.open("overhead");
    write_count("bpf_ns", footer.bpf_ns);
    write_count("collector_cpu_ns", footer.collector_cpu_ns);
    json_.close();
    json_.end();
  }

  void write_tasks() {
    for (const Task& task : known_.tasks) {
      if (task.id != 0) lives_[task.tid].push_back(task.id);
    }
    for (const Task& task : known_.tasks) {
      if (task.id != 0) write_task(task);
    }
  }

  void write_task(const Task& task) {
    json_.begin("task");
    json_.number("tid", task.tid);
    json_.number("pid", task.pid);
    json_.number("ppid", task.ppid);
    json_.text("comm", task.comm);
    json_.text_unless_empty("cmdline", task.cmdline);
    json_.text_unless_empty("cgroup", task.cgroup);
    json_.text_unless_empty("container", task.container);
    json_.text_unless_empty("work", task.work);
    if (task.ns_tid != 0) json_.number("ns_tid", task.ns_tid);
    json_.true_if("kernel_thread", task.kernel_thread);
    if (task.start_ns != kUnknownTime) json_.number("start_ns", task.start_ns);
    const std::vector<TaskId>& lives = lives_.at(task.tid);
    if (lives.size() > 1) {
      const auto life = std::find(lives.begin(), lives.end(), task.id) - lives.begin();
      json_.number("life", life + 1);
      current_[task.tid] = task.id;
    }
    json_.end();
  }

  // A tid that was reused stands for the task that a `task` line named last.
  void mention(TaskId id) {
    if (current_.empty() || id >= known_.tasks.size()) return;
    const Task& task = known_.tasks[id];
    const auto current = current_.find(task.tid);
    if (id != 0 && current != current_.end() && current->second != id) write_task(task);
  }

  // Frames by their texts. A text that does not say all there is gets a `frame` line first; a text that another frame
  // has already taken is replaced by an object wherever it stands.
  void write_frames() {
    std::unordered_map<std::string, FrameId> kernel_texts;
    std::unordered_map<std::string, FrameId> user_texts;
    frame_json_.resize(known_.frames.size(), R"("?")");
    for (Frame& frame : known_.frames) {
      if (frame.id == 0) continue;
      frame.symbol = valid_utf8(frame.symbol);
      frame.module = valid_utf8(frame.module);
      frame.build_id = valid_utf8(frame.build_id);
      const std::string text = events::frame_text(frame);
      const auto [taken, is_new] = (frame.user ? user_texts : kernel_texts).emplace(text, frame.id);
      if (!is_new && !same(known_.frames[taken->second], frame)) {
        frame_json_[frame.id] = frame_object(frame).dump(-1, ' ', true);
        continue;
      }
      frame_json_[frame.id] = json_string(text);
      if (is_new && !same(events::parse_frame_text(text, frame.user), frame)) {
        json_.begin("frame");
        json_.text("text", text);
        const nlohmann::ordered_json object = frame_object(frame);
        for (const auto& [key, value] : object.items()) json_.raw(key, value.dump(-1, ' ', true));
        json_.end();
      }
    }
  }

  static bool same(const Frame& a, const Frame& b) {
    return a.address == b.address && a.symbol == b.symbol && a.offset == b.offset && a.module == b.module &&
           a.build_id == b.build_id && a.file_offset == b.file_offset && a.user == b.user &&
           a.unreliable == b.unreliable;
  }

  static nlohmann::ordered_json frame_object(const Frame& frame) {
    nlohmann::ordered_json object;
    object["symbol"] = frame.symbol;
    if (frame.offset != 0) object["offset"] = to_hex(frame.offset);
    if (!frame.module.empty()) object["module"] = frame.module;
    if (frame.address != 0) object["address"] = to_hex(frame.address);
    if (!frame.build_id.empty()) object["build_id"] = frame.build_id;
    if (frame.file_offset != 0) object["file_offset"] = to_hex(frame.file_offset);
    if (frame.user) object["user"] = true;
    if (frame.unreliable) object["unreliable"] = true;
    return object;
  }

  void write_lock(const Lock& lock) {
    json_.begin("lock");
    json_.text("lock", to_hex(lock.address));
    json_.text("name", lock.name);
    json_.text_unless_empty("source", lock.source);
    json_.end();
  }

  void write_scheduler(const SchedulerTotals& totals) {
    mention(totals.task);
    begin("scheduler", totals.task);
    write_count("run_ns", totals.run_ns);
    write_count("user_ns", totals.user_ns);
    write_count("sys_ns", totals.sys_ns);
    write_count("runq_ns", totals.runq_ns);
    write_count("sleep_ns", totals.sleep_ns);
    write_count("sleeps", totals.sleeps);
    write_count("switches", totals.switches);
    write_count("preemptions", totals.preemptions);
    write_count("wakeups", totals.wakeups);
    write_count("cpu_migrations", totals.cpu_migrations);
    write_count("node_migrations", totals.node_migrations);
    const auto policy = static_cast<std::size_t>(totals.policy);
    if (policy < events::kPolicies.size() && !events::kPolicies[policy].empty()) {
      json_.text("policy", events::kPolicies[policy]);
    } else if (totals.policy != -1) {
      json_.number("policy", totals.policy);
    }
    if (totals.last_cpu != -1) json_.number("last_cpu", totals.last_cpu);
    write_count("vss", totals.vss_pages);
    write_count("rss", totals.rss_pages);
    json_.end();
  }

  void begin(std::string_view type, TaskId task) {
    mention(task);
    json_.begin(type);
    json_.number("tid", tid_of(task));
  }
  [[nodiscard]] std::int32_t tid_of(TaskId id) const { return id < known_.tasks.size() ? known_.tasks[id].tid : 0; }

  void write_state(char state) {
    if (state != '?') json_.raw("state", {std::array<char, 3>{'"', state, '"'}.data(), 3});
  }
  void write_count(std::string_view key, std::uint64_t value) {
    if (value != kUnknownCount) json_.number(key, value);
  }
  void write_owner(TaskId owner, bool one_of_many) {
    if (owner != 0) json_.number("owner_tid", tid_of(owner));
    json_.true_if("owner_is_one_of_many", one_of_many);
  }
  void write_waker(const Waker& waker) {
    if (waker.context == WakerContext::kUnknown && waker.task == 0) return;
    json_.open("waker");
    json_.number("tid", tid_of(waker.task));
    json_.text("context", events::kWakerContexts[static_cast<std::size_t>(waker.context)]);
    json_.close();
  }
  void write_lock_reference(std::uint64_t address, std::string_view name, LockKind kind) {
    if (address != 0) json_.text("lock", to_hex(address));
    const auto known = known_.locks.find(address);
    if (name.empty() && address != 0 && known != known_.locks.end()) name = known->second.name;
    json_.text_unless_empty("name", name);
    if (kind != LockKind::kUnknown) json_.text("kind", events::kLockKinds[static_cast<std::size_t>(kind)]);
  }
  void write_stacks(StackId kernel, StackId user) {
    write_stack("kernel", "kernel_incomplete", kernel);
    write_stack("user", "user_incomplete", user);
  }
  void write_stack(std::string_view key, std::string_view incomplete_key, StackId id) {
    if (id == 0 || id >= known_.stacks.size()) return;
    const Stack& stack = known_.stacks[id];
    scratch_ = '[';
    for (const FrameId frame : stack.frames) {
      if (scratch_.size() > 1) scratch_ += ',';
      scratch_ += frame < frame_json_.size() ? std::string_view(frame_json_[frame]) : R"("?")";
    }
    scratch_ += ']';
    json_.raw(key, scratch_);
    json_.true_if(incomplete_key, !stack.complete);
  }

  Catalogue& known_;
  JsonWriter json_;
  std::unordered_map<std::int32_t, std::vector<TaskId>> lives_;  // by tid
  std::unordered_map<std::int32_t, TaskId> current_;             // of reused tids: the life named last
  std::vector<std::string> frame_json_;                          // by FrameId
  std::string scratch_;
};

}  // namespace

Result<StreamQuality> export_ndjson(const std::string& recording_path, std::ostream& out) {
  const auto input = RewindableInput::open(recording_path);
  if (!input.ok()) return input.error();
  Catalogue catalogue;
  const auto first = input.value()->from_start();
  if (!first.ok()) return first.error();
  auto quality = read_recording(*first.value(), catalogue);
  if (!quality.ok()) return quality.error();
  Exporter exporter(catalogue, quality.value().complete, out);
  const auto second = input.value()->from_start();
  if (!second.ok()) return second.error();
  if (const auto again = read_recording(*second.value(), exporter); !again.ok()) return again.error();
  exporter.finish();
  out.flush();
  if (!out) return Error{"cannot write the event stream", {}};
  return quality;
}

}  // namespace rtnlprof
