#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# clang-tidy over every translation unit of the profiler and its workloads; any finding is an error.
#   tidy.sh BUILD_DIRECTORY
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need run-clang-tidy clang-tidy
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! run-clang-tidy -quiet -j "$(nproc)" -p "$1" '/(userspace|tools)/[^ ]*\.cpp$' >"$log" 2>&1; then
	sed -i 's/\x1b\[[0-9;]*m//g' "$log"
	grep -E 'error:|warning:' "$log" | sort -u
	grep -qE 'error:' "$log" || tail -n 30 "$log"
	exit 1
fi
