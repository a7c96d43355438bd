// SPDX-License-Identifier: BSD-2-Clause
// What LinuxKI does not have: locks, who waited for them, and who held them.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "base/text.h"
#include "report/text_format.h"

namespace rtnlprof::text {
namespace {

constexpr std::size_t kBarWidth = 40;
constexpr std::size_t kStacksPerTask = 3;

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-" : percent(static_cast<double>(part) / static_cast<double>(whole), 0);
}

std::string lock_title(const LockReport& lock) {
  std::string title = safe(lock.name);
  std::string details;
  for (const auto& [kind, count] : lock.kinds) details += (details.empty() ? "" : ", ") + safe(kind);
  if (lock.address) {
    std::array<char, 24> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%llx", static_cast<unsigned long long>(*lock.address));
    details += (details.empty() ? "" : ", ") + std::string(hex.data());
  } else if (lock.instances > 1) {
    details += (details.empty() ? "" : ", ") + plural(lock.instances, "instance");
  }
  return details.empty() ? title : title + "  (" + details + ")";
}

void write_histogram(const Context& context, const Distribution& dist) {
  const std::vector<HistogramBucket> bars = dist.histogram();
  std::uint64_t most = 0;
  for (const HistogramBucket& bar : bars) most = std::max(most, bar.count);
  for (const HistogramBucket& bar : bars) {
    const auto length =
        static_cast<std::size_t>(static_cast<double>(bar.count) / static_cast<double>(most) * kBarWidth);
    context.out << "      <= " << duration(bar.le_ns, 7) << " " << number(bar.count, 9) << " |"
                << std::string(bar.count > 0 ? std::max<std::size_t>(length, 1) : 0, '#') << "\n";
  }
}

void write_figures(const Context& context, const Distribution& dist) {
  context.out << number(dist.count(), 8) << " " << duration(dist.total_ns(), 9) << " " << duration(dist.mean_ns(), 9)
              << " " << duration(dist.percentile_ns(50), 9) << " " << duration(dist.percentile_ns(99), 9) << " "
              << duration(dist.empty() ? std::nullopt : std::optional(dist.max_ns()), 9);
}

void write_counted_stacks(const Context& context, const std::vector<CountedStack>& stacks, bool times) {
  const std::size_t shown = std::min(stacks.size(), kStacksPerTask);
  for (std::size_t i = 0; i < shown; ++i) {
    context.out << "        " << number(stacks[i].count, 6) << "x ";
    if (times) context.out << duration(stacks[i].total_ns, 8);
    context.out << frames(stacks[i].stack) << "\n";
  }
  if (stacks.size() > shown)
    context.out << "        ... and " << stacks.size() - shown << " more call path"
                << (stacks.size() - shown == 1 ? "" : "s") << "\n";
}

void write_waiters(const Context& context, const LockReport& lock) {
  std::ostream& out = context.out;
  const std::size_t shown = std::min(lock.waiters.size(), context.task_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const LockWaiter& waiter = lock.waiters[i];
    out << "      " << context.style.name(task_name(waiter.task)) << " waited " << plural(waiter.waits.count(), "time")
        << ", " << duration(waiter.waits.total_ns()) << " in all, " << duration(waiter.waits.max_ns()) << " at most";
    if (waiter.failed > 0) out << "; gave up " << plural(waiter.failed, "time");
    out << "\n";
    // The unknown part is always told, whatever its rank.
    std::size_t row = 0;
    std::size_t left_out = 0;
    std::uint64_t left_out_ns = 0;
    for (const OwnerShare& owner : waiter.owners) {
      if (row++ >= context.owner_rows() && owner.task) {
        ++left_out;
        left_out_ns += owner.waited_ns;
        continue;
      }
      out << "        " << right(share_text(owner.waited_ns, waiter.waits.total_ns()), 7) << " "
          << duration(owner.waited_ns, 8) << "  ";
      if (owner.task) {
        out << "held by " << task_name(*owner.task) << ", in " << plural(owner.count, "wait") << "\n";
      } else {
        out << "holder unknown: " << owner.reason << "\n";
      }
    }
    if (left_out > 0) {
      out << "        " << right(share_text(left_out_ns, waiter.waits.total_ns()), 7) << " " << duration(left_out_ns, 8)
          << "  held by " << left_out << " more\n";
    }
    write_counted_stacks(context, waiter.stacks, true);
  }
  write_rest(context, lock.waiters.size(), shown, "waiters");
}

void write_in_flight_waits(const Context& context, const LockReport& lock) {
  for (const InFlightWait& wait : lock.in_flight) {
    context.out << "      " << context.style.severe(task_name(wait.waiter)) << " was still waiting at the end";
    if (wait.waited_ns) context.out << ", for " << duration(*wait.waited_ns);
    if (wait.started_before_recording) context.out << ", from before the recording";
    context.out << "; held by " << (wait.owner ? task_name(*wait.owner) : "unknown") << "\n";
    if (wait.stack && !wait.stack->frames.empty()) context.out << "        " << frames(wait.stack) << "\n";
  }
}

void write_contention(const Context& context, const Report& report) {
  std::ostream& out = context.out;
  out << "\n    " << context.style.heading("******** LOCK CONTENTION REPORT ********") << "\n\n";
  out << "       Waits     Total       Avg       p50       p99       Max  Lock\n";
  const std::size_t shown = std::min(report.locks.size(), context.rows);
  for (std::size_t i = 0; i < shown; ++i) {
    out << "    ";
    write_figures(context, report.locks[i].waits);
    out << "  " << context.style.name(lock_title(report.locks[i])) << "\n";
  }
  write_rest(context, report.locks.size(), shown, "locks");
  for (std::size_t i = 0; i < shown; ++i) {
    const LockReport& lock = report.locks[i];
    if (lock.waits.empty() && lock.in_flight.empty()) continue;
    out << "\n    " << context.style.name(safe(lock.name)) << ": " << plural(lock.waits.count(), "wait");
    if (lock.failed > 0) out << ", " << lock.failed << " given up";
    if (lock.spin_ns) out << ", " << duration(*lock.spin_ns) << " of them spinning";
    const auto inferred = lock.wait_sources.find("stack");
    if (inferred != lock.wait_sources.end())
      out << ", " << inferred->second << " inferred from sleeps in its slow path";
    if (!lock.name_source.empty()) out << "; named by " << safe(lock.name_source);
    out << "\n";
    write_in_flight_waits(context, lock);
    write_histogram(context, lock.waits);
    write_waiters(context, lock);
  }
}

void write_holders(const Context& context, const Report& report) {
  std::ostream& out = context.out;
  out << "\n    " << context.style.heading("******** LOCK HOLDERS ********") << "\n";
  bool any = false;
  for (const LockReport& lock : report.locks) {
    if (lock.holders.empty()) continue;
    any = true;
    out << "\n    " << context.style.name(safe(lock.name));
    if (lock.holds) {
      out << ": held " << plural(lock.holds->count(), "time") << ", " << duration(lock.holds->total_ns()) << " in all, "
          << duration(lock.holds->max_ns()) << " at most"
          << (lock.hold_source == "probes" ? "" : " (only holds between contended hand-overs are known)");
    } else {
      out << ": hold times were not measured";
    }
    out << "\n       WaitedOn    Share     Holds      Held       Max       PID  Command\n";
    const std::size_t shown = std::min(lock.holders.size(), context.task_rows);
    for (std::size_t i = 0; i < shown; ++i) {
      const LockHolder& holder = lock.holders[i];
      const auto held = [&](std::uint64_t value) { return holder.holds ? std::optional(value) : std::nullopt; };
      out << "      " << duration(holder.waited_on_ns, 9) << " "
          << right(share_text(holder.waited_on_ns, lock.waits.total_ns()), 8) << " "
          << number(held(holder.holds ? holder.holds->count() : 0), 9) << " "
          << duration(held(holder.holds ? holder.holds->total_ns() : 0), 9) << " "
          << duration(held(holder.holds ? holder.holds->max_ns() : 0), 9) << " "
          << right(std::to_string(holder.task.tid), 9) << "  " << command(holder.task) << "\n";
      write_counted_stacks(context, holder.stacks, true);
    }
    write_rest(context, lock.holders.size(), shown, "holders");
    if (lock.unknown_owner_ns > 0) {
      out << "      " << duration(lock.unknown_owner_ns, 9) << " "
          << right(share_text(lock.unknown_owner_ns, lock.waits.total_ns()), 8) << "  of the waiting: holder unknown\n";
    }
  }
  if (!any) out << "\n    No holder of a contended lock was seen.\n";
}

void write_worst(const Context& context, const Report& report) {
  std::ostream& out = context.out;
  const bool any =
      std::any_of(report.locks.begin(), report.locks.end(), [](const auto& l) { return !l.worst.empty(); });
  if (!any) return;
  out << "\n    " << context.style.heading("******** WORST WAITS ********") << "\n\n";
  struct Row {
    const LockReport* lock;
    const WorstWait* wait;
  };
  std::vector<Row> rows;
  for (const LockReport& lock : report.locks) {
    for (const WorstWait& wait : lock.worst) rows.push_back({&lock, &wait});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.wait->waited_ns > b.wait->waited_ns; });
  if (rows.size() > context.task_rows) rows.resize(context.task_rows);
  out << "      Waited  When                         Lock, waiter, holder\n";
  for (const Row& row : rows) {
    const WorstWait& wait = *row.wait;
    std::string when = wait.at;
    if (when.empty())
      when =
          "+" +
          seconds(static_cast<std::uint64_t>(std::max<std::int64_t>(0, wait.begin_ns - report.recording.start_ns)), 0) +
          " s";
    out << "    " << duration(wait.waited_ns, 8) << "  " << left(when, 27) << "  " << safe(row.lock->name) << ": "
        << task_name(wait.waiter) << (wait.failed ? " gave up" : "") << "; held by ";
    if (wait.holder) {
      out << task_name(*wait.holder);
      if (wait.holder_ns < wait.waited_ns) out << " for " << duration(wait.holder_ns);
    } else {
      out << "unknown";
    }
    out << "\n";
    if (const std::string stack = frames(wait.stack); !stack.empty()) out << "            " << stack << "\n";
  }
}

