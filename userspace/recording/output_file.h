// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rtnlprof {

// A file we create for what may hold secrets of other users (command lines): mode 0600, never through a symbolic link
// that somebody else may have planted in /tmp, never over another user's file. Not thread-safe.
class OutputFile {
 public:
  enum class Mode {
    kGrowInPlace,      // the file stands under its name at once, and stays whatever happens
    kReplaceAtFinish,  // a temporary file beside it, renamed by commit(), removed without it
  };

  // "-" is standard output. A regular file of ours is replaced by a new inode; devices and FIFOs are opened as they
  // are. Errors: a symbolic link, a directory, another user's file, and what open(2) says.
  static Result<std::unique_ptr<OutputFile>> create(const std::string& path, Mode mode);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Writes all of `bytes`, through short writes, EINTR and non-blocking pipes. An error leaves an unknown part written.
  Status write(std::string_view bytes);
  // Overwrites the first bytes of a regular file; does nothing on anything that cannot seek, and on standard output.
  Status rewrite_start(std::string_view bytes);
  // Closes the file, reports what close(2) says (a full quota on NFS), and gives it its name.
  Status commit();

  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_; }
  [[nodiscard]] bool is_terminal() const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  OutputFile(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  int fd_;
  std::string name_;            // for messages
  std::string temporary_path_;  // of kReplaceAtFinish
  std::string final_path_;
  bool owns_fd_ = true;
  bool seekable_ = false;
  std::uint64_t bytes_written_ = 0;
};

// Whether two paths name one file, or would if it existed. "-" never does. For refusing to write over one's input.
[[nodiscard]] bool same_file(const std::string& one, const std::string& other);

// Lets an std::ostream write to an OutputFile and keeps the first error. The file must outlive it.
class OutputStreamBuffer final : public std::streambuf {
 public:
  explicit OutputStreamBuffer(OutputFile& file);
  // Call after flushing the stream.
  [[nodiscard]] const Status& status() const { return status_; }

 protected:
  int_type overflow(int_type next) override;
  int sync() override;

 private:
  OutputFile& file_;
  std::array<char, 65536> buffer_{};
  Status status_;
};

}  // namespace rtnlprof
