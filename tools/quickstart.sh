#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# From a bare Debian 12 to a first report: installs what is needed, builds, records ten seconds of this machine while a
# workload fights for the RTNL, and prints the report. As root. The recording is kept in build/quickstart.rtnl.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

if [ "$(id -u)" != 0 ]; then
	echo "quickstart.sh: run it as root: installing packages and tracing the kernel both need that" >&2
	exit 2
fi
tools/setup.sh build
{
	cmake --preset release
	cmake --build --preset release --target rtnlprof workloads
} > /tmp/rtnlprof-quickstart.$$ 2>&1 || {
	cat /tmp/rtnlprof-quickstart.$$ >&2
	rm -f /tmp/rtnlprof-quickstart.$$
	exit 1
}
rm -f /tmp/rtnlprof-quickstart.$$
exec build/release/rtnlprof record -o build/quickstart.rtnl -- \
	build/release/tools/rtnl-workload --seconds 10 --truth /dev/null
