// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/mutex_code.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace rtnlprof {
namespace {

using Code = std::span<const std::uint8_t>;

constexpr std::size_t kMaxEntryBytes = 48;  // from the function's start to the load
constexpr std::size_t kMaxGapBytes = 16;    // from the load to the call
constexpr int kMaxEntryCalls = 2;           // ftrace's and the coverage sanitizer's

constexpr bool in_kernel_half(std::uint64_t address) { return (address >> 63) != 0; }

template <typename T>
std::optional<T> load(Code code, std::size_t at) {
  if (at > code.size() || code.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, code.data() + at, sizeof value);
  return value;
}

bool starts_with(Code code, std::size_t at, std::initializer_list<std::uint8_t> bytes) {
  if (at > code.size() || code.size() - at < bytes.size()) return false;
  return std::equal(bytes.begin(), bytes.end(), code.begin() + static_cast<std::ptrdiff_t>(at));
}

// Length of the nop at `at`: 90, and 0f 1f /0 in every addressing form, with 66 and cs prefixes. 0 = no nop.
std::size_t nop_length(Code code, std::size_t at) {
  std::size_t i = at;
  while (i < code.size() && i - at < 6 && (code[i] == 0x66 || code[i] == 0x2e)) ++i;
  if (i < code.size() && code[i] == 0x90) return i + 1 - at;
  if (!starts_with(code, i, {0x0f, 0x1f}) || i + 2 >= code.size()) return 0;
  const std::uint8_t modrm = code[i + 2];
  if ((modrm & 0x38) != 0) return 0;
  std::size_t length = i + 3 - at;
  const unsigned mode = modrm >> 6;
  const unsigned base = modrm & 7;
  if (mode == 3) return 0;
  if (base == 4) ++length;  // SIB byte
  if (mode == 1) length += 1;
  if (mode == 2 || (mode == 0 && base == 5)) length += 4;
  return at + length <= code.size() ? length : 0;
}

// Instructions that set up or take down a frame or pass a constant second argument: a lock subclass in debug kernels.
std::size_t harmless_length(Code code, std::size_t at) {
  if (starts_with(code, at, {0xf3, 0x0f, 0x1e, 0xfa})) return 4;                 // endbr64
  if (starts_with(code, at, {0x55}) || starts_with(code, at, {0x5d})) return 1;  // push, pop %rbp
  if (starts_with(code, at, {0x48, 0x89, 0xe5}) || starts_with(code, at, {0x48, 0x8b, 0xec}))
    return 3;                                                                                // mov %rsp,%rbp
  if (starts_with(code, at, {0x31, 0xf6}) || starts_with(code, at, {0x33, 0xf6})) return 2;  // xor %esi,%esi
  if (starts_with(code, at, {0x31, 0xd2}) || starts_with(code, at, {0x33, 0xd2})) return 2;  // xor %edx,%edx
  if (starts_with(code, at, {0xbe}) && at + 5 <= code.size()) return 5;                      // mov $imm32,%esi
  return nop_length(code, at);
}

struct Load {
  std::uint64_t value = 0;
  std::size_t length = 0;
};

// The load of a constant address into %rdi.
std::optional<Load> address_load(Code code, std::size_t at, std::uint64_t code_address) {
  if (starts_with(code, at, {0x48, 0xc7, 0xc7})) {  // mov $imm32,%rdi, sign-extended
    if (const auto imm = load<std::int32_t>(code, at + 3))
      return Load{static_cast<std::uint64_t>(std::int64_t{*imm}), 7};
  }
  if (starts_with(code, at, {0x48, 0x8d, 0x3d})) {  // lea rel32(%rip),%rdi
    if (const auto rel = load<std::int32_t>(code, at + 3)) {
      return Load{code_address + at + 7 + static_cast<std::uint64_t>(std::int64_t{*rel}), 7};
    }
  }
  if (starts_with(code, at, {0x48, 0xbf})) {  // movabs $imm64,%rdi
    if (const auto imm = load<std::uint64_t>(code, at + 2)) return Load{*imm, 10};
  }
  return std::nullopt;
}

// Target of the direct call (e8) or jump (e9), with a branch-hint prefix or not, at `at`.
std::optional<std::uint64_t> branch_target(Code code, std::size_t at, std::uint64_t code_address) {
  const std::size_t opcode = starts_with(code, at, {0x2e}) ? at + 1 : at;
  if (!starts_with(code, opcode, {0xe8}) && !starts_with(code, opcode, {0xe9})) return std::nullopt;
  const auto rel = load<std::int32_t>(code, opcode + 1);
  if (!rel) return std::nullopt;
  return code_address + opcode + 5 + static_cast<std::uint64_t>(std::int64_t{*rel});
}

namespace arm64 {

constexpr std::size_t kMaxEntryInstructions = 12;
constexpr std::size_t kMaxGapInstructions = 4;
constexpr std::uint32_t kRegisterMask = 0x1f;

// Function entry, frame and pointer authentication, and `mov w1, #imm`.
bool is_harmless(std::uint32_t instruction) {
  switch (instruction) {
    case 0xd503201f:  // nop
    case 0xd503245f:  // bti c
    case 0xd503233f:  // paciasp
    case 0xd50323bf:  // autiasp
    case 0xaa1e03e9:  // mov x9, x30 (ftrace)
    case 0xf800865e:  // str x30, [x18], #8 (shadow call stack)
    case 0xf85f8e5e:  // ldr x30, [x18, #-8]!
    case 0x910003fd:  // mov x29, sp
    case 0xa9bf7bfd:  // stp x29, x30, [sp, #-16]!
    case 0xa8c17bfd:  // ldp x29, x30, [sp], #16
      return true;
    default:
      return (instruction & 0xffe0001f) == 0x52800001;  // mov w1, #imm16
  }
}

bool is_branch(std::uint32_t instruction) {  // b, bl
  return (instruction & 0x7c000000) == 0x14000000;
}

std::int64_t sign_extend(std::uint64_t value, unsigned bits) {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return static_cast<std::int64_t>((value ^ sign) - sign);
}

// The 21-bit immediate of adr and adrp.
std::int64_t adr_immediate(std::uint32_t instruction) {
  return sign_extend(((instruction >> 5 & 0x7ffff) << 2) | (instruction >> 29 & 3), 21);
}

struct State {
  std::optional<std::uint64_t> page;   // of a pending adrp into x0
  std::optional<std::uint64_t> value;  // x0
};

// Whether `instruction` is part of loading x0; updates `state`.
bool load_step(std::uint32_t instruction, std::uint64_t pc, State& state) {
  if ((instruction & (0x9f000000 | kRegisterMask)) == 0x90000000 && !state.page) {  // adrp x0, page
    state.page = (pc & ~std::uint64_t{0xfff}) + static_cast<std::uint64_t>(adr_immediate(instruction)) * 4096;
    return true;
  }
  if ((instruction & (0x9f000000 | kRegisterMask)) == 0x10000000 && !state.page) {  // adr x0, address
    state.value = pc + static_cast<std::uint64_t>(adr_immediate(instruction));
    return true;
  }
  if ((instruction & 0xffc003ff) == 0x91000000 && state.page) {  // add x0, x0, #imm12
    state.value = *state.page + (instruction >> 10 & 0xfff);
    return true;
  }
  return false;
}

}  // namespace arm64
}  // namespace

