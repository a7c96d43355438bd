// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

namespace rtnlprof {

// A task's cgroup path from the text of /proc/PID/cgroup: the unified hierarchy's ("0::/..."), unless the host is a
// hybrid one that leaves everything at its root: then systemd's named v1 hierarchy, then the longest path of any. Empty
// when the text names none.
[[nodiscard]] std::string cgroup_path(std::string_view proc_cgroup);

// The container a cgroup path belongs to: the 64 (or 12..64) hex digits of docker, containerd, CRI-O and podman,
// whatever prefix ("docker-", "cri-containerd-", "crio-", "libpod-") and suffix (".scope") surround them, or the name
// of an lxc/lxd or systemd-nspawn container. The innermost one counts. Empty when there is none.
[[nodiscard]] std::string container_id_of_cgroup(std::string_view path);

}  // namespace rtnlprof
