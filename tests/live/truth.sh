#!/bin/sh
# Samplers against programs whose references are known (tests/truth). The engine's sampler is exact; the other one is live:
# its figures must hold within the tolerances, and its own intervals must not be far from the truth. Where it cannot run, or
# cannot tell levels apart here, that part is skipped and says so.
. "$(dirname "$0")/../cli/common.sh"
truth=$build/tests/truth
cd "$scratch" || exit 1
export XDG_DATA_HOME=${FATHOM_TRUTH_DATA:-$scratch/data}

# value FILE FILTER OBJECT: the references' share of an object
share() { "$tool" report --json $3 "$1" | jq "[.objects[] | select(.name == \"$2\") | .references_share.value] | add // 0"; }
within() { awk -v value="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(value >= low && value <= high) }'; }
# near WHAT VALUE TRUTH TOLERANCE
near() {
	checks=$((checks + 1))
	low=$(awk -v t="$3" -v e="$4" 'BEGIN { print t - e }') high=$(awk -v t="$3" -v e="$4" 'BEGIN { print t + e }')
	echo "$1: $2 (truth $3 +- $4)"
	within "$2" "$low" "$high" || fail "$1 is $2, and not $3 +- $4"
}
part() { awk -v a="$1" -v b="$2" 'BEGIN { print (a + b > 0 ? a / (a + b) : 0) }'; }

"$tool" record --calibrate -q --rate 1000 -o first.fathom -- "$truth" mix 0.3 >/dev/null 2>first.err || skip "nothing can be recorded here: $(cat first.err)"
[ "$(sqlite3 first.fathom 'SELECT count(*) FROM samples')" -gt 20 ] || skip 'there are hardly any samples here'

# a 3:1 mix; how many samples that takes is a matter of statistics: 3,000 give 0.016 as two standard errors
"$tool" record -q --rate 3000 -o mix.fathom -- "$truth" mix 2 >/dev/null
near 'share of small in a 3:1 mix' "$(part "$(share mix.fathom small '')" "$(share mix.fathom 'big ones' '')")" 0.75 0.03

"$tool" record -q --rate 3000 -o stream.fathom -- "$truth" stream 2 >/dev/null
for array in a b c; do
	near "share of $array in a triad" "$(share stream.fathom $array '--region triad')" 0.3333 0.03
done

# a function that makes nine references for one of another
"$tool" record -q --rate 2000 -o functions.fathom -- "$truth" functions 2 >/dev/null
near 'share of hot' "$("$tool" report --json functions.fathom | jq '[.routines[] | select(.name == "hot") | .references_share.value // .self.value] | add // 0')" 0.9 0.03

# the order of references
for order in sequential random; do
	"$tool" record -q --rate 3000 -o $order.fathom -- "$truth" $order 2 >/dev/null
	echo "$order: $("$tool" report --json $order.fathom | jq -c '.objects[0] | [.name, .order.pattern, .order.confidence]')"
done
holds [ "$("$tool" report --json sequential.fathom | jq -r '.objects[0].order.pattern')" = advances ]
holds [ "$("$tool" report --json random.fathom | jq -r '.objects[0].order.pattern')" = random ]

# levels, as a distribution: what is in a working set of that size must be said to come from there
level() { "$tool" report --json --region chase "$1" | jq "[.objects | sort_by(-.references_share.value) | .[0].levels[] | select(.name == \"$2\") | .share.value // -1] | add // -1"; }
first=$(getconf LEVEL1_DCACHE_SIZE) second=$(getconf LEVEL2_CACHE_SIZE)
for case in "L1 $((first / 2))" "L2 $((second / 2))" "memory 268435456"; do
	set -- $case
	"$tool" record -q --rate 3000 -o "$1.fathom" -- "$truth" chase 1.5 "$2" >/dev/null
	value=$(level "$1.fathom" "$1")
	if within "$value" -1 -1; then
		echo "levels: $1 cannot be told apart here"
		continue
	fi
	checks=$((checks + 1))
	echo "share of $1 in a chase through $2 bytes: $value"
	within "$value" 0.85 1 || fail "only $value of a chase through $2 bytes are said to come from $1"
done

# exactly, with the engine
"$tool" record -q --sampler exact --every 1 -o exact.fathom --machine haswell-ep -- "$truth" mix 0.02 1048576 >/dev/null || fail 'the engine did not record'
near 'exact share of small' "$("$tool" report --json --region mix exact.fathom | jq '[.objects[] | select(.name == "small" or .name == "big ones")] | (map(select(.name == "small")) | .[0].references_share.value) / (map(.references_share.value) | add)')" 0.75 0.0001
finish
