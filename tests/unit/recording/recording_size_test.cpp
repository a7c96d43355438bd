// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "event_log.h"
#include "recording/reader.h"
#include "recording/writer.h"

namespace rtnlprof {
namespace {

constexpr TaskId kTasks = 52;
constexpr FrameId kFrames = 200;
constexpr StackId kStacks = 300;

void send_definitions(EventSink& sink, std::mt19937_64& random) {
  for (TaskId id = 1; id <= kTasks; ++id) {
    sink.on_task({.id = id, .tid = static_cast<std::int32_t>(1000 + id), .pid = 1000, .comm = "worker"});
  }
  for (FrameId id = 1; id <= kFrames; ++id) {
    sink.on_frame({.id = id, .address = 0xffffffff81000000 + random() % 0x1000000, .symbol = "function"});
  }
  for (StackId id = 1; id <= kStacks; ++id) {
    Stack stack{.id = id};
    for (int i = 0; i < 12; ++i) stack.frames.push_back(static_cast<FrameId>(1 + random() % kFrames));
    sink.on_stack(stack);
  }
}

// Two tasks that wake each other every few microseconds, and fifty that sleep at random, with noise in every time.
Sleep next_sleep(std::mt19937_64& random, int i, std::int64_t& now) {
  const auto noise = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
  now += 2000 + noise(3000);
  const bool ping_pong = noise(10) < 7;
  Sleep sleep;
  sleep.state = 'S';
  sleep.in_ns = now;
  sleep.wake_ns = now - 1500 - noise(4000);
  if (ping_pong) {
    const TaskId self = 1 + static_cast<TaskId>(i) % 2;
    sleep.task = self;
    sleep.out_ns = sleep.wake_ns - 2000 - noise(8000);
    sleep.syscall = 0;
    sleep.kernel_stack = self;
    sleep.user_stack = 10;
    sleep.waker = {3 - self, WakerContext::kTask};
  } else {
    sleep.task = static_cast<TaskId>(3 + noise(kTasks - 2));
    sleep.out_ns = sleep.wake_ns - noise(100'000'000);
    sleep.syscall = static_cast<std::int32_t>(noise(300));
    sleep.kernel_stack = static_cast<StackId>(1 + noise(kStacks));
    sleep.user_stack = static_cast<StackId>(1 + noise(kStacks));
    sleep.waker = noise(2) == 0 ? Waker{0, WakerContext::kTimer}
                                : Waker{static_cast<TaskId>(1 + noise(kTasks)), WakerContext::kTask};
  }
  return sleep;
}

class SleepSum final : public EventSink {
 public:
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
  void on_sleep(const Sleep& event) override {
    ++count;
    total_ns += event.wake_ns - event.out_ns;
  }
};

// The contract allows 24 bytes for a sleep record, stacks counted once; measured 9.
TEST(RecordingSize, ASleepTakesAtMost24BytesInTheFile) {
  constexpr int kSleeps = 200'000;
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("size.rtnl");
  auto writer = RecordingWriter::create(path);
  ASSERT_TRUE(writer.ok());
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same bytes every time
  (*writer)->on_header({});
  send_definitions(**writer, random);
  ASSERT_TRUE((*writer)->flush().ok());
  const std::uint64_t before = (*writer)->bytes_written();
  SleepSum sent;
  std::int64_t now = 1'000'000'000'000;
  for (int i = 0; i < kSleeps; ++i) {
    const Sleep sleep = next_sleep(random, i, now);
    sent.on_sleep(sleep);
    (*writer)->on_sleep(sleep);
  }
  (*writer)->on_footer({.end_ns = now});
  ASSERT_TRUE((*writer)->finish().ok());
  const double bytes = static_cast<double>((*writer)->bytes_written() - before) / kSleeps;
  RecordProperty("bytes_per_sleep", std::to_string(bytes));
  EXPECT_LE(bytes, 12.0);
  SleepSum read;
  ASSERT_TRUE(read_recording(path, read).ok());
  EXPECT_EQ(read.count, sent.count);
  EXPECT_EQ(read.total_ns, sent.total_ns);
}

}  // namespace
}  // namespace rtnlprof
