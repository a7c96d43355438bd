// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "model/events.h"

namespace rtnlprof {

class ByteSource;

// Reads a recording and sends its events to `sink`; "-" is standard input. Holds one chunk at a time in memory, and
// checks every size and id in the file before it uses it.
//
// Errors: the file cannot be read, is not a recording, has an unsupported version, is damaged (the message names chunk
// and byte), or ends before its first data chunk. Events of whole chunks before the damage were delivered by then.
// A file that ends early after its first data chunk is no error: complete is false and a note says what is missing.
// Inside a chunk definitions (Task, Frame, Stack, Lock) come first; events keep their order within their type.
[[nodiscard]] Result<StreamQuality> read_recording(const std::string& path, EventSink& sink);

// The same from memory; `name` stands for the file in messages.
[[nodiscard]] Result<StreamQuality> read_recording(std::span<const std::byte> bytes, const std::string& name,
                                                   EventSink& sink);

// The same from any source, from where it stands.
[[nodiscard]] Result<StreamQuality> read_recording(ByteSource& source, EventSink& sink);

}  // namespace rtnlprof
