// SPDX-License-Identifier: BSD-2-Clause
// The helpers of the recording tests; the name's ending makes the build take it.
#include "event_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <type_traits>

#include "recording/hex.h"
#include "recording/writer.h"

namespace rtnlprof::testing {
namespace {

// An address, which reads better in hexadecimal.
struct Hex {
  std::uint64_t value;
};
std::ostream& operator<<(std::ostream& out, Hex address) { return out << to_hex(address.value); }

template <typename T>
void render(std::ostream& out, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    out << static_cast<int>(value) << '|';
  } else if constexpr (std::is_same_v<T, std::vector<FrameId>>) {
    for (const FrameId id : value) out << id << ',';
    out << '|';
  } else {
    out << value << '|';
  }
}

}  // namespace

template <typename... Fields>
void EventLog::add(const char* type, const Fields&... fields) {
  std::ostringstream out;
  out << type << ' ';
  (render(out, fields), ...);
  lines.push_back(out.str());
}

std::vector<std::string> EventLog::sorted() const {
  auto copy = lines;
  std::sort(copy.begin(), copy.end());
  return copy;
}

void EventLog::on_header(const Header& e) {
  add("header", e.start_ns, e.realtime_offset_ns, e.min_sleep_ns, e.command, e.tool_version, e.clock, e.host.hostname,
      e.host.kernel_release, e.host.kernel_version, e.host.arch, e.host.cpus, e.host.boot_id);
}
void EventLog::on_footer(const Footer& e) {
  add("footer", e.end_ns, e.has_exit_status, e.exit_status, e.bpf_ns, e.collector_cpu_ns);
}
void EventLog::on_task(const Task& e) {
  add("task", e.id, e.tid, e.pid, e.ppid, e.ns_tid, e.comm, e.cmdline, e.cgroup, e.container, e.work, e.kernel_thread,
      e.start_ns);
}
void EventLog::on_frame(const Frame& e) {
  add("frame", e.id, Hex{e.address}, e.symbol, e.offset, e.module, e.build_id, e.file_offset, e.user, e.unreliable);
}
void EventLog::on_stack(const Stack& e) { add("stack", e.id, e.user, e.complete, e.frames); }
void EventLog::on_lock(const Lock& e) { add("lock", Hex{e.address}, e.name, e.source); }
void EventLog::on_sleep(const Sleep& e) {
  add("sleep", e.task, e.out_ns, e.wake_ns, e.in_ns, e.state, e.syscall, e.syscall_name, e.kernel_stack, e.user_stack,
      e.waker.task, e.waker.context, e.started_before_recording);
}
void EventLog::on_wait(const Wait& e) {
  add("wait", e.task, Hex{e.lock}, e.kind, e.begin_ns, e.end_ns, e.spin_ns, e.result, e.owner, e.owner_is_one_of_many,
      e.kernel_stack, e.user_stack);
}
void EventLog::on_hold(const Hold& e) {
  add("hold", e.task, Hex{e.lock}, e.kind, e.acquired_ns, e.released_ns, e.kernel_stack, e.user_stack, e.detail);
}
void EventLog::on_call(const Call& e) {
  add("call", e.task, e.function, e.module, e.start_ns, e.end_ns, e.kernel_stack);
}
void EventLog::on_wakeups(const Wakeups& e) {
  add("wakeups", e.task, e.waker.task, e.waker.context, e.count, e.sleeps, e.sleep_ns, e.max_ns);
}
void EventLog::on_scheduler(const SchedulerTotals& e) {
  add("scheduler", e.task, e.run_ns, e.user_ns, e.sys_ns, e.runq_ns, e.sleep_ns, e.sleeps, e.switches, e.preemptions,
      e.wakeups, e.cpu_migrations, e.node_migrations, e.policy, e.last_cpu, e.vss_pages, e.rss_pages);
}
void EventLog::on_in_flight(const InFlight& e) {
  add("in_flight", e.task, e.since_ns, e.state, Hex{e.lock}, e.lock_name, e.kind, e.owner, e.owner_is_one_of_many,
      e.kernel_stack, e.user_stack, e.started_before_recording, e.at_end);
}
void EventLog::on_suspend(const Suspend& e) { add("suspend", e.begin_ns, e.end_ns, e.slept_ns, e.kind); }
void EventLog::on_probe(const Probe& e) { add("probe", e.name, e.mechanism, e.status, e.reason); }
void EventLog::on_lost(const Lost& e) { add("lost", e.event_class, e.count); }
void EventLog::on_nic(const Nic& e) { add("nic", e.json); }

