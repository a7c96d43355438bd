// SPDX-License-Identifier: BSD-2-Clause
#include "context/host.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include "symbols/temp_dir.h"

namespace rtnlprof {
namespace {

using Cpus = std::vector<std::uint32_t>;

TEST(CpuList, ParsesRanges) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (Cpus{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("0"), Cpus{0});
  EXPECT_EQ(parse_cpu_list("4,2,2-3"), (Cpus{2, 3, 4}));
}

TEST(CpuList, SkipsMalformedParts) {
  EXPECT_EQ(parse_cpu_list(""), Cpus{});
  EXPECT_EQ(parse_cpu_list("a,1-,-2,3-1,5x,7"), Cpus{7});
  EXPECT_EQ(parse_cpu_list("0-4294967295,1"), Cpus{1}) << "no memory for absurd ranges";
}

TEST(Host, ReadsACapturedHost) {
  const test::TempDir root;
  root.write("/proc/sys/kernel/hostname", "db7.example\n");
  root.write("/proc/sys/kernel/osrelease", "6.1.0-49-amd64\n");
  root.write("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1\n");
  root.write("/proc/sys/kernel/arch", "x86_64\n");
  root.write("/proc/sys/kernel/random/boot_id", "6a7e1f0c-1111-2222-3333-444455556666\n");
  root.write("/sys/devices/system/cpu/online", "0-5,7\n");
  const Host host = read_host(root.path());
  EXPECT_EQ(host.hostname, "db7.example");
  EXPECT_EQ(host.kernel_release, "6.1.0-49-amd64");
  EXPECT_EQ(host.kernel_version, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1");
  EXPECT_EQ(host.arch, "x86_64");
  EXPECT_EQ(host.cpus, 7U);
  EXPECT_EQ(host.boot_id, "6a7e1f0c-1111-2222-3333-444455556666");
}

TEST(Host, LeavesUnknownWhatIsNotThere) {
  const test::TempDir root;
  const Host host = read_host(root.path());
  EXPECT_EQ(host.hostname, "");
  EXPECT_EQ(host.arch, "") << "not this machine's";
  EXPECT_EQ(host.cpus, 0U);
  const KernelFacts facts = read_kernel_facts(root.path());
  EXPECT_EQ(facts.lockdown, "");
  EXPECT_EQ(facts.kptr_restrict, -1);
  EXPECT_EQ(facts.perf_event_paranoid, kUnknownParanoid);
  EXPECT_EQ(facts.pid_max, -1);
  EXPECT_EQ(facts.threads, -1);
  EXPECT_FALSE(facts.has_btf);
  EXPECT_TRUE(read_numa_nodes(root.path()).empty());
}

TEST(Host, DescribesThisHost) {
  struct utsname names {};
  ASSERT_EQ(uname(&names), 0);
  const Host host = read_host();
  EXPECT_EQ(host.kernel_release, names.release);
  EXPECT_EQ(host.arch, names.machine);
  EXPECT_GE(host.cpus, 1U);
}

TEST(KernelFacts, ReadsACapturedHost) {
  const test::TempDir root;
  root.write("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
  root.write("/proc/sys/kernel/kptr_restrict", "2\n");
  root.write("/proc/sys/kernel/perf_event_paranoid", "-1\n");
  root.write("/proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
  root.write("/proc/sys/kernel/pid_max", "4194304\n");
  root.write("/proc/loadavg", "0.20 0.18 0.12 1/813 11206\n");
  root.write("/sys/kernel/btf/vmlinux", "");
  const KernelFacts facts = read_kernel_facts(root.path());
  EXPECT_EQ(facts.lockdown, "integrity");
  EXPECT_EQ(facts.kptr_restrict, 2);
  EXPECT_EQ(facts.perf_event_paranoid, -1);
  EXPECT_EQ(facts.unprivileged_bpf_disabled, 2);
  EXPECT_EQ(facts.pid_max, 4194304);
  EXPECT_EQ(facts.threads, 813);
  EXPECT_TRUE(facts.has_btf);
}

TEST(NumaNodes, MapsCpusToNodes) {
  const test::TempDir root;
  root.write("/sys/devices/system/cpu/possible", "0-5\n");
  root.write("/sys/devices/system/node/online", "0-1\n");
  root.write("/sys/devices/system/node/node0/cpulist", "0,2\n");
  root.write("/sys/devices/system/node/node1/cpulist", "1,3-4\n");
  EXPECT_EQ(read_numa_nodes(root.path()), (std::vector<std::int32_t>{0, 1, 0, 1, 1, -1}));
}

TEST(NumaNodes, AreAllZeroWithoutNuma) {
  const test::TempDir root;
  root.write("/sys/devices/system/cpu/possible", "0-1\n");
  EXPECT_EQ(read_numa_nodes(root.path()), (std::vector<std::int32_t>{0, 0}));
}

}  // namespace
}  // namespace rtnlprof
