#!/bin/sh
# Samplers against programs whose references are known (tests/truth). The engine's sampler is exact; the other one is live: its
# figures must hold within the tolerances. Each is tried three times, with a new calibration, before it fails: a machine that
# others use changes between the calibration and the program. Where nothing can be sampled, the test is skipped and says so.
. "$(dirname "$0")/../cli/common.sh"
truth=$build/tests/truth
cd "$scratch" || exit 1

within() { awk -v value="${1:-nothing}" -v low="$2" -v high="$3" 'BEGIN { exit !(value ~ /^[0-9]/ && value + 0 >= low && value + 0 <= high) }'; }
# tried WHAT LOW HIGH FUNCTION ARGUMENT...: the function prints a value between LOW and HIGH, at the latest the third time
tried() {
	what=$1 low=$2 high=$3
	shift 3
	checks=$((checks + 1))
	for try in 1 2 3; do
		value=$("$@")
		echo "$what: $value ($low … $high)"
		within "$value" "$low" "$high" && return
		[ "$value" != -1 ] || { inconclusive "$what: no cost of its own here" && return; }
		"$tool" record --force --calibrate -q -o again.fathom -- true >/dev/null 2>&1
	done
	fail "$what is $value, and not from $low to $high"
}
record() { # NAME ARGUMENT...
	name=$1
	shift
	"$tool" record --force -q --rate 3000 -o "$name.fathom" -- "$truth" "$@" >/dev/null
}
objects() { "$tool" report --json "$@"; } # [OPTION...] FILE

"$tool" record --force --calibrate -q --rate 1000 -o first.fathom -- "$truth" mix 0.3 >/dev/null 2>first.err || skip "nothing can be recorded here: $(cat first.err)"
[ "$(sqlite3 first.fathom 'SELECT count(*) FROM samples')" -gt 20 ] || skip 'there are hardly any samples here'

# how many samples it takes is a matter of statistics: 3,000 give 0.016 as two standard errors
mix() {
	record mix mix 2
	objects mix.fathom | jq '[.objects[] | select(.name == "small" or .name == "big ones")] | (map(select(.name == "small")) | .[0].references_share.value) / (map(.references_share.value) | add)'
}
tried 'share of small in a 3:1 mix' 0.72 0.78 mix

stream() {
	record stream stream 2
	objects --region triad stream.fathom | jq "[.objects[] | select(.name == \"$1\") | .references_share.value] | add // 0"
}
for array in a b c; do
	tried "share of $array in a triad" 0.3033 0.3633 stream $array
done

functions() {
	record functions functions 2
	objects functions.fathom | jq '[.routines[] | select(.name == "hot") | .references_share.value] | add // 0'
}
tried 'share of a function with nine of ten references' 0.87 0.93 functions

# beside other work there are few samples in two seconds, and then it is "inconclusive": the next time it runs for longer
order() { # what it is, as 1, or what else
	record order "$1" $((1 << ${try:-1}))
	objects order.fathom | jq -r ".objects[0].order.pattern | if . == \"$2\" then 1 else . end"
}
tried 'a sweep advances' 1 1 order sequential advances
tried 'random accesses are random' 1 1 order random random

# levels, as a distribution: what is in a working set of that size must be said to come from there. -1: the costs of two levels are too
# close together here and now, and the report says so, or the interval is wider than a half
level() { # LEVEL REGION PROGRAM BYTES
	record level "$3" 1.5 "$4"
	objects --region "$2" level.fathom | jq "[.objects | sort_by(-.references_share.value) | .[0].levels[] | select(.name == \"$1\") | .share | if . == null or .high - .low > 0.5 then -1 else .value end] | add // -1"
}
# a guest may have all of a last cache of hundreds of megabytes for a while
beyond=268435456
while [ "$beyond" -lt $(($(getconf LEVEL3_CACHE_SIZE) * 3)) ]; do beyond=$((beyond * 2)); done
first=$(getconf LEVEL1_DCACHE_SIZE) second=$(($(getconf LEVEL2_CACHE_SIZE) / 4))
# Of the second cache a quarter, since where pages lie takes much of it in guests; and no chain: some processors prefetch what a
# pointer points to, and in a burst they have the time for it. Of random places the first cache has its part.
for case in "L1 chase chase $((first / 2)) 0.85" \
	"L2 pass random $second $(awk -v first="$first" -v all="$second" 'BEGIN { print 0.9 * (1 - first / all) }')" \
	"memory chase chase $beyond 0.85"; do
	# shellcheck disable=SC2086 # five words
	set -- $case
	tried "share of $1 in a set of $4 bytes" "$5" 1 level "$1" "$2" "$3" "$4"
done

# exactly, with the engine
exact() {
	"$tool" record --force -q --sampler exact --every 1 -o exact.fathom --machine haswell-ep -- "$truth" mix 0.02 1048576 >/dev/null
	objects --region mix exact.fathom | jq '[.objects[] | select(.name == "small" or .name == "big ones")] | (map(select(.name == "small")) | .[0].references_share.value) / (map(.references_share.value) | add)'
}
tried 'exact share of small' 0.7499 0.7501 exact
finish
