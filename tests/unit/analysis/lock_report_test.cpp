// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/lock_report.h"

#include <gtest/gtest.h>

#include <numeric>

#include "stream_builder.h"

namespace rtnlprof {
namespace {

using test::by_task;
using test::by_timer;
using test::find_lock;
using test::find_task;
using test::kMs;
using test::kRtnlAddress;
using test::owners_of;
using test::StreamBuilder;
using Owners = std::map<std::int32_t, std::uint64_t>;

const std::vector<std::string> kNetlinkDump{"__mutex_lock", "mutex_lock", "netlink_dump", "netlink_recvmsg"};

TEST(LockReport, LearnsRtnlFromAWaiterAndAppliesItToTheWholeAddress) {
  StreamBuilder stream;
  const TaskId a = stream.task(1, "a");
  const TaskId b = stream.task(2, "b");
  stream.wait(a, 0, 10 * kMs, 0, kNetlinkDump);  // its cb_mutex is rtnl_mutex
  stream.wait(b, 0, 20 * kMs, 0);
  const Report report = stream.finish();
  ASSERT_EQ(report.locks.size(), 1U);
  EXPECT_EQ(report.locks[0].name, "rtnl_mutex");
  EXPECT_EQ(report.locks[0].name_source, "learned from stack");
  EXPECT_EQ(report.locks[0].waits.count(), 2U);
  EXPECT_EQ(report.locks[0].instances, 1U);
  EXPECT_EQ(report.locks[0].address, kRtnlAddress);
  EXPECT_EQ(report.locks[0].kinds.at("mutex"), 2U);
}

TEST(LockReport, LearnsRtnlFromCallSitesThatTakeNothingElse) {
  StreamBuilder stream;  // a modern kernel: rtnl_lock leaves no frame
  const TaskId a = stream.task(1, "a");
  stream.wait(a, 0, 10 * kMs, 0, {"__mutex_lock.constprop.0", "linkwatch_event", "process_one_work"});
  stream.wait(a, 20 * kMs, 30 * kMs, 0, {"__mutex_lock.constprop.0", "netlink_dump"}, 0xffff0040);  // maybe genetlink
  const Report report = stream.finish();
  EXPECT_NE(find_lock(report, "rtnl_mutex"), nullptr);
  EXPECT_NE(find_lock(report, "mutex at netlink_dump"), nullptr);
}

TEST(LockReport, GivenNamesWinAndComeLate) {
  StreamBuilder stream;
  stream.wait(stream.task(1, "a"), 0, 10 * kMs, 0, {"__mutex_lock", "foo"}, 0xffff0040);
  stream.sink().on_lock({0xffff0040, "foo_mutex", "kallsyms"});
  const Report report = stream.finish();
  const LockReport* lock = find_lock(report, "foo_mutex");
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(lock->name_source, "kallsyms");
  EXPECT_EQ(lock->site, "foo");
}

TEST(LockReport, UnnamedLocksAreNamedByCallSiteAndMerged) {
  StreamBuilder stream;
  const TaskId a = stream.task(1, "a");
  const std::vector<std::string> site{"bpf_trace_run2", "__mutex_lock.isra.0", "mutex_lock", "foo.constprop.1"};
  stream.wait(a, 0, 10 * kMs, 0, site, 0x1040);
  stream.wait(a, 20 * kMs, 50 * kMs, 0, site, 0x2040);
  const Report report = stream.finish();
  const LockReport* lock = find_lock(report, "mutex at foo");
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(lock->instances, 2U);
  EXPECT_FALSE(lock->address);
  EXPECT_EQ(lock->waits.count(), 2U);
  EXPECT_EQ(lock->waits.total_ns(), 40U * kMs);
}

TEST(LockReport, RtnlIsListedWithoutAWait) {
  StreamBuilder stream;
  stream.sink().on_probe({"contention_begin", "tp_btf", "active", ""});
  const Report report = stream.finish();
  ASSERT_EQ(report.locks.size(), 1U);
  EXPECT_EQ(report.locks[0].name, "rtnl_mutex");
  EXPECT_TRUE(report.locks[0].waits.empty());
  EXPECT_FALSE(report.locks[0].holds);
  StreamBuilder refused;
  refused.sink().on_probe({"contention_begin", "tp_btf", "refused", "no BTF"});
  EXPECT_TRUE(refused.finish().locks.empty());
}

TEST(LockReport, SleepsInASlowPathAreInferredWaits) {
  StreamBuilder stream;
  const TaskId holder = stream.task(9, "snmpd");
  const TaskId a = stream.task(1, "a");
  stream.sleep(a, 0, 100 * kMs, {"schedule", "__mutex_lock_slowpath", "mutex_lock", "rtnl_lock", "f"}, by_task(holder));
  stream.sleep(a, 200 * kMs, 230 * kMs, {"schedule", "__mutex_lock", "netlink_dump"}, by_task(holder));
  stream.sleep(a, 300 * kMs, 310 * kMs, {"schedule", "rwsem_down_read_slowpath", "down_read", "g"}, by_timer());
  stream.sleep(a, 400 * kMs, 410 * kMs, {"schedule", "msleep", "h"}, by_timer());
  const Report report = stream.finish();
  ASSERT_EQ(report.locks.size(), 2U);
  const LockReport& rtnl = report.locks[0];
  EXPECT_EQ(rtnl.name, "rtnl_mutex");
  EXPECT_EQ(rtnl.waits.total_ns(), 130U * kMs);
  EXPECT_EQ(rtnl.wait_sources.at("stack"), 2U);
  EXPECT_EQ(rtnl.instances, 0U);
  EXPECT_EQ(owners_of(rtnl, 1), (Owners{{9, 130 * kMs}}));
  EXPECT_EQ(report.locks[1].name, "rwsem at g");
  EXPECT_EQ(report.locks[1].kinds.at("rwsem_read"), 1U);
  EXPECT_EQ(owners_of(report.locks[1], 1), (Owners{{0, 10 * kMs}}));
}

TEST(LockReport, IncompleteStacksStillShowRtnl) {
  StreamBuilder stream;  // taken of a switched-out task: .sched.text is missing
  stream.sleep(stream.task(1, "a"), 0, 100 * kMs, {"rtnl_lock", "dev_ioctl"}, by_timer(), 'D', false);
  EXPECT_NE(find_lock(stream.finish(), "rtnl_mutex"), nullptr);
}

TEST(LockReport, ASleepInsideAWaitIsNoSecondWait) {
  const auto report_of = [](bool sleep_first) {
    StreamBuilder stream;
    const TaskId holder = stream.task(9, "holder");
    const TaskId a = stream.task(1, "a");
    const auto sleep = [&] {
      stream.sleep(a, 2 * kMs, 98 * kMs, {"schedule", "__mutex_lock", "mutex_lock", "rtnl_lock"}, by_task(holder));
    };
    if (sleep_first) sleep();
    stream.wait(a, 0, 100 * kMs, 0);
    if (!sleep_first) sleep();
    return stream.finish();
  };
  for (const bool sleep_first : {true, false}) {
    const Report report = report_of(sleep_first);
    ASSERT_EQ(report.locks.size(), 1U);
    EXPECT_EQ(report.locks[0].waits.count(), 1U);
    EXPECT_EQ(report.locks[0].waits.total_ns(), 100U * kMs);
    EXPECT_EQ(owners_of(report.locks[0], 1), (Owners{{9, 100 * kMs}}));  // its waker released the lock
  }
}

TEST(LockReport, AReportDoesNotDependOnTheOrderOfTheEvents) {
  const auto owners = [](bool sleep_first) {
    StreamBuilder stream;
    const TaskId holder = stream.task(9, "holder");
    const TaskId a = stream.task(1, "a");
    const auto sleep = [&] {
      stream.sleep(a, 2 * kMs, 98 * kMs, {"__mutex_lock", "dev_ioctl"}, by_task(holder));
      stream.sleep(a, 99 * kMs, 99 * kMs + 1, {"dev_ioctl"}, by_task(holder), 'S', false);
    };
    if (sleep_first) sleep();
    stream.wait(a, 0, 100 * kMs, 0);
    if (!sleep_first) sleep();
    return owners_of(stream.finish().locks[0], 1);
  };
  EXPECT_EQ(owners(true), owners(false));
  EXPECT_EQ(owners(true).at(9), static_cast<std::uint64_t>(100 * kMs));
}

TEST(LockReport, AnOldOwnerOfAWaitInFlightGivesWayToWhoGotTheLockSince) {
  StreamBuilder stream;
  const TaskId a = stream.task(1, "a");
  const TaskId b = stream.task(2, "b");
  const TaskId c = stream.task(3, "c");
  stream.wait(b, 10 * kMs, 30 * kMs, a);
  InFlight event;
  event.task = c;
  event.state = 'D';
  event.lock = kRtnlAddress;
  event.since_ns = 20 * kMs;
  event.owner = a;
  stream.sink().on_in_flight(event);
  const Report report = stream.finish();
  ASSERT_EQ(report.locks[0].in_flight.size(), 1U);
  ASSERT_TRUE(report.locks[0].in_flight[0].owner.has_value());
  EXPECT_EQ(report.locks[0].in_flight[0].owner->tid, 2);
  EXPECT_EQ(find_task(report, 3)->in_flight[0].owner->tid, 2);
}

TEST(LockReport, WhoGaveUpIsCountedAndGotNothing) {
  StreamBuilder stream;
  const TaskId holder = stream.task(9, "holder");
  const TaskId a = stream.task(1, "a");
  const TaskId b = stream.task(2, "b");
  stream.wait(a, 0, 50 * kMs, holder, {"__mutex_lock", "rtnl_lock_killable"}, kRtnlAddress, -4);
  stream.wait(b, 10 * kMs, 100 * kMs, holder);
  const Report report = stream.finish();
  const LockReport& rtnl = report.locks[0];
  EXPECT_EQ(rtnl.failed, 1U);
  EXPECT_EQ(rtnl.waits.count(), 2U);
  EXPECT_EQ(owners_of(rtnl, 2), (Owners{{9, 90 * kMs}}));
}

TEST(LockReport, AQueueOfWaitersIsSplitAtEveryHandOver) {
  StreamBuilder stream;
  const TaskId holder = stream.task(9, "holder");
  const TaskId a = stream.task(1, "a");
  const TaskId b = stream.task(2, "b");
  stream.wait(a, 0, 100 * kMs, holder);
  stream.wait(b, 10 * kMs, 160 * kMs, holder);
  const Report report = stream.finish();
  const LockReport& rtnl = report.locks[0];
  EXPECT_EQ(owners_of(rtnl, 1), (Owners{{9, 100 * kMs}}));
  EXPECT_EQ(owners_of(rtnl, 2), (Owners{{9, 90 * kMs}, {1, 60 * kMs}}));
  ASSERT_EQ(rtnl.holders.size(), 2U);
  EXPECT_EQ(rtnl.holders[0].task.tid, 9);
  EXPECT_EQ(rtnl.holders[0].waited_on_ns, 190U * kMs);
  EXPECT_FALSE(rtnl.holders[0].holds);  // since when it held is not known
  EXPECT_EQ(rtnl.holders[1].holds->total_ns(), 60U * kMs);
  EXPECT_EQ(rtnl.hold_source, "contention");
  ASSERT_EQ(rtnl.worst.size(), 2U);
  EXPECT_EQ(rtnl.worst[0].waiter.tid, 2);
  EXPECT_EQ(rtnl.worst[0].holder->tid, 9);
  EXPECT_EQ(rtnl.worst[0].holder_ns, 90U * kMs);
  EXPECT_EQ(find_task(report, 9)->waited_on_ns, 190U * kMs);
}

TEST(LockReport, HoldEventsAreExact) {
  StreamBuilder stream;
  const TaskId x = stream.task(8, "x");
  const TaskId y = stream.task(9, "y");
  const TaskId a = stream.task(1, "a");
  stream.hold(x, -50 * kMs, 30 * kMs);
  stream.hold(y, 40 * kMs, 100 * kMs);
  stream.wait(a, 0, 101 * kMs, x);
  const Report report = stream.finish();
  const LockReport& rtnl = report.locks[0];
  // Between the holds the last holder seen counts until y comes, after them until a has got it.
  EXPECT_EQ(owners_of(rtnl, 1), (Owners{{8, 40 * kMs}, {9, 61 * kMs}}));
  EXPECT_EQ(rtnl.hold_source, "probes");
  EXPECT_EQ(rtnl.holds->count(), 2U);
  EXPECT_EQ(rtnl.holds->total_ns(), 140U * kMs);
}

TEST(LockReport, OwnersAddUpToTheWait) {
  StreamBuilder stream;
  std::vector<TaskId> tasks;
  for (std::int32_t tid = 1; tid <= 8; ++tid) tasks.push_back(stream.task(tid, "t"));
  std::uint64_t state = 7;
  const auto random = [&](std::uint64_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33U) % limit);
  };
  for (const TaskId task : tasks) {
    std::int64_t at = 0;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t begin = at + random(1000);
      at = begin + random(5000);
      stream.wait(task, begin, at, random(2) == 0 ? 0 : tasks[static_cast<std::size_t>(random(8))]);
    }
  }
  const Report report = stream.finish();
  std::uint64_t on_holders = report.locks[0].unknown_owner_ns;
  for (const LockHolder& holder : report.locks[0].holders) on_holders += holder.waited_on_ns;
  EXPECT_EQ(on_holders, report.locks[0].waits.total_ns());
  for (const LockWaiter& waiter : report.locks[0].waiters) {
    std::uint64_t sum = 0;
    for (const OwnerShare& owner : waiter.owners) sum += owner.waited_ns;
    EXPECT_EQ(sum, waiter.waits.total_ns());
  }
}

