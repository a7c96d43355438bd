#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every libFuzzer target for a short while. Findings are kept in build/fuzz/findings; corpora grow in the user's cache,
# so that the next run starts where this one ended.
#   FUZZ_SECONDS   for each target (default 20)
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need clang++
cmake --preset fuzz
# The fuzz targets and what they need, not the whole tree.
cmake --build --preset fuzz --target tests/fuzz/all
corpora=${XDG_CACHE_HOME:-$HOME/.cache}/rtnlprof/corpora
mkdir -p build/fuzz/findings
count=0
for target in build/fuzz/tests/fuzz/fuzz_*; do
	[ -f "$target" ] && [ -x "$target" ] || continue
	name=$(basename "$target")
	mkdir -p "$corpora/$name"
	seeds=()
	# Kept as text in the repository, or made by the build.
	for seed in "tests/fuzz/corpus/$name" "build/fuzz/tests/fuzz/corpus/$name"; do
		[ ! -d "$seed" ] || seeds+=("$seed")
	done
	echo "== $name"
	"$target" -max_total_time="${FUZZ_SECONDS:-20}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix=build/fuzz/findings/ "$corpora/$name" "${seeds[@]}" 2>&1 | tail -n 25
	count=$((count + 1))
done
if [ "$count" = 0 ]; then
	echo "no fuzz target was built"
	exit 1
fi
