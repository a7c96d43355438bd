// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <sstream>

#include "analysis/analyzer.h"
#include "base/text.h"
#include "capture/recorder.h"
#include "cli/child_command.h"
#include "cli/commands.h"
#include "cli/filter_options.h"
#include "recording/open.h"
#include "recording/output_file.h"
#include "report/render.h"

namespace rtnlprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct RecordOptions {
  double seconds = 0;  // 0 = until interrupted or the command ends
  std::string output;
  std::string json;
  bool quiet = false;
  bool exit_status = false;
  std::uint64_t ring_bytes = 0;
  std::vector<std::string> disable;
  std::size_t top = 0;
  FilterOptions filter;
  ColorMode color = ColorMode::kAuto;
  std::vector<std::string> command;
};

std::string default_output() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 64> name{};
  std::strftime(name.data(), name.size(), "rtnlprof-%Y%m%dT%H%M%SZ.rtnl", &utc);
  return name.data();
}

// The signals that end a recording, taken as data.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&set_, signal);
    sigprocmask(SIG_BLOCK, &set_, &before_);
    fd_ = signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~StopSignals() {
    release();
    close(fd_);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Waits up to `milliseconds`; returns a signal other than SIGCHLD, or 0.
  int wait(int milliseconds) const {
    pollfd poller{fd_, POLLIN, 0};
    if (poll(&poller, 1, milliseconds) <= 0) return 0;
    signalfd_siginfo info{};
    int got = 0;
    while (read(fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      if (info.ssi_signo != SIGCHLD) got = static_cast<int>(info.ssi_signo);
    }
    return got;
  }
  // Forgets those that came meanwhile and lets the next one act as usual.
  void release() const {
    wait(0);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
  int fd_ = -1;
};

// "  12.3 / 30.0 s  45210 events  0 lost  1.2 MiB", in place, on a terminal only.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(double elapsed, double total, const RecorderProgress& progress) {
    if (!wanted_) return;
    std::ostringstream line;
    line.precision(1);
    line << std::fixed << "  " << elapsed;
    if (total > 0) line << " / " << total;
    line << " s  " << progress.events << " events  " << progress.lost << " lost  "
         << static_cast<double>(progress.bytes) / 1048576.0 << " MiB" << (total > 0 ? "" : "  (Ctrl-C ends)");
    std::fprintf(stderr, "\r%-76s", line.str().c_str());
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fprintf(stderr, "\r%-76s\r", "");
    shown_ = false;
  }

 private:
  bool wanted_;
  bool shown_ = false;
};

// Records until a signal, the time or the command ends it. Returns the command's exit status where there is one.
void record_until_stopped(const RecordOptions& options, Recorder& recorder, ChildCommand& child,
                          const StopSignals& signals) {
  ProgressLine line(!options.quiet);
  const auto begin = Clock::now();
  while (true) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (options.seconds > 0 && elapsed >= options.seconds) break;
    if (child.running() && child.reap(false)) break;
    const RecorderProgress progress = recorder.progress();
    if (progress.output_failed) break;
    line.show(elapsed, options.seconds, progress);
    double wait = 0.5;
    if (options.seconds > 0) wait = std::min(wait, options.seconds - elapsed);
    if (signals.wait(static_cast<int>(wait * 1000) + 1) != 0) break;
  }
}

Status write_json(const Report& report, const std::string& path) {
  Result<std::unique_ptr<OutputFile>> file = OutputFile::create(path, OutputFile::Mode::kReplaceAtFinish);
  if (!file) return file.error();
  std::ostringstream text;
  render_json(report, text);
  if (Status written = file.value()->write(text.str()); !written) return written;
  return file.value()->commit();
}

int print_report(const RecordOptions& options, const std::string& path) {
  AnalyzerOptions analysis;
  analysis.filter = options.filter.filter;
  analysis.top = options.top;
  Analyzer analyzer(analysis);
  const Result<StreamQuality> quality = read_events(path, analyzer);
  if (!quality) return trouble(quality.error());
  const Report report = analyzer.finish(quality.value());
  if (!options.quiet) {
    render_text(report, {use_color(options.color, STDOUT_FILENO), options.top}, std::cout);
    std::cout.flush();
    if (!std::cout) return trouble(Error::from_errno("cannot print the report", errno, "it is in " + path));
  }
  if (!options.json.empty()) {
    if (const Status written = write_json(report, options.json); !written) return trouble(written.error());
  }
  return kDone;
}

