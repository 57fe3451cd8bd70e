#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The second clock over cables of our own: a campaign on the card whose copies are reflected and captured, the reflector as a
# role of its own, and what can be wrong with either, each in one message.
#
#   reflect.sh TARE
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
enter anyone "--net" "$@"
work=$(mktemp -d) || exit 99
work_in "$work"

# plan SETTINGS-OF-PROBES
plan() {
	cat >plan.yaml <<EOP
name: reflect
measure: differential
seed: 3
restarts: 1
runs: 1
target: { kind: ${target:-card} }
matrix: { program: [300us] }
tare: { program: "null" }
probes: { count: 200, rate: 1kpps, gap_limit: 10ms, cores: 1, $1 }
EOP
}

# refused STATUS TEXT: what running plan.yaml says
refused() {
	says "$1" "$2" run --quiet -o campaign plan.yaml
	[ ! -e campaign ] || fail "a campaign was left"
}

# verb STATUS TEXT ARGUMENT...
verb() {
	want=$1 text=$2
	shift 2
	says "$want" "$text" reflect "$@"
}

cable r

# --- what is wrong before anything runs ---
plan 'capture: b_r'
refused 2 "capture: needs copies that come there; expected reflect: PORT as well"
plan 'reflect: r, capture: r'
refused 2 "capture: is the port that reflect sends from; expected the one at the other end of its cable"
plan 'reflect: r, capture_clock: kernel'
refused 2 "capture_clock: says which clock capture has; expected capture: INTERFACE as well"
plan 'reflect: r, capture: b_r, format: instrument'
refused 2 "reflect: cannot mark copies in format instrument; expected tare or oct"
plan 'reflect: gone, capture: b_r'
refused 3 "reflect: there is no interface 'gone' here"
plan 'reflect: r, capture: gone'
refused 3 "capture: there is no interface 'gone' here"
plan 'reflect: r, capture: b_r, capture_clock: adapter_unsynced'
refused 3 "capture b_r: the plan says that its clock is adapter_unsynced, but it offers the kernel's software stamps"
target='wire, in: r, path: r, bypass: b_r, load: "true", load_null: "true"'
plan 'reflect: r, capture: b_r'
refused 2 "reflect and the target's path are the same port 'r'"
target=card

# --- the whole of it ---
plan 'reflect: r, capture: b_r'
"$tare" run --quiet -o campaign plan.yaml >out 2>&1
[ $? -le 1 ] || fail "$(cat out)"
python3 - campaign/tare.db <<'EOP' || fail "the second clock is not in the store as it should be"
import sqlite3, statistics, sys
db = sqlite3.connect(sys.argv[1])
runs = db.execute("SELECT run, clock, source, pairs, foreign_frames FROM run_second").fetchall()
assert len(runs) == 3, runs
for run, clock, source, pairs, foreign in runs:
    assert clock == "kernel, software" and source == "b_r", runs
    assert pairs == 200, runs
    both = db.execute("SELECT s.difference_ns, (p.path - p.bypass) * 1e9 / r.tsc_hz FROM second s JOIN pair p USING (run, seq)"
                      " JOIN run r ON r.id = s.run WHERE s.run = ?", (run,)).fetchall()
    off = statistics.median(abs(a - b) for a, b in both)
    assert off < 100000, (run, off)
EOP
rm -r campaign

# --- a port that goes while probes are under way ---
plan 'reflect: r, capture: b_r'
sed -i 's/count: 200/count: 4000/' plan.yaml
before=$(frames r sent)
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
pid=$!
under_way r sent "$before"
ip link del r
wait $pid
grep -qE "reflect: port r (vanished|went down) during the run|capture b_r: the interface (vanished|went down) during the run" out ||
	fail "a port that vanished is not said: $(cat out)"
rm -rf campaign

# --- the role ---
cable p
cable q
cable o
verb 2 "--bypass is missing" --path p
verb 2 "--path and --bypass are the same port 'p'; expected three different ones" --path p --bypass p --out o
verb 2 "--path and --out are the same port 'p'" --path p --bypass q --out p
verb 3 "--out: there is no interface 'gone' here" --path p --bypass q --out gone
verb 2 "is no Ethernet address" --path p --bypass q --out o --to nonsense
"$tare" reflect --path p --bypass q --out o --runs 1 --idle 300ms --to 02:00:00:00:00:09 -o runs >said 2>&1 &
reflector=$!
python3 - <<'EOP' || fail "copies did not come back as they should"
import socket, time
def port(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((name, 0))
    return s
path, bypass, back = port("b_p"), port("b_q"), port("b_o")
back.settimeout(10)
def frame(i):
    return b"\x02" * 12 + b"\x08\x00" + b" " * 28 + b"oct-fpga-id:%d\n" % i + b" " * 20
time.sleep(1)
for i in range(1, 101):
    bypass.send(frame(i))
    if i % 10:
        path.send(frame(i))
    time.sleep(0.001)
got = set()
while len(got) < 190:
    data, address = back.recvfrom(2000)
    if address[2] == socket.PACKET_OUTGOING:
        continue
    assert data[:6] == b"\x02\0\0\0\0\x09", data[:6]
    mark = data.index(b"ct-fpga-id:")
    got.add((data[mark - 1:mark], int(data[mark + 11:].split(b"\n")[0])))
assert got == {(b"B", i) for i in range(1, 101)} | {(b"P", i) for i in range(1, 101) if i % 10}
EOP
wait $reflector || fail "tare reflect: $(cat said)"
grep -q "run 1: 90 pairs; returned 90 path, 100 bypass; 0 without an id, 0 refused by o" said || fail "$(cat said)"
grep -q "one system call a burst" said || fail "the system call is not said: $(cat said)"
[ "$(wc -l <runs/f_run01.csv)" -eq 91 ] || fail "$(head -3 runs/f_run01.csv)"

# --- and what it wrote is read again ---
mkdir -p lab && mv runs lab/CS_s1
"$tare" import --quiet latencylab lab -o campaign >out 2>&1 || fail "$(cat out)"
grep -q "1 restarts, 1 runs, 90 probes" out || fail "$(cat out)"
echo "reflect: good"
