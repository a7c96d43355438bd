// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/kernel_symbols.h"

#include <gtest/gtest.h>

#include <chrono>

#include "symbols/temp_dir.h"

namespace rtnlprof {
namespace {

constexpr const char* kKallsyms =
    "0000000000000000 A fixed_percpu_data\n"
    "0000000000001000 D old_percpu_style\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000000 T startup_64\n"
    "ffffffff81000100 t __pfx_rtnl_lock\n"
    "ffffffff81000110 T rtnl_lock\n"
    "ffffffff81000140 t local_twin\n"
    "ffffffff81000150 t local_twin\n"
    "ffffffff81000160 t __do_thing\n"
    "ffffffff81000160 T do_thing\n"
    "ffffffff81000160 W weak_thing\n"
    "ffffffff81000200 T last_function\n"
    "ffffffff81000300 T _etext\n"
    "ffffffff82000000 D init_net\n"
    "ffffffff82001000 d rtnl_mutex\n"
    "ffffffff82001020 b other_object\n"
    "ffffffffc0001000 t ixgbe_probe\t[ixgbe]\n"
    "ffffffffc0001100 t ixgbe_remove\t[ixgbe]\n"
    "ffffffffc0100000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n";

std::string name_at(const KernelSymbols& symbols, std::uint64_t address) {
  const auto match = symbols.find(address);
  if (!match) return "-";
  return std::string(match->name) + "+" + std::to_string(match->offset) +
         (match->module.empty() ? "" : " [" + std::string(match->module) + "]");
}

KernelSymbols parse(const std::string& text) {
  auto symbols = KernelSymbols::parse(text);
  EXPECT_TRUE(symbols.ok());
  return std::move(symbols.value());
}

TEST(KernelSymbols, FindsFunctionsModulesAndBpfPrograms) {
  const KernelSymbols symbols = parse(kKallsyms);
  EXPECT_TRUE(symbols.has_addresses());
  EXPECT_EQ(name_at(symbols, 0xffffffff81000110), "rtnl_lock+0");
  EXPECT_EQ(name_at(symbols, 0xffffffff8100013f), "rtnl_lock+47");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000105), "__pfx_rtnl_lock+5");
  EXPECT_EQ(name_at(symbols, 0xffffffffc00010ff), "ixgbe_probe+255 [ixgbe]");
  EXPECT_EQ(name_at(symbols, 0xffffffffc0100010), "bpf_prog_6deef7357e7b4530_sd_fw+16 [bpf]");
}

TEST(KernelSymbols, PrefersTheNameAProgrammerWouldUse) {
  const KernelSymbols symbols = parse(kKallsyms);
  EXPECT_EQ(name_at(symbols, 0xffffffff81000000), "startup_64+0");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000161), "do_thing+1");
}

TEST(KernelSymbols, DoesNotReachBeyondTheEndOfAnImage) {
  const KernelSymbols symbols = parse(kKallsyms);
  EXPECT_EQ(name_at(symbols, 0xffffffff810002ff), "last_function+255");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000300), "-");
  EXPECT_EQ(name_at(symbols, 0xffffffff81900000), "-");
  EXPECT_EQ(name_at(symbols, 0xffffffffc0005100), "-") << "16 KiB behind a module's last function";
  EXPECT_EQ(name_at(symbols, 0xffffffffc0200000), "-");
  EXPECT_EQ(name_at(symbols, 0xffffffff80ffffff), "-");
  EXPECT_EQ(name_at(symbols, 0), "-");
  EXPECT_EQ(name_at(symbols, 0x1010), "-") << "per-CPU offsets are no addresses";
  EXPECT_EQ(name_at(symbols, UINT64_MAX), "-");
}

TEST(KernelSymbols, NamesDataWhereAllDataIsListed) {
  const KernelSymbols symbols = parse(kKallsyms);
  EXPECT_EQ(name_at(symbols, 0xffffffff82001000), "rtnl_mutex+0");
  EXPECT_EQ(name_at(symbols, 0xffffffff82001008), "rtnl_mutex+8");
  EXPECT_EQ(symbols.address_of("rtnl_mutex"), 0xffffffff82001000);
}

TEST(KernelSymbols, NamesOnlyExactDataWhereMostDataIsNotListed) {
  const KernelSymbols symbols = parse(
      "ffffffff81000110 T rtnl_lock\n"
      "ffffffff82000000 D init_net\n"
      "ffffffff82009000 R other\n");
  EXPECT_EQ(name_at(symbols, 0xffffffff82000000), "init_net+0");
  EXPECT_EQ(name_at(symbols, 0xffffffff82004000), "-") << "could be any object in between";
}

