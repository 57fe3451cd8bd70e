#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# target wire over cables of our own: a box between three ports that copies each frame to two of them; hooks that work,
# fail, hang and flood; ports that are not there, are the same, or vanish.
#
#   wire.sh TARE
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
enter anyone "--net" "$@"
work=$(mktemp -d) || exit 99
work_in "$work"

cable in
cable path
cable bypass
box b_in b_bypass b_path

# plan TARGET...: the settings of target wire beside its kind
plan() {
	cat <<EOP
name: wire
measure: differential
seed: 3
restarts: 1
runs: ${runs:-1}
target: { kind: wire, $1 }
matrix: { program: [forward] }
tare: { program: "null" }
probes: { count: 200, rate: 2000pps, gap_limit: 1ms, cores: 1 }
EOP
}
ports='in: in, path: path, bypass: bypass'
loads='load: "true", load_null: "true"'

# refused STATUS TEXT: what running plan.yaml says
refused() {
	says "$1" "$2" run --quiet -o campaign plan.yaml
}

# the whole of it: probes through, hooks run for each restart in their order, and what they said is kept
plan "$ports"', prepare: "echo prepare >>'"$work"'/hooks", flash: "echo flash >>'"$work"'/hooks; echo flashed",
  load: "echo load $TARE_PROGRAM >>'"$work"'/hooks", load_null: "echo load_null $TARE_PROGRAM >>'"$work"'/hooks"' >plan.yaml
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "run: $(cat out)"
[ "$(grep -c '^prepare$' hooks)" = 3 ] || fail "prepare did not run in each of 3 restarts: $(cat hooks)"
[ "$(grep -c '^flash$' hooks)" = 3 ] || fail "flash did not run in each restart: $(cat hooks)"
[ "$(grep -c '^load forward$' hooks)" = 1 ] && [ "$(grep -c '^load_null null$' hooks)" = 2 ] ||
	fail "programs were not loaded as planned: $(cat hooks)"
[ "$(head -3 hooks | tr '\n' ' ')" = "prepare flash load_null null " ] || fail "order of hooks: $(cat hooks)"
"$tare" report --json campaign >report.json 2>out || fail "report: $(cat out)"
grep -q 'flashed' report.json || fail "the report does not keep what the hook said"
[ "$(grep -c '"matched": 200' report.json)" -ge 3 ] || fail "probes are missing: $(grep '"matched"' report.json)"
rm -rf campaign

# the ports' own stamps, beside the TSC: the kernel's here
plan "$ports, $loads, second_clock: yes" >plan.yaml
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "second clock: $(cat out)"
if command -v sqlite3 >/dev/null; then
	found=$(sqlite3 campaign/tare.db "SELECT clock, count(*), sum(difference_ns > 0) FROM run_second
		JOIN second USING (run) GROUP BY clock")
	[ "$found" = 'kernel, software|600|600' ] || fail "second clock: found $found"
fi
rm -rf campaign

# ports of DPDK beside those of the kernel
if "$tare" --version | grep -q '^dpdk *DPDK\|^dpdk *[0-9]'; then
	plan "in: in, path: 'dpdk:net_af_packet0,iface=path', bypass: 'dpdk:net_af_packet1,iface=bypass', $loads" >plan.yaml
	"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "ports of DPDK: $(cat out)"
	"$tare" report --json campaign >report.json 2>out || fail "report of DPDK ports: $(cat out)"
	[ "$(grep -c '"matched": 200' report.json)" -ge 3 ] || fail "ports of DPDK: $(grep '"matched"' report.json)"
	rm -rf campaign
	plan "in: in, path: 'dpdk:net_af_packet0,iface=path', bypass: 'dpdk:net_af_packet1,iface=bypass',
	second_clock: yes, $loads" >plan.yaml
	refused 3 "second_clock: 'path' port dpdk:net_af_packet0,iface=path stamps no frames"
	rm -rf campaign
	plan "in: in, path: 'dpdk:0000:fe:1e.7', bypass: bypass, $loads" >plan.yaml
	refused 3 "DPDK cannot use PCI device '0000:fe:1e.7'"
	rm -rf campaign
fi

# two ports: probes go in where the bypass copy comes out
box b_in b_in b_path
plan "in: in, path: path, bypass: in, $loads" >plan.yaml
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "two ports: $(cat out)"
"$tare" report --json campaign >report.json 2>out || fail "report of two ports: $(cat out)"
[ "$(grep -c '"matched": 200' report.json)" -ge 3 ] || fail "two ports: $(grep '"matched"' report.json)"
rm -rf campaign

# what is wrong with a plan
plan "in: in, path: path, bypass: path, $loads" >plan.yaml
refused 2 "path and bypass are the same port 'path': the copies could not be told apart; expected two"
plan "in: in, path: path, $loads" >plan.yaml
refused 2 "target wire has no 'bypass' port; expected an interface, or dpdk: and a device"
plan "in: in, path: path, bypass: an-interface-of-no-use, $loads" >plan.yaml
refused 2 "'bypass' port 'an-interface-of-no-use' is no interface: names have at most 15 bytes"
plan "$ports, load: 'true'" >plan.yaml
refused 2 "target wire: nothing loads program 'null'; expected the command in load_null"
plan "$ports, load_null: 'true'" >plan.yaml
refused 2 "target wire: nothing loads program 'forward'; expected the command in load"

# what the host lacks
plan "in: in, path: gone0, bypass: bypass, $loads" >plan.yaml
refused 3 "target wire: 'path' port: there is no interface 'gone0' here (ip link shows them)"
[ ! -e campaign ] || fail "a store is left behind"

# hooks that go wrong: the restarts fail with what the hook said, and the campaign ends
plan "$ports, $loads, flash: 'echo no bitstream; exit 4', flash_retries: 2" >plan.yaml
refused 3 "hook flash ended with status 4; it said: no bitstream (in the last of its tries)"
rm -rf campaign
plan "$ports, $loads, flash: 'sleep 60', flash_limit: 200ms" >plan.yaml
refused 3 "hook flash did not end within 0.2 s; it said nothing"
rm -rf campaign
plan "$ports, $loads, prepare: 'cat /dev/zero', prepare_limit: 200ms" >plan.yaml
refused 3 "hook prepare did not end within 0.2 s; it said: ???"
rm -rf campaign

# one that works at its second try
plan "$ports, $loads, flash: 'test -e $work/once && exit 0; touch $work/once; exit 1', flash_retries: 1" >plan.yaml
box b_in b_bypass b_path
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "second try: $(cat out)"
"$tare" report --json campaign | grep -q 'tries.*2' || fail "the second try is not recorded"
rm -rf campaign

# a port that vanishes while probes are under way
runs=50
plan "$ports, $loads" >plan.yaml
before=$(frames path received)
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
pid=$!
under_way path received "$before"
ip link del path
wait $pid
status=$?
[ $status -eq 3 ] || fail "vanished port: status $status: $(cat out)"
grep -qF "'path' port path vanished during the run" out || grep -qF "there is no interface 'path'" out ||
	fail "vanished port: $(cat out)"
"$tare" report campaign >out 2>&1
grep -qF "'path' port path vanished during the run" out || fail "the report does not say that the port vanished: $(cat out)"
echo "wire: through three ports and two, hooks and ports that fail"