// One sentence a lock: how much was waited, and for whom.
void write_lock_verdict(const Context& context, const LockReport& lock, bool filtered) {
  std::ostream& out = context.out;
  out << "    " << context.style.name(safe(lock.name)) << ": ";
  if (lock.waits.empty() && lock.in_flight.empty()) {
    out << (filtered ? "no wait is selected.\n" : "nobody waited for it.\n");
    return;
  }
  if (!lock.waits.empty()) {
    out << plural(lock.waits.count(), "wait") << " of " << plural(lock.waiters.size(), "task") << ", "
        << duration(lock.waits.total_ns()) << " in all, p99 " << duration(lock.waits.percentile_ns(99)) << ", max "
        << duration(lock.waits.max_ns()) << ".";
    if (!lock.holders.empty() && lock.holders.front().waited_on_ns > 0) {
      const LockHolder& holder = lock.holders.front();
      out << " " << share_text(holder.waited_on_ns, lock.waits.total_ns()) << " of it while "
          << context.style.severe(task_name(holder.task)) << " held it.";
    } else {
      out << " The holder is not known.";
    }
  }
  if (!lock.in_flight.empty()) {
    // The longest of them first in mind: on a lock that is stuck there may be no finished wait at all.
    const auto longest = std::max_element(
        lock.in_flight.begin(), lock.in_flight.end(),
        [](const auto& a, const auto& b) { return a.waited_ns.value_or(0) < b.waited_ns.value_or(0); });
    std::string still = plural(lock.in_flight.size(), "task") + " still waiting at the end";
    if (longest->waited_ns) still += ", " + task_name(longest->waiter) + " for " + duration(*longest->waited_ns);
    still += longest->owner ? ", held by " + task_name(*longest->owner) + "." : ", holder unknown.";
    out << (lock.waits.empty() ? "" : " ") << context.style.severe(still);
  }
  out << "\n";
}

}  // namespace

