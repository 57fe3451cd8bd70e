#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The vendor's worst case in a campaign on the card, whose truth is known: a program that stays under it, one that does not,
# one whose bound inserted headers push out; and plans that state half a bound.
#
#   bound.sh TARE
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
work=$(mktemp -d) || exit 99
work_in "$work"

# plan RESTARTS SETTINGS-OF-PROBES
plan() {
	cat >plan.yaml <<EOP
name: bound
measure: differential
seed: 3
restarts: $1
runs: 1
target: { kind: card }
matrix: { program: [100us, 900us] }
tare: { program: "null" }
probes: { count: 50, rate: 1kpps, gap_limit: 50ms, cores: 1, $2 }
EOP
}

refused() {
	says 2 "$1" plan plan.yaml
}

plan 6 'bound_cycles: 500'
refused "bound_cycles: has no clock; expected bound_clock: FREQUENCY as well, such as 250MHz"
plan 6 'bound_clock: 1MHz'
refused "bound_clock: is the clock of bound_cycles; expected bound_cycles: N as well"
plan 6 'bound_inserted: 64B'
refused "bound_inserted: adds to bound_cycles; expected bound_cycles: N as well"
plan 6 'bound_bus: 64B'
refused "bound_bus: adds to bound_cycles; expected bound_cycles: N as well"
plan 6 'bound_cycles: 500, bound_clock: 250'
refused "'250' has no unit"

# 300 cycles of 1 MHz, and 200 more for 12,800 B on a bus of 64: 500 us between the two
plan 6 'bound_cycles: 300, bound_clock: 1MHz, bound_inserted: 12800B'
"$tare" run --quiet -o campaign plan.yaml >out 2>&1
[ $? -le 1 ] || fail "$(cat out)"
"$tare" report --json campaign >result.json || fail "no result"
python3 - result.json <<'EOP' || fail "the bound is not in the result as it should be"
import json, sys
result = json.load(open(sys.argv[1]))
cells = {c["label"]: c for c in result["cells"]}
held, broken = cells["program=100us"]["bound"][0], cells["program=900us"]["bound"][0]
for b in held, broken:
    assert b["bound_ns"] == 500000 and b["inserted_bytes"] == 12800, b
    assert b["packets"] + b["without"] == 50 and b["packets"] >= 40, b
assert held["under"] == held["packets"] and not held["worst_packet"], held
assert 200 < held["median_cycles"] < 401, held
assert broken["over"] == broken["packets"] and len(broken["worst_packet"]) == 8, broken
assert broken["median_cycles"] < -390, broken
assert not [c for c in result["cells"] if c["is_tare"] and c["bound"]]
assert [p for p in result["problems"] if p["about"].startswith("900us") and "over the vendor's bound" in p["text"]]
assert not [p for p in result["problems"] if p["about"].startswith("100us") and "bound" in p["text"]]
assert not [q for c in result["cells"] for q in c["quantities"] if q["name"].startswith("bound")]
EOP
"$tare" report campaign >out 2>&1
grep -q "least margin" out || fail "the report does not show it: $(cat out)"

# too few blocks for an uncertainty: nothing is said to stay under anything
rm -r campaign
plan 1 'bound_cycles: 500, bound_clock: 1MHz'
"$tare" run --quiet -o campaign plan.yaml >out 2>&1
[ $? -le 1 ] || fail "$(cat out)"
"$tare" report --json campaign >result.json || fail "no result"
python3 - result.json <<'EOP' || fail "a bound without an uncertainty is judged"
import json, sys
for c in json.load(open(sys.argv[1]))["cells"]:
    for b in c["bound"]:
        assert b["uncertainty_ns"] is None and b["unsure"] == b["packets"] > 0, b
EOP
echo "bound: good"
