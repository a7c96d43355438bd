// SPDX-License-Identifier: BSD-2-Clause
#include "recording/reader.h"

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "recording/byte_source.h"
#include "recording/checksum.h"
#include "recording/decoder.h"
#include "recording/format.h"
#include "recording/records.h"

namespace rtnlprof {
namespace {

using format::ChunkType;
using format::Section;

Error not_a_recording(const std::string& name, std::string_view start) {
  const std::string message = name + " is not an rtnlprof recording";
  if (start.empty()) return {message + ": it is empty", "was the recorder killed before it began?"};
  if (start.starts_with("PERFILE2")) {
    return {message + ": it is a perf.data file", "record with `rtnlprof record`, or import what `perf script` prints"};
  }
  if (start.front() == '{') return {message + ": it looks like JSON", "use `rtnlprof import` for an event stream"};
  if (start.starts_with("\x1f\x8b") || start.starts_with("\x28\xb5\x2f\xfd") || start.starts_with("\xfd\x37zXZ")) {
    return {message + ": it is compressed", "decompress it first"};
  }
  return {message + ": it does not start with a recording's signature", "give a file that `rtnlprof record` wrote"};
}

bool all_zero(std::string_view bytes) { return bytes.find_first_not_of('\0') == std::string_view::npos; }

// Reads one recording from front to back, chunk by chunk.
class FileReader {
 public:
  FileReader(ByteSource& source, EventSink& sink)
      : source_(source), sink_(sink), zstd_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {}

  Result<StreamQuality> run() {
    if (Status status = read_file_header(); !status.ok()) return status.error();
    while (!at_end_) {
      if (Status status = read_chunk(); !status.ok()) return status.error();
    }
    if (!seen_events_ && !seen_footer_) {
      return Error{source_.name() + " ends before its first data chunk" +
                       (quality_.notes.empty() ? std::string() : ": " + quality_.notes.front()),
                   "nothing was recorded that could be read"};
    }
    if (!seen_footer_ && quality_.notes.empty()) {
      note(finished_ ? "its end is cut off" : "the recorder did not finish (killed, or the disk was full)");
    }
    quality_.complete = seen_footer_;
    return std::move(quality_);
  }

 private:
  Status read_file_header() {
    const auto bytes = read_bytes(format::kFileHeaderSize);
    if (!bytes.ok()) return bytes.error();
    const std::string_view got = bytes.value();
    const std::string_view magic = got.substr(0, format::kMagic.size());
    if (got.empty() || !format::kMagic.starts_with(magic)) return not_a_recording(source_.name(), got);
    if (got.size() < format::kFileHeaderSize) {
      return Error{source_.name() + " ends inside its file header, at byte " + std::to_string(got.size()),
                   "nothing was recorded that could be read"};
    }
    const auto header = format::decode_file_header(got);
    if (!header) return Error{source_.name() + " is damaged: the file header's checksum is wrong", kDamagedHint};
    if (header->major != format::kMajor) {
      return Error{source_.name() + " has recording format " + std::to_string(header->major) +
                       ", this rtnlprof reads format " + std::to_string(format::kMajor),
                   "use the rtnlprof version that recorded it, or a newer one"};
    }
    finished_ = header->state == format::State::kFinished;
    offset_ += got.size();
    return {};
  }

