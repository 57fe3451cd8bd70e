# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the scripts here share. Each is run by path and begins with
#   . "$(dirname "$0")/lib.sh"

script=$(basename "$0" .sh)

fail() {
	echo "$script: $*"
	exit 1
}

skip() {
	echo "SKIP: $*"
	exit 77
}

# enter root|anyone UNSHARE-OPTIONS ARGUMENT...: run this script again, with these arguments, in namespaces of its own; once
# inside, nothing. "anyone": in a user namespace where this is not root.
enter() {
	[ "${TEST_INSIDE:-}" != "$script" ] || return 0
	needs="needs root" options=$2
	[ "$1" = root ] || needs="needs root or user namespaces"
	if [ "$(id -u)" != 0 ]; then
		[ "$1" != root ] || skip "$needs"
		options="-Ur $options"
	fi
	shift 2
	# shellcheck disable=SC2086 # options, each a word
	unshare $options true 2>/dev/null || skip "$needs"
	# shellcheck disable=SC2086
	TEST_INSIDE=$script exec unshare $options sh "$0" "$@"
}

# work_in FOLDER: enter it; it is gone at the end
work_in() {
	folder=$1
	trap 'cd /; rm -rf "$folder"' EXIT
	cd "$folder" || exit 99
}

# An empty /run, for what lies there to be ours.
own_run() {
	mount -t tmpfs none /run && mkdir /run/netns || exit 99
}

# says STATUS TEXT ARGUMENT...: how tare ends with these, and what it says among other things (all of it is in out)
says() {
	want=$1 text=$2
	shift 2
	# shellcheck disable=SC2154 # each script has its tare
	"$tare" "$@" >out 2>&1
	status=$?
	[ $status -eq "$want" ] || fail "$*: status $status, expected $want: $(cat out)"
	grep -qF -- "$text" out || fail "$*: expected '$text' in: $(cat out)"
}

# run_plan PLANS NAME TURNS CELLS: PLANS/NAME.yaml as it is, but for the switch, which is ours also where BMv2 is installed; from
# the plan to its report (in json, text, NAME.html). All turns are done and all cells have both restarts valid.
run_plan() {
	plan=$2
	sed 's/^target: { kind: bmv2 }$/target: { kind: bmv2, switch: tare-switch, start_limit: 60s }/' "$1/$plan.yaml" >"$plan.yaml"
	grep -q 'switch: tare-switch' "$plan.yaml" || fail "$plan has another target line"
	"$tare" run --quiet -o "$plan" "$plan.yaml" >out 2>&1 || fail "$plan: run ended with $?: $(cat out)"
	"$tare" report --json "$plan" >json 2>err || fail "$plan: report ended with $?: $(cat err)"
	"$tare" report "$plan" >text 2>err && "$tare" report --html "$plan.html" "$plan" >/dev/null 2>err || fail "$plan: report ended with $?: $(cat err)"
	grep -q "^ \"turns_done\": $3,\$" json || fail "$plan: not all restarts are done: $(grep turns_ json)"
	cells=$(grep -c '"restarts_valid": 2,' json)
	[ "$cells" -eq "$4" ] || fail "$plan: $cells of $4 cells have two valid restarts: $(cat out)"
	[ -z "$(ls /run/netns)" ] || fail "$plan: namespaces are left: $(ls /run/netns)"
}

# --- cables and the box ---

# cable NAME: an interface, and b_NAME at its other end; nothing but what a test sends
cable() {
	ip link add "$1" type veth peer name "b_$1" || fail "no cable"
	echo 1 >"/proc/sys/net/ipv6/conf/$1/disable_ipv6"
	echo 1 >"/proc/sys/net/ipv6/conf/b_$1/disable_ipv6"
	ip link set "$1" up && ip link set "b_$1" up
}

# box IN FIRST SECOND: each frame that comes from IN leaves by both; instead of what the box did before
box() {
	tc filter del dev "$1" ingress 2>/dev/null || tc qdisc add dev "$1" clsact &&
		tc filter add dev "$1" ingress protocol all u32 match u32 0 0 \
			action mirred egress mirror dev "$2" pipe action mirred egress redirect dev "$3" ||
		skip "this kernel cannot copy frames to two ports (clsact, u32, mirred)"
}

# frames PORT received|sent: how many up to now
frames() {
	field=2
	[ "$2" = received ] || field=10
	sed -n "s/^ *$1: *//p" /proc/net/dev | awk -v field=$field '{ print $field }'
}

# under_way PORT received|sent BEFORE: until 200 more frames have passed: a busy machine takes its time to get there
under_way() {
	for _ in $(seq 200); do
		[ $(($(frames "$1" "$2") - $3)) -gt 200 ] && break
		sleep 0.05
	done
}
