// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Holds the RTNL for as long as one likes, without a kernel module: the ETHTOOL_GLINK ioctl of `lo` copies its answer
// to user memory while it holds the lock, and that memory is a page which userfaultfd fills only after the delay. The
// holder sleeps in handle_userfault meanwhile, as a driver that sleeps under RTNL would.

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace rtnlprof::workload {

// Not thread-safe: one hold at a time. When the process dies, its userfaultfd closes and the kernel ends the hold.
class RtnlHold {
 public:
  RtnlHold() = default;
  ~RtnlHold();
  RtnlHold(const RtnlHold&) = delete;
  RtnlHold& operator=(const RtnlHold&) = delete;

  // Starts the thread `rtnl-pager` that ends the holds. False (errno set) when this kernel offers no userfaultfd for
  // faults from kernel mode, or not to this user.
  bool start();

  // Takes the RTNL in the calling thread and keeps it until `wait` returns; `wait` runs in the pager thread, from the
  // moment the lock is held. Returns 0 or a negative errno.
  int hold(std::function<void()> wait);

  [[nodiscard]] int pager_tid() const { return pager_tid_; }
  // When the last hold was seen to begin and to end, in the pager: the RTNL was held all the time between the two.
  [[nodiscard]] std::int64_t held_from_ns() const { return held_from_ns_; }
  [[nodiscard]] std::int64_t held_to_ns() const { return held_to_ns_; }

 private:
  void serve_faults();
  void fill(std::uint64_t address) const;

  int fault_fd_ = -1;
  int control_ = -1;
  char* pages_ = nullptr;
  std::atomic<int> pager_tid_{0};
  std::int64_t held_from_ns_ = 0;
  std::int64_t held_to_ns_ = 0;
  std::function<void()> wait_;
  std::thread pager_;
};

}  // namespace rtnlprof::workload
