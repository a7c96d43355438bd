// SPDX-License-Identifier: BSD-2-Clause
#include "capture/recorder.h"

#include <bpf/bpf.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <optional>
#include <thread>

#include "capture/code_table.h"
#include "capture/in_flight.h"
#include "capture/recorded_tasks.h"
#include "capture/ring_reader.h"
#include "capture/rtnl_address.h"
#include "capture/translator.h"
#include "capture/wakeup_totals.h"
#include "context/host.h"
#include "recording/writer.h"

namespace rtnlprof {
namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC on Linux, as bpf_ktime_get_ns()

constexpr auto kFlushInterval = std::chrono::milliseconds(250);
constexpr auto kCheckpointInterval = std::chrono::seconds(1);
constexpr int kCheckpointShare = 100;  // a checkpoint may take one part in so many of the time
constexpr auto kStatsFirst = std::chrono::seconds(1);
constexpr auto kStatsInterval = std::chrono::seconds(10);
constexpr auto kStatsWindow = std::chrono::milliseconds(20);
constexpr auto kSymbolBudget = std::chrono::milliseconds(600);

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::uint64_t own_cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_usec) * 1'000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

// The kernel's statistics of BPF run time cost as much as some programs do, so they are on in short windows only; the
// share found there is taken for the whole recording.
class ProgramTime {
 public:
  explicit ProgramTime(const BpfSession& bpf) : bpf_(bpf) {}

  // Blocks for a window when one is due.
  void tick(Clock::time_point now, Clock::time_point started) {
    const bool due = window_ns_ == 0 ? now - started >= kStatsFirst : now - opened_ >= kStatsInterval;
    if (!due) return;
    const std::uint64_t before = bpf_.program_run_ns();
    opened_ = Clock::now();
    const int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
    if (fd < 0) return;
    std::this_thread::sleep_for(kStatsWindow);
    close(fd);
    window_ns_ += static_cast<double>(std::chrono::nanoseconds(Clock::now() - opened_).count());
    measured_ns_ += static_cast<double>(bpf_.program_run_ns() - before);
  }
  [[nodiscard]] std::uint64_t estimate_ns(std::int64_t duration_ns) const {
    if (window_ns_ == 0) return kUnknownCount;
    return static_cast<std::uint64_t>(measured_ns_ / window_ns_ * static_cast<double>(duration_ns));
  }

 private:
  const BpfSession& bpf_;
  Clock::time_point opened_;
  double measured_ns_ = 0;
  double window_ns_ = 0;
};

}  // namespace

