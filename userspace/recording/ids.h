// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rtnlprof::format {

// Which ids of one kind were defined so far. Ids are dense: one far beyond the number of definitions is refused, so
// that a forged file cannot make a reader (or what it feeds) allocate a table of 2^32 entries.
class IdTable {
 public:
  [[nodiscard]] bool known(std::uint32_t id) const { return id < known_.size() && known_[id] != 0; }

  // False: `id` is 0 or too far out.
  bool define(std::uint32_t id) {
    if (id == 0 || id > kSlack + kSparse * defined_) return false;
    if (id >= known_.size()) known_.resize(id + std::size_t{1} + id / 2, 0);
    defined_ += known_[id] == 0 ? 1 : 0;
    known_[id] = 1;
    return true;
  }

 private:
  static constexpr std::uint64_t kSlack = 65536;  // a producer may number what it sends later
  static constexpr std::uint64_t kSparse = 16;

  std::vector<std::uint8_t> known_ = std::vector<std::uint8_t>(1024, 0);
  std::uint64_t defined_ = 0;
};

struct IdTables {
  IdTable tasks;
  IdTable frames;
  IdTable stacks;
};

// Task states as /proc/PID/stat has them, 'R' for a waiter that spins, 'L' for TASK_RTLOCK_WAIT, '?' unknown.
[[nodiscard]] constexpr bool is_task_state(char state) {
  return std::string_view("SDIKTtPXZLR?").find(state) != std::string_view::npos;
}

}  // namespace rtnlprof::format
