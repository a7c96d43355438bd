// SPDX-License-Identifier: BSD-2-Clause
#include "recording/open.h"

#include <string_view>

#include "recording/byte_source.h"
#include "recording/ndjson.h"
#include "recording/reader.h"

namespace rtnlprof {
namespace {

// The first character that is no space; a stream may begin with empty lines or a byte order mark.
bool looks_like_json(std::string_view start) {
  if (start.starts_with("\xEF\xBB\xBF")) start.remove_prefix(3);
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{';
}

}  // namespace

Result<StreamQuality> read_events(const std::string& path, EventSink& sink) {
  const auto source = open_source(path);
  if (!source.ok()) return source.error();
  constexpr std::size_t kEnough = 256;
  const auto start = source.value()->peek(kEnough);
  if (!start.ok()) return start.error();
  if (!looks_like_json(start.value())) return read_recording(*source.value(), sink);
  auto quality = import_ndjson(*source.value(), sink);
  if (quality.ok()) return quality;
  const Error& error = quality.error();
  return Error{source.value()->name() + ": " + error.message, error.hint};
}

}  // namespace rtnlprof
