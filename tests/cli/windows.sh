#!/bin/sh
# fathom stat with the native engine: every access, windows, and the misses of caches of any size.
. "$(dirname "$0")/common.sh"
phases="$build/tests/program_phases"
[ -x "$phases" ] && [ -e "$build/libfathom-trace.so" ] || skip 'the native engine was not built'
# both engines see the same loads and stores, but for what runs before a library can be loaded
expect 0 '' "$tool" stat --machine haswell-ep --no-timing --engine native --json -o "$scratch/native.json" -- "$phases"
expect 0 '' "$tool" stat --machine haswell-ep --no-timing --engine qemu --json -o "$scratch/qemu.json" -- "$phases"
holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/native.json"
holds jq -e '.coverage.engine == "native" and .coverage.time_in_cache > 0.9 and .coverage.threads_not_seen == 0' "$scratch/native.json" >/dev/null
holds jq -e '.coverage == null' "$scratch/qemu.json" >/dev/null
holds jq -e -s '.[0].counts as $native | .[1].counts as $qemu | [.[0].counts.loads, .[0].counts.stores] as $x |
	($native.loads.value / $qemu.loads.value - 1 | fabs) < 0.05 and ($native.stores.value / $qemu.stores.value - 1 | fabs) < 0.05' \
	"$scratch/native.json" "$scratch/qemu.json" >/dev/null
holds jq -e '[.regions[] | select(.name == "sum" and .thread == null)][0].instances == 8' "$scratch/native.json" >/dev/null
expect 0 'every load and store seen' "$tool" stat --machine haswell-ep --engine native -- "$phases"
# the program's own end and output
expect 42 '' "$tool" stat --machine haswell-ep --engine native -o "$scratch/text" -- "$build/tests/program_ending"
expect 139 '' "$tool" stat --machine haswell-ep --engine native -o "$scratch/text" -- "$build/tests/program_ending" segv
expect 127 'there is no such program' "$tool" stat --engine native --machine haswell-ep -- /nonexistent
# windows: instructions are counted, everything else has an interval around what all accesses give
loop='i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; echo $i'
expect 0 '^400000$' "$tool" stat --machine haswell-ep --counters windows --curve --json -o "$scratch/windows.json" -- sh -c "$loop"
holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/windows.json"
expect 0 '' "$tool" stat --machine haswell-ep --counters exact --engine native --json -o "$scratch/exact.json" -- sh -c "$loop"
holds jq -e -s '.[0].coverage.instructions / .[1].coverage.instructions - 1 | fabs < 0.001' "$scratch/windows.json" "$scratch/exact.json" >/dev/null
holds jq -e '.coverage.engine == "windows"' "$scratch/windows.json" >/dev/null
holds jq -e -s '.[0].counts.loads as $loads | $loads.origin == "sampled" and $loads.low <= .[1].counts.loads.value
	and .[1].counts.loads.value <= $loads.high' "$scratch/windows.json" "$scratch/exact.json" >/dev/null
# copies by string instructions, short and long: none is lost where the log has no room, none counted twice where a window was long enough
for copies in '4096 3000000' '52224 200000' '5767168 1500'; do
	set -- $copies
	expect 0 '' "$tool" stat --machine haswell-ep --counters windows --no-timing --json -o "$scratch/copies.json" -- "$build/tests/program_copies" "$1" "$2"
	holds jq -e --argjson bytes "$1" --argjson times "$2" '.coverage.engine == "windows" and (.counts |
		[.load_bytes, .store_bytes] | all(.value / ($bytes * $times) - 1 | fabs < 0.02))' "$scratch/copies.json" >/dev/null
	holds jq -e '.coverage.engine == "windows" and (.counts.instructions.value / .coverage.instructions - 1 | fabs < 0.02)' "$scratch/copies.json" >/dev/null
done
# the larger the cache, the fewer miss
expect 0 'fully associative' "$tool" stat --machine haswell-ep --curve -- "$phases"
holds env LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
expect 0 '' "$tool" stat --machine haswell-ep --curve --json -o "$scratch/curve.json" -- "$phases"
holds jq -e '.curve.miss_ratio | map(.value) | . == (sort | reverse) and .[0] > .[-1]' "$scratch/curve.json" >/dev/null
# in windows: from lines that are followed, close to what every access gives, with the parts it comes from; with
# two threads larger sizes depend on how they run beside each other
expect 0 '' "$tool" stat --machine haswell-ep --counters exact --no-prefetch --curve --json -o "$scratch/curve.json" -- "$phases"
expect 0 'followed for the whole run' "$tool" stat --machine haswell-ep --counters windows --curve -- "$phases"
holds env LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
expect 0 '' "$tool" stat --machine haswell-ep --counters windows --curve --json --record "$scratch/curve.fathom" -o "$scratch/lines.json" -- "$phases"
holds jq -e '.curve.origin == "sampled" and .curve.one_line_in == 32 and .curve.parts != []' "$scratch/lines.json" >/dev/null
holds jq -e '[.curve.parts[] | select(.kind == "region" and .name == "sum")] | length == 1' "$scratch/lines.json" >/dev/null
holds jq -e -s '[[.[0].curve | .sizes_bytes, .miss_ratio | .], [.[1].curve | .sizes_bytes, .miss_ratio | .]] |
	[range(8; 30) as $i | {off: (.[0][1][$i].value - .[1][1][$i].value | fabs),
	held: (.[1][1][$i].low <= .[0][1][$i].value and .[0][1][$i].value <= .[1][1][$i].high)}] |
	(map(.off) | add / length) < 0.02 and (map(select(.held)) | length) >= 20' "$scratch/curve.json" "$scratch/lines.json" >/dev/null
"$tool" report "$scratch/curve.fathom" >"$scratch/out" || fail 'the recorded curve cannot be read'
holds grep -q 'followed for the whole run' "$scratch/out"
# core timing: of every instruction, or of some in windows, where it is sampled like everything else
expect 0 'Cycles [0-9,]+; nothing executed' "$tool" stat --machine haswell-ep --counters exact --engine native --timing -- "$phases"
holds jq -e -s '.[0].cycles.active as $cycles | $cycles.origin == "sampled" and $cycles.low < $cycles.value' \
	"$scratch/windows.json" >/dev/null
expect 0 '' "$tool" stat --machine haswell-ep --counters windows --no-timing --json -o "$scratch/windows.json" -- sh -c "$loop"
holds jq -e '.cycles == null' "$scratch/windows.json" >/dev/null
# what does not go together
expect 2 'engine is native or qemu' "$tool" stat --engine valgrind -- true
expect 2 'a number above 1' "$tool" stat --counters windows --slowdown 0.5 -- true
expect 2 "need --counters windows" "$tool" stat --counters exact --slowdown 3 -- true
expect 2 "takes a percentage" "$tool" stat --precision none -- true
expect 2 'windows excludes' "$tool" stat --counters windows -p 1
expect 2 'needs the native engine' "$tool" stat --curve --engine qemu -- true
expect 2 'omit -I and --window' "$tool" stat --engine native -I 10 --machine haswell-ep -- true
finish