int run_record(const RecordOptions& options) {
  const bool to_stdout = options.output == "-";
  bool keeps_file = !to_stdout;  // that the report is read from afterwards
  if (!options.json.empty() && same_file(options.output, options.json)) {
    return trouble({"-o and --json name the same file " + options.json, "give them different names"});
  }
  if (to_stdout && !options.json.empty()) {
    return trouble({"--json needs a recording file, and -o - sends the recording to standard output", "use -o FILE"});
  }
  const StopSignals signals;
  ChildCommand child;
  if (!options.command.empty()) {
    if (const Status forked = child.prepare(options.command, to_stdout); !forked) return trouble(forked.error());
  }
  RecorderOptions recording;
  recording.bpf.min_sleep_ns = options.filter.min_sleep_given ? options.filter.filter.min_sleep_ns : 1'000'000;
  recording.bpf.ring_bytes = options.ring_bytes;
  recording.bpf.disable = options.disable;
  recording.output = options.output;
  recording.command = join_command(options.command);
  Result<std::unique_ptr<Recorder>> prepared = Recorder::prepare(recording);
  if (!prepared) return trouble(prepared.error());
  Recorder& recorder = **prepared;
  if (const Status started = recorder.start(); !started) return trouble(started.error());
  if (!options.command.empty()) {
    if (const Status released = child.release(); !released) {
      if (!to_stdout) unlink(options.output.c_str());
      return trouble(released.error());
    }
  }
  record_until_stopped(options, recorder, child, signals);
  if (child.running()) {
    // Stopped before the command has ended: it was started for this recording and ends with it.
    child.terminate();
    for (int i = 0; i < 50 && !child.reap(false); ++i) signals.wait(100);
  }
  Footer footer;
  footer.has_exit_status = !options.command.empty() && !child.running();
  footer.exit_status = child.exit_status();
  struct stat written {};
  if (keeps_file && stat(options.output.c_str(), &written) == 0) keeps_file = S_ISREG(written.st_mode);
  // The stop signals stay blocked until the file is finished: a second Ctrl-C cannot damage it. Whoever reads a pipe
  // may stop doing so, and then a signal must be able to end us.
  if (!keeps_file) signals.release();
  const Status finished = recorder.finish(footer);
  prepared.value().reset();
  signals.release();
  if (!finished) return trouble(finished.error());
  if (!keeps_file && !to_stdout && !(options.quiet && options.json.empty())) {
    warn("no report: " + options.output + " is no regular file to read it from");
  }
  if (keeps_file && !(options.quiet && options.json.empty())) {
    if (const int status = print_report(options, options.output); status != kDone) return status;
    if (!options.quiet) warn("recording kept in " + options.output);
  }
  return options.exit_status && footer.has_exit_status ? footer.exit_status : kDone;
}

// Turns "64K" into bytes; what is wrong, or empty.
std::string normalize_ring_size(std::string& text) {
  std::uint64_t bytes = 0;
  char unit = 0;
  std::istringstream in(text);
  in >> bytes >> unit;
  if (unit == 'K') bytes <<= 10U;
  if (unit == 'M') bytes <<= 20U;
  const bool known = unit == 0 || unit == 'K' || unit == 'M';
  if (!known || bytes < 4096 || bytes > (std::uint64_t{1} << 30) || (bytes & (bytes - 1)) != 0) {
    return text + " is not a power of two from 4K to 1024M";
  }
  text = std::to_string(bytes);
  return {};
}

// Of the text, since a range check lets "nan" pass.
std::string check_duration(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && *end == '\0';
  return whole && seconds >= 0.001 && seconds <= 1e9 ? "" : text + " is not a number of seconds from 0.001 to 1e9";
}

}  // namespace

void add_record_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command = app.add_subcommand("record", "Record who sleeps, who waits for which lock, and who wakes whom");
  command
      ->add_option("-d,--duration", options->seconds, "seconds to record; without it and without COMMAND: until Ctrl-C")
      ->check(CLI::Validator(check_duration, ""))
      ->type_name("SECONDS")
      ->group("Output");
  command->add_option("-o,--output", options->output, "the recording, mode 0600; - is standard output")
      ->type_name("FILE")
      ->default_str("rtnlprof-<UTC time>.rtnl")
      ->group("Output");
  command->add_option("--json", options->json, "write the JSON report, too")->type_name("FILE")->group("Output");
  command->add_flag("-q,--quiet", options->quiet, "print nothing but errors")->group("Output");
  command->add_option("--top", options->top, "rows per table of the report")->type_name("N")->group("Output");
  add_color_option(*command, options->color);
  command->add_flag("--exit-status", options->exit_status, "exit with COMMAND's exit status")->group("Output");
  add_filter_options(*command, options->filter,
                     "sleeps shorter than this are counted, not recorded one by one (default 1ms, 0 allowed)");
  command->add_option("--ring-size", options->ring_bytes, "bytes of each ring buffer, e.g. 64K, 8M (default: by CPUs)")
      ->transform(CLI::Validator(normalize_ring_size, ""))
      ->type_name("SIZE")
      ->group("Advanced");
  command->add_option("--disable-probe", options->disable, "do not use this probe, e.g. contention (repeatable)")
      ->type_name("NAME")
      ->group("Advanced");
  command->add_option("COMMAND", options->command, "record while this runs")->type_name("")->group("Output");
  command->positionals_at_end();
  command->footer(
      "Example: rtnlprof record -d 30\n         rtnlprof record -o bench.rtnl -- ./bench --quick\n"
      "With -d and COMMAND, the recording ends with the first of the two, and then the command gets SIGTERM.");
  command->callback([options, &run] {
    if (options->output.empty()) options->output = default_output();
    run = [options] { return run_record(*options); };
  });
}

}  // namespace rtnlprof::cli
