/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/* Maps and switches that all programs share; state.bpf.c defines them. */

#include "kernel_compat.h"
#include <bpf/bpf_tracing.h>

struct task_slots_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 4096); /* the collector sets a power of two that fits the host */
	__type(key, u32);
	__type(value, struct rp_slot);
};

struct ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct rings_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct ring_map);
};

struct pairs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct rp_pair_key);
	__type(value, struct rp_pair);
};

/* Hashes of stacks that were sent. An evicted one is sent again. */
struct seen_stacks_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u32);
};

struct lost_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RP_LOSS_CLASSES);
	__type(key, u32);
	__type(value, u64);
};

struct lock_states_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct rp_lock_state);
};

struct stack_buffer {
	struct rp_stack head;
	union {
		u64 kernel[RP_KERNEL_FRAMES];
		struct rp_user_frame user[RP_USER_FRAMES];
		u64 words[RP_KERNEL_FRAMES];
	};
};

/*
 * One buffer a CPU and use, so that a program that another one interrupts keeps its own: sched_switch,
 * sched_waking and contention_begin may nest in each other, never in themselves.
 */
enum buffer_use {
	BUFFER_SWITCH = 0,
	BUFFER_CONTENTION = 1,
	BUFFER_USES = 2,
};

struct stack_buffers_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BUFFER_USES);
	__type(key, u32);
	__type(value, struct stack_buffer);
};

/* A sleeper's stack as it lies in memory, see stack_cache.h. */
struct stack_copy {
	u64 found; /* return addresses, while it is searched */
	u64 words[RP_CACHED_STACK_BYTES / sizeof(u64)];
};

struct stack_copies_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_copy);
};

struct snapshot_buffer {
	struct rp_snapshot head;
	u64 frames[RP_KERNEL_FRAMES];
};

struct snapshot_buffers_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct snapshot_buffer);
};

struct nodes_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RP_MAX_CPUS);
	__type(key, u32);
	__type(value, u32);
};

/* Address of each CPU's preempt count; 0 = unknown. */
struct preempt_counts_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RP_MAX_CPUS);
	__type(key, u32);
	__type(value, u64);
};

extern struct preempt_counts_map preempt_counts SEC(".maps");
extern struct task_slots_map task_slots SEC(".maps");
extern struct rings_map rings SEC(".maps");
extern struct pairs_map pairs SEC(".maps");
extern struct seen_stacks_map seen_stacks SEC(".maps");
extern struct lost_map lost SEC(".maps");
extern struct lock_states_map lock_states SEC(".maps");
extern struct stack_buffers_map stack_buffers SEC(".maps");
extern struct stack_copies_map stack_copies SEC(".maps");
extern struct snapshot_buffers_map snapshot_buffers SEC(".maps");
extern struct nodes_map nodes SEC(".maps");

/* Set before load; the verifier prunes what is switched off. */
extern const volatile rp_u32 slot_mask;	       /* size of task_slots - 1 */
extern const volatile rp_u32 ring_mask;	       /* number of rings - 1 */
extern const volatile rp_u64 min_sleep_ns;     /* shorter sleeps are only counted */
extern const volatile rp_u64 wakeup_threshold; /* bytes in a ring that are worth waking the reader for */
extern const volatile rp_u32 node_count;
extern const volatile rp_u32 clocks_agree; /* the scheduler's clocks of all CPUs, see clock.h */

/* Written by the collector while the programs run. */
extern volatile rp_u32 enabled;
extern volatile rp_u32 snapshot_flags;
extern volatile rp_u64 start_ns;
extern volatile rp_u64 clock_offset;   /* CLOCK_MONOTONIC minus the scheduler's clock, see clock.h */
extern volatile rp_u64 clock_measured; /* when clock_offset was, by the scheduler's clock */
extern volatile rp_u64 code_address;   /* what read_kernel_code reads */

extern rp_u32 last_task_id;

static __always_inline void count_loss(u32 loss_class)
{
	u64 *count = bpf_map_lookup_elem(&lost, &loss_class);

	if (count)
		*count += 1;
}
