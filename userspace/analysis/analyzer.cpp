// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/analyzer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/cooperation.h"
#include "analysis/lock_report.h"
#include "analysis/lock_table.h"
#include "analysis/scheduler_totals.h"
#include "analysis/sleep_table.h"
#include "analysis/stack_table.h"
#include "analysis/task_table.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kWorstWaits = 10;

std::uint64_t duration(std::int64_t begin_ns, std::int64_t end_ns) {
  return end_ns > begin_ns ? static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(begin_ns) : 0;
}

std::optional<std::uint64_t> measured(std::uint64_t value) {
  if (value == kUnknownCount) return std::nullopt;
  return value;
}

// "1ms", "1500us": the largest unit that needs no fraction.
std::string exact_duration(std::uint64_t ns) {
  if (ns % 1'000'000'000 == 0) return std::to_string(ns / 1'000'000'000) + "s";
  if (ns % 1'000'000 == 0) return std::to_string(ns / 1'000'000) + "ms";
  if (ns % 1'000 == 0) return std::to_string(ns / 1'000) + "us";
  return std::to_string(ns) + "ns";
}

// The probes that see lock waits: contention tracepoints, or probes on the lock functions.
bool is_lock_probe(const Probe& probe) {
  return probe.name.find("contention") != std::string::npos || probe.name.find("rtnl") != std::string::npos ||
         probe.name.find("mutex") != std::string::npos || probe.name.find("rwsem") != std::string::npos ||
         probe.name.starts_with("lock");
}

template <typename List>
void cut(List& list, std::size_t limit) {
  if (list.size() > limit) list.erase(list.begin() + static_cast<std::ptrdiff_t>(limit), list.end());
}

}  // namespace

struct Analyzer::State {
  explicit State(AnalyzerOptions given) : options(std::move(given)), locks(stacks) {
    locks.set_min_wait_ns(options.filter.min_wait_ns);
  }

  AnalyzerOptions options;
  std::optional<Header> header;
  std::optional<Footer> footer;
  TaskTable tasks;
  StackTable stacks;
  SleepTable sleeps;
  Cooperations cooperations;
  SchedulerTable scheduler;
  LockTable locks;
  std::vector<Suspend> suspends;
  std::vector<Probe> probes;
  std::map<std::string, std::uint64_t> lost;
  std::vector<std::string> nics;
  std::map<std::string, std::int32_t, std::less<>> syscall_numbers;
  std::vector<std::string> syscall_names;
  bool any_wakeups = false;
  std::int64_t first_ns = kUnknownTime;
  std::int64_t last_ns = kUnknownTime;

  void saw(std::int64_t begin_ns, std::int64_t end_ns) {
    if (first_ns == kUnknownTime || begin_ns < first_ns) first_ns = begin_ns;
    if (end_ns > last_ns) last_ns = end_ns;
  }
  [[nodiscard]] std::int64_t start_ns() const {
    if (header) return header->start_ns;
    return first_ns == kUnknownTime ? 0 : first_ns;
  }
  // An unfinished recording ends with its last event.
  [[nodiscard]] std::int64_t end_ns() const {
    if (footer) return footer->end_ns;
    return std::max(start_ns(), last_ns);
  }
  std::int32_t syscall_of(const Sleep& sleep);
  [[nodiscard]] std::string remainder_label() const;

  void name_kworkers(const std::vector<SleepTable::Row>& rows);
  [[nodiscard]] RecordingReport recording(const StreamQuality& quality) const;
  [[nodiscard]] std::vector<Epoch> epochs() const;
  [[nodiscard]] LockReports lock_reports(const std::vector<bool>& shown);
  void fill_in_flight(std::vector<TaskReport>& reports, const LockReports& locks_reported);
  void report_tasks(Report& report, const std::vector<bool>& shown, const LockReports& lock_reports);
  void cut_lists(Report& report) const;
};

