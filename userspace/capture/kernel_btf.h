// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

struct btf;

namespace rtnlprof {

// The running kernel's type information. Immutable once loaded.
class KernelBtf {
 public:
  // An Error with the remedy when the kernel has none (CONFIG_DEBUG_INFO_BTF) or it cannot be read.
  static Result<KernelBtf> load();

  [[nodiscard]] bool has_tracepoint(const std::string& name) const;
  [[nodiscard]] bool has_struct(const std::string& name) const;
  [[nodiscard]] bool has_field(const std::string& structure, const std::string& field) const;
  // Address of a per-CPU variable in its section; only differences between two of them mean something.
  [[nodiscard]] std::optional<std::uint64_t> percpu_offset(const std::string& variable) const;
  // Byte offset of a member; those of unnamed structs and unions inside count as its own.
  [[nodiscard]] std::optional<std::uint64_t> field_offset(const std::string& structure, const std::string& field) const;

 private:
  explicit KernelBtf(std::shared_ptr<btf> handle) : btf_(std::move(handle)) {}
  [[nodiscard]] std::optional<std::uint64_t> offset_in(std::uint32_t id, const std::string& field, int depth) const;

  std::shared_ptr<btf> btf_;
};

}  // namespace rtnlprof
