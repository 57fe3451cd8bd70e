#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A measurement on two machines: one sends, reached by ssh, the other receives. Here both are this one, in two network
# namespaces, with a real ssh server between them; and everything that can go wrong with a far end.
#
#   far.sh TARE
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
enter root "--net --mount" "$@"
work=$(mktemp -d) || exit 99
work_in "$work"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; cd /; rm -rf "$work"' EXIT
own_run

# Two machines: "far" has the port probes leave by, this one has the two that copies come to.
ip link set lo up
ip netns add far || fail "no namespace"
cable in
cable path
cable bypass
ip link set in netns far && ip -n far link set in up || fail "cannot move the port"
box b_in b_bypass b_path
cpu=$(taskset -pc $$ | sed 's/.*: *//; s/[-,].*//')

plan() {
	cat <<EOP
name: far
measure: differential
seed: 3
restarts: 1
runs: ${runs:-1}
target: { kind: wire, in: ${in:-in}, path: path, bypass: bypass, load: "true", load_null: "true",
          far: "$1", far_tare: "$2", ssh: "$3", far_limit: 10s }
matrix: { program: [forward] }
tare: { program: "null" }
probes: { count: 400, rate: 2000pps, gap_limit: 20ms, cores: 1 }
EOP
}
there="ip netns exec far taskset -c $cpu $tare"

# stands in for ssh: forgets its options and runs the command here
cat >local-ssh <<'EOP'
#!/bin/sh
while [ $# -gt 2 ]; do shift; done
exec sh -c "$2"
EOP
chmod +x local-ssh

# refused TEXT: the campaign fails with this in its one message
refused() {
	rm -rf campaign
	"$tare" run --quiet -o campaign plan.yaml >out 2>&1
	status=$?
	[ $status -eq 3 ] || fail "status $status, expected 3: $(cat out)"
	tr '\n' ' ' <out | grep -qF "$1" || fail "expected '$1' in: $(cat out)"
	rm -rf campaign
}

complete_set() {
	"$tare" report --json campaign >report.json 2>out || fail "$1: report: $(cat out; grep -A3 severity report.json)"
	[ "$(grep -c '"matched": 400' report.json)" -ge 3 ] || fail "$1: $(grep '"matched"' report.json)"
	[ "$(sed -n 's/^ "turns_done": \([0-9]*\),$/\1/p' report.json)" = 3 ] || fail "$1: not all restarts are done"
}

no_far_end_left() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		left=$(ip netns pids far)
		[ -z "$left" ] && return
		sleep 0.5
	done
	fail "$1: the far end is left: $left"
}

# by a stand-in for ssh
plan me@there "$there" "$work/local-ssh" >plan.yaml
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "run: $(cat out)"
complete_set "stand-in"
"$tare" export campaign >samples.csv 2>out || fail "export: $(cat out)"
grep -q 'sent by another machine' report.json || fail "the report does not say who sent"
no_far_end_left "stand-in"
python3 - report.json <<'EOP' || fail "latencies since tx are there, whose clock is another machine's"
import json, sys
for cell in json.load(open(sys.argv[1]))["cells"]:
    assert not any(cell["one_way"].values()) and not any(cell["intended"].values()), cell["one_way"]
    assert cell["gross"]["p50"] > 0, cell["gross"]
EOP

# what a far end can be instead of one
greeting() { # VERSION HASH: answers as a far end of another kind would
	cat >"$work/other" <<EOP
#!/usr/bin/env python3
import sys, json
body = json.dumps({"version": "$1", "hash": "$2"}).encode()
sys.stdout.buffer.write(b"Ta\x01\x00" + len(body).to_bytes(4, "big") + body)
sys.stdout.flush()
sys.stdin.buffer.read()
EOP
	chmod +x "$work/other"
}
version=$("$tare" --version | sed -n 's/^tare *//p')
plan me@there /no/such/tare "$work/local-ssh" >plan.yaml
refused "far end me@there: the other end is gone (ssh ended with status 127); it said: "
plan me@there "$work/other" "$work/local-ssh" >plan.yaml
greeting 9.9.9 0000000000000000
refused "far end me@there is tare 9.9.9, this is $version; expected the same on both machines"
greeting "$version" 0123456789abcdef
refused "far end me@there has plan 0123456789abcdef, here it is"
printf '#!/bin/sh\necho "Welcome to this machine"\nexec sleep 60\n' >other
refused "does not speak as tare: it wrote 'Welcome to this machine' (does a start-up file of its shell print?)"
printf '#!/bin/sh\nexec sleep 60\n' >other
sed 's/far_limit: 10s/far_limit: 300ms/' plan.yaml >shorter && mv shorter plan.yaml
refused "far end me@there: the other end does not answer"
in=gone0 plan me@there "$there" "$work/local-ssh" >plan.yaml
refused "far end me@there: there is no interface 'gone0'"

