# SPDX-License-Identifier: BSD-2-Clause
"""Debian kernels for guests: fetched with apt-get, unpacked in a cache, never installed on this machine."""

import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

# Flavour -> pattern of the package that brings it. The newest package wins.
FLAVOURS = {
    "6.1": r"linux-image-6\.1\.0-(\d+)-amd64",
    "6.1-rt": r"linux-image-6\.1\.0-(\d+)-rt-amd64",
    "6.12": r"linux-image-6\.12\.(\d+)\+deb12-amd64",
    "6.12-rt": r"linux-image-6\.12\.(\d+)\+deb12-rt-amd64",
}


class KernelError(Exception):
    """A kernel that cannot be had; the message says why and what to do."""


def cache_directory():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = pathlib.Path(base) / "rtnlprof" / "kernels"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _package_number(pattern, name):
    match = re.fullmatch(pattern, name)
    return int(match.group(1)) if match else None


def _newest(pattern, names):
    numbered = [(number, name) for name in names if (number := _package_number(pattern, name)) is not None]
    return max(numbered)[1] if numbered else None


def _newest_cached(pattern, cache):
    complete = [entry.name for entry in cache.iterdir() if (entry / "complete").exists()]
    return _newest(pattern, complete)


def _newest_offered(pattern):
    answer = subprocess.run(["apt-cache", "pkgnames", "linux-image-"], capture_output=True, text=True, check=False)
    offered = sorted(answer.stdout.split(), key=lambda name: _package_number(pattern, name) or -1, reverse=True)
    for name in offered:
        if _package_number(pattern, name) is None:
            break
        # A name may be known without a version that can still be downloaded.
        policy = subprocess.run(["apt-cache", "policy", name], capture_output=True, text=True, check=False).stdout
        if re.search(r"Candidate: (?!\(none\))", policy):
            return name
    return None


def _fetch(package, cache):
    with tempfile.TemporaryDirectory(dir=cache) as directory:
        work = pathlib.Path(directory)
        work.chmod(0o755)  # apt drops its privilege to download
        got = subprocess.run(["apt-get", "-q", "download", package], cwd=work, capture_output=True, text=True,
                             check=False)
        files = list(work.glob("*.deb"))
        if got.returncode != 0 or not files:
            raise KernelError(f"cannot download {package}: {got.stderr.strip()}; is the package index fresh "
                              "(apt-get update)?")
        tree = work / "tree"
        subprocess.run(["dpkg-deb", "-x", str(files[0]), str(tree)], check=True)
        files[0].unlink()
        # Debian 12 ships /lib/modules; a merged /usr may ship it below usr.
        if not (tree / "lib" / "modules").is_dir():
            shutil.move(str(tree / "usr" / "lib"), str(tree / "lib"))
        release = next((tree / "lib" / "modules").iterdir()).name
        subprocess.run(["depmod", "-b", str(tree), release], check=True)
        (tree / "complete").write_text(release + "\n")
        target = cache / package
        if target.exists():
            shutil.rmtree(target)
        tree.rename(target)


class Kernel:
    """An unpacked kernel: its image and its modules."""

    def __init__(self, package, root):
        self.package = package
        self.root = root
        self.release = (root / "complete").read_text().strip()

    @property
    def image(self):
        return self.root / "boot" / f"vmlinuz-{self.release}"

    @property
    def modules(self):
        return self.root / "lib" / "modules"

    def module_files(self, names):
        """The files of `names` and all they depend on, in loading order; built-in ones have none."""
        files = []
        for name in names:
            shown = subprocess.run(
                ["modprobe", "-d", str(self.root), "-S", self.release, "--show-depends", name],
                capture_output=True, text=True, check=False)
            if shown.returncode != 0:
                raise KernelError(f"{self.package} has no module {name}: {shown.stderr.strip()}")
            for line in shown.stdout.splitlines():
                words = line.split()
                if words and words[0] == "insmod" and words[1] not in files:
                    files.append(words[1])
        return [pathlib.Path(file) for file in files]


def find_kernel(flavour, refresh=False):
    """The kernel of a flavour, from the cache or, when it is not there or `refresh` is set, from the package archive."""
    if flavour not in FLAVOURS:
        raise KernelError(f"unknown kernel {flavour}; known: {', '.join(FLAVOURS)}")
    pattern = FLAVOURS[flavour]
    cache = cache_directory()
    # Tests run side by side: one of them downloads, the others wait for it.
    with open(cache / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        package = _newest_cached(pattern, cache)
        if package is None or refresh:
            offered = _newest_offered(pattern)
            if offered is None and package is None:
                raise KernelError(f"no package matches {pattern}; run apt-get update, or add the suite that has it")
            if offered is not None and not (cache / offered / "complete").exists():
                _fetch(offered, cache)
            package = offered or package
    return Kernel(package, cache / package)
