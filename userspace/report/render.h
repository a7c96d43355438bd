// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string_view>

#include "analysis/report_model.h"

namespace rtnlprof {

struct TextOptions {
  bool color = false;
  std::size_t top = 0;  // rows per table; 0 = LinuxKI's limits (20 functions and stacks, 10 tasks in a list)
};

// The text report: findings, locks, then LinuxKI's tables. Only printable, valid UTF-8 whatever the traced tasks are
// called. The caller checks the stream for write errors.
void render_text(const Report& report, const TextOptions& options, std::ostream& out);

// The JSON report (`rtnlprof.report/1`, see report_schema()), indented, with a final newline. Always valid UTF-8.
void render_json(const Report& report, std::ostream& out);

// The JSON Schema of render_json's output, the text of docs/report.schema.json.
[[nodiscard]] std::string_view report_schema();

}  // namespace rtnlprof
