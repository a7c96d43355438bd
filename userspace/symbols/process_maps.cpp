// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/process_maps.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>

#include "symbols/build_id.h"
#include "symbols/elf_image.h"
#include "symbols/perf_map.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxMapsBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxMappings = 4096;
constexpr std::size_t kMaxVdsoBytes = 32768;

// Takes a number in `base` off the front of `text`, and `separator` behind it.
bool take_number(std::string_view& text, int base, char separator, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (separator == '\0') return true;
  if (text.empty() || text.front() != separator) return false;
  text.remove_prefix(1);
  return true;
}

// The kernel writes a line break in a path as \012, and nothing else that way (seq_path with "\n").
std::string unescape(std::string_view path) {
  std::string plain;
  plain.reserve(path.size());
  while (!path.empty()) {
    if (path.starts_with("\\012")) {
      plain += '\n';
      path.remove_prefix(4);
    } else {
      plain += path.front();
      path.remove_prefix(1);
    }
  }
  return plain;
}

// "7f5e8c000000-7f5e8c021000 r-xp 00026000 fe:00 262211   /usr/lib/libc.so.6"
bool parse_maps_line(std::string_view line, MapsLine& parsed) {
  constexpr std::string_view kDeleted = " (deleted)";
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!take_number(line, 16, '-', parsed.start) || !take_number(line, 16, ' ', parsed.end)) return false;
  if (line.size() < 5 || line[2] != 'x' || line[4] != ' ') return false;
  line.remove_prefix(5);
  if (!take_number(line, 16, ' ', parsed.file_offset) || !take_number(line, 16, ':', major) ||
      !take_number(line, 16, ' ', minor) || !take_number(line, 10, '\0', parsed.inode)) {
    return false;
  }
  if (parsed.end <= parsed.start) return false;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  parsed.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  parsed.file_backed = parsed.inode != 0 && line.starts_with('/');
  if (parsed.file_backed && line.ends_with(kDeleted)) {
    parsed.deleted = true;
    line.remove_suffix(kDeleted.size());
  }
  parsed.path = unescape(line);
  return true;
}

std::string hex(std::uint64_t value) {
  char buffer[16];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, 16);
  return error == std::errc() ? std::string(buffer, end) : std::string();
}

std::string read_vdso_build_id(const std::string& proc_path, const MapsLine& line) {
  const std::string path = proc_path + "/mem";
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return {};
  std::vector<std::uint8_t> image(
      static_cast<std::size_t>(std::min<std::uint64_t>(line.end - line.start, kMaxVdsoBytes)));
  const auto got = read_at(fd.get(), line.start, image);
  if (!got) return {};
  return build_id_of_image(std::span(image).first(*got)).value_or(std::string());
}

// Shared memory that has a file name but no file: JIT compilers that map their code twice use it.
bool is_nameless_memory(std::string_view path) {
  return path.starts_with("/memfd:") || path.starts_with("/dev/zero") || path.starts_with("/SYSV");
}

}  // namespace

const Mapping* ProcessMaps::find(std::uint64_t address) const {
  auto it = std::upper_bound(mappings.begin(), mappings.end(), address,
                             [](std::uint64_t value, const Mapping& mapping) { return value < mapping.start; });
  if (it == mappings.begin()) return nullptr;
  --it;
  return address < it->end ? &*it : nullptr;
}

