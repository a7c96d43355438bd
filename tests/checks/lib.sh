# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the checks.

# Skips the check when a program it needs is not installed; in CI that is a failure.
need() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null && continue
		echo "$program is not installed; tools/setup.sh build test installs it"
		[ "${CI:-}" = true ] && exit 1
		exit 77
	done
}
