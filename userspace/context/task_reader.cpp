// SPDX-License-Identifier: BSD-2-Clause
#include "context/task_reader.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "context/cgroup.h"
#include "context/proc_task.h"
#include "symbols/file_access.h"

namespace rtnlprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxStatBytes = 4096;
constexpr std::size_t kMaxStatusBytes = 16384;
constexpr std::size_t kMaxCgroupBytes = 65536;
constexpr std::size_t kMaxCmdlineBytes = 4096;
constexpr std::chrono::milliseconds kStopWait{100};
// Reads that can stall without anything being wrong with the task itself: /proc/PID/cgroup takes cgroup_mutex.
constexpr unsigned kMoreAbandoned = 2;

enum class Outcome { kRead, kVanished };

// Reads one task step by step. Called by helper threads only.
class TaskFiles {
 public:
  TaskFiles(const std::string& root, const TaskRequest& request)
      : request_(request),
        // Threads that are not listed in /proc are there all the same.
        proc_path_(root + "/proc/" + std::to_string(request.tid)),
        ticks_per_second_(sysconf(_SC_CLK_TCK)) {}

  // What does not touch the task's memory.
  Outcome read_identity(TaskDetails& details);
  // What can block on its mmap_lock or on a file system. `stage` is told what is read next.
  Outcome read_memory(TaskDetails& details, FileStore& files, const std::function<void(const char*)>& stage);

 private:
  [[nodiscard]] std::optional<ProcStat> read_stat() const;
  [[nodiscard]] bool still_the_same(std::int64_t start_ns) const;

  TaskRequest request_;
  std::string proc_path_;
  long ticks_per_second_;
  ProcStatus status_;
};

std::optional<ProcStat> TaskFiles::read_stat() const {
  const auto text = read_kernel_file(proc_path_ + "/stat", kMaxStatBytes);
  return text ? parse_proc_stat(text.value(), ticks_per_second_) : std::nullopt;
}

bool TaskFiles::still_the_same(std::int64_t start_ns) const {
  const auto stat = read_stat();
  return stat && stat->start_ns == start_ns;
}

Outcome TaskFiles::read_identity(TaskDetails& details) {
  const auto stat = read_stat();
  if (!stat || !same_start(request_.start_ns, stat->start_ns, ticks_per_second_)) return Outcome::kVanished;
  const auto status = read_kernel_file(proc_path_ + "/status", kMaxStatusBytes);
  const auto cgroup = read_kernel_file(proc_path_ + "/cgroup", kMaxCgroupBytes);
  if (!still_the_same(stat->start_ns)) return Outcome::kVanished;
  if (status) status_ = parse_proc_status(status.value());
  if (request_.pid > 0 && status_.pid > 0 && status_.pid != request_.pid) return Outcome::kVanished;

  details.tid = request_.tid;
  details.pid = request_.pid > 0 ? request_.pid : status_.pid;
  details.ppid = stat->ppid;
  details.ns_tid = status_.ns_tid != 0 ? status_.ns_tid : request_.tid;
  details.start_ns = stat->start_ns;
  details.comm = stat->comm;
  details.kernel_thread = stat->kernel_thread;
  if (cgroup) details.cgroup = cgroup_path(cgroup.value());
  details.container = container_id_of_cgroup(details.cgroup);
  return Outcome::kRead;
}

Outcome TaskFiles::read_memory(TaskDetails& details, FileStore& files, const std::function<void(const char*)>& stage) {
  stage("cmdline");
  const auto cmdline = read_kernel_file(proc_path_ + "/cmdline", kMaxCmdlineBytes);
  if (cmdline) {
    details.cmdline = join_cmdline(cmdline.value());
  } else {
    details.missing = cmdline.error().message;
  }
  if (request_.want_maps) {
    stage("maps");
    const std::int32_t ns_pid = status_.ns_pid != 0 ? status_.ns_pid : details.pid;
    auto maps = read_process_maps(proc_path_, details.pid, ns_pid, status_.uid, files);
    if (maps) {
      details.maps = std::make_shared<const ProcessMaps>(std::move(maps.value()));
    } else if (details.missing.empty()) {
      details.missing = maps.error().message;
    }
  }
  return still_the_same(details.start_ns) ? Outcome::kRead : Outcome::kVanished;
}

}  // namespace

// What the helper threads and the owner share; helpers that were left behind keep it alive.
struct TaskReader::Shared {
  Shared(Options chosen, std::shared_ptr<FileStore> store) : options(std::move(chosen)), files(std::move(store)) {}

  const Options options;
  const std::shared_ptr<FileStore> files;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<TaskRequest> queue;
  std::vector<TaskDetails> ready;
  Stats stats;
  bool stopping = false;
  bool dead = false;             // no helper thread any more
  bool identity_only = false;    // cmdlines and maps are given up
  bool thread_running = false;   // of the current generation
  std::uint64_t generation = 0;  // helper threads of earlier ones were abandoned

  // Of the current generation's read in progress.
  bool busy = false;
  Clock::time_point busy_since;
  TaskDetails partial;  // tid 0: nothing known yet
  std::string stage;    // what is being read

  void serve(std::uint64_t own_generation);
  void read_one(std::uint64_t own_generation, const TaskRequest& request, bool with_memory);
  void deliver(TaskDetails details);  // with the mutex held, as all below
  void start_thread(const std::shared_ptr<Shared>& self);
  void watch(const std::shared_ptr<Shared>& self);
  void give_up(const std::string& reason);
};

