// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/frame_classes.h"

#include <algorithm>
#include <array>

namespace rtnlprof {
namespace {

// Each entry is a whole name, or a prefix when it ends in '*'.
template <std::size_t N>
bool matches(const std::array<std::string_view, N>& list, std::string_view symbol) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view entry) {
    return entry.ends_with('*') ? symbol.starts_with(entry.substr(0, entry.size() - 1)) : symbol == entry;
  });
}

constexpr std::array<std::string_view, 36> kTracing{
    "bpf_prog_*",
    "bpf_trace_run*",
    "__bpf_trace_*",
    "__traceiter_*",
    "__probestub_*",
    "bpf_get_stack*",
    "bpf_get_task_stack*",
    "__bpf_get_stack*",
    "___bpf_get_stack*",
    "__bpf_get_task_stack*",
    "bpf_trampoline_*",
    "__bpf_prog_enter*",
    "__bpf_prog_exit*",
    "bpf_dispatcher_*",
    "bpf_ringbuf_*",
    "trace_event_raw_event_*",
    "trace_event_buffer_*",
    "trace_call_bpf*",
    "perf_trace_*",
    "perf_tp_event",
    "perf_swevent_*",
    "perf_prepare_sample",
    "perf_callchain*",
    "get_perf_callchain",
    "trace_contention_begin",
    "trace_contention_end",
    "trace_sched_switch",
    "stack_trace_save*",
    "arch_stack_walk*",
    "ftrace_trampoline*",
    "ftrace_call",
    "ftrace_regs_call",
    "kprobe_ftrace_handler",
    "kprobe_multi_link_*",
    "fprobe_handler*",
    "kprobe_perf_func",
};

constexpr std::array<std::string_view, 24> kScheduler{
    "__schedule",
    "schedule",
    "__schedule_loop*",
    "schedule_timeout*",
    "schedule_hrtimeout*",
    "schedule_preempt_disabled",
    "schedule_rtlock*",
    "schedule_user",
    "rt_mutex_schedule",
    "preempt_schedule*",
    "wait_for_common*",
    "__wait_for_common*",
    "do_wait_for_common*",
    "cond_resched*",
    "_cond_resched*",
    "__cond_resched*",
    "dynamic_cond_resched*",
    "dynamic_might_resched*",

    "thread_return",
    "sched_switch_trace*",
    "pick_next_task_fair",
    "__sched_text_start",
    "context_switch",
    "__switch_to*",
};

// Functions that wait for a mutex themselves; what is around them is skipped before they are asked. Where the only
// mutex a function family takes may be another one (ppp_*, team_*, devlink_*, most *_service_task), it is not here:
// a lock under its call site's name is better than one under a wrong name.
constexpr std::array<std::string_view, 41> kRtnlWaiters{
    "rtnl_net_lock",
    "sysfs_rtnl_lock",
    "rtnetlink_rcv",
    "rtnetlink_rcv_msg",
    "netlink_dump",
    "__netlink_dump_start",
    "rtnl_dumpit",
    "rtnl_newlink",
    "rtnl_dellink",
    "rtnl_setlink",
    "dev_ioctl",
    "dev_ethtool",
    "devinet_ioctl",
    "inet_gifconf",
    "linkwatch_event",
    "addrconf_verify_work",
    "addrconf_dad_work",
    "do_ip_setsockopt",
    "do_ipv6_setsockopt",
    "ip_mc_*",
    "ipv6_sock_mc_*",
    "register_netdev",
    "unregister_netdev",
    "register_netdevice_notifier*",
    "unregister_netdevice_notifier*",
    "default_device_exit_batch",
    "nl80211_pre_doit",
    "nl80211_prepare_wdev_dump",
    "nl80211_dump_*",
    "reg_todo",
    "reg_check_chans_work",
    "wext_handle_ioctl",
    "wireless_nlevent_flush",
    "ib_get_eth_speed",
    "tun_chr_close",
    "vlan_ioctl_handler",
    "br_ioctl_call",
    "tg3_reset_task",
    "e1000_reset_task",
    "ethnl_default_doit",
    "ethnl_default_dumpit",
};

struct LockPattern {
  std::string_view name;
  LockFrame lock;
};

