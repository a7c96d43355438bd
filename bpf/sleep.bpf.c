// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * One record for each finished sleep: switch-out, wakeup and switch-in joined here. The stack of a sleep is
 * taken when the task is switched in again, once its length is known; D sleeps get theirs at switch-out, with
 * user frames.
 */
#include "clock.h"
#include "slots.h"
#include "stack_cache.h"

static __always_inline bool is_uninterruptible(u32 state)
{
	return (state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD);
}

/* The lock wait the task is in, if any: its stacks serve the sleeps inside it. */
static __always_inline struct rp_pending_wait *current_wait(struct rp_slot *slot)
{
	if (slot->waits[1].lock)
		return &slot->waits[1];
	if (slot->waits[0].lock)
		return &slot->waits[0];
	return NULL;
}

static __always_inline void begin_sleep(void *ctx, struct rp_slot *slot, struct task_struct *task, u32 state,
					u64 clock)
{
	struct rp_pending_wait *wait = current_wait(slot);
	u64 user_ip;

	slot->state = state;
	slot->sleep_flags = 0;
	slot->kernel_stack = 0;
	slot->user_stack = 0;
	if (wait) {
		slot->kernel_stack = wait->kernel_stack;
		slot->user_stack = wait->user_stack;
		slot->sleep_flags = RP_SLEEP_FULL_STACK;
	} else if (is_uninterruptible(state)) {
		slot->kernel_stack = own_kernel_stack(ctx, BUFFER_SWITCH);
		if (!(task->flags & PF_KTHREAD))
			slot->user_stack = own_user_stack(ctx, BUFFER_SWITCH, slot->task_id, task->tgid);
		slot->sleep_flags = RP_SLEEP_FULL_STACK;
	}
	if (slot->sleep_flags)
		kernel_entry(task, &user_ip, &slot->syscall);
	slot->run_delay = run_delay_of(task);
	slot->out_clock = clock;
}

/* Times of the scheduler's clock, `clock` fresh. False: the ring is full. */
static __always_inline bool send_sleep(struct rp_slot *slot, struct task_struct *task, u64 out, u64 wake,
				       u64 in, u64 clock, u32 waker_id, u32 context)
{
	struct rp_sleep record = {};
	u64 offset = clock_offset_at(clock);

	record.header.type = RP_SLEEP;
	record.header.task_id = slot->task_id;
	record.out_ns = out + offset;
	record.wake_ns = wake + offset;
	record.in_ns = in + offset;
	record.kernel_stack = slot->kernel_stack;
	record.user_stack = slot->user_stack;
	record.waker_id = waker_id;
	record.waker_context = context;
	record.state = slot->state;
	record.flags = slot->sleep_flags;
	record.syscall = record.flags & RP_SLEEP_FULL_STACK ? slot->syscall : -1;
	if (in == clock) {
		/* About to be switched in: it still is where it slept. */
		kernel_entry(task, &record.user_ip, &record.syscall);
		if (!record.kernel_stack) {
			record.kernel_stack = sleeper_kernel_stack(slot, task, BUFFER_SWITCH);
			record.flags &= ~RP_SLEEP_FULL_STACK;
		}
	}
	return send(&record, sizeof(record), RP_LOST_SLEEP);
}

static __always_inline void end_sleep(struct rp_slot *slot, struct task_struct *task, u64 clock)
{
	u64 out = slot->out_clock, wake = clock;
	u32 waker_id = 0, context = RP_CONTEXT_UNKNOWN;

	slot->out_clock = 0;
	if (slot->wake_pending) {
		slot->wake_pending = 0;
		waker_id = slot->waker_id;
		context = slot->waker_context;
		wake = wake_clock_of(task, slot, clock);
		/* A wakeup may race the switch-out and come first. */
		if (wake < out)
			wake = out;
		if (wake > clock)
			wake = clock;
	}
	if (wake - out >= min_sleep_ns || slot->marked_lock) {
		if (send_sleep(slot, task, out, wake, clock, clock, waker_id, context))
			return;
		/* Lost as a record, kept in the totals. */
	}
	pair_count(slot, waker_id, context, 1, wake - out);
}

/*
 * Some kernels never report certain threads as `prev` (measured on 6.18), so that the switch-in of whoever
 * follows them is missing, too. Such a task is found when it leaves the CPU again: its sleep ended at the
 * wakeup, and its stack is gone unless it was taken at switch-out.
 */
static __noinline __attribute__((unused)) int end_unseen_sleep(struct rp_slot *slot, struct task_struct *task,
							       u64 clock)
{
	u64 out, wake;

	if (!slot)
		return 0;
	out = slot->out_clock;
	slot->out_clock = 0;
	if (!slot->wake_pending)
		return 0;
	slot->wake_pending = 0;
	wake = past_wake_clock_of(task, slot);
	if (wake < out)
		wake = out;
	if (wake > clock)
		wake = clock;
	if ((wake - out >= min_sleep_ns || slot->marked_lock) &&
	    send_sleep(slot, task, out, wake, wake, clock, slot->waker_id, slot->waker_context))
		return 0;
	pair_count(slot, slot->waker_id, slot->waker_context, 1, wake - out);
	return 0;
}

