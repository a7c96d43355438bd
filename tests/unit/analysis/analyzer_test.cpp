// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/analyzer.h"

#include <gtest/gtest.h>

#include "stream_builder.h"

namespace rtnlprof {
namespace {

using test::by_task;
using test::by_timer;
using test::find_lock;
using test::find_task;
using test::kMs;
using test::names;
using test::StreamBuilder;
using Symbols = std::vector<std::string>;

TEST(Analyzer, AnEmptyStreamGivesAnEmptyReport) {
  Analyzer analyzer;
  const Report report = analyzer.finish({false, {"nothing in it"}});
  EXPECT_FALSE(report.recording.complete);
  EXPECT_TRUE(report.tasks.empty());
  EXPECT_TRUE(report.locks.empty());
  EXPECT_EQ(report.recording.duration_ns, 0U);
  EXPECT_EQ(report.recording.notes, Symbols{"nothing in it"});
}

TEST(Analyzer, WithoutAFooterItEndsWithTheLastEvent) {
  StreamBuilder stream;
  stream.sleep(stream.task(7, "a"), 1 * kMs, 5 * kMs, {"msleep"}, by_timer());
  const Report report = stream.sink().finish({true, {}});
  EXPECT_FALSE(report.recording.complete);
  EXPECT_EQ(report.recording.duration_ns, 5 * kMs + 1000U);
}

TEST(Analyzer, SharesAreOfRunSleepAndRunQueue) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "a");
  SchedulerTotals totals;
  totals.task = task;
  totals.run_ns = 20 * kMs;
  totals.sys_ns = 15 * kMs;
  totals.runq_ns = 10 * kMs;
  stream.sink().on_scheduler(totals);
  stream.sleep(task, 0, 50 * kMs, {"schedule", "msleep", "f"}, by_timer());
  stream.wakeups(task, by_timer(), 4, 4, 20 * kMs, 8 * kMs);
  const Report report = stream.finish();
  const TaskReport* found = find_task(report, 7);
  ASSERT_NE(found, nullptr);
  const SchedulerReport& s = found->scheduler;
  EXPECT_EQ(s.sleep_ns, 70 * kMs);
  EXPECT_EQ(s.sleeps, 5U);
  EXPECT_DOUBLE_EQ(*s.share(s.run_ns), 0.2);
  EXPECT_DOUBLE_EQ(*s.share(s.sys_ns), 0.15);
  EXPECT_DOUBLE_EQ(*s.share(s.sleep_ns), 0.7);
  EXPECT_FALSE(s.share(s.user_ns));
  EXPECT_FALSE(s.switches);
  ASSERT_EQ(found->sleep_functions.size(), 2U);
  const SleepFunction& msleep = found->sleep_functions[0];
  EXPECT_EQ(msleep.function, "msleep");
  EXPECT_DOUBLE_EQ(*msleep.share_of_count, 0.2);
  EXPECT_DOUBLE_EQ(*msleep.share_of_sleep, 5.0 / 7);
  EXPECT_DOUBLE_EQ(*msleep.share_of_total, 0.5);
  EXPECT_TRUE(found->sleep_functions[1].remainder);
  EXPECT_EQ(found->sleep_functions[1].max_ns, 8U * kMs);
}

TEST(Analyzer, WhatIsNotMeasuredStaysUnknown) {
  StreamBuilder stream;
  stream.sleep(stream.task(7, "a"), 0, 50 * kMs, {"msleep"}, by_timer());
  const Report report = stream.finish();
  const TaskReport* task = find_task(report, 7);
  ASSERT_NE(task, nullptr);
  EXPECT_FALSE(task->scheduler.run_ns);
  EXPECT_FALSE(task->scheduler.share(task->scheduler.sleep_ns));
  EXPECT_FALSE(task->sleep_functions[0].share_of_total);
  EXPECT_TRUE(report.locks.empty());  // no lock probes, no lock facts
  EXPECT_FALSE(report.recording.bpf_ns);
  EXPECT_FALSE(report.recording.overhead_share);
}

TEST(Analyzer, GivenTotalsWinOverSums) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "a");
  stream.sleep(task, 0, 50 * kMs, {"msleep"}, by_timer());
  SchedulerTotals totals;
  totals.task = task;
  totals.sleep_ns = 80 * kMs;
  totals.sleeps = 9;
  stream.sink().on_scheduler(totals);
  const Report report = stream.finish();
  EXPECT_EQ(find_task(report, 7)->scheduler.sleep_ns, 80U * kMs);
  EXPECT_EQ(find_task(report, 7)->scheduler.sleeps, 9U);
}

