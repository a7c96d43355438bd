// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/task_table.h"

#include <tuple>

namespace rtnlprof {

void TaskTable::define(const Task& task) {
  const TaskNo no = number(task.id);
  if (no != kNoTask) tasks_[no] = task;
}

TaskNo TaskTable::number(TaskId id) { return id == 0 ? kNoTask : subject(id); }

TaskNo TaskTable::subject(TaskId id) {
  const TaskNo no = ids_.insert(id);
  if (no == tasks_.size()) tasks_.emplace_back();
  return no;
}

TaskRef TaskTable::ref(TaskNo number) const {
  TaskRef ref;
  if (number == kNoTask || tasks_[number].id == 0) {
    ref.comm = "unknown";
    return ref;
  }
  const Task& task = tasks_[number];
  ref.tid = task.tid;
  ref.pid = task.pid;
  ref.ns_tid = task.ns_tid == task.tid ? 0 : task.ns_tid;
  ref.comm = task.comm;
  ref.work = task.work;
  ref.container = task.container;
  ref.kernel_thread = task.kernel_thread;
  return ref;
}

void TaskTable::set_work(TaskNo number, const std::string& work) {
  if (tasks_[number].work.empty()) tasks_[number].work = work;
}

bool task_order(const TaskRef& a, const TaskRef& b) {
  return std::tie(a.tid, a.pid, a.comm, a.work) < std::tie(b.tid, b.pid, b.comm, b.work);
}

}  // namespace rtnlprof