void write_verdict(const Context& context, const Report& report) {
  std::ostream& out = context.out;
  out << context.style.heading("FINDINGS") << "\n";
  for (const Finding& finding : report.findings) {
    const std::string severity = "[" + finding.severity + "] ";
    out << "  " << (finding.severity == "info" ? severity : context.style.severe(severity)) << safe(finding.title)
        << " (" << safe(finding.id) << ")\n    " << safe(finding.summary) << "\n";
    for (const std::string& line : finding.evidence) out << "    evidence: " << safe(line) << "\n";
    for (const std::string& line : finding.advice) out << "    advice:   " << safe(line) << "\n";
    for (const std::string& line : finding.references) out << "    see:      " << safe(line) << "\n";
  }
  if (report.findings.empty())
    out << "    Not evaluated: this version has no rules of known issues yet. What the locks say follows.\n";
  out << "\n" << context.style.heading("LOCKS") << "\n";
  const std::size_t shown = std::min(report.locks.size(), context.task_rows);
  for (std::size_t i = 0; i < shown; ++i)
    write_lock_verdict(context, report.locks[i], report.filtered || report.filtered_waits);
  write_rest(context, report.locks.size(), shown, "locks");
  if (report.locks.empty())
    out << (report.filtered_locks
                ? "    No lock of that name was waited for.\n"
                : "    Lock waits were not recorded (see RECORDING QUALITY), and no sleep shows one.\n");
}

