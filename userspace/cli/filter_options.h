// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "analysis/filter.h"

namespace rtnlprof::cli {

// The filters of `record` and `report`. Filter::min_sleep_ns is only set when the user gave --min-sleep.
struct FilterOptions {
  Filter filter;
  bool min_sleep_given = false;
};

// Adds --pid --tid --comm --cgroup --lock --min-sleep --min-wait to `command`; parsing fills `options`, which must
// live as long as `command`. Wrong values are parse errors (exit status 2). `min_sleep_help` describes the default.
void add_filter_options(CLI::App& command, FilterOptions& options, const char* min_sleep_help);

// --color auto|always|never.
enum class ColorMode : unsigned char { kAuto, kAlways, kNever };
void add_color_option(CLI::App& command, ColorMode& mode);
// Whether to color what goes to `fd`: auto means a terminal, and neither NO_COLOR nor TERM=dumb is set.
[[nodiscard]] bool use_color(ColorMode mode, int fd);

}  // namespace rtnlprof::cli
