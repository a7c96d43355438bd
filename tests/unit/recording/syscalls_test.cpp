// SPDX-License-Identifier: BSD-2-Clause
#include "recording/syscalls.h"

#include <gtest/gtest.h>

namespace rtnlprof {
namespace {

TEST(SyscallName, KnowsBothArchitecturesAndTheNumbersAfterTheGaps) {
  EXPECT_EQ(syscall_name("x86_64", 0), "read");
  EXPECT_EQ(syscall_name("x86_64", 16), "ioctl");
  EXPECT_EQ(syscall_name("x86_64", 44), "sendto");
  EXPECT_EQ(syscall_name("x86_64", 334), "rseq");
  EXPECT_EQ(syscall_name("x86_64", 424), "pidfd_send_signal");
  EXPECT_EQ(syscall_name("x86_64", 441), "epoll_pwait2");
  EXPECT_EQ(syscall_name("x86_64", 449), "futex_waitv");
  EXPECT_EQ(syscall_name("x86_64", 462), "mseal");
  EXPECT_EQ(syscall_name("aarch64", 29), "ioctl");
  EXPECT_EQ(syscall_name("aarch64", 206), "sendto");
  EXPECT_EQ(syscall_name("arm64", 260), "wait4");
  EXPECT_EQ(syscall_name("aarch64", 291), "statx");
  EXPECT_EQ(syscall_name("aarch64", 435), "clone3");
}

TEST(SyscallName, IsEmptyForWhatItDoesNotKnow) {
  EXPECT_EQ(syscall_name("x86_64", -1), "");
  EXPECT_EQ(syscall_name("x86_64", 400), "");
  EXPECT_EQ(syscall_name("x86_64", 1 << 30), "");
  EXPECT_EQ(syscall_name("aarch64", 250), "");
  EXPECT_EQ(syscall_name("s390x", 1), "");
}

TEST(SyscallNumber, IsTheInverse) {
  for (const char* arch : {"x86_64", "aarch64"}) {
    for (int nr = 0; nr < 500; ++nr) {
      const std::string name = syscall_name(arch, nr);
      if (name.empty()) continue;
      EXPECT_EQ(syscall_number(arch, name), nr) << arch << " " << name;
    }
  }
  EXPECT_EQ(syscall_number("x86_64", "no_such_call"), -1);
  EXPECT_EQ(syscall_number("", "read"), -1);
}

}  // namespace
}  // namespace rtnlprof
