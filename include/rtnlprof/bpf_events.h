/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/*
 * What the BPF programs and the collector share: the records in the ring buffers, the per-task slots that both map,
 * and the snapshot a task iterator writes. Fixed-width types only; every layout is asserted on both sides.
 * Times are CLOCK_MONOTONIC nanoseconds (bpf_ktime_get_ns).
 */

#ifdef __cplusplus
#include <cstdint>
typedef std::uint8_t rp_u8;
typedef std::uint16_t rp_u16;
typedef std::uint32_t rp_u32;
typedef std::uint64_t rp_u64;
typedef std::int32_t rp_s32;
#define RP_ASSERT_SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type)
#else
typedef __u8 rp_u8;
typedef __u16 rp_u16;
typedef __u32 rp_u32;
typedef __u64 rp_u64;
typedef __s32 rp_s32;
#define RP_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#endif

enum {
  RP_COMM_LEN = 16,      /* TASK_COMM_LEN */
  RP_KERNEL_FRAMES = 64, /* deepest kernel stack kept */
  RP_USER_FRAMES = 16,   /* deepest user stack kept */
  RP_SLOT_PROBES = 4,    /* places in task_slots a tid may live in */
  RP_PAIR_CACHE = 2,     /* wakers remembered in the slot itself */
  RP_WAIT_DEPTH = 2,     /* lock waits nested in one task (percpu rwsem over mutex) */
  RP_MAX_RINGS = 64,
  RP_MAX_CPUS = 4096,
  RP_CODE_BYTES = 64,
  RP_CACHED_FRAMES = 16,        /* deepest kernel stack that a slot remembers */
  RP_CACHED_STACK_BYTES = 2048, /* as far from the stack pointer as its frames may lie */
};

enum rp_record_type {
  RP_TASK = 1, /* a task seen for the first time, with its counters then */
  RP_EXIT = 2, /* final counters */
  RP_COMM = 3, /* exec or rename */
  RP_SLEEP = 4,
  RP_WAIT = 5,
  RP_KERNEL_STACK = 6, /* a unique stack, before the first record that names its hash */
  RP_USER_STACK = 7,
  RP_PAIR = 8, /* short sleeps of one (sleeper, waker) that found no place in the map */
};

/* Same numbers as rtnlprof::WakerContext. */
enum rp_waker_context {
  RP_CONTEXT_TASK = 0,
  RP_CONTEXT_HARDIRQ = 1,
  RP_CONTEXT_SOFTIRQ = 2,
  RP_CONTEXT_NMI = 3,
  RP_CONTEXT_UNKNOWN = 5,
};

enum rp_loss_class {
  RP_LOST_SLEEP = 0,
  RP_LOST_WAIT = 1,
  RP_LOST_STACK = 2,
  RP_LOST_TASK = 3, /* no slot left: the task is not followed */
  RP_LOST_EXIT = 4,
  RP_LOST_COMM = 5,
  RP_LOST_WAKEUPS = 6, /* short sleeps that found no place in the map or the ring */
  RP_LOSS_CLASSES = 7,
};

/* The kernel's own accounting of a task, cumulative since its fork. */
struct rp_counters {
  rp_u64 run_ns;       /* se.sum_exec_runtime */
  rp_u64 run_delay_ns; /* sched_info.run_delay; ~0 without CONFIG_SCHED_INFO */
  rp_u64 utime_ns;     /* user and system time, sampled by the tick unless VIRT_CPU_ACCOUNTING */
  rp_u64 stime_ns;
  rp_u64 nvcsw;      /* switches out that slept */
  rp_u64 nivcsw;     /* and that were preempted */
  rp_u64 migrations; /* se.nr_migrations */
};
RP_ASSERT_SIZE(struct rp_counters, 56);

struct rp_header {
  rp_u32 type;
  rp_u32 task_id;
};
RP_ASSERT_SIZE(struct rp_header, 8);

struct rp_task {
  struct rp_header header;
  rp_u32 tid;
  rp_u32 pid;
  rp_u32 ppid;
  rp_u32 ns_tid;
  rp_u32 flags; /* task_struct.flags */
  rp_u32 policy;
  rp_u64 start_ns;          /* task_struct.start_time */
  rp_u64 start_boottime_ns; /* task_struct.start_boottime */
  rp_u64 now_ns;
  struct rp_counters counters;
  char comm[RP_COMM_LEN];
};
RP_ASSERT_SIZE(struct rp_task, 128);

