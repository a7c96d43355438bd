// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "base/result.h"
#include "model/events.h"

namespace rtnlprof {

// Reads `path` ("-" = standard input), a recording or an NDJSON event stream, told apart by content, and sends its
// events to `sink`. Errors are those of read_recording and import_ndjson, with the file's name.
[[nodiscard]] Result<StreamQuality> read_events(const std::string& path, EventSink& sink);

}  // namespace rtnlprof
