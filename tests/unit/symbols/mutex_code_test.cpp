// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/mutex_code.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace rtnlprof {
namespace {

constexpr std::uint64_t kFunction = 0xffffffff81e79390;
constexpr std::uint64_t kMutex = 0xffffffff831f5a60;

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size();) {
    if (hex[i] == ' ') {
      ++i;
      continue;
    }
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    i += 2;
  }
  return bytes;
}

std::optional<std::uint64_t> decode(const std::string& hex) { return decode_mutex_argument(bytes_of(hex), kFunction); }

TEST(MutexCode, DecodesTheCodeOfRealKernels) {
  // Linux 6.18: nopl 0(%rax,%rax); mov $rtnl_mutex,%rdi; jmp mutex_lock
  const auto call =
      decode_mutex_call(bytes_of("0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 e9 cf 32 38 00 0f 1f 40 00 66 66 2e"), kFunction);
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->mutex, kMutex);
  EXPECT_EQ(call->callee, kFunction + 17 + 0x3832cf);
  // rtnl_lock_killable of the same kernel
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 e9 2f 6f 37 00"), kMutex);
}

TEST(MutexCode, AgreesWithTheSymbolTablesOfDebianKernels) {
  // Linux 6.1 and its PREEMPT_RT flavour, then 6.12 PREEMPT_RT with endbr64: /proc/kallsyms lists rtnl_mutex there.
  EXPECT_EQ(decode_mutex_argument(bytes_of("0f 1f 44 00 00 48 c7 c7 80 23 7e b6 e9 4f 6d 26 00 66 2e 0f 1f 84 00 00"),
                                  0xffffffffb53ee3d0),
            0xffffffffb67e2380);
  EXPECT_EQ(decode_mutex_argument(bytes_of("0f 1f 44 00 00 48 c7 c7 e0 7b 4c a4 e9 bf 05 27 00 66 2e 0f 1f 84 00 00"),
                                  0xffffffffa1be5f80),
            0xffffffffa44c7be0);
  EXPECT_EQ(decode_mutex_argument(
                bytes_of("f3 0f 1e fa 0f 1f 44 00 00 48 c7 c7 40 86 6e a1 e9 6b 20 27 00 66 66 2e 0f 1f 84 00"),
                0xffffffff9f86d260),
            0xffffffffa16e8640);
}

