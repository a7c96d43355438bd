// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/lock_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/holder_timeline.h"

namespace rtnlprof {
namespace {

std::uint64_t length(std::int64_t begin_ns, std::int64_t end_ns) {
  return end_ns > begin_ns ? static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(begin_ns) : 0;
}

std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32U | b; }

const char* gap_reason(HolderGap gap) {
  return gap == HolderGap::kUnseenChange ? "it changed hands, and the recording does not show when"
                                         : "nothing in the recording shows who held it";
}

struct StackSum {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
};

// Waits and holds of all locks of one name, added up.
class Group {
 public:
  Group(LockTable& table, const LockReportContext& context) : table_(table), context_(context) {}

  // `waits` are sorted by their begin.
  void add_lock(LockNo lock, const std::vector<const WaitRecord*>& waits, const std::vector<const HoldRecord*>& holds,
                const std::vector<const ReleaseRecord*>& releases, const std::vector<const InFlightRecord*>& in_flight);
  [[nodiscard]] LockReport finish(const std::string& name, LockReports& totals);

 private:
  struct Waiter {
    Distribution waits;
    std::uint64_t failed = 0;
    std::uint64_t no_evidence_ns = 0;
    std::uint64_t unseen_change_ns = 0;
    std::uint64_t unknown_count = 0;
  };
  struct Owner {
    std::uint64_t count = 0;
    std::uint64_t waited_ns = 0;
  };
  struct Holder {
    Distribution holds;
    bool held = false;
    std::uint64_t waited_on_ns = 0;
    std::uint64_t waits = 0;
  };
  struct Worst {
    const WaitRecord* wait = nullptr;
    TaskNo holder = kNoTask;
    std::uint64_t holder_ns = 0;
  };

  [[nodiscard]] bool is_shown(const WaitRecord& wait) const {
    return context_.shown[wait.task] && length(wait.begin_ns, wait.end_ns) >= context_.filter.min_wait_ns;
  }
  [[nodiscard]] static HolderTimeline timeline_of(const std::vector<const WaitRecord*>& waits,
                                                  const std::vector<const HoldRecord*>& holds,
                                                  const std::vector<const ReleaseRecord*>& releases,
                                                  const std::vector<const InFlightRecord*>& in_flight,
                                                  std::int64_t end_ns);
  void add_shown_wait(const WaitRecord& wait, const HolderTimeline& timeline, std::size_t& cursor);
  void add_hand_offs(const HolderTimeline& timeline, const std::vector<const WaitRecord*>& waits);
  void add_hold(TaskNo task, std::uint64_t held_ns, std::uint32_t stack);
  void add_in_flight(const InFlightRecord& record, const HolderTimeline& timeline);
  void keep_worst(const Worst& worst);
  [[nodiscard]] CallStack call_stack(std::uint32_t pair) const;
  [[nodiscard]] std::vector<CountedStack> counted_stacks(const std::map<std::uint32_t, StackSum>& by_pair) const;
  [[nodiscard]] WorstWait describe(const Worst& worst) const;
  [[nodiscard]] std::string main_site();
  void finish_waiters(LockReport& report, LockReports& totals);
  void finish_holders(LockReport& report, LockReports& totals);

