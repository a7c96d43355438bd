#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every C and C++ file is formatted by the .clang-format nearest to it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need clang-format
find bpf include userspace tools tests -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' | sort |
	xargs -r clang-format --dry-run -Werror
