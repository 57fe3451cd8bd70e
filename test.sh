#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what is missing, build, and run all tests. Safe to run again.
set -eu
cd "$(dirname "$0")"
devtools/setup build test
devtools/setup-peers "${BUILD:-build}/peers"
make --no-print-directory test
