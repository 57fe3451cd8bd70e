#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A campaign on the card with a stop: section, killed at moments spread over all it does and gone on with: no cell has a
# restart behind the block in which it stopped, none is missing before, and what decided is what the report prints. Then
# a pilot of it: what it proposes is a plan, and its data enter no figure.
#
#   stop.sh TARE [SEED]
set -u
. "$(dirname "$0")/lib.sh"
tare=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
seed=${2:-$(date +%s)}
work=$(mktemp -d) || exit 99
work_in "$work"

cat >plan.yaml <<EOP
name: stopping
measure: differential
seed: 5
runs: 1
target: { kind: card, jitter: 3ns }
matrix: { program: [400ns, 200ns] }
stop: { width: 12%, restarts: 6..14 }
probes: { count: 60, rate: 20kpps, cores: 1 }
EOP

fail() {
	echo "stop: $* (seed $seed)"
	exit 1
}

ask() {
	sqlite3 -readonly campaign/tare.db "$1" || fail "sqlite3: $1"
}

kill_at_random() {
	n=0
	while [ $n -lt 8 ]; do
		n=$((n + 1))
		seed=$(((seed * 1103515245 + 12345) % 2147483648))
		"$tare" run -q plan.yaml -o campaign >out 2>&1 &
		pid=$!
		sleep "0.$((seed / 65536 % 6))$((seed / 256 % 10))"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
	done
}

check() {
	[ "$(ask 'SELECT count(*) FROM stopped')" = 2 ] || fail "not every cell has stopped"
	# of each cell: a restart in every block up to the one in which it stopped, and none behind it
	ask 'SELECT c.label, s.block, count(*), max(t.block), s.restarts FROM stopped s JOIN cell c ON c.id = s.cell
		JOIN turn t ON t.cell = s.cell JOIN restart r ON r.turn = t.id GROUP BY s.cell' >cells
	awk -F'|' '$3 != $2 + 1 || $4 != $2 || $5 != $3 { print; bad = 1 } END { exit bad }' cells || fail "its restarts"
	# the tare as long as one of them, twice a block
	tares=$(ask 'SELECT count(*) FROM restart r JOIN turn t ON t.id = r.turn JOIN cell c ON c.id = t.cell WHERE c.is_tare')
	last=$(ask 'SELECT 2 * (max(block) + 1) FROM stopped')
	[ "$tares" = "$last" ] || fail "$tares restarts of the tare, $last expected"
	[ "$(ask 'SELECT count(*) FROM (SELECT turn FROM restart GROUP BY turn HAVING count(*) > 1)')" = 0 ] ||
		fail "a turn ran twice"
	"$tare" report campaign >report 2>message || fail "report: $(cat message)"
	grep -q "12 % asked for" report || fail "the report does not say why cells stopped: $(cat report)"
	grep -q "have not run" report && fail "the report misses restarts that were passed over"
	"$tare" report --json campaign >report.json || fail "report --json"
	return 0
}

kill_at_random
"$tare" run -q plan.yaml -o campaign >out 2>&1 || fail "the last run: $(cat out)"
check
before=$(ask 'SELECT count(*) FROM restart')
"$tare" run -q plan.yaml -o campaign >out 2>&1 || fail "once more: $(cat out)"
[ "$(ask 'SELECT count(*) FROM restart')" = "$before" ] || fail "a campaign that is over went on"

"$tare" run -q --blocks 0..2 plan.yaml -o part >out 2>&1
[ $? -eq 2 ] && grep -q "stop: section" out || fail "a part of it: $(cat out)"

# --- the pilot ---
"$tare" plan --probes 100 plan.yaml >out 2>&1
[ $? -eq 2 ] && grep -q "expected --pilot" out || fail "an option of a pilot without one: $(cat out)"
sed '/^stop/d' plan.yaml >fixed.yaml
"$tare" plan --pilot fixed.yaml -o pilot >out 2>&1
[ $? -eq 2 ] && grep -q "give --width" out || fail "a pilot that does not know the width: $(cat out)"
"$tare" plan --pilot plan.yaml -q -o pilot >proposal 2>message || fail "the pilot: $(cat message)"
grep -q "in no figure" proposal || fail "the pilot is not called one: $(cat proposal)"
"$tare" report pilot >out 2>&1
[ $? -eq 2 ] && grep -q "enter no figure" out || fail "a report of a pilot: $(cat out)"
"$tare" run -q plan.yaml -o pilot >out 2>&1
[ $? -eq 2 ] && grep -q "holds another plan" out || fail "the plan into its pilot's store: $(cat out)"
# what is to be pasted, in place of the plan's own
grep -E '^(runs|stop|probes):' proposal >pasted
[ "$(wc -l <pasted)" = 3 ] || fail "nothing to paste: $(cat proposal)"
grep -vE '^(runs|stop|probes):' plan.yaml | cat - pasted >proposed.yaml
"$tare" plan -q proposed.yaml >out 2>&1 || fail "what it proposes is no plan: $(cat out)"
"$tare" plan --pilot --json plan.yaml -q -o pilot >proposal.json 2>message || fail "the same pilot again: $(cat message)"
grep -q '"tare.pilot/1"' proposal.json || fail "no JSON: $(cat proposal.json)"
echo "stop: killed and gone on with, and its pilot: good"
