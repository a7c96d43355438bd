// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbols/file_access.h"

namespace rtnlprof {

// One version of a file that some process executes code of. Shared by all processes that map it.
struct MappedFile {
  std::string path;       // as the process sees it; untrusted bytes
  std::string open_path;  // where this host can open it while the process lives: /proc/PID/root/PATH
  std::string build_id;   // hex; empty = none, or the file could not be opened
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool deleted = false;  // unlinked or replaced when it was seen
};

// Executable mapping of a process.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;           // of `start`
  std::shared_ptr<const MappedFile> file;  // null: anonymous (JIT code) or special
  std::string label;                       // "[vdso]", "[anon:...]"; empty otherwise
};

// The executable mappings of one process at one moment.
struct ProcessMaps {
  std::int32_t pid = 0;
  std::int32_t ns_pid = 0;        // pid in its own namespace: JITs name their perf map by it
  std::uint32_t uid = 0;          // effective: who may own its perf map
  std::string root_path;          // /proc/PID/root
  std::vector<Mapping> mappings;  // by start
  std::string vdso_build_id;      // read from its memory; empty = unknown
  SharedFd perf_map;              // /tmp/perf-PID.map when there was one; read after the recording

  // The mapping that covers `address`, or null.
  [[nodiscard]] const Mapping* find(std::uint64_t address) const;
};

// Keeps the files of MappedFile open, so that they can be read after their container is gone, and shares them among
// processes; at most `max_open` descriptors, the least recently used are closed first. An open file keeps its file
// system busy: let go of the store when the symbols are read. Thread-safe.
class FileStore {
 public:
  explicit FileStore(std::size_t max_open = 256) : max_open_(max_open) {}

  // The file behind a mapping of process `proc_path` (/proc/PID): by its map_files link, which is the very inode that
  // is mapped, else by its path in the process's root when device and inode agree. Never null; without a build-id when
  // it could not be opened. Reads the file: can block on a hung file system.
  std::shared_ptr<const MappedFile> add(const std::string& proc_path, const std::string& map_files_name,
                                        MappedFile file);
  // A descriptor to read `file` by, opened again when it was closed meanwhile and still is the same version; null
  // otherwise.
  SharedFd open(const MappedFile& file);
  [[nodiscard]] std::size_t open_count() const;

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
  struct Entry {
    std::shared_ptr<const MappedFile> file;
    SharedFd fd;
  };
  void remember(const Key& key, std::shared_ptr<const MappedFile> file, SharedFd fd);

  mutable std::mutex mutex_;
  std::size_t max_open_;
  std::list<Key> recent_;  // most recently used first
  std::map<Key, std::pair<Entry, std::list<Key>::iterator>> open_;
};

// One executable line of /proc/PID/maps.
struct MapsLine {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t device = 0;  // as makedev()
  std::uint64_t inode = 0;
  std::string path;  // octal escapes undone, " (deleted)" taken off
  bool deleted = false;
  bool file_backed = false;
};

// The executable mappings in the text of /proc/PID/maps, by start; other and malformed lines are skipped.
[[nodiscard]] std::vector<MapsLine> parse_maps(std::string_view text);

// Captures the maps of a live process. `proc_path` is ROOT/proc/PID. Can block on the process's mmap_lock and on its
// file systems: for helper threads. `ns_pid` and `uid` as in /proc/PID/status.
Result<ProcessMaps> read_process_maps(const std::string& proc_path, std::int32_t pid, std::int32_t ns_pid,
                                      std::uint32_t uid, FileStore& files);

}  // namespace rtnlprof
