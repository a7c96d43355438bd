// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "symbols/elf_image.h"
#include "symbols/elf_symbols.h"
#include "symbols/file_access.h"

namespace rtnlprof {

// One ELF file with its functions, ready to name file offsets. Immutable once loaded; keeps its file open.
class UserModule {
 public:
  struct Match {
    std::string name;          // demangled
    std::uint64_t offset = 0;  // from the function's start
  };

  // Null when `bytes` are no ELF file. A stripped file's functions are looked for in DEBUG_ROOT/.build-id/xx/yyyy.debug
  // (`debug_root` is /usr/lib/debug), used only when the build-id there is the same. Never asks debuginfod.
  static std::shared_ptr<const UserModule> load(ElfBytes bytes, const std::string& debug_root);

  // The function at `file_offset`; a return address belongs to the call before it.
  [[nodiscard]] std::optional<Match> find(std::uint64_t file_offset, bool return_address) const;

  [[nodiscard]] const std::string& build_id() const { return build_id_; }  // hex; may be empty
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  explicit UserModule(ElfImage image) : image_(std::move(image)) {}

  ElfImage image_;
  ElfSymbols symbols_;
  std::string build_id_;
};

// The kernel's vDSO as mapped into this process: the same for every process of its word size. Null without one.
std::shared_ptr<const UserModule> load_own_vdso();

}  // namespace rtnlprof
