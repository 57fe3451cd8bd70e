#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plans/rq1-short.yaml from the plan to its report on tare-switch: all 37 cells, every run valid. About four minutes, nearly all
# of them waiting.
#
#   rq1-short.sh TARE PLANS
set -u
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2034 # run_plan has it
tare=$(realpath "$1")
plans=$(realpath "$2")

# A network and a /run of our own, so that what is left is seen and is ours.
enter root "--net --mount" "$@"
own_run
work=$(mktemp -d) || exit 99
work_in "$work"

run_plan "$plans" rq1-short 74 37
balanced=$(grep -c '"balances": true,' json)
[ "$balanced" -eq 74 ] || fail "$balanced of 74 runs have a ledger that balances: $(cat text)"
for regime in warm cold; do
	grep -q "\"regime\": \"$regime\"" json || fail "no cell is $regime"
done
grep -q '<h2>The chain</h2>' rq1-short.html || fail "the page has no chain"
echo "rq1-short: 37 cells"