static __always_inline void note_cpu(struct rp_slot *slot)
{
	u32 cpu = bpf_get_smp_processor_id();
	u32 *node;

	if (slot->last_cpu == cpu)
		return;
	if (node_count > 1) {
		node = bpf_map_lookup_elem(&nodes, &cpu);
		if (node) {
			if (slot->last_cpu != ~0U && slot->node != *node)
				slot->node_migrations++;
			slot->node = *node;
		}
	}
	slot->last_cpu = cpu;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct rp_slot *slot;
	u32 prev_tid = prev->pid, next_tid = next->pid;
	u64 clock;

	if (!enabled)
		return 0;
	clock = switch_clock(next);
	if (!clock_offset)
		clock_offset_at(clock);
	/* A preempted task does not sleep, whatever state it was about to sleep in. */
	if (prev_tid && prev_state != TASK_RUNNING && !preempt) {
		slot = slot_of(prev, prev_tid);
		if (slot) {
			if (slot->out_clock)
				end_unseen_sleep(slot, prev, clock);
			if (prev_state & TASK_DEAD)
				slot_free(slot, prev);
			else
				begin_sleep(ctx, slot, prev, prev_state, clock);
		}
	}
	if (next_tid) {
		slot = slot_of(next, next_tid);
		if (slot) {
			if (slot->out_clock)
				end_sleep(slot, next, clock);
			note_cpu(slot);
		}
	}
	return 0;
}

/*
 * The preempt count, which tells interrupts from tasks, is a per-CPU variable on x86: `__preempt_count`, or
 * `pcpu_hot.preempt_count` in 6.2 - 6.14. A kernel without CONFIG_KALLSYMS_ALL does not resolve either by
 * name; the collector then fills a table of addresses. One body, an entry for each way; the collector loads
 * one of them.
 */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot___6_2 pcpu_hot __ksym __weak;
extern void *bpf_rdonly_cast(const void *object, u32 btf_id) __ksym __weak; /* 6.2 */

static __always_inline u32 preempt_count_from_table(void)
{
	u32 cpu = bpf_get_smp_processor_id(), count = 0;
	u64 *address = bpf_map_lookup_elem(&preempt_counts, &cpu);
	struct refcount_struct___int *word;

	if (!address || !*address)
		return 0;
	if (bpf_rdonly_cast) {
		word = bpf_rdonly_cast((void *)*address,
				       bpf_core_type_id_kernel(struct refcount_struct___int));
		return word->refs.counter;
	}
	bpf_probe_read_kernel(&count, sizeof(count), (void *)*address);
	return count;
}

/*
 * sched_waking runs in the waker's context; sched_wakeup would name the victim of the IPI of a remote wakeup.
 * It fires before the task is taken off or put on a queue, so a wakeup that races the switch-out comes before
 * it: it stays pending, and is the right one if no later wakeup replaces it.
 */
static __always_inline int waking(struct task_struct *task, struct task_struct *current, u32 context)
{
	struct rp_slot *slot, *waker;

	slot = slot_of(task, task->pid);
	if (!slot)
		return 0;
	flush_pending_wakeup(slot);
	slot->waker_id = 0;
	/* The idle loop wakes tasks only in the name of an IPI it polled for (flush_smp_call_function_queue).
	 */
	if (context == RP_CONTEXT_TASK && !current->pid)
		context = RP_CONTEXT_HARDIRQ;
	if (context == RP_CONTEXT_TASK) {
		waker = slot_of(current, current->pid);
		if (waker)
			slot->waker_id = waker->task_id;
	}
	slot->waker_context = context;
	if (!has_queue_clock())
		slot->wake_clock = bpf_ktime_get_ns();
	slot->wake_pending = 1;
	return 0;
}

#if defined(__TARGET_ARCH_x86)
SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking_variable, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	const int *count;

	if (!enabled)
		return 0;
	count = bpf_this_cpu_ptr(&__preempt_count);
	return waking(task, current, context_of_preempt_count(current, *count));
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking_pcpu_hot, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	const struct pcpu_hot___6_2 *hot;

	if (!enabled)
		return 0;
	hot = bpf_this_cpu_ptr(&pcpu_hot);
	return waking(task, current, context_of_preempt_count(current, hot->preempt_count));
}
#endif

SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking_table, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (!enabled)
		return 0;
	return waking(task, current, context_of_preempt_count(current, preempt_count_from_table()));
}

/* arm64 keeps it in the task; and where no way is known (no_preempt_count), wakers in interrupts are not told
 * apart. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking_task, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 count;

	if (!enabled)
		return 0;
	if (!bpf_core_field_exists(struct task_struct___arm64, thread_info.preempt_count))
		return waking(task, current, RP_CONTEXT_UNKNOWN);
	count = BPF_CORE_READ((struct task_struct___arm64 *)current, thread_info.preempt_count);
	return waking(task, current, context_of_preempt_count(current, count));
}

/* Writes (CPU, address of its run queue) for each task, so that the collector can find the per-CPU areas. */
SEC("iter/task")
int find_run_queues(struct bpf_iter__task *ctx)
{
	struct task_struct___group *task = (void *)ctx->task;
	struct rp_run_queue record = {};
	struct rq___any *rq;

	if (!task || !bpf_core_field_exists(struct sched_entity___group, cfs_rq))
		return 0;
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	record.cpu = BPF_CORE_READ(rq, cpu);
	record.address = (u64)rq;
	if (rq)
		bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}
