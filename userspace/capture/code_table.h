// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/events.h"
#include "rtnlprof/bpf_events.h"
#include "symbols/kernel_symbols.h"
#include "symbols/user_symbols.h"

namespace rtnlprof {

// The code addresses and stacks of a recording. Kernel frames are named when first seen, so that what is written so
// far can be read anywhere; user frames carry build-id and offset, and are named by resolve_user_frames() at the end.
// One thread at a time.
class CodeTable {
 public:
  CodeTable(EventSink& sink, std::shared_ptr<const KernelSymbols> symbols);

  // Stacks as the programs send them: known by a hash from then on.
  void add_kernel_stack(std::uint64_t hash, std::span<const std::uint64_t> addresses, bool complete);
  void add_user_stack(std::uint64_t hash, std::int32_t pid, std::span<const rp_user_frame> frames);
  // nullopt: not seen yet. Hash 0 is stack 0.
  [[nodiscard]] std::optional<StackId> find(std::uint64_t hash) const;

  // A stack that did not come through a ring; the same addresses give the same id.
  StackId kernel_stack(std::span<const std::uint64_t> addresses, bool complete);
  // A stack of one user address of a process; 0 when too many are known already.
  StackId user_address(std::int32_t pid, std::uint64_t address);

  // Names user frames until `deadline`; those named are sent again. Returns how many were left out for time.
  std::size_t resolve_user_frames(UserSymbolizer& symbolizer, std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] std::size_t frame_count() const { return next_frame_ - 1; }

 private:
  struct UserFrame {
    FrameId id = 0;
    UserLocation location;
    bool unreliable = false;
  };
  FrameId kernel_frame(std::uint64_t address);
  FrameId user_frame(const UserLocation& location, bool unreliable);
  StackId send(Stack stack);
  void reload_symbols();

  EventSink& sink_;
  std::shared_ptr<const KernelSymbols> symbols_;
  std::chrono::steady_clock::time_point last_reload_;
  std::unordered_map<std::uint64_t, StackId> by_hash_;
  std::map<std::vector<FrameId>, StackId> kernel_stacks_;
  std::unordered_map<std::uint64_t, FrameId> kernel_frames_;
  std::unordered_set<FrameId> tracing_frames_;  // of BPF and tracepoints: ours, not the task's
  std::map<std::string, FrameId> user_frames_by_key_;
  std::vector<UserFrame> user_frames_;
  std::unordered_map<FrameId, StackId> single_frames_;
  FrameId next_frame_ = 1;
  StackId next_stack_ = 1;
};

}  // namespace rtnlprof
