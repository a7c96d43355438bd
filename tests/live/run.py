#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs one test method: run.py FILE METHOD. Exit status 77: skipped, with the reason as the last line."""

import importlib
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

SKIPPED = 77


def find(module, method):
    for candidate in vars(module).values():
        if isinstance(candidate, type) and issubclass(candidate, unittest.TestCase) and method in vars(candidate):
            return candidate(method)
    raise SystemExit(f"no test {method} in {module.__name__}")


def main():
    directory, file = os.path.split(os.path.abspath(sys.argv[1]))
    sys.path.insert(0, directory)
    module = importlib.import_module(os.path.splitext(file)[0])
    result = unittest.TextTestRunner(verbosity=2).run(find(module, sys.argv[2]))
    if not result.wasSuccessful():
        return 1
    if result.skipped:
        print(f"skipped: {result.skipped[0][1]}")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
