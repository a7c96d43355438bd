#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs the Debian packages that rtnlprof is built and tested with. Debian 12, as root; may be run again at any time.
# docs/dependencies.md says what each is for.
#
#   tools/setup.sh [build] [test] [bench]     default: build
set -euo pipefail

build=(
	bpftool clang cmake g++ libbpf-dev libcli11-dev libdw-dev libelf-dev libgmock-dev libgtest-dev libzstd-dev
	liblzma-dev llvm ninja-build nlohmann-json3-dev pkg-config xz-utils zlib1g-dev
)
test=(
	busybox-static ca-certificates ccache clang-format clang-tidy clang-tools cpio git iproute2 kmod libclang-rt-14-dev
	procps python3 python3-jsonschema qemu-system-x86 util-linux xz-utils
)
bench=(bpftrace libbpf-tools linux-perf)

wanted=()
for group in "${@:-build}"; do
	case $group in
		build) wanted+=("${build[@]}") ;;
		test) wanted+=("${test[@]}") ;;
		bench) wanted+=("${bench[@]}") ;;
		*)
			echo "setup.sh: unknown group \"$group\"; known: build test bench" >&2
			exit 2
			;;
	esac
done

missing=()
for package in "${wanted[@]}"; do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$status" = installed ] || missing+=("$package")
done

if [ "$(id -u)" != 0 ]; then
	[ ${#missing[@]} = 0 ] && exit 0
	echo "setup.sh: these packages are missing and only root can install them: ${missing[*]}" >&2
	exit 2
fi

export DEBIAN_FRONTEND=noninteractive
# A stale index names packages that are gone. Without the archive, what is installed already may do.
if ! apt-get -qq update; then
	if [ ${#missing[@]} != 0 ]; then
		echo "setup.sh: cannot update the package index, and these packages are missing: ${missing[*]}" >&2
		exit 2
	fi
	echo "setup.sh: cannot update the package index; everything needed is installed" >&2
fi
[ ${#missing[@]} = 0 ] || apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
