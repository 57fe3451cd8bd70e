#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plans/rq1-short.yaml from the plan to its report on tare-switch: all 37 cells, every run valid. About four minutes, nearly all
# of them waiting.
#
#   rq1-short.sh TARE PLAN
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
plan=$(realpath "$2")

# A network and a /run of our own, so that what is left is seen and is ours.
enter root "--net --mount" "$@"
own_run
work=$(mktemp -d) || exit 99
work_in "$work"

# The plan as it is; only the switch is ours, also where BMv2 is installed.
sed 's/^target: { kind: bmv2 }$/target: { kind: bmv2, switch: tare-switch, start_limit: 60s }/' "$plan" >plan.yaml
grep -q 'switch: tare-switch' plan.yaml || fail "the plan has another target line"
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "run ended with $?: $(cat out)"
"$tare" report --json campaign >json 2>err || fail "report ended with $?: $(cat err)"
"$tare" report --html page.html campaign >text 2>err || fail "report ended with $?: $(cat err)"
grep -q '^ "turns_done": 74,$' json || fail "not all restarts are done: $(grep turns_ json)"
cells=$(grep -c '"restarts_valid": 2,' json)
balanced=$(grep -c '"balances": true,' json)
[ "$cells" -eq 37 ] && [ "$balanced" -eq 74 ] ||
	fail "$cells of 37 cells have two valid restarts, $balanced of 74 runs a ledger that balances: $(cat text)"
for regime in warm cold; do
	grep -q "\"regime\": \"$regime\"" json || fail "no cell is $regime"
done
grep -q '<h2>The chain</h2>' page.html || fail "the page has no chain"
[ -z "$(ls /run/netns)" ] || fail "namespaces are left: $(ls /run/netns)"
echo "rq1-short: 37 cells"
