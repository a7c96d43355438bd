// SPDX-License-Identifier: BSD-2-Clause
// The JSON report. Keys and their order are documented in docs/report.schema.json.
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "report/json_document.h"
#include "report/render.h"

namespace rtnlprof {
namespace {

constexpr const char* kSchemaName = "rtnlprof.report/1";

const char* context_name(WakerContext context) {
  switch (context) {
    case WakerContext::kTask:
      return "task";
    case WakerContext::kHardirq:
      return "hardirq";
    case WakerContext::kSoftirq:
      return "softirq";
    case WakerContext::kNmi:
      return "nmi";
    case WakerContext::kTimer:
      return "timer";
    case WakerContext::kUnknown:
      break;
  }
  return "unknown";
}

const char* activity_name(Activity activity) {
  switch (activity) {
    case Activity::kSleeping:
      return "sleeping";
    case Activity::kRunning:
      return "running";
    case Activity::kRunnable:
      return "runnable";
    case Activity::kWaitingForLock:
      return "waiting_for_lock";
    case Activity::kUnknown:
      break;
  }
  return "unknown";
}

void write_figures(JsonDocument& json, const Distribution& dist) {
  json.member("count", dist.count());
  json.member("total_ns", dist.total_ns());
  json.member("min_ns", dist.min_ns());
  json.member("mean_ns", dist.mean_ns());
  json.member("max_ns", dist.max_ns());
  json.member("p50_ns", dist.percentile_ns(50));
  json.member("p90_ns", dist.percentile_ns(90));
  json.member("p99_ns", dist.percentile_ns(99));
  json.key("histogram");
  std::string bars = "[";
  for (const HistogramBucket& bar : dist.histogram()) {
    if (bars.size() > 1) bars += ", ";
    bars += "{\"le_ns\": " + std::to_string(bar.le_ns) + ", \"count\": " + std::to_string(bar.count) + "}";
  }
  json.raw(bars + "]");
}

// The members of an object about a distribution; the caller may add its own. The distribution stands twice: as `dist`,
// the same object everywhere, and for short paths (waits.p99_ns) beside what the caller adds.
void write_distribution_members(JsonDocument& json, const Distribution& dist) {
  json.key("dist");
  json.begin_object();
  write_figures(json, dist);
  json.end_object();
  write_figures(json, dist);
}

void write_distribution(JsonDocument& json, std::string_view name, const Distribution& dist) {
  json.key(name);
  json.begin_object();
  write_distribution_members(json, dist);
  json.end_object();
}

void write_distribution(JsonDocument& json, std::string_view name, const std::optional<Distribution>& dist) {
  if (dist) {
    write_distribution(json, name, *dist);
  } else {
    json.key(name);
    json.null();
  }
}

void write_task_members(JsonDocument& json, const TaskRef& task) {
  json.member("tid", task.tid);
  json.member("pid", task.pid);
  json.member("comm", task.comm);
  if (task.ns_tid != 0) json.member("ns_tid", task.ns_tid);
  if (!task.work.empty()) json.member("work", task.work);
}

void write_task(JsonDocument& json, std::string_view name, const TaskRef& task) {
  json.key(name);
  json.begin_object();
  write_task_members(json, task);
  json.end_object();
}

void write_task(JsonDocument& json, std::string_view name, const std::optional<TaskRef>& task) {
  if (task) {
    write_task(json, name, *task);
  } else {
    json.key(name);
    json.null();
  }
}

std::vector<std::string> names(const FrameListPtr& list) {
  std::vector<std::string> names;
  if (list) {
    for (const auto& frame : list->frames) names.push_back(frame->name);
  }
  return names;
}

void write_stack_members(JsonDocument& json, const CallStack& stack) {
  json.strings("kernel", names(stack.kernel));
  json.strings("user", names(stack.user));
  if (stack.user && stack.user->reliable < stack.user->frames.size()) {
    json.member("user_reliable_frames", static_cast<std::uint64_t>(stack.user->reliable));
  }
  std::vector<std::string> modules;
  bool any = false;
  if (stack.kernel) {
    for (const auto& frame : stack.kernel->frames) {
      modules.push_back(frame->module);
      any = any || !frame->module.empty();
    }
  }
  if (any) json.strings("kernel_modules", modules);
}

void write_counted_stacks(JsonDocument& json, const std::vector<CountedStack>& stacks) {
  json.key("stacks");
  json.begin_array();
  for (const CountedStack& stack : stacks) {
    json.begin_object();
    json.member("count", stack.count);
    json.member("total_ns", stack.total_ns);
    write_stack_members(json, stack.stack);
    json.end_object();
  }
  json.end_array();
}

void write_header(JsonDocument& json, const Report& report) {
  json.member("schema", kSchemaName);
  json.key("tool");
  json.begin_object();
  json.member("name", "rtnlprof");
  json.member("version", RTNLPROF_VERSION);
  json.end_object();
  json.key("host");
  json.begin_object();
  json.member_or_null("hostname", report.host.hostname);
  json.member_or_null("kernel_release", report.host.kernel_release);
  json.member_or_null("kernel_version", report.host.kernel_version);
  json.member_or_null("arch", report.host.arch);
  json.member("cpus", report.host.cpus == 0 ? std::optional<std::uint32_t>() : report.host.cpus);
  json.member_or_null("boot_id", report.host.boot_id);
  json.end_object();
}

void write_recording_quality(JsonDocument& json, const RecordingReport& recording) {
  json.key("probes");
  json.begin_array();
  for (const Probe& probe : recording.probes) {
    json.begin_object();
    json.member("name", probe.name);
    json.member_or_null("mechanism", probe.mechanism);
    json.member("status", probe.status);
    json.member_or_null("reason", probe.reason);
    json.end_object();
  }
  json.end_array();
  json.key("lost");
  json.begin_object();
  json.member("total", recording.lost_total);
  json.key("by_class");
  json.begin_object();
  for (const auto& [event_class, count] : recording.lost) json.member(event_class, count);
  json.end_object();
  json.end_object();
  json.key("overhead");
  json.begin_object();
  json.member("bpf_ns", recording.bpf_ns);
  json.member("collector_cpu_ns", recording.collector_cpu_ns);
  json.member("share", recording.overhead_share);
  json.end_object();
  json.key("epochs");
  json.begin_array();
  for (const Epoch& epoch : recording.epochs) {
    json.begin_object();
    json.member("begin_ns", epoch.begin_ns);
    json.member("end_ns", epoch.end_ns);
    json.member("suspended_before_ns", epoch.suspended_ns);
    json.member_or_null("suspend_kind", epoch.suspend_kind);
    json.end_object();
  }
  json.end_array();
}

void write_recording(JsonDocument& json, const RecordingReport& recording) {
  json.key("recording");
  json.begin_object();
  json.member_or_null("started_at", recording.started_at);
  json.member("start_ns", recording.start_ns);
  json.member("duration_ns", recording.duration_ns);
  json.member_or_null("command", recording.command);
  json.member("exit_status", recording.exit_status);
  json.member("complete", recording.complete);
  json.strings("notes", recording.notes);
  json.member_or_null("clock", recording.clock);
  json.member_or_null("recorded_by", recording.recorded_by);
  json.member("min_sleep_ns", recording.min_sleep_ns);
  write_recording_quality(json, recording);
  json.end_object();
}

void write_findings(JsonDocument& json, const std::vector<Finding>& findings) {
  json.key("findings");
  json.begin_array();
  for (const Finding& finding : findings) {
    json.begin_object();
    json.member("id", finding.id);
    json.member("severity", finding.severity);
    json.member("title", finding.title);
    json.member("summary", finding.summary);
    json.strings("evidence", finding.evidence);
    json.strings("advice", finding.advice);
    json.strings("references", finding.references);
    json.end_object();
  }
  json.end_array();
}

void write_owners(JsonDocument& json, const std::vector<OwnerShare>& owners) {
  json.key("owners");
  json.begin_array();
  for (const OwnerShare& owner : owners) {
    json.begin_object();
    if (owner.task) {
      write_task_members(json, *owner.task);
    } else {
      for (const char* key : {"tid", "pid", "comm"}) {
        json.key(key);
        json.null();
      }
    }
    json.member("count", owner.count);
    json.member("waited_ns", owner.waited_ns);
    if (!owner.task) json.member("reason", owner.reason);
    json.end_object();
  }
  json.end_array();
}

void write_waiters(JsonDocument& json, const std::vector<LockWaiter>& waiters) {
  json.key("waiters");
  json.begin_array();
  for (const LockWaiter& waiter : waiters) {
    json.begin_object();
    write_task_members(json, waiter.task);
    json.key("waits");
    json.begin_object();
    write_distribution_members(json, waiter.waits);
    json.member("failed", waiter.failed);
    json.end_object();
    write_owners(json, waiter.owners);
    write_counted_stacks(json, waiter.stacks);
    json.end_object();
  }
  json.end_array();
}

void write_holders(JsonDocument& json, const std::vector<LockHolder>& holders) {
  json.key("holders");
  json.begin_array();
  for (const LockHolder& holder : holders) {
    json.begin_object();
    write_task_members(json, holder.task);
    write_distribution(json, "holds", holder.holds);
    json.member("waited_on_ns", holder.waited_on_ns);
    json.member("waits", holder.waits);
    write_counted_stacks(json, holder.stacks);
    json.end_object();
  }
  json.end_array();
}

void write_blame(JsonDocument& json, const std::vector<BlameShare>& blame) {
  json.key("blame");
  json.begin_array();
  for (const BlameShare& share : blame) {
    json.begin_object();
    write_task(json, "holder", share.holder);
    json.member("activity", activity_name(share.activity));
    json.member_or_null("what", share.what);
    json.member("waited_ns", share.waited_ns);
    json.member("share", share.share);
    json.strings("stack", names(share.stack));
    json.end_object();
  }
  json.end_array();
}

void write_worst(JsonDocument& json, const std::vector<WorstWait>& worst) {
  json.key("worst");
  json.begin_array();
  for (const WorstWait& wait : worst) {
    json.begin_object();
    json.member_or_null("at", wait.at);
    json.member("begin_ns", wait.begin_ns);
    json.member("waited_ns", wait.waited_ns);
    json.member("failed", wait.failed);
    write_task(json, "waiter", wait.waiter);
    write_task(json, "holder", wait.holder);
    json.member("holder_ns", wait.holder_ns);
    json.member("activity", activity_name(wait.activity));
    json.member_or_null("what", wait.what);
    json.strings("stack", names(wait.stack.kernel));
    json.strings("user", names(wait.stack.user));
    json.end_object();
  }
  json.end_array();
}

void write_in_flight_waits(JsonDocument& json, const std::vector<InFlightWait>& waits) {
  json.key("in_flight");
  json.begin_array();
  for (const InFlightWait& wait : waits) {
    json.begin_object();
    write_task_members(json, wait.waiter);
    json.member("waited_ns", wait.waited_ns);
    json.member("started_before_recording", wait.started_before_recording);
    write_task(json, "owner", wait.owner);
    json.strings("stack", names(wait.stack));
    json.end_object();
  }
  json.end_array();
}

void write_counts(JsonDocument& json, std::string_view name, const std::map<std::string, std::uint64_t>& counts) {
  json.key(name);
  json.begin_object();
  for (const auto& [key, count] : counts) json.member(key, count);
  json.end_object();
}

void write_lock(JsonDocument& json, const LockReport& lock) {
  json.begin_object();
  json.member("name", lock.name);
  write_counts(json, "kinds", lock.kinds);
  json.member("instances", lock.instances);
  if (lock.address) {
    std::array<char, 24> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%llx", static_cast<unsigned long long>(*lock.address));
    json.member("address", std::string_view(hex.data()));
  }
  json.member_or_null("site", lock.site);
  json.member_or_null("name_source", lock.name_source);
  json.key("waits");
  json.begin_object();
  write_distribution_members(json, lock.waits);
  json.member("spin_ns", lock.spin_ns);
  json.member("failed", lock.failed);
  // Where most of them come from; the split is beside it.
  const auto inferred = lock.wait_sources.find("stack");
  json.member("source", inferred != lock.wait_sources.end() && lock.wait_sources.size() == 1 ? "stack" : "contention");
  write_counts(json, "sources", lock.wait_sources);
  json.end_object();
  json.key("holds");
  if (lock.holds) {
    json.begin_object();
    write_distribution_members(json, *lock.holds);
    json.member("source", lock.hold_source);
    json.end_object();
  } else {
    json.null();
  }
  write_waiters(json, lock.waiters);
  write_holders(json, lock.holders);
  json.member("unknown_owner_ns", lock.unknown_owner_ns);
  write_blame(json, lock.blame);
  write_worst(json, lock.worst);
  write_in_flight_waits(json, lock.in_flight);
  json.end_object();
}

void write_scheduler(JsonDocument& json, const SchedulerReport& scheduler, bool of_task) {
  json.key("scheduler");
  json.begin_object();
  json.member("run_ns", scheduler.run_ns);
  json.member("user_ns", scheduler.user_ns);
  json.member("sys_ns", scheduler.sys_ns);
  json.member("runq_ns", scheduler.runq_ns);
  json.member("sleep_ns", scheduler.sleep_ns);
  json.member("sleeps", scheduler.sleeps);
  json.member("switches", scheduler.switches);
  json.member("preemptions", scheduler.preemptions);
  json.member("wakeups", scheduler.wakeups);
  json.member("cpu_migrations", scheduler.cpu_migrations);
  json.member("node_migrations", scheduler.node_migrations);
  if (of_task) {
    json.member_or_null("policy", scheduler.policy);
    json.member("last_cpu", scheduler.last_cpu);
    json.member("vss", scheduler.vss_pages);
    json.member("rss", scheduler.rss_pages);
    json.member("run_share", scheduler.share(scheduler.run_ns));
    json.member("runq_share", scheduler.share(scheduler.runq_ns));
    json.member("sleep_share", scheduler.share(scheduler.sleep_ns));
  }
  json.end_object();
}

std::uint64_t mean(std::uint64_t total_ns, std::uint64_t count) {
  return count == 0 ? 0 : (total_ns + count / 2) / count;
}

void write_sleeps(JsonDocument& json, const std::vector<SleepFunction>& functions,
                  const std::vector<SleepStack>& stacks) {
  json.key("sleep_functions");
  json.begin_array();
  for (const SleepFunction& function : functions) {
    json.begin_object();
    json.member("function", function.function);
    json.member_or_null("module", function.module);
    json.member("remainder", function.remainder);
    json.member("count", function.count);
    json.member("share_of_count", function.share_of_count);
    json.member("total_ns", function.total_ns);
    json.member("share_of_sleep", function.share_of_sleep);
    json.member("share_of_total", function.share_of_total);
    json.member("mean_ns", mean(function.total_ns, function.count));
    json.member("max_ns", function.max_ns);
    json.end_object();
  }
  json.end_array();
  json.key("sleep_stacks");
  json.begin_array();
  for (const SleepStack& stack : stacks) {
    json.begin_object();
    json.member("count", stack.count);
    json.member("total_ns", stack.total_ns);
    json.member("share_of_wait", stack.share_of_wait);
    json.member("mean_ns", mean(stack.total_ns, stack.count));
    json.member("max_ns", stack.max_ns);
    if (!stack.label.empty()) json.member("label", stack.label);
    write_stack_members(json, stack.stack);
    json.member_or_null("syscall", stack.syscall);
    json.member("state", std::string_view(&stack.state, 1));
    json.end_object();
  }
  json.end_array();
}

void write_cooperation(JsonDocument& json, std::string_view name, const std::vector<Cooperation>& rows, bool context) {
  json.key(name);
  json.begin_array();
  for (const Cooperation& row : rows) {
    json.begin_object();
    write_task_members(json, row.task);
    if (context) json.member("context", context_name(row.context));
    json.member("count", row.count);
    json.member("sleep_ns", row.sleep_ns);
    json.member("share", row.share);
    json.end_object();
  }
  json.end_array();
}

void write_in_flight(JsonDocument& json, const std::vector<InFlightReport>& list) {
  json.key("in_flight");
  json.begin_array();
  for (const InFlightReport& in_flight : list) {
    json.begin_object();
    json.member("since_ns", in_flight.since_ns);
    json.member("blocked_ns", in_flight.blocked_ns);
    json.member("state", std::string_view(&in_flight.state, 1));
    write_stack_members(json, in_flight.stack);
    json.member_or_null("lock", in_flight.lock);
    write_task(json, "owner", in_flight.owner);
    json.member("started_before_recording", in_flight.started_before_recording);
    json.member("at_end", in_flight.at_end);
    json.end_object();
  }
  json.end_array();
}

void write_task_report(JsonDocument& json, const TaskReport& task) {
  json.begin_object();
  write_task_members(json, task.task);
  json.member("ppid", task.ppid);
  json.member_or_null("cmdline", task.cmdline);
  json.member_or_null("cgroup", task.cgroup);
  json.member_or_null("container", task.task.container);
  json.member("kernel_thread", task.task.kernel_thread);
  json.member("lock_wait_ns", task.lock_wait_ns);
  json.member("waited_on_ns", task.waited_on_ns);
  write_scheduler(json, task.scheduler, true);
  write_sleeps(json, task.sleep_functions, task.sleep_stacks);
  write_cooperation(json, "woke", task.woke, false);
  write_cooperation(json, "woken_by", task.woken_by, true);
  write_in_flight(json, task.in_flight);
  json.end_object();
}

// Facts about NICs come from the recording as JSON text: what is no object, or damaged, is left out.
void write_nics(JsonDocument& json, const std::vector<std::string>& nics) {
  json.key("nics");
  json.begin_array();
  for (const std::string& text : nics) {
    const nlohmann::json nic = nlohmann::json::parse(text, nullptr, false);
    if (nic.is_object()) json.raw(nic.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  json.end_array();
}

void write_empty_array(JsonDocument& json, std::string_view name) {
  json.key(name);
  json.begin_array();
  json.end_array();
}

}  // namespace

void render_json(const Report& report, std::ostream& out) {
  JsonDocument json(out);
  json.begin_object();
  write_header(json, report);
  write_recording(json, report.recording);
  write_findings(json, report.findings);
  json.key("locks");
  json.begin_array();
  for (const LockReport& lock : report.locks) write_lock(json, lock);
  json.end_array();
  write_empty_array(json, "chains");
  json.key("system");
  json.begin_object();
  write_scheduler(json, report.system.scheduler, false);
  write_sleeps(json, report.system.sleep_functions, report.system.sleep_stacks);
  json.end_object();
  json.key("tasks");
  json.begin_array();
  for (const TaskReport& task : report.tasks) write_task_report(json, task);
  json.end_array();
  write_empty_array(json, "functions");
  write_empty_array(json, "network");
  write_nics(json, report.nics);
  json.end_object();
}

}  // namespace rtnlprof
