#!/bin/sh
# Sampled references: text, JSON and separated values of recordings whose truth is known; filters; damaged files.
. "$(dirname "$0")/common.sh"
make="$build/tests/sampled_recording"
[ -x "$make" ] || skip 'sampled_recording was not built'
schema="$source/tests/cli/schema"
for kind in 0 1 2; do
	holds "$make" "$scratch/$kind.fathom" 20000 $kind
	expect 0 '^\./solver: 10 s, 12 s of processor time; 20,000 samples of memory references' "$tool" report "$scratch/$kind.fathom"
done
for kind in 0 1 2; do
	"$tool" report --json "$scratch/$kind.fathom" >"$scratch/$kind.json"
	holds "$schema" "$source/docs/schemas/report.schema.json" "$scratch/$kind.json"
done

# the text: what was sampled first, then what is wrong, then the tables in this order
expect 0 'Sampler: burst. Overhead: 2.4 ±0.2 % \(limit: 3 %\)' "$tool" report "$scratch/0.fathom"
cp "$scratch/out" "$scratch/text"
holds grep -q '^!  42 % of the processor time was not sampled: code that belongs to no file (JIT)$' "$scratch/text"
holds grep -qE '^table +30\.[0-9] ±0\.[0-9] ' "$scratch/text"
holds grep -qE '^table +3+M+ +64 MiB +random +static, solver$' "$scratch/text"
holds grep -qE '^solver\.c:40 \(make_grid\) +1+2+ +64 MiB +0–10 s +advances +< main\.c:12 \(main\)$' "$scratch/text"
holds grep -qE '^tree\.c:9 \(new_node\) \* ' "$scratch/text"
holds grep -qE '^counter .* shared written$' "$scratch/text"
holds [ "$(grep -nE '^(Object|Routine|Region|Line|Thread|Object × thread,|Not sampled) ' "$scratch/text" | cut -d: -f2 | cut -d' ' -f1 | tr '\n' ' ')" = 'Object Object Routine Region Line Thread Object Not ' ]
holds [ "$(LC_ALL=C.UTF-8 wc -L <"$scratch/text")" -le 100 ]
holds sh -c '! grep -q " $" "$1"' sh "$scratch/text"
expect 0 'No levels: the sampler was not calibrated' "$tool" report "$scratch/2.fathom"
expect 0 '\(all references\)' "$tool" report "$scratch/1.fathom"

# JSON: the members that scripts rely on
is() {
	checks=$((checks + 1))
	jq -e "$2" "$scratch/$1.json" >/dev/null || fail "$1.json: not $2"
}
is 0 '.objects[] | select(.name == "table") | .references_share.value > 0.28 and .references_share.value < 0.32'
is 0 '.objects[] | select(.name == "table") | .levels[] | select(.name == "memory") | .share.low < 0.8 and .share.high > 0.79'
is 0 '.objects[] | select(.name == "table") | .levels[] | select(.name == "in flight") | .share == null and (.share_why | length > 0)'
is 0 '[.objects[].references_share.value] | add > 0.999 and add < 1.001'
is 0 '.objects[] | select(.name == "table") | .mean_cost_cycles.unit == "TSC cycles" and .bytes == 67108864 and .order.pattern == "random"'
is 0 '.routines[] | select(.name == "main") | .inclusive.references_share.value > 0.999'
is 0 '[.sharing[] | select(.object == "counter" and .kind == "shared written")] | length == 2'
is 0 '.regions[] | select(.name == "step") | .instances == 10'
is 1 '.objects[] | select(.name == "table") | .levels[] | select(.name == "memory") | .share.low == .share.high and .share.origin == "simulated"'
is 2 '.whole.levels[0].share == null and (.whole.levels[0].share_why | test("calibrated"))'