TEST(Analyzer, SystemTotalsAreKnownWhenAllTasksAre) {
  const auto run_of = [](bool second_measured) {
    StreamBuilder stream;
    for (const std::int32_t tid : {7, 8}) {
      const TaskId task = stream.task(tid, "a");
      SchedulerTotals totals;
      totals.task = task;
      totals.run_ns = 20 * kMs;
      if (tid == 7 || second_measured) stream.sink().on_scheduler(totals);
      if (tid == 8) stream.sleep(task, 0, 50 * kMs, {"msleep"}, by_timer());
    }
    stream.wakeups(stream.task(9, "never ran"), by_timer(), 1, 0, 0, 0);
    return stream.finish().system.scheduler;
  };
  EXPECT_EQ(run_of(true).run_ns, 40U * kMs);
  EXPECT_EQ(run_of(true).sleep_ns, 50U * kMs);
  EXPECT_FALSE(run_of(false).run_ns);
}

TEST(Analyzer, SleepIsNamedByTheFirstFrameThatSaysSomething) {
  const auto name_of = [](const Symbols& kernel) {
    StreamBuilder stream;
    stream.sleep(stream.task(7, "a"), 0, kMs, kernel, by_timer());
    return find_task(stream.finish(), 7)->sleep_functions[0].function;
  };
  EXPECT_EQ(name_of({"__schedule", "schedule", "schedule_timeout", "msleep", "f"}), "msleep");
  EXPECT_EQ(name_of({"schedule_hrtimeout_range_clock", "poll_schedule_timeout.constprop.0", "do_sys_poll"}),
            "poll_schedule_timeout.constprop.0");
  EXPECT_EQ(name_of({"__schedule", "schedule", "io_schedule", "folio_wait_bit_common"}), "folio_wait_bit_common");
  EXPECT_EQ(name_of({"schedule_timeout", "__wait_for_common", "wait_for_completion"}), "wait_for_completion");
  EXPECT_EQ(name_of({"", "bpf_trace_run4", "__traceiter_sched_switch", "__schedule", "schedule", "do_nanosleep"}),
            "do_nanosleep");
  EXPECT_EQ(name_of({"__schedule", "schedule"}), "schedule");  // nothing better
  EXPECT_EQ(name_of({}), "(no stack)");
  // A sleep inside of schedule() itself, flushing a plug: the outer schedule is no top frame.
  EXPECT_EQ(name_of({"schedule", "io_schedule", "blk_mq_get_tag", "blk_flush_plug", "schedule", "msleep"}),
            "blk_mq_get_tag");
}

TEST(Analyzer, StacksThatReadAlikeAreOne) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "a");
  stream.sleep(task, 0, 2 * kMs, {"schedule", "io_schedule", "bit_wait_io", "f"}, by_timer());
  stream.sleep(task, 3 * kMs, 4 * kMs, {"io_schedule", "bit_wait_io", "f"}, by_timer());  // other frame ids
  const Report report = stream.finish();
  const auto& stacks = find_task(report, 7)->sleep_stacks;
  ASSERT_EQ(stacks.size(), 1U);
  EXPECT_EQ(stacks[0].count, 2U);
  EXPECT_EQ(names(stacks[0].stack.kernel), (Symbols{"io_schedule", "bit_wait_io", "f"}));
  EXPECT_DOUBLE_EQ(*stacks[0].share_of_wait, 1.0);
}

TEST(Analyzer, FramesMayGetTheirNamesLater) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "a");
  Frame frame;
  frame.id = 500;
  frame.user = true;
  frame.module = "/usr/lib/libc.so.6";
  frame.file_offset = 0x1234;
  stream.sink().on_frame(frame);
  stream.sink().on_stack({500, true, true, {500}});
  Sleep sleep;
  sleep.task = task;
  sleep.wake_ns = kMs;
  sleep.user_stack = 500;
  stream.sink().on_sleep(sleep);
  EXPECT_EQ(frame.symbol, "");
  frame.symbol = "nanosleep";
  stream.sink().on_frame(frame);
  const Report report = stream.finish();
  EXPECT_EQ(names(find_task(report, 7)->sleep_stacks[0].stack.user), Symbols{"nanosleep"});
}

TEST(Analyzer, NamelessUserFramesShowFileAndOffset) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "a");
  Frame frame;
  frame.id = 500;
  frame.user = true;
  frame.unreliable = true;
  frame.module = "/usr/lib/libc.so.6";
  frame.file_offset = 0x1234;
  stream.sink().on_frame(frame);
  stream.sink().on_stack({500, true, true, {500, 501}});
  Sleep sleep;
  sleep.task = task;
  sleep.wake_ns = kMs;
  sleep.user_stack = 500;
  stream.sink().on_sleep(sleep);
  const Report report = stream.finish();
  const CallStack& stack = find_task(report, 7)->sleep_stacks[0].stack;
  EXPECT_EQ(names(stack.user), (Symbols{"libc.so.6+0x1234", "unknown"}));
  EXPECT_EQ(stack.user->reliable, 0U);
}

