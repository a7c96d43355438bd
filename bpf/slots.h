/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/* Finding, claiming and freeing a task's slot. A lookup is two inlined array accesses; nothing is allocated.
 */

#include "emit.h"

static __always_inline struct rp_slot *slot_at(u32 index)
{
	u32 key = index & slot_mask;

	return bpf_map_lookup_elem(&task_slots, &key);
}

static __always_inline struct rp_slot *slot_find(u32 tid)
{
	struct rp_slot *slot;

	for (u32 i = 0; i < RP_SLOT_PROBES; i++) {
		slot = slot_at(tid + i);
		if (slot && slot->tid == tid)
			return slot;
	}
	return NULL;
}

static __always_inline void read_counters(struct task_struct *task, struct rp_counters *counters)
{
	counters->run_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	counters->run_delay_ns = ~0ULL;
	if (bpf_core_field_exists(struct task_struct___sched_info, sched_info.run_delay))
		counters->run_delay_ns =
			BPF_CORE_READ((struct task_struct___sched_info *)task, sched_info.run_delay);
	counters->utime_ns = BPF_CORE_READ(task, utime);
	counters->stime_ns = BPF_CORE_READ(task, stime);
	counters->nvcsw = BPF_CORE_READ(task, nvcsw);
	counters->nivcsw = BPF_CORE_READ(task, nivcsw);
	counters->migrations = BPF_CORE_READ(task, se.nr_migrations);
}

static __always_inline u32 namespace_tid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);
	struct upid upid = {};

	if (!pid || level > 32) /* MAX_PID_NS_LEVEL */
		return 0;
	bpf_core_read(&upid, sizeof(upid), &pid->numbers[level]);
	return upid.nr;
}

static __always_inline void send_task(struct task_struct *task, u32 tid, u32 task_id)
{
	struct rp_task record = {};

	record.header.type = RP_TASK;
	record.header.task_id = task_id;
	record.tid = tid;
	record.pid = BPF_CORE_READ(task, tgid);
	record.ppid = BPF_CORE_READ(task, real_parent, tgid);
	record.ns_tid = namespace_tid(task);
	record.flags = BPF_CORE_READ(task, flags);
	record.policy = BPF_CORE_READ(task, policy);
	record.start_ns = BPF_CORE_READ(task, start_time);
	record.start_boottime_ns = BPF_CORE_READ(task, start_boottime);
	record.now_ns = bpf_ktime_get_ns();
	read_counters(task, &record.counters);
	bpf_core_read(record.comm, sizeof(record.comm), &task->comm);
	send(&record, sizeof(record), RP_LOST_TASK);
}

/* Takes a free place for a task that has none. */
static __noinline struct rp_slot *slot_claim_by_tid(struct task_struct *task, u32 tid)
{
	struct rp_slot *slot;

	for (u32 i = 0; i < RP_SLOT_PROBES; i++) {
		slot = slot_at(tid + i);
		if (!slot || slot->tid)
			continue;
		if (__sync_val_compare_and_swap(&slot->tid, 0, tid) != 0)
			continue;
		slot->out_clock = 0;
		slot->run_delay = 0;
		slot->cached_frames = 0;
		slot->cached_hash = 0;
		slot->wake_pending = 0;
		slot->node_migrations = 0;
		slot->last_cpu = ~0U;
		slot->marked_lock = 0;
		slot->kernel_stack = 0;
		slot->user_stack = 0;
		slot->sleep_flags = 0;
		slot->pairs[0].count = 0;
		slot->pairs[1].count = 0;
		slot->waits[0].lock = 0;
		slot->waits[1].lock = 0;
		slot->task_id = __sync_fetch_and_add(&last_task_id, 1) + 1;
		send_task(task, tid, slot->task_id);
		return slot;
	}
	count_loss(RP_LOST_TASK);
	return NULL;
}

