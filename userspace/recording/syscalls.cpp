// SPDX-License-Identifier: BSD-2-Clause
#include "recording/syscalls.h"

#include <span>
#include <unordered_map>
#include <vector>

#include "recording/syscall_tables.h"

namespace rtnlprof {
namespace {

struct Table {
  std::vector<std::string_view> names;  // by number; empty = no such call
  std::unordered_map<std::string_view, int> numbers;
};

Table make_table(std::span<const syscall_tables::Run> runs) {
  Table table;
  for (const syscall_tables::Run& run : runs) {
    table.names.resize(static_cast<std::size_t>(run.first));
    std::string_view rest = run.names;
    while (!rest.empty()) {
      const std::string_view name = rest.substr(0, rest.find(' '));
      table.numbers.emplace(name, static_cast<int>(table.names.size()));
      table.names.push_back(name);
      rest.remove_prefix(name.size() < rest.size() ? name.size() + 1 : rest.size());
    }
  }
  return table;
}

const Table* table_of(std::string_view arch) {
  static const Table x86 = make_table(syscall_tables::kX86Runs);
  static const Table arm = make_table(syscall_tables::kArmRuns);
  if (arch == "x86_64" || arch == "amd64") return &x86;
  if (arch == "aarch64" || arch == "arm64") return &arm;
  return nullptr;
}

}  // namespace

std::string syscall_name(std::string_view arch, int nr) {
  const Table* table = table_of(arch);
  if (table == nullptr || nr < 0 || static_cast<std::size_t>(nr) >= table->names.size()) return {};
  return std::string(table->names[static_cast<std::size_t>(nr)]);
}

int syscall_number(std::string_view arch, std::string_view name) {
  const Table* table = table_of(arch);
  if (table == nullptr) return -1;
  const auto found = table->numbers.find(name);
  return found == table->numbers.end() ? -1 : found->second;
}

}  // namespace rtnlprof