  Status read_chunk() {
    const auto bytes = read_bytes(format::kChunkHeaderSize);
    if (!bytes.ok()) return bytes.error();
    const std::string_view got = bytes.value();
    if (got.empty()) {
      at_end_ = true;
      return {};
    }
    if (seen_footer_) return damaged("there is data after its end");
    if (got.size() < format::kChunkHeaderSize) {
      return truncated("file ends inside the header of chunk " + std::to_string(sequence_) + " at byte " +
                       std::to_string(offset_ + got.size()));
    }
    const auto header = format::decode_chunk_header(got);
    if (!header) return all_zero(got) ? zero_tail() : damaged("the chunk header's checksum is wrong");
    if (header->sequence != sequence_) return damaged("chunk " + std::to_string(sequence_) + " is missing");
    if (header->stored_size > format::kMaxChunkSize || header->raw_size > format::kMaxChunkSize) {
      return damaged("the chunk's size is impossible");
    }
    const auto payload = read_bytes(header->stored_size);
    if (!payload.ok()) return payload.error();
    if (payload.value().size() < header->stored_size) {
      const std::size_t missing = header->stored_size - payload.value().size();
      return truncated("file ends inside chunk " + std::to_string(sequence_) + ", which starts at byte " +
                       std::to_string(offset_) + ": the last " + std::to_string(missing) + " bytes of it are missing");
    }
    if (crc32c(payload.value()) != header->payload_crc) return damaged("the chunk's checksum is wrong");
    if (Status status = decode(*header, payload.value()); !status.ok()) return status;
    offset_ += format::kChunkHeaderSize + header->stored_size;
    ++sequence_;
    return {};
  }

  Status decode(const format::ChunkHeader& header, std::string_view stored) {
    if ((header.flags & ~format::kZstd) != 0) return damaged("the chunk is packed in a way unknown to this version");
    if ((sequence_ == 0) != (header.type == ChunkType::kHeader)) return damaged("its header chunk is not the first");
    // What a later minor version adds beside the events.
    if (header.type > ChunkType::kFooter || header.type == ChunkType{}) return {};
    std::string_view payload = stored;
    if ((header.flags & format::kZstd) != 0) {
      raw_.resize(header.raw_size);
      const std::size_t size = ZSTD_decompressDCtx(zstd_.get(), raw_.data(), raw_.size(), stored.data(), stored.size());
      if (ZSTD_isError(size) != 0 || size != header.raw_size) return damaged("the chunk cannot be decompressed");
      payload = raw_;
    }
    format::Decoder decoder(payload, ids_);
    while (decoder.next_section()) deliver(decoder, header.type);
    if (decoder.fault() != nullptr) return damaged(decoder.fault());
    if (header.type == ChunkType::kHeader && !seen_header_) return damaged("its header chunk is empty");
    seen_events_ = seen_events_ || header.type == ChunkType::kEvents;
    return {};
  }

  template <typename Event, typename Deliver>
  static void each(format::Decoder& decoder, Deliver deliver) {
    Event event;
    for (std::uint64_t i = 0; i < decoder.records(); ++i) {
      decoder.begin_record();
      fields(decoder, event);
      if (decoder.fault() != nullptr) return;
      deliver(event);
    }
    decoder.end_section();
  }

  void deliver(format::Decoder& decoder, ChunkType type) {
    const Section section = decoder.section();
    if ((section == Section::kHeader) != (type == ChunkType::kHeader) ||
        (section == Section::kFooter) != (type == ChunkType::kFooter)) {
      // A type this version does not know may stand anywhere and is skipped.
      if (section != Section{}) decoder.fail("a section stands in the wrong chunk");
      return;
    }
    switch (section) {
      case Section::kHeader:
        return each<Header>(decoder, [this](const Header& event) {
          if (!seen_header_) sink_.on_header(event);
          seen_header_ = true;
        });
      case Section::kFooter:
        return each<Footer>(decoder, [this](const Footer& event) {
          if (!seen_footer_) sink_.on_footer(event);
          seen_footer_ = true;
        });
      case Section::kTask:
        return each<Task>(decoder, [this](const Task& event) { sink_.on_task(event); });
      case Section::kFrame:
        return each<Frame>(decoder, [this](const Frame& event) { sink_.on_frame(event); });
      case Section::kStack:
        return each<Stack>(decoder, [this](const Stack& event) { sink_.on_stack(event); });
      case Section::kLock:
        return each<Lock>(decoder, [this](const Lock& event) { sink_.on_lock(event); });
      case Section::kSleep:
        return each<Sleep>(decoder, [this](const Sleep& event) { sink_.on_sleep(event); });
      case Section::kWait:
        return each<Wait>(decoder, [this](const Wait& event) { sink_.on_wait(event); });
      case Section::kHold:
        return each<Hold>(decoder, [this](const Hold& event) { sink_.on_hold(event); });
      case Section::kCall:
        return each<Call>(decoder, [this](const Call& event) { sink_.on_call(event); });
      case Section::kWakeups:
        return each<Wakeups>(decoder, [this](const Wakeups& event) { sink_.on_wakeups(event); });
      case Section::kScheduler:
        return each<SchedulerTotals>(decoder, [this](const SchedulerTotals& event) { sink_.on_scheduler(event); });
      case Section::kInFlight:
        return each<InFlight>(decoder, [this](const InFlight& event) { sink_.on_in_flight(event); });
      case Section::kSuspend:
        return each<Suspend>(decoder, [this](const Suspend& event) { sink_.on_suspend(event); });
      case Section::kProbe:
        return each<Probe>(decoder, [this](const Probe& event) { sink_.on_probe(event); });
      case Section::kLost:
        return each<Lost>(decoder, [this](const Lost& event) { sink_.on_lost(event); });
      case Section::kNic:
        return each<Nic>(decoder, [this](const Nic& event) { sink_.on_nic(event); });
    }
  }

