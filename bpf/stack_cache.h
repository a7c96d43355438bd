/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/*
 * A task that sleeps in the same place again and again has the same kernel stack each time; unwinding it anew
 * is most of what a recorded sleep costs. So a slot remembers of its last stack where the return addresses
 * lie. When the same addresses are in the same places again, the unwinder would find the same frames: from
 * the stack pointer on, where it looks for the next one depends on the frames so far only (ORC,
 * arch/x86/kernel/unwind_orc.c). The outermost one, the kernel's entry, is found from the other end: between
 * it and the rest, do_syscall_64 leaves a random gap (CONFIG_RANDOMIZE_KSTACK_OFFSET). Compared by their
 * hash, which is the stack's identity anyway.
 */
#include "emit.h"

#if defined(__TARGET_ARCH_x86)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct thread_struct___x86 {
	unsigned long sp;
};
struct task_struct___thread {
	struct thread_struct___x86 thread;
};
#pragma clang attribute pop

enum {
	THREAD_SIZE =
		16384, /* and its alignment; KASAN's are larger, and then less of the stack is compared */
};

static __always_inline u64 stack_pointer(struct task_struct *task)
{
	return ((struct task_struct___thread *)task)->thread.sp;
}

static __always_inline u64 stack_end(u64 sp)
{
	return (sp | (THREAD_SIZE - 1)) + 1;
}

/* Copies the stack from its pointer on. Bytes copied; 0 on failure. */
static __always_inline u32 copy_stack(struct stack_copy *copy, u64 sp, u64 bytes)
{
	u64 rest = stack_end(sp) - sp;

	if (bytes > rest)
		bytes = rest;
	asm volatile("" : "+r"(bytes)); /* so that the verifier sees the bound */
	if (bytes > sizeof(copy->words))
		bytes = sizeof(copy->words);
	if (bpf_probe_read_kernel(copy->words, bytes, (void *)sp))
		return 0;
	return bytes;
}

/* The hash of the slot's stack when the task is in it again, else 0. */
static __always_inline u64 cached_stack(struct rp_slot *slot, struct task_struct *task,
					struct stack_copy *copy)
{
	u64 sp = stack_pointer(task), hash = hash_begin(0), outermost = 0;
	u32 index;

	if (!slot->cached_frames || copy_stack(copy, sp, slot->cached_bytes) != slot->cached_bytes)
		return 0;
	for (u32 i = 0; i < RP_CACHED_FRAMES; i++) {
		if (i + 1 >= slot->cached_frames)
			break;
		index = slot->cached_offsets[i] & (RP_CACHED_STACK_BYTES / sizeof(u64) - 1);
		hash = hash_add(hash, copy->words[index]);
	}
	if (bpf_probe_read_kernel(&outermost, sizeof(outermost), (void *)(stack_end(sp) - slot->cached_top)))
		return 0;
	hash = hash_end(hash_add(hash, outermost));
	return hash == slot->cached_hash ? hash : 0;
}

struct stack_search {
	struct rp_slot *slot;
	struct stack_copy *copy;
	struct stack_buffer *buffer;
	u64 from_end; /* bytes from the stack pointer to the end of the stack */
	u32 words;
	u32 count;
};

/*
 * One word of the copy: the next return address? For bpf_loop(), 1 ends it. The count of those found is in
 * the map, where the verifier does not follow its values one by one.
 */
static long search_word(u32 i, struct stack_search *search)
{
	u32 word = i & (RP_CACHED_STACK_BYTES / sizeof(u64) - 1);
	u32 frame = search->copy->found & (RP_CACHED_FRAMES - 1);

	if (i >= search->words || search->copy->found >= search->count)
		return 1;
	if (search->copy->words[word] != search->buffer->kernel[frame])
		return 0;
	search->slot->cached_offsets[frame] = i;
	if (search->copy->found + 1 < search->count)
		search->slot->cached_bytes = (i + 1) * sizeof(u64);
	else
		search->slot->cached_top = search->from_end - i * sizeof(u64);
	search->copy->found++;
	return 0;
}

/* Remembers the `count` addresses of a stack just unwound, if all are found on it in their order. */
static __always_inline void remember_stack(struct rp_slot *slot, struct stack_copy *copy,
					   struct stack_buffer *buffer, u64 sp, u64 hash, u32 count)
{
	struct stack_search search = {
		.slot = slot, .copy = copy, .buffer = buffer, .count = count, .from_end = stack_end(sp) - sp};

	bool again = slot->cached_hash == hash && !slot->cached_frames;

	slot->cached_frames = 0;
	slot->cached_hash = hash;
	/* The search pays for stacks that come again: wait for the second time in a row. */
	if (!again || count < 2 || count > RP_CACHED_FRAMES)
		return;
	copy->found = 0;
	search.words = copy_stack(copy, sp, RP_CACHED_STACK_BYTES) / sizeof(u64);
	bpf_loop(RP_CACHED_STACK_BYTES / sizeof(u64), search_word, &search, 0);
	if (copy->found != count)
		return;
	slot->cached_frames = count;
}

/* The stack a switched-out task sleeps in. The kernel leaves out frames of .sched.text there. */
static __always_inline u64 sleeper_kernel_stack(struct rp_slot *slot, struct task_struct *task, u32 use)
{
	struct stack_buffer *buffer = stack_buffer(use);
	u32 zero = 0;
	struct stack_copy *copy = bpf_map_lookup_elem(&stack_copies, &zero);
	long bytes;
	u64 hash;

	if (!buffer || !copy)
		return 0;
	hash = cached_stack(slot, task, copy);
	if (hash)
		return hash;
	bytes = bpf_get_task_stack(task, buffer->kernel, sizeof(buffer->kernel), 0);
	hash = send_kernel_stack(buffer, bytes, 0);
	if (!hash)
		return 0;
	remember_stack(slot, copy, buffer, stack_pointer(task), hash, (u32)bytes / sizeof(u64));
	return hash;
}

#else

static __always_inline u64 sleeper_kernel_stack(struct rp_slot *slot, struct task_struct *task, u32 use)
{
	struct stack_buffer *buffer = stack_buffer(use);

	if (!buffer)
		return 0;
	return send_kernel_stack(buffer, bpf_get_task_stack(task, buffer->kernel, sizeof(buffer->kernel), 0),
				 0);
}

#endif
