// SPDX-License-Identifier: BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "../analysis/stream_builder.h"
#include "report/render.h"

namespace rtnlprof {
namespace {

using test::by_task;
using test::by_timer;
using test::kMs;
using test::StreamBuilder;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const Report& report, const TextOptions& options = {}) {
  std::ostringstream out;
  render_text(report, options, out);
  return out.str();
}

// The example of LinuxKI's layout: every column where LinuxKI prints it.
TEST(TextReport, SchedulerActivityHasLinuxKisColumns) {
  StreamBuilder stream;
  SchedulerTotals totals;
  totals.task = stream.task(7, "a");
  totals.run_ns = 311'046'000;
  totals.sys_ns = 118'183'000;
  totals.user_ns = 186'358'000;
  totals.sleep_ns = 4'189'559'000;
  totals.runq_ns = 557'221'000;
  totals.sleeps = 109;
  totals.wakeups = 110;
  totals.switches = 669;
  totals.preemptions = 560;
  totals.last_cpu = 0;
  totals.cpu_migrations = 18;
  totals.node_migrations = 0;
  totals.policy = 0;
  totals.vss_pages = 0;
  totals.rss_pages = 0;
  stream.sink().on_scheduler(totals);
  const std::string text = text_of(stream.finish());
  EXPECT_THAT(text, HasSubstr("    ********* SCHEDULER ACTIVITY REPORT ********\n"
                              "    RunTime    :  0.311046  SysTime   :  0.118183   UserTime   :  0.186358\n"
                              "    SleepTime  :  4.189559  Sleep Cnt :       109   Wakeup Cnt :       110\n"
                              "    RunQTime   :  0.557221  Switch Cnt:       669   PreemptCnt :       560\n"
                              "    Last CPU   :         0  CPU Migrs :        18   NODE Migrs :         0\n"
                              "    Policy     : SCHED_NORMAL     vss :         0          rss :         0\n"));
  EXPECT_THAT(text, HasSubstr("    busy    :      6.15%\n      sys   :      2.34%\n      user  :      3.68%\n"
                              "    runQ    :     11.02%\n    sleep   :     82.83%\n"));
}

TEST(TextReport, SleepTablesHaveLinuxKisColumns) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "a");
  SchedulerTotals totals;
  totals.task = task;
  totals.run_ns = 0;
  totals.runq_ns = 50'500'000;
  stream.sink().on_scheduler(totals);
  stream.sleep(task, 0, 99'000'000, {"schedule", "msleep", "f"}, by_timer());
  stream.sleep(task, 100'000'000, 200'000'000, {"schedule", "msleep", "f"}, by_timer());
  stream.sleep(task, 200'000'000, 202'500'000, {"schedule", "do_nanosleep", "g"}, by_timer());
  const std::string text = text_of(stream.finish());
  EXPECT_THAT(text,
              HasSubstr("       Count     Pct    SlpTime    Slp% TotalTime%   Msec/Slp   MaxMsecs  Func\n"
                        "           2  66.67%     0.1990  98.76%     78.97%     99.500    100.000  msleep\n"
                        "           1  33.33%     0.0025   1.24%      0.99%      2.500      2.500  do_nanosleep\n"));
  EXPECT_THAT(text, HasSubstr("       count    wpct      avg   Stack trace\n"
                              "                  %     msecs\n"
                              "    ===============================================================\n"
                              "           2  98.76    99.500   msleep  f\n"
                              "           1   1.24     2.500   do_nanosleep  g\n"));
}

