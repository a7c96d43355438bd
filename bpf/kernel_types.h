/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/*
 * The kernel structs and fields that the programs touch, and no others. Offsets are relocated at load time
 * against the running kernel's BTF (CO-RE), so order and size here mean nothing. Fields that only some
 * kernels have are in kernel_compat.h.
 */

typedef unsigned char __u8;
typedef short int __s16;
typedef short unsigned int __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long int __s64;
typedef long long unsigned int __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define NULL ((void *)0)
#define true 1
#define false 0

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum {
	BPF_F_MMAPABLE = 1 << 10,
	BPF_F_USER_STACK = 1 << 8,
	BPF_F_USER_BUILD_ID = 1 << 11,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	u64 nr_migrations;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct mm_struct {
	unsigned long total_vm;
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	unsigned int policy;
	struct sched_entity se;
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	u64 utime;
	u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_time;
	u64 start_boottime;
	char comm[16];
};

struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long orig_ax;
	unsigned long ip;
#else
	u64 pc;
	s32 syscallno;
#endif
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* include/linux/sched.h */
enum {
	TASK_RUNNING = 0,
	TASK_INTERRUPTIBLE = 0x1,
	TASK_UNINTERRUPTIBLE = 0x2,
	TASK_DEAD = 0x80,
	TASK_NOLOAD = 0x400,
	PF_KTHREAD = 0x00200000,
};
