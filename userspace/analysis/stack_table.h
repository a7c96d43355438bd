// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/flat_index.h"
#include "analysis/frame_classes.h"
#include "analysis/report_model.h"
#include "model/events.h"

namespace rtnlprof {

// What the top of a kernel stack says about the lock its task waits for.
struct LockEvidence {
  LockFrame frame = LockFrame::kNone;  // kNone: the stack is in no lock's slow path
  bool rtnl = false;                   // an rtnl_lock frame right above it
  bool rtnl_waiter = false;            // a mutex, and a function around it that waits for rtnl_mutex
  std::string site;                    // first function around the lock's own, without suffixes; empty = unknown
};

// A kernel stack as the report shows it.
struct KernelStack {
  std::uint32_t list = 0;  // equal for stacks with the same symbols
  std::string sleep_function;
  std::string sleep_module;
  std::string work;  // what a kworker runs; empty elsewhere
};

// Frames and stacks of a stream. Definitions may be replaced until the first resolving call.
class StackTable {
 public:
  StackTable();

  void define(const Frame& frame);
  void define(const Stack& stack);

  // Cheap, for every event: is the top of the stack in a lock's slow path? Decided by the names known so far.
  [[nodiscard]] bool in_lock_slow_path(StackId id);
  // The stack misses its scheduler frames, so that slow paths may be invisible.
  [[nodiscard]] bool is_incomplete(StackId id) const;

  // Resolving, at the end of the stream. Id 0 and undefined ids give an empty stack.
  [[nodiscard]] LockEvidence lock_evidence(StackId id) const;
  [[nodiscard]] const KernelStack& kernel(StackId id);
  [[nodiscard]] std::uint32_t user_list(StackId id);
  [[nodiscard]] const FrameListPtr& frames(std::uint32_t list) const { return lists_[list]; }

 private:
  enum class SlowPath : std::uint8_t { kUndecided = 0, kNo, kYes };
  struct Entry {
    std::uint32_t first = 0;  // in pool_
    std::uint32_t size = 0;
    bool complete = true;
    SlowPath slow_path = SlowPath::kUndecided;
  };

  [[nodiscard]] const Entry* find(StackId id) const;
  [[nodiscard]] const Frame* frame(const Entry& entry, std::size_t position) const;
  [[nodiscard]] std::string_view symbol(const Entry& entry, std::size_t position) const;
  // Position of the first frame that is neither the tracer's nor matched by `skipped`.
  [[nodiscard]] std::size_t skip_top(const Entry& entry, bool (*skipped)(std::string_view)) const;
  [[nodiscard]] std::uint32_t intern_list(const Entry& entry, std::size_t first);
  [[nodiscard]] std::uint32_t intern_frame(const Frame* frame);

  FlatIndex<std::uint32_t> frame_ids_;
  std::vector<Frame> frames_;
  FlatIndex<std::uint32_t> stack_ids_;
  std::vector<Entry> stacks_;
  std::vector<FrameId> pool_;

  // Resolved: what is equal by name has one number.
  std::map<std::pair<std::string, std::string>, std::uint32_t> frame_names_;
  std::vector<std::shared_ptr<const ReportFrame>> report_frames_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> list_numbers_;  // reliable frames, their count, others?
  std::vector<FrameListPtr> lists_;
  FlatIndex<std::uint32_t> kernel_ids_;
  std::vector<std::unique_ptr<KernelStack>> kernels_;
  FlatIndex<std::uint32_t> user_ids_;
  std::vector<std::uint32_t> user_lists_;
};

}  // namespace rtnlprof