TEST(Analyzer, MinSleepMovesShorterOnesToTheRemainder) {
  AnalyzerOptions options;
  options.filter.min_sleep_ns = 10 * kMs;
  StreamBuilder stream(options);
  const TaskId task = stream.task(7, "a");
  stream.sleep(task, 0, 9 * kMs, {"msleep"}, by_timer());
  stream.sleep(task, 20 * kMs, 30 * kMs, {"msleep"}, by_timer());
  const Report report = stream.finish();
  const TaskReport* found = find_task(report, 7);
  EXPECT_EQ(found->scheduler.sleep_ns, 19U * kMs);
  ASSERT_EQ(found->sleep_functions.size(), 2U);
  EXPECT_EQ(found->sleep_functions[0].total_ns, 10U * kMs);
  EXPECT_EQ(found->sleep_functions[1].function, "(shorter than 10ms)");
  EXPECT_EQ(found->sleep_functions[1].total_ns, 9U * kMs);
  EXPECT_EQ(found->sleep_stacks[1].label, "(shorter than 10ms)");
}

TEST(Analyzer, BothHalvesOfCooperation) {
  StreamBuilder stream;
  const TaskId a = stream.task(7, "a");
  const TaskId b = stream.task(8, "b");
  stream.sleep(a, 0, 30 * kMs, {"msleep"}, by_task(b));
  stream.sleep(a, 40 * kMs, 50 * kMs, {"msleep"}, by_timer());
  stream.sleep(a, 60 * kMs, 70 * kMs, {"msleep"}, {b, WakerContext::kSoftirq});  // b was only interrupted
  stream.wakeups(a, by_task(b), 3, 1, 50 * kMs, 50 * kMs);
  stream.sleep(a, 80 * kMs, 81 * kMs, {"msleep"}, {});
  const Report report = stream.finish();
  const TaskReport* woken = find_task(report, 7);
  ASSERT_EQ(woken->woken_by.size(), 4U);
  EXPECT_EQ(woken->woken_by[0].task.tid, 8);
  EXPECT_EQ(woken->woken_by[0].count, 4U);
  EXPECT_EQ(woken->woken_by[0].sleep_ns, 80U * kMs);
  EXPECT_DOUBLE_EQ(*woken->woken_by[0].share, 80.0 / 101);
  EXPECT_EQ(woken->woken_by[1].task.tid, -1);
  EXPECT_EQ(woken->woken_by[1].task.comm, "ICS");
  EXPECT_EQ(woken->woken_by[2].task.tid, -1);
  EXPECT_EQ(woken->woken_by[3].context, WakerContext::kUnknown);
  EXPECT_EQ(woken->woken_by[3].task.comm, "unknown");
  const TaskReport* waker = find_task(report, 8);
  ASSERT_EQ(waker->woke.size(), 1U);
  EXPECT_EQ(waker->woke[0].task.tid, 7);
  EXPECT_DOUBLE_EQ(*waker->woke[0].share, 80.0 / 101);  // of the other's sleep
  EXPECT_EQ(waker->scheduler.wakeups, 4U);
}

TEST(Analyzer, AReusedTidIsAnotherTask) {
  StreamBuilder stream;
  const TaskId first = stream.task(7, "old");
  stream.sleep(first, 0, 10 * kMs, {"msleep"}, by_timer());
  const TaskId second = stream.task(7, "new");
  stream.sleep(second, 20 * kMs, 25 * kMs, {"msleep"}, by_timer());
  const Report report = stream.finish();
  ASSERT_EQ(report.tasks.size(), 2U);
  EXPECT_EQ(report.tasks[0].task.comm, "old");
  EXPECT_EQ(report.tasks[0].scheduler.sleep_ns, 10U * kMs);
  EXPECT_EQ(report.tasks[1].task.comm, "new");
}

TEST(Analyzer, EventsOfUndefinedTasksAreKept) {
  StreamBuilder stream;
  stream.sleep(99, 0, 10 * kMs, {"msleep"}, by_timer());
  stream.sleep(0, 0, 5 * kMs, {"msleep"}, by_timer());
  const Report report = stream.finish();
  ASSERT_EQ(report.tasks.size(), 2U);
  EXPECT_EQ(report.tasks[0].task.comm, "unknown");
}

TEST(Analyzer, AKworkerShowsWhatItRuns) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "kworker/0:1");
  stream.sleep(task, 0, 10 * kMs, {"msleep", "foo_work", "process_one_work", "worker_thread"}, by_timer());
  stream.sleep(task, 20 * kMs, 21 * kMs, {"msleep", "bar", "bar_work.cold", "process_one_work"}, by_timer());
  const Report report = stream.finish();
  EXPECT_EQ(find_task(report, 7)->task.work, "foo_work");
}

