// SPDX-License-Identifier: BSD-2-Clause
#include "workload/netlink.h"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "workload/process.h"

namespace rtnlprof::workload {

namespace {

constexpr std::size_t kReceiveBytes = 65536;

std::vector<char> start_message(std::uint16_t type, std::uint16_t flags, int index) {
  std::vector<char> message(NLMSG_SPACE(sizeof(ifinfomsg)));
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  std::memcpy(message.data(), &header, sizeof(header));
  ifinfomsg info{};
  info.ifi_family = AF_UNSPEC;
  info.ifi_index = index;
  std::memcpy(message.data() + NLMSG_HDRLEN, &info, sizeof(info));
  return message;
}

void add_attribute(std::vector<char>& message, std::uint16_t type, const void* data, std::size_t bytes) {
  rtattr attribute{};
  attribute.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(bytes));
  attribute.rta_type = type;
  const std::size_t at = message.size();
  message.resize(at + RTA_SPACE(bytes));
  std::memcpy(message.data() + at, &attribute, sizeof(attribute));
  if (bytes > 0) std::memcpy(message.data() + at + RTA_LENGTH(0), data, bytes);
}

void add_string(std::vector<char>& message, std::uint16_t type, const std::string& text) {
  add_attribute(message, type, text.c_str(), text.size() + 1);
}

ifreq interface_request(const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

}  // namespace

NetControl::NetControl() : netlink_(open_socket()), buffer_(kReceiveBytes) {
  control_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (control_ < 0) die("cannot open a control socket");
}

NetControl::~NetControl() {
  close(netlink_);
  close(control_);
}

int NetControl::open_socket() {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) die("cannot open a netlink socket");
  return fd;
}

int NetControl::request(std::vector<char>& message) {
  nlmsghdr header{};
  std::memcpy(&header, message.data(), sizeof(header));
  header.nlmsg_len = static_cast<std::uint32_t>(message.size());
  header.nlmsg_seq = ++sequence_;
  std::memcpy(message.data(), &header, sizeof(header));
  if (send(netlink_, message.data(), message.size(), 0) < 0) return -errno;
  for (;;) {
    const ssize_t got = recv(netlink_, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    std::size_t at = 0;
    while (at + sizeof(nlmsghdr) <= static_cast<std::size_t>(got)) {
      nlmsghdr reply{};
      std::memcpy(&reply, buffer_.data() + at, sizeof(reply));
      if (reply.nlmsg_len < sizeof(nlmsghdr)) return -EPROTO;
      if (reply.nlmsg_seq == sequence_ && reply.nlmsg_type == NLMSG_DONE) return 0;
      if (reply.nlmsg_seq == sequence_ && reply.nlmsg_type == NLMSG_ERROR) {
        nlmsgerr error{};
        std::memcpy(&error, buffer_.data() + at + NLMSG_HDRLEN, sizeof(error));
        return error.error;
      }
      at += NLMSG_ALIGN(reply.nlmsg_len);
    }
  }
}

int NetControl::get_link(int index) {
  std::vector<char> message = start_message(RTM_GETLINK, NLM_F_ACK, index);
  return request(message);
}

int NetControl::dump_links() {
  std::vector<char> message = start_message(RTM_GETLINK, NLM_F_DUMP, 0);
  return request(message);
}

int NetControl::touch_link(int index) {
  std::vector<char> message = start_message(RTM_NEWLINK, NLM_F_ACK, index);
  return request(message);
}

int NetControl::new_link(const std::string& kind, const std::string& name, std::uint32_t queues, std::uint32_t group) {
  std::vector<char> message = start_message(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 0);
  add_string(message, IFLA_IFNAME, name);
  add_attribute(message, IFLA_GROUP, &group, sizeof(group));
  if (queues > 0) {
    add_attribute(message, IFLA_NUM_TX_QUEUES, &queues, sizeof(queues));
    add_attribute(message, IFLA_NUM_RX_QUEUES, &queues, sizeof(queues));
  }
  std::vector<char> kind_attribute;
  add_string(kind_attribute, IFLA_INFO_KIND, kind);
  add_attribute(message, IFLA_LINKINFO, kind_attribute.data(), kind_attribute.size());
  return request(message);
}

int NetControl::del_link(const std::string& name) {
  std::vector<char> message = start_message(RTM_DELLINK, NLM_F_ACK, 0);
  add_string(message, IFLA_IFNAME, name);
  return request(message);
}

int NetControl::read_flags(const std::string& name, int* flags) {
  ifreq request = interface_request(name);
  if (ioctl(control_, SIOCGIFFLAGS, &request) < 0) return -errno;
  *flags = request.ifr_flags;
  return 0;
}

int NetControl::write_flags(const std::string& name, int flags) {
  ifreq request = interface_request(name);
  request.ifr_flags = static_cast<short>(flags);
  return ioctl(control_, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

int NetControl::set_up(const std::string& name, bool up) {
  int flags = 0;
  if (const int error = read_flags(name, &flags); error != 0) return error;
  return write_flags(name, up ? flags | IFF_UP : flags & ~IFF_UP);
}

int NetControl::read_address(const std::string& name) {
  ifreq request = interface_request(name);
  return ioctl(control_, SIOCGIFADDR, &request) < 0 ? -errno : 0;
}

std::string NetControl::usable_kind() {
  for (const char* kind : {"veth", "dummy", "ifb"}) {
    if (new_link(kind, "probe0", 0, 0) != 0) continue;
    del_link("probe0");
    return kind;
  }
  return {};
}

}  // namespace rtnlprof::workload
