// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The few requests of the network stack that take the RTNL, made without `ip` or a netlink library.

#include <cstdint>
#include <string>
#include <vector>

namespace rtnlprof::workload {

// One rtnetlink socket and one ioctl socket of the namespace the caller is in. Not thread-safe; one per thread.
// Every request returns 0 or a negative errno.
class NetControl {
 public:
  NetControl();
  ~NetControl();
  NetControl(const NetControl&) = delete;
  NetControl& operator=(const NetControl&) = delete;

  // RTM_GETLINK of one interface, by index.
  int get_link(int index);
  // RTM_GETLINK of all of them, read to the end.
  int dump_links();
  // RTM_NEWLINK that changes nothing.
  int touch_link(int index);
  // RTM_NEWLINK of a new device; `queues` 0 leaves their number to the kernel. `group` lets del_group find it.
  int new_link(const std::string& kind, const std::string& name, std::uint32_t queues, std::uint32_t group);
  int del_link(const std::string& name);
  // SIOCGIFFLAGS and SIOCSIFFLAGS of the same flags, or with IFF_UP set or cleared.
  int read_flags(const std::string& name, int* flags);
  int write_flags(const std::string& name, int flags);
  int set_up(const std::string& name, bool up);
  // SIOCGIFADDR.
  int read_address(const std::string& name);

  // The first of veth, dummy, ifb that this kernel can make; empty: none.
  std::string usable_kind();

 private:
  int request(std::vector<char>& message);
  int open_socket();

  int netlink_ = -1;
  int control_ = -1;
  std::uint32_t sequence_ = 0;
  std::vector<char> buffer_;
};

}  // namespace rtnlprof::workload
