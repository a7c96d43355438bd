// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/flat_index.h"
#include "analysis/stack_table.h"
#include "model/events.h"

namespace rtnlprof {

using LockNo = std::uint32_t;  // dense number of a lock within one analysis
inline constexpr LockNo kNoLock = UINT32_MAX;
inline constexpr const char* kRtnlName = "rtnl_mutex";

// Importers give locks known by name only an address from the non-canonical range, which no kernel uses.
[[nodiscard]] inline bool is_synthetic_address(std::uint64_t address) { return address >> 48U == 1; }

// Names locks: by what the stream says, else rtnl_mutex by what its waiters' stacks prove, else by the call site most
// waiters come from. First everything seen, then resolve(), then questions.
class LockNames {
 public:
  struct Lock {
    std::uint64_t address = 0;  // 0: known by name or call site only
    std::string name;
    std::string source;  // "kallsyms", "learned from stack", "call site", ...
    std::string site;    // call site of most waiters
    LockKind kind = LockKind::kUnknown;
  };

  // The number of an address; kNoLock for 0.
  [[nodiscard]] LockNo number(std::uint64_t address);
  void define(const rtnlprof::Lock& lock);
  // `count` waiters came by this stack. For locks with an address.
  void observe(LockNo lock, LockKind kind, const LockEvidence& evidence, std::uint64_t count);
  void resolve();

  // After resolve(): a lock the stream gave no address for is the one of that name, which may have one.
  [[nodiscard]] LockNo canonical(LockNo number);
  // The lock a waiter without a lock address waits for, judged by its stack; it may be one of known address.
  [[nodiscard]] LockNo by_evidence(LockKind kind, const LockEvidence& evidence);
  [[nodiscard]] LockNo by_name(const std::string& name);

  [[nodiscard]] const Lock& lock(LockNo number) const { return locks_[number]; }
  [[nodiscard]] std::size_t size() const { return locks_.size(); }
  [[nodiscard]] bool any_named() const { return any_named_; }

 private:
  struct Votes {
    std::map<std::string, std::uint64_t> sites;
    std::uint64_t rtnl = 0;          // waiters with an rtnl_lock frame
    std::uint64_t rtnl_callers = 0;  // waiters whose call site takes no other mutex
    LockFrame frame = LockFrame::kNone;
  };
  void learn_rtnl();
  [[nodiscard]] LockNo add_without_address(const std::string& name, const std::string& source, const std::string& site,
                                           LockKind kind);

  FlatIndex<std::uint64_t> addresses_;
  std::vector<Lock> locks_;
  std::vector<Votes> votes_;
  std::map<std::string, LockNo> by_name_;       // of several with one name: kNoLock when they have addresses
  std::map<std::string, LockNo> by_call_site_;  // "mutex at FUNCTION" -> the only address with such waiters
  bool any_named_ = false;
};

// The kind a lock frame stands for.
[[nodiscard]] LockKind kind_of(LockFrame frame);
// Key of `kinds` in the report: "mutex", "rwsem_read", ..., "semaphore", "unknown".
[[nodiscard]] const char* kind_name(LockKind kind, LockFrame frame);
// "mutex at FUNCTION".
[[nodiscard]] std::string call_site_name(LockKind kind, LockFrame frame, const std::string& site);

}  // namespace rtnlprof
