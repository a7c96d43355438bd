// SPDX-License-Identifier: BSD-2-Clause
#include "capture/recorded_tasks.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace rtnlprof {
namespace {

constexpr std::uint32_t kKernelThread = 0x00200000;  // PF_KTHREAD
constexpr std::size_t kMostMaps = 4096;

std::string comm_of(const char (&comm)[RP_COMM_LEN]) { return {comm, strnlen(comm, RP_COMM_LEN)}; }

std::uint64_t difference(std::uint64_t now, std::uint64_t before) { return now > before ? now - before : 0; }

}  // namespace

void RecordedTasks::request(const Entry& entry, bool want_maps) {
  TaskRequest request;
  request.tid = entry.task.tid;
  request.pid = entry.task.pid;
  request.start_ns = entry.start_boottime_ns;
  request.want_maps = want_maps;
  reader_.request(request);
}

void RecordedTasks::add(const rp_task& record) {
  Entry& entry = tasks_[record.header.task_id];
  entry.task.id = record.header.task_id;
  entry.task.tid = static_cast<std::int32_t>(record.tid);
  entry.task.pid = static_cast<std::int32_t>(record.pid);
  entry.task.ppid = static_cast<std::int32_t>(record.ppid);
  entry.task.ns_tid = static_cast<std::int32_t>(record.ns_tid);
  entry.task.comm = comm_of(record.comm);
  entry.task.kernel_thread = (record.flags & kKernelThread) != 0;
  entry.task.start_ns = static_cast<std::int64_t>(record.start_ns);
  entry.start_boottime_ns = static_cast<std::int64_t>(record.start_boottime_ns);
  entry.baseline = record.counters;
  entry.policy = record.policy;
  by_tid_[entry.task.tid] = entry.task.id;
  if (seen_.size() <= entry.task.id) seen_.resize(entry.task.id + 1024);
  seen_[entry.task.id] = true;
  sink_.on_task(entry.task);
  request(entry, false);
}

void RecordedTasks::set_comm(const rp_comm& record) {
  const auto found = tasks_.find(record.header.task_id);
  if (found == tasks_.end()) return;
  Entry& entry = found->second;
  entry.task.comm = comm_of(record.comm);
  if (record.is_exec != 0) {
    entry.task.cmdline.clear();
    entry.maps_wanted = false;
    request(entry, false);
  }
  sink_.on_task(entry.task);
}

std::int32_t RecordedTasks::pid_of(TaskId task) const {
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? 0 : found->second.task.pid;
}

void RecordedTasks::want_maps(TaskId task) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  Entry& entry = found->second;
  if (entry.maps_wanted || entry.task.kernel_thread) return;
  entry.maps_wanted = true;
  request(entry, true);
}

void RecordedTasks::drain_details() {
  for (const TaskDetails& details : reader_.drain()) {
    if (details.maps != nullptr && maps_.size() < kMostMaps) maps_.push_back(details.maps);
    const auto latest = by_tid_.find(details.tid);
    if (latest == by_tid_.end()) continue;
    Entry& entry = tasks_[latest->second];
    // A reused tid: what was read belongs to an earlier or later life.
    constexpr std::int64_t kClockTickNs = 10'000'000;
    if (details.start_ns != kUnknownTime && entry.start_boottime_ns != kUnknownTime &&
        std::abs(details.start_ns - entry.start_boottime_ns) > kClockTickNs) {
      continue;
    }
    entry.task.cmdline = details.cmdline;
    entry.task.cgroup = details.cgroup;
    entry.task.container = details.container;
    if (details.kernel_thread && !details.comm.empty()) entry.task.comm = details.comm;
    sink_.on_task(entry.task);
  }
}

void RecordedTasks::update(const rp_snapshot& snapshot) {
  const auto found = tasks_.find(snapshot.task_id);
  if (found == tasks_.end()) return;
  Entry& entry = found->second;
  entry.vss_pages = snapshot.vss_pages;
  entry.rss_pages = snapshot.rss_pages;
  send_totals(entry, snapshot.counters, snapshot.policy, snapshot.last_cpu, snapshot.node_migrations);
}

void RecordedTasks::exited(const rp_exit& record) {
  const auto found = tasks_.find(record.header.task_id);
  if (found == tasks_.end()) return;
  send_totals(found->second, record.counters, record.policy, record.last_cpu, record.node_migrations);
  if (const auto latest = by_tid_.find(found->second.task.tid);
      latest != by_tid_.end() && latest->second == record.header.task_id) {
    by_tid_.erase(latest);
  }
  tasks_.erase(found);
}

void RecordedTasks::send_totals(Entry& entry, const rp_counters& now, std::uint32_t policy, std::uint32_t last_cpu,
                                std::uint32_t node_migrations) {
  SchedulerTotals totals;
  const rp_counters& before = entry.baseline;
  totals.task = entry.task.id;
  totals.run_ns = difference(now.run_ns, before.run_ns);
  totals.switches = difference(now.nvcsw + now.nivcsw, before.nvcsw + before.nivcsw);
  if (totals.run_ns == entry.run_sent && totals.switches == entry.switches_sent) return;
  entry.run_sent = totals.run_ns;
  entry.switches_sent = totals.switches;
  totals.preemptions = difference(now.nivcsw, before.nivcsw);
  totals.cpu_migrations = difference(now.migrations, before.migrations);
  totals.node_migrations = node_migrations;
  if (now.run_delay_ns != UINT64_MAX) totals.runq_ns = difference(now.run_delay_ns, before.run_delay_ns);
  // utime and stime are samples of the tick; as cputime_adjust() in kernel/sched/cputime.c does, they divide the exact
  // run time. Without a sample nothing is known.
  const std::uint64_t user = difference(now.utime_ns, before.utime_ns);
  const std::uint64_t sys = difference(now.stime_ns, before.stime_ns);
  if (entry.task.kernel_thread || totals.run_ns == 0) {
    totals.sys_ns = totals.run_ns;
    totals.user_ns = 0;
  } else if (user + sys > 0) {
    const double share = static_cast<double>(sys) / static_cast<double>(user + sys);
    totals.sys_ns = std::min(totals.run_ns, static_cast<std::uint64_t>(static_cast<double>(totals.run_ns) * share));
    totals.user_ns = totals.run_ns - totals.sys_ns;
  }
  totals.policy = static_cast<std::int32_t>(policy);
  totals.last_cpu = last_cpu == UINT32_MAX ? -1 : static_cast<std::int32_t>(last_cpu);
  totals.vss_pages = entry.vss_pages;
  totals.rss_pages = entry.rss_pages;
  sink_.on_scheduler(totals);
}

}  // namespace rtnlprof
