// SPDX-License-Identifier: BSD-2-Clause
#include "recording/writer.h"

#include <zstd.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recording/checksum.h"
#include "recording/encoder.h"
#include "recording/format.h"
#include "recording/output_file.h"
#include "recording/records.h"

namespace rtnlprof {
namespace {

using format::Section;

constexpr int kZstdLevel = 3;  // measured knee: level 1 is 10 % larger, level 6 twice as slow for 2 %

// Times that a reader accepts: in range, and in order.
bool ordered(std::initializer_list<std::int64_t> times) {
  return *times.begin() >= -format::kMaxTime && std::data(times)[times.size() - 1] <= format::kMaxTime &&
         std::is_sorted(times.begin(), times.end());
}

}  // namespace

class RecordingWriter::Impl {
 public:
  explicit Impl(std::unique_ptr<OutputFile> file) : file_(std::move(file)), zstd_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
    sections_.reserve(format::kSections);
    for (std::size_t i = 0; i < format::kSections; ++i) sections_.emplace_back(ids_);
    write(format::encode(format::FileHeader{}));
  }

  template <typename Event>
  void add(Section section, const Event& event) {
    if (!status_.ok() || finished_) return;
    if (!has_header_) add_header(Header{});
    format::Encoder& encoder = sections_[static_cast<std::size_t>(section)];
    const std::size_t before = encoder.size();
    encoder.begin_record();
    fields(encoder, event);
    pending_ += encoder.size() - before;
    ++records_;
    ++events_;
    if (pending_ >= target_) close_chunk(format::ChunkType::kEvents);
  }

  // The first chunk holds the header alone; a producer that sends none gets an empty one.
  void add_header(const Header& header) {
    if (has_header_) return;
    has_header_ = true;
    add(Section::kHeader, header);
    close_chunk(format::ChunkType::kHeader);
  }

  // An event whose times are out of order is counted and left out.
  template <typename Event>
  void add_timed(Section section, const Event& event, std::initializer_list<std::int64_t> times) {
    if (ordered(times)) {
      add(section, event);
    } else {
      ++inconsistent_;
    }
  }

  template <typename Event>
  void define(Section section, format::IdTable& table, const Event& event) {
    if (table.define(event.id)) {
      add(section, event);
    } else {
      ++undefined_;
    }
  }

  void set_footer(const Footer& footer) {
    footer_ = footer;
    has_footer_ = true;
  }

  Status flush() {
    close_chunk(format::ChunkType::kEvents);
    return status_;
  }

  Status finish() {
    if (finished_) return status_;
    std::uint64_t undefined = undefined_;
    for (const format::Encoder& section : sections_) undefined += section.undefined_ids();
    if (undefined > 0) add(Section::kLost, Lost{"undefined_id", undefined});
    if (inconsistent_ > 0) add(Section::kLost, Lost{"inconsistent", inconsistent_});
    close_chunk(format::ChunkType::kEvents);
    if (has_footer_) {
      add(Section::kFooter, footer_);
      close_chunk(format::ChunkType::kFooter);
      if (status_.ok()) {
        status_ = file_->rewrite_start(format::encode(format::FileHeader{.state = format::State::kFinished}));
      }
    }
    finished_ = true;
    if (status_.ok()) status_ = file_->commit();
    return status_;
  }

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t bytes_written() const { return file_->bytes_written(); }
  [[nodiscard]] std::uint64_t events_written() const { return events_; }
  format::IdTables& ids() { return ids_; }

 private:
  void write(std::string_view bytes) {
    if (status_.ok()) status_ = file_->write(bytes);
  }

