// SPDX-License-Identifier: BSD-2-Clause
#include "base/text.h"

#include <algorithm>

#include "report/render.h"
#include "report/text_format.h"

namespace rtnlprof {
namespace {

// LinuxKI's limits.
constexpr std::size_t kRows = 20;
constexpr std::size_t kTaskRows = 10;
constexpr std::size_t kTasks = 20;

void write_title(const text::Context& context, const Report& report) {
  std::ostream& out = context.out;
  const RecordingReport& recording = report.recording;
  out << context.style.heading("rtnlprof report") << "  ";
  out << (report.host.hostname.empty() ? "unknown host" : text::safe(report.host.hostname));
  if (!report.host.kernel_release.empty()) out << "  Linux " << text::safe(report.host.kernel_release);
  if (!report.host.arch.empty()) out << "  " << text::safe(report.host.arch);
  if (report.host.cpus != 0) out << "  " << report.host.cpus << " CPUs";
  out << "\nrecorded " << (recording.started_at.empty() ? "at an unknown time" : text::safe(recording.started_at))
      << ", for " << text::duration(recording.duration_ns);
  if (!recording.command.empty()) out << ", command: " << text::safe(recording.command);
  if (recording.exit_status) out << " (exit status " << *recording.exit_status << ")";
  out << "\n";
  if (!recording.complete) out << context.style.severe("INCOMPLETE: see RECORDING QUALITY at the end.") << "\n";
  if (recording.lost_total > 0) {
    out << context.style.severe(text::plural(recording.lost_total, "event") + " lost: see RECORDING QUALITY.") << "\n";
  }
  out << "\n";
}

}  // namespace

namespace text {

void write_quality(const Context& context, const Report& report) {
  std::ostream& out = context.out;
  const RecordingReport& recording = report.recording;
  out << "\n    " << context.style.heading("******** RECORDING QUALITY ********") << "\n\n";
  out << "    Complete : " << (recording.complete ? "yes" : context.style.severe("NO")) << "\n";
  for (const std::string& note : recording.notes) out << "      " << safe(note) << "\n";
  out << "    Lost     : " << recording.lost_total;
  for (const auto& [event_class, count] : recording.lost) {
    if (count > 0) out << "  " << safe(event_class) << " " << count;
  }
  out << "\n    Overhead : BPF " << duration(recording.bpf_ns) << ", recorder " << duration(recording.collector_cpu_ns)
      << " of CPU time, " << percent(recording.overhead_share, 0) << (recording.overhead_share ? " of all" : "")
      << "\n";
  out << "    Sleeps   : ";
  if (recording.min_sleep_ns > 0) {
    out << "from " << duration(recording.min_sleep_ns) << " one by one, shorter ones as sums\n";
  } else {
    out << "one by one\n";
  }
  if (recording.probes.empty()) {
    out << "    Probes   : not listed in this recording\n";
    return;
  }
  out << "    Probes   :\n";
  for (const Probe& probe : recording.probes) {
    out << "      " << left(safe(probe.name), 24) << " " << left(safe(probe.status), 8) << " "
        << left(safe(probe.mechanism), 12);
    if (!probe.reason.empty()) out << " " << safe(probe.reason);
    out << "\n";
  }
  for (std::size_t i = 1; i < recording.epochs.size(); ++i) {
    const Epoch& epoch = recording.epochs[i];
    out << "    Suspended: " << duration(epoch.suspended_ns) << " (" << safe(epoch.suspend_kind) << ") before "
        << seconds(static_cast<std::uint64_t>(std::max<std::int64_t>(0, epoch.begin_ns - recording.start_ns)), 0)
        << " s of the recording\n";
  }
}

}  // namespace text

void render_text(const Report& report, const TextOptions& options, std::ostream& out) {
  const auto limit = [&](std::size_t otherwise) { return options.top == 0 ? otherwise : options.top; };
  const text::Context context{out, text::Style(options.color), limit(kRows), limit(kTaskRows), limit(kTasks)};
  write_title(context, report);
  text::write_verdict(context, report);
  text::write_locks(context, report);
  text::write_in_flight(context, report);
  text::write_system(context, report);
  text::write_tasks(context, report);
  text::write_quality(context, report);
}

}  // namespace rtnlprof
