// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The result of the analysis: what the report formats, the rules, `diff` and `check` work on. It mirrors the JSON
// report (docs/report.schema.json). Durations are nanoseconds; points in time (`*_at_ns`, `since_ns`) are on the clock
// of the stream. An empty optional means "not measured" and is never shown as a number. Texts are raw bytes of the
// traced system: sanitize them at output.
//
// All lists are sorted by what hurts most and are complete unless AnalyzerOptions::top cut them.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/distribution.h"
#include "model/events.h"

namespace rtnlprof {

struct ReportFrame {
  std::string name;    // symbol without offset; unresolved: "file+0x1234" or "0xffffffff81000000"
  std::string module;  // kernel module or user file; empty = core kernel or unknown
};

// Innermost first. Shared between all tables that show the same stack.
struct FrameList {
  std::vector<std::shared_ptr<const ReportFrame>> frames;
  std::size_t reliable = 0;  // frames from this index on are guesses
};
using FrameListPtr = std::shared_ptr<const FrameList>;

// Without scheduler and tracing frames. The pointers are never null.
struct CallStack {
  FrameListPtr kernel;
  FrameListPtr user;
};

struct TaskRef {
  std::int32_t tid = 0;
  std::int32_t pid = 0;
  std::int32_t ns_tid = 0;  // in its own PID namespace; 0 = the same as tid
  std::string comm;
  std::string work;  // the function a kworker runs; empty for others
  std::string container;
  bool kernel_thread = false;
};

// --- locks ---------------------------------------------------------------------------------------------------------

// How much of a waiter's time one owner explains. task empty: the owner is not known, `reason` says why.
struct OwnerShare {
  std::optional<TaskRef> task;
  std::uint64_t count = 0;  // waits this owner had a part in
  std::uint64_t waited_ns = 0;
  std::string reason;
};

struct CountedStack {
  CallStack stack;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
};

struct LockWaiter {
  TaskRef task;
  Distribution waits;
  std::uint64_t failed = 0;
  std::vector<OwnerShare> owners;  // waited_ns sums to waits.total_ns()
  std::vector<CountedStack> stacks;
};

struct LockHolder {
  TaskRef task;
  std::optional<Distribution> holds;  // empty: no hold of it was measured
  std::uint64_t waited_on_ns = 0;     // what all shown waiters together waited for it
  std::uint64_t waits = 0;            // in how many waits
  std::vector<CountedStack> stacks;   // call paths that took the lock, total_ns is hold time (0 if not known)
};

enum class Activity : std::uint8_t { kUnknown = 0, kSleeping, kRunning, kRunnable, kWaitingForLock };

struct BlameShare {
  std::optional<TaskRef> holder;
  Activity activity = Activity::kUnknown;
  std::string what;
  std::uint64_t waited_ns = 0;
  double share = 0;
  FrameListPtr stack;
};

struct WorstWait {
  std::int64_t begin_ns = 0;  // clock of the stream
  std::string at;             // RFC 3339, UTC; empty = wall-clock time not known
  std::uint64_t waited_ns = 0;
  bool failed = false;
  TaskRef waiter;
  std::optional<TaskRef> holder;  // who explains most of it
  std::uint64_t holder_ns = 0;    // how much
  Activity activity = Activity::kUnknown;
  std::string what;
  CallStack stack;
};

// Somebody still waiting when the recording ended (or found waiting when it started).
struct InFlightWait {
  TaskRef waiter;
  std::optional<std::uint64_t> waited_ns;  // until the end of the recording; empty = since when is not known
  bool started_before_recording = false;
  std::optional<TaskRef> owner;
  FrameListPtr stack;
};

struct LockReport {
  std::string name;                            // "rtnl_mutex", "mutex at FUNCTION"
  std::map<std::string, std::uint64_t> kinds;  // "mutex", "rwsem_read", ... -> waits
  std::uint64_t instances = 0;                 // distinct addresses; 0 = no address known
  std::optional<std::uint64_t> address;        // only if instances is 1
  std::string site;                            // call site most waiters come from; empty = unknown
  std::string name_source;                     // "kallsyms", "learned from stack", "call site", ...

  Distribution waits;
  std::optional<std::uint64_t> spin_ns;
  std::uint64_t failed = 0;
  std::map<std::string, std::uint64_t> wait_sources;  // "contention" (probes), "stack" (inferred from sleeps) -> waits

  std::optional<Distribution> holds;  // empty: none measured
  std::string hold_source;            // "probes" (every hold), "contention" (only between contended hand-offs)

