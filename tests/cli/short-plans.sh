#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The other plans in their short form, from the plan to the report on tare-switch: what switches use (rq4), why a cold one is
# slower (attribution), telemetry (rq3), and the highest rate without loss (calibrate).
#
#   short-plans.sh TARE PLANS
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
plans=$(realpath "$2")

# A network and a /run of our own, so that what is left is seen and is ours.
enter root "--net --mount" "$@"
own_run
work=$(mktemp -d) || exit 99
work_in "$work"

# has TEXT...: each is in the terminal report
has() {
	for wanted; do
		grep -qF -- "$wanted" text || fail "no '$wanted' in: $(cat text)"
	done
}

run_plan "$plans" rq4-short 16 8
has switch_cpu switch_rss "switch_rss ~ hops^" "carrier=45Mbps"
# memory is proportional to switches, whatever else runs here
exponent=$(sed -n 's/.*switch_rss ~ hops^\([0-9.]*\).*/\1/p' text | head -1)
awk -v b="$exponent" 'BEGIN { exit !(b > 0.9 && b < 1.1) }' || fail "memory grows with hops^$exponent"

run_plan "$plans" attribution-short 8 4
# cold against warm by cause; as doctor says: traced, or by the scheduler's counters, and labelled so
if grep -q '"causes": \[\]' json; then fail "no cell has its causes: $(cat text)"; fi
if "$tare" doctor 2>&1 | grep -q "scheduler cannot be traced"; then
	if grep -q '"coarse": false' json; then fail "not traced, and not called coarse: $(cat text)"; fi
else
	grep -q '"coarse": false' json || fail "no probe was divided: $(cat text)"
fi

run_plan "$plans" rq3-short 18 9
# the switch tells its clock: the interval of each cell holds the truth
covered=$(grep -cE ' 1 +2/2$' text)
[ "$covered" -eq 9 ] || fail "$covered of 9 cells hold the truth: $(cat text)"

run_plan "$plans" calibrate-short 2 1
if grep -q '"searches": \[\]' json; then fail "no search is there: $(cat text)"; fi
has lower_bound
echo "short-plans: rq3, rq4, attribution, calibrate"
