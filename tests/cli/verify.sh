#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tare verify passes on a sound installation, and fails with the right reason when it is spoiled.
# verify.sh TARE
# One core: steady wherever it runs. A sound installation passes 98 times in 100, so the good case has a second try.
set -u
tare=$1
status=0
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export TMPDIR="$out"

verify() {
	"$tare" verify --cores 1 --restarts 6 --probes 500 --limit 60ns --quiet "$@" >"$out/out" 2>"$out/err"
}

complain() {
	echo "verify.sh: $*"
	cat "$out/out" "$out/err"
	status=1
}

# expect STATUS TEXT ARGUMENTS...
expect() {
	want=$1 text=$2
	shift 2
	verify "$@"
	got=$?
	[ "$got" -eq "$want" ] || complain "'verify $*' ended with $got; expected $want"
	grep -q -- "$text" "$out/out" || complain "'verify $*' does not say: $text"
}

verify || verify || complain "a sound installation does not pass"
grep -q '^verify: pass' "$out/out" || complain "no verdict"
grep -q 'mode 2 of 2' "$out/out" || complain "the two modes are not checked apart"

verify --json --seed 2 || verify --json --seed 3 || complain "a sound installation does not pass (JSON)"
grep -q '"pass": true' "$out/out" || complain "no verdict in the JSON"
for member in name injected_ns recovered_ns error_ns u_ns within_20ns second_ns apart_ns ledger sent matched lost; do
	grep -q "\"$member\"" "$out/out" || complain "the JSON has no $member"
done

expect 1 'is outside its own uncertainty' --inject bias
expect 1 'ledger does not balance' --inject ledger
expect 1 'the tare drifted by up to' --inject drift
expect 1 'by the second clock (kernel, CLOCK_MONOTONIC_RAW) the same probes took' --inject rate
expect 1 'is not under the limit of 1.0 ns' --limit 1ns
ls -d "$out"/tare-verify-* 2>/dev/null && complain "a directory is left behind"
exit $status
