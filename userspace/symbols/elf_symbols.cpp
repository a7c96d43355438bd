// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf_symbols.h"

#include <elf.h>
#include <lzma.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxScanned = 8'000'000;  // symbols looked at in one file
constexpr std::size_t kMaxKept = 2'000'000;     // functions kept of one file: 48 MB
constexpr std::size_t kBatch = 65536;           // symbols read at a time: 3 MB
constexpr std::size_t kMaxName = 4096;
constexpr std::size_t kMaxAliases = 64;    // names of one address that are compared
constexpr std::size_t kMaxEnclosing = 32;  // symbols looked back over for one that encloses an address
constexpr std::uint64_t kMaxUnsizedBytes = 65536;
constexpr std::size_t kMaxCompressed = std::size_t{16} << 20;
constexpr std::size_t kMaxDecompressed = std::size_t{32} << 20;
constexpr std::uint64_t kMaxLzmaMemory = std::uint64_t{96} << 20;

// The xz stream of a .gnu_debugdata section; null when it is damaged or too large.
std::shared_ptr<const std::vector<std::uint8_t>> decompress_xz(const std::vector<std::uint8_t>& compressed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxLzmaMemory, 0) != LZMA_OK) return nullptr;
  auto output = std::make_shared<std::vector<std::uint8_t>>();
  stream.next_in = compressed.data();
  stream.avail_in = compressed.size();
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && output->size() < kMaxDecompressed) {
    const std::size_t filled = output->size();
    const std::size_t room = std::min(std::max(filled, std::size_t{65536}), kMaxDecompressed - filled);
    output->resize(filled + room);
    stream.next_out = output->data() + filled;
    stream.avail_out = room;
    result = lzma_code(&stream, LZMA_FINISH);
    output->resize(filled + room - stream.avail_out);
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END) return nullptr;
  output->shrink_to_fit();
  return output;
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return name.starts_with(p); });
}

}  // namespace

// glibc gives one function many names: `ioctl` is weak, `__ioctl` global, `__GI___ioctl` local.
unsigned symbol_name_rank(std::string_view name, unsigned binding) {
  unsigned rank = 0;
  if (binding == STB_LOCAL) rank += 16;
  if (starts_with_any(name, {"__GI_", "__libc_", "__EI_", "__cfi_", ".", "$"})) rank += 8;
  if (name.starts_with("__") || name.starts_with("_IO_")) {
    rank += 4;
  } else if (name.starts_with('_') && !name.starts_with("_Z") && !name.starts_with("_R")) {
    rank += 2;
  }
  if (binding == STB_WEAK) rank += 1;
  return rank;
}

void ElfSymbols::add_table(const ElfImage& image, std::uint32_t section_type) {
  const GElf_Shdr* const section = image.section_of_type(section_type);
  if (section == nullptr || tables_.size() >= UINT8_MAX) return;
  const GElf_Shdr* const strings = image.section(section->sh_link);
  if (strings == nullptr || strings->sh_type != SHT_STRTAB) return;
  const auto table = static_cast<std::uint8_t>(tables_.size());
  tables_.push_back({image.bytes(), strings->sh_offset, strings->sh_size});
  for (std::size_t first = 0; first < kMaxScanned; first += kBatch) {
    const std::vector<GElf_Sym> batch = image.symbols(*section, first, kBatch);
    for (const GElf_Sym& symbol : batch) {
      const unsigned type = GELF_ST_TYPE(symbol.st_info);
      if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || symbol.st_name == 0) continue;
      if (symbol.st_value == 0 || entries_.size() >= kMaxKept) continue;
      entries_.push_back({.value = symbol.st_value,
                          .size = static_cast<std::uint32_t>(std::min<std::uint64_t>(symbol.st_size, UINT32_MAX)),
                          .name = symbol.st_name,
                          .table = table,
                          .binding = static_cast<std::uint8_t>(GELF_ST_BIND(symbol.st_info)),
                          .function = type != STT_NOTYPE});
    }
    if (batch.size() < kBatch || entries_.size() >= kMaxKept) return;
  }
}