struct rp_exit {
  struct rp_header header;
  rp_u64 now_ns;
  struct rp_counters counters;
  rp_u32 policy;
  rp_u32 last_cpu;
  rp_u32 node_migrations;
  rp_u32 pad;
};
RP_ASSERT_SIZE(struct rp_exit, 88);

struct rp_comm {
  struct rp_header header;
  rp_u64 now_ns;
  rp_u32 is_exec;
  rp_u32 pad;
  char comm[RP_COMM_LEN];
};
RP_ASSERT_SIZE(struct rp_comm, 40);

enum rp_sleep_flags {
  RP_SLEEP_BEFORE = 1,     /* started before the recording */
  RP_SLEEP_FULL_STACK = 2, /* taken in the task's own context: scheduler frames are there */
};

struct rp_sleep {
  struct rp_header header;
  rp_u64 out_ns;
  rp_u64 wake_ns;
  rp_u64 in_ns;
  rp_u64 kernel_stack; /* hash; 0 = none */
  rp_u64 user_stack;   /* hash; 0 = none */
  rp_u64 user_ip;      /* innermost user address when there is no user stack; 0 = none */
  rp_u32 waker_id;
  rp_u32 state; /* task_struct.__state */
  rp_s32 syscall;
  rp_u8 waker_context;
  rp_u8 flags;
  rp_u16 pad;
};
RP_ASSERT_SIZE(struct rp_sleep, 72);

/* include/trace/events/lock.h */
enum rp_contention_flags {
  RP_LCB_SPIN = 1,
  RP_LCB_READ = 2,
  RP_LCB_WRITE = 4,
  RP_LCB_RT = 8,
  RP_LCB_PERCPU = 16,
  RP_LCB_MUTEX = 32,
};

enum rp_owner_flags {
  RP_OWNER_ONE_OF_MANY = 1, /* reader-held rwsem: the last reader */
};

struct rp_wait {
  struct rp_header header;
  rp_u64 lock;
  rp_u64 begin_ns;
  rp_u64 end_ns;
  rp_u64 spin_ns;
  rp_u64 kernel_stack;
  rp_u64 user_stack;
  rp_u32 owner_id;
  rp_u32 owner_flags;
  rp_u32 contention_flags;
  rp_s32 result;
};
RP_ASSERT_SIZE(struct rp_wait, 72);

struct rp_stack {
  struct rp_header header; /* task_id: whose addresses a user stack's are */
  rp_u64 hash;
  rp_u32 count; /* entries that follow: u64 addresses, or struct rp_user_frame */
  rp_u32 flags; /* enum rp_sleep_flags */
};
RP_ASSERT_SIZE(struct rp_stack, 24);

/* struct bpf_stack_build_id; status 1: build_id and file offset, 2: address only */
struct rp_user_frame {
  rp_s32 status;
  rp_u8 build_id[20];
  rp_u64 offset_or_ip;
};
RP_ASSERT_SIZE(struct rp_user_frame, 32);

struct rp_pair_key {
  rp_u32 task_id;
  rp_u32 waker_id;
  rp_u32 context;
};
RP_ASSERT_SIZE(struct rp_pair_key, 12);

struct rp_pair {
  rp_u64 count;
  rp_u64 sleeps;
  rp_u64 sleep_ns;
  rp_u64 max_ns;
};
RP_ASSERT_SIZE(struct rp_pair, 32);

struct rp_pair_record {
  struct rp_header header;
  rp_u32 waker_id;
  rp_u32 context;
  struct rp_pair pair;
};
RP_ASSERT_SIZE(struct rp_pair_record, 48);

struct rp_cached_pair {
  rp_u32 waker_id;
  rp_u32 context;
  rp_u64 count; /* 0 = empty */
  rp_u64 sleeps;
  rp_u64 sleep_ns;
  rp_u64 max_ns;
};
RP_ASSERT_SIZE(struct rp_cached_pair, 40);

/* A lock wait that has begun. lock 0 = none. */
struct rp_pending_wait {
  rp_u64 lock;
  rp_u64 begin_ns;
  rp_u64 phase_ns; /* begin of the present phase */
  rp_u64 spin_ns;  /* of finished spin phases */
  rp_u64 kernel_stack;
  rp_u64 user_stack;
  rp_u32 owner_id;
  rp_u32 owner_flags;
  rp_u32 first_flags; /* of the first contention_begin */
  rp_u32 phase_flags; /* of the present phase */
};
RP_ASSERT_SIZE(struct rp_pending_wait, 64);

