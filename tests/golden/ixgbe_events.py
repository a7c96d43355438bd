#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints the events behind LinuxKI's page on the unterminated ixgbe NIC (2015), as an rtnlprof.events/1 stream.

The page gives sums and averages to a few digits. Whole nanoseconds are chosen here so that every one of them prints
the same: the averages leave room for the sums to meet the totals.
"""
import json

MS = 1_000_000
SEC = 1_000_000_000
END = 40 * SEC

SNMPD, IFCONFIG, OTHER_IFCONFIG, THIRD_IFCONFIG = 144390, 71591, 71606, 71314
CMAHOSTD, CMATHRESHD, RSYSLOGD, BASH, MIGRATION, KIINFO_1, KIINFO_2 = 93806, 93828, 8114, 138108, 231, 71219, 71310

TASKS = [
    (SNMPD, "snmpd", {"cmdline": "/usr/sbin/snmpd -f", "cgroup": "/system.slice/snmpd.service"}),
    (IFCONFIG, "ifconfig", {}),
    (OTHER_IFCONFIG, "ifconfig", {}),
    (THIRD_IFCONFIG, "ifconfig", {}),
    (CMAHOSTD, "cmahostd", {}),
    (CMATHRESHD, "cmathreshd", {}),
    (RSYSLOGD, "rsyslogd", {}),
    (BASH, "bash", {}),
    (MIGRATION, "migration/76", {"kernel_thread": True}),
    (KIINFO_1, "kiinfo", {}),
    (KIINFO_2, "kiinfo", {}),
]

# Scheduler frames, as they lie on top of every stack and in none of the page's.
SCHEDULE = ["__schedule", "schedule"]
MSLEEP = SCHEDULE + ["schedule_timeout", "schedule_timeout_uninterruptible"]
MUTEX = SCHEDULE + ["schedule_preempt_disabled", "__mutex_lock_slowpath", "mutex_lock"]
POLL = SCHEDULE + ["schedule_hrtimeout_range_clock", "schedule_hrtimeout_range"]

IXGBE = ("msleep ixgbe_read_i2c_byte_generic ixgbe_read_i2c_eeprom_generic ixgbe_identify_sfp_module_generic "
         "ixgbe_identify_module_generic ixgbe_get_settings dev_ethtool dev_ioctl sock_ioctl vfs_ioctl do_vfs_ioctl "
         "sys_ioctl").split()
SELECT = "poll_schedule_timeout do_select core_sys_select sys_select tracesys".split()
BY_ADDRESS = "rtnl_lock devinet_ioctl inet_ioctl sock_ioctl vfs_ioctl do_vfs_ioctl sys_ioctl tracesys".split()
BY_NETLINK = "rtnl_lock rtnetlink_rcv netlink_unicast netlink_sendmsg sock_sendmsg sys_sendto tracesys".split()
BY_DUMP = "netlink_dump netlink_recvmsg sock_recvmsg __sys_recvmsg sys_recvmsg tracesys".split()
BY_DEVICE = "rtnl_lock dev_ioctl sock_ioctl vfs_ioctl do_vfs_ioctl sys_ioctl tracesys".split()
WAIT = ["wait_woken", "n_tty_read", "tty_read", "vfs_read", "sys_read", "system_call_fastpath"]

TIMER = {"tid": 0, "context": "timer"}


def by(tid):
    return {"tid": tid, "context": "task"}


def parts(count, total, longest=None):
    """`count` durations that sum to `total`, about equal, one of them `longest`."""
    if longest is None:
        whole = [total // count] * count
        whole[0] += total - sum(whole)
        return whole
    return parts(count - 1, total - longest) + [longest]


class Clock:
    """Lays the sleeps of one task one after the other."""

    def __init__(self, tid, start, gap):
        self.tid, self.now, self.gap = tid, start, gap
        self.events = []

    def sleep(self, duration, kernel, waker, state="D", syscall=None, user=None):
        event = {"type": "sleep", "tid": self.tid, "out_ns": self.now, "wake_ns": self.now + duration,
                 "in_ns": self.now + duration + 4_000, "state": state, "kernel": kernel, "waker": waker}
        if syscall:
            event["syscall"] = syscall
        if user:
            event["user"] = user
        self.events.append(event)
        self.now += duration + self.gap
        assert self.now < END, (self.tid, self.now)


def snmpd():
    clock = Clock(SNMPD, 5 * MS, 13 * MS)
    ioctls = parts(310, 31_260_986_000, 101_647_000)
    others = parts(7, 707_224_000)
    polls = parts(7, 3_064_593_000, 1_002_136_000)
    for i in range(31):
        for duration in ioctls[i * 10:i * 10 + 10]:
            clock.sleep(duration, MSLEEP + IXGBE + ["tracesys"], TIMER, "D", "ioctl", ["ioctl"])
        if i % 4 == 3:
            clock.sleep(others.pop(), MSLEEP + IXGBE + ["system_call_fastpath"], TIMER, "D", "ioctl", ["ioctl"])
            clock.sleep(polls.pop(), POLL + SELECT, TIMER, "S", "select", ["__select_nocancel"])
    assert not others and not polls
    # The 325th sleep is in no row of the page: too short to be recorded by itself.
    yield {"type": "wakeups", "tid": SNMPD, "waker": TIMER, "count": 1, "sleeps": 1, "sleep_ns": 8_000, "max_ns": 8_000}
    yield {"type": "wakeups", "tid": SNMPD, "waker": by(CMATHRESHD), "count": 1, "sleeps": 0, "sleep_ns": 0}
    yield {"type": "scheduler", "tid": SNMPD, "run_ns": 4_518_001_000, "sys_ns": 4_511_822_000, "user_ns": 6_178_000,
           "runq_ns": 1_950_000, "switches": 326, "preemptions": 1, "cpu_migrations": 3, "node_migrations": 0,
           "policy": "SCHED_NORMAL", "last_cpu": 0, "vss": 27542, "rss": 2583}
    yield from clock.events


def ifconfig():
    clock = Clock(IFCONFIG, 200 * MS, 900 * MS)
    first = parts(5, 6_812_407_000 - 1_135_013_000)
    clock.sleep(1_135_013_000, MUTEX + BY_ADDRESS, by(CMAHOSTD), "D", "ioctl")
    for duration in first:
        clock.sleep(duration, MUTEX + BY_ADDRESS, by(SNMPD), "D", "ioctl")
    for duration in parts(4, 4_587_809_000):
        clock.sleep(duration, MUTEX + BY_NETLINK, by(SNMPD), "D", "sendto")
    clock.sleep(1_136_040_000, MUTEX + BY_DUMP, by(SNMPD), "D", "recvmsg")
    clock.sleep(1_055_000_000, MUTEX + BY_DEVICE, by(SNMPD), "D", "ioctl")
    return clock.events


def other_victims():
    for tid, count, total, start in ((OTHER_IFCONFIG, 12, 13_496_665_000, 600 * MS),
                                     (THIRD_IFCONFIG, 5, 5_417_794_000, 900 * MS)):
        clock = Clock(tid, start, 950 * MS)
        for duration in parts(count, total):
            clock.sleep(duration, MUTEX + BY_ADDRESS, by(SNMPD), "D", "ioctl")
        yield from clock.events


# tid, its whole sleep, and of it what one waker ended: (waker, wakeups that ended sleep, sleep). What is left is ended
# by timers. The wholes are chosen so that the shares print as on the page.
BYSTANDERS = [
    (RSYSLOGD, 30_640_394_000, [(SNMPD, 40, 30_640_394_000)]),
    (BASH, 37_900_700_000, [(IFCONFIG, 1, 13_720_052_000)]),
    (KIINFO_1, 30_247_000_000, [(IFCONFIG, 1, 4_515_843_000)]),
    (MIGRATION, 30_263_000_000, [(IFCONFIG, 1, 2_281_812_000)]),
    (CMATHRESHD, 35_304_000_000, [(IFCONFIG, 4, 2_270_062_000)]),
    (KIINFO_2, 36_134_000_000, [(SNMPD, 1, 5_311_666_000)]),
    (CMAHOSTD, 39_316_000_000, [(SNMPD, 2, 1_136_224_000)]),
]


def bystanders():
    for tid, whole, ended in BYSTANDERS:
        clock = Clock(tid, 1 * MS, 50_000)
        for waker, count, total in ended:
            for duration in parts(count, total):
                clock.sleep(duration, SCHEDULE + WAIT, by(waker), "S", "read")
            whole -= total
        if whole > 0:
            clock.sleep(whole, SCHEDULE + WAIT, TIMER, "S", "read")
        yield from clock.events
    # A wakeup of a task that was not asleep.
    yield {"type": "wakeups", "tid": CMATHRESHD, "waker": by(SNMPD), "count": 1, "sleeps": 0, "sleep_ns": 0}


def main():
    print(json.dumps({"type": "header", "schema": "rtnlprof.events/1", "start_ns": 0, "end_ns": END, "cpus": 80,
                      "host": {"hostname": "db07", "kernel_release": "2.6.32-504.el6.x86_64", "arch": "x86_64"},
                      "started_at": "2015-03-12T09:30:00Z"}))
    for tid, comm, more in TASKS:
        print(json.dumps({"type": "task", "tid": tid, "pid": tid, "ppid": 1, "comm": comm, **more}))
    events = [*snmpd(), *ifconfig(), *other_victims(), *bystanders()]
    # In the order in which a recorder would see them.
    events.sort(key=lambda event: (event.get("in_ns", END), event["tid"]))
    for event in events:
        print(json.dumps(event))


if __name__ == "__main__":
    main()
