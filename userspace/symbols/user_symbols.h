// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "model/events.h"
#include "symbols/process_maps.h"

namespace rtnlprof {

// A user code address as a stack gives it.
struct UserLocation {
  std::string build_id;           // hex, zero-padded or not; empty: only pid and address are known
  std::uint64_t file_offset = 0;  // with build_id
  std::int32_t pid = 0;           // host's; 0 = unknown
  std::uint64_t address = 0;      // virtual; 0 = unknown
  bool return_address = false;    // every frame but the innermost: the call is just before it
};

// Names user code addresses after (or during) a recording. Reads untrusted ELF files and perf maps: bounded memory, no
// network (never debuginfod), and a file system that hangs costs one deadline, then its files stay unresolved.
// One thread at a time.
class UserSymbolizer {
 public:
  struct Options {
    std::string root;                                 // before /usr/lib/debug and the host's program directories
    std::size_t cache_bytes = std::size_t{64} << 20;  // of symbol tables
    std::chrono::milliseconds file_deadline{2000};    // for reading one file
    bool search_host = true;                          // find unknown build-ids among the host's programs and libraries
  };

  UserSymbolizer(Options options, std::shared_ptr<FileStore> files);
  explicit UserSymbolizer(std::shared_ptr<FileStore> files) : UserSymbolizer(Options(), std::move(files)) {}
  UserSymbolizer(const UserSymbolizer&) = delete;
  UserSymbolizer& operator=(const UserSymbolizer&) = delete;
  ~UserSymbolizer();

  // Makes a process and its files known; later maps of the same pid replace earlier ones, the files stay known.
  void add_maps(std::shared_ptr<const ProcessMaps> maps);

  // Fills symbol, offset, module, build_id, file_offset, user (and address when known) of `frame`. Returns whether a
  // symbol was found; without one the frame still says which file and where, if that is known. A file that was
  // replaced by another version is never used: no symbol is better than a wrong one.
  bool resolve(const UserLocation& location, Frame& frame);
  // An offset into a file of this host, without a build-id to check it by.
  bool resolve_file(const std::string& path, std::uint64_t file_offset, Frame& frame);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rtnlprof
