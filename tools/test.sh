#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs what is needed, builds, and runs every test: format, clang-tidy, unit, golden, sanitizers, fuzzing, live
# tests on this kernel and tests in guests. Ends with ctest's summary; the exit status is ctest's.
# Arguments go to ctest: tools/test.sh -L unit
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

tools/setup.sh build test
if command -v ccache >/dev/null; then
	export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
cmake --preset release
cmake --build --preset release
# The guest's kernel, before any clock of a test runs; a test without it says so itself.
tools/vm/run-vm --kernel 6.1 --fetch-only || true
exec ctest --preset release -j "$(nproc)" "$@"
