// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/user_symbols.h"

#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols/build_id.h"
#include "symbols/build_id_index.h"
#include "symbols/deadline_worker.h"
#include "symbols/perf_map.h"
#include "symbols/user_module.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxProcesses = 8192;
constexpr std::size_t kMaxFilesPerBuildId = 4;  // the same library in several containers
constexpr std::chrono::milliseconds kSearchBudget{300};

// What the memory of symbol tables is counted for. A table that could not be read is remembered as such.
struct Table {
  std::shared_ptr<const UserModule> module;
  std::shared_ptr<const PerfMap> perf_map;
  std::string path;  // where it was found on this host, when no process's maps tell
  [[nodiscard]] std::size_t memory_bytes() const {
    constexpr std::size_t kOverhead = 256;
    return kOverhead + (module ? module->memory_bytes() : 0) + (perf_map ? perf_map->memory_bytes() : 0);
  }
};

// Least recently used tables go first when their memory exceeds the limit; the newest always stays.
class TableCache {
 public:
  explicit TableCache(std::size_t limit) : limit_(limit) {}

  const Table* find(const std::string& key) {
    const auto it = entries_.find(key);
    if (it == entries_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, it->second);
    return &it->second->second;
  }
  const Table& insert(const std::string& key, Table table) {
    bytes_ += table.memory_bytes();
    recent_.emplace_front(key, std::move(table));
    entries_[key] = recent_.begin();
    while (bytes_ > limit_ && recent_.size() > 1) {
      bytes_ -= recent_.back().second.memory_bytes();
      entries_.erase(recent_.back().first);
      recent_.pop_back();
    }
    return recent_.front().second;
  }

 private:
  using Item = std::pair<std::string, Table>;
  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::list<Item> recent_;
  std::unordered_map<std::string, std::list<Item>::iterator> entries_;
};

}  // namespace

struct UserSymbolizer::Impl {
  Impl(Options chosen, std::shared_ptr<FileStore> store)
      : options(std::move(chosen)),
        debug_root(options.root + "/usr/lib/debug"),
        files(std::move(store)),
        tables(options.cache_bytes) {}

  void add_file(const std::shared_ptr<const MappedFile>& file);
  bool resolve_in_file(const std::string& build_id, const MappedFile* file, std::uint64_t file_offset,
                       bool return_address, Frame& frame);
  bool resolve_address(const UserLocation& location, Frame& frame);
  bool resolve_special(const ProcessMaps& maps, const Mapping& mapping, const UserLocation& location, Frame& frame);
  bool resolve_jit(const ProcessMaps& maps, const UserLocation& location, Frame& frame);
  bool name(const Table& table, std::uint64_t file_offset, bool return_address, Frame& frame);

  const Table& table_of_build_id(const std::string& build_id);
  const Table& table_of_file(const MappedFile& file);
  const Table& table_of_path(const std::string& path);
  const Table& table_of_vdso();
  const Table& table_of_perf_map(const ProcessMaps& maps);
  std::string search_host(const std::string& build_id);
  // Runs `read` on the helper thread; an empty table when it takes too long.
  Table read_in_time(std::function<Table()> read);
  // The same, once per key.
  const Table& load(const std::string& key, std::function<Table()> read);

  Options options;
  std::string debug_root;
  std::shared_ptr<FileStore> files;
  TableCache tables;
  DeadlineWorker worker;
  std::unordered_map<std::int32_t, std::shared_ptr<const ProcessMaps>> maps_of_pid;
  std::list<std::int32_t> pids;  // in order of arrival
  std::unordered_map<std::string, std::vector<std::shared_ptr<const MappedFile>>> files_of_build_id;  // padded
  std::optional<BuildIdIndex> host_index;
};

UserSymbolizer::UserSymbolizer(Options options, std::shared_ptr<FileStore> files)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(files))) {}

UserSymbolizer::~UserSymbolizer() = default;

void UserSymbolizer::Impl::add_file(const std::shared_ptr<const MappedFile>& file) {
  if (file == nullptr || file->build_id.empty()) return;
  auto& same = files_of_build_id[padded_build_id(file->build_id)];
  for (const auto& known : same) {
    if (known == file || (known->device == file->device && known->inode == file->inode)) return;
  }
  if (same.size() < kMaxFilesPerBuildId) same.push_back(file);
}

