// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/deadline_worker.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace rtnlprof {

// One helper thread and its hand-over point. Owned by both sides, so that either can go first.
struct DeadlineWorker::Lane {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> job;
  bool done = false;
  bool closing = false;

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return closing || job; });
      if (closing) return;
      std::function<void()> current = std::exchange(job, nullptr);
      lock.unlock();
      current();
      current = nullptr;
      lock.lock();
      done = true;
      changed.notify_all();
    }
  }
};

DeadlineWorker::~DeadlineWorker() { leave_lane(); }

void DeadlineWorker::leave_lane() {
  if (lane_ == nullptr) return;
  {
    const std::lock_guard lock(lane_->mutex);
    lane_->closing = true;
  }
  lane_->changed.notify_all();
  lane_.reset();
}

bool DeadlineWorker::run(std::function<void()> job, std::chrono::milliseconds deadline) {
  if (abandoned_ >= max_abandoned_) return false;
  if (lane_ == nullptr) {
    auto lane = std::make_shared<Lane>();
    try {
      std::thread([lane] { lane->serve(); }).detach();
    } catch (const std::system_error&) {  // no more threads: as good as a missed deadline
      return false;
    }
    lane_ = std::move(lane);
  }
  bool in_time = false;
  {
    std::unique_lock lock(lane_->mutex);
    lane_->job = std::move(job);
    lane_->done = false;
    lane_->changed.notify_all();
    in_time = lane_->changed.wait_for(lock, deadline, [&] { return lane_->done; });
  }
  if (!in_time) {
    ++abandoned_;
    leave_lane();
  }
  return in_time;
}

}  // namespace rtnlprof
