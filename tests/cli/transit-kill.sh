#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A transit campaign that is killed again and again leaves no namespace, cable or process once `tare clean` ran, and ends
# complete.
#
#   transit-kill.sh TARE SWITCH [KILLS] [SEED]       (or TRANSIT_KILLS and TRANSIT_KILL_SEED; 8, the time)
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
switch=$(realpath "$2")
kills=${3:-${TRANSIT_KILLS:-8}}
seed=${4:-${TRANSIT_KILL_SEED:-$(date +%s)}}

# A network, processes and a /run of our own, so that what is left is seen and is ours.
enter root "--net --mount --pid --fork --mount-proc" "$@"
own_run
work=$(mktemp -d) || exit 99
work_in "$work"

turns=6
cat >plan.yaml <<EOP
name: killed
measure: transit
seed: 1
restarts: 3
runs: 1
target: { kind: bmv2, switch: $switch, start_limit: 30s }
matrix: { program: [l3_lpm, l2_forward] }
probes: { count: 40, interval: 10ms }
EOP

fail() {
	echo "transit-kill: $* (seed $seed)"
	exit 1
}

nothing_left() {
	[ -z "$(ls /run/netns)" ] || fail "namespaces are left: $(ls /run/netns)"
	[ "$(grep -c ':' /proc/net/dev)" -le 1 ] || fail "interfaces are left: $(cat /proc/net/dev)"
	for p in /proc/[0-9]*; do
		if cat "$p/environ" 2>/dev/null | tr '\0' '\n' | grep -q "^TARE_LAB=tare-$1-"; then
			fail "process ${p#/proc/} is left: $(tr '\0' ' ' <"$p/cmdline")"
		fi
		if [ "$(readlink "$p/exe")" = "$tare" ] && [ "$(readlink "$p/ns/net")" = "$(readlink /proc/$$/ns/net)" ]; then
			fail "process ${p#/proc/} is left: $(tr '\0' ' ' <"$p/cmdline")"
		fi
	done
}

done_restarts() {
	"$tare" report --json campaign 2>/dev/null | sed -n 's/^ "turns_done": \([0-9]*\),$/\1/p'
}

i=0 killed=0 before=0
while [ $i -lt "$kills" ]; do
	i=$((i + 1))
	"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
	pid=$!
	sleep "$(awk -v seed="$seed" -v i=$i 'BEGIN { srand(seed + i); rand(); printf "%.3f", rand() * 1.5 }')"
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	status=$?
	case $status in
	137) killed=$((killed + 1)) ;;
	0) ;;
	*) fail "run ended with $status: $(cat out)" ;;
	esac
	"$tare" clean >message 2>&1 || fail "clean: $(cat message)"
	nothing_left $pid
	[ -f campaign/tare.db ] || continue
	there=$(done_restarts)
	[ "${there:-0}" -ge "$before" ] || fail "kill $i: $before restarts were there, ${there:-0} are"
	before=${there:-0}
	[ "$before" -eq $turns ] && before=0 && rm -rf campaign
done
[ $killed -ge $((kills / 2)) ] || fail "only $killed of $kills calls were killed: nothing was tested"

"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "the last run ended with $?: $(cat out)"
[ "$(done_restarts)" = $turns ] || fail "$(done_restarts) of $turns restarts are there at the end"
nothing_left 0
echo "transit-kill: $killed kills, seed $seed"