TEST(LockReport, MinWaitHidesShortOnesButKeepsTheirEvidence) {
  AnalyzerOptions options;
  options.filter.min_wait_ns = 50 * kMs;
  StreamBuilder stream(options);
  const TaskId holder = stream.task(9, "holder");
  const TaskId a = stream.task(1, "a");
  const TaskId b = stream.task(2, "b");
  stream.wait(a, 0, 20 * kMs, holder);
  stream.wait(b, 0, 100 * kMs, holder);
  const Report report = stream.finish();
  EXPECT_EQ(report.locks[0].waits.count(), 1U);
  EXPECT_EQ(owners_of(report.locks[0], 2), (Owners{{9, 20 * kMs}, {1, 80 * kMs}}));
}

TEST(LockReport, LockFilterKeepsOthersOut) {
  AnalyzerOptions options;
  options.filter.locks = {"mutex at *"};
  StreamBuilder stream(options);
  const TaskId a = stream.task(1, "a");
  stream.wait(a, 0, 20 * kMs, 0);
  stream.wait(a, 30 * kMs, 40 * kMs, 0, {"__mutex_lock", "foo"}, 0x40);
  const Report report = stream.finish();
  ASSERT_EQ(report.locks.size(), 1U);
  EXPECT_EQ(report.locks[0].name, "mutex at foo");
}

