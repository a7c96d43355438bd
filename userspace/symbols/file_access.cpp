// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/file_access.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace rtnlprof {
namespace {

// Refuses what is no regular file.
Status identify(const UniqueFd& handle, const std::string& path, FileIdentity& identity) {
  struct stat status {};
  if (fstat(handle.get(), &status) != 0) return Error::from_errno("cannot examine " + path, errno);
  if (!S_ISREG(status.st_mode)) return Error{path + " is not a regular file", {}};
  identity = {.device = status.st_dev,
              .inode = status.st_ino,
              .size = static_cast<std::uint64_t>(status.st_size),
              .uid = status.st_uid};
  return {};
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.release();
  }
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

int UniqueFd::release() { return std::exchange(fd_, -1); }

Result<UniqueFd> find_regular(const std::string& path, FileIdentity& identity) {
  UniqueFd handle(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!handle.valid()) return Error::from_errno("cannot open " + path, errno);
  if (const Status status = identify(handle, path, identity); !status) return status.error();
  return handle;
}

Result<UniqueFd> open_handle(const UniqueFd& handle) {
  const std::string link = "/proc/self/fd/" + std::to_string(handle.get());
  UniqueFd fd(open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return Error::from_errno("cannot open " + link, errno);
  return fd;
}

Result<UniqueFd> open_regular(const std::string& path, FileIdentity* identity) {
  FileIdentity found;
  Result<UniqueFd> handle = find_regular(path, found);
  if (!handle) return handle;
  if (identity != nullptr) *identity = found;
  return open_handle(handle.value());
}

Result<UniqueFd> open_regular_beneath(const std::string& root_path, const std::string& path, FileIdentity* identity) {
  const UniqueFd root(open(root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return Error::from_errno("cannot open " + root_path, errno);
  struct open_how how {};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const UniqueFd handle(static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  if (!handle.valid()) return Error::from_errno("cannot open " + root_path + path, errno);
  FileIdentity found;
  if (const Status status = identify(handle, root_path + path, found); !status) return status.error();
  if (identity != nullptr) *identity = found;
  return open_handle(handle);
}

Result<std::string> read_kernel_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return Error::from_errno("cannot open " + path, errno);
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < limit) {
    const ssize_t got = read(fd.get(), buffer.data(), std::min(buffer.size(), limit - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("cannot read " + path, errno);
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::size_t> read_at(int fd, std::uint64_t offset, std::span<std::uint8_t> into) {
  if (offset > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace rtnlprof
