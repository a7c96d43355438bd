// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rtnlprof {

// The running kernel's symbols, of vmlinux, modules and BPF programs, from ROOT/proc/kallsyms. Immutable once loaded:
// the const members may be called from several threads. About 40 bytes per symbol.
class KernelSymbols {
 public:
  struct Match {
    std::string_view name;    // lives as long as this KernelSymbols
    std::string_view module;  // "ixgbe", "bpf"; empty for vmlinux
    std::uint64_t offset = 0;
  };
  struct Symbol {
    std::string_view name;
    std::string_view module;
    std::uint64_t address = 0;
    bool global = false;
  };

  // An Error when the file cannot be opened or holds no symbol line at all. Addresses hidden by kptr_restrict are not
  // an error: see has_addresses(). Lines that are no symbol are skipped.
  static Result<KernelSymbols> load(const std::string& root = "");
  // The same from text in the format of /proc/kallsyms.
  static Result<KernelSymbols> parse(std::string_view text);

  // The symbol that covers `address`. Code: up to the next symbol, and no further than any function is long. Data:
  // the same on kernels that list all data (CONFIG_KALLSYMS_ALL), else only the exact address, for the next listed
  // symbol may be far away. For a return address ask for `address - 1`.
  [[nodiscard]] std::optional<Match> find(std::uint64_t address) const;

  // The address of a function or object. vmlinux is preferred over modules and global over local; a name that is
  // ambiguous nevertheless (two local functions) has none.
  [[nodiscard]] std::optional<std::uint64_t> address_of(std::string_view name) const;

  // Calls `visit` for every function in address order, aliases included, also when addresses are hidden (then 0).
  void for_each_function(const std::function<void(const Symbol&)>& visit) const;

  // False when the kernel hides addresses (kptr_restrict, no CAP_SYSLOG): nothing can be found by address then.
  [[nodiscard]] bool has_addresses() const { return has_addresses_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t address;
    std::uint32_t name;  // offset into names_
    std::uint16_t name_length;
    std::uint16_t module;  // index into modules_, 0 = vmlinux
    std::uint32_t order;   // of the line in the file
    std::uint8_t rank;     // among the names of one address, lower is better
    bool text;
    bool global;
  };
  class Builder;

  [[nodiscard]] std::string_view name_of(const Entry& entry) const {
    return std::string_view(names_).substr(entry.name, entry.name_length);
  }
  [[nodiscard]] std::uint64_t end_of(std::size_t index, std::size_t next) const;
  void finish();

  std::string names_;
  std::vector<std::string> modules_;
  std::vector<Entry> entries_;          // by address, then rank
  std::vector<std::uint32_t> by_name_;  // open addressing: index of the entry + 1, 0 = free
  bool has_addresses_ = false;
  bool lists_all_data_ = false;
};

}  // namespace rtnlprof
