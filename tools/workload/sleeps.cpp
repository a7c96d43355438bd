// SPDX-License-Identifier: BSD-2-Clause
#include "workload/sleeps.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <new>

namespace rtnlprof::workload {

namespace {

constexpr int kVictims = 4;
constexpr std::size_t kChildStackBytes = 65536;

// What the processes of one run share.
struct Stage {
  std::atomic<int> ready;
  std::atomic<int> go;
  std::atomic<int> settled;
  std::atomic<std::uint32_t> words[2];  // futexes of the two sides of a hand-off
  std::atomic<std::int64_t> stamps[2];  // when side i is about to wake the other
  Victim victims[kVictims];
};

Stage* create_stage() {
  void* memory = mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) die("cannot map shared memory");
  return new (memory) Stage{};
}

void copy_name(char* to, std::size_t size, const std::string& name) { std::snprintf(to, size, "%s", name.c_str()); }

void describe(Victim& victim, const std::string& kind, const std::string& comm, const char* syscall_name, char state) {
  set_comm(comm);
  copy_name(victim.kind, sizeof(victim.kind), kind);
  copy_name(victim.comm, sizeof(victim.comm), comm);
  copy_name(victim.syscall, sizeof(victim.syscall), syscall_name);
  victim.tid = own_tid();
  victim.pid = getpid();
  victim.state = state;
}

void book_sleep(Victim& victim, std::int64_t took_ns) {
  ++victim.count;
  victim.total_ns += took_ns;
  victim.max_ns = std::max(victim.max_ns, took_ns);
}

// From here on the caller does not sleep but where it means to. Waits for the others without sleeping.
void step_on(Stage& stage, const SleepOptions& options) {
  mlockall(MCL_CURRENT | MCL_FUTURE);
  prctl(PR_SET_TIMERSLACK, 1);
  stage.ready.fetch_add(1);
  while (stage.go.load() == 0) sched_yield();
  if (options.fifo) {
    sched_param parameter{};
    parameter.sched_priority = 10;
    sched_setscheduler(0, SCHED_FIFO, &parameter);
  }
}

void sleep_by_timer(Stage& stage, const std::string& kind, const SleepOptions& options) {
  Victim& victim = stage.victims[0];
  const bool polls = kind == "poll";
  describe(victim, kind, "sv-" + kind, polls ? "poll" : "clock_nanosleep", 'S');
  victim.timer = true;
  step_on(stage, options);
  timespec length{};
  length.tv_sec = options.sleep_ns / kSecond;
  length.tv_nsec = options.sleep_ns % kSecond;
  for (int sleep = 0; sleep < options.count; ++sleep) {
    const std::int64_t began = now_ns();
    if (polls) {
      poll(nullptr, 0, static_cast<int>(options.sleep_ns / kMillisecond));
    } else {
      clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr);
    }
    book_sleep(victim, now_ns() - began);
    victim.asked_ns += options.sleep_ns;
  }
}

// How the two sides of a hand-off tell each other.
struct Channel {
  std::function<void(int side)> wake_other;
  std::function<void(int side)> wait_own;
};

void hand_off(Stage& stage, const std::string& kind, int side, const char* syscall_name, const Channel& channel,
              const SleepOptions& options) {
  Victim& victim = stage.victims[side];
  describe(victim, kind, "sv-" + kind + (side == 0 ? "-a" : "-b"), syscall_name, 'S');
  step_on(stage, options);
  if (side == 1) stage.settled.store(1);
  // Side 1 has its CPU and is on its way to sleep before side 0 starts to keep one busy.
  while (stage.settled.load() == 0) sched_yield();
  const auto wake = [&] {
    spin_until(now_ns() + options.sleep_ns);  // the other side is asleep by then
    stage.stamps[side].store(now_ns());
    channel.wake_other(side);
  };
  for (int sleep = 0; sleep < options.count; ++sleep) {
    if (side == 0) wake();
    const std::int64_t began = now_ns();
    channel.wait_own(side);
    book_sleep(victim, stage.stamps[1 - side].load() - began);
    if (side == 1) wake();
  }
  victim.wakers = 1;
  victim.waker_tids[0] = stage.victims[1 - side].tid;
  copy_name(victim.waker_comm, sizeof(victim.waker_comm), stage.victims[1 - side].comm);
}

void start_pipe(Stage& stage, const SleepOptions& options) {
  int to_side[2][2] = {};
  if (pipe(to_side[0]) < 0 || pipe(to_side[1]) < 0) die("cannot make a pipe");
  Channel channel;
  channel.wake_other = [&to_side](int side) {
    if (write(to_side[1 - side][1], "x", 1) != 1) die("cannot write to the pipe");
  };
  channel.wait_own = [&to_side](int side) {
    char byte = 0;
    if (read(to_side[side][0], &byte, 1) != 1) die("cannot read from the pipe");
  };
  for (int side = 0; side < 2; ++side) {
    spawn([&, side] { hand_off(stage, "pipe", side, "read", channel, options); });
  }
  for (const auto& ends : to_side) {
    close(ends[0]);
    close(ends[1]);
  }
}

void start_futex(Stage& stage, const SleepOptions& options) {
  Channel channel;
  channel.wake_other = [&stage](int side) {
    stage.words[1 - side].store(1);
    syscall(SYS_futex, &stage.words[1 - side], FUTEX_WAKE, 1, nullptr, nullptr, 0);
  };
  channel.wait_own = [&stage](int side) {
    while (stage.words[side].load() == 0) {
      syscall(SYS_futex, &stage.words[side], FUTEX_WAIT, 0, nullptr, nullptr, 0);
    }
    stage.words[side].store(0);
  };
  // Two processes, not two threads: joining a thread would be one more futex sleep.
  for (int side = 0; side < 2; ++side) {
    spawn([&, side] { hand_off(stage, "futex", side, "futex", channel, options); });
  }
}

