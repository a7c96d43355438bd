// SPDX-License-Identifier: BSD-2-Clause
#include "recording/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

namespace rtnlprof {
namespace {

constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;

std::string cannot_write(const std::string& path) { return "cannot write " + path; }

// Why what stands at the target must not be written to; nothing when it may.
std::optional<Error> refusal(const std::string& path, const struct stat& target) {
  if (S_ISLNK(target.st_mode)) {
    return Error{cannot_write(path) + ": it is a symbolic link, which someone else may have placed there",
                 "name the file itself, or use - for standard output"};
  }
  if (S_ISDIR(target.st_mode)) return Error{cannot_write(path) + ": it is a directory", "name a file in it"};
  if (S_ISREG(target.st_mode) && target.st_uid != geteuid()) {
    return Error{cannot_write(path) + ": a file of another user stands there", "remove it or choose another name"};
  }
  return std::nullopt;
}

// A name beside the target, so that rename() stays within one file system.
std::string temporary_beside(const std::string& path, int attempt) {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, base) + "." + path.substr(base, 200) + "." + std::to_string(getpid()) + "." +
         std::to_string(attempt) + ".tmp";
}

Error write_error(const std::string& name, int err) {
  if (err == ENOSPC || err == EDQUOT) {
    return Error::from_errno(cannot_write(name), err, "free some space or choose another file system with -o");
  }
  if (err == EPIPE) return Error::from_errno(cannot_write(name), err, "the program reading it ended early");
  return Error::from_errno(cannot_write(name), err);
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path, Mode mode) {
  if (path == "-") {
    std::unique_ptr<OutputFile> file(new OutputFile(STDOUT_FILENO, "standard output"));
    file->owns_fd_ = false;
    return {std::move(file)};
  }
  struct stat target {};
  const bool exists = lstat(path.c_str(), &target) == 0;
  if (!exists && errno != ENOENT) return Error::from_errno(cannot_write(path), errno);
  if (exists) {
    if (auto refused = refusal(path, target)) return *refused;
  }
  if (exists && !S_ISREG(target.st_mode)) {
    // Opening a FIFO waits for its reader, for ever perhaps: O_NONBLOCK refuses instead. Writing may wait.
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && errno == ENXIO && S_ISFIFO(target.st_mode)) {
      return Error{cannot_write(path) + ": nobody reads from this FIFO", "start the reader first"};
    }
    if (fd < 0) return Error::from_errno(cannot_write(path), errno);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return {std::unique_ptr<OutputFile>(new OutputFile(fd, path))};
  }
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  std::string created = path;
  int fd = -1;
  if (mode == Mode::kReplaceAtFinish) {
    for (int attempt = 0; fd < 0 && attempt < 10; ++attempt) {
      created = temporary_beside(path, attempt);
      fd = open(created.c_str(), kFlags, kPrivate);
      if (fd < 0 && errno != EEXIST) break;
    }
  } else {
    if (exists && unlink(path.c_str()) != 0) return Error::from_errno("cannot replace " + path, errno);
    fd = open(path.c_str(), kFlags, kPrivate);
  }
  if (fd < 0) return Error::from_errno(cannot_write(path), errno);
  std::unique_ptr<OutputFile> file(new OutputFile(fd, path));
  file->seekable_ = true;
  if (mode == Mode::kReplaceAtFinish) {
    file->temporary_path_ = std::move(created);
    file->final_path_ = path;
  }
  return {std::move(file)};
}

bool same_file(const std::string& one, const std::string& other) {
  if (one == "-" || other == "-") return false;
  struct stat first {};
  struct stat second {};
  if (stat(one.c_str(), &first) != 0 || stat(other.c_str(), &second) != 0) return one == other;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino && S_ISREG(first.st_mode);
}

OutputFile::~OutputFile() {
  if (owns_fd_ && fd_ >= 0) close(fd_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

bool OutputFile::is_terminal() const { return isatty(fd_) == 1; }

Status OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
    if (done > 0) {
      bytes_written_ += static_cast<std::uint64_t>(done);
      bytes.remove_prefix(static_cast<std::size_t>(done));
    } else if (done < 0 && errno == EAGAIN) {
      pollfd ready{fd_, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (done == 0 || errno != EINTR) {
      return write_error(name_, done == 0 ? EIO : errno);
    }
  }
  return {};
}

Status OutputFile::rewrite_start(std::string_view bytes) {
  off_t at = 0;
  while (seekable_ && !bytes.empty()) {
    const ssize_t done = pwrite(fd_, bytes.data(), bytes.size(), at);
    if (done > 0) {
      at += done;
      bytes.remove_prefix(static_cast<std::size_t>(done));
    } else if (done == 0 || errno != EINTR) {
      return write_error(name_, done == 0 ? EIO : errno);
    }
  }
  return {};
}

Status OutputFile::commit() {
  if (!owns_fd_ || fd_ < 0) return {};
  const int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0 && errno != EINTR) return write_error(name_, errno);
  if (temporary_path_.empty()) return {};
  if (rename(temporary_path_.c_str(), final_path_.c_str()) != 0) return write_error(name_, errno);
  temporary_path_.clear();
  return {};
}

OutputStreamBuffer::OutputStreamBuffer(OutputFile& file) : file_(file) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

OutputStreamBuffer::int_type OutputStreamBuffer::overflow(int_type next) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(next, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(next);
    pbump(1);
  }
  return traits_type::not_eof(next);
}

int OutputStreamBuffer::sync() {
  if (status_.ok()) status_ = file_.write({pbase(), static_cast<std::size_t>(pptr() - pbase())});
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return status_.ok() ? 0 : -1;
}

}  // namespace rtnlprof