class Recorder::Impl {
 public:
  Impl(std::unique_ptr<BpfSession> bpf, std::unique_ptr<RecordingWriter> writer,
       std::shared_ptr<const KernelSymbols> symbols, RecorderOptions options)
      : options_(std::move(options)),
        bpf_(std::move(bpf)),
        writer_(std::move(writer)),
        symbols_(std::move(symbols)),
        files_(std::make_shared<FileStore>()),
        reader_(TaskReader::Options(), files_),
        tasks_(*writer_, reader_),
        code_(*writer_, symbols_),
        translator_(*writer_, tasks_, code_, wakeups_, symbols_),
        program_time_(*bpf_) {}
  ~Impl() { stop_threads(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status start();
  Status finish(const Footer& exit);
  [[nodiscard]] RecorderProgress progress() const;

 private:
  void write_header();
  void write_loop();
  void tick(Clock::time_point now);
  void checkpoint(bool final);
  void report_losses();
  struct Seen {
    rp_snapshot task;
    std::vector<std::uint64_t> frames;
  };
  Result<std::vector<Seen>> read_tasks(std::uint32_t flags);
  void send_tasks_in_flight(const std::vector<Seen>& seen, bool at_end);
  void stop_threads();
  void name_user_frames();

  RecorderOptions options_;
  std::unique_ptr<BpfSession> bpf_;
  std::unique_ptr<RecordingWriter> writer_;
  std::shared_ptr<const KernelSymbols> symbols_;
  std::shared_ptr<FileStore> files_;
  TaskReader reader_;
  RecordedTasks tasks_;
  CodeTable code_;
  WakeupTotals wakeups_;
  Translator translator_;
  ProgramTime program_time_;
  RingReader rings_;

  std::thread writer_thread_;
  std::atomic<bool> draining_{false};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<bool> output_failed_{false};
  Clock::time_point started_;
  Clock::time_point last_flush_;
  Clock::time_point next_checkpoint_;
  std::int64_t start_ns_ = 0;
};

void Recorder::Impl::write_header() {
  Header header;
  header.host = read_host();
  header.start_ns = start_ns_;
  header.realtime_offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  header.command = options_.command;
  header.tool_version = RTNLPROF_VERSION;
  header.min_sleep_ns = options_.bpf.min_sleep_ns;
  writer_->on_header(header);
  for (const Probe& probe : bpf_->probes()) writer_->on_probe(probe);
}

Status Recorder::Impl::start() {
  if (Status attached = bpf_->attach(); !attached) return attached;
  if (Status reading = rings_.start(bpf_->ring_fds()); !reading) return reading;
  start_ns_ = clock_ns(CLOCK_MONOTONIC);
  started_ = Clock::now();
  last_flush_ = started_;
  next_checkpoint_ = started_ + kCheckpointInterval;
  write_header();
  if (symbols_ != nullptr) {
    const RtnlAddress rtnl = find_rtnl_address(*symbols_, *bpf_);
    Probe probe{"rtnl_mutex address", rtnl.source, rtnl.address != 0 ? "active" : "refused", rtnl.reason};
    if (rtnl.address != 0) translator_.name_lock(rtnl.address, "rtnl_mutex", rtnl.source);
    writer_->on_probe(probe);
  }
  bpf_->start(start_ns_);
  // At the first switch the programs learn how far their two clocks are apart: make one.
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const Result<std::vector<Seen>> seen = read_tasks(RP_SNAPSHOT_START | RP_SNAPSHOT_STACKS);
  if (!seen) return seen.error();
  // The iterator has introduced every task through the rings.
  constexpr int kRingDelayMs = 200;
  for (RecordBatch batch = rings_.next(kRingDelayMs); !batch.empty(); batch = rings_.next(0)) {
    translator_.add_batch(batch, false);
  }
  send_tasks_in_flight(seen.value(), false);
  if (Status written = writer_->flush(); !written) return written;
  writer_thread_ = std::thread([this] { write_loop(); });
  return {};
}

void Recorder::Impl::write_loop() {
  prctl(PR_SET_NAME, "rtnlprof-write");
  constexpr int kTickMs = 100;
  while (true) {
    const bool last = draining_;  // read before: nothing comes after an empty batch then
    const RecordBatch batch = rings_.next(kTickMs);
    if (!batch.empty()) translator_.add_batch(batch, false);
    if (batch.empty() && last) break;
    if (!last) tick(Clock::now());
  }
  translator_.add_batch({}, true);
}

void Recorder::Impl::tick(Clock::time_point now) {
  program_time_.tick(now, started_);
  if (now - last_flush_ < kFlushInterval) return;
  last_flush_ = now;
  tasks_.drain_details();
  if (now >= next_checkpoint_) {
    checkpoint(false);
    const auto took = Clock::now() - now;
    next_checkpoint_ = now + std::max<Clock::duration>(kCheckpointInterval, took * kCheckpointShare);
  }
  if (!writer_->flush()) output_failed_ = true;
  events_ = translator_.events();
  bytes_ = writer_->bytes_written();
}

void Recorder::Impl::checkpoint(bool final) {
  wakeups_.report(bpf_->pairs_fd(), bpf_->slots(), final, *writer_);
  // Counters of living tasks; a failure costs this checkpoint only.
  const Status read = bpf_->snapshot(0, [&](const rp_snapshot& task, std::span<const std::uint64_t> /*frames*/) {
    if (tasks_.known(task.task_id)) tasks_.update(task);
  });
  static_cast<void>(read.ok());
  report_losses();
}

void Recorder::Impl::report_losses() {
  std::uint64_t sum = 0;
  for (const Lost& loss : bpf_->losses()) {
    sum += loss.count;
    if (loss.count > 0) writer_->on_lost(loss);
  }
  lost_ = sum;
}

Result<std::vector<Recorder::Impl::Seen>> Recorder::Impl::read_tasks(std::uint32_t flags) {
  std::vector<Seen> seen;
  if (const Status read = bpf_->snapshot(flags,
                                         [&](const rp_snapshot& task, std::span<const std::uint64_t> frames) {
                                           seen.push_back({task, {frames.begin(), frames.end()}});
                                         });
      !read) {
    return read.error();
  }
  return seen;
}

void Recorder::Impl::send_tasks_in_flight(const std::vector<Seen>& seen, bool at_end) {
  std::vector<rp_snapshot> heads;
  heads.reserve(seen.size());
  for (const Seen& one : seen) heads.push_back(one.task);
  const std::int64_t offset_ns = scheduler_clock_offset_ns(heads);
  for (const Seen& one : seen) {
    if (!tasks_.known(one.task.task_id)) continue;
    if (at_end) tasks_.update(one.task);
    const std::optional<InFlightFacts> facts = in_flight_facts(one.task, start_ns_, offset_ns, at_end);
    if (!facts) continue;
    InFlight event = facts->event;
    translator_.introduce_lock(event.lock);
    const auto full = code_.find(facts->kernel_stack_hash);
    event.kernel_stack = full.value_or(0) != 0 ? *full : code_.kernel_stack(one.frames, false);
    event.user_stack = code_.find(facts->user_stack_hash).value_or(0);
    if (event.user_stack == 0 && one.task.user_ip != 0) {
      event.user_stack = code_.user_address(tasks_.pid_of(event.task), one.task.user_ip);
      if (at_end || event.state == 'D' || event.lock != 0) tasks_.want_maps(event.task);
    }
    if (!tasks_.known(event.owner)) event.owner = 0;
    writer_->on_in_flight(event);
  }
}

void Recorder::Impl::name_user_frames() {
  const auto deadline = Clock::now() + kSymbolBudget;
  reader_.wait_idle(std::chrono::milliseconds(150));
  tasks_.drain_details();
  UserSymbolizer symbolizer(files_);
  for (const auto& maps : tasks_.maps()) symbolizer.add_maps(maps);
  const std::size_t left = code_.resolve_user_frames(symbolizer, deadline);
  Probe probe{"user symbols", "elfutils", "active", ""};
  if (left > 0) {
    probe.reason = std::to_string(left) + " user addresses were left unnamed: the time for it had passed";
  }
  writer_->on_probe(probe);
}

void Recorder::Impl::stop_threads() {
  bpf_->stop();
  rings_.stop();
  draining_ = true;
  if (writer_thread_.joinable()) writer_thread_.join();
}

Status Recorder::Impl::finish(const Footer& exit) {
  Footer footer = exit;
  // While the programs still run: a moment later slots and tasks would not belong together.
  const Result<std::vector<Seen>> seen = read_tasks(RP_SNAPSHOT_STACKS);
  footer.end_ns = clock_ns(CLOCK_MONOTONIC);
  stop_threads();
  tasks_.drain_details();
  wakeups_.report(bpf_->pairs_fd(), bpf_->slots(), true, *writer_);
  if (seen.ok()) {
    send_tasks_in_flight(seen.value(), true);
  } else {
    writer_->on_probe({"in flight at stop", "iter", "refused", seen.error().message});
  }
  report_losses();
  name_user_frames();
  reader_.stop();
  footer.bpf_ns = program_time_.estimate_ns(footer.end_ns - start_ns_);
  footer.collector_cpu_ns = own_cpu_ns();
  writer_->on_footer(footer);
  Status finished = writer_->finish();
  events_ = translator_.events();
  bytes_ = writer_->bytes_written();
  return finished;
}

RecorderProgress Recorder::Impl::progress() const { return {events_, lost_, bytes_, output_failed_}; }

Recorder::Recorder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recorder::~Recorder() = default;

Result<std::unique_ptr<Recorder>> Recorder::prepare(const RecorderOptions& options) {
  Result<std::unique_ptr<BpfSession>> bpf = BpfSession::load(options.bpf);
  if (!bpf) return bpf.error();
  std::shared_ptr<const KernelSymbols> symbols;
  if (Result<KernelSymbols> loaded = KernelSymbols::load(); loaded.ok()) {
    symbols = std::make_shared<const KernelSymbols>(std::move(loaded.value()));
  }
  Result<std::unique_ptr<RecordingWriter>> writer = RecordingWriter::create(options.output);
  if (!writer) return writer.error();
  auto impl = std::make_unique<Impl>(std::move(*bpf), std::move(*writer), std::move(symbols), options);
  return std::unique_ptr<Recorder>(new Recorder(std::move(impl)));
}

Status Recorder::start() { return impl_->start(); }
RecorderProgress Recorder::progress() const { return impl_->progress(); }
Status Recorder::finish(const Footer& exit) { return impl_->finish(exit); }

}  // namespace rtnlprof