  // A host that crashed may leave zeros where a file system had reserved space: the data ended before them.
  Status zero_tail() {
    while (true) {
      const auto more = read_bytes(65536);
      if (!more.ok()) return more.error();
      if (!all_zero(more.value())) return damaged("zeros stand where a chunk should start");
      if (more.value().empty()) break;
    }
    return truncated("file holds only zeros from byte " + std::to_string(offset_) + " on, as after a host crash");
  }

  Status truncated(std::string what) {
    note(std::move(what));
    at_end_ = true;
    return {};
  }
  Status damaged(const std::string& reason) const {
    return Error{source_.name() + " is damaged at chunk " + std::to_string(sequence_) + ", byte " +
                     std::to_string(offset_) + ": " + reason,
                 kDamagedHint};
  }
  void note(std::string text) { quality_.notes.push_back(std::move(text)); }

  // Up to `size` bytes, fewer only at the end of the file; valid until the next call. Grows with what is there, so that
  // a size that is a lie costs nothing.
  Result<std::string_view> read_bytes(std::size_t size) {
    constexpr std::size_t kStep = 4U << 20U;
    std::size_t done = 0;
    while (done < size) {
      const std::size_t step = std::min(size - done, kStep);
      if (buffer_.size() < done + step) buffer_.resize(done + step);
      const auto got = source_.read(buffer_.data() + done, step);
      if (!got.ok()) return got.error();
      done += got.value();
      if (got.value() < step) break;
    }
    return std::string_view(buffer_).substr(0, done);
  }

  static constexpr const char* kDamagedHint = "copy it again from where it was recorded and compare checksums";

  ByteSource& source_;
  EventSink& sink_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd_;
  format::IdTables ids_;
  StreamQuality quality_;
  std::string buffer_;
  std::string raw_;
  std::uint64_t offset_ = 0;    // where the present header or chunk starts
  std::uint32_t sequence_ = 0;  // of the chunk that comes next
  bool finished_ = false;       // says the file header
  bool seen_header_ = false;
  bool seen_events_ = false;
  bool seen_footer_ = false;
  bool at_end_ = false;
};

}  // namespace

Result<StreamQuality> read_recording(ByteSource& source, EventSink& sink) { return FileReader(source, sink).run(); }

Result<StreamQuality> read_recording(const std::string& path, EventSink& sink) {
  const auto source = open_source(path);
  if (!source.ok()) return source.error();
  return read_recording(*source.value(), sink);
}

Result<StreamQuality> read_recording(std::span<const std::byte> bytes, const std::string& name, EventSink& sink) {
  const auto source = memory_source({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name);
  return read_recording(*source, sink);
}

}  // namespace rtnlprof
