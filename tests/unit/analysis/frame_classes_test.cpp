// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/frame_classes.h"

#include <gtest/gtest.h>

namespace rtnlprof {
namespace {

TEST(FrameClasses, CompilerSuffixesDoNotMatter) {
  EXPECT_EQ(canonical_symbol("__mutex_lock.constprop.0"), "__mutex_lock");
  EXPECT_EQ(canonical_symbol("foo.isra.0.cold"), "foo");
  EXPECT_EQ(canonical_symbol("msleep"), "msleep");
  EXPECT_EQ(canonical_symbol(""), "");
  EXPECT_TRUE(is_scheduler_frame("schedule_hrtimeout_range_clock.part.0"));
}

TEST(FrameClasses, SchedulerFramesOfAllKernels) {
  for (const char* name : {"__schedule", "schedule", "schedule_timeout", "schedule_timeout_uninterruptible",
                           "schedule_hrtimeout_range", "schedule_preempt_disabled", "wait_for_common",
                           "__wait_for_common", "_cond_resched", "__cond_resched", "cond_resched", "thread_return"}) {
    EXPECT_TRUE(is_scheduler_frame(name)) << name;
  }
  for (const char* name : {"msleep", "poll_schedule_timeout", "io_schedule", "worker_thread", "wait_for_completion",
                           "do_nanosleep", "schedule_page_work_fn", "mutex_lock", "schedule_work"}) {
    EXPECT_FALSE(is_scheduler_frame(name)) << name;
  }
  EXPECT_TRUE(is_anonymous_sleep_frame("io_schedule_timeout"));
  EXPECT_FALSE(is_anonymous_sleep_frame("poll_schedule_timeout"));
}

TEST(FrameClasses, TracingFrames) {
  for (const char* name : {"bpf_prog_9f_on_contention_begin", "bpf_trace_run2", "__bpf_trace_contention_begin",
                           "__traceiter_sched_switch", "bpf_get_stackid", "bpf_get_stack_raw_tp"}) {
    EXPECT_TRUE(is_tracing_frame(name)) << name;
  }
  EXPECT_FALSE(is_tracing_frame("bpf_check"));
  EXPECT_FALSE(is_tracing_frame("rtnl_lock"));
}

TEST(FrameClasses, LockFramesOfAllKernels) {
  EXPECT_EQ(classify_lock_frame("__mutex_lock.isra.5"), LockFrame::kMutex);
  EXPECT_EQ(classify_lock_frame("__mutex_lock_slowpath"), LockFrame::kMutex);
  EXPECT_EQ(classify_lock_frame("mutex_lock_killable"), LockFrame::kMutex);
  EXPECT_EQ(classify_lock_frame("rtnl_lock_killable"), LockFrame::kRtnl);
  EXPECT_EQ(classify_lock_frame("rwsem_down_write_failed"), LockFrame::kRwsemWrite);
  EXPECT_EQ(classify_lock_frame("rwsem_down_read_slowpath"), LockFrame::kRwsemRead);
  EXPECT_EQ(classify_lock_frame("down_write_killable"), LockFrame::kRwsemWrite);
  EXPECT_EQ(classify_lock_frame("percpu_down_write"), LockFrame::kPercpuRwsemWrite);
  EXPECT_EQ(classify_lock_frame("__percpu_down_read"), LockFrame::kPercpuRwsemRead);
  EXPECT_EQ(classify_lock_frame("rt_mutex_slowlock.constprop.0"), LockFrame::kRtmutex);
  EXPECT_EQ(classify_lock_frame("rtlock_slowlock_locked"), LockFrame::kRtmutex);
  EXPECT_EQ(classify_lock_frame("__down_interruptible"), LockFrame::kSemaphore);
  EXPECT_EQ(classify_lock_frame("__down_read"), LockFrame::kRwsemRead);
  for (const char* name : {"mutex_unlock", "rtnl_newlink", "msleep", "up_write", "rtnl_unlock", "download"}) {
    EXPECT_EQ(classify_lock_frame(name), LockFrame::kNone) << name;
  }
}

TEST(FrameClasses, RtnlWaiters) {
  EXPECT_TRUE(is_rtnl_waiter_frame("netlink_dump"));
  EXPECT_TRUE(is_rtnl_waiter_frame("addrconf_verify_work"));
  EXPECT_TRUE(is_rtnl_waiter_frame("ip_mc_join_group"));
  EXPECT_FALSE(is_rtnl_waiter_frame("genl_rcv_msg"));
  EXPECT_FALSE(is_rtnl_waiter_frame("netdev_run_todo"));
}

}  // namespace
}  // namespace rtnlprof