TEST(TextReport, CooperationHasLinuxKisColumnsAndAlwaysIcs) {
  StreamBuilder stream;
  const TaskId a = stream.task(24, "kworker/1:0H");
  const TaskId b = stream.task(8, "b");
  stream.sleep(a, 0, 9620 * kMs, {"worker_thread"}, by_task(b));
  stream.sleep(a, 9620 * kMs, 10'000 * kMs, {"worker_thread"}, by_timer());
  stream.sleep(a, 10'000 * kMs, 10'000 * kMs, {"worker_thread"}, {0, WakerContext::kHardirq});
  const std::string text = text_of(stream.finish());
  EXPECT_THAT(text, HasSubstr("    Tasks woken up by this task (Top 10)\n"
                              "           PID    Count   SlpPcnt     Slptime  Command\n"
                              "            24        1    96.20%    9.620000  kworker/1:0H\n"));
  EXPECT_THAT(text, HasSubstr("    Tasks that have woken up this task(Top 10)\n"
                              "           PID    Count   SlpPcnt     Slptime  Command\n"
                              "             8        1    96.20%    9.620000  b\n"
                              "            -1        2     3.80%    0.380000   ICS\n"));
  EXPECT_THAT(text, HasSubstr("            -1        0        -     0.000000   ICS\n"));  // b was never woken
}

TEST(TextReport, HostileNamesStayText) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "\x1b]0;owned\x07\nfake: 100%\xE2\x80\xAE");
  stream.sleep(task, 0, 10 * kMs, {"ms\x1b[2Jleep", "__mutex_lock"}, by_timer());
  stream.wait(task, 20 * kMs, 30 * kMs, 0, {"__mutex_lock", "site\x1b[31m"}, 0x40);
  stream.sink().on_lock({0x80, "l\x1b[31m", "so\x1b[31m"});
  stream.hold(task, 40 * kMs, 50 * kMs, 0x80);
  stream.sink().on_probe({"p\x1b[31m", "m\n", "refused",
                          "\x9b"
                          "31m"});
  Report report = stream.finish();
  report.host.hostname = "h\x1b[31m";
  report.recording.command = "c\n\x1b[31m";
  report.recording.notes = {"n\x1b[31m\n"};
  const std::string text = text_of(report);
  for (const char c : text) {
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c);
  }
  EXPECT_THAT(text, Not(HasSubstr("\nfake")));
  EXPECT_THAT(text, HasSubstr("\\u202e"));
}

TEST(TextReport, ColorsOnlyWhenAsked) {
  StreamBuilder stream;
  stream.wait(stream.task(7, "a"), 0, 10 * kMs, 0);
  const Report report = stream.finish();
  EXPECT_THAT(text_of(report), Not(HasSubstr("\033[")));
  EXPECT_THAT(text_of(report, {true, 0}), HasSubstr("\033["));
}

TEST(TextReport, UnknownIsADash) {
  const std::string text = text_of({});
  EXPECT_THAT(text, HasSubstr("INCOMPLETE"));
  EXPECT_THAT(text, HasSubstr("Overhead : BPF -, recorder - of CPU time"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(TextReport, GuessedUserFramesAreMarked) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "a");
  for (const auto& [id, name, unreliable] : {std::tuple(900U, "ioctl", false), std::tuple(901U, "main", true)}) {
    Frame frame;
    frame.id = id;
    frame.symbol = name;
    frame.user = true;
    frame.unreliable = unreliable;
    stream.sink().on_frame(frame);
  }
  stream.sink().on_stack({900, true, true, {900, 901}});
  Sleep sleep;
  sleep.task = task;
  sleep.wake_ns = kMs;
  sleep.kernel_stack = stream.stack({"msleep"});
  sleep.user_stack = 900;
  stream.sink().on_sleep(sleep);
  EXPECT_THAT(text_of(stream.finish()), HasSubstr("  msleep  |  ioctl  ? main\n"));
}

TEST(TextReport, TopLimitsRowsAndSaysSo) {
  StreamBuilder stream;
  const TaskId task = stream.task(7, "a");
  for (int i = 0; i < 5; ++i) {
    stream.sleep(task, i * 100 * kMs, i * 100 * kMs + 10 * kMs, {"f" + std::to_string(i)}, by_timer());
  }
  const std::string text = text_of(stream.finish(), {false, 2});
  EXPECT_THAT(text, HasSubstr("Top 2 Functions"));
  EXPECT_THAT(text, HasSubstr("... and 3 more functions"));
}

}  // namespace
}  // namespace rtnlprof
