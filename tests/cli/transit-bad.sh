#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What can be wrong with a transit campaign: each is said in one message, what can go on goes on, nothing stays behind.
#
#   transit-bad.sh TARE SWITCH PROGRAMS
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
switch=$(realpath "$2")
programs=$(realpath "$3")

# A network and a /run of our own, so that what is left is seen and is ours.
enter root "--net --mount" "$@"
own_run
work=$(mktemp -d) || exit 99
work_in "$work"

nothing_left() {
	[ -z "$(ls /run/netns)" ] || fail "$1: namespaces are left: $(ls /run/netns)"
	[ -z "$(ls /run/tare 2>/dev/null)" ] || fail "$1: locks are left: $(ls /run/tare)"
	[ "$(grep -c ':' /proc/net/dev)" -le 1 ] || fail "$1: interfaces are left: $(cat /proc/net/dev)"
	for p in /proc/[0-9]*; do
		if cat "$p/environ" 2>/dev/null | tr '\0' '\n' | grep -q "^TARE_LAB=tare-$pid-"; then
			fail "$1: process ${p#/proc/} is left: $(tr '\0' ' ' <"$p/cmdline")"
		fi
	done
}

# plan TARGET MATRIX [PROBES]
plan() {
	cat >plan.yaml <<EOP
name: bad
measure: transit
seed: 1
restarts: 1
runs: 1
target: { kind: bmv2, start_limit: 30s$1 }
matrix: { $2 }
probes: ${3:-{ count: 20, interval: 10ms, deadline: 200ms \}}
EOP
}

run() {
	rm -rf campaign
	"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
	pid=$!
	wait $pid
	status=$?
}

# refused STATUS TEXT: the plan is not begun; one message
refused() {
	run
	[ $status -eq "$1" ] || fail "'$2': status $status, expected $1: $(cat out)"
	grep -qF -- "$2" out || fail "expected '$2' in: $(cat out)"
	[ ! -e campaign ] || fail "'$2': a store is left behind"
	nothing_left "$2"
}

# failed TEXT...: one restart fails and says so, here and in the report; the other one is measured
failed() {
	run
	[ $status -eq 1 ] || fail "'$1': status $status, expected 1: $(cat out)"
	"$tare" report campaign >report 2>&1 || true
	tr '\n' ' ' <report | tr -s ' ' >line
	for text in "$@"; do
		grep -qF -- "$text" line || fail "expected '$text' in the report: $(cat report)"
	done
	"$tare" report --json campaign >json 2>/dev/null
	grep -q '"turns_done": 1,' json || fail "'$1': the campaign did not go on: $(cat out)"
	nothing_left "$1"
}

# A switch that is a script around the real one: wrapper NAME COMMANDS, where "$@" are its arguments
wrapper() {
	printf '#!/bin/sh\n[ "$1" = --version ] && exec %s --version\n%s\n' "$switch" "$2" >"$1"
	chmod +x "$1"
}

l3="program: [l3_lpm]"
long="{ count: 1000, interval: 10ms, deadline: 200ms }"

# --- found before anything starts ---

plan ", switch: $switch, entries: wrong.entries" "$l3"
echo 'table=routes destination=10.0.2.0/24 nonsense=1 action=drop' >wrong.entries
refused 2 'wrong.entries:1'
echo 'table=routes destination=10.0.2.0/40 action=drop' >wrong.entries
refused 2 "key 'hdr.ipv4.destination': prefix length '40' is not a number of 0 to 32"
echo 'table=routes destination=10.0.2.0/24 action=fly' >wrong.entries
refused 2 'fly'

cp "$programs/l3_lpm.json" x.json
plan ", switch: $switch" "program: [x.json]"
refused 2 'no P4Info'
echo 'tables { preamble {' >x.p4info.txtpb
refused 2 'x.p4info.txtpb'
cp "$programs/l2_forward.p4info.txtpb" x.p4info.txtpb
cp "$programs/l3_lpm.entries" x.entries
refused 2 "x.entries"

plan ", switch: /nowhere/switch" "$l3"
refused 3 "/nowhere/switch"
plan ", switch: $switch, cpus: 4-" "$l3"
refused 2 "cpus: '4-' is no list of CPUs"

