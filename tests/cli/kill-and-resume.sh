#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A campaign on the card that is killed again and again, at moments spread over all it does, ends complete:
# after each kill every restart that is there is whole, none that was there is gone, and the same command goes on.
# Half of the kills fall into the first moments, when the store is made and opened.
#
#   kill-and-resume.sh TARE [KILLS] [SEED]     SEED: of the moments; another one each time by default
set -u
. "$(dirname "$0")/lib.sh"
tare=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
kills=${2:-30}
seed=${3:-$(date +%s)}
work=$(mktemp -d) || exit 99
work_in "$work"

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
	echo "kill-and-resume: $* (seed $seed)"
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

# One call, killed after $1 s. Sets $status.
killed_after() {
	"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
	sleep "$1"
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	status=$?
}

now_ms() {
	date +%s%3N
}

# How long a whole campaign takes here and now: the moments are spread over that.
begun=$(now_ms)
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || [ $? -eq 1 ] || fail "the first run ended with $?: $(cat out)"
whole_ms=$(($(now_ms) - begun))
rm -rf campaign

i=0 before=0 there=0 killed=0 complete=0
while [ $i -lt "$kills" ]; do
	i=$((i + 1))
	# odd ones in the first 50 ms, even ones each in its own part of the whole, shuffled by a step prime to their number
	moment=$(awk -v seed="$seed" -v i=$i -v n="$kills" -v whole="$whole_ms" 'BEGIN {
		srand(seed + i); rand()
		if (i % 2) printf "%.3f", rand() * 0.05
		else printf "%.3f", ((i / 2 * 7) % int(n / 2) + rand()) / int(n / 2) * whole / 1000
	}')
	killed_after "$moment"
	case $status in
	137) killed=$((killed + 1)) ;;
	0 | 1) ;; # complete before it could be killed
	*) fail "run ended with $status: $(cat out)" ;;
	esac
	[ -f campaign/tare.db ] || continue
	check
	[ "$there" -ge "$before" ] || fail "kill $i: $before restarts were there, $there are"
	before=$there
	[ $((i % 3)) -eq 0 ] && { "$tare" clean campaign >/dev/null || fail "clean failed"; check; }
	if [ $status -ne 137 ] || [ "$there" -eq $turns ]; then
		[ "$there" -eq $turns ] || fail "the campaign ended with $there of $turns restarts"
		complete=$((complete + 1)) before=0
		rm -rf campaign
	fi
done
[ $killed -ge $((kills / 2)) ] || fail "only $killed of $kills calls were killed: nothing was tested"

"$tare" run --quiet -o campaign plan.yaml >out 2>&1
status=$?
[ $status -le 1 ] || fail "the last run ended with $status: $(cat out)"
check
[ "$there" -eq $turns ] || fail "$there of $turns restarts are there at the end"
[ "$(ls campaign)" = tare.db ] || fail "more than tare.db is left: $(ls campaign)"
"$tare" clean campaign >/dev/null || fail "clean failed"
echo "kill-and-resume: $killed kills, $complete campaigns complete between them, seed $seed"
