// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Opening and reading files whose names or content traced processes control: never a device, a FIFO or a socket, never
// a memory mapping (a file truncated under a mapping is a SIGBUS), never more bytes than asked for.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace rtnlprof {

// Owns a file descriptor; movable, closes it.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  int release();

 private:
  int fd_ = -1;
};

using SharedFd = std::shared_ptr<const UniqueFd>;

// What identifies a file and tells one version of it from the next.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;  // bytes
  std::uint32_t uid = 0;
};

// A handle on a regular file that opens nothing (O_PATH): no driver's open() runs, no FIFO blocks. Anything else than a
// regular file is refused. Symbolic links are followed. Can block on a hung network or FUSE file system.
Result<UniqueFd> find_regular(const std::string& path, FileIdentity& identity);
// Opens the file behind such a handle for reading: that very inode, whatever happened to its name.
Result<UniqueFd> open_handle(const UniqueFd& handle);

// Both in one: opens a regular file for reading.
Result<UniqueFd> open_regular(const std::string& path, FileIdentity* identity = nullptr);

// The same for `path` below the directory `root_path`, resolved as if that were "/" and without following any symbolic
// link in `path`: nothing inside can lead out. An Error on kernels without openat2 (before 5.6).
Result<UniqueFd> open_regular_beneath(const std::string& root_path, const std::string& path,
                                      FileIdentity* identity = nullptr);

// At most `limit` bytes of a /proc or /sys file, read to its end whatever size stat gives. Blocks as long as the kernel
// does, and on a FIFO in such a file's place.
Result<std::string> read_kernel_file(const std::string& path, std::size_t limit);

// Reads what there is at `offset`, at most into.size() bytes; nullopt on an error.
std::optional<std::size_t> read_at(int fd, std::uint64_t offset, std::span<std::uint8_t> into);

}  // namespace rtnlprof
