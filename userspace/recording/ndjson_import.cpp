// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "recording/event_line.h"
#include "recording/event_names.h"
#include "recording/format.h"
#include "recording/import_tables.h"
#include "recording/line_reader.h"
#include "recording/ndjson.h"
#include "recording/rfc3339.h"
#include "recording/syscalls.h"

namespace rtnlprof {
namespace {

using events::EventLine;

std::optional<std::string> optional_text(EventLine& line, std::string_view key) {
  const bool present = line.has(key);
  const std::string_view value = line.text(key);
  return present ? std::optional<std::string>(value) : std::nullopt;
}

// Each line is checked as a whole before anything of it reaches the sink.
class Importer {
 public:
  Importer(ByteSource& source, EventSink& sink, const NdjsonImportOptions& options)
      : lines_(source), sink_(sink), options_(options), tasks_(sink), frames_(sink), stacks_(sink), locks_(sink) {}

  Result<StreamQuality> run() {
    while (true) {
      const auto more = lines_.next();
      if (!more.ok()) return more.error();
      if (!more.value()) break;
      const std::string_view text = lines_.line();
      if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
      if (lines_.too_long()) {
        line_.fail_line("longer than 16 MiB");
      } else if (line_.parse(text)) {
        handle();
      }
      if (line_.ok()) continue;
      if (!seen_header_ || !options_.keep_going) return bad_line();
      ++bad_lines_;
    }
    return finish();
  }

 private:
  using Handler = void (Importer::*)();
  struct Type {
    std::string_view name;
    Handler handler;
  };

  Error bad_line() const {
    const std::string where = "line " + std::to_string(lines_.number()) + ": ";
    if (!seen_header_) {
      return {where + "no header of an " + std::string(events::kSchema) + " stream: " + line_.fault(),
              R"(the first line must be {"type":"header","schema":"rtnlprof.events/1","start_ns":…})"};
    }
    return {where + line_.fault(), "mend the line, or skip bad lines with `rtnlprof import --keep-going`"};
  }

  Result<StreamQuality> finish() {
    if (!seen_header_) {
      return Error{"the event stream is empty", "the first line must be its header"};
    }
    if (bad_lines_ > 0) {
      sink_.on_lost({"bad line", bad_lines_});
      note("skipped " + std::to_string(bad_lines_) + " bad lines");
    }
    if (unknown_types_ > 0) {
      note("ignored " + std::to_string(unknown_types_) +
           " lines of types unknown to this version: " + unknown_type_names_);
    }
    if (unknown_keys_ > 0) note("ignored " + std::to_string(unknown_keys_) + " keys unknown to this version");
    if (has_end_) {
      sink_.on_footer(footer_);
      quality_.complete = true;
    } else {
      note("the stream's header has no end_ns");
    }
    return std::move(quality_);
  }

  void note(std::string text) { quality_.notes.push_back(std::move(text)); }

  void handle() {
    static constexpr std::array<Type, 15> kTypes{{{"sleep", &Importer::add_sleep},
                                                  {"wait", &Importer::add_wait},
                                                  {"hold", &Importer::add_hold},
                                                  {"call", &Importer::add_call},
                                                  {"wakeups", &Importer::add_wakeups},
                                                  {"task", &Importer::add_task},
                                                  {"frame", &Importer::add_frame},
                                                  {"lock", &Importer::add_lock},
                                                  {"scheduler", &Importer::add_scheduler},
                                                  {"in_flight", &Importer::add_in_flight},
                                                  {"suspend", &Importer::add_suspend},
                                                  {"probe", &Importer::add_probe},
                                                  {"lost", &Importer::add_lost},
                                                  {"nic", &Importer::add_nic},
                                                  {"header", &Importer::add_header}}};
    const auto* const type = std::find_if(kTypes.begin(), kTypes.end(),
                                          [this](const Type& candidate) { return candidate.name == line_.type(); });
    if (!seen_header_ && line_.type() != "header") return line_.fail("comes before the header");
    if (type == kTypes.end()) return ignore_type();
    (this->*type->handler)();
    if (line_.ok()) unknown_keys_ += line_.unknown_keys();
  }

