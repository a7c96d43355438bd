// SPDX-License-Identifier: BSD-2-Clause
#include "context/proc_task.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace rtnlprof {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD

// Numbers of the fields of /proc/PID/stat as in proc(5).
constexpr std::size_t kFirstField = 3;  // behind the comm
constexpr std::size_t kStateField = 3;
constexpr std::size_t kPpidField = 4;
constexpr std::size_t kFlagsField = 9;
constexpr std::size_t kStartTimeField = 22;

template <typename Number>
bool parse_whole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string_view value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(key)) return line.substr(key.size());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// The `index`th word of a line of words between blanks, from 0; the last one with npos.
std::string_view word(std::string_view line, std::size_t index) {
  std::string_view last;
  for (std::size_t i = 0; !line.empty(); ++i) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const std::string_view current = line.substr(0, std::min(line.find_first_of(" \t"), line.size()));
    if (!current.empty()) last = current;
    if (i == index) return current;
    line.remove_prefix(current.size());
  }
  return index == std::string_view::npos ? last : std::string_view();
}

}  // namespace

std::optional<ProcStat> parse_proc_stat(std::string_view text, long ticks_per_second) {
  // The comm may itself hold ") S 1": the last parenthesis ends it.
  const std::size_t open = text.find(" (");
  const std::size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2 || ticks_per_second <= 0) {
    return std::nullopt;
  }
  ProcStat stat;
  if (!parse_whole(text.substr(0, open), stat.tid)) return std::nullopt;
  stat.comm = text.substr(open + 2, close - open - 2);

  std::array<std::string_view, kStartTimeField + 1> fields{};
  std::string_view rest = text.substr(close + 2);
  for (std::size_t i = kFirstField; i <= kStartTimeField && !rest.empty(); ++i) {
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    fields[i] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::uint64_t flags = 0;
  std::uint64_t start_ticks = 0;
  if (fields[kStateField].size() != 1 || !parse_whole(fields[kPpidField], stat.ppid) ||
      !parse_whole(fields[kFlagsField], flags) || !parse_whole(fields[kStartTimeField], start_ticks)) {
    return std::nullopt;
  }
  const std::int64_t tick_ns = kNsPerSecond / ticks_per_second;
  if (start_ticks > static_cast<std::uint64_t>(INT64_MAX / tick_ns)) return std::nullopt;
  stat.state = fields[kStateField].front();
  stat.kernel_thread = (flags & kKernelThreadFlag) != 0;
  stat.start_ns = static_cast<std::int64_t>(start_ticks) * tick_ns;
  return stat;
}

ProcStatus parse_proc_status(std::string_view text) {
  ProcStatus status;
  // "Name:" comes first and the kernel escapes line breaks in it, so no comm can fake one of these lines.
  if (!parse_whole(word(value_of(text, "Tgid:"), 0), status.pid)) status.pid = 0;
  if (!parse_whole(word(value_of(text, "NSpid:"), std::string_view::npos), status.ns_tid)) status.ns_tid = 0;
  if (!parse_whole(word(value_of(text, "NStgid:"), std::string_view::npos), status.ns_pid)) status.ns_pid = 0;
  if (!parse_whole(word(value_of(text, "Uid:"), 1), status.uid)) status.uid = UINT32_MAX;
  return status;
}

std::string join_cmdline(std::string_view text) {
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  std::string line(text);
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

bool same_start(std::int64_t wanted_ns, std::int64_t proc_ns, long ticks_per_second) {
  if (wanted_ns == kUnknownTime || proc_ns == kUnknownTime || ticks_per_second <= 0) return true;
  const std::int64_t tick_ns = kNsPerSecond / ticks_per_second;
  const std::int64_t difference = wanted_ns > proc_ns ? wanted_ns - proc_ns : proc_ns - wanted_ns;
  return difference <= tick_ns;
}

}  // namespace rtnlprof
