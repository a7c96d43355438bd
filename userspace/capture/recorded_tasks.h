// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "context/task_reader.h"
#include "model/events.h"
#include "rtnlprof/bpf_events.h"

namespace rtnlprof {

// The tasks of a recording: who they are, what /proc tells about them, and how their counters have moved since they
// were first seen. One thread at a time.
class RecordedTasks {
 public:
  RecordedTasks(EventSink& sink, TaskReader& reader) : sink_(sink), reader_(reader) {}

  void add(const rp_task& record);
  void set_comm(const rp_comm& record);
  void exited(const rp_exit& record);
  // Counters of a task that lives; sent when they have moved.
  void update(const rp_snapshot& snapshot);

  // Whether the task was introduced to the sink, alive or not. Task 0, nobody, always is.
  [[nodiscard]] bool known(TaskId task) const { return task == 0 || (task < seen_.size() && seen_[task]); }
  // Thread group of a task; 0 = unknown task.
  [[nodiscard]] std::int32_t pid_of(TaskId task) const;
  // Asks for the executable mappings of the task's process, once.
  void want_maps(TaskId task);

  // Takes over what the helper thread has read; the mappings are kept for symbolization.
  void drain_details();
  [[nodiscard]] const std::vector<std::shared_ptr<const ProcessMaps>>& maps() const { return maps_; }

 private:
  struct Entry {
    Task task;
    rp_counters baseline{};
    std::int64_t start_boottime_ns = kUnknownTime;
    std::uint32_t policy = 0;
    std::uint64_t vss_pages = kUnknownCount;
    std::uint64_t rss_pages = kUnknownCount;
    std::uint64_t run_sent = kUnknownCount;
    std::uint64_t switches_sent = kUnknownCount;
    bool maps_wanted = false;
  };
  void send_totals(Entry& entry, const rp_counters& now, std::uint32_t policy, std::uint32_t last_cpu,
                   std::uint32_t node_migrations);
  void request(const Entry& entry, bool want_maps);

  EventSink& sink_;
  TaskReader& reader_;
  std::unordered_map<TaskId, Entry> tasks_;          // those alive
  std::vector<bool> seen_;                           // by id: all that ever were
  std::unordered_map<std::int32_t, TaskId> by_tid_;  // the latest life of each tid
  std::vector<std::shared_ptr<const ProcessMaps>> maps_;
};

}  // namespace rtnlprof