void UserSymbolizer::add_maps(std::shared_ptr<const ProcessMaps> maps) {
  if (maps == nullptr) return;
  for (const Mapping& mapping : maps->mappings) impl_->add_file(mapping.file);
  const std::int32_t pid = maps->pid;
  const auto [it, inserted] = impl_->maps_of_pid.insert_or_assign(pid, std::move(maps));
  if (!inserted) return;
  impl_->pids.push_back(pid);
  if (impl_->pids.size() > kMaxProcesses) {
    impl_->maps_of_pid.erase(impl_->pids.front());
    impl_->pids.pop_front();
  }
}

Table UserSymbolizer::Impl::read_in_time(std::function<Table()> read) {
  const auto result = std::make_shared<Table>();
  const bool in_time = worker.run([result, read = std::move(read)] { *result = read(); }, options.file_deadline);
  return in_time ? std::move(*result) : Table();
}

const Table& UserSymbolizer::Impl::load(const std::string& key, std::function<Table()> read) {
  if (const Table* const known = tables.find(key)) return *known;
  return tables.insert(key, read_in_time(std::move(read)));
}

std::string UserSymbolizer::Impl::search_host(const std::string& build_id) {
  if (!options.search_host) return {};
  if (!host_index) {
    const auto result = std::make_shared<BuildIdIndex>();
    const bool in_time = worker.run(
        [result, root = options.root] { *result = BuildIdIndex::scan(root, kSearchBudget); }, options.file_deadline);
    host_index = in_time ? std::move(*result) : BuildIdIndex();
  }
  return host_index->find(build_id);
}

const Table& UserSymbolizer::Impl::table_of_build_id(const std::string& build_id) {
  const std::string padded = padded_build_id(build_id);
  const std::string key = "id:" + padded;
  if (const Table* const known = tables.find(key)) return *known;
  Table table;
  if (const auto it = files_of_build_id.find(padded); it != files_of_build_id.end()) {
    table = read_in_time([candidates = it->second, store = files, debug = debug_root] {
      for (const auto& file : candidates) {
        SharedFd fd = store->open(*file);
        if (fd == nullptr) continue;
        if (auto module = UserModule::load(ElfBytes(std::move(fd)), debug))
          return Table{std::move(module), nullptr, {}};
      }
      return Table();
    });
  }
  if (const std::string path = table.module == nullptr ? search_host(build_id) : std::string(); !path.empty()) {
    table = read_in_time([path, padded, root = options.root, debug = debug_root] {
      Result<UniqueFd> fd = open_regular(root + path);
      if (!fd) return Table();
      auto module = UserModule::load(ElfBytes(std::make_shared<const UniqueFd>(std::move(fd.value()))), debug);
      if (module == nullptr || padded_build_id(module->build_id()) != padded) return Table();
      return Table{std::move(module), nullptr, path};
    });
  }
  return tables.insert(key, std::move(table));
}

// A file without a build-id: only the descriptor that was opened when it was mapped can be trusted.
const Table& UserSymbolizer::Impl::table_of_file(const MappedFile& file) {
  const std::string key = "file:" + std::to_string(file.device) + ":" + std::to_string(file.inode) + ":" + file.path;
  return load(key, [file, store = files, debug = debug_root] {
    SharedFd fd = store->open(file);
    return fd == nullptr ? Table() : Table{UserModule::load(ElfBytes(std::move(fd)), debug), nullptr, {}};
  });
}

const Table& UserSymbolizer::Impl::table_of_path(const std::string& path) {
  return load("path:" + path, [path, debug = debug_root] {
    Result<UniqueFd> fd = open_regular(path);
    if (!fd) return Table();
    return Table{
        UserModule::load(ElfBytes(std::make_shared<const UniqueFd>(std::move(fd.value()))), debug), nullptr, {}};
  });
}

const Table& UserSymbolizer::Impl::table_of_vdso() {
  return load("vdso", [] { return Table{load_own_vdso(), nullptr, {}}; });
}

const Table& UserSymbolizer::Impl::table_of_perf_map(const ProcessMaps& maps) {
  // The descriptor taken while the process lived also shows what was appended since. A map that came later is still
  // there if the process is.
  return load("perf:" + std::to_string(maps.pid),
              [fd = maps.perf_map, root = maps.root_path, ns_pid = maps.ns_pid, uid = maps.uid] {
                if (fd != nullptr) return Table{nullptr, std::make_shared<const PerfMap>(PerfMap::read(fd->get())), {}};
                const UniqueFd late = open_perf_map(root, ns_pid, uid);
                if (!late.valid()) return Table();
                return Table{nullptr, std::make_shared<const PerfMap>(PerfMap::read(late.get())), {}};
              });
}

