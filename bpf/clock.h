/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/*
 * Time on the hot path. bpf_ktime_get_ns() costs more there than all the rest of a program (70 ns of 100 on a
 * 6.18 guest), and the scheduler has read the clock already: rq->clock is fresh in sched_switch, and a task
 * that was woken carries the time it was queued in sched_info.last_queued. Both are of sched_clock_cpu();
 * they are turned into CLOCK_MONOTONIC when a record is sent, by both clocks read at that moment.
 *
 * last_queued starts anew when a queued task moves to another CPU, and what it has waited until then is added
 * to run_delay: so the wakeup was at last_queued minus what run_delay has grown by since the switch-out.
 *
 * Where the scheduler's clocks of two CPUs may differ (no stable TSC), and on kernels without
 * CONFIG_FAIR_GROUP_SCHED or CONFIG_SCHED_INFO: bpf_ktime_get_ns() at both ends, and the offset is 0.
 */
#include "state.h"

static __always_inline bool has_queue_clock(void)
{
	return clocks_agree && bpf_core_field_exists(struct sched_entity___group, cfs_rq) &&
	       bpf_core_field_exists(struct cfs_rq___any, rq) &&
	       bpf_core_field_exists(struct task_struct___sched_info, sched_info.last_queued);
}

/* The scheduler's clock in sched_switch, by a task of this CPU. */
static __always_inline u64 switch_clock(struct task_struct *task)
{
	if (has_queue_clock())
		return ((struct task_struct___group *)task)->se.cfs_rq->rq->clock;
	return bpf_ktime_get_ns();
}

static __always_inline u64 run_delay_of(struct task_struct *task)
{
	if (has_queue_clock())
		return ((struct task_struct___sched_info *)task)->sched_info.run_delay;
	return 0;
}

/* When a task was woken that is about to be switched in. */
static __always_inline u64 wake_clock_of(struct task_struct *task, const struct rp_slot *slot, u64 now)
{
	struct task_struct___sched_info *with_info = (void *)task;
	u64 queued;

	if (!has_queue_clock())
		return slot->wake_clock;
	queued = with_info->sched_info.last_queued;
	if (!queued)
		return now;
	return queued - (with_info->sched_info.run_delay - slot->run_delay);
}

/* When a task was woken that has been switched in already, unseen. */
static __always_inline u64 past_wake_clock_of(struct task_struct *task, const struct rp_slot *slot)
{
	struct task_struct___sched_info *with_info = (void *)task;

	if (!has_queue_clock())
		return slot->wake_clock;
	return with_info->sched_info.last_arrival - (with_info->sched_info.run_delay - slot->run_delay);
}

/*
 * CLOCK_MONOTONIC minus the scheduler's clock, `clock` fresh. Measured anew after a millisecond. What has
 * passed since the scheduler read its clock makes it too large, never too small: so it falls at once but
 * rises by no more than CLOCK_MONOTONIC can be slewed (500 ppm; a 1024th is allowed).
 */
static __always_inline u64 clock_offset_at(u64 clock)
{
	u64 elapsed = clock - clock_measured, offset, most;

	if (!has_queue_clock())
		return 0;
	if (elapsed > 1000000) {
		offset = bpf_ktime_get_ns() - clock;
		most = clock_offset + (elapsed >> 10);
		if (clock_offset && (s64)(offset - most) > 0)
			offset = most;
		clock_offset = offset;
		clock_measured = clock;
	}
	return clock_offset;
}
