// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the sections of the text report are written with. Numbers that were not measured print as "-"; every text of
// the traced system goes through terminal_safe().

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "analysis/report_model.h"
#include "report/render.h"

namespace rtnlprof::text {

// "%9.6f" seconds.
[[nodiscard]] std::string seconds(const std::optional<std::uint64_t>& ns, int width = 9, int decimals = 6);
[[nodiscard]] std::string milliseconds(std::uint64_t ns, int width);
// Milliseconds per event, unrounded.
[[nodiscard]] std::string mean_milliseconds(std::uint64_t total_ns, std::uint64_t count, int width);
// "%6.2f%%"; `width` without the percent sign.
[[nodiscard]] std::string percent(const std::optional<double>& share, int width = 6, bool sign = true);
[[nodiscard]] std::string number(const std::optional<std::uint64_t>& value, int width);
// Three significant digits with a unit, right-aligned.
[[nodiscard]] std::string duration(const std::optional<std::uint64_t>& ns, int width = 0);
[[nodiscard]] std::string left(std::string_view text, std::size_t width);
[[nodiscard]] std::string right(std::string_view text, std::size_t width);
// "1 wait", "2 waits".
[[nodiscard]] std::string plural(std::uint64_t count, const char* noun);

// "snmpd", "[kworker/0:1] (linkwatch_event)", with " <0123456789ab>" for a container.
[[nodiscard]] std::string command(const TaskRef& task);
// "snmpd (tid 144390)", "snmpd (tid 7, 1 in its namespace)"; a task without a name: "tid 7".
[[nodiscard]] std::string task_name(const TaskRef& task);
[[nodiscard]] std::string safe(std::string_view text);

// "  msleep  ixgbe_read_i2c_byte_generic  |  ioctl": two spaces before each frame, user frames after the bar, guesses
// with a question mark.
[[nodiscard]] std::string frames(const CallStack& stack);
[[nodiscard]] std::string frames(const FrameListPtr& kernel);

// Colors, or nothing.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  [[nodiscard]] std::string heading(std::string_view text) const { return wrap("\033[1m", text); }
  [[nodiscard]] std::string severe(std::string_view text) const { return wrap("\033[1;31m", text); }
  [[nodiscard]] std::string notable(std::string_view text) const { return wrap("\033[33m", text); }
  [[nodiscard]] std::string name(std::string_view text) const { return wrap("\033[36m", text); }

 private:
  [[nodiscard]] std::string wrap(const char* code, std::string_view text) const {
    return color_ ? code + std::string(text) + "\033[0m" : std::string(text);
  }
  bool color_;
};

// The sections.
struct Context {
  std::ostream& out;
  Style style;
  std::size_t rows;       // of a table of functions or stacks
  std::size_t task_rows;  // of a list of tasks
  std::size_t tasks;      // task reports

  // Owners of a lock under each of its waiters: half a list, there are many waiters.
  [[nodiscard]] std::size_t owner_rows() const { return (task_rows + 1) / 2; }
};

void write_verdict(const Context& context, const Report& report);
void write_locks(const Context& context, const Report& report);
void write_in_flight(const Context& context, const Report& report);
void write_scheduler(const Context& context, const SchedulerReport& scheduler);
void write_cooperation(const Context& context, const TaskReport& task);
void write_sleeps(const Context& context, const std::vector<SleepFunction>& functions,
                  const std::vector<SleepStack>& stacks, bool system);
void write_system(const Context& context, const Report& report);
void write_tasks(const Context& context, const Report& report);
void write_quality(const Context& context, const Report& report);

// "... and N more" after a cut table; nothing when nothing was cut. It names the option that shows them.
void write_rest(const Context& context, std::size_t total, std::size_t shown, const char* what);

}  // namespace rtnlprof::text
