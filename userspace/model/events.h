// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The events a recording consists of, and the interface they flow through: capture, recording reader and importers
// call an EventSink; the recording writer, the exporter and the analysis are EventSinks.
//
// Times are nanoseconds of CLOCK_MONOTONIC of the recorded host (or of the imported stream), signed; durations are
// nanoseconds. Ids are dense indices given by the producer, valid within one stream; 0 means "none" or "unknown".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtnlprof {

using TaskId = std::uint32_t;   // one life of one thread: a reused tid gets a new TaskId
using FrameId = std::uint32_t;  // one code address, or one symbol of an imported stream
using StackId = std::uint32_t;  // one list of frames

inline constexpr std::int64_t kUnknownTime = INT64_MIN;
inline constexpr std::uint64_t kUnknownCount = UINT64_MAX;  // "not measured", never shown as a number

struct Host {
  std::string hostname;
  std::string kernel_release;  // uname -r
  std::string kernel_version;  // uname -v
  std::string arch;            // uname -m
  std::uint32_t cpus = 0;      // online; 0 = unknown
  std::string boot_id;
};

struct Header {
  Host host;
  std::int64_t start_ns = 0;
  std::int64_t realtime_offset_ns = kUnknownTime;  // CLOCK_REALTIME - CLOCK_MONOTONIC at start; wall time = t + this
  std::string command;                             // of `record -- COMMAND`; empty without one
  std::string tool_version;
  std::string clock = "CLOCK_MONOTONIC";
  std::uint64_t min_sleep_ns = 0;  // sleeps shorter than this are in Wakeups only
};

// What is known at the end. A stream without a Footer is incomplete.
struct Footer {
  std::int64_t end_ns = 0;
  bool has_exit_status = false;
  int exit_status = 0;                             // of the command, 128+N when killed by signal N
  std::uint64_t bpf_ns = kUnknownCount;            // CPU time of our BPF programs
  std::uint64_t collector_cpu_ns = kUnknownCount;  // CPU time of the recorder
};

// Sent when a task is first seen, and again whenever something about it changes (exec, rename, cmdline read):
// a later Task with the same id replaces the earlier one.
struct Task {
  TaskId id = 0;
  std::int32_t tid = 0;  // in the host's PID namespace
  std::int32_t pid = 0;  // thread group
  std::int32_t ppid = 0;
  std::int32_t ns_tid = 0;  // in its own PID namespace; equal to tid or 0 when not in one
  std::string comm;         // raw bytes, may be hostile; sanitized at output
  std::string cmdline;      // raw bytes, arguments joined by one space; empty = unknown or kernel thread
  std::string cgroup;       // path, "/system.slice/snmpd.service"
  std::string container;    // 64 or 12 hex digits of a container id, or empty
  std::string work;         // a kworker's work function, when known
  bool kernel_thread = false;
  std::int64_t start_ns = kUnknownTime;
};

// A code address. Sent before its first use; sent again with the same id when more is known (user symbols are
// resolved after the recording), the later one replaces.
struct Frame {
  FrameId id = 0;
  std::uint64_t address = 0;      // 0 in imported streams
  std::string symbol;             // "msleep"; empty = unresolved
  std::uint64_t offset = 0;       // address - symbol start
  std::string module;             // kernel module "ixgbe"; user: file name ("/usr/lib/x86_64-linux-gnu/libc.so.6")
  std::string build_id;           // user: hex, empty when unknown
  std::uint64_t file_offset = 0;  // user: offset into `module`'s file
  bool user = false;
  bool unreliable = false;  // guessed by frame pointers that the binary may not keep
};

// Innermost frame first.
struct Stack {
  StackId id = 0;
  bool user = false;
  bool complete = true;  // false: scheduler frames (.sched.text) are missing (taken of a switched-out task)
  std::vector<FrameId> frames;
};

enum class WakerContext : std::uint8_t { kTask = 0, kHardirq = 1, kSoftirq = 2, kNmi = 3, kTimer = 4, kUnknown = 5 };

// Who issued a wakeup. In interrupt context (all but kTask) the task is the interrupted one and innocent: it is
// dropped, task = 0. kUnknown: the wakeup was not seen.
struct Waker {
  TaskId task = 0;
  WakerContext context = WakerContext::kUnknown;
};

// One finished sleep: switch-out, wakeup, switch-in.
struct Sleep {
  TaskId task = 0;
  std::int64_t out_ns = 0;
  std::int64_t wake_ns = 0;       // the sleep ends here
  std::int64_t in_ns = 0;         // wake..in is run-queue time
  char state = '?';               // S D I K T t P X Z as /proc/PID/stat; L = TASK_RTLOCK_WAIT; '?' unknown
  std::int32_t syscall = -1;      // number on the recorded arch; -1 = none or unknown
  std::string_view syscall_name;  // imported streams: valid during the call only; empty = use the number
  StackId kernel_stack = 0;
  StackId user_stack = 0;
  Waker waker;
  bool started_before_recording = false;  // out_ns is then the start of the recording
};

enum class LockKind : std::uint8_t {
  kUnknown = 0,
  kMutex = 1,
  kRwsemRead = 2,
  kRwsemWrite = 3,
  kRtmutex = 4,
  kPercpuRwsemRead = 5,
  kPercpuRwsemWrite = 6,
};

// Sent when a lock's name is learned, at any place in the stream; the last one wins. A lock without one is named by
// the call site of its waiters.
struct Lock {
  std::uint64_t address = 0;
  std::string name;    // "rtnl_mutex"
  std::string source;  // "kallsyms", "code of rtnl_lock", "learned from stack", "import"
};

