# SPDX-License-Identifier: BSD-2-Clause
"""Tasks that are blocked from before the recording to after it: they make no event, and are what matters most."""

import signal

from harness import RTNL, SECOND, LiveTest, read_json, task, tool


def still_blocked(report, tid):
    """What a task was blocked in when the recording ended."""
    return [entry for entry in task(report, tid)["in_flight"] if entry.get("at_end", True)]


class InFlightTest(LiveTest):
    def record_for(self, seconds):
        json_path = self.path("r.json")
        self.run_tool("record", "-q", "-d", seconds, "-o", self.path("r.rtnl"), "--json", json_path)
        return read_json(json_path)

    def test_a_lock_wait_that_outlasts_the_recording_names_lock_and_holder(self):
        workload, truth = self.start_ready(tool("rtnl-workload", "--mode", "hold", "--seconds", 60, "--processes", 2))
        report = self.record_for(2)
        workload.send_signal(signal.SIGTERM)
        holder = truth["holder"]["tid"]
        for victim in truth["victims"]:
            entries = still_blocked(report, victim["tid"])
            self.assertEqual(len(entries), 1, entries)
            self.assertTrue(entries[0]["started_before_recording"])
            self.assertIn(RTNL, str(entries[0]["lock"]))
            self.assertTrue(entries[0]["kernel"], "no stack")
            self.assertEqual(entries[0]["owner"]["tid"], holder)
            self.assertGreaterEqual(entries[0]["blocked_ns"], 1.8 * SECOND)
        text = self.run_tool("report", self.path("r.rtnl")).stdout
        self.assertIn("rtnl-victim-0", text)
        self.assertIn("rtnl-holder", text)

    def test_sleeps_that_outlast_the_recording_have_state_and_stack(self):
        workload, truth = self.start_ready(tool("sleep-victim", "--blocked", "vfork,pipe,futex", "--seconds", 60))
        report = self.record_for(2)
        workload.send_signal(signal.SIGTERM)
        for victim in truth["victims"]:
            entries = still_blocked(report, victim["tid"])
            self.assertEqual(len(entries), 1, victim)
            self.assertTrue(entries[0]["started_before_recording"])
            self.assertTrue(entries[0]["kernel"], victim)

    def test_a_wait_that_begins_in_the_recording_and_does_not_end_in_it_is_there(self):
        recorder = self.start_recorder("-q", "-d", "4", "-o", self.path("r.rtnl"), "--json", self.path("r.json"))
        workload, truth = self.start_ready(tool("rtnl-workload", "--mode", "hold", "--seconds", 60, "--processes", 1))
        self.finish(recorder)
        workload.send_signal(signal.SIGTERM)
        report = read_json(self.path("r.json"))
        victim = truth["victims"][0]["tid"]
        entries = still_blocked(report, victim)
        self.assertEqual(len(entries), 1)
        self.assertFalse(entries[0]["started_before_recording"])
        self.assertIn(RTNL, str(entries[0]["lock"]))
        self.assertEqual(entries[0]["owner"]["tid"], truth["holder"]["tid"])
