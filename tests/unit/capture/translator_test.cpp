// SPDX-License-Identifier: BSD-2-Clause
#include "capture/translator.h"

#include <gtest/gtest.h>

#include <cstring>

#include "event_log.h"

namespace rtnlprof {
namespace {

class Batch {
 public:
  template <typename T>
  Batch& add(const T& record) {
    return add_bytes(&record, sizeof(record));
  }
  Batch& add_stack(std::uint64_t hash, const std::vector<std::uint64_t>& addresses) {
    rp_stack head{};
    head.header.type = RP_KERNEL_STACK;
    head.hash = hash;
    head.count = static_cast<std::uint32_t>(addresses.size());
    std::vector<std::byte> record(sizeof(head) + addresses.size() * 8);
    std::memcpy(record.data(), &head, sizeof(head));
    std::memcpy(record.data() + sizeof(head), addresses.data(), addresses.size() * 8);
    return add_bytes(record.data(), record.size());
  }
  Batch& add_bytes(const void* data, std::size_t size) {
    const auto length = static_cast<std::uint32_t>(size);
    const std::size_t at = bytes.size();
    bytes.resize(at + 4 + size);
    std::memcpy(bytes.data() + at, &length, 4);
    std::memcpy(bytes.data() + at + 4, data, size);
    return *this;
  }
  std::vector<std::byte> bytes;
};

rp_task make_task(std::uint32_t id, std::uint32_t tid, const char* comm) {
  rp_task task{};
  task.header = {RP_TASK, id};
  task.tid = tid;
  task.pid = tid;
  std::strncpy(task.comm, comm, RP_COMM_LEN);
  return task;
}

rp_sleep make_sleep(std::uint32_t id, std::uint32_t waker, std::uint64_t stack) {
  rp_sleep sleep{};
  sleep.header = {RP_SLEEP, id};
  sleep.out_ns = 1000;
  sleep.wake_ns = 5000;
  sleep.in_ns = 5500;
  sleep.waker_id = waker;
  sleep.state = 2;
  sleep.syscall = 35;
  sleep.kernel_stack = stack;
  return sleep;
}

class TranslatorTest : public testing::Test {
 protected:
  static KernelSymbols make_symbols() {
    return KernelSymbols::parse(
               "ffffffff81000000 T msleep\nffffffff81001000 T bpf_trace_run2\nffffffff81002000 T dev_ioctl\n"
               "ffffffff82000000 D rtnl_mutex\nffffffff82000020 D other_lock\n")
        .value();
  }
  EventLog log;
  std::shared_ptr<FileStore> files = std::make_shared<FileStore>();
  TaskReader reader{TaskReader::Options{}, files};
  RecordedTasks tasks{log, reader};
  std::shared_ptr<const KernelSymbols> symbols = std::make_shared<const KernelSymbols>(make_symbols());
  CodeTable code{log, symbols};
  WakeupTotals wakeups;
  Translator translator{log, tasks, code, wakeups, symbols};
};

TEST_F(TranslatorTest, NamesKernelFramesByTheCallAndDropsOurOwn) {
  Batch batch;
  batch.add(make_task(1, 77, "snmpd"))
      .add_stack(9, {0xffffffff81001010, 0xffffffff81000040, 0xffffffff81001000})
      .add(make_sleep(1, 0, 9));
  translator.add_batch(batch.bytes, false);
  ASSERT_EQ(log.sleeps.size(), 1U);
  ASSERT_EQ(log.stacks.size(), 1U);
  ASSERT_EQ(log.stacks[0].frames.size(), 2U);  // bpf_trace_run2 in front is the tracer
  EXPECT_EQ(log.frames[1].symbol, "msleep");
  EXPECT_EQ(log.frames[1].offset, 0x40U);
  // A return address right at a function's start belongs to the call at the end of the one before.
  EXPECT_NE(log.frames[2].symbol, "dev_ioctl");
  EXPECT_EQ(log.sleeps[0].wake_ns - log.sleeps[0].out_ns, 4000);
  EXPECT_EQ(log.sleeps[0].state, 'D');
  EXPECT_EQ(log.sleeps[0].kernel_stack, log.stacks[0].id);
}

TEST_F(TranslatorTest, AnEventWaitsForTheDefinitionThatComesThroughAnotherRing) {
  Batch first;
  first.add(make_task(1, 77, "sleeper")).add(make_sleep(1, 2, 9));
  translator.add_batch(first.bytes, false);
  EXPECT_TRUE(log.sleeps.empty());
  Batch second;
  second.add(make_task(2, 78, "waker")).add_stack(9, {0xffffffff81000040});
  translator.add_batch(second.bytes, false);
  ASSERT_EQ(log.sleeps.size(), 1U);
  EXPECT_EQ(log.sleeps[0].waker.task, 2U);
  EXPECT_EQ(log.sleeps[0].kernel_stack, log.stacks[0].id);
}

TEST_F(TranslatorTest, AnEventWhoseStackWasLostIsSentWithoutIt) {
  Batch batch;
  batch.add(make_task(1, 77, "sleeper")).add(make_sleep(1, 0, 1234));
  translator.add_batch(batch.bytes, false);
  translator.add_batch({}, true);
  ASSERT_EQ(log.sleeps.size(), 1U);
  EXPECT_EQ(log.sleeps[0].kernel_stack, 0U);
}

TEST_F(TranslatorTest, TotalsAreWhatTheCountersMovedBy) {
  rp_task task = make_task(1, 77, "worker");
  task.counters = {1'000'000, 500, 40'000'000, 10'000'000, 7, 2, 3};
  rp_exit exit{};
  exit.header = {RP_EXIT, 1};
  exit.counters = {9'000'000, 2'500, 46'000'000, 12'000'000, 17, 5, 4};
  exit.last_cpu = 1;
  translator.add_batch(Batch().add(task).add(exit).bytes, false);
  EXPECT_TRUE(log.totals.empty());  // events of the task may still come through another ring
  translator.add_batch({}, true);
  ASSERT_EQ(log.totals.size(), 1U);
  EXPECT_EQ(log.totals[0].run_ns, 8'000'000U);
  EXPECT_EQ(log.totals[0].runq_ns, 2'000U);
  EXPECT_EQ(log.totals[0].sys_ns, 2'000'000U);  // a quarter of the ticks were in the kernel
  EXPECT_EQ(log.totals[0].user_ns, 6'000'000U);
  EXPECT_EQ(log.totals[0].switches, 13U);
  EXPECT_EQ(log.totals[0].preemptions, 3U);
  EXPECT_EQ(log.totals[0].cpu_migrations, 1U);
  EXPECT_EQ(log.totals[0].last_cpu, 1);
}

TEST_F(TranslatorTest, WithoutATickSampleUserAndSysAreUnknown) {
  rp_exit exit{};
  exit.header = {RP_EXIT, 1};
  exit.counters.run_ns = 900'000;
  exit.counters.run_delay_ns = UINT64_MAX;
  translator.add_batch(Batch().add(make_task(1, 77, "short")).add(exit).bytes, true);
  ASSERT_EQ(log.totals.size(), 1U);
  EXPECT_EQ(log.totals[0].run_ns, 900'000U);
  EXPECT_EQ(log.totals[0].user_ns, kUnknownCount);
  EXPECT_EQ(log.totals[0].sys_ns, kUnknownCount);
  EXPECT_EQ(log.totals[0].runq_ns, kUnknownCount);
}

TEST_F(TranslatorTest, LocksAreNamedOnceByTheirAddress) {
  rp_wait wait{};
  wait.header = {RP_WAIT, 1};
  wait.lock = 0xffffffff82000020;
  wait.contention_flags = RP_LCB_MUTEX | RP_LCB_SPIN;
  wait.begin_ns = 10;
  wait.end_ns = 40;
  wait.spin_ns = 5;
  translator.add_batch(Batch().add(make_task(1, 77, "waiter")).add(wait).add(wait).bytes, true);
  ASSERT_EQ(log.waits.size(), 2U);
  ASSERT_EQ(log.locks.size(), 1U);
  EXPECT_EQ(log.locks[0].name, "other_lock");
  EXPECT_EQ(log.waits[0].kind, LockKind::kMutex);
  EXPECT_EQ(log.waits[0].spin_ns, 5U);
}

TEST_F(TranslatorTest, DamagedRecordsAreSkipped) {
  Batch batch;
  batch.add(make_task(1, 77, "a"));
  batch.add_bytes("abc", 3);
  rp_stack stack{};
  stack.header.type = RP_KERNEL_STACK;
  stack.hash = 5;
  stack.count = 1000;  // more than follows
  batch.add(stack);
  const std::uint32_t huge = 1 << 30;
  const std::size_t at = batch.bytes.size();
  batch.bytes.resize(at + 4);
  std::memcpy(batch.bytes.data() + at, &huge, 4);
  translator.add_batch(batch.bytes, true);
  EXPECT_EQ(log.tasks.size(), 1U);
  EXPECT_TRUE(log.sleeps.empty());
}

TEST(StateLetter, AsProcPidStat) {
  EXPECT_EQ(state_letter(0), 'R');
  EXPECT_EQ(state_letter(1), 'S');
  EXPECT_EQ(state_letter(2), 'D');
  EXPECT_EQ(state_letter(0x102), 'D');  // TASK_KILLABLE
  EXPECT_EQ(state_letter(0x402), 'I');
  EXPECT_EQ(state_letter(0x2001), 'S');  // TASK_FREEZABLE
  EXPECT_EQ(state_letter(0x1000), 'L');
  EXPECT_EQ(state_letter(0x80), 'X');
}

TEST(LockKindOf, ContentionFlags) {
  EXPECT_EQ(lock_kind(RP_LCB_MUTEX), LockKind::kMutex);
  EXPECT_EQ(lock_kind(RP_LCB_READ), LockKind::kRwsemRead);
  EXPECT_EQ(lock_kind(RP_LCB_WRITE), LockKind::kRwsemWrite);
  EXPECT_EQ(lock_kind(RP_LCB_RT), LockKind::kRtmutex);
  EXPECT_EQ(lock_kind(RP_LCB_RT | RP_LCB_READ), LockKind::kRwsemRead);
  EXPECT_EQ(lock_kind(RP_LCB_PERCPU | RP_LCB_WRITE), LockKind::kPercpuRwsemWrite);
}

}  // namespace
}  // namespace rtnlprof
