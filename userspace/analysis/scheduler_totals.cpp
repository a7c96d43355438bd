// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/scheduler_totals.h"

namespace rtnlprof {
namespace {

std::optional<std::uint64_t> measured(std::uint64_t value) {
  if (value == kUnknownCount) return std::nullopt;
  return value;
}

void add_known(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& part) {
  if (sum && part) {
    *sum += *part;
  } else {
    sum.reset();
  }
}

}  // namespace

const char* policy_name(std::int32_t policy) {
  switch (policy) {  // include/uapi/linux/sched.h
    case 0:
      return "SCHED_NORMAL";
    case 1:
      return "SCHED_FIFO";
    case 2:
      return "SCHED_RR";
    case 3:
      return "SCHED_BATCH";
    case 5:
      return "SCHED_IDLE";
    case 6:
      return "SCHED_DEADLINE";
    case 7:
      return "SCHED_EXT";
    default:
      return "";
  }
}

std::optional<std::uint64_t> SchedulerReport::total_ns() const {
  if (!run_ns || !sleep_ns || !runq_ns) return std::nullopt;
  return *run_ns + *sleep_ns + *runq_ns;
}

std::optional<double> SchedulerReport::share(const std::optional<std::uint64_t>& part_ns) const {
  const std::optional<std::uint64_t> whole = total_ns();
  if (!part_ns || !whole || *whole == 0) return std::nullopt;
  return static_cast<double>(*part_ns) / static_cast<double>(*whole);
}

SchedulerTable::Entry& SchedulerTable::entry(TaskNo task) {
  if (task >= entries_.size()) entries_.resize(std::size_t{task} + 1);
  entries_[task].known = true;
  return entries_[task];
}

void SchedulerTable::set(TaskNo task, const SchedulerTotals& totals) {
  Entry& found = entry(task);
  found.totals = totals;
  found.summed = true;  // its sleeps, of which there may be none, are the sleeps of the stream
}

void SchedulerTable::add_sleeps(TaskNo task, std::uint64_t sleeps, std::uint64_t sleep_ns) {
  Entry& found = entry(task);
  found.summed = true;
  found.sleeps += sleeps;
  found.sleep_ns += sleep_ns;
}

std::optional<std::uint64_t> SchedulerTable::sleep_ns(TaskNo task) const {
  if (!knows(task)) return std::nullopt;
  const Entry& found = entries_[task];
  if (found.totals.sleep_ns != kUnknownCount) return found.totals.sleep_ns;
  if (!found.summed) return std::nullopt;
  return found.sleep_ns;
}

SchedulerReport SchedulerTable::report(TaskNo task, std::uint64_t issued, bool any_wakeups) const {
  SchedulerReport report;
  report.sleep_ns = sleep_ns(task);
  if (any_wakeups) report.wakeups = issued;
  if (!knows(task)) return report;
  const Entry& found = entries_[task];
  const SchedulerTotals& totals = found.totals;
  report.run_ns = measured(totals.run_ns);
  report.user_ns = measured(totals.user_ns);
  report.sys_ns = measured(totals.sys_ns);
  report.runq_ns = measured(totals.runq_ns);
  report.sleeps = measured(totals.sleeps);
  if (!report.sleeps && found.summed) report.sleeps = found.sleeps;
  report.switches = measured(totals.switches);
  report.preemptions = measured(totals.preemptions);
  if (totals.wakeups != kUnknownCount) report.wakeups = totals.wakeups;
  report.cpu_migrations = measured(totals.cpu_migrations);
  report.node_migrations = measured(totals.node_migrations);
  report.policy = policy_name(totals.policy);
  if (totals.last_cpu >= 0) report.last_cpu = totals.last_cpu;
  report.vss_pages = measured(totals.vss_pages);
  report.rss_pages = measured(totals.rss_pages);
  return report;
}

void SchedulerSum::add(const SchedulerReport& part) {
  if (!any_) {
    sum_ = part;
    any_ = true;
    return;
  }
  add_known(sum_.run_ns, part.run_ns);
  add_known(sum_.user_ns, part.user_ns);
  add_known(sum_.sys_ns, part.sys_ns);
  add_known(sum_.runq_ns, part.runq_ns);
  add_known(sum_.sleep_ns, part.sleep_ns);
  add_known(sum_.sleeps, part.sleeps);
  add_known(sum_.switches, part.switches);
  add_known(sum_.preemptions, part.preemptions);
  add_known(sum_.wakeups, part.wakeups);
  add_known(sum_.cpu_migrations, part.cpu_migrations);
  add_known(sum_.node_migrations, part.node_migrations);
}

SchedulerReport SchedulerSum::result() const {
  SchedulerReport result = sum_;
  // These have no sum.
  result.policy.clear();
  result.last_cpu.reset();
  result.vss_pages.reset();
  result.rss_pages.reset();
  return result;
}

}  // namespace rtnlprof