  void ignore_type() {
    ++unknown_types_;
    const std::string name = terminal_safe(line_.type().substr(0, 40));
    if (unknown_type_names_.size() > 200 ||
        (", " + unknown_type_names_ + ",").find(", " + name + ",") != std::string::npos) {
      return;
    }
    unknown_type_names_ += (unknown_type_names_.empty() ? "" : ", ") + name;
  }

  void add_header() {
    if (seen_header_) return line_.fail("a second header");
    if (line_.required_text("schema") != events::kSchema) return line_.fail("schema is not rtnlprof.events/1");
    Header header;
    header.start_ns = line_.required_time("start_ns");
    if (const auto end = line_.time("end_ns")) {
      has_end_ = true;
      footer_.end_ns = *end;
      line_.in_order("start_ns", header.start_ns, "end_ns", *end);
    }
    read_wall_clock(header);
    read_host(header.host);
    header.command = line_.text("command");
    header.tool_version = line_.text("tool_version");
    if (const auto clock = optional_text(line_, "clock")) header.clock = *clock;
    header.min_sleep_ns = line_.count("min_sleep_ns", 0);
    if (const auto status = line_.integer("exit_status")) {
      footer_.has_exit_status = true;
      footer_.exit_status = *status;
    }
    if (const auto overhead = line_.object("overhead"); overhead != 0) {
      footer_.bpf_ns = line_.count("bpf_ns", kUnknownCount, overhead);
      footer_.collector_cpu_ns = line_.count("collector_cpu_ns", kUnknownCount, overhead);
    }
    if (!line_.ok()) return;
    arch_ = header.host.arch;
    seen_header_ = true;
    sink_.on_header(header);
  }

  void read_wall_clock(Header& header) {
    if (const auto offset = line_.time("realtime_offset_ns")) header.realtime_offset_ns = *offset;
    const std::string_view started_at = line_.text("started_at");
    if (started_at.empty()) return;
    const auto wall = parse_rfc3339(started_at);
    if (!wall) return line_.fail("started_at must be an RFC 3339 time such as 2026-02-03T04:05:06.789Z");
    if (header.realtime_offset_ns == kUnknownTime && header.start_ns > *wall - format::kMaxTime &&
        header.start_ns < format::kMaxTime / 2) {
      const std::int64_t offset = *wall - header.start_ns;
      if (offset <= format::kMaxTime) header.realtime_offset_ns = offset;
    }
  }

  void read_host(Host& host) {
    std::uint64_t cpus = line_.count("cpus", 0);
    if (const auto object = line_.object("host"); object != 0) {
      host.hostname = line_.text("hostname", object);
      host.kernel_release = line_.text("kernel_release", object);
      host.kernel_version = line_.text("kernel_version", object);
      host.arch = line_.text("arch", object);
      host.boot_id = line_.text("boot_id", object);
      if (cpus == 0) cpus = line_.count("cpus", 0, object);
    }
    if (cpus > 1U << 20U) line_.fail("cpus is impossibly large");
    host.cpus = static_cast<std::uint32_t>(std::min<std::uint64_t>(cpus, 1U << 20U));
  }

  void add_task() {
    events::TaskLine task;
    task.tid = line_.required_tid();
    task.pid = line_.tid("pid").value_or(-1);
    if (task.pid < 0) line_.fail("missing key pid");
    task.comm = line_.required_text("comm");
    task.ppid = line_.tid("ppid");
    task.ns_tid = line_.tid("ns_tid");
    task.cmdline = optional_text(line_, "cmdline");
    task.cgroup = optional_text(line_, "cgroup");
    task.container = optional_text(line_, "container");
    task.work = optional_text(line_, "work");
    task.kernel_thread = line_.flag("kernel_thread");
    task.start_ns = line_.time("start_ns");
    task.life = line_.integer("life");
    if (line_.ok()) tasks_.define(task);
  }

