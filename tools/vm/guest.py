# SPDX-License-Identifier: BSD-2-Clause
"""One boot of a QEMU guest: an initramfs of busybox and a few modules, the host's root under an overlay, one job."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

MODULES = ["virtio_pci", "9p", "9pnet_virtio", "overlay"]
# What must not appear on the guest's console or in its log.
TROUBLE = re.compile(
    r"Kernel panic|BUG: soft lockup|hard LOCKUP|INFO: task .* blocked for more than|rcu: INFO: .* detected stalls|"
    r"self-detected stall|Oops:|BUG: unable to handle|general protection fault|WARNING: possible|kernel BUG at")
FATAL = re.compile(r"Kernel panic|BUG: soft lockup|hard LOCKUP|Oops:|kernel BUG at")
EXCERPT_LINES = 30
POLL_SECONDS = 0.1


class GuestError(Exception):
    """The guest could not be started at all."""


class Outcome:
    """How a boot ended. status is the job's, None when it did not end by itself."""

    def __init__(self):
        self.status = None
        self.started = False
        self.timed_out = False
        self.trouble = ""  # excerpt of the guest's log

    @property
    def good(self):
        return self.status is not None and not self.trouble and not self.timed_out


def _busybox():
    for candidate in ("/usr/bin/busybox", "/bin/busybox"):
        if os.path.exists(candidate):
            linked = subprocess.run(["ldd", candidate], capture_output=True, text=True, check=False)
            if "not a dynamic" in linked.stdout + linked.stderr:
                return candidate
    raise GuestError("no static busybox; install busybox-static")


def _build_initramfs(kernel, directory):
    root = directory / "initramfs"
    for name in ("bin", "modules", "proc", "sys", "dev"):
        (root / name).mkdir(parents=True)
    shutil.copy(_busybox(), root / "bin" / "busybox")
    shutil.copy(pathlib.Path(__file__).parent / "guest-init", root / "init")
    (root / "init").chmod(0o755)
    order = []
    for file in kernel.module_files(MODULES):
        target = root / "modules" / file.name
        if file.suffix == ".xz":
            target = target.with_suffix("")
            with open(target, "wb") as output:
                subprocess.run(["xz", "-dc", str(file)], stdout=output, check=True)
        else:
            shutil.copy(file, target)
        order.append(target.name)
    (root / "modules" / "order").write_text("".join(name + "\n" for name in order))
    image = directory / "initramfs.cpio"
    names = "\n".join(str(path.relative_to(root)) for path in [root, *sorted(root.rglob("*"))])
    with open(image, "wb") as output:
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=root, input=names.encode(),
                       stdout=output, check=True)
    return image


def _share(tag, path, read_only):
    options = f"local,id={tag},path={path},security_model=none,multidevs=remap" + (",readonly=on" if read_only else "")
    return ["-fsdev", options, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


class Guest:
    """Settings of a guest; `run` boots it once."""

    def __init__(self, kernel, cpus=2, cpu="max", memory="2G", accel="tcg", out=None, environment=()):
        self.kernel = kernel
        self.cpus = cpus
        self.cpu = cpu
        self.memory = memory
        self.out = out
        self.environment = list(environment)
        self.accel = accel

    def _command(self, initramfs, control, interactive):
        accel = "tcg,thread=multi" if self.accel == "tcg" else self.accel
        console = "console=ttyS0 " + ("" if interactive else "quiet ")
        command = [
            "qemu-system-x86_64", "-accel", accel, "-cpu", self.cpu, "-smp", str(self.cpus), "-m", self.memory,
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none",
            "-kernel", str(self.kernel.image), "-initrd", str(initramfs),
            "-append", console + "panic=-1 oops=panic mitigations=off random.trust_cpu=on rdinit=/init",
            *_share("hostroot", "/", True), *_share("control", control, False),
            *_share("modules", self.kernel.modules, True)]
        if self.out is not None:
            command += _share("out", self.out, False)
        command += ["-serial", "mon:stdio" if interactive else f"file:{control.parent / 'console'}"]
        return command

    def run(self, job, directory, timeout, interactive=False):
        """Boots, runs the shell script `job` in `directory`, copies its output through, returns the Outcome."""
        if shutil.which("qemu-system-x86_64") is None:
            raise GuestError("no qemu-system-x86_64; install qemu-system-x86")
        with tempfile.TemporaryDirectory(prefix="rtnlprof-vm.") as name:
            scratch = pathlib.Path(name)
            control = scratch / "control"
            control.mkdir()
            (control / "job").write_text(job)
            (control / "directory").write_text(directory + "\n")
            (control / "environment").write_text("".join(
                f"export {key}={shlex.quote(value)}\n" for key, value in (v.split("=", 1) for v in self.environment)))
            if interactive:
                (control / "interactive").touch()
            if self.out is not None:
                (control / "out").touch()
            command = self._command(_build_initramfs(self.kernel, scratch), control, interactive)
            if interactive:
                subprocess.run(command, check=False)
                outcome = Outcome()
                outcome.status, outcome.started = 0, True
                return outcome
            return _watch(command, scratch, control, timeout)


class _Follower:
    """Copies what is appended to a file to a stream."""

    def __init__(self, path, stream):
        self.path, self.stream, self.offset = path, stream, 0

    def copy(self):
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                data = file.read()
        except FileNotFoundError:
            return
        if data:
            self.offset += len(data)
            self.stream.buffer.write(data)
            self.stream.flush()


def _excerpt(text, pattern):
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if pattern.search(line):
            return "\n".join(lines[max(0, index - 3):index + EXCERPT_LINES])
    return ""


def _read(path):
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""


def _watch(command, scratch, control, timeout):
    outcome = Outcome()
    followers = [_Follower(control / "stdout", sys.stdout), _Follower(control / "stderr", sys.stderr)]
    deadline = time.monotonic() + timeout
    with open(scratch / "qemu", "wb") as messages:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages)
    try:
        while process.poll() is None:
            for follower in followers:
                follower.copy()
            if FATAL.search(_read(scratch / "console")):
                time.sleep(2)  # let the rest of the excerpt come
                break
            if time.monotonic() > deadline:
                outcome.timed_out = True
                break
            time.sleep(POLL_SECONDS)
    finally:
        process.kill()
        process.wait()
    for follower in followers:
        follower.copy()
    outcome.started = (control / "started").exists()
    status = _read(control / "status").strip()
    if status:
        outcome.status = int(status)
    console, log = _read(scratch / "console"), _read(control / "dmesg")
    outcome.trouble = _excerpt(console, TROUBLE) or _excerpt(log, TROUBLE)
    if outcome.status is None and not outcome.timed_out and not outcome.trouble:
        tail = "\n".join((console + _read(scratch / "qemu")).splitlines()[-EXCERPT_LINES:])
        outcome.trouble = "the guest ended without a status\n" + tail
    return outcome
