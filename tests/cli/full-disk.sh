#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A disk that fills up while a campaign is written: a clear error and status 3, every restart committed before is
# whole, and once there is room the same command completes the campaign.
#
#   full-disk.sh TARE
set -u
. "$(dirname "$0")/lib.sh"
enter anyone "-m" "$@"
tare=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) || exit 99
trap 'cd /; umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/disk"
mount -t tmpfs -o size=2m tare-test "$work/disk" || skip "needs root, or user namespaces, to mount a small disk"
cd "$work" || exit 99

plan() {
	cat <<EOP
name: full
measure: differential
seed: 1
restarts: 4
runs: 2
target: { kind: card }
matrix: { program: [forward] }
probes: { count: 2000, rate: 50kpps, cores: 1 }
EOP
}
plan >plan.yaml

# The number of restarts there, each whole.
check() {
	"$tare" export disk/campaign >samples.csv 2>message || fail "export: $(cat message)"
	awk -F, 'NR > 1 { n[$1 "/" $2]++ }
		END { for (r in n) { if (n[r] != 4000) { print "restart " r " has " n[r] " samples"; exit 1 } c++ }; print c + 0 }' \
		samples.csv >count || fail "$(cat count)"
	there=$(cat count)
}

"$tare" run --quiet -o disk/campaign plan.yaml >out 2>&1
status=$?
[ $status -eq 3 ] || fail "status $status on a full disk, expected 3: $(cat out)"
grep -q 'disk/campaign/tare.db: .*every restart recorded before is safe' out || fail "the message is: $(cat out)"
check
first=$there
[ "$first" -lt 12 ] || fail "the disk was not full"

"$tare" run --quiet -o disk/campaign plan.yaml >out 2>&1
[ $? -eq 3 ] || fail "resumed on a disk that is still full: $(cat out)"
check
[ "$there" -ge "$first" ] || fail "$first restarts were there, $there are"

# no room for a store at all: nothing is left of the attempt
dd if=/dev/zero of=disk/filler bs=64k 2>/dev/null
"$tare" run --quiet -o disk/second plan.yaml >out 2>&1
[ $? -eq 3 ] || fail "a store was made on a full disk: $(cat out)"
[ ! -e disk/second ] || fail "left behind: $(ls -R disk/second)"
rm disk/filler

mount -o remount,size=64m "$work/disk" || fail "cannot enlarge the disk"
"$tare" run --quiet -o disk/campaign plan.yaml >out 2>&1
[ $? -le 1 ] || fail "with room again: $(cat out)"
check
[ "$there" -eq 12 ] || fail "$there of 12 restarts are there at the end"
