// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>
#include <set>

#include "model/events.h"

namespace rtnlprof::fuzz {

// Aborts when a stream breaks what every sink may rely on: the header comes first and once, ids are defined before
// they are used, nothing ends before it starts, nothing follows the footer.
class CheckingSink final : public EventSink {
 public:
  void on_header(const Header& /*event*/) override {
    check(!header_);
    header_ = true;
  }
  void on_footer(const Footer& /*event*/) override {
    check(header_ && !footer_);
    footer_ = true;
  }
  void on_task(const Task& event) override {
    started();
    check(event.id != 0);
    tasks_.insert(event.id);
  }
  void on_frame(const Frame& event) override {
    started();
    check(event.id != 0);
    frames_.insert(event.id);
  }
  void on_stack(const Stack& event) override {
    started();
    check(event.id != 0);
    for (const FrameId frame : event.frames) check(frame == 0 || frames_.contains(frame));
    stacks_.insert(event.id);
  }
  void on_sleep(const Sleep& event) override {
    refers(event.task, event.kernel_stack, event.user_stack);
    refers(event.waker.task, 0, 0);
    check(event.out_ns <= event.wake_ns && event.wake_ns <= event.in_ns && event.state != '\0');
  }
  void on_wait(const Wait& event) override {
    refers(event.task, event.kernel_stack, event.user_stack);
    refers(event.owner, 0, 0);
    check(event.begin_ns <= event.end_ns);
  }
  void on_hold(const Hold& event) override {
    refers(event.task, event.kernel_stack, event.user_stack);
    check(event.acquired_ns <= event.released_ns);
  }
  void on_call(const Call& event) override {
    refers(event.task, event.kernel_stack, 0);
    check(event.start_ns <= event.end_ns);
  }
  void on_wakeups(const Wakeups& event) override {
    refers(event.task, 0, 0);
    refers(event.waker.task, 0, 0);
  }
  void on_scheduler(const SchedulerTotals& event) override { refers(event.task, 0, 0); }
  void on_in_flight(const InFlight& event) override {
    refers(event.task, event.kernel_stack, event.user_stack);
    refers(event.owner, 0, 0);
  }
  void on_suspend(const Suspend& event) override {
    started();
    check(event.begin_ns <= event.end_ns);
  }

  [[nodiscard]] bool has_footer() const { return footer_; }

 private:
  static void check(bool holds) {
    if (!holds) std::abort();
  }
  void started() const { check(header_ && !footer_); }
  void refers(TaskId task, StackId kernel, StackId user) const {
    started();
    check(task == 0 || tasks_.contains(task));
    check(kernel == 0 || stacks_.contains(kernel));
    check(user == 0 || stacks_.contains(user));
  }

  bool header_ = false;
  bool footer_ = false;
  std::set<TaskId> tasks_;
  std::set<FrameId> frames_;
  std::set<StackId> stacks_;
};

}  // namespace rtnlprof::fuzz
