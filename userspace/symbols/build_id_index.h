// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

namespace rtnlprof {

// Which of the host's installed programs and libraries has a build-id: the commands that wait longest for a lock are
// often gone (`ip`, `ethtool`) before anyone could ask /proc what they were. Immutable once built.
class BuildIdIndex {
 public:
  // Reads the build-ids in ROOT's program and library directories, programs first, for at most `budget`. What is not
  // reached in that time is not in the index.
  static BuildIdIndex scan(const std::string& root, std::chrono::milliseconds budget);

  // Path (without ROOT) of the file with this build-id, in hex, padded or not; empty when there is none.
  [[nodiscard]] std::string find(const std::string& build_id) const;
  [[nodiscard]] std::size_t size() const { return paths_.size(); }

 private:
  std::unordered_map<std::string, std::string> paths_;  // by padded build-id
};

}  // namespace rtnlprof
