// SPDX-License-Identifier: BSD-2-Clause
#include "capture/in_flight.h"

#include <gtest/gtest.h>

#include "capture/bpf_session.h"

namespace rtnlprof {
namespace {

constexpr std::int64_t kStart = 1'000'000;

rp_snapshot sleeping(std::uint32_t id, std::uint32_t tid) {
  rp_snapshot task{};
  task.task_id = id;
  task.tid = tid;
  task.state = 2;
  task.now_ns = 5'000'000;
  task.last_arrival_ns = 400'000;
  return task;
}

TEST(SchedulerClockOffset, TheMostRecentlyAccountedTaskHasNow) {
  std::vector<rp_snapshot> tasks{sleeping(1, 10), sleeping(2, 11)};
  tasks[1].last_arrival_ns = 4'990'000;
  EXPECT_EQ(scheduler_clock_offset_ns(tasks), 10'000);
  EXPECT_EQ(scheduler_clock_offset_ns({}), kUnknownTime);
}

TEST(InFlight, ASleepFromBeforeTheStartIsDatedByTheScheduler) {
  rp_snapshot task = sleeping(1, 10);
  task.out_ns = kStart;  // as the start-up iterator writes it
  task.sleep_flags = RP_SLEEP_BEFORE;
  const auto facts = in_flight_facts(task, kStart, 10'000, true);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->event.since_ns, 410'000);
  EXPECT_TRUE(facts->event.started_before_recording);
  EXPECT_EQ(facts->event.state, 'D');
  EXPECT_EQ(facts->event.lock, 0U);
}

TEST(InFlight, ASleepThatWasMissedIsDatedByTheSchedulerAndNotCalledOld) {
  rp_snapshot task = sleeping(1, 10);
  task.last_arrival_ns = 4'000'000;
  const auto facts = in_flight_facts(task, kStart, 10'000, true);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->event.since_ns, 4'010'000);
  EXPECT_FALSE(facts->event.started_before_recording);
}

TEST(InFlight, APendingWaitNamesLockOwnerAndBegin) {
  rp_snapshot task = sleeping(3, 26);
  task.out_ns = 2'000'500;
  task.wait.lock = 0xffff0010;
  task.wait.begin_ns = 2'000'000;
  task.wait.owner_id = 7;
  task.wait.first_flags = RP_LCB_MUTEX;
  task.wait.kernel_stack = 99;
  const auto facts = in_flight_facts(task, kStart, 10'000, true);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->event.since_ns, 2'000'000);
  EXPECT_FALSE(facts->event.started_before_recording);
  EXPECT_EQ(facts->event.lock, 0xffff0010U);
  EXPECT_EQ(facts->event.owner, 7U);
  EXPECT_EQ(facts->event.kind, LockKind::kMutex);
  EXPECT_EQ(facts->kernel_stack_hash, 99U);
}

TEST(InFlight, TheKernelsBlockerNamesTheLockOfAnOldWait) {
  rp_snapshot task = sleeping(3, 5);
  task.blocker = 0xffff0040 | RP_BLOCKER_RWSEM_WRITER;
  task.owner_of_blocker = 9;
  const auto facts = in_flight_facts(task, kStart, 10'000, true);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->event.lock, 0xffff0040U);
  EXPECT_EQ(facts->event.kind, LockKind::kRwsemWrite);
  EXPECT_EQ(facts->event.owner, 9U);
}

TEST(InFlight, RunningTasksAreNotInFlight) {
  rp_snapshot task = sleeping(1, 10);
  task.on_cpu = 1;
  EXPECT_FALSE(in_flight_facts(task, kStart, 0, true).has_value());
  task.on_cpu = 0;
  task.state = 0;
  EXPECT_FALSE(in_flight_facts(task, kStart, 0, true).has_value());
}

TEST(PlanRings, PowersOfTwoWithinTheMemoryLimit) {
  for (const std::uint32_t cpus : {1U, 2U, 6U, 16U, 64U, 256U, 1024U}) {
    const RingPlan plan = plan_rings(cpus);
    EXPECT_EQ(plan.rings & (plan.rings - 1), 0U) << cpus;
    EXPECT_EQ(plan.bytes & (plan.bytes - 1), 0U) << cpus;
    EXPECT_LE(plan.rings * plan.bytes, std::uint64_t{64} << 20) << cpus;
  }
  EXPECT_EQ(plan_rings(2).rings, 1U);
  EXPECT_EQ(plan_rings(256).rings, 64U);
}

TEST(PlanSlots, FourPerThreadWithinLimits) {
  EXPECT_EQ(plan_slots(60, 32768), 16384U);
  EXPECT_EQ(plan_slots(100'000, 4'194'304), 262144U);
  EXPECT_EQ(plan_slots(-1, -1), 16384U);
  EXPECT_EQ(plan_slots(20'000, 32768), 32768U);
}

}  // namespace
}  // namespace rtnlprof
