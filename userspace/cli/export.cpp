// SPDX-License-Identifier: BSD-2-Clause
#include <memory>
#include <ostream>
#include <string>

#include "cli/commands.h"
#include "recording/ndjson.h"
#include "recording/output_file.h"

namespace rtnlprof::cli {
namespace {

struct ExportOptions {
  std::string file;
  std::string format = "ndjson";
  std::string output = "-";
};

int run_export(const ExportOptions& options) {
  if (options.format != "ndjson") {
    return trouble({"cannot export as '" + options.format + "'", "known formats: ndjson"});
  }
  if (same_file(options.file, options.output)) {
    return trouble({"the events would replace the recording " + options.file, "give another name with -o"});
  }
  auto file = OutputFile::create(options.output, OutputFile::Mode::kReplaceAtFinish);
  if (!file.ok()) return trouble(file.error());
  OutputStreamBuffer buffer(*file.value());
  std::ostream out(&buffer);
  const auto quality = export_ndjson(options.file, out);
  if (!buffer.status().ok()) return trouble(buffer.status().error());
  if (!quality.ok()) return trouble(quality.error());
  if (Status status = file.value()->commit(); !status.ok()) return trouble(status.error());
  for (const std::string& note : quality.value().notes) warn(options.file + " is incomplete: " + note);
  return kDone;
}

}  // namespace

void add_export_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write a recording as a stream of JSON lines");
  command->add_option("FILE", options->file, "The recording; - reads standard input")->required();
  command->add_option("--format", options->format, "ndjson (schema rtnlprof.events/1)")->capture_default_str();
  command->add_option("-o,--output", options->output, "Where to write; - is standard output")->capture_default_str();
  command->footer("Example: rtnlprof export trace.rtnl --format ndjson | jq -c 'select(.type == \"wait\")'");
  command->callback([options, &run] { run = [options] { return run_export(*options); }; });
}

}  // namespace rtnlprof::cli
