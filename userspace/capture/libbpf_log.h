// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace rtnlprof {

// Catches what libbpf would print on stderr while it lives, so that a failure can be told in one line. One at a time,
// in the thread that loads.
class LibbpfLog {
 public:
  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  // The first warning, without prefixes and line breaks; empty when there was none.
  [[nodiscard]] std::string summary() const;
  // Everything, for --verbose and doctor.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace rtnlprof
