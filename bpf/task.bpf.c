// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The life of tasks, and the iterator that reads all of them: counters, and where each one that sleeps is. */
#include "clock.h"
#include "slots.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	if (enabled)
		slot_of(child, child->pid);
	return 0;
}

static __always_inline void send_comm(struct task_struct *task, const char *comm, u32 is_exec)
{
	struct rp_slot *slot = slot_of(task, BPF_CORE_READ(task, pid));
	struct rp_comm record = {};

	if (!slot)
		return;
	record.header.type = RP_COMM;
	record.header.task_id = slot->task_id;
	record.now_ns = bpf_ktime_get_ns();
	record.is_exec = is_exec;
	bpf_probe_read_kernel(record.comm, sizeof(record.comm), comm);
	send(&record, sizeof(record), RP_LOST_COMM);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	if (enabled)
		send_comm(task, task->comm, 1);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	if (enabled)
		send_comm(task, comm, 0);
	return 0;
}

/* The id of the task that owns the mutex or rwsem `blocker` names; 0 when a reader may hold it or nobody is
 * known. */
static __always_inline u64 blocker_owner(u64 blocker)
{
	u32 type = blocker & RP_BLOCKER_MASK;
	u64 lock = blocker & ~(u64)RP_BLOCKER_MASK;
	u64 owner = 0;
	struct task_struct *task;
	struct rp_slot *slot;

	if (!lock || type == RP_BLOCKER_SEMAPHORE)
		return 0;
	if (type == RP_BLOCKER_MUTEX) {
		if (!bpf_core_field_exists(struct mutex, owner))
			return 0;
		owner = BPF_CORE_READ((struct mutex *)lock, owner.counter);
	} else {
		if (!bpf_core_field_exists(struct rw_semaphore, owner))
			return 0;
		owner = BPF_CORE_READ((struct rw_semaphore *)lock, owner.counter);
		if (owner & 1) /* RWSEM_READER_OWNED */
			return 0;
	}
	task = (struct task_struct *)(owner & ~7ULL);
	if (!task)
		return 0;
	slot = slot_find(BPF_CORE_READ(task, pid));
	return slot ? slot->task_id : 0;
}

SEC("iter/task")
int snapshot_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct snapshot_buffer *buffer;
	struct rp_snapshot *head;
	struct rp_slot *slot;
	struct mm_struct *mm;
	u32 zero = 0;
	long bytes;

	if (!task || (task->__state & TASK_DEAD)) /* a zombie would never give its slot back */
		return 0;
	buffer = bpf_map_lookup_elem(&snapshot_buffers, &zero);
	if (!buffer)
		return 0;
	slot = slot_of(task, task->pid);
	if (!slot)
		return 0;
	head = &buffer->head;
	head->task_id = slot->task_id;
	head->tid = task->pid;
	head->state = task->__state;
	head->on_cpu = task->on_cpu;
	head->now_ns = bpf_ktime_get_ns();
	head->exec_start_ns = task->se.exec_start;
	head->last_arrival_ns = 0;
	if (bpf_core_field_exists(struct task_struct___sched_info, sched_info.last_arrival))
		head->last_arrival_ns =
			BPF_CORE_READ((struct task_struct___sched_info *)task, sched_info.last_arrival);
	head->blocker = 0;
	if (bpf_core_field_exists(struct task_struct___blocker, blocker))
		head->blocker = BPF_CORE_READ((struct task_struct___blocker *)task, blocker);
	head->owner_of_blocker = blocker_owner(head->blocker);
	mm = task->mm;
	head->vss_pages = ~0ULL;
	head->rss_pages = ~0ULL;
	if (mm) {
		head->vss_pages = BPF_CORE_READ(mm, total_vm);
		head->rss_pages = rss_pages(mm);
	}
	kernel_entry(task, &head->user_ip, &head->syscall);
	read_counters(task, &head->counters);
	head->policy = task->policy;
	head->last_cpu = slot->last_cpu;
	head->node_migrations = slot->node_migrations;
	head->flags = task->flags;
	head->frames = 0;
	bytes = 0;
	if ((snapshot_flags & RP_SNAPSHOT_STACKS) && head->state != TASK_RUNNING && !head->on_cpu) {
		bytes = bpf_get_task_stack(task, buffer->frames, sizeof(buffer->frames), 0);
		if (bytes < 0 || bytes > (long)sizeof(buffer->frames))
			bytes = 0;
		head->frames = (u32)bytes / sizeof(u64);
	}
	if ((snapshot_flags & RP_SNAPSHOT_START) && head->state != TASK_RUNNING && !head->on_cpu &&
	    !slot->out_clock) {
		/* It may wake up this very moment: then it is on a CPU or runnable by now, and the sleep is
		 * not ours. */
		slot->state = head->state;
		slot->sleep_flags = RP_SLEEP_BEFORE;
		slot->kernel_stack = 0;
		slot->user_stack = 0;
		slot->run_delay = run_delay_of(task);
		slot->out_clock = start_ns - clock_offset;
		if (task->on_cpu || task->__state == TASK_RUNNING)
			slot->out_clock = 0;
	}
	head->out_ns = slot->out_clock ? slot->out_clock + clock_offset : 0;
	head->kernel_stack = slot->kernel_stack;
	head->user_stack = slot->user_stack;
	head->sleep_flags = slot->sleep_flags;
	head->wait = slot->waits[1].lock ? slot->waits[1] : slot->waits[0];
	bpf_seq_write(ctx->meta->seq, head, sizeof(*head));
	asm volatile("" : "+r"(bytes)); /* so that the verifier sees the bounds below */
	if (bytes > 0 && bytes <= (long)sizeof(buffer->frames))
		bpf_seq_write(ctx->meta->seq, buffer->frames, bytes);
	return 0;
}
