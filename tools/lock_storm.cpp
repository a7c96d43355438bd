// SPDX-License-Identifier: BSD-2-Clause

// lock-storm: as much contention of every kind of kernel lock as a few CPUs can make, to find out whether a profiler
// that hooks the lock slow paths survives it. mmap_lock (rwsem), directory inodes (rwsem), pipes (mutex), futex hash
// buckets and file tables (spinlocks), and wakeups without end.

#include <fcntl.h>
#include <getopt.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "workload/process.h"

namespace rtnlprof::workload {
namespace {

constexpr std::size_t kRegionBytes = 1 << 18;

struct Storm {
  Board* board;
  std::int64_t deadline;
  std::string directory;
  [[nodiscard]] bool over() const { return board->stopped() || now_ns() >= deadline; }
};

void map_and_unmap(const Storm& storm, Slot& slot) {
  while (!storm.over()) {
    void* memory = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) die("cannot map memory");
    for (std::size_t at = 0; at < kRegionBytes; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
    munmap(memory, kRegionBytes);
    ++slot.ops;
  }
}

void make_and_remove_files(const Storm& storm, Slot& slot) {
  const std::string mine = storm.directory + "/f" + std::to_string(own_tid());
  while (!storm.over()) {
    const int fd = open(mine.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) die("cannot create " + mine);
    close(fd);
    const std::string renamed = mine + "r";
    rename(mine.c_str(), renamed.c_str());
    unlink(renamed.c_str());
    ++slot.ops;
  }
}

void contend_futex(const Storm& storm, Slot& slot, std::atomic<std::uint32_t>* word) {
  while (!storm.over()) {
    const timespec moment{0, 100'000};
    syscall(SYS_futex, word, FUTEX_WAIT, word->load(), &moment, nullptr, 0);
    word->fetch_add(1);
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
    ++slot.ops;
  }
}

// Many writers and readers of one pipe: its mutex is contended, and every byte is a wakeup.
void share_pipe(const Storm& storm, Slot& slot, const int* ends, bool writer) {
  char byte = 0;
  while (!storm.over()) {
    const ssize_t done = writer ? write(ends[1], "x", 1) : read(ends[0], &byte, 1);
    if (done < 0) sched_yield();  // full or empty
    ++slot.ops;
  }
}

int run(int seconds, int width, const std::string& truth_path) {
  Board* board = Board::create();
  stop_on_signals(board);
  std::string directory = "/tmp/lock-storm.XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) die("cannot make a directory");
  const Storm storm{board, now_ns() + seconds * kSecond, directory};
  int ends[2] = {};
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) die("cannot make a pipe");
  std::atomic<std::uint32_t>* word = &board->go;  // nobody waits for `go` here: a word all processes share
  struct Kind {
    const char* name;
    std::function<void(Slot&, int)> work;
  };
  const std::vector<Kind> kinds{
      {"storm-mmap", [&](Slot& slot, int) { map_and_unmap(storm, slot); }},
      {"storm-files", [&](Slot& slot, int) { make_and_remove_files(storm, slot); }},
      {"storm-futex", [&](Slot& slot, int) { contend_futex(storm, slot, word); }},
      {"storm-pipe", [&](Slot& slot, int index) { share_pipe(storm, slot, ends, index % 2 == 0); }},
  };
  int used = 0;
  for (const Kind& kind : kinds) {
    const int first = used;
    used += width;
    // Threads of one process, so that they share an mm, a file table and a directory.
    spawn([&, first] {
      std::vector<std::thread> threads;
      threads.reserve(static_cast<std::size_t>(width));
      for (int index = 0; index < width; ++index) {
        threads.emplace_back([&, first, index] {
          introduce(board->slots[first + index], kind.name, "storm");
          kind.work(board->slots[first + index], index);
        });
      }
      for (std::thread& thread : threads) thread.join();
    });
  }
  const bool all_good = reap_all();
  rmdir(directory.c_str());
  nlohmann::json workers = nlohmann::json::array();
  for (int slot = 0; slot < used; ++slot) workers.push_back(to_json(board->slots[slot]));
  write_truth({{"schema", "lock-storm.truth/1"}, {"workers", workers}}, truth_path);
  return all_good ? 0 : 2;
}

int run_main(int argc, char** argv) {
  constexpr const char* kUsage = "Usage: lock-storm [--seconds N] [--width THREADS_OF_EACH_KIND] [--truth FILE]\n";
  const option known[] = {{"seconds", required_argument, nullptr, 's'},
                          {"width", required_argument, nullptr, 'w'},
                          {"truth", required_argument, nullptr, 'T'},
                          {"help", no_argument, nullptr, 'h'},
                          {nullptr, 0, nullptr, 0}};
  int seconds = 5;
  int width = 4;
  std::string truth;
  for (int chosen = 0; (chosen = getopt_long(argc, argv, "h", known, nullptr)) != -1;) {
    if (chosen == 's') {
      seconds = static_cast<int>(parse_number("--seconds", optarg, 1, 3600));
    } else if (chosen == 'w') {
      width = static_cast<int>(parse_number("--width", optarg, 1, 64));
    } else if (chosen == 'T') {
      truth = optarg;
    } else {
      std::fputs(kUsage, chosen == 'h' ? stdout : stderr);
      return chosen == 'h' ? 0 : 2;
    }
  }
  return run(seconds, width, truth);
}

}  // namespace
}  // namespace rtnlprof::workload

int main(int argc, char** argv) {
  return rtnlprof::workload::guarded_main([&] { return rtnlprof::workload::run_main(argc, argv); });
}
