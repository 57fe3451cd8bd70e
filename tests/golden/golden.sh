#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A golden test is a transcript: lines "$ COMMAND", each followed by what it
# printed (stdout and stderr together) and "[STATUS]" where that is not 0.
# The commands run again, in this folder, with the built programs first in PATH;
# the transcript must come out the same.
#
#   golden.sh BIN_DIR TRANSCRIPT            compare
#   golden.sh --update BIN_DIR TRANSCRIPT   write down what comes out now
set -u
update=no
[ "$1" = --update ] && update=yes && shift
bin=$(cd "$1" && pwd) || exit 99
transcript=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
PATH=$bin:$PATH
export PATH LC_ALL=C.UTF-8
unset NO_COLOR
cd "$(dirname "$0")" || exit 99
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export work

# Times, versions and places differ from run to run and from host to host.
mask() {
	sed -E -e "s|$work|WORK|g" -e "s|$bin|BIN|g" \
		-e '/^(tare|yaml|sqlite|jansson|dpdk|build) +/s/^([a-z]+) +.*/\1 VERSION/'
}

grep '^\$ ' "$transcript" | while IFS= read -r line; do
	printf '%s\n' "$line"
	sh -c "${line#\$ }" >"$work/out" 2>&1 </dev/null
	status=$?
	mask <"$work/out"
	[ $status -eq 0 ] || printf '[%d]\n' $status
done >"$work/now"

if [ $update = yes ]; then
	cp "$work/now" "$transcript"
else
	diff -u "$transcript" "$work/now" || {
		echo "golden: $2 differs (+ is what came out now); if that is right: $0 --update $1 $2"
		exit 1
	}
fi
