// SPDX-License-Identifier: BSD-2-Clause
#include "context/capabilities.h"

#include <gtest/gtest.h>

#include "symbols/temp_dir.h"

namespace rtnlprof {
namespace {

Capabilities of(const std::string& cap_eff, const std::string& uid_map = "         0          0 4294967295\n") {
  const test::TempDir root;
  root.write("/proc/self/status", "Name:\trtnlprof\nCapPrm:\tffffffffffffffff\nCapEff:\t" + cap_eff + "\nCapBnd:\t0\n");
  root.write("/proc/self/uid_map", uid_map);
  return read_capabilities(root.path());
}

using Names = std::vector<std::string>;

TEST(Capabilities, OfRoot) {
  const Capabilities all = of("000001ffffffffff");
  for (const Capability capability : {Capability::kBpf, Capability::kPerfmon, Capability::kSysAdmin,
                                      Capability::kSyslog, Capability::kSysResource, Capability::kSysPtrace}) {
    EXPECT_TRUE(all.has(capability)) << capability_name(capability);
  }
  EXPECT_TRUE(all.initial_user_namespace);
  EXPECT_EQ(missing_capabilities(all), Names{});
}

TEST(Capabilities, OfNobody) {
  const Capabilities none = of("0000000000000000");
  EXPECT_FALSE(none.has(Capability::kBpf));
  EXPECT_EQ(missing_capabilities(none), (Names{"CAP_BPF", "CAP_PERFMON"}));
}

TEST(Capabilities, SysAdminIncludesTheOnesSplitFromIt) {
  const Capabilities admin = of("0000000000200000");
  EXPECT_TRUE(admin.has(Capability::kBpf));
  EXPECT_TRUE(admin.has(Capability::kPerfmon));
  EXPECT_FALSE(admin.has(Capability::kSyslog)) << "kernel addresses need CAP_SYSLOG itself";
}

TEST(Capabilities, SinglesAreTold) {
  const Capabilities two = of("000000c000000000");
  EXPECT_TRUE(two.has(Capability::kBpf));
  EXPECT_TRUE(two.has(Capability::kPerfmon));
  EXPECT_FALSE(two.has(Capability::kSysAdmin));
}

TEST(Capabilities, KnowAUserNamespace) {
  EXPECT_FALSE(of("000001ffffffffff", "         0       1000          1\n").initial_user_namespace);
  EXPECT_FALSE(of("000001ffffffffff", "").initial_user_namespace);
}

TEST(Capabilities, AreNoneWithoutAStatusFile) {
  const test::TempDir root;
  EXPECT_EQ(read_capabilities(root.path()).effective, 0U);
}

}  // namespace
}  // namespace rtnlprof
