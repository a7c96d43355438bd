// SPDX-License-Identifier: BSD-2-Clause
#include "recording/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rtnlprof {
namespace {

class FdSource final : public ByteSource {
 public:
  FdSource(int fd, std::string name, bool owned) : ByteSource(std::move(name)), fd_(fd), owned_(owned) {}
  ~FdSource() override {
    if (owned_) close(fd_);
  }

 protected:
  Result<std::size_t> read_some(char* data, std::size_t size) override {
    while (true) {
      const ssize_t got = ::read(fd_, data, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return Error::from_errno("cannot read " + name(), errno);
    }
  }

 private:
  int fd_;
  bool owned_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string_view bytes, std::string name) : ByteSource(std::move(name)), bytes_(bytes) {}

 protected:
  Result<std::size_t> read_some(char* data, std::size_t size) override {
    const std::size_t take = std::min(size, bytes_.size());
    std::copy_n(bytes_.data(), take, data);
    bytes_.remove_prefix(take);
    return take;
  }

 private:
  std::string_view bytes_;
};

class StreamSource final : public ByteSource {
 public:
  StreamSource(std::istream& in, std::string name) : ByteSource(std::move(name)), in_(in) {}

 protected:
  Result<std::size_t> read_some(char* data, std::size_t size) override {
    in_.read(data, static_cast<std::streamsize>(size));
    if (in_.bad()) return Error{"cannot read " + name(), {}};
    return static_cast<std::size_t>(in_.gcount());
  }

 private:
  std::istream& in_;
};

}  // namespace

Result<std::size_t> ByteSource::read(char* data, std::size_t size) {
  std::size_t done = std::min(size, peeked_.size());
  std::copy_n(peeked_.data(), done, data);
  peeked_.erase(0, done);
  while (done < size) {
    const auto got = read_some(data + done, size - done);
    if (!got.ok()) return got.error();
    if (got.value() == 0) break;
    done += got.value();
  }
  return done;
}

Result<std::string_view> ByteSource::peek(std::size_t size) {
  while (peeked_.size() < size) {
    const std::size_t before = peeked_.size();
    peeked_.resize(size);
    const auto got = read_some(peeked_.data() + before, size - before);
    peeked_.resize(before + (got.ok() ? got.value() : 0));
    if (!got.ok()) return got.error();
    if (got.value() == 0) break;
  }
  return std::string_view(peeked_).substr(0, size);
}

Result<std::unique_ptr<ByteSource>> open_source(const std::string& path) {
  if (path == "-") return {std::make_unique<FdSource>(STDIN_FILENO, "standard input", false)};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return Error::from_errno("cannot open " + path, errno);
  return {std::make_unique<FdSource>(fd, path, true)};
}

std::unique_ptr<ByteSource> fd_source(int fd, std::string name) {
  return std::make_unique<FdSource>(fd, std::move(name), true);
}

std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::string name) {
  return std::make_unique<MemorySource>(bytes, std::move(name));
}

std::unique_ptr<ByteSource> stream_source(std::istream& in, std::string name) {
  return std::make_unique<StreamSource>(in, std::move(name));
}

}  // namespace rtnlprof
