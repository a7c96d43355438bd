// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Waits for sleeping locks, from lock:contention_begin and _end.
 *
 * Both also fire in the slow paths of queued spinlocks and rwlocks, and `end` fires with that lock held,
 * which may be the lock of our own ring buffer. So `begin` leaves at once unless the lock is one that sleeps,
 * and `end` touches no ring and no locked map unless the lock is the one this task is known to wait for.
 */
#include "slots.h"

static __always_inline bool is_sleeping_lock(u32 flags)
{
	if (flags & (RP_LCB_MUTEX | RP_LCB_RT | RP_LCB_PERCPU))
		return true;
	return (flags & (RP_LCB_READ | RP_LCB_WRITE)) && !(flags & RP_LCB_SPIN);
}

/* The task whose address is in the lock's owner word. */
static __always_inline struct task_struct *lock_owner(u64 lock, u32 flags, u32 *owner_flags)
{
	u64 word;

	*owner_flags = 0;
	if (flags & RP_LCB_PERCPU)
		return NULL;
	if (flags & RP_LCB_RT) {
		if (flags & (RP_LCB_READ | RP_LCB_WRITE)) /* rwbase_rt: no single owner */
			return NULL;
		word = (u64)BPF_CORE_READ((struct rt_mutex_base *)lock, owner) &
		       ~1ULL; /* RT_MUTEX_HAS_WAITERS */
		return (struct task_struct *)word;
	}
	if (flags & RP_LCB_MUTEX) {
		if (!bpf_core_field_exists(struct mutex, owner))
			return NULL;
		word = BPF_CORE_READ((struct mutex *)lock, owner.counter);
	} else {
		if (!bpf_core_field_exists(struct rw_semaphore, owner))
			return NULL;
		word = BPF_CORE_READ((struct rw_semaphore *)lock, owner.counter);
		if (word & 1) /* RWSEM_READER_OWNED: the last of perhaps many readers */
			*owner_flags = RP_OWNER_ONE_OF_MANY;
	}
	return (struct task_struct *)(word & ~7ULL);
}

/* Tasks seen to hold a contended lock are recorded in full. */
static __always_inline void mark_holder(u32 tid, u64 lock)
{
	struct rp_slot *slot = slot_find(tid);

	if (tid && slot)
		slot->marked_lock = lock;
}

static __always_inline void unmark_holder(u32 tid, u64 lock)
{
	struct rp_slot *slot = slot_find(tid);

	if (tid && slot && slot->marked_lock == lock)
		slot->marked_lock = 0;
}

static __always_inline void waiter_comes(u64 lock, u32 holder_tid)
{
	struct rp_lock_state *state = bpf_map_lookup_elem(&lock_states, &lock);
	struct rp_lock_state fresh = {};

	if (!state) {
		fresh.waiters = 1;
		fresh.holder_tid = holder_tid;
		bpf_map_update_elem(&lock_states, &lock, &fresh, BPF_NOEXIST);
	} else {
		__sync_fetch_and_add(&state->waiters, 1);
		if (holder_tid && state->holder_tid != holder_tid) {
			unmark_holder(state->holder_tid, lock);
			state->holder_tid = holder_tid;
		}
	}
	mark_holder(holder_tid, lock);
}

static __always_inline void waiter_leaves(u64 lock, u32 tid, bool acquired)
{
	struct rp_lock_state *state = bpf_map_lookup_elem(&lock_states, &lock);

	if (!state)
		return;
	if (__sync_fetch_and_add(&state->waiters, -1) <= 1) {
		unmark_holder(state->holder_tid, lock);
		bpf_map_delete_elem(&lock_states, &lock);
		return;
	}
	if (acquired) {
		unmark_holder(state->holder_tid, lock);
		state->holder_tid = tid;
		mark_holder(tid, lock);
	}
}

