// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <unordered_map>

#include "symbols/file_access.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18;
constexpr std::size_t kMaxLine = 4096;  // KSYM_NAME_LEN is 512 since 6.1
constexpr std::size_t kMaxSymbols = 4'000'000;
constexpr std::size_t kMaxModules = 65535;

// How far a symbol reaches at most. Inside one section the next symbol bounds it, and the first limit only guards
// against holes; the last symbol of a section has no next one.
constexpr std::uint64_t kMaxSymbolBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxLastSymbolBytes = std::uint64_t{1} << 14;

// x86-64 and arm64 kernels live in the upper half. Per-CPU symbols of x86-64 before 6.15 are small offsets.
constexpr bool in_kernel_half(std::uint64_t address) { return (address >> 63) != 0; }

// Section boundaries are symbols too, but nothing begins there.
bool is_end_marker(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMarkers = {
      "_etext",      "_end",       "_einittext",   "_edata",           "__bss_stop",         "__init_end",
      "__brk_limit", "_sinittext", "__end_rodata", "__sched_text_end", "__noinstr_text_end", "__entry_text_end"};
  return std::find(kMarkers.begin(), kMarkers.end(), name) != kMarkers.end();
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return name.starts_with(p); });
}

// Which of several names of one address to show: markers last, then compiler-made aliases, then local ones, then weak
// ones and those with leading underscores.
std::uint8_t rank_of(std::string_view name, char type) {
  unsigned rank = 0;
  if (is_end_marker(name) || name == "_text" || name == "_stext" || name == "_head") rank += 64;
  if (name.ends_with("_start") && name.starts_with("__")) rank += 32;  // __entry_text_start, __sched_text_start
  if (starts_with_any(name, {"__pfx_", "__cfi_", "__pi_", "."})) rank += 16;
  if (std::islower(static_cast<unsigned char>(type)) != 0) rank += 8;
  if (name.starts_with('_')) rank += 2;
  if (type == 'W' || type == 'V' || type == 'w' || type == 'v') rank += 1;
  return static_cast<std::uint8_t>(rank);
}

bool is_text(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }
bool is_data(char type) {
  constexpr std::string_view kTypes = "dDbBrRgGsSvV";
  return kTypes.find(type) != std::string_view::npos;
}

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash ^ (hash >> 32);
}

}  // namespace

// Takes the lines of the file one by one.
class KernelSymbols::Builder {
 public:
  explicit Builder(KernelSymbols& symbols) : symbols_(symbols) { symbols_.modules_.emplace_back(); }

  void add_line(std::string_view line);
  // Consumes the whole lines at the beginning of `text` and returns how many bytes that were.
  std::size_t add_lines(std::string_view text, bool at_end);
  Status finish();

 private:
  std::optional<std::uint16_t> module_index(std::string_view module);

  KernelSymbols& symbols_;
  std::unordered_map<std::string, std::uint16_t> module_indices_;
  std::string last_module_;
  std::uint16_t last_module_index_ = 0;
  std::uint32_t order_ = 0;
  bool skipping_ = false;  // inside a line that is too long
};

std::optional<std::uint16_t> KernelSymbols::Builder::module_index(std::string_view module) {
  if (module.empty()) return std::uint16_t{0};
  if (module == last_module_) return last_module_index_;
  const auto [it, inserted] =
      module_indices_.emplace(module, static_cast<std::uint16_t>(symbols_.modules_.size() & 0xffff));
  if (inserted) {
    if (symbols_.modules_.size() >= kMaxModules) {
      module_indices_.erase(it);
      return std::nullopt;
    }
    symbols_.modules_.emplace_back(module);
  }
  last_module_ = module;
  last_module_index_ = it->second;
  return last_module_index_;
}

// "ffffffff81e79390 T rtnl_lock" or "ffffffffc0201000 t ixgbe_probe\t[ixgbe]".
void KernelSymbols::Builder::add_line(std::string_view line) {
  std::uint64_t address = 0;
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data(), end, address, 16);
  if (error != std::errc() || end - rest < 4 || rest[0] != ' ' || rest[2] != ' ') return;
  const char type = rest[1];
  if (!is_text(type) && !is_data(type)) return;  // also leaves out A and a: absolute, that is per-CPU, symbols
  std::string_view name(rest + 3, static_cast<std::size_t>(end - rest - 3));
  std::string_view module;
  if (const std::size_t blank = name.find_first_of(" \t"); blank != std::string_view::npos) {
    const std::string_view tail = name.substr(blank + 1);
    name = name.substr(0, blank);
    if (tail.size() > 2 && tail.front() == '[') module = tail.substr(1, tail.find(']') - 1);
  }
  if (name.empty() || (address != 0 && !in_kernel_half(address))) return;
  if (symbols_.entries_.size() >= kMaxSymbols || symbols_.names_.size() > UINT32_MAX - name.size()) return;
  const std::optional<std::uint16_t> index = module_index(module);
  if (!index) return;

  if (address != 0) symbols_.has_addresses_ = true;
  if (*index == 0 && (type == 'd' || type == 'b')) symbols_.lists_all_data_ = true;
  symbols_.entries_.push_back({.address = address,
                               .name = static_cast<std::uint32_t>(symbols_.names_.size()),
                               .name_length = static_cast<std::uint16_t>(name.size()),
                               .module = *index,
                               .order = order_++,
                               .rank = rank_of(name, type),
                               .text = is_text(type),
                               .global = std::islower(static_cast<unsigned char>(type)) == 0});
  symbols_.names_.append(name);
}

