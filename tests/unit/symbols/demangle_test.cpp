// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/demangle.h"

#include <gtest/gtest.h>

#include <chrono>

namespace rtnlprof {
namespace {

TEST(Demangle, TurnsMangledNamesIntoSource) {
  EXPECT_EQ(demangle("_ZN6sample3Box4openEi"), "sample::Box::open(int)");
  EXPECT_EQ(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"), "std::vector<int, std::allocator<int> >::push_back(int&&)");
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
}

TEST(Demangle, LeavesOtherNamesAlone) {
  for (const char* const name : {"ioctl", "", "_Z", "_ZN", "_Zzzz", "_R0", "main.cold", "_ZN\x1b[31m"}) {
    EXPECT_EQ(demangle(name), name);
  }
}

TEST(Demangle, RefusesNamesThatExplode) {
  // Every further argument is a function of the one before, three times over.
  std::string name = "_Z1fPFvvE";
  std::string before = "S0_";
  for (int level = 0; level < 60; ++level) {
    name += "PF" + before + before + before + "E";
    const int next = 1 + level * 2;
    constexpr const char* kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    before = "S";
    if (next >= 36) before += kDigits[next / 36];
    before += kDigits[next % 36];
    before += '_';
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(demangle(name), name);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Demangle, RefusesVeryLongNames) {
  const std::string name = "_Z4000" + std::string(4000, 'a') + "v";
  EXPECT_EQ(demangle(name), name);
  const std::string nested = "_Z1f" + std::string(2000, 'P') + "i";
  EXPECT_FALSE(demangle(nested).empty());
}

}  // namespace
}  // namespace rtnlprof
