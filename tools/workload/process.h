// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the workloads share: processes that die with their parent, a table in shared memory where every worker writes
// what it did, a clock, and the truth document printed at the end. All times are nanoseconds of CLOCK_MONOTONIC.

#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace rtnlprof::workload {

inline constexpr std::int64_t kMicrosecond = 1'000;
inline constexpr std::int64_t kMillisecond = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000'000'000;

// Prints "PROGRAM: WHAT: strerror(errno)" and ends this process with status 2.
[[noreturn]] void die(const std::string& what);

std::int64_t now_ns();
// Returns at once when `when_ns` has passed; never early.
void sleep_until(std::int64_t when_ns);
// Keeps the CPU busy until `when_ns`: a delay that is no sleep.
void spin_until(std::int64_t when_ns);

// The kernel's thread id of the caller.
pid_t own_tid();
// Names the calling thread; the kernel keeps 15 bytes.
void set_comm(const std::string& comm);
// The calling process gets SIGKILL when its parent goes, and ignores SIGINT and SIGTERM, which are for the parent.
void tie_to_parent();

// A private network namespace for this process. False (errno set) without the privilege.
bool enter_new_netns();

// What one worker did; lives in shared memory, written by its worker only, read by the parent after the worker's end
// (and `phase` at any time).
struct Slot {
  std::atomic<int> phase;  // 0 not started, 1 ready, 2 inside its operation, 3 done
  std::int32_t tid;
  std::int32_t pid;
  char comm[16];
  char role[16];
  std::uint64_t ops;
  std::uint64_t failed;
  std::int64_t total_ns;        // in the operations, uncontended cost included
  std::int64_t uncontended_ns;  // what one operation costs alone
  std::uint64_t waits;          // operations that took clearly longer than that
  std::int64_t waited_ns;       // what they took beyond it
  std::int64_t max_wait_ns;
  std::int64_t first_ns;  // when the first operation began
  std::int64_t last_ns;   // when the last one ended
};

// Shared between the parent and all its workers; anonymous, so that nothing is left behind.
struct Board {
  static constexpr int kMaxSlots = 512;
  std::atomic<std::uint32_t> stop;  // not 0: end early; a futex word
  std::atomic<std::uint32_t> go;    // not 0: everybody is ready
  std::int64_t start_ns;            // set before `go`
  Slot slots[kMaxSlots];

  static Board* create();
  [[nodiscard]] bool stopped() const { return stop.load(std::memory_order_relaxed) != 0; }
  // Waits until `when_ns` or `stop`, whichever is first; true: stopped.
  bool wait_stop(std::int64_t when_ns);
  void request_stop();
};

// Writes who the calling thread is into `slot` and names it.
void introduce(Slot& slot, const std::string& comm, const std::string& role);
// Books one operation of `took_ns`; it counts as a wait when it took `kWaitThreshold` longer than uncontended.
inline constexpr std::int64_t kWaitThreshold = 200 * kMicrosecond;
void book(Slot& slot, std::int64_t began_ns, std::int64_t took_ns);

// Forks; the child runs `body` and exits with 0. Returns the child's pid.
pid_t spawn(const std::function<void()>& body);
// Waits for every child; false when one of them did not exit with 0.
bool reap_all();
// SIGINT, SIGTERM and SIGHUP ask `board` to stop.
void stop_on_signals(Board* board);

nlohmann::json to_json(const Slot& slot);
// Writes `truth` to `path`, or to stdout when it is empty.
void write_truth(const nlohmann::json& truth, const std::string& path);

// Runs the program's body; an exception ends it with a message and status 2.
template <typename Body>
int guarded_main(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
  } catch (...) {
    std::fprintf(stderr, "%s: unknown exception\n", program_invocation_short_name);
  }
  return 2;
}

// The value of an option as an integer within [low, high]; ends the program with a message otherwise.
long long parse_number(const char* option, const char* text, long long low, long long high);

}  // namespace rtnlprof::workload