  void add_frame() {
    const std::string text(line_.required_text("text"));
    const Frame frame = line_.frame_details(0);
    if (line_.ok()) frames_.define(text, frame);
  }

  void add_lock() {
    const auto lock = line_.lock();
    const std::string_view source = line_.text("source");
    if (line_.ok()) locks_.resolve(lock.address, lock.name, source.empty() ? kSource : source);
  }

  void add_sleep() {
    Sleep sleep;
    const std::int32_t tid = line_.required_tid();
    sleep.out_ns = line_.required_time("out_ns");
    sleep.wake_ns = line_.required_time("wake_ns");
    sleep.in_ns = line_.time("in_ns").value_or(sleep.wake_ns);
    line_.in_order("out_ns", sleep.out_ns, "wake_ns", sleep.wake_ns);
    line_.in_order("wake_ns", sleep.wake_ns, "in_ns", sleep.in_ns);
    sleep.state = line_.state();
    const EventLine::Syscall syscall = line_.syscall();
    sleep.syscall = syscall.number;
    if (!syscall.name.empty()) {
      sleep.syscall = syscall_number(arch_, syscall.name);
      if (sleep.syscall < 0) sleep.syscall_name = syscall.name;
    }
    const auto waker = line_.waker();
    const Stacks stacks = read_stacks();
    sleep.started_before_recording = line_.flag("started_before_recording").value_or(false);
    if (!line_.ok()) return;
    sleep.task = tasks_.id_of(tid);
    sleep.waker = resolve(waker);
    sleep.kernel_stack = intern(stacks.kernel, false, stacks.kernel_complete);
    sleep.user_stack = intern(stacks.user, true, stacks.user_complete);
    sink_.on_sleep(sleep);
  }

  void add_wait() {
    Wait wait;
    const std::int32_t tid = line_.required_tid();
    wait.begin_ns = line_.required_time("begin_ns");
    wait.end_ns = line_.required_time("end_ns");
    line_.in_order("begin_ns", wait.begin_ns, "end_ns", wait.end_ns);
    wait.spin_ns = line_.count("spin_ns", kUnknownCount);
    wait.result = line_.integer("result").value_or(0);
    const auto lock = line_.lock();
    wait.kind = line_.lock_kind();
    const std::int32_t owner = read_owner();
    wait.owner_is_one_of_many = line_.flag("owner_is_one_of_many").value_or(false);
    const Stacks stacks = read_stacks();
    if (!line_.ok()) return;
    wait.task = tasks_.id_of(tid);
    wait.owner = tasks_.id_of(owner);
    wait.lock = locks_.resolve(lock.address, lock.name, kSource);
    wait.kernel_stack = intern(stacks.kernel, false, stacks.kernel_complete);
    wait.user_stack = intern(stacks.user, true, stacks.user_complete);
    sink_.on_wait(wait);
  }

  void add_hold() {
    Hold hold;
    const std::int32_t tid = line_.required_tid();
    hold.acquired_ns = line_.required_time("acquired_ns");
    hold.released_ns = line_.required_time("released_ns");
    line_.in_order("acquired_ns", hold.acquired_ns, "released_ns", hold.released_ns);
    const auto lock = line_.lock();
    hold.kind = line_.lock_kind();
    hold.detail = line_.text("detail");
    const Stacks stacks = read_stacks();
    if (!line_.ok()) return;
    hold.task = tasks_.id_of(tid);
    hold.lock = locks_.resolve(lock.address, lock.name, kSource);
    hold.kernel_stack = intern(stacks.kernel, false, stacks.kernel_complete);
    hold.user_stack = intern(stacks.user, true, stacks.user_complete);
    sink_.on_hold(hold);
  }

