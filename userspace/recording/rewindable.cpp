// SPDX-License-Identifier: BSD-2-Clause
#include "recording/rewindable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace rtnlprof {
namespace {

// A file without a name in $TMPDIR or /tmp.
int temporary_file(const std::string& directory) {
  const int unnamed = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (unnamed >= 0) return unnamed;
  // Not every file system has O_TMPFILE (9p, overlayfs before 6.1).
  std::string name = directory + "/rtnlprof-XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) unlink(name.c_str());
  return fd;
}

Status copy(ByteSource& source, int fd, const std::string& directory) {
  std::string buffer(1U << 20U, '\0');
  while (true) {
    const auto got = source.read(buffer.data(), buffer.size());
    if (!got.ok()) return got.error();
    if (got.value() == 0) return {};
    std::size_t done = 0;
    while (done < got.value()) {
      const ssize_t wrote = write(fd, buffer.data() + done, got.value() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        return Error::from_errno("cannot buffer " + source.name() + " in " + directory, errno,
                                 "set TMPDIR to a directory with more space");
      }
      done += static_cast<std::size_t>(wrote);
    }
  }
}

}  // namespace

Result<std::unique_ptr<RewindableInput>> RewindableInput::open(const std::string& path) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "standard input" : path;
  const int fd =
      is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return Error::from_errno("cannot open " + name, errno);
  struct stat info {};
  const off_t start = lseek(fd, 0, SEEK_CUR);
  if (start >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    return {std::unique_ptr<RewindableInput>(new RewindableInput(fd, start, name))};
  }
  const auto source = fd_source(fd, name);
  const char* wanted = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
  const std::string directory = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  const int spool = temporary_file(directory);
  if (spool < 0) return Error::from_errno("cannot create a temporary file in " + directory, errno, "set TMPDIR");
  std::unique_ptr<RewindableInput> input(new RewindableInput(spool, 0, name));
  if (Status status = copy(*source, spool, directory); !status.ok()) return status.error();
  return {std::move(input)};
}

RewindableInput::~RewindableInput() { close(fd_); }

Result<std::unique_ptr<ByteSource>> RewindableInput::from_start() {
  const int fd = fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  if (fd < 0 || lseek(fd, start_, SEEK_SET) < 0) {
    const Error error = Error::from_errno("cannot read " + name_ + " again", errno);
    if (fd >= 0) close(fd);
    return error;
  }
  return fd_source(fd, name_);
}

}  // namespace rtnlprof
