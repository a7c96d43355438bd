# SPDX-License-Identifier: BSD-2-Clause
"""Waits for the RTNL: named, counted, measured and blamed as the workload that made them says."""

import json
import time

from harness import RTNL, LiveTest, by_tid, lock_named, read_json, tool


class RtnlTest(LiveTest):
    def ladder(self, *options, seconds=3):
        truth_path = self.path("truth.json")
        report = self.record(*tool("rtnl-workload", "--mode", "ladder", "--seconds", seconds, "--truth", truth_path,
                                   *options))
        return report, read_json(truth_path)

    def test_waits_agree_with_the_victims_own_clocks(self):
        report, truth = self.ladder("--processes", 2, "--threads", 2)
        lock = lock_named(report)
        for victim in truth["victims"]:
            waiter = by_tid(lock["waiters"], victim["tid"])
            self.assertIsNotNone(waiter, f"{victim['comm']} is not among the waiters")
            self.assertEqual((waiter["pid"], waiter["comm"]), (victim["pid"], victim["comm"]))
            self.assert_near(waiter["waits"]["total_ns"], victim["waited_ns"], 0.05, victim["comm"])
            self.assert_near(waiter["waits"]["max_ns"], victim["max_wait_ns"], 0.05, victim["comm"] + " longest")
            # Requests that waited less than the workload counts may be among them, but not many.
            self.assertGreaterEqual(waiter["waits"]["count"], victim["waits"])
            self.assertLessEqual(waiter["waits"]["count"], 1.1 * victim["waits"] + 2)
        self.assert_near(lock["waits"]["total_ns"], truth["waited_ns"], 0.05, "all victims")
        self.assertEqual(report["recording"]["lost"]["total"], 0)

    def test_owners_are_named_for_what_was_waited(self):
        for kind in ("sleep", "run"):
            with self.subTest(kind):
                report, truth = self.ladder("--hold-kind", kind)
                holder = truth["holder"]["tid"]
                lock = lock_named(report)
                owners = [owner for waiter in lock["waiters"] for owner in waiter["owners"]]
                # Every waiter's time is split completely, a part without a known owner included.
                self.assert_near(sum(owner["waited_ns"] for owner in owners), lock["waits"]["total_ns"], 0.001, "split")
                known = sum(owner["waited_ns"] for owner in owners if owner["tid"] is not None)
                self.assertGreaterEqual(known, 0.8 * lock["waits"]["total_ns"])
                held = sum(owner["waited_ns"] for owner in owners if owner["tid"] == holder)
                self.assertGreaterEqual(held, 0.8 * lock["waits"]["total_ns"])
                self.assertEqual(by_tid(lock["holders"], holder)["comm"], "rtnl-holder")
                self.assertEqual(lock["holders"][0]["tid"], holder, "the worst holder comes first")

    def test_worst_waits_carry_wall_clock_time(self):
        before = time.time()
        report, _ = self.ladder()
        worst = lock_named(report)["worst"]
        self.assertGreater(len(worst), 0)
        waits = [entry["waited_ns"] for entry in worst]
        self.assertEqual(waits, sorted(waits, reverse=True))
        for entry in worst:
            self.assertRegex(entry["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")
            self.assertGreaterEqual(entry["at"][:19], time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(before - 1)))

    def test_a_storm_of_devices_and_namespaces_is_recorded_without_loss(self):
        truth_path = self.path("truth.json")
        report = self.record(*tool("rtnl-workload", "--seconds", 4, "--truth", truth_path))
        self.assertEqual(report["recording"]["lost"]["total"], 0, report["recording"]["lost"])
        lock = lock_named(report)
        self.assertGreater(lock["waits"]["count"], 20)
        for worker in read_json(truth_path)["workers"]:
            waiter = by_tid(lock["waiters"], worker["tid"])
            if worker["role"] != "victim" or waiter is None:
                continue
            # A victim cannot have waited longer than its requests took.
            self.assertLessEqual(waiter["waits"]["total_ns"], worker["total_ns"])
            self.assertGreaterEqual(waiter["waits"]["total_ns"], 0.8 * worker["waited_ns"])

    def test_an_idle_recording_lists_the_rtnl_with_no_waits_of_its_own_making(self):
        json_path = self.path("idle.json")
        self.run_tool("record", "-q", "-d", "1", "-o", self.path("idle.rtnl"), "--json", json_path)
        report = read_json(json_path)
        lock = lock_named(report)
        self.assertLess(lock["waits"]["total_ns"], 100_000_000)
        self.assertAlmostEqual(report["recording"]["duration_ns"], 1e9, delta=0.3e9)

    def test_the_text_report_has_every_section(self):
        self.ladder()
        text = self.run_tool("report", self.path("r.rtnl")).stdout
        for heading in ("SCHEDULER ACTIVITY REPORT", "COOPERATING/COMPETING TASKS REPORT", "ICS", "SLEEP REPORT",
                        "Kernel Functions calling sleep()",
                        "Process Sleep stack traces (sort by % of total wait time)", "LOCK CONTENTION REPORT",
                        "LOCK HOLDERS", "WORST WAITS", "RECORDING QUALITY"):
            self.assertIn(heading, text)
        self.assertIn(RTNL, text)
        self.assertIn("rtnl-holder", text)

    def test_filters_choose_whose_waits_are_shown(self):
        full, truth = self.ladder()
        victim = truth["victims"][1]
        shown = self.report(self.path("r.rtnl"), "--comm", victim["comm"])
        self.assertEqual({entry["tid"] for entry in lock_named(shown)["waiters"]}, {victim["tid"]})
        self.assertIsNotNone(by_tid(lock_named(shown)["holders"], truth["holder"]["tid"]),
                             "the holder must stay, whoever is asked for")
        shown = self.report(self.path("r.rtnl"), "--tid", victim["tid"])
        self.assertEqual({entry["tid"] for entry in lock_named(shown)["waiters"]}, {victim["tid"]})
        # Waits lie between half a hold and a whole one.
        limit = max(wait["max_wait_ns"] for wait in truth["victims"]) * 3 // 4
        shown = self.report(self.path("r.rtnl"), "--min-wait", f"{limit // 1000}us")
        self.assertGreaterEqual(lock_named(shown)["waits"]["min_ns"], limit // 1000 * 1000)
        self.assertLess(lock_named(shown)["waits"]["count"], lock_named(full)["waits"]["count"])

    def test_a_report_is_the_same_every_time(self):
        self.ladder()
        first = self.run_tool("report", self.path("r.rtnl"), "--format", "json").stdout
        self.assertEqual(first, self.run_tool("report", self.path("r.rtnl"), "--format", "json").stdout)
        self.assertEqual(json.loads(first), read_json(self.path("r.rtnl.json")))
