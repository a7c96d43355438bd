// SPDX-License-Identifier: BSD-2-Clause
#include "context/proc_task.h"

#include <gtest/gtest.h>

namespace rtnlprof {
namespace {

constexpr long kHz = 100;

std::string stat_line(const std::string& comm) {
  return "4242 (" + comm + ") D 1 4242 4242 0 -1 4194560 171 0 0 0 1 2 0 0 20 0 1 0 987654 5738496 280 0 1 2\n";
}

TEST(ProcStat, ReadsWhatIsNeeded) {
  const auto stat = parse_proc_stat(stat_line("snmpd"), kHz);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->tid, 4242);
  EXPECT_EQ(stat->comm, "snmpd");
  EXPECT_EQ(stat->state, 'D');
  EXPECT_EQ(stat->ppid, 1);
  EXPECT_FALSE(stat->kernel_thread);
  EXPECT_EQ(stat->start_ns, 9'876'540'000'000);
}

TEST(ProcStat, IsNotFooledByTheComm) {
  for (const std::string comm : {"a) S 1 (b", ") R 0", "((", "x\ny", "", " ", "\x1b[2J\xff"}) {
    const auto stat = parse_proc_stat(stat_line(comm), kHz);
    ASSERT_TRUE(stat.has_value()) << comm;
    EXPECT_EQ(stat->comm, comm);
    EXPECT_EQ(stat->state, 'D');
    EXPECT_EQ(stat->start_ns, 9'876'540'000'000);
  }
}

TEST(ProcStat, KnowsKernelThreads) {
  const auto stat = parse_proc_stat(
      "33 (kworker/0:1-events) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 27 0 0 18446744073709551615 0\n", kHz);
  ASSERT_TRUE(stat.has_value());
  EXPECT_TRUE(stat->kernel_thread);
  EXPECT_EQ(stat->comm, "kworker/0:1-events");
  EXPECT_EQ(stat->start_ns, 270'000'000);
}

TEST(ProcStat, RefusesWhatIsNoStatLine) {
  for (const std::string text : {"", "4242", "4242 (snmpd", "4242 (snmpd) D 1", "x (snmpd) D 1 2 3",
                                 "4242 (s) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 20\n",
                                 "4242 (s) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 18446744073709551615 20\n"}) {
    EXPECT_FALSE(parse_proc_stat(text, kHz).has_value()) << text;
  }
  EXPECT_FALSE(parse_proc_stat(stat_line("s"), 0).has_value());
}

TEST(ProcStatus, ReadsNamespaceIdsAndUser) {
  const ProcStatus status = parse_proc_status(
      "Name:\tsnmpd\nTgid:\t4242\nPid:\t4243\nUid:\t1000\t1001\t1002\t1003\nNStgid:\t4242\t17\t1\nNSpid:"
      "\t4243\t18\t2\n");
  EXPECT_EQ(status.pid, 4242);
  EXPECT_EQ(status.ns_pid, 1);
  EXPECT_EQ(status.ns_tid, 2);
  EXPECT_EQ(status.uid, 1001U);
}

TEST(ProcStatus, LeavesUnknownWhatIsNotThere) {
  const ProcStatus status = parse_proc_status("Name:\tNSpid:\t7\nNSpid:\tx\n");
  EXPECT_EQ(status.pid, 0);
  EXPECT_EQ(status.ns_tid, 0);
  EXPECT_EQ(status.ns_pid, 0);
  EXPECT_EQ(status.uid, UINT32_MAX);
}

TEST(Cmdline, JoinsArgumentsAndKeepsRawBytes) {
  EXPECT_EQ(join_cmdline(std::string("/usr/sbin/snmpd\0-f\0", 19)), "/usr/sbin/snmpd -f");
  EXPECT_EQ(join_cmdline(std::string("a\0\0b\0\0\0", 7)), "a  b") << "an empty argument in between";
  EXPECT_EQ(join_cmdline(std::string("nginx: worker process\0\0\0", 24)), "nginx: worker process");
  EXPECT_EQ(join_cmdline(std::string("\x1b[31m\0\xff\n\0", 9)), "\x1b[31m \xff\n");
  EXPECT_EQ(join_cmdline(""), "");
  EXPECT_EQ(join_cmdline(std::string("\0\0", 2)), "");
}

TEST(SameStart, AgreesToAClockTick) {
  EXPECT_TRUE(same_start(1'009'999'999, 1'000'000'000, kHz));
  EXPECT_TRUE(same_start(1'000'000'000, 1'000'000'000, kHz));
  EXPECT_FALSE(same_start(1'020'000'001, 1'000'000'000, kHz));
  EXPECT_FALSE(same_start(900'000'000, 1'000'000'000, kHz));
  EXPECT_TRUE(same_start(kUnknownTime, 1'000'000'000, kHz)) << "nothing to compare";
}

}  // namespace
}  // namespace rtnlprof
