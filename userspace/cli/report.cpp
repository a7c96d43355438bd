// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "analysis/analyzer.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/filter_options.h"
#include "recording/open.h"
#include "recording/output_file.h"
#include "report/render.h"

namespace rtnlprof::cli {
namespace {

struct ReportOptions {
  std::string input;
  std::string format = "text";
  std::string output = "-";
  std::size_t top = 0;
  bool print_schema = false;
  FilterOptions filter;
  ColorMode color = ColorMode::kAuto;
};

struct Format {
  const char* name;
  // `color` matters to text only.
  void (*render)(const Report& report, const ReportOptions& options, bool color, std::ostream& out);
};

void as_text(const Report& report, const ReportOptions& options, bool color, std::ostream& out) {
  render_text(report, {color, options.top}, out);
}

void as_json(const Report& report, const ReportOptions& /*options*/, bool /*color*/, std::ostream& out) {
  render_json(report, out);
}

constexpr std::array<Format, 2> kFormats{{{"text", as_text}, {"json", as_json}}};

std::string format_names() {
  std::string names;
  for (const Format& format : kFormats) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

const Format* find_format(const std::string& name) {
  for (const Format& format : kFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

// Calls `write` with a stream to `path`; what stood there stays until all of it is written.
template <typename Write>
int write_output(const std::string& path, Write&& write) {
  Result<std::unique_ptr<OutputFile>> file = OutputFile::create(path, OutputFile::Mode::kReplaceAtFinish);
  if (!file) return trouble(file.error());
  OutputStreamBuffer buffer(**file);
  std::ostream out(&buffer);
  write(out);
  out.flush();
  if (!buffer.status()) return trouble(buffer.status().error());
  if (const Status committed = (*file)->commit(); !committed) return trouble(committed.error());
  return kDone;
}

int run_report(const ReportOptions& options) {
  if (options.print_schema) {
    return write_output(options.output, [](std::ostream& out) { out << report_schema(); });
  }
  const Format* format = find_format(options.format);
  if (format == nullptr) {
    return trouble({"unknown report format " + options.format, "known are: " + format_names()});
  }
  if (options.input.empty()) {
    return trouble({"no recording given", "name a file, or - for standard input: rtnlprof report FILE"});
  }
  if (same_file(options.input, options.output)) {
    return trouble({"the report would replace the recording " + options.input, "give another name with -o"});
  }
  AnalyzerOptions analysis;
  analysis.filter = options.filter.filter;
  // The text report cuts its tables itself, and says how much it left out.
  analysis.top = options.format == "text" ? 0 : options.top;
  Analyzer analyzer(std::move(analysis));
  const Result<StreamQuality> quality = read_events(options.input, analyzer);
  if (!quality) return trouble(quality.error());
  const Report report = analyzer.finish(quality.value());
  if (!report.recording.complete) {
    std::string why;
    for (const std::string& note : report.recording.notes) why += (why.empty() ? "" : "; ") + note;
    warn(options.input + " is incomplete" + (why.empty() ? "" : ": " + why));
  }
  const bool to_stdout = options.output == "-";
  const bool color = use_color(options.color, to_stdout ? STDOUT_FILENO : -1);
  return write_output(options.output, [&](std::ostream& out) { format->render(report, options, color, out); });
}

}  // namespace

void add_report_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Report on a recording: who waited, for which lock, held by whom");
  command->add_option("FILE", options->input, "recording or event stream (NDJSON); - is standard input")->type_name("");
  command->add_option("--format", options->format, format_names() + " (default text)")
      ->type_name("FORMAT")
      ->group("Output");
  command->add_option("-o,--output", options->output, "write here, mode 0600 (default - : standard output)")
      ->type_name("OUT")
      ->group("Output");
  command->add_option("--top", options->top, "rows per table (default text: 20 or 10, json: all)")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N")
      ->group("Output");
  command->add_flag("--print-schema", options->print_schema, "print the JSON report's JSON Schema and exit")
      ->group("Output");
  add_color_option(*command, options->color);
  add_filter_options(*command, options->filter, "show shorter sleeps as one remainder (default: as recorded)");
  command->footer(
      "Example: rtnlprof report incident.rtnl --lock rtnl_mutex\n"
      "         rtnlprof report incident.rtnl --format json -o incident.json");
  command->callback([options, &run] { run = [options] { return run_report(*options); }; });
}

}  // namespace rtnlprof::cli
