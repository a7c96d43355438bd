// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "capture/bpf_session.h"
#include "model/events.h"

namespace rtnlprof {

struct RecorderOptions {
  BpfOptions bpf;
  std::string output;   // path, "-" = standard output
  std::string command;  // for the header
};

struct RecorderProgress {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::uint64_t bytes = 0;
  bool output_failed = false;  // see Recorder::finish()
};

// One recording, from loaded programs to a finished file. One thread reads the rings and only copies; another turns
// records into events and writes. All members are for one thread, the caller's.
class Recorder {
 public:
  // Loads the programs and creates the output. Nothing is recorded yet, nothing is attached.
  static Result<std::unique_ptr<Recorder>> prepare(const RecorderOptions& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();  // detaches; a recording that was not finished stays marked incomplete

  // From now on events are recorded, and tasks that sleep already are known.
  Status start();
  [[nodiscard]] RecorderProgress progress() const;
  // Detaches, writes what is left, names user frames and marks the file finished. An Error when the file could not be
  // written in full (no space, closed pipe): what was written is readable up to its last chunk.
  Status finish(const Footer& exit);

 private:
  class Impl;
  explicit Recorder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rtnlprof
