# SPDX-License-Identifier: BSD-2-Clause
"""However a recording ends, what was recorded can be read, and nothing is left in the kernel."""

import os
import signal
import subprocess
import time

from harness import DEADLINE, RTNLPROF, LiveTest, bpf_programs, interrupt, lock_named, tool, wait_until


class EndingTest(LiveTest):
    def workload(self, seconds=20):
        return self.start(tool("rtnl-workload", "--mode", "ladder", "--seconds", seconds, "--processes", 2),
                          stdout=subprocess.DEVNULL)

    def check_end_by(self, number):
        workload = self.workload()
        recorder = self.start_recorder("-o", self.path("r.rtnl"))
        time.sleep(2)
        asked = time.monotonic()
        recorder.send_signal(number)
        out, _ = self.finish(recorder)
        self.assertLess(time.monotonic() - asked, 3, "the report came late")
        workload.terminate()
        self.assertIn("LOCK CONTENTION REPORT", out)
        report = self.report(self.path("r.rtnl"))
        self.assertTrue(report["recording"]["complete"])
        self.assertGreater(lock_named(report)["waits"]["count"], 0)

    def test_control_c_ends_with_a_report(self):
        self.check_end_by(signal.SIGINT)

    def test_sigterm_ends_with_a_report(self):
        self.check_end_by(signal.SIGTERM)

    def test_a_second_control_c_leaves_a_readable_file(self):
        workload = self.workload()
        recorder = self.start_recorder("-o", self.path("r.rtnl"))
        time.sleep(2)
        interrupt(recorder)
        time.sleep(0.02)
        interrupt(recorder)
        recorder.communicate(timeout=DEADLINE)
        workload.terminate()
        self.assertGreater(lock_named(self.report(self.path("r.rtnl")))["waits"]["count"], 0)

    def test_sigkill_loses_no_more_than_the_last_second_and_reads_anywhere(self):
        workload = self.workload()
        before = bpf_programs()
        recorder = self.start_recorder("-q", "-o", self.path("r.rtnl"))
        time.sleep(4)
        recorder.kill()
        recorder.wait()
        workload.terminate()
        report = self.report(self.path("r.rtnl"))
        self.assertFalse(report["recording"]["complete"])
        self.assertGreaterEqual(report["recording"]["duration_ns"], 2_500_000_000)
        waits = lock_named(report)["waits"]["count"]
        self.assertGreater(waits, 0)
        # Without this machine's /proc and /sys the kernel frames still have names.
        elsewhere = subprocess.run(
            ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && mount -t tmpfs none /sys && '
             'exec "$0" report "$1" --format text', RTNLPROF, self.path("r.rtnl")],
            capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(elsewhere.returncode, 0, elsewhere.stderr)
        self.assertRegex(elsewhere.stdout, r"rtnetlink_rcv_msg|devinet_ioctl|rtnl_newlink")
        wait_until(lambda: not bpf_programs() - before)

    def test_nothing_stays_attached(self):
        before = bpf_programs()
        recorder = self.start_recorder("-q", "-d", "2", "-o", self.path("r.rtnl"))
        self.assertTrue(bpf_programs() - before)
        self.finish(recorder)
        wait_until(lambda: not bpf_programs() - before, timeout=5)

    def test_a_full_disk_is_trouble_and_no_hang(self):
        self.need("unshare")
        workload = self.workload()
        os.mkdir(self.path("small"))
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=4k none "$1" && '
             'exec "$0" record -d 10 --min-sleep 0 -o "$1/r.rtnl"', RTNLPROF, self.path("small")],
            capture_output=True, text=True, timeout=DEADLINE, check=False)
        workload.terminate()
        self.assertEqual(done.returncode, 2, done.stderr)
        errors = [line for line in done.stderr.splitlines() if "space" in line.lower()]
        self.assertEqual(len(errors), 1, done.stderr)

    def test_a_pipe_closed_early_is_trouble_and_no_hang(self):
        workload = self.workload()
        recorder = self.start([RTNLPROF, "record", "-d", "30", "--min-sleep", "0", "-o", "-"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        recorder.stdout.read(8)
        recorder.stdout.close()
        begun = time.monotonic()
        error = recorder.stderr.read().decode()
        self.assertEqual(recorder.wait(timeout=DEADLINE), 2, error)
        workload.terminate()
        self.assertLess(time.monotonic() - begun, 15, "it went on writing to nobody")
        self.assert_one_error_line(error)

    def test_two_recorders_do_not_disturb_each_other(self):
        first = self.start_recorder("-q", "-o", self.path("a.rtnl"))
        second = self.start_recorder("-q", "-o", self.path("b.rtnl"))
        self.start(tool("rtnl-workload", "--mode", "ladder", "--seconds", 3, "--truth", self.path("t"))).wait()
        for recorder in (first, second):
            interrupt(recorder)
        for recorder in (first, second):
            self.finish(recorder)
        one, other = (lock_named(self.report(self.path(name)))["waits"] for name in ("a.rtnl", "b.rtnl"))
        self.assertGreater(one["count"], 100)
        self.assertLessEqual(abs(one["count"] - other["count"]), 0.02 * one["count"])
        self.assert_near(one["total_ns"], other["total_ns"], 0.02, "the same waits in two recordings")

    def test_the_recorder_never_takes_the_rtnl(self):
        workload, _ = self.start_ready(tool("rtnl-workload", "--mode", "hold", "--seconds", 60, "--processes", 1))
        begun = time.monotonic()
        self.run_tool("record", "-q", "-d", "1", "-o", self.path("r.rtnl"), timeout=30)
        self.assertLess(time.monotonic() - begun, 10, "it waited for the lock it watches")
        self.assertIsNone(workload.poll())
        workload.terminate()
