// SPDX-License-Identifier: BSD-2-Clause
#include "capture/ring_reader.h"

#include <bpf/libbpf.h>
#include <sys/prctl.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

namespace rtnlprof {

Status RingReader::start(const std::vector<int>& ring_fds) {
  for (const int fd : ring_fds) {
    const int err = rings_ == nullptr ? ((rings_ = ring_buffer__new(fd, on_record, this, nullptr)) ? 0 : -errno)
                                      : ring_buffer__add(rings_, fd, on_record, this);
    if (err != 0) return Error::from_errno("cannot map a ring buffer", -err, "memory may be short");
  }
  current_.reserve(kBatchBytes * 2);
  thread_ = std::thread([this] { run(); });
  return {};
}

int RingReader::on_record(void* self, void* data, std::size_t size) {
  auto* reader = static_cast<RingReader*>(self);
  const auto length = static_cast<std::uint32_t>(size);
  RecordBatch& batch = reader->current_;
  const std::size_t at = batch.size();
  batch.resize(at + sizeof(length) + size);
  std::memcpy(batch.data() + at, &length, sizeof(length));
  std::memcpy(batch.data() + at + sizeof(length), data, size);
  if (batch.size() >= kBatchBytes) reader->hand_over();
  return 0;
}

void RingReader::hand_over() {
  if (current_.empty()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queued_bytes_ < kMostQueued || stopping_; });
  queued_bytes_ += current_.size();
  queue_.push_back(std::move(current_));
  changed_.notify_all();
  lock.unlock();
  current_ = {};
  current_.reserve(kBatchBytes + kBatchBytes / 8);
}

void RingReader::run() {
  prctl(PR_SET_NAME, "rtnlprof-read");
  constexpr int kPollMs = 100;  // the programs wake us earlier when a good part of a ring is full
  while (!stopping_) {
    ring_buffer__poll(rings_, kPollMs);
    ring_buffer__consume(rings_);
    hand_over();
  }
  ring_buffer__consume(rings_);
  hand_over();
}

void RingReader::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

RecordBatch RingReader::next(int milliseconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return !queue_.empty() || stopping_; });
  if (queue_.empty()) return {};
  RecordBatch batch = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= batch.size();
  changed_.notify_all();
  return batch;
}

RingReader::~RingReader() {
  stop();
  if (rings_ != nullptr) ring_buffer__free(rings_);
}

}  // namespace rtnlprof
