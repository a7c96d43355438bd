// SPDX-License-Identifier: BSD-2-Clause

// hostile-names: processes and threads whose comm, command line and file name are made to break a terminal, JSON or
// HTML, and which sleep and wait for the RTNL long enough to appear in every part of a report.

#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "workload/netlink.h"
#include "workload/process.h"
#include "workload/rtnl_hold.h"

namespace rtnlprof::workload {
namespace {

constexpr std::int64_t kHold = 30 * kMillisecond;
constexpr const char* kActAs = "HOSTILE_NAMES_ACT_AS";  // "INDEX SECONDS", for the program run under a hostile name

struct Hostile {
  std::string_view comm;  // at most 15 bytes
  std::string_view argument;
};

constexpr std::array<Hostile, 9> kHostile{{
    {"\x1b[2J\x1b[31mred", "\x1b]0;owned\x07\x1b[?1049h\x1b[2J"},   // clear screen, set title
    {"\"}],\"x\":[{\"", "\",\"injected\":true,\"a\":\"\\"},         // out of a JSON string
    {"\xff\xfe\xc3(\x80", "\xf0\x28\x8c\xbc\xed\xa0\x80\xc0\xaf"},  // invalid UTF-8, surrogates, overlong
    {"<script>a(1)", "</script><script>alert(1)</script><img src=x onerror=alert(1)>"},
    {"new\nline\rret", "first\nrtnlprof: forged line\r\n\t 99.99% forged"},
    {"\xe2\x80\xaetxt.exe", "\xe2\x80\xae\xe2\x81\xa6gnp.exe\xe2\x81\xa9\xe2\x80\x8b"},  // right-to-left override
    {"\xc2\x9b"
     "31mC1",
     "\xc2\x9b"
     "2J\xc2\x90\xc2\x9c"},  // CSI as an 8-bit control, in UTF-8
    {"a;b,c\\d'e`$(f)", ";semi;colons;in;folded;stacks 12 34"},
    {"%s%n%p{}{0}", "%s%s%s%n {} {0} ${HOME} &amp; ]]>"},
}};

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

// One hostile task: 20 ms sleeps and requests that wait for the RTNL, in turn.
void act(Board* board, int index, std::int64_t deadline) {
  set_comm(std::string(kHostile[static_cast<std::size_t>(index)].comm));
  NetControl net;
  while ((board == nullptr || !board->stopped()) && now_ns() < deadline) {
    sleep_until(now_ns() + 20 * kMillisecond);
    net.get_link(1);
  }
}

// Copies this program to a file with a hostile name and runs it with hostile arguments, so that the command line, the
// executable and the user frames are hostile as well.
void run_under_hostile_name(const std::string& directory, int index, int seconds) {
  const Hostile& hostile = kHostile[static_cast<std::size_t>(index)];
  std::string name = directory + "/";
  for (const char byte : hostile.argument) name += byte == '/' ? '_' : byte;
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int to = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  if (from < 0 || to < 0) die("cannot copy the program");
  std::vector<char> buffer(1 << 16);
  for (ssize_t got = 0; (got = read(from, buffer.data(), buffer.size())) > 0;) {
    if (write(to, buffer.data(), static_cast<std::size_t>(got)) != got) die("cannot copy the program");
  }
  close(from);
  close(to);
  setenv(kActAs, (std::to_string(index) + " " + std::to_string(seconds)).c_str(), 1);
  std::string argument(hostile.argument);
  std::array<char*, 4> arguments{name.data(), argument.data(), argument.data(), nullptr};
  execv(name.c_str(), arguments.data());
  die("cannot run the copy");
}

int act_as_asked(const char* asked) {
  tie_to_parent();
  int index = 0;
  int seconds = 0;
  if (std::sscanf(asked, "%d %d", &index, &seconds) != 2 || index < 0 || index >= static_cast<int>(kHostile.size())) {
    return 2;
  }
  act(nullptr, index, now_ns() + seconds * kSecond);
  return 0;
}

void remove_directory(const std::string& directory) {
  DIR* stream = opendir(directory.c_str());
  if (stream == nullptr) return;
  while (const dirent* entry = readdir(stream)) unlinkat(dirfd(stream), entry->d_name, 0);
  closedir(stream);
  rmdir(directory.c_str());
}

int run(int seconds, const std::string& truth_path) {
  if (!enter_new_netns()) die("cannot make a network namespace (root needed)");
  Board* board = Board::create();
  stop_on_signals(board);
  std::string directory = "/tmp/hostile-names.XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) die("cannot make a directory");
  const std::int64_t deadline = now_ns() + seconds * kSecond;
  nlohmann::json tasks = nlohmann::json::array();
  for (int index = 0; index < static_cast<int>(kHostile.size()); ++index) {
    const Hostile& hostile = kHostile[static_cast<std::size_t>(index)];
    const pid_t pid = spawn([&] { act(board, index, deadline); });
    const pid_t copy = spawn([&] { run_under_hostile_name(directory, index, seconds); });
    tasks.push_back({{"pid", pid}, {"comm_hex", hex(hostile.comm)}});
    tasks.push_back({{"pid", copy}, {"comm_hex", hex(hostile.comm)}, {"argument_hex", hex(hostile.argument)}});
  }
  // The holder's name is hostile too: it appears as owner, holder and waker.
  spawn([&] {
    RtnlHold hold;
    const bool able = hold.start();
    set_comm(std::string(kHostile[0].comm));
    while (able && now_ns() < deadline && !board->wait_stop(now_ns() + 10 * kMillisecond)) {
      hold.hold([&] { board->wait_stop(now_ns() + kHold); });
    }
  });
  board->wait_stop(now_ns() + kSecond);  // the copies have started
  remove_directory(directory);
  reap_all();
  write_truth({{"schema", "hostile-names.truth/1"}, {"tasks", tasks}}, truth_path);
  return 0;
}

int run_main(int argc, char** argv) {
  if (const char* asked = std::getenv(kActAs)) return act_as_asked(asked);
  constexpr const char* kUsage = "Usage: hostile-names [--seconds N] [--truth FILE]\n";
  const option known[] = {{"seconds", required_argument, nullptr, 's'},
                          {"truth", required_argument, nullptr, 'T'},
                          {"help", no_argument, nullptr, 'h'},
                          {nullptr, 0, nullptr, 0}};
  int seconds = 3;
  std::string truth;
  for (int chosen = 0; (chosen = getopt_long(argc, argv, "h", known, nullptr)) != -1;) {
    if (chosen == 's') {
      seconds = static_cast<int>(parse_number("--seconds", optarg, 1, 3600));
    } else if (chosen == 'T') {
      truth = optarg;
    } else {
      std::fputs(kUsage, chosen == 'h' ? stdout : stderr);
      return chosen == 'h' ? 0 : 2;
    }
  }
  return run(seconds, truth);
}

}  // namespace
}  // namespace rtnlprof::workload

int main(int argc, char** argv) {
  return rtnlprof::workload::guarded_main([&] { return rtnlprof::workload::run_main(argc, argv); });
}
