#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""rtnlprof reports the ixgbe case as LinuxKI did, to the printed digit, and says what LinuxKI could not.

Usage: ixgbe_test.py RTNLPROF
"""
import json
import os
import subprocess
import sys
import tempfile

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))

SNMPD = """
RunTime : 4.518001 SysTime : 4.511822 UserTime : 0.006178
SleepTime : 35.032811 Sleep Cnt : 325 Wakeup Cnt : 72
RunQTime : 0.001950 Switch Cnt: 326 PreemptCnt : 1
Last CPU : 0 CPU Migrs : 3 NODE Migrs : 0
Policy : SCHED_NORMAL vss : 27542 rss : 2583
busy : 11.42%
sys : 11.41%
user : 0.02%
runQ : 0.00%
sleep : 88.57%
8114 40 100.00% 30.640394 rsyslogd
71606 12 100.00% 13.496665 ifconfig
71591 11 91.65% 12.456243 ifconfig
71314 5 100.00% 5.417794 ifconfig
71310 1 14.70% 5.311666 kiinfo
93806 2 2.89% 1.136224 cmahostd
93828 1 0.00% 0.000000 cmathreshd
-1 325 100.00% 35.032811 ICS
93828 1 0.00% 0.000000 cmathreshd
317 97.54% 31.9682 91.25% 80.82% 100.846 101.647 msleep
7 2.15% 3.0646 8.75% 7.75% 437.799 1002.136 poll_schedule_timeout
310 89.23 100.842 msleep ixgbe_read_i2c_byte_generic ixgbe_read_i2c_eeprom_generic ixgbe_identify_sfp_module_generic ixgbe_identify_module_generic ixgbe_get_settings dev_ethtool dev_ioctl sock_ioctl vfs_ioctl do_vfs_ioctl sys_ioctl tracesys | ioctl
7 8.75 437.799 poll_schedule_timeout do_select core_sys_select sys_select tracesys | __select_nocancel
7 2.02 101.032 msleep ixgbe_read_i2c_byte_generic ixgbe_read_i2c_eeprom_generic ixgbe_identify_sfp_module_generic ixgbe_identify_module_generic ixgbe_get_settings dev_ethtool dev_ioctl sock_ioctl vfs_ioctl do_vfs_ioctl sys_ioctl system_call_fastpath | ioctl
"""

IFCONFIG = """
138108 1 36.20% 13.720052 bash
71219 1 14.93% 4.515843 kiinfo
231 1 7.54% 2.281812 [migration/76]
93828 4 6.43% 2.270062 cmathreshd
144390 11 91.65% 12.456243 snmpd
93806 1 8.35% 1.135013 cmahostd
-1 0 0.00% 0.000000 ICS
6 50.12 1135.401 __mutex_lock_slowpath mutex_lock rtnl_lock devinet_ioctl inet_ioctl sock_ioctl vfs_ioctl do_vfs_ioctl sys_ioctl tracesys
4 33.76 1146.952 __mutex_lock_slowpath mutex_lock rtnl_lock rtnetlink_rcv netlink_unicast netlink_sendmsg sock_sendmsg sys_sendto tracesys
1 8.36 1136.040 __mutex_lock_slowpath mutex_lock netlink_dump netlink_recvmsg sock_recvmsg __sys_recvmsg sys_recvmsg tracesys
1 7.76 1055.000 __mutex_lock_slowpath mutex_lock rtnl_lock dev_ioctl sock_ioctl vfs_ioctl do_vfs_ioctl sys_ioctl tracesys
"""

failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def run(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def section_of(report, tid):
    """The rows of one task, with their blanks squeezed."""
    start = report.index(f"\nPID: {tid}  ")
    end = report.find("\nPID: ", start + 1)
    return [" ".join(line.split()) for line in report[start:end].splitlines()]


def check_rows(report, tid, wanted):
    rows = section_of(report, tid)
    at = 0
    for row in wanted.strip().splitlines():
        # In order: the tables are sorted as on the page.
        found = next((i for i in range(at, len(rows)) if rows[i] == row), None)
        check(found is not None, f"task {tid}: no row {row!r} (in this order)")
        at = found + 1 if found is not None else at


def check_json(report):
    locks = report["locks"]
    check([lock["name"] for lock in locks] == ["rtnl_mutex"], "rtnl_mutex is not the only lock")
    rtnl = locks[0]
    check(rtnl["waits"]["count"] == 29, "not 12 + 12 + 5 waits")
    check(rtnl["waits"]["total_ns"] == 13_591_256_000 + 13_496_665_000 + 5_417_794_000, "total of the waits")
    check(rtnl["waits"]["source"] == "stack", "the waits are not marked as inferred")
    check("address" not in rtnl and rtnl["instances"] == 0, "an address out of nowhere")
    victim = next(waiter for waiter in rtnl["waiters"] if waiter["tid"] == 71591)
    dump = [stack for stack in victim["stacks"] if "netlink_dump" in stack["kernel"]]
    check(len(dump) == 1 and dump[0]["total_ns"] == 1_136_040_000, "the netlink_dump wait is not rtnl_mutex")
    for waiter in rtnl["waiters"]:
        total = waiter["waits"]["total_ns"]
        check(sum(owner["waited_ns"] for owner in waiter["owners"]) == total, f"owners of {waiter['tid']} do not add up")
        check(waiter["owners"][0]["tid"] == 144390, f"{waiter['tid']} did not wait for snmpd most")
    check(rtnl["holders"][0]["tid"] == 144390, "snmpd is not the holder")
    check(rtnl["holders"][0]["waited_on_ns"] > 0.85 * rtnl["waits"]["total_ns"], "snmpd explains too little")
    task = next(task for task in report["tasks"] if task["tid"] == 144390)
    woken_by = task["woken_by"][0]
    check((woken_by["tid"], woken_by["context"], woken_by["count"]) == (-1, "timer", 325), "ICS row of snmpd")


def main():
    rtnlprof = sys.argv[1]
    with tempfile.TemporaryDirectory() as directory:
        events = os.path.join(directory, "ixgbe.ndjson")
        recording = os.path.join(directory, "ixgbe.rtnl")
        with open(events, "w", encoding="ascii") as out:
            subprocess.run([sys.executable, os.path.join(HERE, "ixgbe_events.py")], check=True, stdout=out)
        run(rtnlprof, "import", events, "-o", recording)
        text = run(rtnlprof, "report", recording)
        report = json.loads(run(rtnlprof, "report", recording, "--format", "json"))
        schema = json.loads(run(rtnlprof, "report", "--print-schema"))
        check(text == run(rtnlprof, "report", events), "the recording and its events report differently")
    check_rows(text, 144390, SNMPD)
    check_rows(text, 71591, IFCONFIG)
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    for error in validator(schema).iter_errors(report):
        failures.append(f"JSON: {list(error.absolute_path)}: {error.message}")
    check_json(report)
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