  LockTable& table_;
  const LockReportContext& context_;
  LockReport report_;
  std::map<const char*, std::uint64_t> kinds_;  // by kind_name()'s literals
  std::uint64_t inferred_ = 0;
  std::uint64_t probed_ = 0;
  FlatIndex<std::uint64_t> waiter_nos_;  // TaskNo -> index
  std::vector<Waiter> waiters_;
  FlatIndex<std::uint64_t> owner_keys_;  // (waiter index, owner)
  std::vector<Owner> owners_;
  FlatIndex<std::uint64_t> wait_stack_keys_;  // (waiter index, stack)
  std::vector<StackSum> wait_stacks_;
  FlatIndex<std::uint64_t> holder_nos_;
  std::vector<Holder> holders_;
  FlatIndex<std::uint64_t> hold_stack_keys_;  // (holder index, stack)
  std::vector<StackSum> hold_stacks_;
  Distribution holds_;
  bool exact_holds_ = false;
  std::vector<Worst> worst_;
  std::vector<std::uint32_t> in_flight_stacks_;
  std::map<const InFlightRecord*, TaskNo> in_flight_owners_;
};

HolderTimeline Group::timeline_of(const std::vector<const WaitRecord*>& waits,
                                  const std::vector<const HoldRecord*>& holds,
                                  const std::vector<const ReleaseRecord*>& releases,
                                  const std::vector<const InFlightRecord*>& in_flight, std::int64_t end_ns) {
  HolderTimeline timeline;
  for (const WaitRecord* wait : waits) {
    if (wait->owner != kNoTask) {
      timeline.owner_at(wait->begin_ns, wait->owner);
    } else {
      timeline.wait_began(wait->begin_ns, wait->task);
    }
    if (!wait->failed) timeline.acquired(wait->end_ns, wait->task, wait->inferred);
  }
  for (const HoldRecord* hold : holds) timeline.held(hold->acquired_ns, hold->released_ns, hold->task);
  for (const ReleaseRecord* release : releases) timeline.released(release->at_ns, release->task, release->weak);
  for (const InFlightRecord* record : in_flight) {
    if (record->owner != kNoTask && record->at_end) timeline.owner_at(end_ns, record->owner);
    if (record->since_ns != kUnknownTime) timeline.wait_began(record->since_ns, record->task);
  }
  timeline.build();
  return timeline;
}

void Group::add_lock(LockNo lock, const std::vector<const WaitRecord*>& waits,
                     const std::vector<const HoldRecord*>& holds, const std::vector<const ReleaseRecord*>& releases,
                     const std::vector<const InFlightRecord*>& in_flight) {
  const LockNames::Lock& name = table_.names().lock(lock);
  const bool has_address = name.address != 0 && !is_synthetic_address(name.address);
  if (has_address) {
    ++report_.instances;
    report_.address = name.address;
  }
  // How the name of one with an address was found says more than how one without was counted in.
  if (report_.name_source.empty() || has_address) report_.name_source = name.source;
  const HolderTimeline timeline = timeline_of(waits, holds, releases, in_flight, context_.end_ns);
  std::size_t cursor = 0;
  for (const WaitRecord* wait : waits) {
    if (is_shown(*wait)) add_shown_wait(*wait, timeline, cursor);
  }
  for (const HoldRecord* hold : holds) {
    if (!exact_holds_) {  // every hold beats the few between hand-offs
      exact_holds_ = true;
      holds_ = {};
      for (Holder& holder : holders_) holder.holds = {};
      for (Holder& holder : holders_) holder.held = false;
      hold_stack_keys_ = {};
      hold_stacks_.clear();
    }
    add_hold(hold->task, length(hold->acquired_ns, hold->released_ns), hold->stack);
  }
  if (!exact_holds_) add_hand_offs(timeline, waits);
  for (const InFlightRecord* record : in_flight) {
    if (record->at_end && context_.shown[record->task]) add_in_flight(*record, timeline);
  }
}

void Group::add_shown_wait(const WaitRecord& wait, const HolderTimeline& timeline, std::size_t& cursor) {
  const std::uint64_t waited = length(wait.begin_ns, wait.end_ns);
  const LockEvidence& evidence = table_.evidence(wait.stack);
  report_.waits.add(waited);
  ++kinds_[kind_name(wait.kind, evidence.frame)];
  ++(wait.inferred ? inferred_ : probed_);
  if (wait.failed) ++report_.failed;

  const std::uint32_t number = waiter_nos_.insert(wait.task);
  if (number == waiters_.size()) waiters_.emplace_back();
  Waiter& waiter = waiters_[number];
  waiter.waits.add(waited);
  if (wait.failed) ++waiter.failed;
  StackSum& stack = value_at(wait_stack_keys_, wait_stacks_, pair_key(number, wait.stack));
  ++stack.count;
  stack.total_ns += waited;

  // One entry per distinct holder of this wait; there are rarely more than a few.
  std::vector<std::pair<TaskNo, std::uint64_t>> shares;
  timeline.split(wait.begin_ns, wait.end_ns, cursor, [&](const HolderTimeline::Segment& part) {
    const std::uint64_t part_ns = length(part.begin_ns, part.end_ns);
    if (part.gap == HolderGap::kNoEvidence) waiter.no_evidence_ns += part_ns;
    // Who waits and gets the lock in the end has released it since it was last seen to hold it.
    const bool outdated = part.holder != kNoTask && part.holder == wait.task;
    if (part.gap == HolderGap::kUnseenChange || outdated) waiter.unseen_change_ns += part_ns;
    const TaskNo holder = outdated ? kNoTask : part.holder;
    const auto same = std::find_if(shares.begin(), shares.end(), [&](const auto& s) { return s.first == holder; });
    if (same == shares.end()) {
      shares.emplace_back(holder, part_ns);
    } else {
      same->second += part_ns;
    }
  });
  Worst worst{&wait, kNoTask, 0};
  for (const auto& [task, part_ns] : shares) {
    if (task == kNoTask) {
      ++waiter.unknown_count;
      continue;
    }
    Owner& owner = value_at(owner_keys_, owners_, pair_key(number, task));
    ++owner.count;
    owner.waited_ns += part_ns;
    Holder& holder = value_at(holder_nos_, holders_, std::uint64_t{task});
    ++holder.waits;
    holder.waited_on_ns += part_ns;
    if (worst.holder == kNoTask || part_ns > worst.holder_ns) {
      worst.holder = task;
      worst.holder_ns = part_ns;
    }
  }
  keep_worst(worst);
}

void Group::add_hold(TaskNo task, std::uint64_t held_ns, std::uint32_t stack) {
  holds_.add(held_ns);
  Holder& holder = value_at(holder_nos_, holders_, std::uint64_t{task});
  holder.held = true;
  holder.holds.add(held_ns);
  StackSum& sum = value_at(hold_stack_keys_, hold_stacks_, pair_key(holder_nos_.find(task), stack));
  ++sum.count;
  sum.total_ns += held_ns;
}

// Hold times from contention alone: from one waiter's acquisition to the next. The call path that took the lock is the
// one it waited in.
void Group::add_hand_offs(const HolderTimeline& timeline, const std::vector<const WaitRecord*>& waits) {
  const auto& hand_offs = timeline.hand_offs();
  if (hand_offs.empty()) return;
  std::vector<const WaitRecord*> by_end = waits;
  const auto order = [](const WaitRecord* a, const WaitRecord* b) {
    return std::tie(a->end_ns, a->task) < std::tie(b->end_ns, b->task);
  };
  std::sort(by_end.begin(), by_end.end(), order);
  for (const HolderTimeline::HandOff& hand_off : hand_offs) {
    WaitRecord wanted;
    wanted.end_ns = hand_off.acquired_ns;
    wanted.task = hand_off.task;
    const auto found = std::lower_bound(by_end.begin(), by_end.end(), &wanted, order);
    if (found == by_end.end() || (*found)->end_ns != wanted.end_ns || (*found)->task != wanted.task) continue;
    add_hold(hand_off.task, length(hand_off.acquired_ns, hand_off.released_ns), (*found)->stack);
  }
}

void Group::add_in_flight(const InFlightRecord& record, const HolderTimeline& timeline) {
  InFlightWait wait;
  wait.waiter = context_.tasks.ref(record.task);
  if (record.since_ns != kUnknownTime) wait.waited_ns = length(record.since_ns, context_.end_ns);
  wait.started_before_recording = record.started_before_recording;
  // The owner seen when the wait began may have handed the lock on: with a waiter queued, whoever gets it goes through
  // the slow path and is seen.
  const std::int64_t since_ns = record.since_ns != kUnknownTime ? record.since_ns : INT64_MIN + 1;
  const TaskNo latest = timeline.last_acquirer_after(since_ns);
  TaskNo owner = latest != kNoTask ? latest : record.owner;
  if (owner == kNoTask) owner = timeline.holder_at(context_.end_ns - 1);
  if (owner == record.task && latest != kNoTask) owner = kNoTask;
  in_flight_owners_.emplace(&record, owner);
  if (owner != kNoTask) wait.owner = context_.tasks.ref(owner);
  wait.stack = call_stack(record.stack).kernel;
  report_.in_flight.push_back(std::move(wait));
  in_flight_stacks_.push_back(record.stack);
}

void Group::keep_worst(const Worst& worst) {
  const auto longer = [&](const Worst& a, const Worst& b) {
    const std::uint64_t a_ns = length(a.wait->begin_ns, a.wait->end_ns);
    const std::uint64_t b_ns = length(b.wait->begin_ns, b.wait->end_ns);
    if (a_ns != b_ns) return a_ns > b_ns;
    if (a.wait->begin_ns != b.wait->begin_ns) return a.wait->begin_ns < b.wait->begin_ns;
    return context_.tasks.task(a.wait->task).tid < context_.tasks.task(b.wait->task).tid;
  };
  if (worst_.size() == context_.worst_limit && (worst_.empty() || !longer(worst, worst_.back()))) return;
  worst_.insert(std::upper_bound(worst_.begin(), worst_.end(), worst, longer), worst);
  if (worst_.size() > context_.worst_limit) worst_.pop_back();
}

CallStack Group::call_stack(std::uint32_t pair) const {
  StackTable& stacks = context_.stacks;
  return {stacks.frames(stacks.kernel(table_.kernel_stack(pair)).list),
          stacks.frames(stacks.user_list(table_.user_stack(pair)))};
}

std::vector<CountedStack> Group::counted_stacks(const std::map<std::uint32_t, StackSum>& by_pair) const {
  std::map<std::pair<const FrameList*, const FrameList*>, std::size_t> seen;
  std::vector<CountedStack> stacks;
  for (const auto& [pair, sum] : by_pair) {
    CallStack stack = call_stack(pair);
    if (stack.kernel->frames.empty() && stack.user->frames.empty()) continue;
    const auto [place, is_new] = seen.try_emplace({stack.kernel.get(), stack.user.get()}, stacks.size());
    if (is_new) stacks.push_back({std::move(stack), 0, 0});
    stacks[place->second].count += sum.count;
    stacks[place->second].total_ns += sum.total_ns;
  }
  const auto names_less = [](const FrameList& a, const FrameList& b) {
    return std::lexicographical_compare(a.frames.begin(), a.frames.end(), b.frames.begin(), b.frames.end(),
                                        [](const auto& x, const auto& y) { return x->name < y->name; });
  };
  std::stable_sort(stacks.begin(), stacks.end(), [&](const CountedStack& a, const CountedStack& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    if (a.count != b.count) return a.count > b.count;
    if (names_less(*a.stack.kernel, *b.stack.kernel)) return true;
    if (names_less(*b.stack.kernel, *a.stack.kernel)) return false;
    return names_less(*a.stack.user, *b.stack.user);
  });
  return stacks;
}

WorstWait Group::describe(const Worst& worst) const {
  WorstWait wait;
  wait.begin_ns = worst.wait->begin_ns;
  wait.at = wall_clock(worst.wait->begin_ns, context_.realtime_offset_ns);
  wait.waited_ns = length(worst.wait->begin_ns, worst.wait->end_ns);
  wait.failed = worst.wait->failed;
  wait.waiter = context_.tasks.ref(worst.wait->task);
  if (worst.holder != kNoTask) wait.holder = context_.tasks.ref(worst.holder);
  wait.holder_ns = worst.holder_ns;
  wait.stack = call_stack(worst.wait->stack);
  return wait;
}

void Group::finish_waiters(LockReport& report, LockReports& totals) {
  std::vector<std::map<std::uint32_t, StackSum>> stacks(waiters_.size());
  for (std::uint32_t i = 0; i < wait_stack_keys_.size(); ++i) {
    const std::uint64_t key = wait_stack_keys_.key(i);
    stacks[key >> 32U][static_cast<std::uint32_t>(key)] = wait_stacks_[i];
  }
  for (std::uint32_t i = 0; i < waiters_.size(); ++i) {
    const auto task = static_cast<TaskNo>(waiter_nos_.key(i));
    LockWaiter waiter;
    waiter.task = context_.tasks.ref(task);
    waiter.failed = waiters_[i].failed;
    const Waiter& sums = waiters_[i];
    if (sums.unknown_count > 0) {
      const HolderGap gap =
          sums.unseen_change_ns > sums.no_evidence_ns ? HolderGap::kUnseenChange : HolderGap::kNoEvidence;
      const std::uint64_t unknown_ns = sums.no_evidence_ns + sums.unseen_change_ns;
      waiter.owners.push_back({std::nullopt, sums.unknown_count, unknown_ns, gap_reason(gap)});
      report.unknown_owner_ns += unknown_ns;
    }
    totals.lock_wait_ns[task] += sums.waits.total_ns();
    waiter.waits = std::move(waiters_[i].waits);
    waiter.stacks = counted_stacks(stacks[i]);
    report.waiters.push_back(std::move(waiter));
  }
  for (std::uint32_t i = 0; i < owner_keys_.size(); ++i) {
    const std::uint64_t key = owner_keys_.key(i);
    report.waiters[key >> 32U].owners.push_back(
        {context_.tasks.ref(static_cast<TaskNo>(key)), owners_[i].count, owners_[i].waited_ns, {}});
  }
  for (LockWaiter& waiter : report.waiters) {
    std::sort(waiter.owners.begin(), waiter.owners.end(), [](const OwnerShare& a, const OwnerShare& b) {
      if (a.waited_ns != b.waited_ns) return a.waited_ns > b.waited_ns;
      if (a.count != b.count) return a.count > b.count;
      if (a.task.has_value() != b.task.has_value()) return a.task.has_value();
      return a.task && task_order(*a.task, *b.task);
    });
  }
  std::sort(report.waiters.begin(), report.waiters.end(), [](const LockWaiter& a, const LockWaiter& b) {
    if (a.waits.total_ns() != b.waits.total_ns()) return a.waits.total_ns() > b.waits.total_ns();
    if (a.waits.count() != b.waits.count()) return a.waits.count() > b.waits.count();
    return task_order(a.task, b.task);
  });
}

void Group::finish_holders(LockReport& report, LockReports& totals) {
  std::vector<std::map<std::uint32_t, StackSum>> stacks(holders_.size());
  for (std::uint32_t i = 0; i < hold_stack_keys_.size(); ++i) {
    const std::uint64_t key = hold_stack_keys_.key(i);
    stacks[key >> 32U][static_cast<std::uint32_t>(key)] = hold_stacks_[i];
  }
  for (std::uint32_t i = 0; i < holders_.size(); ++i) {
    const auto task = static_cast<TaskNo>(holder_nos_.key(i));
    Holder& sums = holders_[i];
    totals.waited_on_ns[task] += sums.waited_on_ns;
    LockHolder holder;
    holder.task = context_.tasks.ref(task);
    if (sums.held) holder.holds = std::move(sums.holds);
    holder.waited_on_ns = sums.waited_on_ns;
    holder.waits = sums.waits;
    holder.stacks = counted_stacks(stacks[i]);
    report.holders.push_back(std::move(holder));
  }
  const auto held_ns = [](const LockHolder& holder) { return holder.holds ? holder.holds->total_ns() : 0; };
  std::sort(report.holders.begin(), report.holders.end(), [&](const LockHolder& a, const LockHolder& b) {
    if (a.waited_on_ns != b.waited_on_ns) return a.waited_on_ns > b.waited_on_ns;
    if (held_ns(a) != held_ns(b)) return held_ns(a) > held_ns(b);
    return task_order(a.task, b.task);
  });
}

// Where most waiters came from; on a tie the first by name.
std::string Group::main_site() {
  std::map<std::string, std::uint64_t> sites;
  for (std::uint32_t i = 0; i < wait_stack_keys_.size(); ++i) {
    sites[table_.evidence(static_cast<std::uint32_t>(wait_stack_keys_.key(i))).site] += wait_stacks_[i].count;
  }
  for (const std::uint32_t stack : in_flight_stacks_) ++sites[table_.evidence(stack).site];
  sites.erase("");
  const auto most =
      std::max_element(sites.begin(), sites.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == sites.end() ? std::string() : most->first;
}

LockReport Group::finish(const std::string& name, LockReports& totals) {
  totals.in_flight_owners.merge(in_flight_owners_);
  report_.name = name;
  if (report_.instances != 1) report_.address.reset();
  for (const auto& [kind, count] : kinds_) report_.kinds[kind] += count;
  if (probed_ > 0) report_.wait_sources["contention"] = probed_;
  if (inferred_ > 0) report_.wait_sources["stack"] = inferred_;
  report_.site = main_site();
  finish_waiters(report_, totals);
  if (!holds_.empty()) {
    report_.holds = std::move(holds_);
    report_.hold_source = exact_holds_ ? "probes" : "contention";
  }
  finish_holders(report_, totals);
  for (const Worst& worst : worst_) report_.worst.push_back(describe(worst));
  std::sort(report_.in_flight.begin(), report_.in_flight.end(), [](const InFlightWait& a, const InFlightWait& b) {
    if (a.waited_ns != b.waited_ns) return a.waited_ns > b.waited_ns;
    return task_order(a.waiter, b.waiter);
  });
  return std::move(report_);
}

// Records of one kind, by lock.
template <typename Record, typename List>
std::vector<std::vector<const Record*>> by_lock(const List& records, std::size_t locks) {
  std::vector<std::vector<const Record*>> lists(locks);
  for (const Record& record : records) {
    if (record.lock != kNoLock) lists[record.lock].push_back(&record);
  }
  return lists;
}

std::uint64_t pain_ns(const LockReport& lock) {
  std::uint64_t pain = lock.waits.total_ns();
  for (const InFlightWait& wait : lock.in_flight) pain += wait.waited_ns.value_or(0);
  return pain;
}

}  // namespace

std::string wall_clock(std::int64_t at_ns, std::int64_t offset_ns) {
  std::int64_t real_ns = 0;
  if (at_ns == kUnknownTime || offset_ns == kUnknownTime || __builtin_add_overflow(at_ns, offset_ns, &real_ns))
    return {};
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t seconds = real_ns / kSecond;
  std::int64_t rest = real_ns % kSecond;
  if (rest < 0) {
    --seconds;
    rest += kSecond;
  }
  const std::time_t time = seconds;
  std::tm utc{};
  if (gmtime_r(&time, &utc) == nullptr) return {};
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", utc.tm_year + 1900, utc.tm_mon + 1,
                utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, static_cast<int>(rest / 1000));
  return buffer.data();
}

