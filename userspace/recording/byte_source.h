// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rtnlprof {

// Bytes from a file, a pipe or memory, read once from front to back. Not thread-safe.
class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Reads up to `size` bytes, fewer only at the end of the input; 0 = nothing left.
  [[nodiscard]] Result<std::size_t> read(char* data, std::size_t size);

  // The next bytes, up to `size`, without consuming them.
  [[nodiscard]] Result<std::string_view> peek(std::size_t size);

  // For messages: the path, or "standard input".
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  // Reads at least one byte, up to `size`; 0 at the end.
  virtual Result<std::size_t> read_some(char* data, std::size_t size) = 0;

 private:
  std::string name_;
  std::string peeked_;
};

// Opens `path` for reading; "-" is standard input.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_source(const std::string& path);

// Owns `fd` and reads it from its present position.
[[nodiscard]] std::unique_ptr<ByteSource> fd_source(int fd, std::string name);

// Reads `bytes`, which must outlive the source.
[[nodiscard]] std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::string name);

// Reads `in`, which must outlive the source.
[[nodiscard]] std::unique_ptr<ByteSource> stream_source(std::istream& in, std::string name);

}  // namespace rtnlprof
