#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the host lacks for a plan is said before anything runs: one message, status 3, and no store is left behind.
#
#   bad-host.sh TARE
set -u
. "$(dirname "$0")/lib.sh"
enter anyone "-m" "$@"
tare=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) || exit 99
work_in "$work"

plan() {
	cat <<EOP
name: host
measure: differential
seed: 1
restarts: 1
runs: 1
target: { kind: card }
matrix: { program: [forward] }
probes: { count: 50, rate: 10kpps, cores: $1 }
EOP
}

# refused TEXT COMMAND...: exactly one line that holds TEXT, status 3, and no directory
refused() {
	text=$1
	shift
	"$@" >out 2>&1
	status=$?
	[ $status -eq 3 ] || fail "$*: status $status, expected 3: $(cat out)"
	grep -qF "$text" out || fail "$*: expected '$text' in: $(cat out)"
	[ "$(wc -l <out)" -eq 1 ] || fail "$*: more than one message: $(cat out)"
	[ ! -e campaign ] && [ ! -e results ] || fail "$*: left behind: $(ls -d campaign results 2>/dev/null)"
}

# too few cores
plan 2 >two.yaml
cpu=$(taskset -pc $$ | sed 's/.*: *//; s/[-,].*//')
refused '2 cores are asked for, but this process may use 1 CPU' \
	taskset -c "$cpu" "$tare" run --quiet -o campaign two.yaml
refused '2 cores are asked for, but this process may use 1 CPU' taskset -c "$cpu" "$tare" run --quiet two.yaml

# a clock source list without tsc: what the kernel shows when its watchdog found the TSC unstable
plan 1 >one.yaml
sources=/sys/devices/system/clocksource/clocksource0/available_clocksource
echo "hpet acpi_pm " >sources
if [ -e $sources ] && mount --bind sources $sources 2>/dev/null; then
	refused 'the TSC is not invariant (the kernel does not offer the TSC' "$tare" run --quiet -o campaign one.yaml
	"$tare" run --quiet --allow-unstable-tsc -o campaign one.yaml >out 2>&1 || fail "not allowed: $(cat out)"
	"$tare" report campaign >out 2>&1
	tr '\n' ' ' <out | sed 's/  */ /g' | grep -q 'the TSC is not invariant on this host' || fail "not in the report: $(cat out)"
	umount $sources
	rm -rf campaign
fi

# no permission: only another user than root meets it
if setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
	chmod 755 . && mkdir closed && chmod 700 closed && cp one.yaml closed/plan.yaml
	as_nobody() {
		setpriv --reuid 65534 --clear-groups "$tare" run --quiet "$@" >out 2>&1
	}
	# as the build may lie where nobody may look
	if as_nobody --help; then
		as_nobody -o closed/campaign one.yaml && fail "wrote into a directory of root's"
		[ "$(wc -l <out)" -eq 1 ] && grep -q 'closed/campaign.*Permission denied' out ||
			fail "the message is: $(cat out)"
		as_nobody -o campaign closed/plan.yaml && fail "read a plan of root's"
		[ "$(wc -l <out)" -eq 1 ] && grep -q 'closed/plan.yaml: cannot read the plan: Permission denied' out ||
			fail "the message is: $(cat out)"
	fi
fi
exit 0
