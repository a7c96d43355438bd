// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/user_module.h"

#include <sys/auxv.h>

#include <utility>

#include "symbols/demangle.h"
#include "symbols/process_maps.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxOwnMapsBytes = std::size_t{4} << 20;

std::string debug_file_path(const std::string& debug_root, const std::string& build_id) {
  return debug_root + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

std::optional<ElfSymbols> debug_file_symbols(const std::string& debug_root, const std::string& build_id) {
  if (build_id.size() <= 2) return std::nullopt;
  Result<UniqueFd> fd = open_regular(debug_file_path(debug_root, build_id));
  if (!fd) return std::nullopt;
  const auto image = ElfImage::open(ElfBytes(std::make_shared<const UniqueFd>(std::move(fd.value()))));
  if (!image || image->build_id() != build_id) return std::nullopt;
  ElfSymbols symbols = ElfSymbols::read(*image);
  return symbols.empty() ? std::nullopt : std::optional(std::move(symbols));
}

}  // namespace

std::shared_ptr<const UserModule> UserModule::load(ElfBytes bytes, const std::string& debug_root) {
  auto image = ElfImage::open(std::move(bytes));
  if (!image) return nullptr;
  std::shared_ptr<UserModule> module(new UserModule(*std::move(image)));
  module->build_id_ = module->image_.build_id().value_or(std::string());
  module->symbols_ = ElfSymbols::read(module->image_);
  if (!module->symbols_.has_full_table()) {
    if (auto symbols = debug_file_symbols(debug_root, module->build_id_)) module->symbols_ = *std::move(symbols);
  }
  return module;
}

std::optional<UserModule::Match> UserModule::find(std::uint64_t file_offset, bool return_address) const {
  const std::uint64_t back = return_address && file_offset != 0 ? 1 : 0;
  const auto vaddr = image_.vaddr_of(file_offset - back);
  if (!vaddr) return std::nullopt;
  const auto match = symbols_.find(*vaddr);
  if (!match) return std::nullopt;
  return Match{demangle(match->name), match->offset + back};
}

std::size_t UserModule::memory_bytes() const { return sizeof *this + symbols_.memory_bytes() + image_.memory_bytes(); }

std::shared_ptr<const UserModule> load_own_vdso() {
  const unsigned long start = getauxval(AT_SYSINFO_EHDR);
  const Result<std::string> maps = read_kernel_file("/proc/self/maps", kMaxOwnMapsBytes);
  if (start == 0 || !maps) return nullptr;
  for (const MapsLine& line : parse_maps(maps.value())) {
    if (line.start != start || line.path != "[vdso]") continue;
    // The vDSO stays mapped as long as the process lives.
    const auto* const image = reinterpret_cast<const std::uint8_t*>(start);  // NOLINT(performance-no-int-to-ptr)
    return UserModule::load(ElfBytes(std::span(image, static_cast<std::size_t>(line.end - line.start))), {});
  }
  return nullptr;
}

}  // namespace rtnlprof
