#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The unit and golden tests once more, with AddressSanitizer and UndefinedBehaviorSanitizer, in a build tree of their own.
set -euo pipefail
cmake --preset sanitize
cmake --build --preset sanitize
ctest --preset sanitize -j "$(nproc)" -L 'unit|golden'