void TaskReader::Shared::serve(std::uint64_t own_generation) {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stopping || generation != own_generation || !queue.empty(); });
    if (stopping || generation != own_generation) break;
    const TaskRequest request = queue.front();
    queue.pop_front();
    busy = true;
    busy_since = Clock::now();
    partial = TaskDetails();
    stage = "stat";
    const bool with_memory = !identity_only;
    changed.notify_all();  // wait_idle() keeps an eye on the deadline from now on
    lock.unlock();
    read_one(own_generation, request, with_memory);
    lock.lock();
    if (generation != own_generation) break;
    busy = false;
    changed.notify_all();
  }
  if (generation == own_generation) thread_running = false;
  changed.notify_all();
}

void TaskReader::Shared::read_one(std::uint64_t own_generation, const TaskRequest& request, bool with_memory) {
  TaskFiles task(options.root, request);
  TaskDetails details;
  Outcome outcome = task.read_identity(details);
  const bool has_memory = outcome == Outcome::kRead && !details.kernel_thread;
  if (has_memory && with_memory) {
    {
      const std::lock_guard lock(mutex);
      if (generation == own_generation) partial = details;
    }
    outcome = task.read_memory(details, *files, [&](const char* what) {
      const std::lock_guard lock(mutex);
      if (generation == own_generation) stage = what;
    });
  }
  const std::lock_guard lock(mutex);
  if (has_memory && !with_memory) details.missing = stats.gave_up;
  // An abandoned read that did come to its end is news: the task was reported without its cmdline.
  if (outcome == Outcome::kRead) {
    deliver(std::move(details));
  } else if (generation == own_generation) {
    ++stats.vanished;
  }
}

void TaskReader::Shared::deliver(TaskDetails details) {
  if (stopping) return;
  if (ready.size() >= options.queue_limit) {
    ++stats.refused;
    return;
  }
  ++stats.delivered;
  ready.push_back(std::move(details));
}

void TaskReader::Shared::start_thread(const std::shared_ptr<Shared>& self) {
  try {
    std::thread([self, own_generation = generation] { self->serve(own_generation); }).detach();
    thread_running = true;
  } catch (const std::system_error& error) {
    give_up(std::string("cannot start a thread to read /proc: ") + error.what());
  }
}

void TaskReader::Shared::give_up(const std::string& reason) {
  dead = true;
  thread_running = false;
  stats.gave_up = reason;
  stats.refused += queue.size();
  queue.clear();
}

// Abandons a read that is past its deadline and lets a new thread go on with the rest.
void TaskReader::Shared::watch(const std::shared_ptr<Shared>& self) {
  if (!busy || stopping || Clock::now() - busy_since < options.deadline) return;
  ++stats.abandoned;
  ++generation;
  busy = false;
  thread_running = false;
  const std::string limit = std::to_string(options.deadline.count()) + " ms";
  if (partial.tid != 0) {
    partial.missing = "reading its " + stage + " took longer than " + limit + ": its memory map is locked";
    deliver(std::move(partial));
    partial = TaskDetails();
  }
  if (stats.abandoned >= options.max_abandoned && !identity_only) {
    identity_only = true;
    stats.gave_up = std::to_string(stats.abandoned) + " tasks' cmdlines took longer than " + limit +
                    " each to read: no more are read in this recording";
  }
  if (stats.abandoned >= options.max_abandoned + kMoreAbandoned) {
    give_up("reading /proc blocked " + std::to_string(stats.abandoned) + " times for longer than " + limit +
            ": tasks are not looked up any more");
  } else {
    start_thread(self);
  }
  changed.notify_all();
}

TaskReader::TaskReader(Options options, std::shared_ptr<FileStore> files)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(files))) {
  const std::lock_guard lock(shared_->mutex);
  shared_->start_thread(shared_);
}

TaskReader::~TaskReader() { stop(); }

bool TaskReader::request(const TaskRequest& request) {
  const std::lock_guard lock(shared_->mutex);
  shared_->watch(shared_);
  ++shared_->stats.requested;
  if (shared_->stopping || shared_->dead || shared_->queue.size() >= shared_->options.queue_limit) {
    ++shared_->stats.refused;
    return false;
  }
  shared_->queue.push_back(request);
  shared_->changed.notify_all();
  return true;
}

std::vector<TaskDetails> TaskReader::drain() {
  const std::lock_guard lock(shared_->mutex);
  shared_->watch(shared_);
  return std::exchange(shared_->ready, {});
}

bool TaskReader::wait_idle(std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  std::unique_lock lock(shared_->mutex);
  while (true) {
    shared_->watch(shared_);
    if (!shared_->busy && (shared_->queue.empty() || shared_->stopping)) return true;
    const Clock::time_point now = Clock::now();
    if (now >= end) return false;
    Clock::time_point next = end;
    if (shared_->busy) next = std::min(next, std::max(shared_->busy_since + shared_->options.deadline, now));
    shared_->changed.wait_until(lock, next);
  }
}

TaskReader::Stats TaskReader::stats() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->stats;
}

void TaskReader::stop() {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kStopWait, [&] { return !shared_->thread_running; });
}

}  // namespace rtnlprof