# a far end that dies in mid-run ends that restart; the store resumes to the complete set
runs=8
plan me@there "$there" "$work/local-ssh" >plan.yaml
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
pid=$!
for _ in $(seq 100); do
	victim=$(ip netns pids far)
	[ -n "$victim" ] && break
	sleep 0.05
done
sleep 0.8
# shellcheck disable=SC2046 # one number each
kill -KILL $(ip netns pids far)
wait $pid
status=$?
[ $status -eq 1 ] || fail "far end killed: status $status, expected 1: $(cat out)"
"$tare" report campaign >report.txt 2>&1
tr '\n' ' ' <report.txt | tr -s ' ' | grep -qF "the other end is gone" || fail "the report does not say what happened: $(cat report.txt)"
"$tare" run --quiet --retry-failed -o campaign plan.yaml >out 2>&1 || fail "resumed: status $?: $(cat out)"
complete_set "resumed after the far end died"

# the near end killed: the far one goes too
rm -rf campaign
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
pid=$!
sleep 1.5
kill -KILL $pid
wait $pid 2>/dev/null
no_far_end_left "near end killed"
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "resumed after kill: $(cat out)"
complete_set "resumed after the near end was killed"

# Ctrl-C: the far one stops too, and the store resumes
rm -rf campaign
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 &
pid=$!
sleep 1.5
kill -TERM $pid
wait $pid
status=$?
[ $status -eq 130 ] || fail "interrupted: status $status: $(cat out)"
no_far_end_left "interrupted"
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "resumed after an interrupt: $(cat out)"
complete_set "resumed after an interrupt"
rm -rf campaign
runs=1

# by ssh: a server of our own on this namespace's loopback, keys and home of our own
start_server() {
	mkdir -p home/.ssh && chmod 700 home home/.ssh
	ssh-keygen -q -t ed25519 -N '' -f key && cp key.pub home/.ssh/authorized_keys && chmod 600 home/.ssh/authorized_keys
	if [ -x /usr/sbin/sshd ]; then
		mkdir -p /run/sshd
		ssh-keygen -q -t ed25519 -N '' -f host
		/usr/sbin/sshd -D -e -f /dev/null -h "$work/host" -p 2222 -o ListenAddress=127.0.0.1 -o StrictModes=no \
			-o AuthorizedKeysFile="$work/home/.ssh/authorized_keys" -o PidFile=none -o PermitRootLogin=yes \
			>server.log 2>&1 &
	else
		# dropbear looks into the home that passwd names
		awk -F: -v OFS=: -v home="$work/home" '$3 == 0 { $6 = home; $7 = "/bin/sh" } { print }' /etc/passwd >passwd
		chmod 644 passwd && chmod 755 "$work" && mount --bind passwd /etc/passwd || return 1
		dropbearkey -t ed25519 -f host >/dev/null 2>&1
		dropbear -F -E -s -j -k -r host -p 127.0.0.1:2222 -P "$work/pid" >server.log 2>&1 &
	fi
	server=$!
}
if ! command -v ssh >/dev/null || { [ ! -x /usr/sbin/sshd ] && ! command -v dropbear >/dev/null; }; then
	echo "SKIP: no ssh client and server here; the rest passed"
	exit 77
fi
start_server || fail "no ssh server: $(cat server.log)"
ssh="ssh -p 2222 -i $work/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=$work/known -o LogLevel=ERROR"
for _ in $(seq 100); do
	$ssh -o BatchMode=yes root@127.0.0.1 true 2>ssh.log && break
	sleep 0.1
done
$ssh -o BatchMode=yes root@127.0.0.1 true 2>ssh.log || fail "ssh does not work: $(cat ssh.log server.log)"
plan root@127.0.0.1 "$there" "$ssh" >plan.yaml
"$tare" run --quiet -o campaign plan.yaml >out 2>&1 || fail "run by ssh: $(cat out)"
complete_set "ssh"
no_far_end_left "ssh"
kill "$server"
wait "$server" 2>/dev/null
server=
refused "far end root@127.0.0.1: the other end is gone (ssh ended with status 255); it said: ssh: connect to host"
echo "far: by a stand-in and by ssh, and what goes wrong with a far end"
