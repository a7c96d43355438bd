// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/analyzer.h"

namespace rtnlprof::test {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kRtnlAddress = 0xffffffff831f5aa0;

// Sends events to an Analyzer with the ids made up on the way.
class StreamBuilder {
 public:
  explicit StreamBuilder(AnalyzerOptions options = {}) : analyzer_(std::move(options)) {
    header_.host.hostname = "db07";
    header_.host.arch = "x86_64";
    header_.host.cpus = 2;
    analyzer_.on_header(header_);
  }

  // A new life of a thread; `tid` is its pid, too.
  TaskId task(std::int32_t tid, const std::string& comm) {
    Task task;
    task.id = next_task_++;
    task.tid = tid;
    task.pid = tid;
    task.comm = comm;
    analyzer_.on_task(task);
    return task.id;
  }

  StackId stack(const std::vector<std::string>& symbols, bool user = false, bool complete = true) {
    Stack stack;
    stack.id = next_stack_++;
    stack.user = user;
    stack.complete = complete;
    for (const std::string& symbol : symbols) {
      Frame frame;
      frame.id = next_frame_++;
      frame.symbol = symbol;
      frame.user = user;
      frame.address = 0xffffffff81000000 + frame.id;
      analyzer_.on_frame(frame);
      stack.frames.push_back(frame.id);
    }
    analyzer_.on_stack(stack);
    return stack.id;
  }

  void sleep(TaskId task, std::int64_t out, std::int64_t wake, const std::vector<std::string>& kernel, Waker waker,
             char state = 'D', bool complete = true) {
    Sleep sleep;
    sleep.task = task;
    sleep.out_ns = out;
    sleep.wake_ns = wake;
    sleep.in_ns = wake + 1000;
    sleep.state = state;
    sleep.kernel_stack = stack(kernel, false, complete);
    sleep.waker = waker;
    analyzer_.on_sleep(sleep);
  }

  void wait(TaskId task, std::int64_t begin, std::int64_t end, TaskId owner,
            const std::vector<std::string>& kernel = {"__mutex_lock", "mutex_lock", "rtnl_lock", "devinet_ioctl"},
            std::uint64_t lock = kRtnlAddress, std::int32_t result = 0) {
    Wait wait;
    wait.task = task;
    wait.lock = lock;
    wait.kind = LockKind::kMutex;
    wait.begin_ns = begin;
    wait.end_ns = end;
    wait.owner = owner;
    wait.result = result;
    wait.kernel_stack = stack(kernel);
    analyzer_.on_wait(wait);
  }

  void hold(TaskId task, std::int64_t acquired, std::int64_t released, std::uint64_t lock = kRtnlAddress) {
    Hold hold;
    hold.task = task;
    hold.lock = lock;
    hold.acquired_ns = acquired;
    hold.released_ns = released;
    hold.kernel_stack = stack({"rtnl_lock", "dev_ioctl"});
    analyzer_.on_hold(hold);
  }

  void wakeups(TaskId task, Waker waker, std::uint64_t count, std::uint64_t sleeps, std::uint64_t sleep_ns,
               std::uint64_t max_ns) {
    analyzer_.on_wakeups({task, waker, count, sleeps, sleep_ns, max_ns});
  }

  Report finish(std::int64_t end = 10'000 * kMs) {
    Footer footer;
    footer.end_ns = end;
    analyzer_.on_footer(footer);
    return analyzer_.finish({true, {}});
  }

  Analyzer& sink() { return analyzer_; }
  Header& header() { return header_; }

 private:
  Analyzer analyzer_;
  Header header_;
  TaskId next_task_ = 1;
  FrameId next_frame_ = 1;
  StackId next_stack_ = 1;
};

inline Waker by_task(TaskId task) { return {task, WakerContext::kTask}; }
inline Waker by_timer() { return {0, WakerContext::kTimer}; }

inline const TaskReport* find_task(const Report& report, std::int32_t tid) {
  for (const TaskReport& task : report.tasks) {
    if (task.task.tid == tid) return &task;
  }
  return nullptr;
}

inline const LockReport* find_lock(const Report& report, const std::string& name) {
  for (const LockReport& lock : report.locks) {
    if (lock.name == name) return &lock;
  }
  return nullptr;
}

inline std::vector<std::string> names(const FrameListPtr& list) {
  std::vector<std::string> names;
  for (const auto& frame : list->frames) names.push_back(frame->name);
  return names;
}

// Owner's tid -> waited time; 0 stands for unknown.
inline std::map<std::int32_t, std::uint64_t> owners_of(const LockReport& lock, std::int32_t waiter_tid) {
  std::map<std::int32_t, std::uint64_t> owners;
  for (const LockWaiter& waiter : lock.waiters) {
    if (waiter.task.tid != waiter_tid) continue;
    for (const OwnerShare& owner : waiter.owners) owners[owner.task ? owner.task->tid : 0] += owner.waited_ns;
  }
  return owners;
}

}  // namespace rtnlprof::test
