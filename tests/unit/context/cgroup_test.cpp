// SPDX-License-Identifier: BSD-2-Clause
#include "context/cgroup.h"

#include <gtest/gtest.h>

namespace rtnlprof {
namespace {

const std::string kId = "3b1c0de5a7f84c0f9a2e6d1b5c8f7e6d4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d";
const std::string kOther = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";

TEST(CgroupPath, TakesTheUnifiedHierarchy) {
  EXPECT_EQ(cgroup_path("0::/system.slice/snmpd.service\n"), "/system.slice/snmpd.service");
  EXPECT_EQ(cgroup_path("0::/\n"), "/");
  EXPECT_EQ(cgroup_path("0::/a:b/c\n"), "/a:b/c");
  EXPECT_EQ(cgroup_path("1:name=systemd:/user.slice\n0::/system.slice/cron.service\n"), "/system.slice/cron.service");
}

TEST(CgroupPath, FallsBackOnVersionOneHierarchies) {
  EXPECT_EQ(cgroup_path("9:name=systemd:/user.slice/user-0.slice\n4:memory:/a\n0::/\n"), "/user.slice/user-0.slice");
  EXPECT_EQ(cgroup_path("9:name=systemd:/\n4:memory:/jobs/a8656c14\n3:cpuset:/\n0::/\n"), "/jobs/a8656c14");
  EXPECT_EQ(cgroup_path("11:cpu,cpuacct:/x\n4:memory:/\n"), "/x");
}

TEST(CgroupPath, IsEmptyWithoutOne) {
  EXPECT_EQ(cgroup_path(""), "");
  EXPECT_EQ(cgroup_path("garbage\n0:\n0::relative\n"), "");
}

TEST(ContainerId, KnowsTheRuntimes) {
  const std::pair<std::string, std::string> cases[] = {
      {"/docker/" + kId, kId},
      {"/system.slice/docker-" + kId + ".scope", kId},
      {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_5678.slice/cri-containerd-" + kId +
           ".scope",
       kId},
      {"/kubepods/besteffort/pod0f1e2d3c-1111-2222-3333-444455556666/" + kId, kId},
      {"/kubepods.slice/kubepods-pod9.slice/crio-" + kId + ".scope", kId},
      {"/machine.slice/libpod-" + kId + ".scope/container", kId},
      {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope", kId},
      {"/ecs/0123456789abcdef0123456789abcdef/" + kId, kId},
      {"/docker/" + kId + "/system.slice/nginx.service", kId},
      {"/docker/" + kId + "/docker/" + kOther, kOther},
      {"/system.slice/docker-3b1c0de5a7f8.scope", "3b1c0de5a7f8"},
      {"/lxc/web-1/init.scope", "web-1"},
      {"/lxc.payload.web-1/system.slice/nginx.service", "web-1"},
      {"/machine.slice/machine-web\\x2d1.scope/payload", "web-1"},
      {"/machine.slice/systemd-nspawn@build.service/payload", "build"},
  };
  for (const auto& [path, id] : cases) EXPECT_EQ(container_id_of_cgroup(path), id) << path;
}

TEST(ContainerId, IsEmptyForOtherCgroups) {
  for (const std::string& path : std::initializer_list<std::string>{
           "", "/", "/system.slice/snmpd.service", "/user.slice/user-1000.slice/session-3.scope",
           "/docker/" + kId + "0", "/docker/short", "/system.slice/docker-xyz.scope",
           "/system.slice/0123456789ab.service", "/machine.slice/libpod-conmon-" + kId + ".scope",
           "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/emulator",
           "/kubepods/besteffort/pod0f1e2d3c-1111-2222-3333-444455556666", "/lxc.payload.\x1b[31m"}) {
    EXPECT_EQ(container_id_of_cgroup(path), "") << path;
  }
}

}  // namespace
}  // namespace rtnlprof
