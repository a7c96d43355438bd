// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/deadline_worker.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace rtnlprof {
namespace {

using std::chrono::milliseconds;

// Blocks jobs until it is opened.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return open; });
  }
  void release() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
};

TEST(DeadlineWorker, RunsJobsInOrder) {
  DeadlineWorker worker;
  const auto sum = std::make_shared<int>(0);
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(worker.run([sum, i] { *sum = *sum * 3 % 1000 + i; }, milliseconds(5000)));
  }
  int expected = 0;
  for (int i = 1; i <= 100; ++i) expected = expected * 3 % 1000 + i;
  EXPECT_EQ(*sum, expected);
  EXPECT_EQ(worker.abandoned(), 0U);
}

TEST(DeadlineWorker, LeavesAStuckJobBehindAndGoesOn) {
  const auto gate = std::make_shared<Gate>();
  DeadlineWorker worker(2);
  EXPECT_FALSE(worker.run([gate] { gate->wait(); }, milliseconds(20)));
  EXPECT_EQ(worker.abandoned(), 1U);
  const auto ran = std::make_shared<bool>(false);
  EXPECT_TRUE(worker.run([ran] { *ran = true; }, milliseconds(5000)));
  EXPECT_TRUE(*ran);
  EXPECT_FALSE(worker.run([gate] { gate->wait(); }, milliseconds(20)));
  EXPECT_FALSE(worker.run([] {}, milliseconds(5000))) << "given up after two";
  gate->release();
}

}  // namespace
}  // namespace rtnlprof
