// SPDX-License-Identifier: BSD-2-Clause
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "checking_sink.h"
#include "recording/byte_source.h"
#include "recording/ndjson.h"

namespace {

void import(std::string_view text, bool keep_going) {
  rtnlprof::fuzz::CheckingSink sink;
  const auto source = rtnlprof::memory_source(text, "fuzz");
  const auto quality = rtnlprof::import_ndjson(*source, sink, {.keep_going = keep_going});
  if (quality.ok() && quality.value().complete != sink.has_footer()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  import(input, false);
  // With a good header every other line has its chance.
  import("{\"type\":\"header\",\"schema\":\"rtnlprof.events/1\",\"start_ns\":0,\"end_ns\":9}\n" + input, true);
  return 0;
}
