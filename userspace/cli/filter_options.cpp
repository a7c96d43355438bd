// SPDX-License-Identifier: BSD-2-Clause
#include "cli/filter_options.h"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

#include "base/text.h"

namespace rtnlprof::cli {
namespace {

constexpr const char* kGroup = "Filtering";

std::uint64_t duration_or_throw(const std::string& option, const std::string& text) {
  const auto ns = parse_duration_ns(text);
  if (!ns) {
    throw CLI::ValidationError(option, terminal_safe(text) + " is no duration: write 50us, 1ms, 2.5s or 0");
  }
  return *ns;
}

// A duration option, checked while parsing.
void add_duration(CLI::App& command, const std::string& name, const char* help, std::uint64_t& target, bool* given) {
  command
      .add_option_function<std::string>(
          name,
          [name, &target, given](const std::string& text) {
            target = duration_or_throw(name, text);
            if (given != nullptr) *given = true;
          },
          help)
      ->type_name("DURATION")
      ->group(kGroup);
}

void add_ids(CLI::App& command, const std::string& name, const char* help, std::vector<std::int32_t>& target) {
  command.add_option(name, target, help)
      ->check(CLI::Range(0, INT32_MAX).description(""))
      ->type_name("ID")
      ->delimiter(',')
      ->take_all()
      ->expected(1)
      ->group(kGroup);
}

void add_texts(CLI::App& command, const std::string& name, const char* help, const char* type,
               std::vector<std::string>& target) {
  command.add_option(name, target, help)->type_name(type)->take_all()->expected(1)->group(kGroup);
}

}  // namespace

void add_filter_options(CLI::App& command, FilterOptions& options, const char* min_sleep_help) {
  Filter& filter = options.filter;
  add_ids(command, "--pid", "show waits and sleeps of these processes (repeatable)", filter.pids);
  add_ids(command, "--tid", "... of these threads (repeatable)", filter.tids);
  add_texts(command, "--comm", "... of tasks of this name (repeatable)", "GLOB", filter.comms);
  add_texts(command, "--cgroup", "... of tasks in this cgroup or below it (repeatable)", "PATH", filter.cgroups);
  add_texts(command, "--lock", "show only this lock (name or glob, repeatable)", "NAME", filter.locks);
  add_duration(command, "--min-sleep", min_sleep_help, filter.min_sleep_ns, &options.min_sleep_given);
  add_duration(command, "--min-wait", "leave out shorter lock waits (default 0)", filter.min_wait_ns, nullptr);
}

void add_color_option(CLI::App& command, ColorMode& mode) {
  static const std::map<std::string, ColorMode> modes{
      {"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};
  command
      .add_option_function<std::string>(
          "--color",
          [&mode](const std::string& text) {
            const auto found = modes.find(text);
            if (found == modes.end()) {
              throw CLI::ValidationError("--color", terminal_safe(text) + " is none of auto, always, never");
            }
            mode = found->second;
          },
          "color the text report: auto (on a terminal), always, never")
      ->type_name("WHEN")
      ->group("Output");
}

bool use_color(ColorMode mode, int fd) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: any value but an empty one
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  if (term != nullptr && std::string(term) == "dumb") return false;
  return isatty(fd) == 1;
}

}  // namespace rtnlprof::cli
