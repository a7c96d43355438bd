// SPDX-License-Identifier: BSD-2-Clause
#include "workload/process.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace rtnlprof::workload {

namespace {

Board* g_board = nullptr;  // for the signal handler; set once before the handler is

void on_stop_signal(int) {
  if (g_board != nullptr) g_board->request_stop();
}

timespec to_timespec(std::int64_t ns) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(ns / kSecond);
  time.tv_nsec = static_cast<long>(ns % kSecond);
  return time;
}

}  // namespace

void die(const std::string& what) {
  std::fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what.c_str(), std::strerror(errno));
  std::fflush(nullptr);
  _exit(2);
}

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

void sleep_until(std::int64_t when_ns) {
  const timespec time = to_timespec(when_ns);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

void spin_until(std::int64_t when_ns) {
  while (now_ns() < when_ns) {
  }
}

pid_t own_tid() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void set_comm(const std::string& comm) { prctl(PR_SET_NAME, comm.c_str()); }

void tie_to_parent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(2);  // it went before the death signal was armed
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
}

bool enter_new_netns() { return unshare(CLONE_NEWNET) == 0; }

Board* Board::create() {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) die("cannot map shared memory");
  return new (memory) Board{};
}

bool Board::wait_stop(std::int64_t when_ns) {
  while (!stopped() && now_ns() < when_ns) {
    const timespec time = to_timespec(when_ns);
    // FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time.
    syscall(SYS_futex, &stop, FUTEX_WAIT_BITSET, 0, &time, nullptr, FUTEX_BITSET_MATCH_ANY);
  }
  return stopped();
}

void Board::request_stop() {
  stop.store(1);
  syscall(SYS_futex, &stop, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void introduce(Slot& slot, const std::string& comm, const std::string& role) {
  set_comm(comm);
  slot.tid = own_tid();
  slot.pid = getpid();
  prctl(PR_GET_NAME, slot.comm);
  std::snprintf(slot.role, sizeof(slot.role), "%s", role.c_str());
}

void book(Slot& slot, std::int64_t began_ns, std::int64_t took_ns) {
  if (slot.ops++ == 0) slot.first_ns = began_ns;
  slot.last_ns = began_ns + took_ns;
  slot.total_ns += took_ns;
  const std::int64_t beyond = took_ns - slot.uncontended_ns;
  if (beyond < kWaitThreshold) return;
  ++slot.waits;
  slot.waited_ns += beyond;
  slot.max_wait_ns = std::max(slot.max_wait_ns, beyond);
}

pid_t spawn(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) die("cannot fork");
  if (child == 0) {
    tie_to_parent();
    body();
    std::fflush(nullptr);
    _exit(0);
  }
  return child;
}

bool reap_all() {
  bool all_good = true;
  for (;;) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    if (child < 0 && errno == EINTR) continue;
    if (child < 0) return all_good;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) all_good = false;
  }
}

void stop_on_signals(Board* board) {
  g_board = board;
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

nlohmann::json to_json(const Slot& slot) {
  return {{"tid", slot.tid},
          {"pid", slot.pid},
          {"comm", std::string(slot.comm)},
          {"role", std::string(slot.role)},
          {"ops", slot.ops},
          {"failed", slot.failed},
          {"total_ns", slot.total_ns},
          {"uncontended_ns", slot.uncontended_ns},
          {"waits", slot.waits},
          {"waited_ns", slot.waited_ns},
          {"max_wait_ns", slot.max_wait_ns},
          {"first_ns", slot.first_ns},
          {"last_ns", slot.last_ns}};
}

void write_truth(const nlohmann::json& truth, const std::string& path) {
  // Names may be hostile bytes: what is not UTF-8 is replaced, never refused.
  const std::string text = truth.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "we");
  if (file == nullptr) die("cannot write " + path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  if (!written) die("cannot write the truth");
  if (file != stdout) std::fclose(file);
}

long long parse_number(const char* option, const char* text, long long low, long long high) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < low || value > high) {
    std::fprintf(stderr, "%s: %s takes a number from %lld to %lld, not \"%s\"\n", program_invocation_short_name, option,
                 low, high, text);
    std::exit(2);
  }
  return value;
}

}  // namespace rtnlprof::workload