# no permission: nobody, and in a changed root, where no user namespace can be made either
plan ", switch: $switch" "$l3"
chmod 777 .
mkdir root && mount --rbind / root || exit 99
real=$tare
printf '#!/bin/sh\nexec chroot --userspec=65534:65534 %s/root sh -c "cd %s; exec %s \\"\\$@\\"" - "$@"\n' "$work" "$work" "$real" >powerless
chmod +x powerless
if ./powerless --version >/dev/null 2>&1; then
	tare=$work/powerless
	refused 3 "network namespaces: not allowed (Operation not permitted), and this process cannot make a user namespace"
	tare=$real
else
	echo "transit-bad: nobody cannot execute $tare: permissions were not tried"
fi
umount -l root && rmdir root

# --- found by the switch, or by its absence: that restart fails ---

# a program that it cannot run, and a P4Info of another program
cp "$programs/l3_lpm.json" y.json
cp "$programs/l2_forward.p4info.txtpb" y.p4info.txtpb
: >y.entries
plan ", switch: $switch" "program: [y.json, l3_lpm]"
failed "program y.json" "table"
echo '{ "program": "nothing" }' >z.json
cp "$programs/l3_lpm.p4info.txtpb" z.p4info.txtpb
cp "$programs/l3_lpm.entries" z.entries
plan ", switch: $switch" "program: [z.json, l3_lpm]"
failed "program z.json"

# a table that is full
sed 's/"max_size" : [0-9]*/"max_size" : 4/' "$programs/l3_lpm.json" >full.json
sed 's/size: 1024/size: 4/' "$programs/l3_lpm.p4info.txtpb" >full.p4info.txtpb
for i in 1 2 3 4 5; do echo "table=routes destination=10.$i.0.0/16 action=drop"; done >full.entries
plan ", switch: $switch" "program: [full.json, l3_lpm]"
failed "program full.json" "line 5" "RESOURCE_EXHAUSTED"

# one that dies at once, one that never answers, one that dies and one that hangs while it is measured
wrapper dies-early "echo 'bad luck at once'; exit 7"
plan "" "$l3, switch: [$work/dies-early, $switch]"
failed "ended with status 7" "bad luck at once"
wrapper silent "echo 'thinking'; exec sleep 1000"
plan ", start_limit: 1s" "$l3, switch: [$work/silent, $switch]"
sed -i 's/start_limit: 30s, //' plan.yaml
failed "did not answer within 1000 ms" "thinking"
wrapper dies "$switch \"\$@\" & sleep 2; echo 'ran out of luck'; kill -KILL \$!; exit 3"
plan "" "$l3, switch: [$work/dies, $switch]" "$long"
failed "ended with status 3" "ran out of luck"
wrapper hangs "$switch \"\$@\" & sleep 2; echo 'lost in thought'; kill -STOP \$!; wait"
plan "" "$l3, switch: [$work/hangs, $switch]" "$long"
failed "runs, but did not answer within 2000 ms" "lost in thought"

# an interface that vanishes while probes pass
if command -v ip >/dev/null; then
	wrapper cuts "$switch \"\$@\" & sleep 2; ip link del p2; wait"
	plan "" "$l3, switch: [$work/cuts, $switch]" "$long"
	failed "p2"
fi

# a namespace whose name is taken: the next one has another
plan ", switch: $switch" "program: [l3_lpm, l2_forward]"
real=$tare
printf '#!/bin/sh\n: >/run/netns/tare-$$-0-s1\nexec %s "$@"\n' "$real" >taken
chmod +x taken
tare=$work/taken
run
tare=$real
[ $status -eq 1 ] || fail "a name that is taken: status $status: $(cat out)"
"$tare" report campaign 2>&1 | tr '\n' ' ' | tr -s ' ' >line
grep -qF "namespace tare-$pid-0-s1: the name is taken; 'tare clean' removes" line || fail "the name is not named: $(cat line)"
"$tare" clean >/dev/null || fail "clean failed"
nothing_left "a name that is taken"
echo "transit-bad: all was said, nothing stayed"
