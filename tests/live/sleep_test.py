# SPDX-License-Identifier: BSD-2-Clause
"""Sleeps of known number, length, state and waker."""

import json

from harness import LiveTest, read_json, task, tool

COUNT = 40


class SleepTest(LiveTest):
    def victims(self, kind, options=()):
        truth_path = self.path("truth.json")
        report = self.record(*tool("sleep-victim", "--kinds", kind, "--fifo", "--count", COUNT, "--truth", truth_path),
                             options=options)
        exported = self.run_tool("export", self.path("r.rtnl"), "--format", "ndjson").stdout
        events = [json.loads(line) for line in exported.splitlines()]
        return report, events, read_json(truth_path)["victims"]

    def check(self, kind, options=()):
        """Count exact, total within 2 %, state and waker right, in the report and in the exported events.

        A kernel that does not report every switch-in leaves the one or other sleep without stack and system call.
        """
        report, events, victims = self.victims(kind, options)
        self.assertEqual(report["recording"]["lost"]["total"], 0)
        for victim in victims:
            shown = task(report, victim["tid"])
            self.assertEqual((shown["pid"], shown["comm"]), (victim["pid"], victim["comm"]))
            stacks = [stack for stack in shown["sleep_stacks"]
                      if stack["syscall"] == victim["syscall"] or self.is_unknown(stack)]
            self.assertEqual(sum(stack["count"] for stack in stacks), victim["count"], shown["sleep_stacks"])
            total = sum(stack["total_ns"] for stack in stacks)
            self.check_total(victim, total)
            self.assertGreaterEqual(shown["scheduler"]["sleep_ns"], total)
            self.assertGreaterEqual(shown["scheduler"]["sleeps"], victim["count"])
            sleeps = [event for event in events if event["type"] == "sleep" and event["tid"] == victim["tid"]
                      and (event.get("syscall") == victim["syscall"] or not event.get("kernel"))]
            self.assertLessEqual(len([sleep for sleep in sleeps if not sleep.get("kernel")]), 1 + COUNT // 20)
            self.assertEqual(len(sleeps), victim["count"])
            self.assertEqual({sleep["state"] for sleep in sleeps}, {victim["state"]})
            self.check_wakers(victim, shown, sleeps)

    @staticmethod
    def is_unknown(stack):
        """The row of sleeps that have no stack, but not the one of those too short to have one."""
        return not stack["kernel"] and not stack.get("label", "").startswith("(shorter")

    def check_total(self, victim, total):
        if not victim["asked_ns"]:
            self.assert_near(total, victim["total_ns"], 0.02, victim["comm"])
            return
        # The victim's own clock stops only when it has a CPU again, which may take long on a busy machine.
        self.assertGreaterEqual(total, 0.98 * victim["asked_ns"])
        self.assertLessEqual(total, 1.02 * max(victim["asked_ns"], victim["total_ns"]))

    def check_wakers(self, victim, shown, sleeps):
        if victim["wakers"][0]["context"] == "interrupt":
            for sleep in sleeps:
                self.assertIn(sleep["waker"]["context"], ("hardirq", "softirq", "timer"), sleep)
            return
        wakers = {waker["tid"] for waker in victim["wakers"]}
        for sleep in sleeps:
            self.assertEqual(sleep["waker"]["context"], "task", sleep)
            self.assertIn(sleep["waker"]["tid"], wakers)
        woken = [entry for entry in shown["woken_by"] if entry["tid"] in wakers]
        self.assertEqual(sum(entry["count"] for entry in woken), victim["count"], shown["woken_by"])
        self.assert_near(sum(entry["sleep_ns"] for entry in woken), victim["total_ns"], 0.02, "ended by the wakers")
        self.assertEqual({entry["comm"] for entry in woken}, {victim["wakers"][0]["comm"]})

    def test_timer_sleeps_are_ended_by_interrupt_context(self):
        self.check("nanosleep")

    def test_poll_timeouts_are_ended_by_interrupt_context(self):
        self.check("poll")

    def test_pipe_ping_pong_names_the_other_side(self):
        self.check("pipe")

    def test_futex_hand_offs_name_the_other_side(self):
        self.check("futex")

    def test_vfork_waits_are_uninterruptible_and_ended_by_the_child(self):
        self.check("vfork")

    def test_sleeps_shorter_than_the_minimum_are_counted_with_their_waker(self):
        report, _, victims = self.victims("pipe", options=("--min-sleep", "1s"))
        for victim in victims:
            shown = task(report, victim["tid"])
            woken = [entry for entry in shown["woken_by"] if entry["tid"] == victim["wakers"][0]["tid"]]
            self.assertEqual(sum(entry["count"] for entry in woken), victim["count"], shown["woken_by"])
            self.assert_near(sum(entry["sleep_ns"] for entry in woken), victim["total_ns"], 0.02, victim["comm"])

    def test_every_sleep_is_kept_when_the_minimum_is_zero(self):
        self.check("futex", options=("--min-sleep", "0"))

    def test_the_text_report_shows_ics_for_timer_sleeps(self):
        self.victims("nanosleep")
        text = self.run_tool("report", self.path("r.rtnl"), "--comm", "sv-nanosleep").stdout
        rows = [line.split() for line in text.splitlines() if line.rstrip().endswith("ICS")]
        self.assertTrue(any(row[0] == "-1" and int(row[1]) >= COUNT for row in rows), rows)