static __always_inline void next_phase(struct rp_pending_wait *wait, u32 flags, u64 now)
{
	if (wait->phase_flags & RP_LCB_SPIN)
		wait->spin_ns += now - wait->phase_ns;
	wait->phase_ns = now;
	wait->phase_flags = flags;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock_pointer, unsigned int flags)
{
	struct task_struct *current, *owner;
	struct rp_pending_wait *wait;
	struct rp_slot *slot, *owner_slot;
	u64 lock = (u64)lock_pointer, now;
	u32 owner_tid = 0;

	if (!enabled || !is_sleeping_lock(flags))
		return 0;
	current = bpf_get_current_task_btf();
	slot = slot_of(current, current->pid);
	if (!slot)
		return 0;
	now = bpf_ktime_get_ns();
	if (slot->waits[1].lock == lock) {
		next_phase(&slot->waits[1], flags, now);
		return 0;
	}
	if (slot->waits[0].lock == lock) {
		next_phase(&slot->waits[0], flags, now);
		slot->waits[1].lock = 0; /* an inner wait whose end was not seen */
		return 0;
	}
	wait = slot->waits[0].lock ? &slot->waits[1] : &slot->waits[0];
	if (wait->lock)
		count_loss(RP_LOST_WAIT); /* deeper than RP_WAIT_DEPTH, or an end was not seen */
	owner = lock_owner(lock, flags, &wait->owner_flags);
	wait->owner_id = 0;
	if (owner) {
		owner_tid = BPF_CORE_READ(owner, pid);
		owner_slot = slot_find(
			owner_tid); /* never claimed here: the word may be stale, and not a task by now */
		if (owner_tid && owner_slot)
			wait->owner_id = owner_slot->task_id;
	}
	wait->begin_ns = now;
	wait->phase_ns = now;
	wait->spin_ns = 0;
	wait->first_flags = flags;
	wait->phase_flags = flags;
	wait->kernel_stack = own_kernel_stack(ctx, BUFFER_CONTENTION);
	wait->user_stack = 0;
	if (!(current->flags & PF_KTHREAD))
		wait->user_stack = own_user_stack(ctx, BUFFER_CONTENTION, slot->task_id, current->tgid);
	wait->lock = lock;
	waiter_comes(lock, owner_tid);
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock_pointer, int result)
{
	struct task_struct *current;
	struct rp_pending_wait *wait;
	struct rp_slot *slot;
	struct rp_wait record = {};
	u64 lock = (u64)lock_pointer, now;

	if (!enabled)
		return 0;
	current = bpf_get_current_task_btf();
	slot = slot_find(current->pid);
	if (!slot || !current->pid)
		return 0;
	if (slot->waits[1].lock == lock)
		wait = &slot->waits[1];
	else if (slot->waits[0].lock == lock)
		wait = &slot->waits[0];
	else
		return 0;
	now = bpf_ktime_get_ns();
	next_phase(wait, 0, now);
	record.header.type = RP_WAIT;
	record.header.task_id = slot->task_id;
	record.lock = lock;
	record.begin_ns = wait->begin_ns;
	record.end_ns = now;
	record.spin_ns = wait->spin_ns;
	record.kernel_stack = wait->kernel_stack;
	record.user_stack = wait->user_stack;
	record.owner_id = wait->owner_id;
	record.owner_flags = wait->owner_flags;
	record.contention_flags = wait->first_flags;
	record.result = result;
	wait->lock = 0;
	send(&record, sizeof(record), RP_LOST_WAIT);
	waiter_leaves(lock, current->pid, result == 0);
	return 0;
}

/* Writes 64 bytes of kernel code once, so that the collector can read off which mutex a function takes. */
SEC("iter/task")
int read_kernel_code(struct bpf_iter__task *ctx)
{
	char code[RP_CODE_BYTES] = {};

	if (!ctx->task || ctx->meta->seq_num != 0)
		return 0;
	if (bpf_probe_read_kernel(code, sizeof(code), (void *)code_address) == 0)
		bpf_seq_write(ctx->meta->seq, code, sizeof(code));
	return 0;
}
