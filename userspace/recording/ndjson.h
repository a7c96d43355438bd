// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

#include "base/result.h"
#include "model/events.h"

namespace rtnlprof {

class ByteSource;

// Writes a recording ("-" = standard input) as NDJSON, schema rtnlprof.events/1 (docs/recording-format.md). The file is
// read twice, since names are learned late. `end_ns` is in the header only when the recording is complete; the result
// says why when it is not. Errors: those of read_recording, and a failed `out`.
[[nodiscard]] Result<StreamQuality> export_ndjson(const std::string& recording_path, std::ostream& out);

struct NdjsonImportOptions {
  bool keep_going = false;  // skip a bad line and count it (Lost, class "bad line") instead of refusing the stream
};

// Sends an NDJSON stream to `sink`: on_header first, on_footer only when the header has `end_ns` (the stream is then
// complete). Errors: "line 17: REASON" for the first bad line, a first line that is no rtnlprof.events/1 header, and a
// failed read. Notes count what was skipped, and the types and keys this version does not know.
[[nodiscard]] Result<StreamQuality> import_ndjson(std::istream& in, EventSink& sink,
                                                  const NdjsonImportOptions& options = {});
[[nodiscard]] Result<StreamQuality> import_ndjson(ByteSource& source, EventSink& sink,
                                                  const NdjsonImportOptions& options = {});

}  // namespace rtnlprof
