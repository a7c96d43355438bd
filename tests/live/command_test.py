# SPDX-License-Identifier: BSD-2-Clause
"""The command line of record: commands, their streams and exit status, privilege, the file it leaves."""

import os
import shutil
import stat
import subprocess

from harness import DEADLINE, RTNLPROF, LiveTest, read_json, tool


class CommandTest(LiveTest):
    def test_without_privilege_it_says_so_in_one_line(self):
        self.need("setpriv")
        binary = self.path("rtnlprof")
        shutil.copy(RTNLPROF, binary)
        os.chmod(binary, 0o755)
        os.chmod(self.directory, 0o777)
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
             binary, "record", "-d", "1", "-o", self.path("r.rtnl")],
            capture_output=True, text=True, timeout=DEADLINE, check=False, cwd=self.directory)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assert_one_error_line(done.stderr)
        self.assertRegex(done.stderr, r"root|CAP_|sudo")
        self.assertFalse(os.path.exists(self.path("r.rtnl")), "a recording nobody could make was left behind")

    def test_a_command_that_cannot_be_run_is_trouble(self):
        done = self.run_tool("record", "-o", self.path("r.rtnl"), "--", "nosuchcommand", expect=2)
        self.assert_one_error_line(done.stderr)
        self.assertIn("nosuchcommand", done.stderr)
        done = self.run_tool("record", "-o", self.path("r.rtnl"), "--", "/etc/passwd", expect=2)
        self.assert_one_error_line(done.stderr)

    def test_the_commands_exit_status_is_recorded_and_returned_on_demand(self):
        report = self.record("sh", "-c", "exit 3")
        self.assertEqual(report["recording"]["exit_status"], 3)
        self.assertIn("exit 3", report["recording"]["command"])
        self.run_tool("record", "-q", "--exit-status", "-o", self.path("r.rtnl"), "--", "sh", "-c", "exit 3", expect=3)
        report = self.record("sh", "-c", "kill -KILL $$")
        self.assertEqual(report["recording"]["exit_status"], 128 + 9)

    def test_the_command_keeps_its_streams_and_the_report_follows(self):
        done = self.run_tool("record", "-o", self.path("r.rtnl"), "--", "sh", "-c", "cat; echo oops >&2",
                             input=b"from stdin\n")
        self.assertTrue(done.stdout.startswith("from stdin\n"), done.stdout[:200])
        self.assertIn("oops", done.stderr)
        self.assertIn("RECORDING QUALITY", done.stdout)
        done = self.run_tool("record", "-q", "-o", self.path("r.rtnl"), "--", "cat", input=b"only this\n")
        self.assertEqual((done.stdout, done.stderr), ("only this\n", ""))

    def test_a_recording_to_stdout_is_nothing_but_the_recording(self):
        done = subprocess.run([RTNLPROF, "record", "-o", "-", "--", "echo", "from the command"], capture_output=True,
                              timeout=DEADLINE, check=False, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"from the command", done.stderr)
        self.assertNotIn(b"from the command\n", done.stdout[:64])
        report = self.run_tool("report", "-", "--format", "text", input=done.stdout)
        self.assertIn("RECORDING QUALITY", report.stdout)

    def test_the_file_is_private_and_named_by_time(self):
        os.umask(0)
        self.addCleanup(os.umask, 0o022)
        self.run_tool("record", "-q", "--", "true")
        files = [name for name in os.listdir(self.directory) if name.endswith(".rtnl")]
        self.assertEqual(len(files), 1, files)
        self.assertRegex(files[0], r"^rtnlprof-\d{4}-?\d\d-?\d\dT?-?\d\d[:-]?\d\d[:-]?\d\d.*\.rtnl$")
        self.assertEqual(stat.S_IMODE(os.stat(self.path(files[0])).st_mode), 0o600)

    def test_an_exported_recording_imports_to_the_same_report(self):
        self.record(*tool("rtnl-workload", "--mode", "ladder", "--seconds", 2, "--truth", "/dev/null"))
        exported = self.run_tool("export", self.path("r.rtnl"), "--format", "ndjson").stdout
        with open(self.path("r.ndjson"), "w", encoding="utf-8") as file:
            file.write(exported)
        self.run_tool("import", self.path("r.ndjson"), "--format", "ndjson", "-o", self.path("again.rtnl"))
        first, second = self.report(self.path("r.rtnl")), self.report(self.path("again.rtnl"))
        for key in first:
            self.assertEqual(second[key], first[key], key)
        self.assertEqual(self.run_tool("report", self.path("again.rtnl")).stdout,
                         self.run_tool("report", self.path("r.rtnl")).stdout)

    def test_a_truncated_recording_reports_what_is_whole(self):
        self.record(*tool("rtnl-workload", "--mode", "ladder", "--seconds", 3, "--truth", "/dev/null"))
        whole = self.report(self.path("r.rtnl"))
        self.assertTrue(whole["recording"]["complete"])
        with open(self.path("r.rtnl"), "rb") as file:
            data = file.read()
        with open(self.path("cut.rtnl"), "wb") as file:
            file.write(data[:len(data) - 7])
        self.assertFalse(self.report(self.path("cut.rtnl"))["recording"]["complete"])
        with open(self.path("junk.rtnl"), "wb") as file:
            file.write(b"\x7fELF" + bytes(4096))
        self.assert_one_error_line(self.run_tool("report", self.path("junk.rtnl"), expect=2).stderr)

    def test_usage_errors_are_trouble_in_one_line(self):
        for arguments in (["-d", "minus"], ["-d", "-1"], ["--min-sleep", "3 parsecs"], ["--nosuchoption"]):
            done = self.run_tool("record", *arguments, expect=2)
            self.assertEqual(done.stdout, "")
            self.assert_one_error_line(done.stderr)

    def test_json_goes_to_the_file_asked_for_in_the_same_go(self):
        self.run_tool("record", "-q", "-d", "0.5", "-o", self.path("r.rtnl"), "--json", self.path("r.json"))
        self.assertEqual(read_json(self.path("r.json"))["schema"], "rtnlprof.report/1")
