#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what is missing, build, and run the demonstration campaign. Safe to run again.
set -eu
cd "$(dirname "$0")"
devtools/setup build
if make --no-print-directory demo; then
	echo "demo: done."
else
	status=$?
	echo "demo: failed (status $status); what went wrong stands above." >&2
	exit "$status"
fi
