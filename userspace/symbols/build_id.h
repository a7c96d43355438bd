// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rtnlprof {

// GNU build-ids, as lower-case hex. Files and memory are untrusted: bounded reads, no memory mappings, no crash.

// Of an ELF file. An Error when it cannot be read, is no ELF file or has none.
Result<std::string> read_build_id(const std::string& path);
// Of an open regular file.
std::optional<std::string> read_build_id(int fd);
// Of an ELF image in memory, laid out as its file (a vDSO is).
[[nodiscard]] std::optional<std::string> build_id_of_image(std::span<const std::uint8_t> image);
// Of the bytes of a note segment or section; `alignment` as in p_align, 8 or else taken as 4.
[[nodiscard]] std::optional<std::string> build_id_of_notes(std::span<const std::uint8_t> notes,
                                                           std::uint64_t alignment = 4);

// Hex of raw bytes, as the kernel gives them in struct bpf_stack_build_id.
[[nodiscard]] std::string build_id_hex(std::span<const std::uint8_t> bytes);
// To compare ids of different origin: the kernel pads ids shorter than 20 bytes with zeros, and so does this.
[[nodiscard]] std::string padded_build_id(std::string_view hex);

}  // namespace rtnlprof