Analyzer::Analyzer(AnalyzerOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Analyzer::~Analyzer() = default;

void Analyzer::on_header(const Header& event) { state_->header = event; }
void Analyzer::on_footer(const Footer& event) { state_->footer = event; }
void Analyzer::on_task(const Task& event) { state_->tasks.define(event); }
void Analyzer::on_frame(const Frame& event) { state_->stacks.define(event); }
void Analyzer::on_stack(const Stack& event) { state_->stacks.define(event); }
void Analyzer::on_lock(const Lock& event) { state_->locks.define(event); }
void Analyzer::on_suspend(const Suspend& event) { state_->suspends.push_back(event); }
void Analyzer::on_nic(const Nic& event) { state_->nics.push_back(event.json); }
void Analyzer::on_lost(const Lost& event) { state_->lost[event.event_class] = event.count; }

void Analyzer::on_sleep(const Sleep& event) {
  State& state = *state_;
  const TaskNo task = state.tasks.subject(event.task);
  const TaskNo waker = event.waker.context == WakerContext::kTask ? state.tasks.number(event.waker.task) : kNoTask;
  const std::uint64_t slept_ns = duration(event.out_ns, event.wake_ns);
  state.saw(event.out_ns, std::max(event.wake_ns, event.in_ns));
  state.any_wakeups = true;
  state.scheduler.add_sleeps(task, 1, slept_ns);
  state.cooperations.add(task, waker, event.waker.context, 1, slept_ns);
  if (slept_ns < state.options.filter.min_sleep_ns) {
    state.sleeps.add_remainder(task, {1, slept_ns, slept_ns});
  } else {
    state.sleeps.add(task, event, slept_ns, state.syscall_of(event));
  }
  state.locks.add_sleep(event, task, waker);
}

void Analyzer::on_wait(const Wait& event) {
  state_->saw(event.begin_ns, event.end_ns);
  state_->locks.add_wait(event, state_->tasks.subject(event.task), state_->tasks.number(event.owner));
}

void Analyzer::on_hold(const Hold& event) {
  state_->saw(event.acquired_ns, event.released_ns);
  state_->locks.add_hold(event, state_->tasks.subject(event.task));
}

void Analyzer::on_wakeups(const Wakeups& event) {
  State& state = *state_;
  const TaskNo task = state.tasks.subject(event.task);
  const TaskNo waker = event.waker.context == WakerContext::kTask ? state.tasks.number(event.waker.task) : kNoTask;
  state.any_wakeups = true;
  state.scheduler.add_sleeps(task, event.sleeps, event.sleep_ns);
  state.cooperations.add(task, waker, event.waker.context, event.count, event.sleep_ns);
  state.sleeps.add_remainder(task, {event.sleeps, event.sleep_ns, event.max_ns});
}

void Analyzer::on_scheduler(const SchedulerTotals& event) {
  state_->scheduler.set(state_->tasks.subject(event.task), event);
}

void Analyzer::on_in_flight(const InFlight& event) {
  State& state = *state_;
  const TaskNo task = state.tasks.subject(event.task);
  if (event.lock != 0 && !event.lock_name.empty()) {
    state.locks.define({event.lock, std::string(event.lock_name), "import"});
  }
  state.locks.add_in_flight(event, task, state.tasks.number(event.owner));
}

void Analyzer::on_probe(const Probe& event) {
  for (Probe& probe : state_->probes) {
    if (probe.name == event.name) {
      probe = event;
      return;
    }
  }
  state_->probes.push_back(event);
}

std::int32_t Analyzer::State::syscall_of(const Sleep& sleep) {
  if (sleep.syscall_name.empty()) return sleep.syscall;
  const auto found = syscall_numbers.find(sleep.syscall_name);
  if (found != syscall_numbers.end()) return found->second;
  const auto number = static_cast<std::int32_t>(kNamedSyscalls + syscall_names.size());
  syscall_names.emplace_back(sleep.syscall_name);
  syscall_numbers.emplace(sleep.syscall_name, number);
  return number;
}

std::string Analyzer::State::remainder_label() const {
  const std::uint64_t recorded_from_ns = header ? header->min_sleep_ns : 0;
  const std::uint64_t shown_from_ns = std::max(options.filter.min_sleep_ns, recorded_from_ns);
  return shown_from_ns == 0 ? "(not recorded one by one)" : "(shorter than " + exact_duration(shown_from_ns) + ")";
}

// A kworker's name says nothing; the function it runs does. Where the stream does not name it, the one it slept in
// longest stands for it.
void Analyzer::State::name_kworkers(const std::vector<SleepTable::Row>& rows) {
  std::map<TaskNo, std::map<std::string, std::uint64_t>> slept_in;
  for (const SleepTable::Row& row : rows) {
    if (!tasks.task(row.task).comm.starts_with("kworker/")) continue;
    const std::string& work = stacks.kernel(row.kernel_stack).work;
    if (!work.empty()) slept_in[row.task][work] += row.sum.total_ns;
  }
  for (const WaitRecord& wait : locks.waits()) {
    if (!tasks.task(wait.task).comm.starts_with("kworker/")) continue;
    const std::string& work = stacks.kernel(locks.kernel_stack(wait.stack)).work;
    if (!work.empty()) slept_in[wait.task][work] += duration(wait.begin_ns, wait.end_ns);
  }
  for (const auto& [task, works] : slept_in) {
    const auto longest =
        std::max_element(works.begin(), works.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    tasks.set_work(task, longest->first);
  }
}

std::vector<Epoch> Analyzer::State::epochs() const {
  std::vector<Suspend> sorted = suspends;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Suspend& a, const Suspend& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Epoch> epochs(1);
  epochs.back().begin_ns = start_ns();
  for (const Suspend& suspend : sorted) {
    epochs.back().end_ns = suspend.begin_ns;
    epochs.push_back({suspend.end_ns, 0, suspend.slept_ns, suspend.kind});
  }
  epochs.back().end_ns = end_ns();
  return epochs;
}

RecordingReport Analyzer::State::recording(const StreamQuality& quality) const {
  RecordingReport report;
  if (header) {
    report.started_at = wall_clock(header->start_ns, header->realtime_offset_ns);
    report.command = header->command;
    report.clock = header->clock;
    report.recorded_by = header->tool_version;
    report.min_sleep_ns = header->min_sleep_ns;
  }
  report.start_ns = start_ns();
  report.duration_ns = duration(start_ns(), end_ns());
  report.complete = quality.complete && footer.has_value();
  report.notes = quality.notes;
  if (footer) {
    if (footer->has_exit_status) report.exit_status = footer->exit_status;
    report.bpf_ns = measured(footer->bpf_ns);
    report.collector_cpu_ns = measured(footer->collector_cpu_ns);
  }
  const double cpu_ns = static_cast<double>(report.duration_ns) * (header ? header->host.cpus : 0);
  if (report.bpf_ns && report.collector_cpu_ns && cpu_ns > 0) {
    report.overhead_share = static_cast<double>(*report.bpf_ns + *report.collector_cpu_ns) / cpu_ns;
  }
  report.probes = probes;
  report.lost = lost;
  for (const auto& [event_class, count] : lost) report.lost_total += count;
  report.epochs = epochs();
  return report;
}

LockReports Analyzer::State::lock_reports(const std::vector<bool>& shown) {
  const bool probed = std::any_of(probes.begin(), probes.end(),
                                  [](const Probe& probe) { return probe.status == "active" && is_lock_probe(probe); });
  LockReportContext context{tasks, stacks, options.filter, shown};
  context.end_ns = end_ns();
  context.realtime_offset_ns = header ? header->realtime_offset_ns : kUnknownTime;
  context.always_list_rtnl = probed || locks.any_facts();
  context.worst_limit = options.top == 0 ? kWorstWaits : options.top;
  return make_lock_reports(locks, context);
}

void Analyzer::State::fill_in_flight(std::vector<TaskReport>& reports, const LockReports& locks_reported) {
  for (const InFlightRecord& record : locks.in_flight()) {
    InFlightReport in_flight;
    if (record.since_ns != kUnknownTime) {
      in_flight.since_ns = record.since_ns;
      if (record.at_end) in_flight.blocked_ns = duration(record.since_ns, end_ns());
    }
    in_flight.state = record.state;
    in_flight.stack = {stacks.frames(stacks.kernel(locks.kernel_stack(record.stack)).list),
                       stacks.frames(stacks.user_list(locks.user_stack(record.stack)))};
    if (record.lock != kNoLock) in_flight.lock = locks.names().lock(record.lock).name;
    const auto known = locks_reported.in_flight_owners.find(&record);
    const TaskNo owner = known != locks_reported.in_flight_owners.end() ? known->second : record.owner;
    if (owner != kNoTask) in_flight.owner = tasks.ref(owner);
    in_flight.started_before_recording = record.started_before_recording;
    in_flight.at_end = record.at_end;
    reports[record.task].in_flight.push_back(std::move(in_flight));
  }
}

void Analyzer::State::report_tasks(Report& report, const std::vector<bool>& shown, const LockReports& locks_reported) {
  const std::vector<SleepTable::Row> rows = sleeps.rows();
  Cooperations::Lists pairs = cooperations.lists(tasks, [&](TaskNo task) { return scheduler.sleep_ns(task); });
  const std::vector<std::uint64_t> issued = cooperations.wakeups_issued(tasks.size());
  SleepTableOptions table_options;
  table_options.remainder_label = remainder_label();
  table_options.arch = report.host.arch;
  table_options.syscall_names = &syscall_names;

  std::vector<TaskReport> reports(tasks.size());
  fill_in_flight(reports, locks_reported);
  SchedulerSum system;
  DurationSum system_remainder;
  std::vector<SleepTable::Row> system_rows;
  std::vector<std::pair<std::uint64_t, TaskReport>> listed;  // with what it suffered or caused
  const SleepTable::Row* row = rows.data();
  const SleepTable::Row* const rows_end = rows.data() + rows.size();
  for (TaskNo no = 0; no < tasks.size(); ++no) {
    const SleepTable::Row* const first = row;
    while (row != rows_end && row->task == no) ++row;
    if (!shown[no]) continue;
    TaskReport& task = reports[no];
    task.woke = std::move(pairs.woke[no]);
    task.woken_by = std::move(pairs.woken_by[no]);
    task.lock_wait_ns = locks_reported.lock_wait_ns[no];
    task.waited_on_ns = locks_reported.waited_on_ns[no];
    const bool active = scheduler.knows(no) || !task.woke.empty() || !task.woken_by.empty() ||
                        !task.in_flight.empty() || task.lock_wait_ns > 0 || task.waited_on_ns > 0;
    if (!active) continue;
    const Task& facts = tasks.task(no);
    task.task = tasks.ref(no);
    task.ppid = facts.ppid;
    task.cmdline = facts.cmdline;
    task.cgroup = facts.cgroup;
    task.scheduler = scheduler.report(no, issued[no], any_wakeups);
    // A task that neither ran nor slept adds nothing; all others have to be known for the sum to be.
    if (task.scheduler.run_ns || task.scheduler.sleeps.value_or(0) > 0) system.add(task.scheduler);
    const DurationSum remainder = sleeps.remainder(no);
    SleepTables tables = make_sleep_tables(first, row, remainder, task.scheduler, stacks, table_options);
    task.sleep_functions = std::move(tables.functions);
    task.sleep_stacks = std::move(tables.stacks);
    system_rows.insert(system_rows.end(), first, row);
    system_remainder.add(remainder);
    std::uint64_t pain_ns = task.lock_wait_ns + task.waited_on_ns;
    for (const InFlightReport& in_flight : task.in_flight) {
      if (in_flight.at_end && !in_flight.lock.empty()) pain_ns += in_flight.blocked_ns.value_or(0);
    }
    listed.emplace_back(pain_ns, std::move(task));
  }
  std::sort(listed.begin(), listed.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first > b.first;
    const auto& [a_run, b_run] = std::pair(a.second.scheduler.run_ns, b.second.scheduler.run_ns);
    if (a_run != b_run) return a_run > b_run;
    if (a.second.scheduler.sleep_ns != b.second.scheduler.sleep_ns) {
      return a.second.scheduler.sleep_ns > b.second.scheduler.sleep_ns;
    }
    return task_order(a.second.task, b.second.task);
  });
  for (auto& entry : listed) report.tasks.push_back(std::move(entry.second));

  report.system.scheduler = system.result();
  table_options.user_frames = false;
  SchedulerReport base;  // no share of the total: with several CPUs there is none
  base.sleep_ns = report.system.scheduler.sleep_ns;
  base.sleeps = report.system.scheduler.sleeps;
  SleepTables tables = make_sleep_tables(system_rows.data(), system_rows.data() + system_rows.size(), system_remainder,
                                         base, stacks, table_options);
  report.system.sleep_functions = std::move(tables.functions);
  report.system.sleep_stacks = std::move(tables.stacks);
}

void Analyzer::State::cut_lists(Report& report) const {
  const std::size_t top = options.top;
  if (top == 0) return;
  for (LockReport& lock : report.locks) {
    cut(lock.waiters, top);
    cut(lock.holders, top);
    cut(lock.worst, top);
    for (LockWaiter& waiter : lock.waiters) cut(waiter.stacks, top);
    for (LockHolder& holder : lock.holders) cut(holder.stacks, top);
  }
  // The RTNL is listed whatever happens: that nobody waited for it is an answer, too.
  std::size_t place = 0;
  std::erase_if(report.locks, [&](const LockReport& lock) { return place++ >= top && lock.name != kRtnlName; });
  cut(report.system.sleep_functions, top);
  cut(report.system.sleep_stacks, top);
  cut(report.tasks, top);
  for (TaskReport& task : report.tasks) {
    cut(task.sleep_functions, top);
    cut(task.sleep_stacks, top);
    cut(task.woke, top);
    // How much of its sleep interrupts ended is asked of every task.
    place = 0;
    std::erase_if(task.woken_by, [&](const Cooperation& row) { return place++ >= top && row.task.tid != -1; });
  }
}

Report Analyzer::finish(const StreamQuality& quality) {
  State& state = *state_;
  Report report;
  if (state.header) report.host = state.header->host;
  if (quality.complete) state.locks.forget_in_flight_at_start();
  state.locks.infer();
  state.name_kworkers(state.sleeps.rows());
  report.recording = state.recording(quality);
  report.filtered = state.options.filter.restricts_tasks();
  report.filtered_locks = !state.options.filter.locks.empty();
  report.filtered_waits = state.options.filter.min_wait_ns > 0;
  std::vector<bool> shown(state.tasks.size());
  for (TaskNo no = 0; no < shown.size(); ++no) shown[no] = state.options.filter.selects_task(state.tasks.task(no));
  LockReports locks = state.lock_reports(shown);
  state.report_tasks(report, shown, locks);
  report.locks = std::move(locks.locks);
  report.nics = std::move(state.nics);
  state.cut_lists(report);
  return report;
}

}  // namespace rtnlprof