std::size_t KernelSymbols::Builder::add_lines(std::string_view text, bool at_end) {
  std::size_t done = 0;
  while (done < text.size()) {
    const std::size_t newline = text.find('\n', done);
    if (newline == std::string_view::npos) {
      if (at_end) {
        if (!skipping_ && text.size() - done <= kMaxLine) add_line(text.substr(done));
        return text.size();
      }
      if (text.size() - done > kMaxLine) {
        skipping_ = true;
        return text.size();
      }
      return done;
    }
    if (!skipping_ && newline - done <= kMaxLine) add_line(text.substr(done, newline - done));
    skipping_ = false;
    done = newline + 1;
  }
  return done;
}

Status KernelSymbols::Builder::finish() {
  if (symbols_.entries_.empty()) {
    return Error{"no kernel symbols in /proc/kallsyms",
                 "is the kernel built without CONFIG_KALLSYMS? Kernel addresses will not be named"};
  }
  symbols_.finish();
  return {};
}

void KernelSymbols::finish() {
  const auto before = [](const Entry& a, const Entry& b) {
    if (a.address != b.address) return a.address < b.address;
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.order < b.order;
  };
  if (!std::is_sorted(entries_.begin(), entries_.end(), before)) std::sort(entries_.begin(), entries_.end(), before);
  names_.shrink_to_fit();
  entries_.shrink_to_fit();

  std::size_t slots = 16;
  while (slots < entries_.size() + entries_.size() / 2) slots *= 2;
  by_name_.assign(slots, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = hash_of(name_of(entries_[i])) & (slots - 1);
    while (by_name_[slot] != 0) slot = (slot + 1) & (slots - 1);
    by_name_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

Result<KernelSymbols> KernelSymbols::load(const std::string& root) {
  const std::string path = root + "/proc/kallsyms";
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return Error::from_errno("cannot open " + path, errno, "kernel addresses cannot be named without it");
  }
  KernelSymbols symbols;
  Builder builder(symbols);
  std::string buffer(kReadBytes, '\0');
  std::size_t filled = 0;
  while (true) {
    const ssize_t got = read(fd.get(), buffer.data() + filled, buffer.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("cannot read " + path, errno);
    filled += static_cast<std::size_t>(got);
    const std::size_t done = builder.add_lines(std::string_view(buffer).substr(0, filled), got == 0);
    if (got == 0) break;
    std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(done), buffer.begin() + static_cast<std::ptrdiff_t>(filled),
              buffer.begin());
    filled -= done;
  }
  if (const Status status = builder.finish(); !status) return status.error();
  return symbols;
}

Result<KernelSymbols> KernelSymbols::parse(std::string_view text) {
  KernelSymbols symbols;
  Builder builder(symbols);
  builder.add_lines(text, true);
  if (const Status status = builder.finish(); !status) return status.error();
  return symbols;
}

// Where the symbol at `index` ends, `next` being the first entry with a higher address.
std::uint64_t KernelSymbols::end_of(std::size_t index, std::size_t next) const {
  const Entry& entry = entries_[index];
  const bool last = next == entries_.size() || entries_[next].module != entry.module ||
                    entries_[next].text != entry.text;  // a module's code is not followed by its data
  const std::uint64_t limit = entry.address + (last ? kMaxLastSymbolBytes : kMaxSymbolBytes);
  const std::uint64_t bounded = limit < entry.address ? UINT64_MAX : limit;
  return next == entries_.size() ? bounded : std::min(bounded, entries_[next].address);
}

std::optional<KernelSymbols::Match> KernelSymbols::find(std::uint64_t address) const {
  if (!has_addresses_ || address == 0) return std::nullopt;
  const auto by_address = [](const Entry& entry, std::uint64_t value) { return entry.address < value; };
  const auto above = std::upper_bound(entries_.begin(), entries_.end(), address,
                                      [](std::uint64_t value, const Entry& entry) { return value < entry.address; });
  if (above == entries_.begin()) return std::nullopt;
  const auto best = std::lower_bound(entries_.begin(), above, std::prev(above)->address, by_address);
  if (best->address == 0 || is_end_marker(name_of(*best))) return std::nullopt;
  const auto index = static_cast<std::size_t>(best - entries_.begin());
  const auto next = static_cast<std::size_t>(above - entries_.begin());
  if (address >= end_of(index, next)) return std::nullopt;
  if (!best->text && !lists_all_data_ && address != best->address) return std::nullopt;
  return Match{name_of(*best), modules_[best->module], address - best->address};
}

std::optional<std::uint64_t> KernelSymbols::address_of(std::string_view name) const {
  if (!has_addresses_) return std::nullopt;
  const auto preference = [](const Entry& entry) { return (entry.module == 0 ? 0 : 2) + (entry.global ? 0 : 1); };
  const std::size_t mask = by_name_.size() - 1;
  const Entry* best = nullptr;
  bool ambiguous = false;
  for (std::size_t slot = hash_of(name) & mask; by_name_[slot] != 0; slot = (slot + 1) & mask) {
    const Entry& entry = entries_[by_name_[slot] - 1];
    if (entry.address == 0 || name_of(entry) != name) continue;
    if (best == nullptr || preference(entry) < preference(*best)) {
      best = &entry;
      ambiguous = false;
    } else if (preference(entry) == preference(*best) && entry.address != best->address) {
      ambiguous = true;
    }
  }
  if (best == nullptr || ambiguous) return std::nullopt;
  return best->address;
}

void KernelSymbols::for_each_function(const std::function<void(const Symbol&)>& visit) const {
  for (const Entry& entry : entries_) {
    if (entry.text) visit({name_of(entry), modules_[entry.module], entry.address, entry.global});
  }
}

}  // namespace rtnlprof
