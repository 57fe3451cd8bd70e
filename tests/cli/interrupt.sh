#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C leaves a store that resumes, status 130, and the sentence that says how; a second tare on the same directory
# is refused. Events are waited for, never the clock.
#
#   interrupt.sh TARE
set -u
. "$(dirname "$0")/lib.sh"
tare=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) || exit 99
work_in "$work"

cat >plan.yaml <<EOP
name: long
measure: differential
seed: 1
restarts: 100
runs: 2
target: { kind: card }
matrix: { program: [forward] }
probes: { count: 100, rate: 2kpps, cores: 1 }
EOP

# Waits for the first whole restart of the campaign that runs, tries to be the second, then sends the signal.
meddle() {
	until [ -s campaign/lock ] && "$tare" export campaign 2>/dev/null | grep -q ',99,'; do
		[ ! -f over ] || return
	done
	"$tare" run -o campaign plan.yaml >out2 2>message2
	echo $? >status2
	kill -"$1" "$(cat campaign/lock)"
}

# tare in the foreground: what a shell starts in the background ignores SIGINT, and tare leaves ignored signals so
for signal in INT TERM HUP; do
	rm -f over status2
	meddle $signal &
	"$tare" run -o campaign plan.yaml >out 2>message
	status=$?
	: >over
	wait
	[ $status -eq 130 ] || fail "status $status after $signal, expected 130: $(cat message)"
	grep -q "interrupted: [0-9]* of 300 restarts are in campaign; 'tare run -o campaign plan.yaml' goes on from there" \
		message || fail "it says: $(cat message)"
	[ "$(cat status2)" -eq 2 ] || fail "a second writer was let in"
	grep -q "another tare (process [0-9]*) is writing here" message2 || fail "the second says: $(cat message2)"
	[ "$(ls campaign)" = tare.db ] || fail "more than tare.db is left: $(ls campaign)"
done
