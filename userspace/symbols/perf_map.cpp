// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/perf_map.h"

#include <algorithm>
#include <charconv>

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxEntries = 500'000;
constexpr std::size_t kMaxNamesBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxName = 512;
constexpr std::size_t kReadBytes = std::size_t{1} << 18;
constexpr std::size_t kMaxOverlaps = 64;  // entries looked back over for one that covers an address

// Takes a hexadecimal number, with 0x or without, and the blank behind it off the front of `text`.
std::optional<std::uint64_t> take_hex(std::string_view& text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty() || text.front() != ' ') return std::nullopt;
  text.remove_prefix(1);
  return value;
}

}  // namespace

void PerfMap::add_line(std::string_view line) {
  const auto start = take_hex(line);
  const auto size = start ? take_hex(line) : std::nullopt;
  if (!size || *size == 0 || *size > UINT32_MAX || line.empty()) return;
  const std::string_view name = line.substr(0, kMaxName);
  if (entries_.size() >= kMaxEntries || names_.size() + name.size() > kMaxNamesBytes) return;
  entries_.push_back({.start = *start,
                      .size = static_cast<std::uint32_t>(*size),
                      .name = static_cast<std::uint32_t>(names_.size()),
                      .name_length = static_cast<std::uint16_t>(name.size())});
  names_.append(name);
}

void PerfMap::sort() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.start < b.start; });
}

PerfMap PerfMap::parse(std::string_view text) {
  PerfMap map;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    map.add_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  map.sort();
  return map;
}

PerfMap PerfMap::read(int fd) {
  PerfMap map;
  std::vector<std::uint8_t> buffer(kReadBytes);
  std::string line;
  for (std::uint64_t at = 0; at < kMaxFileBytes;) {
    const auto got = read_at(fd, at, buffer);
    if (!got || *got == 0) break;
    at += *got;
    for (std::size_t i = 0; i < *got; ++i) {
      const auto byte = static_cast<char>(buffer[i]);
      if (byte == '\n') {
        map.add_line(line);
        line.clear();
      } else if (line.size() < 2 * kMaxName) {
        line += byte;
      }
    }
  }
  // What follows the last line break is a line still being written.
  map.sort();
  return map;
}

std::optional<PerfMap::Match> PerfMap::find(std::uint64_t address) const {
  auto it = std::upper_bound(entries_.begin(), entries_.end(), address,
                             [](std::uint64_t value, const Entry& entry) { return value < entry.start; });
  for (std::size_t i = 0; i < kMaxOverlaps && it != entries_.begin(); ++i) {
    --it;
    if (address - it->start < it->size) {
      return Match{std::string_view(names_).substr(it->name, it->name_length), address - it->start};
    }
  }
  return std::nullopt;
}

UniqueFd open_perf_map(const std::string& root_path, std::int32_t ns_pid, std::uint32_t uid) {
  FileIdentity identity;
  Result<UniqueFd> fd = open_regular_beneath(root_path, "/tmp/perf-" + std::to_string(ns_pid) + ".map", &identity);
  if (!fd || (identity.uid != uid && identity.uid != 0)) return {};
  return std::move(fd.value());
}

}  // namespace rtnlprof
