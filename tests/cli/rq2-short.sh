#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plans/rq2-short.yaml and plans/rq2-modes-short.yaml from the plan to the report on tare-switch: every cell, every run valid; and
# a cell with more entries than its table has room for, which is none, while the others go on.
#
#   rq2-short.sh TARE PLANS
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
plans=$(realpath "$2")

# A network and a /run of our own, so that what is left is seen and is ours.
enter root "--net --mount" "$@"
own_run
work=$(mktemp -d) || exit 99
work_in "$work"

run_plan "$plans" rq2-short 36 18
grep -q 'batch_wall, operation=insert, sync over async: ' json || fail "sync and async are not compared"
run_plan "$plans" rq2-modes-short 38 19
"$tare" export rq2-modes-short >samples.csv 2>err || fail "export ended with $?: $(cat err)"
head -1 samples.csv | grep -q '^cell,restart,block,run,valid,switch,seq,status,' || fail "samples: $(head -1 samples.csv)"
# 2 restarts of 2 runs: 17 cells of 100 operations, one with two switches, and two that read once
[ "$(wc -l <samples.csv)" -eq $((1 + 4 * (16 * 100 + 200 + 2))) ] || fail "$(wc -l <samples.csv) lines of samples"

cat >full.yaml <<EOP
name: full
measure: control
restarts: 1
runs: 1
target: { kind: bmv2, switch: tare-switch, start_limit: 60s }
matrix: { program: [l2_forward], count: [500, 1030] }
probes: { mode: batched }
EOP
"$tare" run --quiet -o full full.yaml >out 2>&1
status=$?
[ $status -eq 1 ] || fail "a table that is full ended with $status: $(cat out)"
grep -q '6 of 1030 operations failed: 6' out || fail "what failed is not said: $(cat out)"
grep -q 'RESOURCE_EXHAUSTED' out || fail "the status is not said: $(cat out)"
echo "rq2-short: 37 cells, and a full table"
