#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tare import as a whole: what it says, and that a kill at any moment leaves nothing under the campaign's name.
#
#   import.sh TARE
set -u
. "$(dirname "$0")/lib.sh"
tare=$(realpath "$1")
work=$(mktemp -d) || exit 99
work_in "$work"

# a program and its null, two sessions of ten runs of 20,000 rows
awk 'BEGIN {
	srand(4)
	for (t = 0; t < 2; t++)
		for (s = 1; s <= 2; s++) {
			dir = "lab/" (t ? "NC" : "CS") "_s" s
			system("mkdir -p " dir)
			for (r = 1; r <= 10; r++) {
				file = sprintf("%s/f_run%02d.csv", dir, r)
				print "pkt_id,tx_ts_ns,rx1_ts_ns,rx2_ts_ns,latency_rx1_ns,latency_rx2_ns,diff_latency_ns" > file
				for (i = 1; i <= 20000; i++) {
					d = (t ? 40 : 404) + int(20 * rand()) - 10
					printf "%d,0,%.0f,%.0f,0,0,%d\n", i, (i - 1) * 2000000 + d + 50, (i - 1) * 2000000 + 50, d > file
				}
				close(file)
			}
		}
}' || fail "awk"

says 2 "unknown format 'pcap'; formats: latencylab, p4net-perf-study" import pcap lab
says 2 "latencylab takes one directory; found 2" import latencylab lab lab
says 0 "campaign: 4 restarts, 40 runs, 800000 probes; 800000 records read" import --quiet latencylab lab -o campaign
says 0 "Checksum" report campaign
says 2 "campaign: exists; choose another directory with -o" import --quiet latencylab lab -o campaign
"$tare" report --json campaign 2>/dev/null | python3 -c '
import json, sys
cells = {c["title"]: c for c in json.load(sys.stdin)["cells"]}
net = cells["Checksum trace=CS"]["net_ns"]
assert abs(net - 364) < 1, net
' || fail "the net is not 364 ns"
"$tare" import --quiet --json latencylab lab -o other | python3 -c '
import json, sys
assert json.load(sys.stdin)["records"] == 800000
' || fail "--json"
rm -r campaign other

# killed at several moments, and once more
for wait in 0.05 0.15 0.3 0.45; do
	"$tare" import --quiet latencylab lab -o campaign >/dev/null 2>&1 &
	sleep $wait
	kill -9 $! 2>/dev/null
	wait $! 2>/dev/null
	if [ -e campaign ]; then # it had been whole by then
		"$tare" report campaign >out 2>&1
		[ $? -le 1 ] || fail "what a kill left under the name is not whole: $(cat out)"
		rm -r campaign
	fi
done
says 0 "800000 records read" import --quiet latencylab lab -o campaign
[ ! -e campaign.importing ] || fail "what a kill left is still there"
rm -r campaign

# interrupted: nothing, and status 130
"$tare" import --quiet latencylab lab -o campaign >out 2>&1 &
sleep 0.1
kill -INT $! 2>/dev/null
wait $!
status=$?
if [ ! -e campaign ]; then
	[ $status -eq 130 ] || fail "interrupted with status $status: $(cat out)"
	[ ! -e campaign.importing ] || fail "an interrupted import left something"
fi
rm -rf campaign

# one bad line in the last file: named, and nothing is left
printf '20001,0,1,x,0,0,1\n' >>lab/CS_s2/f_run10.csv
says 2 "CS_s2/f_run10.csv:20002: column rx2_ts_ns: 'x' is no whole number" import --quiet latencylab lab -o campaign
[ ! -e campaign ] && [ ! -e campaign.importing ] || fail "a failed import left something"

# a hole of 10 GB behind the header costs nothing
head -n 1 lab/CS_s1/f_run01.csv >lab/CS_s2/f_run10.csv
truncate -s 10G lab/CS_s2/f_run10.csv 2>/dev/null &&
	says 2 "CS_s2/f_run10.csv:2: " import --quiet latencylab lab -o campaign
echo "import: good"