# levels that cost the same are told together
cp "$scratch/0.fathom" "$scratch/joint.fathom"
change "$scratch/joint.fathom" 'UPDATE calibration SET level = 1 + "row" / 4 % 2 WHERE level <= 2 AND kind = 0'
expect 0 '^!  L1 or L2 cannot be distinguished' "$tool" report "$scratch/joint.fathom"
holds grep -q 'L1 or L2 %' "$scratch/out"
"$tool" report --json "$scratch/joint.fathom" >"$scratch/joint.json"
holds "$schema" "$source/docs/schemas/report.schema.json" "$scratch/joint.json"
is joint '[.whole.levels[] | select(.name == "L1" or .name == "L2") | .share == null and (.share_why | test("L1 or L2"))] == [true, true]'
is joint '.objects[] | select(.name | test("make_grid")) | .levels[] | select(.name == "L1 or L2") | .share.high > 0.98'

# the same bytes again
"$tool" report --json "$scratch/0.fathom" >"$scratch/again.json"
holds cmp -s "$scratch/0.json" "$scratch/again.json"

# separated: one figure a line, always eight fields
expect 0 '^total;references_share;1;' "$tool" report '-x;' "$scratch/0.fathom"
holds awk -F';' 'NF != 8 { exit 1 }' "$scratch/out"

# filters
expect 0 'Only objects "table": .* Shares refer to these samples' "$tool" report --object table "$scratch/0.fathom"
holds grep -qE '^table +(100|99.[0-9]–100)' "$scratch/out"
expect 0 'Only thread worker: ' "$tool" report --thread worker "$scratch/0.fathom"
expect 0 'Only region search: .* 2[67]\.[0-9] %' "$tool" report --region search "$scratch/0.fathom"
expect 0 'Only function lookup and its callees: ' "$tool" report --region lookup "$scratch/0.fathom"
expect 0 'Only from 2 s to 4.5 s: .* 25\.[0-9] %' "$tool" report --time 2-4.5 "$scratch/0.fathom"
expect 0 'Only from 8 s on: ' "$tool" report --time 8- "$scratch/0.fathom"
expect 0 'Only from 0 s to 1 s: ' "$tool" report --time -1 "$scratch/0.fathom"
expect 0 'and 8 more objects' "$tool" report --top 1 "$scratch/0.fathom"
expect 2 'no object "nobody"' "$tool" report --object nobody "$scratch/0.fathom"
expect 2 'no thread "7"' "$tool" report --thread 7 "$scratch/0.fathom"
expect 2 'no marked region or function "nobody"' "$tool" report --region nobody "$scratch/0.fathom"
expect 2 'no sample is left' "$tool" report --time 50-60 "$scratch/0.fathom"
for time in '' - 1 a-b 1-2x 3-2 -1-2; do
	expect 2 '--time takes seconds' "$tool" report "--time=$time" "$scratch/0.fathom"
done

# tables of someone else's making; few samples say as much here
holds "$make" "$scratch/small.fathom" 300 0
for change in 'UPDATE samples SET memory = 4000' 'UPDATE samples SET code = 99 WHERE row = 5' 'UPDATE samples SET thread = -1' \
	'UPDATE frames SET caller = 5' 'DELETE FROM codes' 'DELETE FROM memories' 'DELETE FROM samples' 'UPDATE samples SET weight = -1' \
	'UPDATE samples SET weight = 1e308' 'UPDATE sampling SET levels = 4000000000' "UPDATE sampling SET level_names = ''" \
	'UPDATE sampling SET coarse_step = 4000000000' 'UPDATE calibration SET cost = 4294967295' 'DELETE FROM sampled_threads' \
	'UPDATE memories SET weight = 1e300, bytes = -1' 'UPDATE sampling SET ticks_per_second = 0'; do
	cp "$scratch/small.fathom" "$scratch/damaged.fathom"
	change "$scratch/damaged.fathom" "$change"
	for format in '' --json -x,; do
		# shellcheck disable=SC2086
		"$tool" report $format "$scratch/damaged.fathom" >/dev/null 2>"$scratch/err"
		status=$?
		checks=$((checks + 1))
		[ $status -le 1 ] || fail "'$change' ended with $status: $(head -3 "$scratch/err")"
	done
done
finish