void write_locks(const Context& context, const Report& report) {
  if (report.locks.empty()) return;
  write_contention(context, report);
  write_holders(context, report);
  write_worst(context, report);
}

void write_in_flight(const Context& context, const Report& report) {
  std::ostream& out = context.out;
  struct Row {
    const TaskReport* task;
    const InFlightReport* in_flight;
  };
  std::vector<Row> rows;
  for (const TaskReport& task : report.tasks) {
    for (const InFlightReport& in_flight : task.in_flight) {
      // Interruptible sleep at the end is what idle tasks do; the interesting ones are blocked.
      const bool blocked = in_flight.state != 'S' && in_flight.state != 'I';
      if (in_flight.at_end && (blocked || !in_flight.lock.empty())) rows.push_back({&task, &in_flight});
    }
  }
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.in_flight->blocked_ns.value_or(UINT64_MAX) > b.in_flight->blocked_ns.value_or(UINT64_MAX);
  });
  out << "\n    " << context.style.heading("******** IN-FLIGHT: BLOCKED WHEN THE RECORDING ENDED ********") << "\n\n";
  out << "       PID S    Blocked  Command\n";
  for (std::size_t i = 0; i < rows.size() && i < context.rows; ++i) {
    const InFlightReport& in_flight = *rows[i].in_flight;
    out << "  " << right(std::to_string(rows[i].task->task.tid), 8) << " "
        << safe(std::string_view(&in_flight.state, 1)) << " " << duration(in_flight.blocked_ns, 10) << "  "
        << command(rows[i].task->task);
    if (in_flight.started_before_recording) out << ", since before the recording";
    if (!in_flight.lock.empty()) out << ", waits for " << safe(in_flight.lock);
    if (in_flight.owner) out << " held by " << task_name(*in_flight.owner);
    out << "\n";
    if (const std::string stack = frames(in_flight.stack); !stack.empty()) out << "          " << stack << "\n";
  }
  write_rest(context, rows.size(), context.rows, "tasks");
}

}  // namespace rtnlprof::text
