// SPDX-License-Identifier: BSD-2-Clause
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>

#include "base/text.h"
#include "cli/commands.h"

namespace rtnlprof::cli {

int trouble(const Error& error) {
  std::fprintf(stderr, "rtnlprof: %s\n", terminal_safe(error.line()).c_str());
  return kTrouble;
}

void warn(const std::string& message) { std::fprintf(stderr, "rtnlprof: %s\n", terminal_safe(message).c_str()); }

namespace {

bool knows_command(const CLI::App& app, const std::string& name) {
  return !app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; }).empty();
}

int run_main(int argc, char** argv) {
  CLI::App app{"rtnlprof: who was blocked, on which kernel lock, and who held it"};
  app.name("rtnlprof");
  app.set_version_flag("--version", "rtnlprof " RTNLPROF_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Start with `rtnlprof record -d 30` on the host that is slow, or `rtnlprof doctor` to see what works on it.\n"
      "Exit status: 0 done, 1 a gate failed, 2 trouble (usage, privilege, unreadable file).");
  Run run;
  add_record_command(app, run);
  add_report_command(app, run);
  add_export_command(app, run);
  add_import_command(app, run);
  add_doctor_command(app, run);
  const std::string first = argc > 1 ? argv[1] : "";
  if (!first.empty() && first.front() != '-' && !knows_command(app, first)) {
    return trouble({"there is no command `" + first + "`", "see `rtnlprof --help`"});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::string where = "rtnlprof";
    for (const CLI::App* sub : app.get_subcommands()) where += " " + sub->get_name();
    return trouble({error.what(), "see `" + where + " --help`"});
  }
  return run ? run() : kTrouble;
}

}  // namespace
}  // namespace rtnlprof::cli

int main(int argc, char** argv) {
  // A reader that closes the pipe early is an error to report, not a reason to die half-way.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return rtnlprof::cli::run_main(argc, argv);
  } catch (const std::exception& error) {
    return rtnlprof::cli::trouble({std::string("internal error: ") + error.what(), "please report this"});
  }
}