// Reading a name reads the file, so it has a deadline as well.
bool UserSymbolizer::Impl::name(const Table& table, std::uint64_t file_offset, bool return_address, Frame& frame) {
  if (table.module == nullptr) return false;
  const auto match = std::make_shared<std::optional<UserModule::Match>>();
  const bool in_time = worker.run([match, module = table.module, file_offset,
                                   return_address] { *match = module->find(file_offset, return_address); },
                                  options.file_deadline);
  if (!in_time || !*match) return false;
  frame.symbol = std::move((*match)->name);
  frame.offset = (*match)->offset;
  return true;
}

bool UserSymbolizer::Impl::resolve_in_file(const std::string& build_id, const MappedFile* file,
                                           std::uint64_t file_offset, bool return_address, Frame& frame) {
  frame.file_offset = file_offset;
  frame.build_id = build_id;
  if (file == nullptr) {
    const auto it = files_of_build_id.find(padded_build_id(build_id));
    if (it != files_of_build_id.end()) file = it->second.front().get();
  }
  if (file != nullptr) {
    frame.module = file->path;
    if (!file->build_id.empty()) frame.build_id = file->build_id;  // without the kernel's padding
  }
  const bool by_build_id = !build_id.empty() || file == nullptr;
  const Table& table = by_build_id ? table_of_build_id(build_id) : table_of_file(*file);
  if (frame.module.empty()) frame.module = table.path;
  if (table.module != nullptr && !table.module->build_id().empty()) frame.build_id = table.module->build_id();
  return name(table, file_offset, return_address, frame);
}

bool UserSymbolizer::Impl::resolve_jit(const ProcessMaps& maps, const UserLocation& location, Frame& frame) {
  const Table& table = table_of_perf_map(maps);
  if (table.perf_map == nullptr) return false;
  const std::uint64_t back = location.return_address ? 1 : 0;
  const auto match = table.perf_map->find(location.address - back);
  if (!match) return false;
  frame.symbol = match->name;
  frame.offset = match->offset + back;
  return true;
}

bool UserSymbolizer::Impl::resolve_special(const ProcessMaps& maps, const Mapping& mapping,
                                           const UserLocation& location, Frame& frame) {
  frame.module = mapping.label.empty() ? "[anon]" : mapping.label;
  frame.file_offset = location.address - mapping.start + mapping.file_offset;
  if (mapping.label != "[vdso]") return resolve_jit(maps, location, frame);
  frame.build_id = maps.vdso_build_id;
  const Table& table = table_of_vdso();
  if (table.module == nullptr || maps.vdso_build_id.empty() || table.module->build_id() != maps.vdso_build_id) {
    return false;
  }
  return name(table, frame.file_offset, location.return_address, frame);
}

bool UserSymbolizer::Impl::resolve_address(const UserLocation& location, Frame& frame) {
  const auto it = maps_of_pid.find(location.pid);
  if (it == maps_of_pid.end()) return false;
  const std::shared_ptr<const ProcessMaps> maps = it->second;
  // A return address may be the first byte of the next mapping.
  const Mapping* const mapping = maps->find(location.address - (location.return_address ? 1 : 0));
  if (mapping == nullptr) return false;
  if (mapping->file == nullptr) return resolve_special(*maps, *mapping, location, frame);
  const std::uint64_t file_offset = location.address - mapping->start + mapping->file_offset;
  return resolve_in_file(mapping->file->build_id, mapping->file.get(), file_offset, location.return_address, frame) ||
         resolve_jit(*maps, location, frame);
}

bool UserSymbolizer::resolve(const UserLocation& location, Frame& frame) {
  frame.user = true;
  if (location.address != 0) frame.address = location.address;
  if (!location.build_id.empty()) {
    return impl_->resolve_in_file(location.build_id, nullptr, location.file_offset, location.return_address, frame);
  }
  return location.address != 0 && impl_->resolve_address(location, frame);
}

bool UserSymbolizer::resolve_file(const std::string& path, std::uint64_t file_offset, Frame& frame) {
  frame.user = true;
  frame.module = path;
  frame.file_offset = file_offset;
  const Table& table = impl_->table_of_path(path);
  if (table.module != nullptr) frame.build_id = table.module->build_id();
  return impl_->name(table, file_offset, false, frame);
}

}  // namespace rtnlprof
