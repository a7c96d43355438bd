// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/demangle.h"

#include <cxxabi.h>

#include <cmath>
#include <cstdlib>
#include <memory>

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxMangled = 2048;
constexpr std::size_t kMaxShown = 1024;
constexpr double kMaxExpansion = 16e6;  // bytes the demangler may at worst produce

// References to earlier parts of the name: S_, S12_, T_, T0_. (St, Sa, Ss and the like are fixed.)
std::size_t back_references(std::string_view symbol) {
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < symbol.size(); ++i) {
    if (symbol[i] != 'S' && symbol[i] != 'T') continue;
    std::size_t end = i + 1;
    while (end < symbol.size() &&
           ((symbol[end] >= '0' && symbol[end] <= '9') || (symbol[end] >= 'A' && symbol[end] <= 'Z'))) {
      ++end;
    }
    if (end < symbol.size() && symbol[end] == '_') ++count;
  }
  return count;
}

// With r references a name of n bytes grows at most to about n * 3^(r/3): every step takes k references to the step
// before, and k = 3 makes the most of them.
bool may_explode(std::string_view symbol) {
  const double growth = std::pow(3.0, static_cast<double>(back_references(symbol)) / 3.0);
  return growth * static_cast<double>(symbol.size()) > kMaxExpansion;
}

// "core::fmt::write::h0123456789abcdef" -> "core::fmt::write".
void drop_rust_hash(std::string& name) {
  constexpr std::size_t kHashLength = 19;  // ::h and 16 hex digits
  if (name.size() <= kHashLength) return;
  const std::string_view tail = std::string_view(name).substr(name.size() - kHashLength);
  if (tail.starts_with("::h") && tail.substr(3).find_first_not_of("0123456789abcdef") == std::string_view::npos) {
    name.resize(name.size() - kHashLength);
  }
}

}  // namespace

std::string demangle(std::string_view symbol) {
  std::string mangled(symbol);
  if (!symbol.starts_with("_Z") || symbol.size() > kMaxMangled || may_explode(symbol)) return mangled;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || plain == nullptr) return mangled;
  std::string name(plain.get());
  if (name.size() > kMaxShown) return mangled;
  drop_rust_hash(name);
  return name;
}

}  // namespace rtnlprof
