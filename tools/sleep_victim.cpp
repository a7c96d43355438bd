// SPDX-License-Identifier: BSD-2-Clause

// sleep-victim: sleeps whose number, length, state and waker are known, printed as JSON. The kinds run one after the
// other, so that they do not disturb each other.

#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "workload/sleeps.h"

namespace rtnlprof::workload {
namespace {

constexpr const char* kUsage =
    "Usage: sleep-victim [OPTIONS]\n"
    "Sleeps in known ways and prints what it did as JSON.\n\n"
    "  --kinds LIST    of nanosleep, poll, pipe, futex, vfork (default: all, one after the other)\n"
    "  --count N       sleeps of each victim (default 50)\n"
    "  --sleep MS      length of each (default 10)\n"
    "  --fifo          run the victims as SCHED_FIFO, to keep run-queue time out of the truth\n"
    "  --blocked LIST  instead: one victim of each of vfork, pipe, futex stays blocked from the line \"ready\" on\n"
    "                  stderr until the end\n"
    "  --seconds N     with --blocked: how long (default 10); SIGINT and SIGTERM end it early\n"
    "  --truth FILE    where to write the JSON (default: stdout)\n";

struct Options {
  SleepOptions sleeps;
  std::vector<std::string> kinds = sleep_kinds();
  std::vector<std::string> blocked;
  std::int64_t duration_ns = 10 * kSecond;
  std::string truth;
};

std::vector<std::string> parse_list(const char* option, const char* text, const std::vector<std::string>& known) {
  std::vector<std::string> chosen;
  std::istringstream stream{text};
  for (std::string kind; std::getline(stream, kind, ',');) {
    if (std::find(known.begin(), known.end(), kind) == known.end()) {
      std::fprintf(stderr, "sleep-victim: %s does not know the kind \"%s\"\n", option, kind.c_str());
      std::exit(2);
    }
    chosen.push_back(kind);
  }
  return chosen;
}

Options parse_options(int argc, char** argv) {
  Options options;
  const option known[] = {
      {"kinds", required_argument, nullptr, 'k'},
      {"count", required_argument, nullptr, 'c'},
      {"sleep", required_argument, nullptr, 's'},
      {"fifo", no_argument, nullptr, 'f'},
      {"blocked", required_argument, nullptr, 'b'},
      {"seconds", required_argument, nullptr, 'd'},
      {"truth", required_argument, nullptr, 'T'},
      {"help", no_argument, nullptr, 'h'},
      {nullptr, 0, nullptr, 0},
  };
  for (int chosen = 0; (chosen = getopt_long(argc, argv, "h", known, nullptr)) != -1;) {
    switch (chosen) {
      case 'k':
        options.kinds = parse_list("--kinds", optarg, sleep_kinds());
        break;
      case 'c':
        options.sleeps.count = static_cast<int>(parse_number("--count", optarg, 1, kMaxSleeps));
        break;
      case 's':
        options.sleeps.sleep_ns = parse_number("--sleep", optarg, 1, 60000) * kMillisecond;
        break;
      case 'f':
        options.sleeps.fifo = true;
        break;
      case 'b':
        options.blocked = parse_list("--blocked", optarg, blocked_kinds());
        break;
      case 'd':
        options.duration_ns = parse_number("--seconds", optarg, 1, 86400) * kSecond;
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
  if (optind < argc) {
    std::fputs(kUsage, stderr);
    std::exit(2);
  }
  return options;
}

int run_main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  nlohmann::json truth{{"schema", "sleep-victim.truth/1"}, {"victims", nlohmann::json::array()}};
  if (!options.blocked.empty()) {
    Board* board = Board::create();
    stop_on_signals(board);
    truth["victims"] = run_blocked(*board, options.blocked, options.duration_ns);
  } else {
    for (const std::string& kind : options.kinds) {
      for (nlohmann::json& victim : run_sleeps(kind, options.sleeps)) truth["victims"].push_back(victim);
    }
  }
  write_truth(truth, options.truth);
  return 0;
}

}  // namespace
}  // namespace rtnlprof::workload

int main(int argc, char** argv) {
  return rtnlprof::workload::guarded_main([&] { return rtnlprof::workload::run_main(argc, argv); });
}