// First match counts.
constexpr std::array<LockPattern, 53> kLockPatterns{{
    {"rtnl_lock", LockFrame::kRtnl},
    {"rtnl_lock_killable", LockFrame::kRtnl},
    {"rtnl_lock_interruptible", LockFrame::kRtnl},
    {"__mutex_lock*", LockFrame::kMutex},
    {"mutex_lock*", LockFrame::kMutex},
    {"__ww_mutex_lock*", LockFrame::kMutex},
    {"ww_mutex_lock*", LockFrame::kMutex},
    {"_mutex_lock*", LockFrame::kMutex},
    {"__rt_mutex_lock*", LockFrame::kRtmutex},
    {"__rt_mutex_slowlock*", LockFrame::kRtmutex},
    {"rt_mutex_slowlock*", LockFrame::kRtmutex},
    {"rt_mutex_lock*", LockFrame::kRtmutex},
    {"_rt_mutex_lock*", LockFrame::kRtmutex},
    {"__rt_mutex_*", LockFrame::kRtmutex},
    {"rt_mutex_slowtrylock", LockFrame::kNone},
    {"rt_mutex_wait_proxy_lock", LockFrame::kNone},  // a futex, taken by user space
    {"rtlock_slowlock*", LockFrame::kRtmutex},
    {"__rtlock_*", LockFrame::kRtmutex},
    {"rtlock_*", LockFrame::kRtmutex},
    {"rt_spin_lock*", LockFrame::kRtmutex},
    {"__rt_spin_lock*", LockFrame::kRtmutex},
    {"rt_read_lock*", LockFrame::kRwsemRead},
    {"rt_write_lock*", LockFrame::kRwsemWrite},
    {"__rwbase_read_lock*", LockFrame::kRwsemRead},
    {"rwbase_read_lock*", LockFrame::kRwsemRead},
    {"rwbase_write_lock*", LockFrame::kRwsemWrite},
    {"__rwbase_write_lock*", LockFrame::kRwsemWrite},
    {"percpu_down_write*", LockFrame::kPercpuRwsemWrite},
    {"__percpu_down_write*", LockFrame::kPercpuRwsemWrite},
    {"percpu_down_read*", LockFrame::kPercpuRwsemRead},
    {"__percpu_down_read*", LockFrame::kPercpuRwsemRead},
    {"percpu_rwsem_wait*", LockFrame::kPercpuRwsemWrite},
    {"__percpu_rwsem_*", LockFrame::kPercpuRwsemWrite},
    {"rwsem_down_read*", LockFrame::kRwsemRead},
    {"rwsem_down_write*", LockFrame::kRwsemWrite},
    {"rwsem_read_trylock", LockFrame::kNone},
    {"__rwsem_down_read*", LockFrame::kRwsemRead},
    {"__rwsem_down_write*", LockFrame::kRwsemWrite},
    {"call_rwsem_down_read*", LockFrame::kRwsemRead},
    {"call_rwsem_down_write*", LockFrame::kRwsemWrite},
    {"rwsem_*", LockFrame::kRwsem},
    {"__down_read*", LockFrame::kRwsemRead},
    {"__down_write*", LockFrame::kRwsemWrite},
    {"_down_write*", LockFrame::kRwsemWrite},
    {"down_read*", LockFrame::kRwsemRead},
    {"down_write*", LockFrame::kRwsemWrite},
    {"__down*", LockFrame::kSemaphore},
    {"___down_common", LockFrame::kSemaphore},
    {"down", LockFrame::kSemaphore},
    {"down_interruptible", LockFrame::kSemaphore},
    {"down_killable", LockFrame::kSemaphore},
    {"down_timeout", LockFrame::kSemaphore},
    {"rt_down_*", LockFrame::kRwsem},
}};

}  // namespace

std::string_view canonical_symbol(std::string_view symbol) {
  // A leading dot (ppc64 entry points) is no suffix.
  const std::size_t dot = symbol.find('.', 1);
  return dot == std::string_view::npos ? symbol : symbol.substr(0, dot);
}

bool is_tracing_frame(std::string_view symbol) { return matches(kTracing, canonical_symbol(symbol)); }

bool is_scheduler_frame(std::string_view symbol) { return matches(kScheduler, canonical_symbol(symbol)); }

bool is_anonymous_sleep_frame(std::string_view symbol) {
  return is_scheduler_frame(symbol) || symbol.starts_with("io_schedule");
}

LockFrame classify_lock_frame(std::string_view symbol) {
  const std::string_view name = canonical_symbol(symbol);
  for (const LockPattern& pattern : kLockPatterns) {
    const bool prefix = pattern.name.ends_with('*');
    if (prefix ? name.starts_with(pattern.name.substr(0, pattern.name.size() - 1)) : name == pattern.name) {
      return pattern.lock;
    }
  }
  return LockFrame::kNone;
}

bool is_rtnl_waiter_frame(std::string_view symbol) { return matches(kRtnlWaiters, canonical_symbol(symbol)); }

}  // namespace rtnlprof
