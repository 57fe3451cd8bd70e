#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An interrupt ends a transit campaign at once, also while it sleeps until its next probe; nothing stays, and it resumes.
#
#   transit-interrupt.sh TARE SWITCH
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
switch=$(realpath "$2")

# A network and a /run of our own, so that what is left is seen and is ours.
enter root "--net --mount" "$@"
own_run
work=$(mktemp -d) || exit 99
work_in "$work"

cat >plan.yaml <<EOP
name: interrupted
measure: transit
seed: 1
restarts: 1
runs: 1
target: { kind: bmv2, switch: $switch, start_limit: 30s }
matrix: { program: [l3_lpm] }
probes: { count: 3, interval: 60s }
EOP

"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
pid=$!
# The second thread is the one that sends: it sleeps for a minute now.
while [ "$(ls /proc/$pid/task 2>/dev/null | wc -l)" -lt 2 ]; do
	kill -0 $pid 2>/dev/null || fail "it ended before it measured: $(cat out)"
	sleep 0.05
done
kill -TERM $pid # a shell has its background ignore SIGINT
# The watchdog is as patient as a busy host needs, and far from a minute.
(sleep 30; kill -KILL $pid) >/dev/null 2>&1 &
watchdog=$!
wait $pid
status=$?
kill $watchdog 2>/dev/null
[ $status -ne 137 ] || fail "it waited for the next probe"
[ $status -eq 130 ] || fail "status $status, expected 130: $(cat out)"
[ -z "$(ls /run/netns)" ] || fail "namespaces are left: $(ls /run/netns)"
[ "$(grep -c ':' /proc/net/dev)" -le 1 ] || fail "interfaces are left: $(cat /proc/net/dev)"
"$tare" report --json campaign | grep -q '"turns_done": 0,' || fail "what was not measured counts as done"
echo "transit-interrupt: it ended at once"