// One contended acquisition: from the first contention_begin to the matching contention_end.
struct Wait {
  TaskId task = 0;
  std::uint64_t lock = 0;  // address; 0 = unknown
  LockKind kind = LockKind::kUnknown;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t spin_ns = kUnknownCount;  // part of the wait spent spinning optimistically
  std::int32_t result = 0;                // < 0: the waiter gave up (-EINTR, -EDEADLK)
  TaskId owner = 0;                       // at begin
  bool owner_is_one_of_many = false;      // a reader-held rwsem names only its last reader
  StackId kernel_stack = 0;
  StackId user_stack = 0;
};

struct Hold {
  TaskId task = 0;
  std::uint64_t lock = 0;
  LockKind kind = LockKind::kUnknown;
  std::int64_t acquired_ns = 0;
  std::int64_t released_ns = 0;
  StackId kernel_stack = 0;
  StackId user_stack = 0;
  std::string_view detail;  // "RTM_NEWLINK eth0"; valid during the call only
};

struct Call {
  TaskId task = 0;
  std::string_view function;  // valid during the call only
  std::string_view module;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  StackId kernel_stack = 0;
};

// What is in no Sleep: sleeps shorter than the minimum, and wakeups of a task that was not asleep. Additive: several
// of them for the same pair are summed.
struct Wakeups {
  TaskId task = 0;  // who was woken
  Waker waker;
  std::uint64_t count = 0;   // wakeups
  std::uint64_t sleeps = 0;  // those of them that ended a sleep
  std::uint64_t sleep_ns = 0;
  std::uint64_t max_ns = 0;
};

// Totals of one task over the recording, cumulative: the last one of a task counts. kUnknownCount = not measured.
struct SchedulerTotals {
  TaskId task = 0;
  std::uint64_t run_ns = kUnknownCount;
  std::uint64_t user_ns = kUnknownCount;
  std::uint64_t sys_ns = kUnknownCount;
  std::uint64_t runq_ns = kUnknownCount;
  std::uint64_t sleep_ns = kUnknownCount;  // unknown: summed from Sleep and Wakeups
  std::uint64_t sleeps = kUnknownCount;    // unknown: counted from Sleep and Wakeups
  std::uint64_t switches = kUnknownCount;
  std::uint64_t preemptions = kUnknownCount;
  std::uint64_t wakeups = kUnknownCount;  // issued by this task; unknown: counted from Sleep and Wakeups
  std::uint64_t cpu_migrations = kUnknownCount;
  std::uint64_t node_migrations = kUnknownCount;
  std::int32_t policy = -1;  // SCHED_NORMAL 0, FIFO 1, RR 2, BATCH 3, IDLE 5, DEADLINE 6, EXT 7
  std::int32_t last_cpu = -1;
  std::uint64_t vss_pages = kUnknownCount;
  std::uint64_t rss_pages = kUnknownCount;
};

// A sleep or lock wait that had not ended when the recording did, or (at_end false) that was there when it started.
struct InFlight {
  TaskId task = 0;
  std::int64_t since_ns = kUnknownTime;
  char state = '?';
  std::uint64_t lock = 0;      // address; 0 = not on a lock, or unknown
  std::string_view lock_name;  // imported streams; valid during the call only
  LockKind kind = LockKind::kUnknown;
  TaskId owner = 0;
  bool owner_is_one_of_many = false;
  StackId kernel_stack = 0;
  StackId user_stack = 0;
  bool started_before_recording = false;
  bool at_end = true;
};

struct Suspend {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t slept_ns = 0;
  std::string kind;  // "mem", "freeze"
};

struct Probe {
  std::string name;       // "sched_switch", "rtnl_lock"
  std::string mechanism;  // "tp_btf", "fentry", "kprobe", "iter"
  std::string status;     // "active", "refused", "absent", "off"
  std::string reason;     // why not active; empty when active
};

struct Lost {
  std::string event_class;  // "sleep", "wait", "stack", "task", "wakeups", "bad line"
  std::uint64_t count = 0;  // cumulative: the last one of a class counts
};

// Facts about a NIC: one JSON object, kept as text.
struct Nic {
  std::string json;
};

// Receives a stream: header first, then anything, definitions (Task, Frame, Stack) before their first use, footer last.
// One thread at a time. The default implementations ignore the event.
class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  virtual void on_header(const Header& /*event*/) {}
  virtual void on_footer(const Footer& /*event*/) {}
  virtual void on_task(const Task& /*event*/) {}
  virtual void on_frame(const Frame& /*event*/) {}
  virtual void on_stack(const Stack& /*event*/) {}
  virtual void on_lock(const Lock& /*event*/) {}
  virtual void on_sleep(const Sleep& /*event*/) {}
  virtual void on_wait(const Wait& /*event*/) {}
  virtual void on_hold(const Hold& /*event*/) {}
  virtual void on_call(const Call& /*event*/) {}
  virtual void on_wakeups(const Wakeups& /*event*/) {}
  virtual void on_scheduler(const SchedulerTotals& /*event*/) {}
  virtual void on_in_flight(const InFlight& /*event*/) {}
  virtual void on_suspend(const Suspend& /*event*/) {}
  virtual void on_probe(const Probe& /*event*/) {}
  virtual void on_lost(const Lost& /*event*/) {}
  virtual void on_nic(const Nic& /*event*/) {}
};

// What a reader found wrong with a file or stream that it could still read in part.
struct StreamQuality {
  bool complete = false;           // a footer was there and nothing was damaged
  std::vector<std::string> notes;  // "file ends inside chunk 17 at byte 81920: the last 512 bytes are missing"
};

}  // namespace rtnlprof