  void add_call() {
    Call call;
    const std::int32_t tid = line_.required_tid();
    call.start_ns = line_.required_time("start_ns");
    call.end_ns = line_.required_time("end_ns");
    line_.in_order("start_ns", call.start_ns, "end_ns", call.end_ns);
    call.function = line_.text("function");
    call.module = line_.text("module");
    const Stacks stacks = read_stacks();
    if (!line_.ok()) return;
    call.task = tasks_.id_of(tid);
    call.kernel_stack = intern(stacks.kernel, false, stacks.kernel_complete);
    sink_.on_call(call);
  }

  void add_wakeups() {
    Wakeups wakeups;
    const std::int32_t tid = line_.required_tid();
    const auto waker = line_.waker();
    wakeups.sleeps = line_.count("sleeps", 0);
    wakeups.count = line_.count("count", wakeups.sleeps);
    wakeups.sleep_ns = line_.count("sleep_ns", 0);
    wakeups.max_ns = line_.count("max_ns", 0);
    if (!line_.ok()) return;
    wakeups.task = tasks_.id_of(tid);
    wakeups.waker = resolve(waker);
    sink_.on_wakeups(wakeups);
  }

  void add_scheduler() {
    SchedulerTotals totals;
    const std::int32_t tid = line_.required_tid();
    totals.run_ns = line_.count("run_ns", kUnknownCount);
    totals.user_ns = line_.count("user_ns", kUnknownCount);
    totals.sys_ns = line_.count("sys_ns", kUnknownCount);
    totals.runq_ns = line_.count("runq_ns", kUnknownCount);
    totals.sleep_ns = line_.count("sleep_ns", kUnknownCount);
    totals.sleeps = line_.count("sleeps", kUnknownCount);
    totals.switches = line_.count("switches", kUnknownCount);
    totals.preemptions = line_.count("preemptions", kUnknownCount);
    totals.wakeups = line_.count("wakeups", kUnknownCount);
    totals.cpu_migrations = line_.count("cpu_migrations", kUnknownCount);
    totals.node_migrations = line_.count("node_migrations", kUnknownCount);
    totals.policy = line_.policy();
    totals.last_cpu = line_.integer("last_cpu").value_or(-1);
    totals.vss_pages = line_.count("vss", kUnknownCount);
    totals.rss_pages = line_.count("rss", kUnknownCount);
    if (!line_.ok()) return;
    totals.task = tasks_.id_of(tid);
    sink_.on_scheduler(totals);
  }

  void add_in_flight() {
    InFlight event;
    const std::int32_t tid = line_.required_tid();
    // null: it is not known since when.
    if (!line_.present("since_ns")) line_.fail("missing key since_ns");
    event.since_ns = line_.time("since_ns").value_or(kUnknownTime);
    event.state = line_.state("R");
    const auto lock = line_.lock();
    event.kind = line_.lock_kind();
    const std::int32_t owner = read_owner();
    event.owner_is_one_of_many = line_.flag("owner_is_one_of_many").value_or(false);
    event.started_before_recording = line_.flag("started_before_recording").value_or(false);
    event.at_end = line_.flag("at_end").value_or(true);
    const Stacks stacks = read_stacks();
    if (!line_.ok()) return;
    event.task = tasks_.id_of(tid);
    event.owner = tasks_.id_of(owner);
    event.lock = locks_.resolve(lock.address, lock.name, kSource);
    event.kernel_stack = intern(stacks.kernel, false, stacks.kernel_complete);
    event.user_stack = intern(stacks.user, true, stacks.user_complete);
    sink_.on_in_flight(event);
  }

  void add_suspend() {
    Suspend suspend;
    suspend.begin_ns = line_.required_time("begin_ns");
    suspend.end_ns = line_.required_time("end_ns");
    line_.in_order("begin_ns", suspend.begin_ns, "end_ns", suspend.end_ns);
    suspend.slept_ns = line_.count("slept_ns", 0);
    suspend.kind = line_.text("kind");
    if (line_.ok()) sink_.on_suspend(suspend);
  }

  void add_probe() {
    Probe probe;
    probe.name = line_.text("name");
    probe.mechanism = line_.text("mechanism");
    probe.status = line_.text("status");
    probe.reason = line_.text("reason");
    if (line_.ok()) sink_.on_probe(probe);
  }

