// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/elf_image.h"

namespace rtnlprof {

// The functions of an ELF file: of .symtab where there is one, else of .dynsym and, compressed in .gnu_debugdata, the
// "mini debug info" of distributions. Names stay in the file until they are asked for: a symbol takes 24 bytes. The
// file is untrusted. Immutable once read.
class ElfSymbols {
 public:
  struct Match {
    std::string name;          // as in the file, without a symbol version; not demangled
    std::uint64_t offset = 0;  // from its start
  };

  ElfSymbols() = default;
  // Reads the functions of `image`. A file without any gives an empty table.
  static ElfSymbols read(const ElfImage& image);

  // The function that covers `vaddr`, by its size, or, if it has none, up to the next one. Of several names the one a
  // programmer would use: `ioctl`, not `__ioctl` or `__GI___ioctl`.
  [[nodiscard]] std::optional<Match> find(std::uint64_t vaddr) const;

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] bool has_full_table() const { return has_full_table_; }  // it has a .symtab
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Entry {
    std::uint64_t value = 0;
    std::uint32_t size = 0;
    std::uint32_t name = 0;    // offset into the string table
    std::uint8_t table = 0;    // index into tables_
    std::uint8_t binding = 0;  // STB_*
    bool function = false;     // else STT_NOTYPE: an assembler label
  };
  struct Table {
    ElfBytes bytes;
    std::uint64_t strings = 0;  // file offset of the string table
    std::uint64_t strings_size = 0;
  };

  void add_table(const ElfImage& image, std::uint32_t section_type);
  void add_mini_debug_info(const ElfImage& image);
  void sort();
  [[nodiscard]] std::optional<std::string> name_of(const Entry& entry) const;

  std::vector<Table> tables_;
  std::vector<Entry> entries_;  // by value, then size descending
  bool has_full_table_ = false;
  std::size_t decompressed_bytes_ = 0;
};

// How far a name is from what a programmer would write; lower is better. `binding` is an STB_* value.
[[nodiscard]] unsigned symbol_name_rank(std::string_view name, unsigned binding);

}  // namespace rtnlprof
