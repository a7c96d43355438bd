// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Definitions of what all programs share. */
#include "state.h"

struct task_slots_map task_slots SEC(".maps");
struct rings_map rings SEC(".maps");
struct pairs_map pairs SEC(".maps");
struct seen_stacks_map seen_stacks SEC(".maps");
struct lost_map lost SEC(".maps");
struct lock_states_map lock_states SEC(".maps");
struct stack_buffers_map stack_buffers SEC(".maps");
struct stack_copies_map stack_copies SEC(".maps");
struct snapshot_buffers_map snapshot_buffers SEC(".maps");
struct preempt_counts_map preempt_counts SEC(".maps");
struct nodes_map nodes SEC(".maps");

const volatile rp_u32 slot_mask = 4095;
const volatile rp_u32 ring_mask = 0;
const volatile rp_u64 min_sleep_ns = 1000000;
const volatile rp_u64 wakeup_threshold = 65536;
const volatile rp_u32 node_count = 1;
const volatile rp_u32 clocks_agree = 0;

volatile rp_u32 enabled = 0;
volatile rp_u32 snapshot_flags = 0;
volatile rp_u64 start_ns = 0;
volatile rp_u64 clock_offset = 0;
volatile rp_u64 clock_measured = 0;
volatile rp_u64 code_address = 0;
rp_u32 last_task_id = 0;

char LICENSE[] SEC("license") = "Dual BSD/GPL";