LockReports make_lock_reports(LockTable& table, const LockReportContext& context) {
  LockReports reports;
  reports.lock_wait_ns.resize(context.tasks.size());
  reports.waited_on_ns.resize(context.tasks.size());
  if (context.always_list_rtnl) static_cast<void>(table.names().by_name(kRtnlName));

  const std::size_t lock_count = table.names().size();
  auto waits = by_lock<WaitRecord>(table.waits(), lock_count);
  const auto holds = by_lock<HoldRecord>(table.holds(), lock_count);
  const auto releases = by_lock<ReleaseRecord>(table.releases(), lock_count);
  const auto in_flight = by_lock<InFlightRecord>(table.in_flight(), lock_count);
  std::map<std::string, std::vector<LockNo>> groups;
  for (LockNo no = 0; no < lock_count; ++no) groups[table.names().lock(no).name].push_back(no);

  std::map<std::string, std::uint64_t> spins;  // by name
  for (std::uint32_t i = 0; i < table.spin_keys().size(); ++i) {
    const std::uint64_t key = table.spin_keys().key(i);
    if (!context.shown[static_cast<TaskNo>(key)]) continue;
    spins[table.names().lock(static_cast<LockNo>(key >> 32U)).name] += table.spin_ns(i);
  }
  for (const auto& [name, members] : groups) {
    if (!context.filter.selects_lock(name)) continue;
    Group group(table, context);
    for (const LockNo no : members) {
      std::sort(waits[no].begin(), waits[no].end(), [](const WaitRecord* a, const WaitRecord* b) {
        return std::tie(a->begin_ns, a->end_ns, a->task) < std::tie(b->begin_ns, b->end_ns, b->task);
      });
      group.add_lock(no, waits[no], holds[no], releases[no], in_flight[no]);
      waits[no] = {};
    }
    LockReport report = group.finish(name, reports);
    if (const auto spin = spins.find(name); spin != spins.end()) report.spin_ns = spin->second;
    const bool empty = report.waits.empty() && !report.holds && report.in_flight.empty();
    if (empty && name != kRtnlName) continue;
    reports.locks.push_back(std::move(report));
  }
  std::sort(reports.locks.begin(), reports.locks.end(), [](const LockReport& a, const LockReport& b) {
    const std::uint64_t a_ns = pain_ns(a);
    const std::uint64_t b_ns = pain_ns(b);
    return a_ns != b_ns ? a_ns > b_ns : a.name < b.name;
  });
  return reports;
}

}  // namespace rtnlprof
