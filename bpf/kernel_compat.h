/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/* Where kernels differ: one entry per change, with the version it came in. Floor: 6.1. */

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "rtnlprof/bpf_events.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* CONFIG_SCHED_INFO may be off. */
struct sched_info___optional {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};
struct task_struct___sched_info {
	struct sched_info___optional sched_info;
};

/* 6.16, "hung_task: add blocker": CONFIG_DETECT_HUNG_TASK_BLOCKER */
struct task_struct___blocker {
	unsigned long blocker;
};

/* PREEMPT_RT keeps the softirq count in the task. */
struct task_struct___rt {
	int softirq_disable_cnt;
};

/* arm64 keeps the preempt count in thread_info. */
struct thread_info___arm64 {
	u64 preempt_count;
};
struct task_struct___arm64 {
	struct thread_info___arm64 thread_info;
};

/* PREEMPT_RT's mutex is an rt_mutex. */
struct mutex___rt {
	struct rt_mutex_base rtmutex;
};

/* x86 6.2 - 6.14 keep the preempt count in pcpu_hot; before and after it is a variable of its own. */
struct pcpu_hot___6_2 {
	int preempt_count;
};

/* 6.2, "mm: convert mm's rss stats into percpu_counter" */
struct percpu_counter___6_2 {
	s64 count;
};
struct mm_struct___6_2 {
	struct percpu_counter___6_2 rss_stat[4];
};
struct mm_rss_stat___6_1 {
	atomic_long_t count[4];
};
struct mm_struct___6_1 {
	struct mm_rss_stat___6_1 rss_stat;
};

/* CONFIG_FAIR_GROUP_SCHED: from any task to the run queue of its CPU, a per-CPU variable. */
struct rq___any {
	int cpu;
	u64 clock;
};
struct cfs_rq___any {
	struct rq___any *rq;
};
struct sched_entity___group {
	struct cfs_rq___any *cfs_rq;
};
struct task_struct___group {
	struct sched_entity___group se;
};

/* Any kernel struct that starts with an int, to read one through a typed pointer. */
struct refcount_struct___int {
	atomic_t refs;
};

#pragma clang attribute pop

/* include/linux/preempt.h */
enum {
	RP_SOFTIRQ_SERVING = 0x100, /* SOFTIRQ_OFFSET; mere disabling of BHs counts in 0x200 steps */
	RP_HARDIRQ_MASK = 0x000f0000,
	RP_NMI_MASK = 0x00f00000,
};

/* In whose name the present code runs. BHs merely disabled are still task context. */
static __always_inline u32 context_of_preempt_count(struct task_struct *current, u32 count)
{
	if (count & RP_NMI_MASK)
		return RP_CONTEXT_NMI;
	if (count & RP_HARDIRQ_MASK)
		return RP_CONTEXT_HARDIRQ;
	if (bpf_core_field_exists(struct task_struct___rt, softirq_disable_cnt))
		count = BPF_CORE_READ((struct task_struct___rt *)current, softirq_disable_cnt);
	if (count & RP_SOFTIRQ_SERVING)
		return RP_CONTEXT_SOFTIRQ;
	return RP_CONTEXT_TASK;
}

static __always_inline u64 rss_pages(struct mm_struct *mm)
{
	/* MM_FILEPAGES 0, MM_ANONPAGES 1, MM_SHMEMPAGES 3; 2 counts swap entries */
	s64 pages = 0;

	if (bpf_core_field_exists(struct mm_struct___6_1, rss_stat.count)) {
		struct mm_struct___6_1 *old = (void *)mm;

		pages = BPF_CORE_READ(old, rss_stat.count[0].counter) +
			BPF_CORE_READ(old, rss_stat.count[1].counter) +
			BPF_CORE_READ(old, rss_stat.count[3].counter);
	} else {
		struct mm_struct___6_2 *now = (void *)mm;

		pages = BPF_CORE_READ(now, rss_stat[0].count) + BPF_CORE_READ(now, rss_stat[1].count) +
			BPF_CORE_READ(now, rss_stat[3].count);
	}
	return pages > 0 ? pages : 0;
}
