// SPDX-License-Identifier: BSD-2-Clause
#include "workload/rtnl_hold.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <linux/userfaultfd.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "workload/process.h"

namespace rtnlprof::workload {

namespace {

// The command word ends the first page, which is always there; the answer lies in the second, which never is.
const std::size_t g_page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

}  // namespace

bool RtnlHold::start() {
  fault_fd_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
  if (fault_fd_ < 0) return false;
  uffdio_api api{};
  api.api = UFFD_API;
  if (ioctl(fault_fd_, UFFDIO_API, &api) < 0) return false;
  void* memory = mmap(nullptr, 2 * g_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  pages_ = static_cast<char*>(memory);
  std::memset(pages_, 0, g_page);
  uffdio_register range{};
  range.range.start = reinterpret_cast<std::uint64_t>(pages_) + g_page;
  range.range.len = g_page;
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (ioctl(fault_fd_, UFFDIO_REGISTER, &range) < 0) return false;
  control_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (control_ < 0) return false;
  pager_ = std::thread([this] { serve_faults(); });
  while (pager_tid_.load() == 0) sched_yield();
  return true;
}

RtnlHold::~RtnlHold() {
  if (pager_.joinable()) {
    wait_ = nullptr;
    // The pager wakes up for one more fault, finds nothing to wait for, and leaves.
    madvise(pages_ + g_page, g_page, MADV_DONTNEED);
    pages_[g_page] = 1;
    pager_.join();
  }
  if (pages_ != nullptr) munmap(pages_, 2 * g_page);
  if (fault_fd_ >= 0) close(fault_fd_);
  if (control_ >= 0) close(control_);
}

void RtnlHold::fill(std::uint64_t address) const {
  uffdio_zeropage zero{};
  zero.range.start = address & ~(static_cast<std::uint64_t>(g_page) - 1);
  zero.range.len = g_page;
  // EAGAIN: the address space is changing just now.
  while (ioctl(fault_fd_, UFFDIO_ZEROPAGE, &zero) < 0 && errno == EAGAIN) {
  }
}

void RtnlHold::serve_faults() {
  set_comm("rtnl-pager");
  pager_tid_.store(own_tid());
  for (;;) {
    pollfd ready{fault_fd_, POLLIN, 0};
    if (poll(&ready, 1, -1) < 0 && errno != EINTR) return;
    uffd_msg message{};
    if (read(fault_fd_, &message, sizeof(message)) != static_cast<ssize_t>(sizeof(message))) continue;
    if (message.event != UFFD_EVENT_PAGEFAULT) continue;
    const bool last = !wait_;
    held_from_ns_ = now_ns();
    if (wait_) wait_();
    held_to_ns_ = now_ns();
    fill(message.arg.pagefault.address);
    if (last) return;
  }
}

int RtnlHold::hold(std::function<void()> wait) {
  wait_ = std::move(wait);
  madvise(pages_ + g_page, g_page, MADV_DONTNEED);
  char* command = pages_ + g_page - sizeof(std::uint32_t);
  const std::uint32_t get_link = ETHTOOL_GLINK;
  std::memcpy(command, &get_link, sizeof(get_link));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_data = command;
  return ioctl(control_, SIOCETHTOOL, &request) < 0 ? -errno : 0;
}

}  // namespace rtnlprof::workload