// A child as vfork makes it: the parent waits in D, killable, until the child ends.
struct VforkChild {
  std::int64_t began_ns = 0;
  std::int32_t tid = 0;
  std::function<void()> wait;
};

int vfork_child(void* argument) {
  auto* child = static_cast<VforkChild*>(argument);
  child->began_ns = now_ns();
  child->tid = own_tid();
  child->wait();
  syscall(SYS_exit, 0);  // no atexit: the memory is the parent's
  return 0;
}

void vfork_and_wait(VforkChild& child) {
  static char stack[kChildStackBytes];
  std::signal(SIGCHLD, SIG_IGN);  // children are reaped by the kernel: no wait() that would be one more sleep
  if (clone(vfork_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &child) < 0) die("cannot vfork");
}

void sleep_in_vfork(Stage& stage, const SleepOptions& options) {
  Victim& victim = stage.victims[0];
  describe(victim, "vfork", "sv-vfork", "clone", 'D');
  step_on(stage, options);
  VforkChild child;
  child.wait = [&options] { sleep_until(now_ns() + options.sleep_ns); };
  for (int sleep = 0; sleep < options.count; ++sleep) {
    vfork_and_wait(child);
    book_sleep(victim, now_ns() - child.began_ns);
    victim.waker_tids[victim.wakers++] = child.tid;
  }
  copy_name(victim.waker_comm, sizeof(victim.waker_comm), victim.comm);
}

nlohmann::json victim_json(const Victim& victim) {
  nlohmann::json wakers = nlohmann::json::array();
  if (victim.timer) wakers.push_back({{"context", "interrupt"}});
  for (int waker = 0; waker < victim.wakers; ++waker) {
    wakers.push_back(
        {{"context", "task"}, {"tid", victim.waker_tids[waker]}, {"comm", std::string(victim.waker_comm)}});
  }
  return {{"kind", victim.kind},
          {"tid", victim.tid},
          {"pid", victim.pid},
          {"comm", victim.comm},
          {"state", std::string(1, victim.state)},
          {"syscall", victim.syscall},
          {"count", victim.count},
          {"total_ns", victim.total_ns},
          {"max_ns", victim.max_ns},
          {"asked_ns", victim.asked_ns},
          {"wakers", wakers}};
}

}  // namespace

const std::vector<std::string>& sleep_kinds() {
  static const std::vector<std::string> kinds{"nanosleep", "poll", "pipe", "futex", "vfork"};
  return kinds;
}

nlohmann::json run_sleeps(const std::string& kind, const SleepOptions& options) {
  Stage* stage = create_stage();
  const int sides = kind == "pipe" || kind == "futex" ? 2 : 1;
  if (kind == "pipe") {
    start_pipe(*stage, options);
  } else if (kind == "futex") {
    start_futex(*stage, options);
  } else if (kind == "vfork") {
    spawn([&] { sleep_in_vfork(*stage, options); });
  } else {
    spawn([&] { sleep_by_timer(*stage, kind, options); });
  }
  while (stage->ready.load() < sides) sleep_until(now_ns() + kMillisecond);
  stage->go.store(1);
  if (!reap_all()) {
    std::fprintf(stderr, "sleep-victim: a victim of kind %s failed\n", kind.c_str());
    _exit(2);
  }
  nlohmann::json victims = nlohmann::json::array();
  for (int side = 0; side < sides; ++side) victims.push_back(victim_json(stage->victims[side]));
  munmap(stage, sizeof(Stage));
  return victims;
}

const std::vector<std::string>& blocked_kinds() {
  static const std::vector<std::string> kinds{"vfork", "pipe", "futex"};
  return kinds;
}

nlohmann::json run_blocked(Board& board, const std::vector<std::string>& kinds, std::int64_t duration_ns) {
  Stage* stage = create_stage();
  const std::int64_t deadline = now_ns() + duration_ns;
  int ends[2] = {};
  if (pipe(ends) < 0) die("cannot make a pipe");
  int count = 0;
  for (const std::string& kind : kinds) {
    Victim& victim = stage->victims[count++];
    spawn([&] {
      describe(victim, kind, "sv-block-" + kind, kind == "pipe" ? "read" : (kind == "futex" ? "futex" : "clone"),
               kind == "vfork" ? 'D' : 'S');
      victim.count = 1;
      const std::int64_t began = now_ns();
      stage->ready.fetch_add(1);
      if (kind == "vfork") {
        VforkChild child;
        child.wait = [&] { board.wait_stop(deadline); };
        vfork_and_wait(child);
      } else if (kind == "pipe") {
        char byte = 0;
        if (read(ends[0], &byte, 1) != 1) die("cannot read from the pipe");
      } else {
        while (!board.stopped()) syscall(SYS_futex, &board.stop, FUTEX_WAIT, 0, nullptr, nullptr, 0);
      }
      victim.total_ns = victim.max_ns = now_ns() - began;
    });
  }
  const auto truth = [&] {
    nlohmann::json victims = nlohmann::json::array();
    for (int index = 0; index < count; ++index) victims.push_back(victim_json(stage->victims[index]));
    return victims;
  };
  while (stage->ready.load() < count) sleep_until(now_ns() + kMillisecond);
  sleep_until(now_ns() + 100 * kMillisecond);  // from "ready" to blocked
  std::fprintf(stderr, "ready %s\n", nlohmann::json{{"victims", truth()}}.dump().c_str());
  board.wait_stop(deadline);
  board.request_stop();
  if (write(ends[1], "x", 1) != 1) die("cannot write to the pipe");
  reap_all();
  return truth();
}

}  // namespace rtnlprof::workload