TEST(Analyzer, FiltersChooseWhoIsShown) {
  AnalyzerOptions options;
  options.filter.comms = {"if*"};
  StreamBuilder stream(options);
  const TaskId victim = stream.task(7, "ifconfig");
  const TaskId holder = stream.task(8, "snmpd");
  const TaskId other = stream.task(9, "ip");
  stream.wait(victim, 0, 100 * kMs, holder);
  stream.wait(other, 10 * kMs, 150 * kMs, holder);
  stream.sleep(holder, 0, 90 * kMs, {"msleep"}, by_timer());
  const Report report = stream.finish();
  EXPECT_TRUE(report.filtered);
  ASSERT_EQ(report.tasks.size(), 1U);
  EXPECT_EQ(report.tasks[0].task.comm, "ifconfig");
  const LockReport* rtnl = find_lock(report, "rtnl_mutex");
  ASSERT_NE(rtnl, nullptr);
  EXPECT_EQ(rtnl->waits.count(), 1U);
  ASSERT_FALSE(rtnl->holders.empty());
  EXPECT_EQ(rtnl->holders[0].task.comm, "snmpd");  // kept, or the answer would be lost
}

TEST(Analyzer, CutsListsOnlyWhenAsked) {
  AnalyzerOptions options;
  options.top = 1;
  StreamBuilder stream(options);
  for (std::int32_t tid = 1; tid <= 5; ++tid) {
    stream.sleep(stream.task(tid, "t"), 0, tid * kMs, {"msleep"}, by_timer());
  }
  const Report report = stream.finish();
  ASSERT_EQ(report.tasks.size(), 1U);
  EXPECT_EQ(report.tasks[0].task.tid, 5);
}

TEST(Analyzer, WhatWasInFlightAtTheStartHasBecomeEventsByTheEnd) {
  const auto in_flight_rows = [](bool complete) {
    StreamBuilder stream;
    InFlight event;
    event.task = stream.task(7, "sleeper");
    event.state = 'D';
    event.since_ns = -kMs;
    event.at_end = false;
    stream.sink().on_in_flight(event);
    event.at_end = true;
    if (complete) stream.sink().on_in_flight(event);
    StreamQuality quality;
    quality.complete = complete;
    return stream.sink().finish(quality).tasks.at(0).in_flight.size();
  };
  EXPECT_EQ(in_flight_rows(true), 1U);
  EXPECT_EQ(in_flight_rows(false), 1U) << "of a killed recording, the start is all that is known";
}

TEST(Analyzer, AWaiterThatGetsTheLockDoesNotHoldItMeanwhile) {
  StreamBuilder stream;
  const TaskId one = stream.task(1, "one");
  const TaskId two = stream.task(2, "two");
  stream.wait(one, 0, 10 * kMs, two);
  stream.wait(one, 20 * kMs, 30 * kMs, 0);  // last seen to hold it: one itself, at 10 ms
  const Report report = stream.finish();
  const LockWaiter& waiter = report.locks.at(0).waiters.at(0);
  for (const OwnerShare& owner : waiter.owners) {
    EXPECT_TRUE(!owner.task || owner.task->tid == 2);
    EXPECT_EQ(owner.waited_ns, static_cast<std::uint64_t>(10 * kMs));
  }
  EXPECT_EQ(waiter.owners.size(), 2U);
}

TEST(Analyzer, SuspendsCutEpochs) {
  StreamBuilder stream;
  stream.sink().on_suspend({100 * kMs, 105 * kMs, 3'000'000'000, "mem"});
  const Report report = stream.finish(400 * kMs);
  ASSERT_EQ(report.recording.epochs.size(), 2U);
  EXPECT_EQ(report.recording.epochs[0].end_ns, 100 * kMs);
  EXPECT_EQ(report.recording.epochs[1].begin_ns, 105 * kMs);
  EXPECT_EQ(report.recording.epochs[1].suspended_ns, 3'000'000'000U);
  EXPECT_EQ(report.recording.epochs[1].end_ns, 400 * kMs);
}

TEST(Filter, CgroupsStandForWhatIsBelow) {
  Filter filter;
  filter.cgroups = {"/system.slice/"};
  Task task;
  task.cgroup = "/system.slice/a.service";
  EXPECT_TRUE(filter.selects_task(task));
  task.cgroup = "/system.slicer";
  EXPECT_FALSE(filter.selects_task(task));
  filter.cgroups = {"/"};
  EXPECT_TRUE(filter.selects_task(task));
}

}  // namespace
}  // namespace rtnlprof
