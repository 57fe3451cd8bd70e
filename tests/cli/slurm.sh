#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A campaign on a Slurm cluster of one node, which this script starts as root in a folder of its own (munged, slurmctld,
# slurmd) and ends again: it comes out whole and merged; a job that is killed leaves a block that the same command runs
# again; without a cluster, without sbatch and with a plan that cannot run side by side there is one message each.
#
#   slurm.sh TARE
set -u
tare=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
skip() {
	echo "SKIP: $*"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root: slurmctld and slurmd"
for program in munged slurmctld slurmd sbatch scancel squeue; do
	command -v $program >/dev/null || skip "no Slurm here: $program is missing (Debian: munge slurmctld slurmd slurm-client)"
done
work=$(mktemp -d) || exit 99
chmod 755 "$work"
pids=
export SLURM_CONF="$work/slurm.conf"
end() {
	# jobs first: a daemon that is gone leaves them running
	if [ -s "$SLURM_CONF" ]; then
		scancel --user=root 2>/dev/null
		wait_until sh -c '! squeue -h -o %A | grep -q .'
	fi
	for pid in $pids; do kill "$pid" 2>/dev/null; done
	for pid in $pids; do wait "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap end EXIT
trap 'exit 99' INT TERM
cd "$work" || exit 99

fail() {
	echo "slurm: $*"
	for log in "$work"/*.log "$work"/campaign/*.log; do
		[ -s "$log" ] && echo "--- $log" && tail -n 15 "$log"
	done
	exit 1
}

# Until a command succeeds: 60 s.
wait_until() {
	n=0
	until "$@" >/dev/null 2>&1; do
		n=$((n + 1))
		[ $n -lt 300 ] || return 1
		sleep 0.2
	done
}

# A port that nobody listens on.
free_port() {
	port=$((20000 + ($$ + $1) % 20000))
	while grep -qi "$(printf ':%04X 0' $port)" /proc/net/tcp; do port=$((port + 1)); done
	echo $port
}

cluster_start() {
	dd if=/dev/urandom of=munge.key bs=128 count=1 2>/dev/null
	chmod 400 munge.key
	mkdir -p spool state
	munged --foreground --force --num-threads=1 --key-file="$work/munge.key" --socket="$work/munge.sock" \
		--pid-file="$work/munged.pid" --log-file="$work/munged.log" --seed-file="$work/munged.seed" 2>munged.err.log &
	pids=$!
	wait_until test -S munge.sock || fail "munged does not answer"
	host=$(hostname -s)
	cat >slurm.conf <<EOC
ClusterName=tare
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.sock
CredType=cred/munge
SlurmctldPort=$(free_port 0)
SlurmdPort=$(free_port 100)
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/linear
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
MinJobAge=300
KillWait=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOC
	slurmctld -D -f slurm.conf -L "$work/slurmctld.log" >/dev/null 2>&1 &
	pids="$pids $!"
	slurmd -D -f slurm.conf -L "$work/slurmd.log" >/dev/null 2>&1 &
	pids="$pids $!"
	wait_until sh -c 'sinfo -h -o %T | grep -q idle' || fail "the node is not idle: $(sinfo 2>&1)"
}

plan() {
	cat <<EOP
name: cluster
measure: differential
seed: 3
restarts: 6
runs: 2
target: { kind: card }
matrix: { program: [forward, checksum] }
probes: { count: $1, rate: 2kpps, cores: 1 }
EOP
}

# --- without a cluster ---
plan 100 >plan.yaml
printf '' >slurm.conf
PATH=/nonexistent "$tare" run --slurm plan.yaml -o campaign >out 2>&1
[ $? -eq 3 ] && grep -q "cannot run sbatch" out || fail "without sbatch: $(cat out)"
[ ! -e campaign ] || fail "without sbatch something was made"
sed 's/^restarts: 6/stop: { width: 5%, restarts: 6..9 }/' plan.yaml >stop.yaml
"$tare" run --slurm stop.yaml -o campaign >out 2>&1
[ $? -eq 2 ] && grep -q "side by side" out || fail "with stop: $(cat out)"

# --- whole ---
cluster_start
"$tare" run --slurm plan.yaml -o campaign >out 2>&1 || fail "the campaign: $(cat out)"
grep -q "24 of 24 restarts" out || fail "not all restarts: $(cat out)"
"$tare" report campaign >report 2>&1 || fail "its report: $(cat report)"
"$tare" run --slurm plan.yaml -o campaign >out 2>&1
[ $? -eq 2 ] && grep -q "there is a store already" out || fail "a second time: $(cat out)"
"$tare" merge -o again campaign campaign/part-3 >out 2>&1
[ $? -eq 2 ] && grep -q "a store goes in once" out || fail "merged twice: $(cat out)"

# --- a job is killed ---
rm -rf campaign
plan 20000 >plan.yaml # ten seconds a run: there is time
"$tare" run --slurm plan.yaml -o campaign >out 2>&1 &
run=$!
wait_until sh -c 'squeue -h -t running -o %A | grep -q .' || fail "no job runs: $(squeue 2>&1)"
job=$(squeue -h -r -o %F | head -n 1)
wait_until test -e campaign/part-0/tare.db || fail "the first block has not begun"
scancel "$job" || fail "scancel $job"
wait $run
[ $? -eq 1 ] && grep -q "6 of 6 blocks are not whole" out || fail "a killed job: $(cat out)"
[ ! -e campaign/tare.db ] || fail "parts that are not whole were merged"
"$tare" merge -o partial campaign/part-0 >out 2>&1 || fail "the part of a killed job: $(cat out)"

# --- interrupted ---
"$tare" run --slurm plan.yaml -o campaign >out 2>&1 &
run=$!
wait_until grep -q "is submitted" out || fail "not submitted: $(cat out)"
kill -TERM $run # INT is ignored by what a shell starts in the background
wait $run
[ $? -eq 130 ] && grep -q "is cancelled" out || fail "interrupted: $(cat out)"
wait_until sh -c '! squeue -h -o %A | grep -q .' || fail "jobs are left: $(squeue)"
echo "slurm: a campaign, a killed job, an interruption: good"
