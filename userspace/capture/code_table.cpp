// SPDX-License-Identifier: BSD-2-Clause
#include "capture/code_table.h"

#include <array>
#include <string_view>

#include "symbols/build_id.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kMostUserFrames = 200'000;
constexpr std::int32_t kBuildIdStatus = 1;  // BPF_STACK_BUILD_ID_VALID

// What stands between a traced function and our program.
bool is_tracing_symbol(std::string_view name) {
  constexpr std::array<std::string_view, 10> kPrefixes{
      "bpf_prog_",     "bpf_trace_run",      "__bpf_trace_",    "__traceiter_",       "__probestub_",
      "bpf_get_stack", "bpf_get_task_stack", "__bpf_get_stack", "get_perf_callchain", "bpf_trampoline_"};
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

CodeTable::CodeTable(EventSink& sink, std::shared_ptr<const KernelSymbols> symbols)
    : sink_(sink), symbols_(std::move(symbols)), last_reload_(std::chrono::steady_clock::now()) {}

// Modules may be loaded while we record. At most once in two seconds, for it reads all of /proc/kallsyms.
void CodeTable::reload_symbols() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_reload_ < std::chrono::seconds(2)) return;
  last_reload_ = now;
  if (Result<KernelSymbols> loaded = KernelSymbols::load(); loaded.ok()) {
    symbols_ = std::make_shared<const KernelSymbols>(std::move(loaded.value()));
  }
}

FrameId CodeTable::kernel_frame(std::uint64_t address) {
  const auto [known, fresh] = kernel_frames_.try_emplace(address, next_frame_);
  if (!fresh) return known->second;
  Frame frame;
  frame.id = next_frame_++;
  frame.address = address;
  if (symbols_ != nullptr && symbols_->has_addresses()) {
    // Frames are return addresses: the call before may be the function's last instruction.
    auto match = symbols_->find(address - 1);
    if (!match) {
      reload_symbols();
      match = symbols_->find(address - 1);
    }
    if (match) {
      frame.symbol = match->name;
      frame.module = match->module;
      frame.offset = match->offset + 1;
      if (is_tracing_symbol(match->name)) tracing_frames_.insert(frame.id);
    }
  }
  sink_.on_frame(frame);
  return frame.id;
}

StackId CodeTable::send(Stack stack) {
  stack.id = next_stack_++;
  sink_.on_stack(stack);
  return stack.id;
}

StackId CodeTable::kernel_stack(std::span<const std::uint64_t> addresses, bool complete) {
  std::vector<FrameId> frames;
  frames.reserve(addresses.size());
  for (const std::uint64_t address : addresses) {
    const FrameId id = kernel_frame(address);
    if (frames.empty() && tracing_frames_.contains(id)) continue;
    frames.push_back(id);
  }
  if (frames.empty()) return 0;
  const auto [known, fresh] = kernel_stacks_.try_emplace(frames, next_stack_);
  if (!fresh) return known->second;
  Stack stack;
  stack.complete = complete;
  stack.frames = std::move(frames);
  return send(std::move(stack));
}

void CodeTable::add_kernel_stack(std::uint64_t hash, std::span<const std::uint64_t> addresses, bool complete) {
  if (by_hash_.contains(hash)) return;
  const StackId id = kernel_stack(addresses, complete);
  by_hash_[hash] = id;
}

FrameId CodeTable::user_frame(const UserLocation& location, bool unreliable) {
  std::string key = location.build_id.empty() ? std::to_string(location.pid) + ":" + std::to_string(location.address)
                                              : location.build_id + "+" + std::to_string(location.file_offset);
  key += location.return_address ? "r" : "";
  const auto [known, fresh] = user_frames_by_key_.try_emplace(std::move(key), next_frame_);
  if (!fresh) return known->second;
  Frame frame;
  frame.id = next_frame_++;
  frame.address = location.address;
  frame.build_id = location.build_id;
  frame.file_offset = location.file_offset;
  frame.user = true;
  frame.unreliable = unreliable;
  sink_.on_frame(frame);
  user_frames_.push_back({frame.id, location, unreliable});
  return frame.id;
}

void CodeTable::add_user_stack(std::uint64_t hash, std::int32_t pid, std::span<const rp_user_frame> frames) {
  if (by_hash_.contains(hash)) return;
  Stack stack;
  stack.user = true;
  for (const rp_user_frame& entry : frames) {
    UserLocation location;
    location.pid = pid;
    // Without frame pointers only the innermost frame is sure; the walk by them may go astray after it.
    const bool outer = !stack.frames.empty();
    location.return_address = outer;
    if (entry.status == kBuildIdStatus) {
      location.build_id = build_id_hex(entry.build_id);
      location.file_offset = entry.offset_or_ip;
    } else {
      location.address = entry.offset_or_ip;
      if (location.address == 0) break;
    }
    if (user_frames_.size() >= kMostUserFrames) break;
    stack.frames.push_back(user_frame(location, outer));
  }
  by_hash_[hash] = stack.frames.empty() ? 0 : send(std::move(stack));
}

std::optional<StackId> CodeTable::find(std::uint64_t hash) const {
  if (hash == 0) return 0;
  const auto known = by_hash_.find(hash);
  if (known == by_hash_.end()) return std::nullopt;
  return known->second;
}

StackId CodeTable::user_address(std::int32_t pid, std::uint64_t address) {
  if (address == 0 || user_frames_.size() >= kMostUserFrames) return 0;
  UserLocation location;
  location.pid = pid;
  location.address = address;
  const FrameId frame = user_frame(location, false);
  const auto [known, fresh] = single_frames_.try_emplace(frame, next_stack_);
  if (!fresh) return known->second;
  Stack stack;
  stack.user = true;
  stack.frames = {frame};
  return send(std::move(stack));
}

std::size_t CodeTable::resolve_user_frames(UserSymbolizer& symbolizer, std::chrono::steady_clock::time_point deadline) {
  std::size_t done = 0;
  for (const UserFrame& known : user_frames_) {
    if (std::chrono::steady_clock::now() >= deadline) break;
    ++done;
    Frame frame;
    frame.id = known.id;
    frame.user = true;
    frame.unreliable = known.unreliable;
    frame.address = known.location.address;
    frame.build_id = known.location.build_id;
    frame.file_offset = known.location.file_offset;
    const bool named = symbolizer.resolve(known.location, frame);
    if (named || !frame.module.empty()) sink_.on_frame(frame);
  }
  return user_frames_.size() - done;
}

}  // namespace rtnlprof
