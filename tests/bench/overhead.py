#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""How much slower context switches get under rtnlprof and its peers, on this machine, in one run.

Each profiler is measured in pairs, without and with it, one right after the other and in alternating order; the result
is the median of the pairs' ratios. The pair nothing/nothing (A/A) shows the noise. A pair counts only when the profiler
was certainly at work, and rtnlprof's only when it lost nothing.

Needs root and the packages of `tools/setup.sh bench`. Not part of the test suite: it takes half an hour and an
otherwise idle machine.
"""

import argparse
import glob
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BENCHES = {
    "pipe": ["perf", "bench", "sched", "pipe", "-l", "{pipe_loops}"],
    "messaging": ["perf", "bench", "sched", "messaging", "-g", "4", "-l", "{messaging_loops}"],
}
SETTLE_SECONDS = 0.3
STOP_SECONDS = 120


def bpf_programs():
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True)
    return {program["id"] for program in json.loads(shown.stdout)}


def perf_is_recording(process):
    return any("[perf_event]" in os.readlink(link) for link in glob.glob(f"/proc/{process.pid}/fd/*")
               if os.path.islink(link))


class Profiler:
    """One way to watch a benchmark. start() returns when it is attached; stop() says what it saw or raises."""

    def __init__(self, name, command, uses_bpf=True):
        self.name, self.command, self.uses_bpf = name, command, uses_bpf

    def start(self, directory):
        output = os.path.join(directory, "output")
        self.paths = {"output": output}
        command = [word.format(output=output) for word in self.command]
        before = bpf_programs()
        with open(os.path.join(directory, "text"), "wb") as text:
            self.process = subprocess.Popen(command, stdout=text, stderr=subprocess.STDOUT, cwd=directory)
        self.paths["text"] = os.path.join(directory, "text")
        deadline = time.monotonic() + 60
        while not ((bpf_programs() - before) if self.uses_bpf else perf_is_recording(self.process)):
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(self.paths["text"], errors="replace", encoding="utf-8") as text:
                    raise RuntimeError(f"{self.name} did not start: {text.read()[-500:]}")
            time.sleep(0.05)
        time.sleep(SETTLE_SECONDS)

    def stop(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended before the benchmark did")
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=STOP_SECONDS)
        return self.evidence()

    def evidence(self):
        """What proves that it was at work."""
        path = self.paths["output"] if os.path.exists(self.paths["output"]) else self.paths["text"]
        size = os.path.getsize(path)
        if size < 1000:
            raise RuntimeError(f"{self.name} saw next to nothing ({size} bytes)")
        return {"bytes": size}


class Rtnlprof(Profiler):
    """Proves itself by its own report."""

    def __init__(self, name, binary, options):
        super().__init__(name, [binary, "record", "-q", "-o", "{output}", *options])
        self.binary = binary

    def evidence(self):
        shown = subprocess.run([self.binary, "report", self.paths["output"], "--format", "json"], capture_output=True,
                               text=True, check=True)
        report = json.loads(shown.stdout)
        lost = report["recording"]["lost"]["total"]
        wakeups = sum(entry["count"] for task in report["tasks"] if task["comm"].startswith(("sched-", "perf"))
                      for entry in task["woken_by"])
        if wakeups < 1000:
            raise RuntimeError(f"{self.name} saw only {wakeups} wakeups of the benchmark")
        if lost:
            raise RuntimeError(f"{self.name} lost {lost} events")
        return {"bytes": os.path.getsize(self.paths["output"]), "wakeups": wakeups, "lost": lost}


def run_bench(command, pinned):
    done = subprocess.run((["taskset", "-c", "0"] if pinned else []) + command, capture_output=True, text=True,
                          check=True)
    return float(re.search(r"Total time: ([\d.]+)", done.stdout).group(1))


def measure_pair(profiler, command, pinned, profiler_first):
    """(seconds without, seconds with, evidence)."""
    seconds = {}
    evidence = None
    for watched in ((True, False) if profiler_first else (False, True)):
        if not watched or profiler is None:
            seconds[watched] = run_bench(command, pinned)
            continue
        directory = tempfile.mkdtemp(prefix="overhead.", dir=os.environ.get("TMPDIR", "/tmp"))
        try:
            profiler.start(directory)
            try:
                seconds[True] = run_bench(command, pinned)
            finally:
                if profiler.process.poll() is not None:
                    raise RuntimeError(f"{profiler.name} ended during the benchmark")
                evidence = profiler.stop()
        finally:
            if profiler.process.poll() is None:
                profiler.process.kill()
                profiler.process.wait()
            shutil.rmtree(directory, ignore_errors=True)
    return seconds[False], seconds[True], evidence


def summarize(pairs):
    ratios = sorted(watched / alone for alone, watched, _ in pairs)
    quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
    return {
        "pairs": len(pairs),
        "ratio": statistics.median(ratios),
        "ratio_quartiles": [quartiles[0], quartiles[2]],
        "seconds_alone": statistics.median(pair[0] for pair in pairs),
        "seconds_watched": statistics.median(pair[1] for pair in pairs),
        "evidence": pairs[-1][2],
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rtnlprof", default="build/release/rtnlprof", metavar="BINARY")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--bench", action="append", choices=list(BENCHES), help="default: both")
    parser.add_argument("--placement", action="append", choices=["free", "pinned"], help="default: both")
    parser.add_argument("--only", action="append", metavar="NAME", help="only profilers whose name contains NAME")
    parser.add_argument("--pipe-loops", type=int, default=50000)
    parser.add_argument("--messaging-loops", type=int, default=400)
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    return parser.parse_args()


def profilers(binary):
    binary = os.path.abspath(binary)
    return [
        ("nothing (A/A)", None),
        ("rtnlprof record", Rtnlprof("rtnlprof record", binary, [])),
        ("rtnlprof record --min-sleep 0", Rtnlprof("rtnlprof record --min-sleep 0", binary, ["--min-sleep", "0"])),
        ("perf sched record", Profiler("perf sched record", ["perf", "sched", "record", "-o", "{output}"], False)),
        ("offcputime", Profiler("offcputime", ["offcputime"])),
        ("wakeuptime", Profiler("wakeuptime", ["wakeuptime"])),
    ]


def main():
    arguments = parse_arguments()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if os.geteuid() != 0:
        print("overhead.py: tracing needs root", file=sys.stderr)
        return 2
    chosen = [(name, profiler) for name, profiler in profilers(arguments.rtnlprof)
              if not arguments.only or any(part in name for part in arguments.only)]
    results = {"kernel": platform.release(), "cpus": os.cpu_count(), "started_at": time.strftime("%FT%TZ", time.gmtime()),
               "measurements": []}
    print(f"{'benchmark':<10} {'where':<7} {'profiler':<30} {'alone s':>8} {'with s':>8} {'ratio':>6}  quartiles")
    for bench in arguments.bench or BENCHES:
        command = [word.format(pipe_loops=arguments.pipe_loops, messaging_loops=arguments.messaging_loops)
                   for word in BENCHES[bench]]
        for placement in arguments.placement or ["free", "pinned"]:
            # All profilers take turns, so that a slow change of the machine hits them alike.
            pairs = {name: [] for name, _ in chosen}
            troubles = {}
            for turn in range(arguments.pairs):
                for name, profiler in chosen:
                    if name in troubles:
                        continue
                    try:
                        pairs[name].append(measure_pair(profiler, command, placement == "pinned", turn % 2 == 1))
                    except (RuntimeError, subprocess.SubprocessError) as error:
                        troubles[name] = str(error)
            for name, _ in chosen:
                entry = {"bench": bench, "placement": placement, "profiler": name}
                if name in troubles:
                    entry["trouble"] = troubles[name]
                    print(f"{bench:<10} {placement:<7} {name:<30} {troubles[name]}", flush=True)
                else:
                    entry.update(summarize(pairs[name]))
                    low, high = entry["ratio_quartiles"]
                    print(f"{bench:<10} {placement:<7} {name:<30} {entry['seconds_alone']:8.3f} "
                          f"{entry['seconds_watched']:8.3f} {entry['ratio']:6.3f}  {low:.3f}-{high:.3f}", flush=True)
                results["measurements"].append(entry)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
    return 1 if any("trouble" in entry for entry in results["measurements"]) else 0


if __name__ == "__main__":
    sys.exit(main())
