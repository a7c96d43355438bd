// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The fields of every record, once for writing and reading: Codec is Encoder or Decoder. To extend a record append
// fields at its end (older readers skip them, newer readers of older files see 0: encode "unknown" as 0); never
// reorder or remove. A new kind of record gets a new Section, which older readers skip.

#include "model/events.h"

namespace rtnlprof::format {

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Header> event) {
  codec.time(event.start_ns);
  codec.optional_time(event.realtime_offset_ns);
  codec.number(event.min_sleep_ns);
  codec.text(event.command);
  codec.text(event.tool_version);
  codec.text(event.clock);
  codec.text(event.host.hostname);
  codec.text(event.host.kernel_release);
  codec.text(event.host.kernel_version);
  codec.text(event.host.arch);
  codec.number(event.host.cpus);
  codec.text(event.host.boot_id);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Footer> event) {
  codec.time(event.end_ns);
  codec.flag(event.has_exit_status);
  codec.number(event.exit_status);
  codec.count(event.bpf_ns);
  codec.count(event.collector_cpu_ns);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Task> event) {
  codec.new_task(event.id);
  codec.number(event.tid);
  codec.number(event.pid);
  codec.number(event.ppid);
  codec.number(event.ns_tid);
  codec.text(event.comm);
  codec.text(event.cmdline);
  codec.text(event.cgroup);
  codec.text(event.container);
  codec.text(event.work);
  codec.flag(event.kernel_thread);
  codec.optional_time(event.start_ns);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Frame> event) {
  codec.new_frame(event.id);
  codec.address(event.address);
  codec.text(event.symbol);
  codec.number(event.offset);
  codec.text(event.module);
  codec.text(event.build_id);
  codec.number(event.file_offset);
  codec.flag(event.user);
  codec.flag(event.unreliable);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Stack> event) {
  codec.new_stack(event.id);
  codec.flag(event.user);
  codec.flag(event.complete);
  codec.frames(event.frames);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Lock> event) {
  codec.address(event.address);
  codec.text(event.name);
  codec.text(event.source);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Waker> waker) {
  codec.task(waker.task);
  codec.choice(waker.context, WakerContext::kUnknown);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Sleep> event) {
  codec.task(event.task);
  codec.time(event.in_ns);
  codec.time_before(event.wake_ns, event.in_ns);
  codec.time_before(event.out_ns, event.wake_ns);
  codec.state(event.state);
  codec.number(event.syscall);
  codec.text(event.syscall_name);
  codec.stack(event.kernel_stack);
  codec.stack(event.user_stack);
  fields(codec, event.waker);
  codec.flag(event.started_before_recording);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Wait> event) {
  codec.task(event.task);
  codec.address(event.lock);
  codec.choice(event.kind, LockKind::kPercpuRwsemWrite);
  codec.time(event.end_ns);
  codec.time_before(event.begin_ns, event.end_ns);
  codec.count(event.spin_ns);
  codec.number(event.result);
  codec.task(event.owner);
  codec.flag(event.owner_is_one_of_many);
  codec.stack(event.kernel_stack);
  codec.stack(event.user_stack);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Hold> event) {
  codec.task(event.task);
  codec.address(event.lock);
  codec.choice(event.kind, LockKind::kPercpuRwsemWrite);
  codec.time(event.released_ns);
  codec.time_before(event.acquired_ns, event.released_ns);
  codec.stack(event.kernel_stack);
  codec.stack(event.user_stack);
  codec.text(event.detail);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Call> event) {
  codec.task(event.task);
  codec.text(event.function);
  codec.text(event.module);
  codec.time(event.end_ns);
  codec.time_before(event.start_ns, event.end_ns);
  codec.stack(event.kernel_stack);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Wakeups> event) {
  codec.task(event.task);
  fields(codec, event.waker);
  codec.number(event.count);
  codec.number(event.sleeps);
  codec.number(event.sleep_ns);
  codec.number(event.max_ns);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<SchedulerTotals> event) {
  codec.task(event.task);
  codec.count(event.run_ns);
  codec.count(event.user_ns);
  codec.count(event.sys_ns);
  codec.count(event.runq_ns);
  codec.count(event.sleep_ns);
  codec.count(event.sleeps);
  codec.count(event.switches);
  codec.count(event.preemptions);
  codec.count(event.wakeups);
  codec.count(event.cpu_migrations);
  codec.count(event.node_migrations);
  codec.number(event.policy);
  codec.number(event.last_cpu);
  codec.count(event.vss_pages);
  codec.count(event.rss_pages);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<InFlight> event) {
  codec.task(event.task);
  codec.optional_time(event.since_ns);
  codec.state(event.state);
  codec.address(event.lock);
  codec.text(event.lock_name);
  codec.choice(event.kind, LockKind::kPercpuRwsemWrite);
  codec.task(event.owner);
  codec.flag(event.owner_is_one_of_many);
  codec.stack(event.kernel_stack);
  codec.stack(event.user_stack);
  codec.flag(event.started_before_recording);
  codec.flag(event.at_end);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Suspend> event) {
  codec.time(event.end_ns);
  codec.time_before(event.begin_ns, event.end_ns);
  codec.number(event.slept_ns);
  codec.text(event.kind);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Probe> event) {
  codec.text(event.name);
  codec.text(event.mechanism);
  codec.text(event.status);
  codec.text(event.reason);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Lost> event) {
  codec.text(event.event_class);
  codec.number(event.count);
}

template <typename Codec>
void fields(Codec& codec, typename Codec::template Ref<Nic> event) {
  codec.text(event.json);
}

}  // namespace rtnlprof::format
