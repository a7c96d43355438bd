// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "recording/byte_source.h"

namespace rtnlprof {

// Input that is read more than once: a regular file as it is, anything else (a pipe, "-") copied to an unnamed
// temporary file first.
class RewindableInput {
 public:
  static Result<std::unique_ptr<RewindableInput>> open(const std::string& path);
  RewindableInput(const RewindableInput&) = delete;
  RewindableInput& operator=(const RewindableInput&) = delete;
  ~RewindableInput();

  // A source from the start; one at a time, since they share a file position.
  Result<std::unique_ptr<ByteSource>> from_start();

 private:
  RewindableInput(int fd, std::int64_t start, std::string name) : fd_(fd), start_(start), name_(std::move(name)) {}

  int fd_;
  std::int64_t start_;  // where the input began
  std::string name_;
};

}  // namespace rtnlprof