namespace {

void send_definitions(EventSink& sink) {
  sink.on_probe({"sched_switch", "tp_btf", "active", ""});
  sink.on_probe({"rtnl_lock", "fentry", "refused", "kernel lockdown (integrity)"});
  sink.on_task({.id = 1,
                .tid = 144390,
                .pid = 144390,
                .ppid = 1,
                .ns_tid = 17,
                .comm = "snmpd",
                .cmdline = "/usr/sbin/snmpd -f",
                .cgroup = "/system.slice/snmpd.service",
                .container = "0123456789ab",
                .start_ns = 5});
  sink.on_task({.id = 2, .tid = 71606, .pid = 71606, .ppid = 144390, .comm = "ifconfig"});
  sink.on_task({.id = 3, .tid = 9, .pid = 9, .comm = "kworker/0:1", .work = "linkwatch_event", .kernel_thread = true});
  sink.on_task({.id = 4, .tid = 71606, .pid = 71606, .comm = "\"quote\\ \t\x01 caf\xC3\xA9", .start_ns = 900});
  sink.on_frame({.id = 1, .address = 0xffffffff81000010, .symbol = "msleep", .offset = 0x1f});
  sink.on_frame({.id = 2, .address = 0xffffffffc0000020, .symbol = "ixgbe_read", .offset = 7, .module = "ixgbe"});
  sink.on_frame({.id = 3,
                 .address = 0x7f0000001234,
                 .symbol = "ioctl",
                 .offset = 0xb,
                 .module = "/usr/lib/libc.so.6",
                 .build_id = "a1b2c3",
                 .file_offset = 0x101234,
                 .user = true});
  sink.on_frame({.id = 4,
                 .address = 0x401000,
                 .module = "/opt/a+0x1 [b]",
                 .file_offset = 0x1000,
                 .user = true,
                 .unreliable = true});
  sink.on_frame({.id = 5, .address = 0xffffffff81999999});                                      // unresolved
  sink.on_frame({.id = 6, .address = 0xffffffff81000077, .symbol = "msleep", .offset = 0x1f});  // same text as 1
  sink.on_frame({.id = 7, .symbol = "plain"});
  sink.on_stack({1, false, true, {1, 2, 5}});
  sink.on_stack({2, true, true, {3, 4}});
  sink.on_stack({3, false, false, {2, 6, 7}});
  sink.on_lock({0xffffffff831f5aa0, "rtnl_mutex", "kallsyms"});
}

void send_sleeps(EventSink& sink) {
  sink.on_sleep({.task = 1,
                 .out_ns = 1000,
                 .wake_ns = 100'846'000,
                 .in_ns = 100'850'000,
                 .state = 'D',
                 .syscall = 16,
                 .kernel_stack = 1,
                 .user_stack = 2,
                 .waker = {0, WakerContext::kTimer}});
  sink.on_sleep({.task = 2,
                 .out_ns = -500,
                 .wake_ns = 200'000'000,
                 .in_ns = 200'000'000,
                 .state = 'S',
                 .kernel_stack = 3,
                 .waker = {1, WakerContext::kTask},
                 .started_before_recording = true});
  sink.on_sleep({.task = 4, .out_ns = 1, .wake_ns = 2, .in_ns = 3, .syscall_name = "no_such_call"});
  sink.on_sleep({.task = 3, .out_ns = 1, .wake_ns = 150'000'000, .in_ns = 150'000'001, .syscall = 100'000});
}

void send_lock_events(EventSink& sink) {
  sink.on_wait({.task = 2,
                .lock = 0xffffffff831f5aa0,
                .kind = LockKind::kMutex,
                .begin_ns = 7,
                .end_ns = 1'135'401'007,
                .spin_ns = 0,
                .owner = 1,
                .kernel_stack = 3,
                .user_stack = 2});
  sink.on_wait({.task = 3,
                .lock = 0xffff888100000000,
                .kind = LockKind::kRwsemRead,
                .begin_ns = 8,
                .end_ns = 9,
                .result = -4,
                .owner = 2,
                .owner_is_one_of_many = true});
  sink.on_hold({.task = 1,
                .lock = 0xffffffff831f5aa0,
                .kind = LockKind::kMutex,
                .acquired_ns = 10,
                .released_ns = 20,
                .kernel_stack = 1,
                .user_stack = 2,
                .detail = "RTM_NEWLINK eth0"});
  sink.on_hold({.task = 3, .lock = 1, .acquired_ns = 5, .released_ns = 5});
  sink.on_call({.task = 3, .function = "rtl8169_poll", .module = "r8169", .start_ns = 4, .end_ns = 6});
  sink.on_call({.task = 1, .function = "foo.isra.0", .start_ns = 4, .end_ns = 5, .kernel_stack = 1});
  sink.on_in_flight({.task = 2,
                     .since_ns = 77,
                     .state = 'R',
                     .lock = 0xffffffff831f5aa0,
                     .kind = LockKind::kMutex,
                     .owner = 1,
                     .kernel_stack = 3,
                     .user_stack = 2,
                     .started_before_recording = true});
  sink.on_in_flight({.task = 1, .since_ns = kUnknownTime, .state = 'D', .at_end = false});
}

void send_totals(EventSink& sink) {
  sink.on_wakeups({2, {1, WakerContext::kTask}, 12, 11, 13'496'665'000, 1'146'952'000});
  sink.on_wakeups({1, {0, WakerContext::kSoftirq}, 1, 0, 0, 0});
  sink.on_scheduler({.task = 1,
                     .run_ns = 4'518'001'000,
                     .user_ns = 6'178'000,
                     .sys_ns = 4'511'822'000,
                     .runq_ns = 1'950'000,
                     .sleep_ns = 35'032'811'000,
                     .sleeps = 325,
                     .switches = 326,
                     .preemptions = 1,
                     .wakeups = 72,
                     .cpu_migrations = 3,
                     .node_migrations = 0,
                     .policy = 0,
                     .last_cpu = 0,
                     .vss_pages = 27542,
                     .rss_pages = 2583});
  sink.on_scheduler({.task = 2, .run_ns = 0, .policy = 42, .last_cpu = 7});
  sink.on_suspend({100, 200, 5'000'000'000, "mem"});
  sink.on_suspend({300, 300, 0, ""});
  sink.on_nic({R"({"name":"eth0","driver":"ixgbe","features":{"a":[1,2.5,null]}})"});
  sink.on_nic({"not json"});
  sink.on_nic({R"({"type":"clash","json":1})"});
  sink.on_lost({"sleep", 12});
  sink.on_lost({"stack", 1});
}

}  // namespace

void send_everything(EventSink& sink, bool with_footer) {
  Header header;
  header.host = {"db-7", "6.18.0", "#1 SMP", "x86_64", 8, "f00d"};
  header.start_ns = 123;
  header.realtime_offset_ns = 1'700'000'000'000'000'000;
  header.command = "./bench --all";
  header.tool_version = "0.1.0";
  header.min_sleep_ns = 1'000'000;
  sink.on_header(header);
  send_definitions(sink);
  send_sleeps(sink);
  send_lock_events(sink);
  send_totals(sink);
  if (with_footer) {
    sink.on_footer({.end_ns = 30'000'000'123, .has_exit_status = true, .exit_status = 130, .bpf_ns = 5});
  }
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rtnlprof-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}
TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

void write_everything(const std::string& path, bool with_footer) {
  auto writer = RecordingWriter::create(path);
  ASSERT_TRUE(writer.ok()) << writer.error().line();
  send_everything(**writer, with_footer);
  const Status status = (*writer)->finish();
  ASSERT_TRUE(status.ok()) << status.error().line();
}

}  // namespace rtnlprof::testing