/* The slot of `task`, made when there is none. NULL: idle task, or no place. */
static __always_inline struct rp_slot *slot_of(struct task_struct *task, u32 tid)
{
	struct rp_slot *slot;

	if (!tid)
		return NULL;
	slot = slot_find(tid);
	if (slot)
		return slot;
	return slot_claim_by_tid(task, tid);
}

static __always_inline void pair_spill(u32 task_id, struct rp_cached_pair *cached)
{
	struct rp_pair_key key = {
		.task_id = task_id, .waker_id = cached->waker_id, .context = cached->context};
	struct rp_pair *pair = bpf_map_lookup_elem(&pairs, &key);
	struct rp_pair_record record = {};

	if (pair) {
		__sync_fetch_and_add(&pair->count, cached->count);
		__sync_fetch_and_add(&pair->sleeps, cached->sleeps);
		__sync_fetch_and_add(&pair->sleep_ns, cached->sleep_ns);
		if (pair->max_ns < cached->max_ns)
			pair->max_ns = cached->max_ns;
		return;
	}
	record.pair.count = cached->count;
	record.pair.sleeps = cached->sleeps;
	record.pair.sleep_ns = cached->sleep_ns;
	record.pair.max_ns = cached->max_ns;
	if (bpf_map_update_elem(&pairs, &key, &record.pair, BPF_NOEXIST) == 0)
		return;
	record.header.type = RP_PAIR;
	record.header.task_id = task_id;
	record.waker_id = cached->waker_id;
	record.context = cached->context;
	send(&record, sizeof(record), RP_LOST_WAKEUPS);
}

/* A function of its own: it is rare and large. */
static __noinline __attribute__((unused)) int pair_replace(struct rp_slot *slot, u32 index)
{
	if (!slot)
		return 0;
	if (index == 0)
		pair_spill(slot->task_id, &slot->pairs[0]);
	else
		pair_spill(slot->task_id, &slot->pairs[1]);
	return 0;
}

/* Counts one wakeup of the slot's task by (waker, context); `slept` when it ended a sleep of sleep_ns. */
static __always_inline void pair_count(struct rp_slot *slot, u32 waker_id, u32 context, u32 slept,
				       u64 sleep_ns)
{
	struct rp_cached_pair *pair = &slot->pairs[0];

	if (pair->count && (pair->waker_id != waker_id || pair->context != context)) {
		pair = &slot->pairs[1];
		if (pair->count && (pair->waker_id != waker_id || pair->context != context)) {
			pair_replace(slot, 1);
			pair->count = 0;
		}
	}
	if (!pair->count) {
		pair->waker_id = waker_id;
		pair->context = context;
		pair->sleeps = 0;
		pair->sleep_ns = 0;
		pair->max_ns = 0;
	}
	pair->count++;
	pair->sleeps += slept;
	pair->sleep_ns += sleep_ns;
	if (pair->max_ns < sleep_ns)
		pair->max_ns = sleep_ns;
}

/* Counts a wakeup that ended no sleep. */
static __always_inline void flush_pending_wakeup(struct rp_slot *slot)
{
	if (!slot->wake_pending)
		return;
	slot->wake_pending = 0;
	pair_count(slot, slot->waker_id, slot->waker_context, 0, 0);
}

static __noinline __attribute__((unused)) int slot_free(struct rp_slot *slot, struct task_struct *task)
{
	struct rp_exit record = {};

	if (!slot)
		return 0;
	flush_pending_wakeup(slot);
	if (slot->pairs[0].count)
		pair_replace(slot, 0);
	if (slot->pairs[1].count)
		pair_replace(slot, 1);
	record.header.type = RP_EXIT;
	record.header.task_id = slot->task_id;
	record.now_ns = bpf_ktime_get_ns();
	record.policy = BPF_CORE_READ(task, policy);
	record.last_cpu = slot->last_cpu;
	record.node_migrations = slot->node_migrations;
	read_counters(task, &record.counters);
	send(&record, sizeof(record), RP_LOST_EXIT);
	slot->tid = 0;
	return 0;
}
