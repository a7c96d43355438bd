// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/sleep_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "recording/syscalls.h"

namespace rtnlprof {
namespace {

constexpr const char* kNoStack = "(no stack)";

std::optional<double> ratio(std::uint64_t part, const std::optional<std::uint64_t>& whole) {
  if (!whole || *whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(*whole);
}

// One that is unknown (-1) may have been the other; two different ones are mixed.
std::int32_t common_syscall(std::int32_t one, std::int32_t other) {
  if (one == other || other == -1) return one;
  return one == -1 ? other : SleepTable::kMixedSyscalls;
}

std::string syscall_text(std::int32_t syscall, const SleepTableOptions& options) {
  if (syscall < 0) return {};
  if (syscall >= kNamedSyscalls) return (*options.syscall_names)[static_cast<std::size_t>(syscall - kNamedSyscalls)];
  return syscall_name(options.arch, syscall);
}

std::string first_frame(const CallStack& stack) {
  if (!stack.kernel->frames.empty()) return stack.kernel->frames.front()->name;
  return stack.user->frames.empty() ? std::string() : stack.user->frames.front()->name;
}

bool frames_order(const FrameList& a, const FrameList& b) {
  return std::lexicographical_compare(a.frames.begin(), a.frames.end(), b.frames.begin(), b.frames.end(),
                                      [](const auto& x, const auto& y) { return x->name < y->name; });
}

// Longest first; a total order, so that equal input prints equally whatever the producer's ids are.
bool stack_order(const SleepStack& a, const SleepStack& b) {
  if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
  if (a.count != b.count) return a.count > b.count;
  if (frames_order(*a.stack.kernel, *b.stack.kernel)) return true;
  if (frames_order(*b.stack.kernel, *a.stack.kernel)) return false;
  return frames_order(*a.stack.user, *b.stack.user);
}

std::vector<SleepFunction> function_table(const SleepTable::Row* begin, const SleepTable::Row* end,
                                          StackTable& stacks) {
  std::map<std::pair<std::string, std::string>, DurationSum> by_name;
  for (const SleepTable::Row* row = begin; row != end; ++row) {
    const KernelStack& kernel = stacks.kernel(row->kernel_stack);
    const std::string name = kernel.sleep_function.empty() ? kNoStack : kernel.sleep_function;
    by_name[{name, kernel.sleep_module}].add(row->sum);
  }
  std::vector<SleepFunction> functions;
  for (const auto& [name, sum] : by_name) {
    SleepFunction function;
    function.function = name.first;
    function.module = name.second;
    function.count = sum.count;
    function.total_ns = sum.total_ns;
    function.max_ns = sum.max_ns;
    functions.push_back(std::move(function));
  }
  return functions;
}

std::vector<SleepStack> stack_table(const SleepTable::Row* begin, const SleepTable::Row* end, StackTable& stacks,
                                    const SleepTableOptions& options) {
  struct Merged {
    DurationSum sum;
    std::int32_t syscall = -1;
    char state = '?';
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Merged> by_list;
  for (const SleepTable::Row* row = begin; row != end; ++row) {
    const std::uint32_t user = options.user_frames ? stacks.user_list(row->user_stack) : 0;
    const auto [place, is_new] =
        by_list.try_emplace({stacks.kernel(row->kernel_stack).list, user}, Merged{{}, row->syscall, row->state});
    Merged& merged = place->second;
    merged.sum.add(row->sum);
    merged.syscall = common_syscall(merged.syscall, row->syscall);
    if (merged.state != row->state) merged.state = '?';
  }
  std::vector<SleepStack> table;
  for (const auto& [lists, merged] : by_list) {
    SleepStack stack;
    stack.stack = {stacks.frames(lists.first), stacks.frames(lists.second)};
    if (first_frame(stack.stack).empty()) stack.label = kNoStack;
    stack.syscall = syscall_text(merged.syscall, options);
    stack.state = merged.state;
    stack.count = merged.sum.count;
    stack.total_ns = merged.sum.total_ns;
    stack.max_ns = merged.sum.max_ns;
    table.push_back(std::move(stack));
  }
  return table;
}

}  // namespace

void DurationSum::add(std::uint64_t duration_ns) {
  ++count;
  total_ns += duration_ns;
  max_ns = std::max(max_ns, duration_ns);
}

void DurationSum::add(const DurationSum& other) {
  count += other.count;
  total_ns += other.total_ns;
  max_ns = std::max(max_ns, other.max_ns);
}

void SleepTable::add(TaskNo task, const Sleep& sleep, std::uint64_t duration_ns, std::int32_t syscall) {
  Value& value = value_at(keys_, values_, Key{task, sleep.kernel_stack, sleep.user_stack});
  if (value.sum.count == 0) {
    value.syscall = syscall;
    value.state = sleep.state;
  }
  value.syscall = common_syscall(value.syscall, syscall);
  if (value.state != sleep.state) value.state = '?';
  value.sum.add(duration_ns);
}

void SleepTable::add_remainder(TaskNo task, const DurationSum& sum) {
  if (sum.count == 0 && sum.total_ns == 0) return;
  if (task >= remainders_.size()) remainders_.resize(std::size_t{task} + 1);
  remainders_[task].add(sum);
}

std::vector<SleepTable::Row> SleepTable::rows() const {
  std::vector<Row> rows;
  rows.reserve(keys_.size());
  for (std::uint32_t i = 0; i < keys_.size(); ++i) {
    const Key& key = keys_.key(i);
    const Value& value = values_[i];
    rows.push_back({key.task, key.kernel_stack, key.user_stack, value.state, value.syscall, value.sum});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.task < b.task; });
  return rows;
}

DurationSum SleepTable::remainder(TaskNo task) const {
  return task < remainders_.size() ? remainders_[task] : DurationSum{};
}

SleepTables make_sleep_tables(const SleepTable::Row* begin, const SleepTable::Row* end, const DurationSum& remainder,
                              const SchedulerReport& totals, StackTable& stacks, const SleepTableOptions& options) {
  SleepTables tables{function_table(begin, end, stacks), stack_table(begin, end, stacks, options)};
  if (remainder.count > 0) {
    SleepFunction function;
    function.function = options.remainder_label;
    function.remainder = true;
    function.count = remainder.count;
    function.total_ns = remainder.total_ns;
    function.max_ns = remainder.max_ns;
    tables.functions.push_back(std::move(function));
    SleepStack stack;
    stack.stack = {stacks.frames(0), stacks.frames(0)};
    stack.label = options.remainder_label;
    stack.count = remainder.count;
    stack.total_ns = remainder.total_ns;
    stack.max_ns = remainder.max_ns;
    tables.stacks.push_back(std::move(stack));
  }
  for (SleepFunction& function : tables.functions) {
    function.share_of_count = ratio(function.count, totals.sleeps);
    function.share_of_sleep = ratio(function.total_ns, totals.sleep_ns);
    function.share_of_total = ratio(function.total_ns, totals.total_ns());
  }
  for (SleepStack& stack : tables.stacks) stack.share_of_wait = ratio(stack.total_ns, totals.sleep_ns);
  std::sort(tables.functions.begin(), tables.functions.end(), [](const SleepFunction& a, const SleepFunction& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    return std::tie(b.count, a.function, a.module) < std::tie(a.count, b.function, b.module);
  });
  std::sort(tables.stacks.begin(), tables.stacks.end(), stack_order);
  return tables;
}

}  // namespace rtnlprof
