// SPDX-License-Identifier: BSD-2-Clause
#include "context/task_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "symbols/temp_dir.h"

namespace rtnlprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLong{10000};

// A root with a task in it, as /proc shows it.
class FakeProc {
 public:
  [[nodiscard]] const std::string& root() const { return dir_.path(); }
  void add(int tid, int pid, const std::string& comm, const std::string& cmdline, long start_ticks = 1000,
           bool kernel_thread = false) const {
    const std::string task = "/proc/" + std::to_string(tid);
    dir_.write(task + "/stat", std::to_string(tid) + " (" + comm + ") S 1 0 0 0 -1 " +
                                   (kernel_thread ? "2129984" : "4194560") + " 0 0 0 0 0 0 0 0 20 0 1 0 " +
                                   std::to_string(start_ticks) + " 0 0\n");
    dir_.write(task + "/status", "Name:\t" + comm + "\nTgid:\t" + std::to_string(pid) +
                                     "\nUid:\t0\t0\t0\t0\nNStgid:\t" + std::to_string(pid) + "\t5\nNSpid:\t" +
                                     std::to_string(tid) + "\t6\n");
    dir_.write(task + "/cgroup", "0::/system.slice/" + comm + ".service\n");
    dir_.write(task + "/cmdline", cmdline);
  }
  // A FIFO nobody writes to: opening it blocks as a read of a stuck task's cmdline does.
  void block(int tid, const std::string& file) const {
    const std::string path = path_of(tid, file);
    std::filesystem::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  }
  // Ends what block() began.
  void unblock(int tid, const std::string& file, const std::string& content) const {
    const int fd = open(path_of(tid, file).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;  // nobody is there yet, or any more
    (void)!write(fd, content.data(), content.size());
    close(fd);
  }
  [[nodiscard]] std::string path_of(int tid, const std::string& file) const {
    return dir_.path() + "/proc/" + std::to_string(tid) + "/" + file;
  }
  [[nodiscard]] const test::TempDir& dir() const { return dir_; }

 private:
  test::TempDir dir_;
};

TaskReader::Options options_for(const std::string& root, milliseconds deadline = milliseconds(5000)) {
  TaskReader::Options options;
  options.root = root;
  options.deadline = deadline;
  return options;
}

TaskRequest request_of(int tid, int pid, std::int64_t start_ns = kUnknownTime) {
  TaskRequest request;
  request.tid = tid;
  request.pid = pid;
  request.start_ns = start_ns;
  return request;
}

TEST(TaskReader, ReadsATask) {
  const FakeProc proc;
  proc.add(43, 42, "snmpd", std::string("/usr/sbin/snmpd\0-f\0", 19));
  TaskReader reader(options_for(proc.root()), std::make_shared<FileStore>());
  ASSERT_TRUE(reader.request(request_of(43, 42, 10'000'000'000 * sysconf(_SC_CLK_TCK) / 100)));
  ASSERT_TRUE(reader.wait_idle(kLong));
  const auto tasks = reader.drain();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].tid, 43);
  EXPECT_EQ(tasks[0].pid, 42);
  EXPECT_EQ(tasks[0].ppid, 1);
  EXPECT_EQ(tasks[0].ns_tid, 6);
  EXPECT_EQ(tasks[0].comm, "snmpd");
  EXPECT_EQ(tasks[0].cmdline, "/usr/sbin/snmpd -f");
  EXPECT_EQ(tasks[0].cgroup, "/system.slice/snmpd.service");
  EXPECT_EQ(tasks[0].container, "");
  EXPECT_FALSE(tasks[0].kernel_thread);
  EXPECT_EQ(tasks[0].missing, "");
  EXPECT_EQ(tasks[0].maps, nullptr);
  EXPECT_TRUE(reader.drain().empty()) << "delivered once";
  EXPECT_EQ(reader.stats().delivered, 1U);
}

TEST(TaskReader, FindsTheThreadGroupWhenItIsNotKnown) {
  const FakeProc proc;
  proc.add(43, 42, "snmpd", "");
  TaskReader reader(options_for(proc.root()), std::make_shared<FileStore>());
  reader.request(request_of(43, 0));
  ASSERT_TRUE(reader.wait_idle(kLong));
  const auto tasks = reader.drain();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].pid, 42);
}