std::optional<MutexCall> decode_mutex_call(Code code, std::uint64_t code_address) {
  std::size_t at = 0;
  std::optional<Load> argument;
  for (int calls = 0; at < code.size() && at < kMaxEntryBytes;) {
    argument = address_load(code, at, code_address);
    if (argument) break;
    if (const std::size_t length = harmless_length(code, at); length != 0) {
      at += length;
    } else if (code[at] == 0xe8 && at + 5 <= code.size() && calls++ < kMaxEntryCalls) {
      at += 5;
    } else {
      return std::nullopt;
    }
  }
  if (!argument || !in_kernel_half(argument->value)) return std::nullopt;
  at += argument->length;
  const std::size_t gap_end = at + kMaxGapBytes;
  while (at < gap_end) {
    if (const auto target = branch_target(code, at, code_address)) {
      if (!in_kernel_half(*target)) return std::nullopt;
      return MutexCall{argument->value, *target};
    }
    const std::size_t length = harmless_length(code, at);
    if (length == 0) return std::nullopt;
    at += length;
  }
  return std::nullopt;
}

std::optional<MutexCall> decode_mutex_call_arm64(Code code, std::uint64_t code_address) {
  arm64::State state;
  int calls = 0;
  std::size_t gap = 0;
  for (std::size_t i = 0; i < arm64::kMaxEntryInstructions + arm64::kMaxGapInstructions; ++i) {
    const auto instruction = load<std::uint32_t>(code, i * 4);
    if (!instruction) return std::nullopt;
    const std::uint64_t pc = code_address + i * 4;
    if (state.value && gap++ > arm64::kMaxGapInstructions) return std::nullopt;
    if (arm64::is_branch(*instruction)) {
      if (state.value) {
        const std::uint64_t target =
            pc + static_cast<std::uint64_t>(arm64::sign_extend(*instruction & 0x3ffffff, 26)) * 4;
        if (!in_kernel_half(*state.value) || !in_kernel_half(target)) return std::nullopt;
        return MutexCall{*state.value, target};
      }
      const bool call = (*instruction >> 31) != 0;
      if (!call || state.page || calls++ >= kMaxEntryCalls) return std::nullopt;
      continue;
    }
    if (!state.value && arm64::load_step(*instruction, pc, state)) continue;
    if (!arm64::is_harmless(*instruction)) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> decode_mutex_argument(Code code, std::uint64_t code_address) {
  const std::optional<MutexCall> call = decode_mutex_call(code, code_address);
  return call ? std::optional(call->mutex) : std::nullopt;
}

std::optional<std::uint64_t> decode_mutex_argument_arm64(Code code, std::uint64_t code_address) {
  const std::optional<MutexCall> call = decode_mutex_call_arm64(code, code_address);
  return call ? std::optional(call->mutex) : std::nullopt;
}

}  // namespace rtnlprof