  std::vector<LockWaiter> waiters;
  std::vector<LockHolder> holders;
  std::uint64_t unknown_owner_ns = 0;  // waited, holder not known
  std::vector<BlameShare> blame;
  std::vector<WorstWait> worst;
  std::vector<InFlightWait> in_flight;
};

// --- sleeps, scheduling -------------------------------------------------------------------------------------------

struct SleepFunction {
  std::string function;  // remainder: "(shorter than 1ms)"
  std::string module;
  bool remainder = false;  // sleeps without a record of their own
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t max_ns = 0;
  std::optional<double> share_of_count;
  std::optional<double> share_of_sleep;
  std::optional<double> share_of_total;  // of run + sleep + run queue; empty system-wide
};

struct SleepStack {
  CallStack stack;
  std::string label;    // instead of frames, for the remainder; else empty
  std::string syscall;  // empty = none or unknown
  char state = '?';
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t max_ns = 0;
  std::optional<double> share_of_wait;
};

// Times are sums over the recording. Shares are of run + sleep + run queue (LinuxKI's base), empty if one is missing.
struct SchedulerReport {
  std::optional<std::uint64_t> run_ns, user_ns, sys_ns, runq_ns, sleep_ns;
  std::optional<std::uint64_t> sleeps, switches, preemptions, wakeups, cpu_migrations, node_migrations;
  std::string policy;  // "SCHED_NORMAL"; empty = unknown
  std::optional<std::int32_t> last_cpu;
  std::optional<std::uint64_t> vss_pages, rss_pages;

  [[nodiscard]] std::optional<std::uint64_t> total_ns() const;
  [[nodiscard]] std::optional<double> share(const std::optional<std::uint64_t>& part_ns) const;
};

// One row of cooperation. For a waker in interrupt context task.tid is -1 and its comm "ICS"; a waker that was not
// seen has tid 0 and comm "unknown".
struct Cooperation {
  TaskRef task;
  WakerContext context = WakerContext::kTask;
  std::uint64_t count = 0;      // wakeups
  std::uint64_t sleep_ns = 0;   // of the sleeps they ended
  std::optional<double> share;  // woke: of the other task's sleep; woken_by: of this task's
};

struct InFlightReport {
  std::optional<std::int64_t> since_ns;
  std::optional<std::uint64_t> blocked_ns;  // until the end of the recording
  char state = '?';
  CallStack stack;
  std::string lock;  // name; empty = not on a lock, or unknown
  std::optional<TaskRef> owner;
  bool started_before_recording = false;
  bool at_end = true;
};

struct TaskReport {
  TaskRef task;
  std::int32_t ppid = 0;
  std::string cmdline;
  std::string cgroup;
  SchedulerReport scheduler;
  std::uint64_t lock_wait_ns = 0;  // it waited for locks
  std::uint64_t waited_on_ns = 0;  // others waited for locks it held
  std::vector<SleepFunction> sleep_functions;
  std::vector<SleepStack> sleep_stacks;
  std::vector<Cooperation> woke;
  std::vector<Cooperation> woken_by;
  std::vector<InFlightReport> in_flight;
};

struct SystemReport {
  SchedulerReport scheduler;  // sums over the shown tasks
  std::vector<SleepFunction> sleep_functions;
  std::vector<SleepStack> sleep_stacks;  // kernel part only
};

// --- the recording itself -----------------------------------------------------------------------------------------

struct Epoch {  // between two suspends
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<std::uint64_t> suspended_ns;  // of the suspend before it
  std::string suspend_kind;
};

struct RecordingReport {
  std::string started_at;  // RFC 3339, UTC; empty = unknown
  std::int64_t start_ns = 0;
  std::uint64_t duration_ns = 0;
  std::string command;
  std::optional<int> exit_status;
  bool complete = false;
  std::string clock;
  std::string recorded_by;  // version of the tool that recorded
  std::uint64_t min_sleep_ns = 0;
  std::vector<Probe> probes;
  std::map<std::string, std::uint64_t> lost;  // class -> events
  std::uint64_t lost_total = 0;
  std::optional<std::uint64_t> bpf_ns, collector_cpu_ns;
  std::optional<double> overhead_share;  // of all CPU time in the recording
  std::vector<Epoch> epochs;
  std::vector<std::string> notes;  // what was wrong with the file
};

struct Finding {
  std::string id;
  std::string severity;  // "info", "warning", "critical"
  std::string title, summary;
  std::vector<std::string> evidence, advice, references;
};

struct Report {
  Host host;
  RecordingReport recording;
  std::vector<Finding> findings;
  std::vector<LockReport> locks;
  SystemReport system;
  std::vector<TaskReport> tasks;
  std::vector<std::string> nics;  // JSON objects
  bool filtered = false;          // some tasks are not shown
  bool filtered_locks = false;    // --lock was given
  bool filtered_waits = false;    // --min-wait was given
};

}  // namespace rtnlprof
