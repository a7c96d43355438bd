/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/* Records and stacks into the ring buffers. */

#include "state.h"

static __always_inline void *this_ring(void)
{
	u32 index = bpf_get_smp_processor_id() & ring_mask;

	return bpf_map_lookup_elem(&rings, &index);
}

/* A wakeup for every record costs more than the record: wake the reader when a good part of the ring is full.
 */
static __always_inline u64 wakeup_flags(void *ring)
{
	u64 waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);

	return waiting >= wakeup_threshold ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Sends `size` bytes, constant at compile time. False: the ring is full, the loss is counted. */
static __always_inline bool send(const void *record, u64 size, u32 loss_class)
{
	void *ring = this_ring();

	if (ring && bpf_ringbuf_output(ring, (void *)record, size, wakeup_flags(ring)) == 0)
		return true;
	count_loss(loss_class);
	return false;
}

/* Multiply-rotate over 64-bit words; 0 is kept for "no stack". */
static __always_inline u64 hash_begin(u64 seed)
{
	return seed ^ 0x9e3779b97f4a7c15ULL;
}

static __always_inline u64 hash_add(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
	return hash ^ (hash >> 32);
}

static __always_inline u64 hash_end(u64 hash)
{
	return hash ? hash : 1;
}

static __always_inline u64 hash_words(const u64 *words, u32 count, u64 seed)
{
	u64 hash = hash_begin(seed);

	for (u32 i = 0; i < RP_KERNEL_FRAMES; i++) {
		if (i >= count)
			break;
		hash = hash_add(hash, words[i]);
	}
	return hash_end(hash);
}

static __always_inline struct stack_buffer *stack_buffer(u32 use)
{
	return bpf_map_lookup_elem(&stack_buffers, &use);
}

/* Sends the stack in `buffer` unless it was sent before. Its hash, or 0 when it could not be sent. */
static __always_inline u64 send_stack(struct stack_buffer *buffer, u32 type, u32 task_id, u64 hash, u32 count,
				      u32 entry_bytes, u32 flags)
{
	u32 one = 1;
	u64 bytes = sizeof(struct rp_stack) + (u64)count * entry_bytes;
	void *ring;

	if (bpf_map_lookup_elem(&seen_stacks, &hash))
		return hash;
	buffer->head.header.type = type;
	buffer->head.header.task_id = task_id;
	buffer->head.hash = hash;
	buffer->head.count = count;
	buffer->head.flags = flags;
	ring = this_ring();
	if (bytes > sizeof(*buffer))
		bytes = sizeof(*buffer);
	if (!ring || bpf_ringbuf_output(ring, buffer, bytes, wakeup_flags(ring))) {
		count_loss(RP_LOST_STACK);
		return 0;
	}
	bpf_map_update_elem(&seen_stacks, &hash, &one, BPF_ANY);
	return hash;
}

static __always_inline u64 send_kernel_stack(struct stack_buffer *buffer, long bytes, u32 flags)
{
	u32 count;

	if (bytes <= 0)
		return 0;
	count = (u32)bytes / sizeof(u64);
	if (count > RP_KERNEL_FRAMES)
		count = RP_KERNEL_FRAMES;
	return send_stack(buffer, RP_KERNEL_STACK, 0, hash_words(buffer->words, count, flags), count,
			  sizeof(u64), flags);
}

/* The running task's kernel stack, with all frames. */
static __always_inline u64 own_kernel_stack(void *ctx, u32 use)
{
	struct stack_buffer *buffer = stack_buffer(use);

	if (!buffer)
		return 0;
	return send_kernel_stack(buffer, bpf_get_stack(ctx, buffer->kernel, sizeof(buffer->kernel), 0),
				 RP_SLEEP_FULL_STACK);
}

/*
 * The running task's user stack as build-ids and file offsets: short-lived programs are gone before anyone
 * can look at their maps. Addresses without a file (JITs) mean something in this process only, so its id goes
 * into the hash.
 */
static __always_inline u64 own_user_stack(void *ctx, u32 use, u32 task_id, u32 pid)
{
	struct stack_buffer *buffer = stack_buffer(use);
	u32 count;
	long bytes;

	if (!buffer)
		return 0;
	bytes = bpf_get_stack(ctx, buffer->user, sizeof(buffer->user),
			      BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
	if (bytes <= 0)
		return 0;
	count = (u32)bytes / sizeof(struct rp_user_frame);
	if (count > RP_USER_FRAMES)
		count = RP_USER_FRAMES;
	return send_stack(
		buffer, RP_USER_STACK, task_id,
		hash_words(buffer->words, count * (sizeof(struct rp_user_frame) / sizeof(u64)), pid), count,
		sizeof(struct rp_user_frame), 0);
}

/* Where a user task entered the kernel: its innermost user address and the system call. */
static __always_inline void kernel_entry(struct task_struct *task, u64 *user_ip, s32 *syscall)
{
	struct pt_regs *regs;
	long number;

	*user_ip = 0;
	*syscall = -1;
	if (task->flags & PF_KTHREAD)
		return;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_x86)
	*user_ip = regs->ip;
	number = regs->orig_ax;
#else
	*user_ip = regs->pc;
	number = regs->syscallno;
#endif
	if (number >= 0 && number < 0x40000400) /* __X32_SYSCALL_BIT and its numbers included */
		*syscall = number;
}