TEST(TaskReader, DropsReusedAndVanishedIds) {
  const FakeProc proc;
  proc.add(43, 43, "other", "other", 5000);
  proc.add(44, 40, "other", "other");
  TaskReader reader(options_for(proc.root()), std::make_shared<FileStore>());
  reader.request(request_of(43, 43, 10'000'000'000));  // started long before this one
  reader.request(request_of(44, 44));                  // a thread of another process by now
  reader.request(request_of(45, 45));
  reader.request(request_of(-1, 0));
  ASSERT_TRUE(reader.wait_idle(kLong));
  EXPECT_TRUE(reader.drain().empty());
  EXPECT_EQ(reader.stats().vanished, 4U);
}

TEST(TaskReader, ReadsNoMemoryOfKernelThreads) {
  const FakeProc proc;
  proc.add(7, 7, "kworker/0:1-events", "", 1000, true);
  proc.block(7, "cmdline");
  TaskReader reader(options_for(proc.root()), std::make_shared<FileStore>());
  TaskRequest request = request_of(7, 7);
  request.want_maps = true;
  reader.request(request);
  ASSERT_TRUE(reader.wait_idle(kLong));
  const auto tasks = reader.drain();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_TRUE(tasks[0].kernel_thread);
  EXPECT_EQ(tasks[0].comm, "kworker/0:1-events");
}

TEST(TaskReader, DeliversAStuckTaskWithoutItsCmdlineAndGoesOn) {
  const FakeProc proc;
  proc.add(50, 50, "stuck", "");
  proc.block(50, "cmdline");
  proc.add(51, 51, "fine", "fine");
  TaskReader reader(options_for(proc.root(), milliseconds(50)), std::make_shared<FileStore>());
  reader.request(request_of(50, 50));
  reader.request(request_of(51, 51));
  ASSERT_TRUE(reader.wait_idle(kLong));
  auto tasks = reader.drain();
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].comm, "stuck");
  EXPECT_EQ(tasks[0].cmdline, "");
  EXPECT_EQ(tasks[0].cgroup, "/system.slice/stuck.service");
  EXPECT_NE(tasks[0].missing.find("cmdline"), std::string::npos) << tasks[0].missing;
  EXPECT_NE(tasks[0].missing.find("50 ms"), std::string::npos) << tasks[0].missing;
  EXPECT_EQ(tasks[1].cmdline, "fine");
  EXPECT_EQ(reader.stats().abandoned, 1U);
  EXPECT_EQ(reader.stats().gave_up, "");

  // Once the task is no longer stuck, what the abandoned thread has read is told after all.
  proc.unblock(50, "cmdline", "late");
  for (int i = 0; i < 500 && (tasks = reader.drain()).empty(); ++i) usleep(10000);
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].cmdline, "late");
}

TEST(TaskReader, GivesUpCmdlinesAfterAFewStuckTasks) {
  const FakeProc proc;
  auto options = options_for(proc.root(), milliseconds(30));
  options.max_abandoned = 2;
  TaskReader reader(options, std::make_shared<FileStore>());
  for (int tid = 60; tid < 63; ++tid) {
    proc.add(tid, tid, "stuck", "");
    proc.block(tid, "cmdline");
    reader.request(request_of(tid, tid));
  }
  proc.add(63, 63, "fine", "fine");
  reader.request(request_of(63, 63));
  ASSERT_TRUE(reader.wait_idle(kLong));
  const auto tasks = reader.drain();
  ASSERT_EQ(tasks.size(), 4U);
  for (const TaskDetails& task : tasks) {
    EXPECT_EQ(task.cmdline, "");
    EXPECT_NE(task.missing, "");
    EXPECT_EQ(task.cgroup, "/system.slice/" + task.comm + ".service") << "the rest is still read";
  }
  EXPECT_EQ(reader.stats().abandoned, 2U);
  EXPECT_NE(reader.stats().gave_up.find("cmdlines"), std::string::npos);
  for (int tid = 60; tid < 62; ++tid) proc.unblock(tid, "cmdline", "");
}

