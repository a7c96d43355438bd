// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "workload/modes.h"
#include "workload/netlink.h"
#include "workload/rtnl_hold.h"

namespace rtnlprof::workload {

namespace {

constexpr int kDevices = 4;                                   // a churner's devices, at most, at any time
constexpr std::int64_t kNamespaceEvery = 250 * kMillisecond;  // their clean-up is asynchronous and must not pile up

void churn(Board& board, Slot& slot, const WorkloadOptions& options, int index) {
  introduce(slot, "rtnl-churn-" + std::to_string(index), "churner");
  std::mt19937_64 random(options.seed * 7919 + static_cast<std::uint64_t>(index));
  if (!wait_for_go(board, slot)) return;
  const std::int64_t deadline = board.start_ns + options.duration_ns;
  while (!board.stopped() && now_ns() < deadline) {
    // The one before goes with its devices: cleanup_net, in a kworker, under the RTNL.
    const std::int64_t began = now_ns();
    if (!enter_new_netns()) die("cannot make a network namespace");
    book(slot, began, now_ns() - began);
    NetControl net;
    const std::string kind = net.usable_kind();
    const std::int64_t next_namespace = now_ns() + kNamespaceEvery;
    while (!kind.empty() && !board.stopped() && now_ns() < next_namespace && now_ns() < deadline) {
      const int devices = 1 + static_cast<int>(random() % kDevices);
      const auto timed = [&slot](const std::function<int()>& request) {
        const std::int64_t start = now_ns();
        if (request() != 0) ++slot.failed;
        book(slot, start, now_ns() - start);
      };
      const auto name = [](int device) { return "churn" + std::to_string(device); };
      const auto queues = static_cast<std::uint32_t>(1 + random() % 256);
      for (int device = 0; device < devices; ++device)
        timed([&] { return net.new_link(kind, name(device), queues, 0); });
      for (int device = 0; device < devices; ++device) timed([&] { return net.set_up(name(device), true); });
      for (int device = 0; device < devices; ++device) timed([&] { return net.set_up(name(device), false); });
      for (int device = 0; device < devices; ++device) timed([&] { return net.del_link(name(device)); });
    }
    if (kind.empty() && board.wait_stop(next_namespace)) break;
  }
  slot.phase.store(3);
}

// Holds of a few milliseconds at random times; does nothing where the kernel offers no userfaultfd.
void hold_now_and_then(Board& board, Slot& slot, const WorkloadOptions& options) {
  introduce(slot, "rtnl-holder", "holder");
  RtnlHold hold;
  const bool able = hold.start();
  std::mt19937_64 random(options.seed * 104729);
  if (!wait_for_go(board, slot)) return;
  const std::int64_t deadline = board.start_ns + options.duration_ns;
  while (able && now_ns() < deadline) {
    if (board.wait_stop(now_ns() + static_cast<std::int64_t>(random() % 50) * kMillisecond)) break;
    const std::int64_t length = (1 + static_cast<std::int64_t>(random() % 20)) * kMillisecond;
    const std::int64_t began = now_ns();
    const int error = hold.hold([&board, length] { board.wait_stop(now_ns() + length); });
    if (error != 0) ++slot.failed;
    book(slot, began, now_ns() - began);
  }
  slot.phase.store(3);
}

void ask(Board& board, Slot& slot, const WorkloadOptions& options, int index) {
  NetControl net;
  std::mt19937_64 random(options.seed * 31 + static_cast<std::uint64_t>(index));
  const std::int64_t deadline = board.start_ns + options.duration_ns;
  while (now_ns() < deadline) {
    if (board.wait_stop(now_ns() + static_cast<std::int64_t>(random() % 2000) * kMicrosecond)) return;
    int flags = 0;
    const std::int64_t began = now_ns();
    int error = 0;
    switch (random() % 5) {
      case 0:
        error = net.get_link(1);
        break;
      case 1:
        error = net.dump_links();
        break;
      case 2:
        error = net.touch_link(1);
        break;
      case 3:
        net.read_address("lo");  // fails on an interface without an address, after having taken the lock
        break;
      default:
        error = net.read_flags("lo", &flags);
        if (error == 0) error = net.write_flags("lo", flags);
    }
    if (error != 0) ++slot.failed;
    book(slot, began, now_ns() - began);
  }
}

}  // namespace

nlohmann::json run_storm(Board& board, const WorkloadOptions& options) {
  spawn([&] { hold_now_and_then(board, board.slots[0], options); });
  for (int churner = 0; churner < options.churners; ++churner) {
    spawn([&, churner] { churn(board, board.slots[1 + churner], options, churner); });
  }
  const int first_victim = 1 + options.churners;
  const int victims = options.processes * options.threads;
  spawn_victims(
      board, options, first_victim, [](Slot&, int) {},
      [&](Slot& slot, int index) { ask(board, slot, options, index); });
  release_when_ready(board, first_victim + victims);
  reap_all();
  nlohmann::json truth{{"schema", "rtnl-workload.truth/1"}, {"mode", options.mode}, {"lock", "rtnl_mutex"}};
  truth["workers"] = nlohmann::json::array();
  for (int slot = 0; slot < first_victim + victims; ++slot) truth["workers"].push_back(to_json(board.slots[slot]));
  return truth;
}

}  // namespace rtnlprof::workload
