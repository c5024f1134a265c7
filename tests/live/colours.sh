#!/bin/sh
# Page colours on this machine: chases step where k of N colours say, the shuffled control does not; a program of known need is
# squeezed by an ordinary user. Ratios inside one run only.
. "$(dirname "$0")/../cli/common.sh"
access=$build/tests/squeeze_access
[ -e "$build/libfathom-colours.so" ] || skip 'the runtime was not built'
"$build/bench/bench_colours" chase 5 >"$scratch/chases" 2>"$scratch/why"
status=$?
[ "$status" != 77 ] || skip "$(cat "$scratch/why")"
holds [ "$status" = 0 ]
cat "$scratch/chases"
# A row has a share of the L2, and times for k = N, N/2, …: with half of what it needs and less it is slow, with what it needs and a
# half more it is fast. With shuffled labels the last is as the first.
awk '/^k of N/ { shuffled = 0 } /^shuffled/ { shuffled = 1 }
$1 ~ /^0\./ {
	for (i = 2; i <= NF; i++) {
		have = 1 / 2 ^ (i - 2)
		if (!shuffled && have * 0.7 >= $1 && $i > 1.35 * $2) { print "slow with " have " for " $1; bad = 1 }
		if (!shuffled && have <= 0.51 * $1 && $i < 1.5 * $2) { print "fast with " have " for " $1; bad = 1 }
		if (shuffled && ($i > 1.3 * $2 || $i < 0.7 * $2)) { print "the control steps for " $1; bad = 1 }
		compared++
	}
}
END { exit bad || !compared }' "$scratch/chases" >"$scratch/steps"
steps=$?
cat "$scratch/steps"
# the machine may be too busy just now for one or two of them
if [ "$steps" != 0 ] && [ "$(wc -l <"$scratch/steps")" -le 2 ]; then
	inconclusive 'a chase was disturbed'
else
	holds [ "$steps" = 0 ]
fi

as_user=
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$tool" 2>/dev/null; then
	as_user='setpriv --reuid=65534 --regid=65534 --clear-groups'
	chmod 777 "$scratch"
fi
$as_user "$tool" squeeze --backend colours --budget 20s --json -q -o "$scratch/answer.json" -- "$access" heap 400 8000 >"$scratch/out" 2>"$scratch/err"
status=$?
[ "$status" != 124 ] || skip "$(cat "$scratch/err")"
holds [ "$status" = 0 ]
jq -c '[.kind, .complete, .stopped, .capacity_in_use_bytes.low, .capacity_in_use_bytes.high, .runs, .control.value]' "$scratch/answer.json"
bytes=$(jq '.level_bytes' "$scratch/answer.json")
# 400 KiB is within the L2 of every machine that is known to have colours; elsewhere nothing is claimed
if [ "$(jq '.capacity_in_use_bytes != null' "$scratch/answer.json")" = true ]; then
	holds jq -e '.capacity_in_use_bytes | .low <= 409600' "$scratch/answer.json"
	[ "$(jq '.level_bytes > 600000' "$scratch/answer.json")" = false ] || holds jq -e '.capacity_in_use_bytes | .high >= 409600' "$scratch/answer.json"
else
	inconclusive "$(jq -r .stopped "$scratch/answer.json") ($bytes bytes)"
fi
# nothing of the runtime's memory is the program's, and every run was confined
holds jq -e 'all(.every_run[1:][]; .near_ns == null or .role == "control" or .near_ns < .beyond_ns)' "$scratch/answer.json"
finish
