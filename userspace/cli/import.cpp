// SPDX-License-Identifier: BSD-2-Clause
#include <memory>
#include <string>

#include "cli/commands.h"
#include "recording/byte_source.h"
#include "recording/ndjson.h"
#include "recording/output_file.h"
#include "recording/writer.h"

namespace rtnlprof::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::string format = "ndjson";
  std::string output;
  bool keep_going = false;
};

int run_import(const ImportOptions& options) {
  if (options.format != "ndjson") {
    return trouble({"cannot import '" + options.format + "'", "known formats: ndjson"});
  }
  if (same_file(options.file, options.output)) {
    return trouble({"the recording would replace its source " + options.file, "give another name with -o"});
  }
  const auto source = open_source(options.file);
  if (!source.ok()) return trouble(source.error());
  // The target changes only when all of the input was good.
  const auto writer = RecordingWriter::create(options.output, {.replace_at_finish = true});
  if (!writer.ok()) return trouble(writer.error());
  RecordingWriter& recording = *writer.value();
  const auto quality = import_ndjson(*source.value(), recording, {.keep_going = options.keep_going});
  if (!quality.ok()) {
    return trouble({"cannot import " + source.value()->name() + ": " + quality.error().message, quality.error().hint});
  }
  if (Status status = recording.finish(); !status.ok()) return trouble(status.error());
  for (const std::string& note : quality.value().notes) warn(source.value()->name() + ": " + note);
  return kDone;
}

}  // namespace

void add_import_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand("import", "Make a recording of a stream of JSON lines");
  command->add_option("FILE", options->file, "The event stream; - reads standard input")->required();
  command->add_option("--format", options->format, "ndjson (schema rtnlprof.events/1)")->capture_default_str();
  command->add_option("-o,--output", options->output, "The recording to write; - is standard output")->required();
  command->add_flag("--keep-going", options->keep_going, "Skip and count bad lines instead of refusing the stream");
  command->callback([options, &run] { run = [options] { return run_import(*options); }; });
}

}  // namespace rtnlprof::cli
