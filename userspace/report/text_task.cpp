// SPDX-License-Identifier: BSD-2-Clause
// LinuxKI's reports of one task, in its words, columns and widths (LinuxKI 7.11, kipid).
#include <algorithm>

#include "report/text_format.h"

namespace rtnlprof::text {
namespace {

constexpr const char* kTaskSeparator =
    "---------------------------------------------------------------------------------------------";

std::string right_text(const std::string& text, std::size_t width) { return right(text.empty() ? "-" : text, width); }

void write_woken(const Context& context, const std::vector<Cooperation>& rows) {
  std::ostream& out = context.out;
  if (rows.empty()) {
    out << "           None\n";
    return;
  }
  out << "           PID    Count   SlpPcnt     Slptime  Command\n";
  std::size_t shown = 0;
  for (const Cooperation& row : rows) {
    // Interrupts are one row, whatever the limit is.
    if (shown >= context.task_rows && row.task.tid != -1) continue;
    ++shown;
    out << "      " << right(row.context == WakerContext::kUnknown ? "-" : std::to_string(row.task.tid), 8) << "   "
        << number(row.count, 6) << "   " << percent(row.share) << "   " << seconds(row.sleep_ns) << "  "
        << (row.task.tid == -1 ? " ICS" : command(row.task)) << "\n";
  }
  write_rest(context, rows.size(), shown, "tasks");
}

// All interrupt contexts together, as LinuxKI prints them, and in its order.
std::vector<Cooperation> with_one_ics_row(const std::vector<Cooperation>& rows, const SchedulerReport& scheduler) {
  std::vector<Cooperation> merged;
  Cooperation ics;
  ics.task.tid = -1;
  ics.context = WakerContext::kHardirq;
  for (const Cooperation& row : rows) {
    if (row.task.tid == -1) {
      ics.count += row.count;
      ics.sleep_ns += row.sleep_ns;
    } else {
      merged.push_back(row);
    }
  }
  if (scheduler.sleep_ns && *scheduler.sleep_ns > 0) {
    ics.share = static_cast<double>(ics.sleep_ns) / static_cast<double>(*scheduler.sleep_ns);
  }
  const auto after = std::find_if(merged.begin(), merged.end(), [&](const Cooperation& row) {
    return row.sleep_ns != ics.sleep_ns ? row.sleep_ns < ics.sleep_ns : row.count <= ics.count;
  });
  merged.insert(after, ics);
  return merged;
}

void write_task_header(const Context& context, const TaskReport& task) {
  std::ostream& out = context.out;
  out << kTaskSeparator << "\n";
  out << "PID: " << task.task.tid << "  " << context.style.name(command(task.task)) << "\n";
  out << "    PPID: " << task.ppid << "   TGID: " << task.task.pid;
  if (task.task.ns_tid != 0) out << "   in its namespace: " << task.task.ns_tid;
  if (!task.cgroup.empty()) out << "   cgroup: " << safe(task.cgroup);
  out << "\n";
  if (!task.cmdline.empty()) out << "    cmdline: " << safe(task.cmdline) << "\n";
  if (task.lock_wait_ns > 0) out << "    waited for locks: " << duration(task.lock_wait_ns) << "\n";
  if (task.waited_on_ns > 0) out << "    others waited for locks it held: " << duration(task.waited_on_ns) << "\n";
}

}  // namespace

void write_scheduler(const Context& context, const SchedulerReport& s) {
  std::ostream& out = context.out;
  out << "\n    " << context.style.heading("********* SCHEDULER ACTIVITY REPORT ********") << "\n";
  out << "    RunTime    : " << seconds(s.run_ns) << "  SysTime   : " << seconds(s.sys_ns)
      << "   UserTime   : " << seconds(s.user_ns) << "\n";
  out << "    SleepTime  : " << seconds(s.sleep_ns) << "  Sleep Cnt : " << number(s.sleeps, 9)
      << "   Wakeup Cnt : " << number(s.wakeups, 9) << "\n";
  out << "    RunQTime   : " << seconds(s.runq_ns) << "  Switch Cnt: " << number(s.switches, 9)
      << "   PreemptCnt : " << number(s.preemptions, 9) << "\n";
  const std::string last_cpu = s.last_cpu ? std::to_string(*s.last_cpu) : "";
  out << "    Last CPU   : " << right_text(last_cpu, 9) << "  CPU Migrs : " << number(s.cpu_migrations, 9)
      << "   NODE Migrs : " << number(s.node_migrations, 9) << "\n";
  out << "    Policy     : " << left(s.policy.empty() ? "-" : s.policy, 16) << " vss : " << number(s.vss_pages, 9)
      << "          rss : " << number(s.rss_pages, 9) << "\n\n";
  out << "    busy    : " << percent(s.share(s.run_ns), 9) << "\n";
  out << "      sys   : " << percent(s.share(s.sys_ns), 9) << "\n";
  out << "      user  : " << percent(s.share(s.user_ns), 9) << "\n";
  out << "    runQ    : " << percent(s.share(s.runq_ns), 9) << "\n";
  out << "    sleep   : " << percent(s.share(s.sleep_ns), 9) << "\n";
}

void write_cooperation(const Context& context, const TaskReport& task) {
  std::ostream& out = context.out;
  out << "\n    " << context.style.heading("******** COOPERATING/COMPETING TASKS REPORT ********") << "\n\n";
  out << "    Tasks woken up by this task (Top " << context.task_rows << ")\n";
  write_woken(context, task.woke);
  out << "    Tasks that have woken up this task(Top " << context.task_rows << ")\n";
  write_woken(context, with_one_ics_row(task.woken_by, task.scheduler));
}

void write_sleeps(const Context& context, const std::vector<SleepFunction>& functions,
                  const std::vector<SleepStack>& stacks, bool system) {
  std::ostream& out = context.out;
  out << "\n    " << context.style.heading("******** SLEEP REPORT ********") << "\n\n";
  out << "    Kernel Functions calling sleep() - Top " << context.rows << " Functions\n";
  out << "       Count     Pct    SlpTime    Slp%" << (system ? "" : " TotalTime%") << "   Msec/Slp   MaxMsecs  Func\n";
  for (std::size_t i = 0; i < functions.size() && i < context.rows; ++i) {
    const SleepFunction& f = functions[i];
    out << "    " << number(f.count, 8) << " " << percent(f.share_of_count) << " " << seconds(f.total_ns, 10, 4) << " "
        << percent(f.share_of_sleep) << " ";
    if (!system) out << percent(f.share_of_total, 9) << " ";
    out << mean_milliseconds(f.total_ns, f.count, 10) << " " << milliseconds(f.max_ns, 10) << "  " << safe(f.function);
    if (!f.module.empty()) out << "  [" << safe(f.module) << "]";
    out << "\n";
  }
  write_rest(context, functions.size(), context.rows, "functions");
  out << "\n    Process Sleep stack traces (sort by % of total wait time) - Top " << context.rows << " stack traces\n";
  out << "       count    wpct      avg   Stack trace\n";
  out << "                  %     msecs\n";
  out << "    ===============================================================\n";
  for (std::size_t i = 0; i < stacks.size() && i < context.rows; ++i) {
    const SleepStack& s = stacks[i];
    out << "    " << number(s.count, 8) << " " << percent(s.share_of_wait, 6, false) << " "
        << mean_milliseconds(s.total_ns, s.count, 9) << " "
        << (s.label.empty() ? frames(s.stack) : "  " + safe(s.label)) << "\n";
  }
  write_rest(context, stacks.size(), context.rows, "stacks");
}

void write_system(const Context& context, const Report& report) {
  const SystemReport& system = report.system;
  if (system.sleep_functions.empty()) return;
  context.out << "\n" << context.style.heading(report.filtered ? "ALL SELECTED TASKS" : "ALL TASKS") << "\n";
  const SchedulerReport& s = system.scheduler;
  context.out << "    RunTime    : " << seconds(s.run_ns) << "  SleepTime : " << seconds(s.sleep_ns)
              << "   RunQTime   : " << seconds(s.runq_ns) << "\n";
  context.out << "    Switch Cnt : " << number(s.switches, 9) << "  Sleep Cnt : " << number(s.sleeps, 9)
              << "   Wakeup Cnt : " << number(s.wakeups, 9) << "\n";
  write_sleeps(context, system.sleep_functions, system.sleep_stacks, true);
}

void write_tasks(const Context& context, const Report& report) {
  if (report.tasks.empty()) return;
  const std::size_t shown = std::min(context.tasks, report.tasks.size());
  context.out << "\n"
              << context.style.heading("TASKS") << " (" << shown << " of " << report.tasks.size()
              << ", those first that waited for locks or held them, then by RunTime)\n\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const TaskReport& task = report.tasks[i];
    write_task_header(context, task);
    write_scheduler(context, task.scheduler);
    write_cooperation(context, task);
    if (!task.sleep_functions.empty()) write_sleeps(context, task.sleep_functions, task.sleep_stacks, false);
    context.out << "\n";
  }
  write_rest(context, report.tasks.size(), shown, "tasks");
}

}  // namespace rtnlprof::text
