// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace rtnlprof {

// Runs jobs on a helper thread and waits for each no longer than a deadline: for reads that a dead NFS server or a
// container's FUSE daemon can block for ever. A thread that misses the deadline is left behind and the next job gets a
// new one, a few times; after that jobs are refused. One caller at a time.
class DeadlineWorker {
 public:
  explicit DeadlineWorker(unsigned max_abandoned = 3) : max_abandoned_(max_abandoned) {}
  DeadlineWorker(const DeadlineWorker&) = delete;
  DeadlineWorker& operator=(const DeadlineWorker&) = delete;
  ~DeadlineWorker();

  // True when `job` ran to its end in time. Otherwise it never ran, or may still be running: it must own, by
  // shared_ptr, all it touches.
  bool run(std::function<void()> job, std::chrono::milliseconds deadline);
  [[nodiscard]] unsigned abandoned() const { return abandoned_; }

 private:
  struct Lane;
  void leave_lane();

  std::shared_ptr<Lane> lane_;  // of the current thread; null before the first job
  unsigned max_abandoned_;
  unsigned abandoned_ = 0;
};

}  // namespace rtnlprof
