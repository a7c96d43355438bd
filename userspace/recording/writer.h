// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/events.h"

namespace rtnlprof {

struct RecordingWriterOptions {
  // Write beside the target under a temporary name and rename at finish(): what stood there before stays until then,
  // and a writer destroyed before finish() leaves nothing behind. Off: the file grows under its own name, so that a
  // killed recorder leaves what it had.
  bool replace_at_finish = false;
};

// Writes a recording (docs/recording-format.md). Events are gathered in columns and leave as a compressed chunk at
// about 1 MiB, or at flush(). Not thread-safe: one thread writes.
//
// What a reader would have to refuse never gets into the file: an id that was not defined is written as 0 ("unknown"),
// an event that ends before it starts is dropped, and both are counted in a Lost event ("undefined_id",
// "inconsistent") when the recording finishes.
class RecordingWriter final : public EventSink {
 public:
  // Creates `path` with mode 0600; "-" is standard output. A regular file of ours that stands there is replaced by a
  // new inode, a device or FIFO is opened as it is. Errors: a symbolic link, a directory, another user's file, a
  // terminal, and what open(2) reports.
  static Result<std::unique_ptr<RecordingWriter>> create(const std::string& path, RecordingWriterOptions options = {});
  ~RecordingWriter() override;

  // Closes the current chunk and hands it to the kernel. Call it about every 250 ms while recording.
  Status flush();
  // Writes what is left and, when on_footer came, marks the file finished. No event may follow.
  Status finish();
  // The first write error (no space, closed pipe); it is sticky and later events are dropped. What was written before
  // stays readable up to the last whole chunk.
  [[nodiscard]] Status status() const;

  [[nodiscard]] std::uint64_t bytes_written() const;   // handed to the kernel so far
  [[nodiscard]] std::uint64_t events_written() const;  // accepted so far, definitions included

  void on_header(const Header& event) override;
  void on_footer(const Footer& event) override;
  void on_task(const Task& event) override;
  void on_frame(const Frame& event) override;
  void on_stack(const Stack& event) override;
  void on_lock(const Lock& event) override;
  void on_sleep(const Sleep& event) override;
  void on_wait(const Wait& event) override;
  void on_hold(const Hold& event) override;
  void on_call(const Call& event) override;
  void on_wakeups(const Wakeups& event) override;
  void on_scheduler(const SchedulerTotals& event) override;
  void on_in_flight(const InFlight& event) override;
  void on_suspend(const Suspend& event) override;
  void on_probe(const Probe& event) override;
  void on_lost(const Lost& event) override;
  void on_nic(const Nic& event) override;

 private:
  class Impl;
  explicit RecordingWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rtnlprof
