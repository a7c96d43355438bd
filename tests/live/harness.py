# SPDX-License-Identifier: BSD-2-Clause
"""What the live tests share: running the binary and the workloads, reading reports, and knowing when to skip.

A test is skipped only for what this machine lacks (root, BTF, a program), never for what rtnlprof fails to do.
"""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import jsonschema

RTNLPROF = os.environ.get("RTNLPROF", "build/release/rtnlprof")
TOOLS = os.environ.get("RTNLPROF_TOOLS", "build/release/tools")
RTNL = "rtnl_mutex"
SECOND = 1_000_000_000
DEADLINE = 60  # nothing here takes so long by itself

_schema = None


def schema():
    """The JSON schema of reports, as the tool prints it."""
    global _schema  # pylint: disable=global-statement
    if _schema is None:
        _schema = json.loads(subprocess.run([RTNLPROF, "report", "--print-schema"], capture_output=True, text=True,
                                            timeout=DEADLINE, check=True).stdout)
    return _schema


def tool(name, *arguments):
    return [os.path.join(TOOLS, name), *map(str, arguments)]


def read_json(path):
    with open(path, encoding="utf-8", errors="strict") as file:
        return json.load(file)


class LiveTest(unittest.TestCase):
    """Gives every test a directory of its own and the means to run things in it."""

    maxDiff = 2000

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("tracing needs root")
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            self.skipTest("this kernel has no BTF")
        self.directory = tempfile.mkdtemp(prefix="rtnlprof-live.")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def need(self, *programs):
        for program in programs:
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")

    def run_tool(self, *arguments, expect=0, **options):
        """Runs rtnlprof; text of stdout and stderr in the result. Fails when the exit status is not `expect`."""
        options.setdefault("timeout", DEADLINE)
        options.setdefault("cwd", self.directory)
        done = subprocess.run([RTNLPROF, *map(str, arguments)], capture_output=True, check=False, **options)
        done.stdout = done.stdout.decode("utf-8", "replace")
        done.stderr = done.stderr.decode("utf-8", "replace")
        self.assertEqual(done.returncode, expect, f"rtnlprof {arguments}\nstderr: {done.stderr}\n{done.stdout[-2000:]}")
        return done

    def report(self, recording, *arguments, validate=True):
        """The JSON report of a recording, checked against the schema."""
        document = json.loads(self.run_tool("report", recording, "--format", "json", *arguments).stdout)
        if validate:
            jsonschema.validate(document, schema())
        return document

    def record(self, *command, options=(), name="r.rtnl"):
        """Records while `command` runs; returns the JSON report."""
        json_path = self.path(name + ".json")
        self.run_tool("record", "-q", "-o", self.path(name), "--json", json_path, *options, "--", *command)
        document = read_json(json_path)
        jsonschema.validate(document, schema())
        return document

    def start(self, command, **options):
        """Starts a program that is killed, if it still runs, when the test ends."""
        options.setdefault("cwd", self.directory)
        process = subprocess.Popen(list(map(str, command)), **options)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

        self.addCleanup(end)
        return process

    def start_ready(self, command):
        """Starts a workload, waits for its line "ready JSON" on stderr; returns (process, the JSON)."""
        process = self.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        readable, _, _ = select.select([process.stderr], [], [], DEADLINE)
        line = process.stderr.readline().decode() if readable else ""
        self.assertTrue(line.startswith("ready "), f"{command}: {line}")
        return process, json.loads(line[len("ready "):])

    def start_recorder(self, *arguments, **options):
        """Starts `rtnlprof record` and returns when its programs are attached."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        before = bpf_programs()
        process = self.start([RTNLPROF, "record", *arguments], **options)
        wait_until(lambda: process.poll() is not None or len(bpf_programs() - before) >= 3)
        self.assertIsNone(process.poll(), "the recorder ended at once")
        time.sleep(0.5)
        return process

    def finish(self, process, expect=0, timeout=DEADLINE):
        """Waits for a process with piped output; returns (stdout, stderr) as text."""
        out, err = process.communicate(timeout=timeout)
        out, err = (out or b"").decode("utf-8", "replace"), (err or b"").decode("utf-8", "replace")
        self.assertEqual(process.returncode, expect, f"stderr: {err}\n{out[-2000:]}")
        return out, err

    def assert_one_error_line(self, stderr):
        lines = stderr.splitlines()
        self.assertEqual(len(lines), 1, stderr)
        self.assertTrue(lines[0].startswith("rtnlprof: "), stderr)

    def assert_near(self, measured, truth, share, what):
        self.assertLessEqual(abs(measured - truth), share * truth,
                             f"{what}: reported {measured}, truth {truth}, {100 * (measured / truth - 1):+.2f} %")

    def assert_clean_text(self, data):
        """No control character, no bidirectional override, valid UTF-8."""
        text = data.decode("utf-8", "strict")
        bad = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff]", text)
        if bad is not None:
            at = bad.start()
            self.fail(f"U+{ord(bad.group()):04X} in the output: {text[max(0, at - 60):at + 60]!r}")


def bpf_programs():
    """Ids of the loaded BPF programs."""
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=False,
                           env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    return {program["id"] for program in json.loads(shown.stdout or "[]")}


def wait_until(condition, timeout=DEADLINE, step=0.05):
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain")
        time.sleep(step)


def lock_named(report, name=RTNL):
    found = [lock for lock in report["locks"] if lock["name"] == name]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} locks named {name} among {[lock['name'] for lock in report['locks']]}")
    return found[0]


def task(report, tid):
    found = [entry for entry in report["tasks"] if entry["tid"] == tid]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} tasks with tid {tid}")
    return found[0]


def by_tid(entries, tid):
    return next((entry for entry in entries if entry and entry.get("tid") == tid), None)


def interrupt(process):
    process.send_signal(signal.SIGINT)
