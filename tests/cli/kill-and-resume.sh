#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A campaign on the card that is killed again and again, at moments spread over all it does, ends complete:
# after each kill every restart that is there is whole, none that was there is gone, and the same command goes on.
#
#   kill-and-resume.sh TARE [KILLS]
set -u
tare=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
kills=${2:-10}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99

probes=200
cat >plan.yaml <<EOP
name: killed
measure: differential
seed: 1
restarts: 2
runs: 2
target: { kind: card }
matrix: { program: [forward, checksum] }
probes: { count: $probes, rate: 2kpps, cores: 1 }
EOP
turns=8

fail() {
	echo "kill-and-resume: $*"
	exit 1
}

# Counts the restarts into $there; each must have its 2 runs, each run its probes in order.
check() {
	"$tare" export campaign >samples.csv 2>message || fail "export: $(cat message)"
	awk -F, -v probes=$probes '
		NR > 1 {
			restart = $1 "/" $2; run = restart "/" $4
			if ($6 != n[run]) { print "restart " restart ": sample " $6 " where " n[run] + 0 " was due"; bad = 1; exit 1 }
			if (!n[run]++) runs[restart]++
		}
		END {
			if (bad) exit 1
			for (r in n) if (n[r] != probes) { print "run " r " has " n[r] " samples"; exit 1 }
			for (r in runs) { if (runs[r] != 2) { print "restart " r " has " runs[r] " runs"; exit 1 } there++ }
			print there + 0
		}' samples.csv >count || fail "after kill $i: $(cat count)"
	there=$(cat count)
}

i=0 before=0 there=0
while [ $i -lt "$kills" ]; do
	i=$((i + 1))
	moment=$(awk -v seed=$i 'BEGIN { srand(seed); rand(); printf "%.3f", 0.05 + rand() * 0.7 }')
	"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
	sleep "$moment"
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	status=$?
	[ -f campaign/tare.db ] || continue
	case $status in
	137) ;;
	0 | 1) break ;; # complete before it could be killed
	*) fail "run ended with $status: $(cat out)" ;;
	esac
	check
	[ "$there" -ge "$before" ] || fail "kill $i: $before restarts were there, $there are"
	before=$there
	[ $((i % 3)) -eq 0 ] && { "$tare" clean campaign >/dev/null || fail "clean failed"; check; }
done
[ $i -gt 2 ] || fail "the campaign was complete after $i calls: nothing was tested"

"$tare" run --quiet -o campaign plan.yaml >out 2>&1
status=$?
[ $status -le 1 ] || fail "the last run ended with $status: $(cat out)"
check
[ "$there" -eq $turns ] || fail "$there of $turns restarts are there at the end"
[ "$(ls campaign)" = tare.db ] || fail "more than tare.db is left: $(ls campaign)"
"$tare" clean campaign >/dev/null || fail "clean failed"