TEST(MutexCode, DecodesEntryVariants) {
  EXPECT_EQ(decode("f3 0f 1e fa 0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), kMutex) << "endbr64";
  EXPECT_EQ(decode("0f 1f 40 d6 0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), kMutex) << "sealed endbr64";
  EXPECT_EQ(decode("66 90 0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), kMutex) << "two-byte nop";
  EXPECT_EQ(decode("f3 0f 1e fa e8 10 20 30 00 48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), kMutex) << "ftrace on";
  EXPECT_EQ(decode("48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), kMutex) << "no ftrace";
  EXPECT_EQ(decode("0f 1f 44 00 00 55 48 89 e5 48 c7 c7 60 5a 1f 83 e8 00 00 00 00 5d c3"), kMutex) << "frame";
  EXPECT_EQ(decode("0f 1f 44 00 00 55 48 c7 c7 60 5a 1f 83 48 89 e5 5d e9 00 00 00 00"), kMutex)
      << "frame around the load";
  EXPECT_EQ(decode("e8 00 00 00 00 e8 11 11 11 00 48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), kMutex) << "and coverage";
}

TEST(MutexCode, DecodesDebugKernelsSubclassArgument) {
  EXPECT_EQ(decode("0f 1f 44 00 00 31 f6 48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), kMutex);
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 31 f6 e8 00 00 00 00"), kMutex);
  EXPECT_EQ(decode("0f 1f 44 00 00 be 00 00 00 00 48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), kMutex);
}

TEST(MutexCode, DecodesOtherAddressingForms) {
  // lea 0x1000(%rip),%rdi at offset 5, 7 bytes long
  EXPECT_EQ(decode("0f 1f 44 00 00 48 8d 3d 00 10 00 00 e9 00 00 00 00"), kFunction + 12 + 0x1000);
  EXPECT_EQ(decode("0f 1f 44 00 00 48 8d 3d 00 f0 ff ff e9 00 00 00 00"), kFunction + 12 - 0x1000);
  EXPECT_EQ(decode("0f 1f 44 00 00 48 bf 60 5a 1f 83 ff ff ff ff e9 00 00 00 00"), kMutex);
}

TEST(MutexCode, AcceptsNothingElse) {
  EXPECT_EQ(decode(""), std::nullopt);
  EXPECT_EQ(decode("0f 1f 44 00 00"), std::nullopt) << "ends early";
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c7 60 5a 1f"), std::nullopt) << "ends inside the load";
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c7 60 5a 1f 83"), std::nullopt) << "nothing is called";
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 e9 00 00"), std::nullopt) << "ends inside the jump";
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 c3"), std::nullopt) << "returns";
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 48 89 df e9 00 00 00 00"), std::nullopt)
      << "the argument is overwritten: mov %rbx,%rdi";
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c7 60 5a 1f 83 48 c7 c7 00 00 00 81 e9 00 00 00 00"), std::nullopt)
      << "loaded twice";
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c7 60 5a 1f 03 e9 00 00 00 00"), std::nullopt) << "a user address";
  EXPECT_EQ(decode("0f 1f 44 00 00 48 c7 c6 60 5a 1f 83 e9 00 00 00 00"), std::nullopt) << "another register";
  EXPECT_EQ(decode("cc 1f 44 00 00 48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), std::nullopt) << "a breakpoint";
  EXPECT_EQ(decode("e8 00 00 00 00 e8 00 00 00 00 e8 00 00 00 00 48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), std::nullopt)
      << "calls that are no instrumentation";
  EXPECT_EQ(decode("53 48 89 fb 48 c7 c7 60 5a 1f 83 e8 00 00 00 00"), std::nullopt) << "a larger function";
  EXPECT_EQ(decode("00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"), std::nullopt);
  std::string nops;
  for (int i = 0; i < 60; ++i) nops += "90 ";
  EXPECT_EQ(decode(nops + "48 c7 c7 60 5a 1f 83 e9 00 00 00 00"), std::nullopt) << "too far in";
}

TEST(MutexCode, NeverReadsBeyondTruncatedCode) {
  const auto whole = bytes_of("f3 0f 1e fa 0f 1f 44 00 00 55 48 89 e5 48 8d 3d 00 10 00 00 31 f6 e8 00 00 00 00");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<std::uint8_t> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(decode_mutex_argument(part, kFunction), std::nullopt) << length;
  }
  EXPECT_TRUE(decode_mutex_argument(whole, kFunction).has_value());
}

std::vector<std::uint8_t> words(std::initializer_list<std::uint32_t> instructions) {
  std::vector<std::uint8_t> bytes(instructions.size() * 4);
  std::memcpy(bytes.data(), instructions.begin(), bytes.size());
  return bytes;
}

constexpr std::uint64_t kArmFunction = 0xffff800080c01230;
constexpr std::uint32_t kBtiC = 0xd503245f;
constexpr std::uint32_t kNop = 0xd503201f;
constexpr std::uint32_t kAdrpX0 = 0x90000080;  // adrp x0, +16 pages
constexpr std::uint32_t kAddX0 = 0x91048000;   // add x0, x0, #0x120
constexpr std::uint32_t kBranch = 0x14000400;  // b +0x1000
constexpr std::uint64_t kArmMutex = 0xffff800080c11120;

TEST(MutexCodeArm64, DecodesAdrpAdd) {
  const auto call = decode_mutex_call_arm64(words({kBtiC, 0xaa1e03e9, kNop, kAdrpX0, kAddX0, kBranch}), kArmFunction);
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->mutex, kArmMutex);
  EXPECT_EQ(call->callee, kArmFunction + 20 + 0x1000);
}

TEST(MutexCodeArm64, DecodesFramesPointerAuthenticationAndTracing) {
  EXPECT_EQ(decode_mutex_argument_arm64(words({0xd503233f, 0xaa1e03e9, 0x94001000, 0xa9bf7bfd, 0x910003fd, kAdrpX0,
                                               kAddX0, 0x52800001, 0x94000400}),
                                        kArmFunction),
            kArmMutex);
  EXPECT_EQ(decode_mutex_argument_arm64(words({0xd503233f, kNop, kNop, 0xa9bf7bfd, kAdrpX0, 0x910003fd, kAddX0,
                                               0xa8c17bfd, 0xd50323bf, kBranch}),
                                        kArmFunction),
            kArmMutex);
}

TEST(MutexCodeArm64, DecodesNegativePages) {
  // adrp x0, -1 page: immhi all ones, immlo 3
  EXPECT_EQ(decode_mutex_argument_arm64(words({0xf0ffffe0, kAddX0, kBranch}), kArmFunction), 0xffff800080c00120);
}

TEST(MutexCodeArm64, AcceptsNothingElse) {
  EXPECT_EQ(decode_mutex_argument_arm64({}, kArmFunction), std::nullopt);
  EXPECT_EQ(decode_mutex_argument_arm64(words({kAdrpX0, kAddX0}), kArmFunction), std::nullopt);
  EXPECT_EQ(decode_mutex_argument_arm64(words({kAdrpX0, kBranch}), kArmFunction), std::nullopt) << "half an address";
  EXPECT_EQ(decode_mutex_argument_arm64(words({kAdrpX0 + 1, kAddX0, kBranch}), kArmFunction), std::nullopt) << "x1";
  EXPECT_EQ(decode_mutex_argument_arm64(words({kAdrpX0, kAddX0, 0xd65f03c0}), kArmFunction), std::nullopt) << "ret";
  EXPECT_EQ(decode_mutex_argument_arm64(words({kAdrpX0, kAddX0, 0xaa0103e0, kBranch}), kArmFunction), std::nullopt)
      << "overwritten: mov x0, x1";
  EXPECT_EQ(decode_mutex_argument_arm64(words({kAdrpX0, kAddX0, kBranch}), 0x1000), std::nullopt) << "a user address";
  EXPECT_EQ(decode_mutex_argument_arm64(words({kBranch, kAdrpX0, kAddX0, kBranch}), kArmFunction), std::nullopt)
      << "jumps away first";
}

}  // namespace
}  // namespace rtnlprof
