// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/file_access.h"

namespace rtnlprof {

// Symbols of JIT-compiled code, from /tmp/perf-PID.map (linux/tools/perf/Documentation/jit-interface.txt): lines of
// "START SIZE NAME", hexadecimal. Written by the traced process, so untrusted: malformed lines are skipped, names are
// cut, and no more than a bounded part is read. Immutable once read.
class PerfMap {
 public:
  struct Match {
    std::string_view name;  // lives as long as this PerfMap
    std::uint64_t offset = 0;
  };

  static PerfMap parse(std::string_view text);
  // Of an open file; the part beyond 64 MiB is not read.
  static PerfMap read(int fd);

  // The latest entry that covers `address`: a JIT reuses addresses and appends.
  [[nodiscard]] std::optional<Match> find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const { return entries_.capacity() * sizeof(Entry) + names_.capacity(); }

 private:
  struct Entry {
    std::uint64_t start = 0;
    std::uint32_t size = 0;
    std::uint32_t name = 0;
    std::uint16_t name_length = 0;
  };
  void add_line(std::string_view line);
  void sort();

  std::string names_;
  std::vector<Entry> entries_;  // by start; of equal ones the latest last
};

// Opens /tmp/perf-NS_PID.map as the process whose root directory is `root_path` sees it, if it is a regular file, owned
// by `uid` or root and reached without any symbolic link. An invalid descriptor otherwise.
UniqueFd open_perf_map(const std::string& root_path, std::int32_t ns_pid, std::uint32_t uid);

}  // namespace rtnlprof
