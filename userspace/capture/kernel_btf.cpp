// SPDX-License-Identifier: BSD-2-Clause
#include "capture/kernel_btf.h"

#include <bpf/btf.h>

#include <cerrno>
#include <span>
#include <string_view>

namespace rtnlprof {

Result<KernelBtf> KernelBtf::load() {
  btf* handle = btf__load_vmlinux_btf();
  if (handle == nullptr) {
    return Error::from_errno("cannot read the kernel's type information (/sys/kernel/btf/vmlinux)", errno,
                             "rtnlprof needs a kernel built with CONFIG_DEBUG_INFO_BTF=y, and /sys mounted");
  }
  return KernelBtf(std::shared_ptr<btf>(handle, [](btf* b) { btf__free(b); }));
}

bool KernelBtf::has_tracepoint(const std::string& name) const {
  return btf__find_by_name_kind(btf_.get(), ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF) > 0;
}

bool KernelBtf::has_struct(const std::string& name) const {
  return btf__find_by_name_kind(btf_.get(), name.c_str(), BTF_KIND_STRUCT) > 0;
}

bool KernelBtf::has_field(const std::string& structure, const std::string& field) const {
  return field_offset(structure, field).has_value();
}

std::optional<std::uint64_t> KernelBtf::field_offset(const std::string& structure, const std::string& field) const {
  const int id = btf__find_by_name_kind(btf_.get(), structure.c_str(), BTF_KIND_STRUCT);
  if (id <= 0) return std::nullopt;
  return offset_in(static_cast<std::uint32_t>(id), field, 0);
}

// Members of unnamed structs and unions count as the structure's own, as in C.
std::optional<std::uint64_t> KernelBtf::offset_in(std::uint32_t id, const std::string& field, int depth) const {
  constexpr int kDeepest = 8;
  const btf_type* type = btf__type_by_id(btf_.get(), id);
  if (type == nullptr || !btf_is_composite(type) || depth > kDeepest) return std::nullopt;
  for (__u32 i = 0; i < btf_vlen(type); ++i) {
    const btf_member& member = btf_members(type)[i];
    const std::string_view name = btf__name_by_offset(btf_.get(), member.name_off);
    const std::uint64_t offset = btf_member_bit_offset(type, i) / 8;
    if (name == field) return offset;
    if (!name.empty()) continue;
    if (const auto inner = offset_in(member.type, field, depth + 1)) return offset + *inner;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> KernelBtf::percpu_offset(const std::string& variable) const {
  const int section_id = btf__find_by_name_kind(btf_.get(), ".data..percpu", BTF_KIND_DATASEC);
  const int variable_id = btf__find_by_name_kind(btf_.get(), variable.c_str(), BTF_KIND_VAR);
  if (section_id <= 0 || variable_id <= 0) return std::nullopt;
  const btf_type* section = btf__type_by_id(btf_.get(), static_cast<__u32>(section_id));
  for (const btf_var_secinfo& entry : std::span(btf_var_secinfos(section), btf_vlen(section))) {
    if (entry.type == static_cast<__u32>(variable_id)) return entry.offset;
  }
  return std::nullopt;
}

}  // namespace rtnlprof