  // Lines of one class add up; the event model counts cumulatively.
  void add_lost() {
    const std::string event_class(line_.text("class"));
    const std::uint64_t count = line_.count("count", 0);
    if (!line_.ok()) return;
    auto found =
        std::find_if(lost_.begin(), lost_.end(), [&](const Lost& lost) { return lost.event_class == event_class; });
    if (found == lost_.end()) found = lost_.insert(lost_.end(), {event_class, 0});
    found->count = std::min<std::uint64_t>(found->count + count, format::kMaxTime);
    sink_.on_lost(*found);
  }

  // Whatever the line says is the NIC's description; export keeps one that is no plain object in `json`.
  void add_nic() {
    if (line_.has("json")) {
      const std::string_view json = line_.text("json");
      if (line_.ok()) sink_.on_nic({std::string(json)});
      return;
    }
    auto object = nlohmann::ordered_json::parse(lines_.line(), nullptr, false);
    if (object.is_discarded()) return line_.fail("invalid JSON");
    object.erase("type");
    line_.use_all();
    sink_.on_nic({object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)});
  }

  struct Stacks {
    EventLine::Index kernel = 0;
    EventLine::Index user = 0;
    bool kernel_complete = true;
    bool user_complete = true;
  };

  Stacks read_stacks() {
    Stacks stacks;
    stacks.kernel = line_.frames("kernel");
    stacks.user = line_.frames("user");
    stacks.kernel_complete = !line_.flag("kernel_incomplete").value_or(false);
    stacks.user_complete = !line_.flag("user_incomplete").value_or(false);
    return stacks;
  }

  StackId intern(EventLine::Index array, bool user, bool complete) {
    if (array == 0) return 0;
    const JsonLine& json = line_.json();
    stack_.clear();
    for (EventLine::Index i = array + 1; i < json.at(array).end; i = json.at(i).end) {
      if (json.at(i).kind == JsonLine::Kind::kString) {
        stack_.push_back(frames_.of_text(json.text(json.at(i)), user));
      } else {
        Frame frame = line_.frame_details(i);
        frame.user = user;
        stack_.push_back(frames_.of_details(std::move(frame)));
      }
    }
    return stack_.empty() ? 0 : stacks_.of(stack_, user, complete);
  }

  // -1 and 0: nobody, or not known.
  std::int32_t read_owner() {
    const std::int32_t owner = line_.integer("owner_tid").value_or(0);
    if (owner < -1) line_.fail("owner_tid must be a tid");
    return std::max(owner, 0);
  }

  Waker resolve(const EventLine::WakerReference& waker) {
    return {waker.tid == 0 && waker.context != WakerContext::kTask ? 0 : tasks_.id_of(waker.tid), waker.context};
  }

  static constexpr std::string_view kSource = "import";

  LineReader lines_;
  EventSink& sink_;
  NdjsonImportOptions options_;
  EventLine line_;
  events::TaskTable tasks_;
  events::FrameTable frames_;
  events::StackTable stacks_;
  events::LockTable locks_;
  std::vector<FrameId> stack_;
  std::vector<Lost> lost_;
  std::string arch_;
  Footer footer_;
  bool has_end_ = false;
  bool seen_header_ = false;
  StreamQuality quality_;
  std::uint64_t bad_lines_ = 0;
  std::uint64_t unknown_types_ = 0;
  std::string unknown_type_names_;
  std::uint64_t unknown_keys_ = 0;
};

}  // namespace

Result<StreamQuality> import_ndjson(ByteSource& source, EventSink& sink, const NdjsonImportOptions& options) {
  return Importer(source, sink, options).run();
}

Result<StreamQuality> import_ndjson(std::istream& in, EventSink& sink, const NdjsonImportOptions& options) {
  const auto source = stream_source(in, "the event stream");
  return import_ndjson(*source, sink, options);
}

}  // namespace rtnlprof
