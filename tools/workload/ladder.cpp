// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "workload/modes.h"
#include "workload/netlink.h"
#include "workload/rtnl_hold.h"

namespace rtnlprof::workload {

namespace {

constexpr int kProbes = 41;                          // requests a victim makes alone to learn their cost
constexpr std::int64_t kSettle = 10 * kMillisecond;  // between the end of a hold and the next
constexpr std::uint32_t kWideDeviceQueues = 2048;    // creating such a veth pair keeps the RTNL for tens of ms

// The requests a victim makes, by its index. All take the RTNL once and do next to nothing with it.
int make_request(NetControl& net, int index) {
  int flags = 0;
  switch (index % 3) {
    case 0:
      return net.get_link(1);
    case 1:
      if (const int error = net.read_flags("lo", &flags); error != 0) return error;
      return net.write_flags("lo", flags);
    default:
      return net.touch_link(1);
  }
}

std::int64_t timed_request(NetControl& net, int index, std::int64_t* began_ns, bool* failed) {
  *began_ns = now_ns();
  *failed = make_request(net, index) != 0;
  return now_ns() - *began_ns;
}

std::int64_t uncontended_cost(int index) {
  NetControl net;
  std::vector<std::int64_t> costs;
  for (int probe = 0; probe < kProbes; ++probe) {
    std::int64_t began_ns = 0;
    bool failed = false;
    costs.push_back(timed_request(net, index, &began_ns, &failed));
  }
  std::nth_element(costs.begin(), costs.begin() + kProbes / 2, costs.end());
  return costs[kProbes / 2];
}

// Makes holds of one kind. The truth of a hold is the span in which the lock was certainly held.
class Holder {
 public:
  Holder(Board& board, Slot& slot, const WorkloadOptions& options) : board_(board), slot_(slot), options_(options) {
    if (options.hold_kind == "sleep" && !hold_.start()) die("userfaultfd for kernel faults (try --hold-kind run)");
  }

  [[nodiscard]] int pager_tid() const { return hold_.pager_tid(); }

  void hold_once(std::int64_t until_ns) {
    const std::int64_t began = now_ns();
    int error = 0;
    if (options_.hold_kind == "sleep") {
      error = hold_.hold([this, until_ns] { board_.wait_stop(until_ns); });
    } else {
      // The kernel sets all these queues up with the lock held, and takes them down again in the deletion.
      error = net_.new_link("veth", "wide0", kWideDeviceQueues, 0);
    }
    const std::int64_t ended = now_ns();
    if (options_.hold_kind != "sleep") net_.del_link("wide0");
    if (slot_.ops++ == 0) slot_.first_ns = began;
    if (error != 0) ++slot_.failed;
    slot_.last_ns = ended;
    slot_.total_ns += ended - began;
  }

 private:
  Board& board_;
  Slot& slot_;
  const WorkloadOptions& options_;
  RtnlHold hold_;
  NetControl net_;
};

void run_holder(Board& board, Slot& slot, const WorkloadOptions& options, const std::function<void(Holder&)>& work) {
  introduce(slot, "rtnl-holder", "holder");
  Holder holder(board, slot, options);
  slot.uncontended_ns = holder.pager_tid();  // carried to the parent in a field the holder has no other use for
  if (wait_for_go(board, slot)) work(holder);
  slot.phase.store(3);
}

nlohmann::json truth_of(const Board& board, const WorkloadOptions& options, int victims) {
  nlohmann::json truth{{"schema", "rtnl-workload.truth/1"}, {"mode", options.mode}, {"lock", "rtnl_mutex"}};
  const Slot& holder = board.slots[0];
  truth["holder"] = {{"tid", holder.tid},
                     {"pid", holder.pid},
                     {"comm", std::string(holder.comm)},
                     {"kind", options.hold_kind},
                     {"holds", holder.ops},
                     {"failed", holder.failed},
                     {"held_ns", holder.total_ns},
                     {"pager_tid", holder.uncontended_ns}};
  truth["victims"] = nlohmann::json::array();
  std::int64_t waited = 0;
  for (int victim = 0; victim < victims; ++victim) {
    truth["victims"].push_back(to_json(board.slots[1 + victim]));
    waited += board.slots[1 + victim].waited_ns;
  }
  truth["waited_ns"] = waited;
  return truth;
}

}  // namespace

nlohmann::json run_ladder(Board& board, const WorkloadOptions& options) {
  const int victims = options.processes * options.threads;
  const std::int64_t period = options.hold_ns + kSettle + victims * kMillisecond;
  const auto deadline = [&board, &options] { return board.start_ns + options.duration_ns; };
  spawn([&] {
    run_holder(board, board.slots[0], options, [&](Holder& holder) {
      for (std::int64_t at = board.start_ns; at + period <= deadline() && !board.wait_stop(at); at += period) {
        holder.hold_once(at + options.hold_ns);
      }
    });
  });
  spawn_victims(
      board, options, 1, [](Slot& slot, int index) { slot.uncontended_ns = uncontended_cost(index); },
      [&](Slot& slot, int index) {
        NetControl net;
        std::mt19937_64 random(options.seed * 1000003 + static_cast<std::uint64_t>(index));
        // Early enough to wait for a good part of the hold, late enough to find it taken.
        std::uniform_int_distribution<std::int64_t> offset(kMillisecond, std::max(kMillisecond, options.hold_ns / 2));
        for (std::int64_t at = board.start_ns; at + period <= deadline(); at += period) {
          if (board.wait_stop(at + offset(random))) return;
          std::int64_t began_ns = 0;
          bool failed = false;
          const std::int64_t took = timed_request(net, index, &began_ns, &failed);
          if (failed) ++slot.failed;
          book(slot, began_ns, took);
        }
      });
  release_when_ready(board, victims + 1);
  reap_all();
  return truth_of(board, options, victims);
}

nlohmann::json run_hold(Board& board, const WorkloadOptions& options) {
  const int victims = options.processes * options.threads;
  spawn([&] {
    run_holder(board, board.slots[0], options,
               [&](Holder& holder) { holder.hold_once(board.start_ns + options.duration_ns); });
  });
  spawn_victims(
      board, options, 1, [](Slot& slot, int index) { slot.uncontended_ns = uncontended_cost(index); },
      [&](Slot& slot, int index) {
        NetControl net;
        if (board.wait_stop(board.start_ns + (20 + index) * kMillisecond)) return;
        slot.phase.store(2);
        std::int64_t began_ns = 0;
        bool failed = false;
        book(slot, began_ns, timed_request(net, index, &began_ns, &failed));
      });
  release_when_ready(board, victims + 1);
  for (int victim = 0; victim < victims && !board.stopped(); ++victim) {
    while (board.slots[1 + victim].phase.load() < 2 && !board.wait_stop(now_ns() + kMillisecond)) {
    }
  }
  board.wait_stop(now_ns() + 50 * kMillisecond);  // phase 2 is set just before the request
  nlohmann::json ready = truth_of(board, options, victims);
  std::fprintf(stderr, "ready %s\n", ready.dump().c_str());
  reap_all();
  return truth_of(board, options, victims);
}

}  // namespace rtnlprof::workload