TEST(TaskReader, StopsLookingWhenEvenTheRestBlocks) {
  const FakeProc proc;
  auto options = options_for(proc.root(), milliseconds(20));
  options.max_abandoned = 1;
  TaskReader reader(options, std::make_shared<FileStore>());
  for (int tid = 70; tid < 75; ++tid) {
    proc.add(tid, tid, "stuck", "");
    proc.block(tid, "cgroup");
    reader.request(request_of(tid, tid));
  }
  ASSERT_TRUE(reader.wait_idle(kLong));
  EXPECT_TRUE(reader.drain().empty()) << "what could not be checked against reuse is not told";
  EXPECT_FALSE(reader.request(request_of(70, 70)));
  EXPECT_EQ(reader.stats().abandoned, 3U);
  EXPECT_EQ(reader.stats().refused, 3U);
  EXPECT_NE(reader.stats().gave_up, "");
  for (int tid = 70; tid < 73; ++tid) proc.unblock(tid, "cgroup", "");
}

TEST(TaskReader, StopDoesNotWaitForAStuckRead) {
  const FakeProc proc;
  proc.add(80, 80, "stuck", "");
  proc.block(80, "cmdline");
  TaskReader reader(options_for(proc.root()), std::make_shared<FileStore>());
  reader.request(request_of(80, 80));
  EXPECT_FALSE(reader.wait_idle(milliseconds(30)));
  const auto start = std::chrono::steady_clock::now();
  reader.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(2));
  EXPECT_FALSE(reader.request(request_of(80, 80)));
  EXPECT_TRUE(reader.wait_idle(milliseconds(0)) || true);
  proc.unblock(80, "cmdline", "");
}

TEST(TaskReader, StopIsQuickWhenNothingIsStuck) {
  const FakeProc proc;
  TaskReader reader(options_for(proc.root()), std::make_shared<FileStore>());
  const auto start = std::chrono::steady_clock::now();
  reader.stop();
  reader.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(1));
}

TEST(TaskReader, RefusesMoreThanItsQueueHolds) {
  const FakeProc proc;
  proc.add(90, 90, "stuck", "");
  proc.block(90, "cmdline");
  auto options = options_for(proc.root());
  options.queue_limit = 2;
  TaskReader reader(options, std::make_shared<FileStore>());
  int accepted = 0;
  for (int i = 0; i < 10; ++i) accepted += reader.request(request_of(90, 90)) ? 1 : 0;
  EXPECT_GE(accepted, 2);
  EXPECT_LE(accepted, 3) << "one may already be in progress";
  EXPECT_EQ(reader.stats().refused, static_cast<std::uint64_t>(10 - accepted));
  proc.unblock(90, "cmdline", "");
}

TEST(TaskReader, ReadsThisProcess) {
  const auto files = std::make_shared<FileStore>();
  TaskReader reader(options_for(""), files);
  TaskRequest request = request_of(getpid(), getpid());
  request.want_maps = true;
  reader.request(request);
  ASSERT_TRUE(reader.wait_idle(kLong));
  const auto tasks = reader.drain();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].ppid, getppid());
  EXPECT_NE(tasks[0].cmdline, "");
  ASSERT_NE(tasks[0].maps, nullptr);
  EXPECT_FALSE(tasks[0].maps->mappings.empty());
  EXPECT_GT(files->open_count(), 0U);
}

}  // namespace
}  // namespace rtnlprof
