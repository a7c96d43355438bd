// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "model/events.h"

namespace rtnlprof {

// Keeps what it receives.
class EventLog final : public EventSink {
 public:
  void on_task(const Task& event) override { tasks.push_back(event); }
  void on_frame(const Frame& event) override { frames.push_back(event); }
  void on_stack(const Stack& event) override { stacks.push_back(event); }
  void on_lock(const Lock& event) override { locks.push_back(event); }
  void on_sleep(const Sleep& event) override { sleeps.push_back(event); }
  void on_wait(const Wait& event) override { waits.push_back(event); }
  void on_wakeups(const Wakeups& event) override { wakeups.push_back(event); }
  void on_scheduler(const SchedulerTotals& event) override { totals.push_back(event); }

  std::vector<Task> tasks;
  std::vector<Frame> frames;
  std::vector<Stack> stacks;
  std::vector<Lock> locks;
  std::vector<Sleep> sleeps;
  std::vector<Wait> waits;
  std::vector<Wakeups> wakeups;
  std::vector<SchedulerTotals> totals;
};

}  // namespace rtnlprof
