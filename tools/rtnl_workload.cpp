// SPDX-License-Identifier: BSD-2-Clause

// rtnl-workload: provokes contention of the RTNL in network namespaces of its own and prints, as JSON, what every task
// did and how long it waited. Nothing outlives it, whatever way it ends.

#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "workload/modes.h"

namespace rtnlprof::workload {

void spawn_victims(Board& board, const WorkloadOptions& options, int first_slot,
                   const std::function<void(Slot&, int)>& prepare, const std::function<void(Slot&, int)>& work) {
  const auto live = [&board, first_slot, &prepare, &work](int index) {
    Slot& slot = board.slots[first_slot + index];
    introduce(slot, "rtnl-victim-" + std::to_string(index), "victim");
    // One after the other, or they would disturb each other's measurements.
    while (index > 0 && board.slots[first_slot + index - 1].phase.load() == 0) sleep_until(now_ns() + kMillisecond);
    prepare(slot, index);
    if (wait_for_go(board, slot)) work(slot, index);
    slot.phase.store(3);
  };
  for (int process = 0; process < options.processes; ++process) {
    spawn([&] {
      std::vector<std::thread> others;
      for (int thread = 1; thread < options.threads; ++thread) {
        others.emplace_back(live, process * options.threads + thread);
      }
      live(process * options.threads);
      for (std::thread& other : others) other.join();
    });
  }
}

bool wait_for_go(Board& board, Slot& slot) {
  slot.phase.store(1);
  while (board.go.load() == 0) {
    if (board.wait_stop(now_ns() + kMillisecond)) return false;
  }
  return true;
}

void release_when_ready(Board& board, int count) {
  for (int slot = 0; slot < count; ++slot) {
    while (board.slots[slot].phase.load() == 0) {
      if (board.wait_stop(now_ns() + kMillisecond)) return;
    }
  }
  board.start_ns = now_ns() + 20 * kMillisecond;
  board.go.store(1);
}

namespace {

constexpr const char* kUsage =
    "Usage: rtnl-workload [OPTIONS]\n"
    "Provokes contention of the RTNL in network namespaces of its own; prints what it did as JSON.\n\n"
    "  --mode MODE       storm: devices and namespaces come and go while victims ask (default)\n"
    "                    ladder: one holder, known holds, every victim waits once in each\n"
    "                    hold: one hold from the line \"ready\" on stderr to the end\n"
    "  --seconds N       how long (default 5); SIGINT and SIGTERM end it early\n"
    "  --processes N     victim processes (default 4)\n"
    "  --threads N       victim threads in each of them (default 1)\n"
    "  --churners N      storm: processes that make and delete devices (default 2)\n"
    "  --hold MS         ladder: length of one hold in milliseconds (default 20)\n"
    "  --hold-kind KIND  ladder: the holder sleeps in a page fault (sleep, default) or computes (run)\n"
    "  --seed N          for the random choices (default 1)\n"
    "  --truth FILE      where to write the JSON (default: stdout)\n";

WorkloadOptions parse_options(int argc, char** argv) {
  WorkloadOptions options;
  const option known[] = {
      {"mode", required_argument, nullptr, 'm'},
      {"seconds", required_argument, nullptr, 's'},
      {"processes", required_argument, nullptr, 'p'},
      {"threads", required_argument, nullptr, 't'},
      {"churners", required_argument, nullptr, 'c'},
      {"hold", required_argument, nullptr, 'H'},
      {"hold-kind", required_argument, nullptr, 'k'},
      {"seed", required_argument, nullptr, 'S'},
      {"truth", required_argument, nullptr, 'T'},
      {"help", no_argument, nullptr, 'h'},
      {nullptr, 0, nullptr, 0},
  };
  for (int chosen = 0; (chosen = getopt_long(argc, argv, "h", known, nullptr)) != -1;) {
    switch (chosen) {
      case 'm':
        options.mode = optarg;
        break;
      case 's':
        options.duration_ns = parse_number("--seconds", optarg, 1, 86400) * kSecond;
        break;
      case 'p':
        options.processes = static_cast<int>(parse_number("--processes", optarg, 1, 64));
        break;
      case 't':
        options.threads = static_cast<int>(parse_number("--threads", optarg, 1, 4));
        break;
      case 'c':
        options.churners = static_cast<int>(parse_number("--churners", optarg, 0, 64));
        break;
      case 'H':
        options.hold_ns = parse_number("--hold", optarg, 2, 60000) * kMillisecond;
        break;
      case 'k':
        options.hold_kind = optarg;
        break;
      case 'S':
        options.seed = static_cast<std::uint64_t>(parse_number("--seed", optarg, 0, 1LL << 40));
        break;
      case 'T':
        options.truth = optarg;
        break;
      case 'h':
        std::fputs(kUsage, stdout);
        std::exit(0);
      default:
        std::fputs(kUsage, stderr);
        std::exit(2);
    }
  }
  const bool mode_known = options.mode == "storm" || options.mode == "ladder" || options.mode == "hold";
  const bool kind_known = options.hold_kind == "sleep" || options.hold_kind == "run";
  if (optind < argc || !mode_known || !kind_known) {
    std::fputs(kUsage, stderr);
    std::exit(2);
  }
  if (options.mode == "hold") options.hold_kind = "sleep";
  return options;
}

int run_main(int argc, char** argv) {
  const WorkloadOptions options = parse_options(argc, argv);
  if (!enter_new_netns()) die("cannot make a network namespace (root needed)");
  Board* board = Board::create();
  stop_on_signals(board);
  nlohmann::json truth;
  if (options.mode == "ladder") {
    truth = run_ladder(*board, options);
  } else if (options.mode == "hold") {
    truth = run_hold(*board, options);
  } else {
    truth = run_storm(*board, options);
  }
  write_truth(truth, options.truth);
  return 0;
}

}  // namespace
}  // namespace rtnlprof::workload

int main(int argc, char** argv) {
  return rtnlprof::workload::guarded_main([&] { return rtnlprof::workload::run_main(argc, argv); });
}
