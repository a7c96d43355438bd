// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/events.h"
#include "symbols/process_maps.h"

namespace rtnlprof {

struct TaskRequest {
  std::int32_t tid = 0;                  // host's
  std::int32_t pid = 0;                  // thread group, host's
  std::int64_t start_ns = kUnknownTime;  // task_struct.start_boottime, ns since boot; unknown = not checked
  bool want_maps = false;                // executable mappings, for user symbols
};

// What /proc knows about a task. Strings are raw bytes, untrusted.
struct TaskDetails {
  std::int32_t tid = 0;
  std::int32_t pid = 0;
  std::int32_t ppid = 0;
  std::int32_t ns_tid = 0;               // in its own PID namespace; equal to tid when it has none of its own
  std::int64_t start_ns = kUnknownTime;  // ns since boot, to a clock tick; tells reused ids apart
  std::string comm;                      // of a kworker with its work queue: "kworker/0:1-events"
  std::string cmdline;                   // arguments joined by one space; empty for kernel threads
  std::string cgroup;                    // "/system.slice/snmpd.service"
  std::string container;                 // id, or empty
  bool kernel_thread = false;
  std::string missing;                      // why cmdline (and maps) are not there; empty when all was read
  std::shared_ptr<const ProcessMaps> maps;  // null unless wanted and read
};

// Reads /proc for tasks in a helper thread, since reading a cmdline can block on the task's mm for as long as that
// task is stuck. Nobody waits for it: a read that takes longer than the deadline is abandoned with its thread, what is
// known by then is delivered, and after a few abandoned threads cmdlines are no longer read. All members may be called
// from any thread; none blocks for longer than it takes to copy what is ready (stop(): 100 ms).
class TaskReader {
 public:
  struct Options {
    std::string root;                         // "" = the real /proc
    std::size_t queue_limit = 4096;           // requests waiting, and results not drained
    std::chrono::milliseconds deadline{500};  // for one task
    unsigned max_abandoned = 3;               // threads given up before cmdlines and maps are not read any more
  };
  struct Stats {
    std::uint64_t requested = 0;
    std::uint64_t delivered = 0;  // drained or ready to be
    std::uint64_t refused = 0;    // a queue was full
    std::uint64_t vanished = 0;   // gone, or its id reused, before it was read
    std::uint64_t abandoned = 0;  // reads past the deadline
    std::string gave_up;          // why cmdlines are not read any more; empty while they are
  };

  TaskReader(Options options, std::shared_ptr<FileStore> files);
  TaskReader(const TaskReader&) = delete;
  TaskReader& operator=(const TaskReader&) = delete;
  ~TaskReader();

  // Queues a task. False when the queue is full or the reader has stopped (counted, the task may be asked for again).
  bool request(const TaskRequest& request);
  // What was read since the last call. Call it every now and then: it also is the watchdog.
  std::vector<TaskDetails> drain();
  // Waits until every request is answered or abandoned, or `timeout` has passed; true when nothing is left.
  bool wait_idle(std::chrono::milliseconds timeout);
  [[nodiscard]] Stats stats() const;
  // Ends the helper thread, or leaves it behind when it is stuck. Idempotent; the destructor calls it.
  void stop();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rtnlprof
