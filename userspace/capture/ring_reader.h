// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

struct ring_buffer;

namespace rtnlprof {

using RecordBatch = std::vector<std::byte>;  // records, each preceded by its size as u32

// The thread that empties the ring buffers: it copies and does nothing else. When the other side does not keep up and
// `kMostQueued` bytes wait, it stops reading; the rings fill, and the programs count what they lose.
class RingReader {
 public:
  RingReader() = default;
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;
  ~RingReader();

  Status start(const std::vector<int>& ring_fds);
  // Reads what is left and ends the thread. The programs must have stopped.
  void stop();
  // The next batch; waits up to `milliseconds`. Empty: nothing came. After stop(), empty means nothing is left.
  RecordBatch next(int milliseconds);

 private:
  static int on_record(void* self, void* data, std::size_t size);
  void run();
  void hand_over();

  static constexpr std::size_t kMostQueued = std::size_t{24} << 20;
  static constexpr std::size_t kBatchBytes = std::size_t{1} << 20;

  ring_buffer* rings_ = nullptr;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  RecordBatch current_;  // of the reading thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RecordBatch> queue_;
  std::size_t queued_bytes_ = 0;
};

}  // namespace rtnlprof
