// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stack_table.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace rtnlprof {
namespace {

// How many nameless frames (JITed BPF programs) may lie above the tracing or scheduler frames of a stack.
constexpr std::size_t kMaxNamelessTop = 8;

std::string hex(std::uint64_t value) {
  std::array<char, 24> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "0x%llx", static_cast<unsigned long long>(value));
  return buffer.data();
}

std::string frame_name(const Frame& frame) {
  if (!frame.symbol.empty()) return frame.symbol;
  if (frame.user && !frame.module.empty()) {
    const std::size_t slash = frame.module.rfind('/');
    const std::string file = slash == std::string::npos ? frame.module : frame.module.substr(slash + 1);
    return file + "+" + hex(frame.file_offset);
  }
  return frame.address == 0 ? "unknown" : hex(frame.address);
}

bool is_nothing(std::string_view /*symbol*/) { return false; }

}  // namespace

StackTable::StackTable() {
  lists_.push_back(std::make_shared<const FrameList>());  // list 0: empty
  list_numbers_.emplace(std::vector<std::uint32_t>{0}, 0);
}

void StackTable::define(const Frame& frame) {
  const std::uint32_t no = frame_ids_.insert(frame.id);
  if (no == frames_.size()) {
    frames_.push_back(frame);
    return;
  }
  const bool renamed = frames_[no].symbol != frame.symbol;
  frames_[no] = frame;
  if (renamed && !frame.user) {
    for (Entry& entry : stacks_) entry.slow_path = SlowPath::kUndecided;
  }
}

void StackTable::define(const Stack& stack) {
  const std::uint32_t no = stack_ids_.insert(stack.id);
  if (no == stacks_.size()) stacks_.emplace_back();
  Entry& entry = stacks_[no];
  // Producers send stacks again from time to time: the same frames need no new place.
  const bool same = entry.size == stack.frames.size() &&
                    std::equal(stack.frames.begin(), stack.frames.end(), pool_.begin() + entry.first);
  if (!same) {
    entry.first = static_cast<std::uint32_t>(pool_.size());
    entry.size = static_cast<std::uint32_t>(stack.frames.size());
    pool_.insert(pool_.end(), stack.frames.begin(), stack.frames.end());
    entry.slow_path = SlowPath::kUndecided;
  }
  entry.complete = stack.complete;
}

bool StackTable::in_lock_slow_path(StackId id) {
  const std::uint32_t no = id == 0 ? stack_ids_.kNone : stack_ids_.find(id);
  if (no == stack_ids_.kNone) return false;
  Entry& entry = stacks_[no];
  if (entry.slow_path == SlowPath::kUndecided) {
    const std::size_t top = skip_top(entry, is_anonymous_sleep_frame);
    const bool yes = classify_lock_frame(symbol(entry, top)) != LockFrame::kNone;
    entry.slow_path = yes ? SlowPath::kYes : SlowPath::kNo;
  }
  return entry.slow_path == SlowPath::kYes;
}

bool StackTable::is_incomplete(StackId id) const {
  const Entry* entry = find(id);
  return entry != nullptr && !entry->complete;
}

LockEvidence StackTable::lock_evidence(StackId id) const {
  LockEvidence evidence;
  const Entry* entry = find(id);
  if (entry == nullptr) return evidence;
  std::size_t at = skip_top(*entry, is_anonymous_sleep_frame);
  for (; at < entry->size; ++at) {
    const LockFrame lock = classify_lock_frame(symbol(*entry, at));
    if (lock == LockFrame::kNone) break;
    // The innermost frame decides, unless a later one is more precise.
    const bool vague = evidence.frame == LockFrame::kNone || evidence.frame == LockFrame::kRwsem;
    if (vague) evidence.frame = lock;
    if (lock == LockFrame::kRtnl) {
      evidence.rtnl = evidence.frame == LockFrame::kMutex || evidence.frame == LockFrame::kRtnl ||
                      evidence.frame == LockFrame::kRtmutex;  // PREEMPT_RT's mutex
    }
  }
  if (evidence.frame == LockFrame::kRtnl) evidence.frame = LockFrame::kMutex;
  if (at < entry->size) evidence.site = canonical_symbol(symbol(*entry, at));
  const bool mutex = evidence.frame == LockFrame::kMutex || evidence.frame == LockFrame::kRtmutex;
  evidence.rtnl_waiter = mutex && is_rtnl_waiter_frame(evidence.site);
  return evidence;
}