TEST(LockReport, WhoIsStillWaitingIsListed) {
  StreamBuilder stream;
  const TaskId holder = stream.task(9, "holder");
  const TaskId a = stream.task(1, "a");
  InFlight in_flight;
  in_flight.task = a;
  in_flight.since_ns = -5'000 * kMs;
  in_flight.state = 'D';
  in_flight.owner = holder;
  in_flight.kernel_stack = stream.stack({"__mutex_lock", "mutex_lock", "rtnl_lock", "dev_ioctl"});
  in_flight.started_before_recording = true;
  stream.sink().on_in_flight(in_flight);
  // A piece of the same wait; it is no wait of its own.
  stream.sleep(a, 0, 10 * kMs, {"__mutex_lock", "mutex_lock", "rtnl_lock", "dev_ioctl"}, by_timer());
  const Report report = stream.finish(10'000 * kMs);
  ASSERT_EQ(report.locks.size(), 1U);
  const LockReport& rtnl = report.locks[0];
  EXPECT_TRUE(rtnl.waits.empty());
  ASSERT_EQ(rtnl.in_flight.size(), 1U);
  EXPECT_EQ(rtnl.in_flight[0].waited_ns, 15'000U * kMs);
  EXPECT_EQ(rtnl.in_flight[0].owner->tid, 9);
  const TaskReport* task = find_task(report, 1);
  ASSERT_EQ(task->in_flight.size(), 1U);
  EXPECT_EQ(task->in_flight[0].lock, "rtnl_mutex");
}

TEST(LockReport, LocksKnownByNameOnlyHaveNoAddress) {
  StreamBuilder stream;  // importers make up a non-canonical address
  const TaskId a = stream.task(1, "a");
  constexpr std::uint64_t kMadeUp = 0x0001'0000'0000'0000;
  stream.sink().on_lock({kMadeUp, "cgroup_mutex", "import"});
  stream.wait(a, 0, 20 * kMs, 0, {}, kMadeUp);
  const Report report = stream.finish();
  const LockReport* lock = find_lock(report, "cgroup_mutex");
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(lock->waits.count(), 1U);
  EXPECT_EQ(lock->instances, 0U);
  EXPECT_FALSE(lock->address);
}

TEST(LockReport, SpinningIsKeptApart) {
  StreamBuilder stream;
  Wait wait;
  wait.task = stream.task(1, "a");
  wait.lock = kRtnlAddress;
  wait.end_ns = 10 * kMs;
  wait.spin_ns = 2 * kMs;
  stream.sink().on_wait(wait);
  stream.sink().on_lock({kRtnlAddress, "rtnl_mutex", "kallsyms"});
  const Report report = stream.finish();
  EXPECT_EQ(report.locks[0].spin_ns, 2U * kMs);
  EXPECT_EQ(report.locks[0].kinds.at("unknown"), 1U);
}

TEST(WallClock, IsRfc3339InUtc) {
  EXPECT_EQ(wall_clock(1'500'000'000, 1'700'000'000'000'000'000), "2023-11-14T22:13:21.500000Z");
  EXPECT_EQ(wall_clock(0, -1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(wall_clock(0, kUnknownTime), "");
  EXPECT_EQ(wall_clock(INT64_MAX, 1), "");
}

}  // namespace
}  // namespace rtnlprof