TEST(KernelSymbols, LooksUpAddressesByName) {
  const KernelSymbols symbols = parse(kKallsyms);
  EXPECT_EQ(symbols.address_of("rtnl_lock"), 0xffffffff81000110);
  EXPECT_EQ(symbols.address_of("ixgbe_probe"), 0xffffffffc0001000);
  EXPECT_EQ(symbols.address_of("local_twin"), std::nullopt) << "two of that name";
  EXPECT_EQ(symbols.address_of("no_such_symbol"), std::nullopt);
  EXPECT_EQ(symbols.address_of(""), std::nullopt);
  EXPECT_EQ(symbols.address_of("fixed_percpu_data"), std::nullopt);
}

TEST(KernelSymbols, PrefersTheKernelOverModulesAndGlobalOverLocal) {
  const KernelSymbols symbols = parse(
      "ffffffffc0001000 T init_module\t[b]\n"
      "ffffffff81000500 t init_module\n"
      "ffffffff81000600 T twice\n"
      "ffffffff81000100 t twice\n");
  EXPECT_EQ(symbols.address_of("init_module"), 0xffffffff81000500);
  EXPECT_EQ(symbols.address_of("twice"), 0xffffffff81000600);
}

TEST(KernelSymbols, SaysWhenAddressesAreHidden) {
  const KernelSymbols symbols = parse(
      "0000000000000000 T rtnl_lock\n"
      "0000000000000000 t ixgbe_probe\t[ixgbe]\n");
  EXPECT_FALSE(symbols.has_addresses());
  EXPECT_EQ(symbols.size(), 2U);
  EXPECT_EQ(symbols.find(0), std::nullopt);
  EXPECT_EQ(symbols.address_of("rtnl_lock"), std::nullopt);
  std::vector<std::string> names;
  symbols.for_each_function([&](const KernelSymbols::Symbol& symbol) {
    names.push_back(std::string(symbol.name) + "/" + std::string(symbol.module));
  });
  EXPECT_EQ(names, (std::vector<std::string>{"rtnl_lock/", "ixgbe_probe/ixgbe"}));
}

TEST(KernelSymbols, SkipsWhatIsNoSymbolLine) {
  const KernelSymbols symbols =
      parse(std::string("garbage\n\n") + "ffffffff81000000\n" + "ffffffff81000000 T\n" + "ffffffff81000000 T \n" +
            "ffffffff8100000000000 T too_wide\n" + "ffffffff81000010 T " + std::string(100000, 'x') + "\n" +
            "ffffffff81000020 T kept\r\n" + "ffffffff81000030 T last_without_break");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000030), "last_without_break+0");
  EXPECT_EQ(symbols.size(), 2U);
}

TEST(KernelSymbols, RefusesAnEmptyOrMissingFileWithItsName) {
  const test::TempDir root;
  const auto missing = KernelSymbols::load(root.path());
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("/proc/kallsyms"), std::string::npos);
  root.write("/proc/kallsyms", "");
  EXPECT_FALSE(KernelSymbols::load(root.path()).ok());
}

TEST(KernelSymbols, ReadsLinesAcrossBufferBoundaries) {
  std::string text;
  constexpr std::uint64_t kBase = 0xffffffff81000000;
  constexpr int kCount = 30000;
  char line[64];
  for (int i = 0; i < kCount; ++i) {
    std::snprintf(line, sizeof line, "%016lx t function_%d\n", static_cast<unsigned long>(kBase + i * 16UL), i);
    text += line;
  }
  const test::TempDir root;
  root.write("/proc/kallsyms", text);
  auto symbols = KernelSymbols::load(root.path());
  ASSERT_TRUE(symbols.ok());
  EXPECT_EQ(symbols->size(), static_cast<std::size_t>(kCount));
  for (int i = 0; i < kCount; i += 997) {
    EXPECT_EQ(name_at(symbols.value(), kBase + i * 16UL + 1), "function_" + std::to_string(i) + "+1");
    EXPECT_EQ(symbols->address_of("function_" + std::to_string(i)), kBase + i * 16UL);
  }
}

TEST(KernelSymbols, ReadsTheRunningKernel) {
  const auto symbols = KernelSymbols::load();
  if (!symbols) GTEST_SKIP() << symbols.error().message;
  EXPECT_GT(symbols.value().size(), 1000U);
  if (!symbols.value().has_addresses()) GTEST_SKIP() << "kptr_restrict hides addresses";
  const auto address = symbols.value().address_of("rtnl_lock");
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(name_at(symbols.value(), *address + 1), "rtnl_lock+1");
}

}  // namespace
}  // namespace rtnlprof