  void close_chunk(format::ChunkType type) {
    if (records_ == 0 || !status_.ok()) return;
    payload_.clear();
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].records() > 0) sections_[i].move_to(payload_, static_cast<Section>(i));
    }
    format::ChunkHeader header;
    header.type = type;
    header.sequence = sequence_++;
    header.records = static_cast<std::uint32_t>(records_);
    header.raw_size = static_cast<std::uint32_t>(payload_.size());
    // The header and the payload leave in one write, so that a kill between two calls cannot part them.
    chunk_.resize(format::kChunkHeaderSize + std::max(ZSTD_compressBound(payload_.size()), payload_.size()));
    char* stored = chunk_.data() + format::kChunkHeaderSize;
    std::size_t size = ZSTD_compressCCtx(zstd_.get(), stored, chunk_.size() - format::kChunkHeaderSize, payload_.data(),
                                         payload_.size(), kZstdLevel);
    if (ZSTD_isError(size) == 0 && size < payload_.size()) {
      header.flags = format::kZstd;
    } else {
      size = payload_.size();
      payload_.copy(stored, size);
    }
    header.stored_size = static_cast<std::uint32_t>(size);
    header.payload_crc = crc32c({stored, size});
    format::encode(header).copy(chunk_.data(), format::kChunkHeaderSize);
    write({chunk_.data(), format::kChunkHeaderSize + size});
    records_ = 0;
    pending_ = 0;
    if (type == format::ChunkType::kEvents) target_ = std::min(target_ * 2, format::kChunkTarget);
  }

  std::unique_ptr<OutputFile> file_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd_;
  format::IdTables ids_;
  std::vector<format::Encoder> sections_;  // by Section
  std::string payload_;
  std::string chunk_;
  std::size_t pending_ = 0;  // raw bytes in the open chunk
  std::size_t target_ = format::kFirstChunkTarget;
  std::uint64_t records_ = 0;  // in the open chunk
  std::uint32_t sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t undefined_ = 0;
  std::uint64_t inconsistent_ = 0;
  Footer footer_;
  bool has_header_ = false;
  bool has_footer_ = false;
  bool finished_ = false;
  Status status_;
};

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::string& path,
                                                                 RecordingWriterOptions options) {
  auto file = OutputFile::create(
      path, options.replace_at_finish ? OutputFile::Mode::kReplaceAtFinish : OutputFile::Mode::kGrowInPlace);
  if (!file.ok()) return file.error();
  if (file.value()->is_terminal()) {
    return Error{"will not write a recording to the terminal", "name a file with -o, or pipe the output"};
  }
  auto impl = std::make_unique<Impl>(std::move(file.value()));
  if (!impl->status().ok()) return impl->status().error();
  return {std::unique_ptr<RecordingWriter>(new RecordingWriter(std::move(impl)))};
}

RecordingWriter::RecordingWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordingWriter::~RecordingWriter() = default;

Status RecordingWriter::flush() { return impl_->flush(); }
Status RecordingWriter::finish() { return impl_->finish(); }
Status RecordingWriter::status() const { return impl_->status(); }
std::uint64_t RecordingWriter::bytes_written() const { return impl_->bytes_written(); }
std::uint64_t RecordingWriter::events_written() const { return impl_->events_written(); }

void RecordingWriter::on_header(const Header& event) { impl_->add_header(event); }
void RecordingWriter::on_footer(const Footer& event) { impl_->set_footer(event); }
void RecordingWriter::on_task(const Task& event) { impl_->define(Section::kTask, impl_->ids().tasks, event); }
void RecordingWriter::on_frame(const Frame& event) { impl_->define(Section::kFrame, impl_->ids().frames, event); }
void RecordingWriter::on_stack(const Stack& event) { impl_->define(Section::kStack, impl_->ids().stacks, event); }
void RecordingWriter::on_lock(const Lock& event) { impl_->add(Section::kLock, event); }
void RecordingWriter::on_sleep(const Sleep& event) {
  impl_->add_timed(Section::kSleep, event, {event.out_ns, event.wake_ns, event.in_ns});
}
void RecordingWriter::on_wait(const Wait& event) {
  impl_->add_timed(Section::kWait, event, {event.begin_ns, event.end_ns});
}
void RecordingWriter::on_hold(const Hold& event) {
  impl_->add_timed(Section::kHold, event, {event.acquired_ns, event.released_ns});
}
void RecordingWriter::on_call(const Call& event) {
  impl_->add_timed(Section::kCall, event, {event.start_ns, event.end_ns});
}
void RecordingWriter::on_wakeups(const Wakeups& event) { impl_->add(Section::kWakeups, event); }
void RecordingWriter::on_scheduler(const SchedulerTotals& event) { impl_->add(Section::kScheduler, event); }
void RecordingWriter::on_in_flight(const InFlight& event) { impl_->add(Section::kInFlight, event); }
void RecordingWriter::on_suspend(const Suspend& event) {
  impl_->add_timed(Section::kSuspend, event, {event.begin_ns, event.end_ns});
}
void RecordingWriter::on_probe(const Probe& event) { impl_->add(Section::kProbe, event); }
void RecordingWriter::on_lost(const Lost& event) { impl_->add(Section::kLost, event); }
void RecordingWriter::on_nic(const Nic& event) { impl_->add(Section::kNic, event); }

}  // namespace rtnlprof
