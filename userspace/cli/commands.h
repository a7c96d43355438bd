// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/result.h"

namespace rtnlprof::cli {

// Exit statuses of every command.
inline constexpr int kDone = 0;
inline constexpr int kGateFailed = 1;
inline constexpr int kTrouble = 2;

// Runs the chosen subcommand after parsing and returns its exit status.
using Run = std::function<int()>;

// Each adds one subcommand to `app`; when the user chose it, parsing sets `run`.
void add_record_command(CLI::App& app, Run& run);
void add_report_command(CLI::App& app, Run& run);
void add_doctor_command(CLI::App& app, Run& run);
void add_export_command(CLI::App& app, Run& run);
void add_import_command(CLI::App& app, Run& run);

// Prints "rtnlprof: MESSAGE; HINT" as one clean line on stderr and returns kTrouble.
int trouble(const Error& error);
// Prints "rtnlprof: MESSAGE" on stderr; for what the user should know although the command goes on.
void warn(const std::string& message);

}  // namespace rtnlprof::cli
