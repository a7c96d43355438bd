// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/flat_index.h"
#include "analysis/report_model.h"
#include "model/events.h"

namespace rtnlprof {

using TaskNo = std::uint32_t;  // dense number of a task within one analysis
inline constexpr TaskNo kNoTask = UINT32_MAX;

// The tasks of a stream, by TaskId. A task may be used before or without its definition.
class TaskTable {
 public:
  void define(const Task& task);
  // kNoTask for id 0.
  [[nodiscard]] TaskNo number(TaskId id);
  // Whose event it is: id 0 is a task, too, that nobody knows.
  [[nodiscard]] TaskNo subject(TaskId id);

  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  [[nodiscard]] const Task& task(TaskNo number) const { return tasks_[number]; }
  // How the report names it. An undefined task has tid 0 and comm "unknown".
  [[nodiscard]] TaskRef ref(TaskNo number) const;
  // Names the work function of a kworker that the stream itself did not name.
  void set_work(TaskNo number, const std::string& work);

 private:
  FlatIndex<std::uint32_t> ids_;
  std::vector<Task> tasks_;
};

// A total order for ties, the same in every run.
[[nodiscard]] bool task_order(const TaskRef& a, const TaskRef& b);

}  // namespace rtnlprof
