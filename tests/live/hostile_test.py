# SPDX-License-Identifier: BSD-2-Clause
"""Names made to break a terminal, JSON or HTML reach none of them."""

import json
import re
import subprocess

import jsonschema

from harness import DEADLINE, RTNLPROF, LiveTest, read_json, schema, tool


class HostileTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.record(*tool("hostile-names", "--seconds", 3, "--truth", self.path("truth.json")),
                    options=("--min-sleep", "0"))
        self.pids = {entry["pid"] for entry in read_json(self.path("truth.json"))["tasks"]}

    def output(self, *arguments):
        done = subprocess.run([RTNLPROF, *arguments], capture_output=True, timeout=DEADLINE, check=False,
                              cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_clean_text(done.stderr)
        return done.stdout

    def test_text_has_no_control_characters(self):
        data = self.output("report", "r.rtnl", "--color", "never")
        self.assert_clean_text(data)
        for line in data.decode().splitlines():
            self.assertFalse(line.startswith("rtnlprof: forged"), "a task's name forged a line")

    def test_color_adds_nothing_but_colors(self):
        plain = self.output("report", "r.rtnl", "--color", "never")
        colored = self.output("report", "r.rtnl", "--color", "always")
        self.assertEqual(re.sub(rb"\x1b\[[0-9;]*m", b"", colored), plain)

    def test_json_is_valid_and_complete(self):
        data = self.output("report", "r.rtnl", "--format", "json")
        document = json.loads(data.decode("utf-8", "strict"))
        jsonschema.validate(document, schema())
        self.assertNotIn("injected", document)
        self.assertLessEqual(self.pids, {entry["pid"] for entry in document["tasks"]})
        for entry in document["tasks"]:
            self.assertNotIn("injected", entry)

    def test_exported_events_are_valid_lines(self):
        for line in self.output("export", "r.rtnl", "--format", "ndjson").split(b"\n"):
            if line:
                self.assertNotIn("injected", json.loads(line.decode("utf-8", "strict")))
