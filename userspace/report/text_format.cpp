// SPDX-License-Identifier: BSD-2-Clause
#include "report/text_format.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"

namespace rtnlprof::text {
namespace {

std::string fixed(double value, int width, int decimals) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%*.*f", width, decimals, value);
  return buffer.data();
}

// A line is for reading: of frames that are guesses two are enough, and of a C++ name its beginning. JSON has all.
constexpr std::size_t kGuessedFrames = 2;
constexpr std::size_t kLongestName = 72;

std::string short_name(const std::string& name) {
  std::string text = safe(name);
  if (text.size() <= kLongestName) return text;
  std::size_t cut = kLongestName - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;  // not inside a character
  return text.substr(0, cut) + "...";
}

void append_frames(std::string& line, const FrameList& list) {
  const std::size_t shown = std::min(list.frames.size(), list.reliable + kGuessedFrames);
  for (std::size_t i = 0; i < shown; ++i) {
    line += i < list.reliable ? "  " : "  ? ";
    line += short_name(list.frames[i]->name);
  }
  if (shown < list.frames.size()) line += "  ? ...";
}

}  // namespace

std::string left(std::string_view text, std::size_t width) {
  std::string out(text);
  if (out.size() < width) out.append(width - out.size(), ' ');
  return out;
}

std::string right(std::string_view text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ').append(text) : std::string(text);
}

std::string seconds(const std::optional<std::uint64_t>& ns, int width, int decimals) {
  return ns ? fixed(static_cast<double>(*ns) / 1e9, width, decimals) : right("-", static_cast<std::size_t>(width));
}

std::string milliseconds(std::uint64_t ns, int width) { return fixed(static_cast<double>(ns) / 1e6, width, 3); }

std::string mean_milliseconds(std::uint64_t total_ns, std::uint64_t count, int width) {
  if (count == 0) return right("-", static_cast<std::size_t>(width));
  return fixed(static_cast<double>(total_ns) / static_cast<double>(count) / 1e6, width, 3);
}

std::string percent(const std::optional<double>& share, int width, bool sign) {
  if (!share) return right("-", static_cast<std::size_t>(width)) + (sign ? " " : "");
  return fixed(*share * 100, width, 2) + (sign ? "%" : "");
}

std::string number(const std::optional<std::uint64_t>& value, int width) {
  return right(value ? std::to_string(*value) : "-", static_cast<std::size_t>(width));
}

std::string duration(const std::optional<std::uint64_t>& ns, int width) {
  return right(ns ? format_duration(*ns) : "-", static_cast<std::size_t>(width));
}

std::string plural(std::uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string safe(std::string_view text) { return terminal_safe(text); }

std::string command(const TaskRef& task) {
  const std::string comm = task.comm.empty() ? "unknown" : safe(task.comm);
  std::string text = task.kernel_thread ? "[" + comm + "]" : comm;
  if (!task.work.empty()) text += " (" + safe(task.work) + ")";
  if (!task.container.empty()) text += " <" + safe(task.container.substr(0, 12)) + ">";
  return text;
}

std::string task_name(const TaskRef& task) {
  std::string text = command(task) + " (tid " + std::to_string(task.tid);
  if (task.ns_tid != 0) text += ", " + std::to_string(task.ns_tid) + " in its namespace";
  return text + ")";
}

std::string frames(const CallStack& stack) {
  std::string line;
  if (stack.kernel) append_frames(line, *stack.kernel);
  if (stack.user && !stack.user->frames.empty()) {
    line += "  |";
    append_frames(line, *stack.user);
  }
  return line;
}

std::string frames(const FrameListPtr& kernel) { return frames(CallStack{kernel, nullptr}); }

void write_rest(const Context& context, std::size_t total, std::size_t shown, const char* what) {
  if (total > shown) {
    context.out << "    ... and " << total - shown << " more " << what << " (--top N shows more, --format json all)\n";
  }
}

}  // namespace rtnlprof::text
