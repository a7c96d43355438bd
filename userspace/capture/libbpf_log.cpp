// SPDX-License-Identifier: BSD-2-Clause
#include "capture/libbpf_log.h"

#include <bpf/libbpf.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>

namespace rtnlprof {
namespace {

std::string* sink = nullptr;

int keep(enum libbpf_print_level level, const char* format, va_list arguments) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  if (sink == nullptr || level == LIBBPF_DEBUG || sink->size() > kLimit) return 0;
  std::array<char, 4096> buffer{};
  const int length = std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
  if (length > 0) sink->append(buffer.data());
  return length;
}

}  // namespace

LibbpfLog::LibbpfLog() {
  sink = &text_;
  libbpf_set_print(keep);
}

LibbpfLog::~LibbpfLog() {
  libbpf_set_print(nullptr);
  sink = nullptr;
}

std::string LibbpfLog::summary() const {
  std::string_view line(text_);
  line = line.substr(0, line.find('\n'));
  constexpr std::string_view kPrefix = "libbpf: ";
  if (line.starts_with(kPrefix)) line.remove_prefix(kPrefix.size());
  return std::string(line);
}

}  // namespace rtnlprof