std::vector<MapsLine> parse_maps(std::string_view text) {
  std::vector<MapsLine> lines;
  while (!text.empty() && lines.size() < kMaxMappings) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    MapsLine line;
    if (parse_maps_line(text.substr(0, end), line)) lines.push_back(std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::stable_sort(lines.begin(), lines.end(), [](const MapsLine& a, const MapsLine& b) { return a.start < b.start; });
  return lines;
}

std::shared_ptr<const MappedFile> FileStore::add(const std::string& proc_path, const std::string& map_files_name,
                                                 MappedFile file) {
  // map_files needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN but is the mapped inode for certain. By path the numbers
  // have to agree, which they do not on btrfs and some overlayfs: no symbol is better than a wrong one.
  FileIdentity identity;
  Result<UniqueFd> handle = find_regular(proc_path + "/map_files/" + map_files_name, identity);
  if (!handle && !file.deleted) {
    handle = find_regular(file.open_path, identity);
    if (handle && (identity.device != file.device || identity.inode != file.inode)) handle = Error{"replaced", {}};
  }
  if (!handle) return std::make_shared<const MappedFile>(std::move(file));
  file.device = identity.device;
  file.inode = identity.inode;
  const Key key(file.device, file.inode);
  {
    const std::lock_guard lock(mutex_);
    // An inode number is not reused while the inode is open here.
    const auto known = open_.find(key);
    if (known != open_.end() && known->second.first.file->path == file.path &&
        known->second.first.file->deleted == file.deleted) {
      recent_.splice(recent_.begin(), recent_, known->second.second);
      return known->second.first.file;
    }
  }
  Result<UniqueFd> opened = open_handle(handle.value());
  if (!opened) return std::make_shared<const MappedFile>(std::move(file));
  const auto image = ElfImage::open(ElfBytes(opened->get()));
  if (!image) return std::make_shared<const MappedFile>(std::move(file));  // shared memory, Java archives
  file.build_id = image->build_id().value_or(std::string());
  auto shared = std::make_shared<const MappedFile>(std::move(file));
  remember(key, shared, std::make_shared<const UniqueFd>(std::move(opened.value())));
  return shared;
}

void FileStore::remember(const Key& key, std::shared_ptr<const MappedFile> file, SharedFd fd) {
  const std::lock_guard lock(mutex_);
  if (const auto known = open_.find(key); known != open_.end()) {
    recent_.erase(known->second.second);
    open_.erase(known);
  }
  while (!recent_.empty() && open_.size() >= max_open_) {
    open_.erase(recent_.back());
    recent_.pop_back();
  }
  if (max_open_ == 0) return;
  recent_.push_front(key);
  open_.emplace(key, std::pair(Entry{std::move(file), std::move(fd)}, recent_.begin()));
}

SharedFd FileStore::open(const MappedFile& file) {
  const Key key(file.device, file.inode);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = open_.find(key);
        known != open_.end() && known->second.first.file->build_id == file.build_id) {
      recent_.splice(recent_.begin(), recent_, known->second.second);
      return known->second.first.fd;
    }
  }
  if (file.build_id.empty()) return nullptr;  // nothing to tell the right version by
  for (const std::string& path : {file.open_path, file.path}) {
    if (path.empty()) continue;
    Result<UniqueFd> fd = open_regular(path);
    if (!fd || read_build_id(fd->get()) != file.build_id) continue;
    auto shared = std::make_shared<const UniqueFd>(std::move(fd.value()));
    remember(key, std::make_shared<const MappedFile>(file), shared);
    return shared;
  }
  return nullptr;
}

std::size_t FileStore::open_count() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

Result<ProcessMaps> read_process_maps(const std::string& proc_path, std::int32_t pid, std::int32_t ns_pid,
                                      std::uint32_t uid, FileStore& files) {
  const Result<std::string> text = read_kernel_file(proc_path + "/maps", kMaxMapsBytes);
  if (!text) return text.error();
  ProcessMaps maps;
  maps.pid = pid;
  maps.ns_pid = ns_pid;
  maps.uid = uid;
  maps.root_path = proc_path + "/root";
  bool has_anonymous_code = false;
  for (MapsLine& line : parse_maps(text.value())) {
    Mapping mapping{
        .start = line.start, .end = line.end, .file_offset = line.file_offset, .file = nullptr, .label = {}};
    if (line.file_backed) {
      has_anonymous_code = has_anonymous_code || is_nameless_memory(line.path);
      MappedFile file;
      file.open_path = maps.root_path + line.path;
      file.path = std::move(line.path);
      file.device = line.device;
      file.inode = line.inode;
      file.deleted = line.deleted;
      mapping.file = files.add(proc_path, hex(line.start) + "-" + hex(line.end), std::move(file));
    } else {
      if (line.path == "[vdso]") {
        maps.vdso_build_id = read_vdso_build_id(proc_path, line);
      } else if (line.path != "[vsyscall]") {
        has_anonymous_code = true;
      }
      mapping.label = std::move(line.path);
    }
    maps.mappings.push_back(std::move(mapping));
  }
  if (has_anonymous_code) {
    UniqueFd fd = open_perf_map(maps.root_path, ns_pid, uid);
    if (fd.valid()) maps.perf_map = std::make_shared<const UniqueFd>(std::move(fd));
  }
  return maps;
}

}  // namespace rtnlprof