const KernelStack& StackTable::kernel(StackId id) {
  const std::uint32_t no = kernel_ids_.insert(id);
  if (no < kernels_.size()) return *kernels_[no];
  auto stack = std::make_unique<KernelStack>();
  if (const Entry* entry = find(id); entry != nullptr && entry->size > 0) {
    std::size_t first = skip_top(*entry, is_scheduler_frame);
    if (first == entry->size) first = skip_top(*entry, is_nothing);  // nothing but scheduler frames: show them
    if (first == entry->size) first = 0;
    stack->list = intern_list(*entry, first);
    std::size_t name = skip_top(*entry, is_anonymous_sleep_frame);
    if (name == entry->size) name = entry->size - 1;
    const Frame* sleeper = frame(*entry, name);
    stack->sleep_function = sleeper == nullptr ? "unknown" : frame_name(*sleeper);
    stack->sleep_module = sleeper == nullptr ? "" : sleeper->module;
    for (std::size_t i = 1; i < entry->size; ++i) {
      if (canonical_symbol(symbol(*entry, i)) == "process_one_work")
        stack->work = canonical_symbol(symbol(*entry, i - 1));
    }
  }
  kernels_.push_back(std::move(stack));
  return *kernels_.back();
}

std::uint32_t StackTable::user_list(StackId id) {
  const std::uint32_t no = user_ids_.insert(id);
  if (no < user_lists_.size()) return user_lists_[no];
  const Entry* entry = find(id);
  user_lists_.push_back(entry == nullptr ? 0 : intern_list(*entry, 0));
  return user_lists_.back();
}

const StackTable::Entry* StackTable::find(StackId id) const {
  const std::uint32_t no = id == 0 ? stack_ids_.kNone : stack_ids_.find(id);
  return no == stack_ids_.kNone ? nullptr : &stacks_[no];
}

const Frame* StackTable::frame(const Entry& entry, std::size_t position) const {
  if (position >= entry.size) return nullptr;
  const std::uint32_t no = frame_ids_.find(pool_[entry.first + position]);
  return no == frame_ids_.kNone ? nullptr : &frames_[no];
}

std::string_view StackTable::symbol(const Entry& entry, std::size_t position) const {
  const Frame* found = frame(entry, position);
  return found == nullptr ? std::string_view() : std::string_view(found->symbol);
}

std::size_t StackTable::skip_top(const Entry& entry, bool (*skipped)(std::string_view)) const {
  // Nameless frames count as the tracer's only when frames of the tracer or the scheduler follow.
  std::size_t top = 0;
  for (std::size_t i = 0; i < entry.size && i - top <= kMaxNamelessTop; ++i) {
    const std::string_view name = symbol(entry, i);
    if (name.empty()) continue;
    if (is_tracing_frame(name)) {
      top = i + 1;
    } else {
      if (is_scheduler_frame(name)) top = i;
      break;
    }
  }
  // Only the run on top: a sleep inside schedule() (flushing a plug) has outer scheduler frames of its own.
  while (top < entry.size && skipped(symbol(entry, top))) ++top;
  return top;
}

std::uint32_t StackTable::intern_list(const Entry& entry, std::size_t first) {
  std::vector<std::uint32_t> key;
  key.reserve(entry.size - first + 1);
  std::size_t reliable = entry.size - first;
  for (std::size_t i = first; i < entry.size; ++i) {
    const Frame* found = frame(entry, i);
    if (found != nullptr && found->unreliable) reliable = std::min(reliable, i - first);
    key.push_back(intern_frame(found));
  }
  const std::vector<std::uint32_t> numbers = key;
  // Guessed frames differ from one walk to the next: they do not make a stack another one, the first seen is shown.
  if (reliable > 0) key.resize(reliable);
  key.push_back(static_cast<std::uint32_t>(reliable));
  key.push_back(numbers.size() > reliable ? 1 : 0);
  const auto [place, is_new] = list_numbers_.emplace(std::move(key), static_cast<std::uint32_t>(lists_.size()));
  if (is_new) {
    auto list = std::make_shared<FrameList>();
    for (const std::uint32_t number : numbers) list->frames.push_back(report_frames_[number]);
    list->reliable = reliable;
    lists_.push_back(std::move(list));
  }
  return place->second;
}

std::uint32_t StackTable::intern_frame(const Frame* frame) {
  ReportFrame report{frame == nullptr ? "unknown" : frame_name(*frame), frame == nullptr ? "" : frame->module};
  const auto [place, is_new] =
      frame_names_.emplace(std::pair(report.name, report.module), static_cast<std::uint32_t>(report_frames_.size()));
  if (is_new) report_frames_.push_back(std::make_shared<const ReportFrame>(std::move(report)));
  return place->second;
}

}  // namespace rtnlprof