void ElfSymbols::add_mini_debug_info(const ElfImage& image) {
  const GElf_Shdr* const section = image.section_named(".gnu_debugdata");
  if (section == nullptr) return;
  const auto compressed = image.content(*section, kMaxCompressed);
  if (!compressed) return;
  auto plain = decompress_xz(*compressed);
  if (plain == nullptr) return;
  const std::size_t size = plain->size();
  const auto inner = ElfImage::open(ElfBytes(std::move(plain)));
  if (!inner) return;
  const std::size_t before = entries_.size();
  add_table(*inner, SHT_SYMTAB);
  if (entries_.size() != before) decompressed_bytes_ = size;
}

void ElfSymbols::sort() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.value != b.value ? a.value < b.value : a.size > b.size; });
  entries_.shrink_to_fit();
}

ElfSymbols ElfSymbols::read(const ElfImage& image) {
  ElfSymbols symbols;
  symbols.add_table(image, SHT_SYMTAB);
  symbols.has_full_table_ = !symbols.entries_.empty();
  if (!symbols.has_full_table_) {
    symbols.add_table(image, SHT_DYNSYM);
    symbols.add_mini_debug_info(image);
  }
  symbols.sort();
  return symbols;
}

std::optional<std::string> ElfSymbols::name_of(const Entry& entry) const {
  const Table& table = tables_[entry.table];
  // Not by elf_strptr, which reads the whole table: it may have a hundred megabytes, of which a few names are wanted.
  if (entry.name >= table.strings_size) return std::nullopt;
  auto name = table.bytes.string_at(table.strings + entry.name, kMaxName);
  if (!name) return std::nullopt;
  if (const std::size_t version = name->find('@'); version != std::string::npos) name->resize(version);
  return name->empty() ? std::nullopt : std::move(name);
}

std::optional<ElfSymbols::Match> ElfSymbols::find(std::uint64_t vaddr) const {
  const auto above = std::upper_bound(entries_.begin(), entries_.end(), vaddr,
                                      [](std::uint64_t value, const Entry& entry) { return value < entry.value; });
  if (above == entries_.begin()) return std::nullopt;
  const std::uint64_t nearest = std::prev(above)->value;
  const auto covers = [&](const Entry& entry) {
    const std::uint64_t into = vaddr - entry.value;
    if (entry.size != 0) return into < entry.size;
    return entry.value == nearest && into < kMaxUnsizedBytes;  // without a size it ends where the next one begins
  };
  // The innermost function that covers the address; labels inside functions only when there is no function.
  const Entry* function = nullptr;
  const Entry* label = nullptr;
  std::size_t looked_back = 0;
  for (auto it = above; it != entries_.begin() && function == nullptr && looked_back < kMaxEnclosing; ++looked_back) {
    --it;
    if (!covers(*it)) continue;
    if (it->function) {
      function = &*it;
    } else if (label == nullptr) {
      label = &*it;
    }
  }
  const Entry* const chosen = function != nullptr ? function : label;
  if (chosen == nullptr) return std::nullopt;

  const auto by_value = [](const Entry& entry, std::uint64_t value) { return entry.value < value; };
  std::optional<Match> best;
  unsigned best_rank = 0;
  auto alias = std::lower_bound(entries_.begin(), above, chosen->value, by_value);
  for (std::size_t i = 0; i < kMaxAliases && alias != above && alias->value == chosen->value; ++i, ++alias) {
    if (!covers(*alias) || alias->function != chosen->function) continue;
    auto name = name_of(*alias);
    if (!name) continue;
    const unsigned rank = symbol_name_rank(*name, alias->binding);
    const bool better = !best || rank < best_rank ||
                        (rank == best_rank && (name->size() < best->name.size() ||
                                               (name->size() == best->name.size() && *name < best->name)));
    if (!better) continue;
    best = Match{*std::move(name), vaddr - chosen->value};
    best_rank = rank;
  }
  return best;
}

std::size_t ElfSymbols::memory_bytes() const {
  return sizeof *this + entries_.capacity() * sizeof(Entry) + tables_.size() * sizeof(Table) + decompressed_bytes_;
}

}  // namespace rtnlprof