/*
 * All that is known of a task now. An array mapped by the collector too; a tid lives in one of RP_SLOT_PROBES places
 * from tid modulo the size on. Only the CPU that switches the task, or that wakes it (serialized by its pi_lock),
 * writes here.
 */
struct rp_slot {
  rp_u32 tid; /* 0 = free */
  rp_u32 task_id;
  rp_u64 out_clock;  /* switch-out, scheduler's clock (bpf/clock.h); 0 = not asleep */
  rp_u64 wake_clock; /* of the latest wakeup, where the kernel does not keep it; meaningful with wake_pending */
  rp_u64 run_delay;  /* sched_info.run_delay at switch-out */
  rp_u32 waker_id;
  rp_u32 state;
  rp_u8 waker_context;
  rp_u8 wake_pending; /* a wakeup that no switch-in has consumed yet */
  rp_u8 sleep_flags;
  rp_u8 pad0;
  rp_u32 node;
  rp_u32 node_migrations;
  rp_u32 last_cpu;
  rp_u64 marked_lock; /* holds this contended lock: record every sleep of it; 0 = none */

  struct rp_cached_pair pairs[RP_PAIR_CACHE];
  rp_u64 kernel_stack; /* of the present sleep, when taken at switch-out */
  rp_u64 user_stack;
  struct rp_pending_wait waits[RP_WAIT_DEPTH];

  /* The last kernel stack of a deferred sleep, see bpf/stack_cache.h. */
  rp_u64 cached_hash;
  rp_u64 cached_top;    /* bytes from the outermost return address to the end of the stack */
  rp_u32 cached_frames; /* 0 = none */
  rp_u32 cached_bytes;  /* from the stack pointer to the last but one return address */
  rp_u16 cached_offsets[RP_CACHED_FRAMES];

  rp_s32 syscall; /* of a sleep whose stack was taken at switch-out; -1 = none */
  rp_u32 pad[9];  /* whole cache lines: neighbours belong to other tasks */
};
RP_ASSERT_SIZE(struct rp_slot, 384);

/* One contended lock now: who was seen to hold it, and how many wait. */
struct rp_lock_state {
  rp_u32 holder_tid;
  rp_u32 waiters;
};
RP_ASSERT_SIZE(struct rp_lock_state, 8);

enum rp_snapshot_flags {
  RP_SNAPSHOT_STACKS = 1, /* with kernel stacks of tasks that sleep */
  RP_SNAPSHOT_START = 2,  /* open sleeps that began before the recording */
};

/* What the task iterator writes for each thread, followed by `frames` u64 addresses. */
struct rp_snapshot {
  rp_u32 task_id;
  rp_u32 tid;
  rp_u32 state;
  rp_u32 on_cpu;
  rp_u64 now_ns;
  rp_u64 exec_start_ns;    /* se.exec_start: last accounted, in the scheduler's clock */
  rp_u64 last_arrival_ns;  /* sched_info.last_arrival; 0 = unknown */
  rp_u64 blocker;          /* task_struct.blocker: lock address and type in the low bits; 0 = none or unknown */
  rp_u64 owner_of_blocker; /* task id that owns it; 0 = unknown */
  rp_u64 vss_pages;        /* ~0 = no mm */
  rp_u64 rss_pages;
  rp_u64 user_ip;
  struct rp_counters counters;
  rp_u32 policy;
  rp_u32 last_cpu;
  rp_u32 node_migrations;
  rp_s32 syscall;
  rp_u32 frames;
  rp_u32 flags; /* task_struct.flags */
  /* From the task's slot, read at the same moment. */
  rp_u64 out_ns; /* 0 = its falling asleep was not seen */
  rp_u64 kernel_stack;
  rp_u64 user_stack;
  rp_u32 sleep_flags;
  rp_u32 pad;
  struct rp_pending_wait wait; /* the innermost */
};
RP_ASSERT_SIZE(struct rp_snapshot, 256);

/* task_struct.blocker, include/linux/hung_task.h (6.16) */
enum rp_blocker {
  RP_BLOCKER_MUTEX = 0,
  RP_BLOCKER_SEMAPHORE = 1,
  RP_BLOCKER_RWSEM_READER = 2,
  RP_BLOCKER_RWSEM_WRITER = 3,
  RP_BLOCKER_MASK = 3,
};

struct rp_run_queue {
  rp_u32 cpu;
  rp_u32 pad;
  rp_u64 address;
};
RP_ASSERT_SIZE(struct rp_run_queue, 16);
