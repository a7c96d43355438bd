// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "model/events.h"

namespace rtnlprof::events {

// A frame as the event stream writes it: "msleep+0x1f", "ixgbe_read_i2c_byte_generic+0x9a [ixgbe]", an unresolved one
// "0xffffffff81234567" or "libc.so.6+0x1234" (file and offset). Always valid UTF-8. Details beyond this text (build-id,
// file offset, address) travel in a `frame` line.
[[nodiscard]] std::string frame_text(const Frame& frame);

// The inverse, as far as a text goes. An offset or module is taken only in the exact form above; anything else is part
// of the symbol. perf's "symbol+0x1f/0x80" loses the size.
[[nodiscard]] Frame parse_frame_text(std::string_view text, bool user);

}  // namespace rtnlprof::events
