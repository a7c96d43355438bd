#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every Python and shell script at least parses, and starts with its license.
set -euo pipefail
status=0
while read -r file; do
	case $file in
		*.py | *.sh) ;;
		*) [ -x "$file" ] || continue ;;
	esac
	case $(head -c 64 "$file" | head -n 1) in
		*python*) python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$file" || status=1 ;;
		*bash*) bash -n "$file" || status=1 ;;
		*busybox*) sh -n "$file" || status=1 ;;
		*) [[ $file != *.py ]] || python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$file" ||
			status=1 ;;
	esac
	if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier'; then
		echo "$file: no SPDX-License-Identifier in its first lines"
		status=1
	fi
done < <(find tools tests .ci -type f ! -path '*/__pycache__/*' ! -name '*.cpp' ! -name '*.h' | sort)
exit $status
