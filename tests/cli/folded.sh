#!/bin/sh
# Folded regions, streams, findings and comparisons of recordings whose truth is known: text and JSON.
. "$(dirname "$0")/common.sh"
make="$build/tests/folded_recording"
[ -x "$make" ] || skip 'folded_recording was not built'
schema="$source/tests/cli/schema"
for kind in 0 1 2 3; do
	holds "$make" "$scratch/$kind.fathom" $kind
	"$tool" report --json "$scratch/$kind.fathom" >"$scratch/$kind.json"
	holds "$schema" "$source/docs/schemas/report.schema.json" "$scratch/$kind.json"
done
is() {
	checks=$((checks + 1))
	jq -e "$2" "$scratch/$1.json" >/dev/null || fail "$1.json: not $2"
}

# four phases, in order, each with its line
for kind in 0 1 3; do
	is $kind '[.folded[0].modes[0].phases[].function] == ["copy", "scale", "add", "triad"]'
	is $kind '[.streams[] | select(.direction == "random") | .object + " " + .function] == ["c scale"]'
	is $kind '[.streams[] | select(.function == "copy") | .direction] == ["down", "down"]'
	is $kind '[.streams[] | select(.function == "add" or .function == "triad") | .direction] == ["up", "up", "up", "up", "up", "up"]'
	is $kind '.findings[0] | .name == "random-access" and .object == "c" and .line == 20 and .worth.low > 0.05'
done
is 0 '.clock == "seconds" and (.streams[] | select(.object == "a" and .function == "triad") | .gbs.value > 6.3 and .gbs.value < 7.1)'
is 1 '.clock == "references" and ([.streams[] | select(.gbs == null and (.gbs_why | length > 0))] | length) == 10'
is 2 '.folded[0] | .found and .name == "iterations" and .instances > 380 and .instances < 410'
is 0 '.folded[0].modes[0].rates[] | select(.name == "memory") | .points | length == 64'
is 0 '[.working_sets[] | select(.object == null)] | length == 1'

# the text
expect 0 '^Finding 1: random accesses that miss the caches: c, stream.c:20 scale$' "$tool" report "$scratch/0.fathom"
cp "$scratch/out" "$scratch/text"
holds grep -q '^Folded region iteration: [34][0-9]* instances of 20' "$scratch/text"
holds grep -qE '^  2 +(19|20|21)–(49|50|51) .*stream.c:20 scale' "$scratch/text"
holds grep -qE '^  a +1  stream.c:10 +r  down +8 +(99|100) ' "$scratch/text"
holds grep -qE '^  c +2  stream.c:20 +r  random +8 +(99|100) +n/a' "$scratch/text"
holds [ "$(LC_ALL=C.UTF-8 wc -L <"$scratch/text")" -le 100 ]
expect 0 'Folded, detected loop \(no region is marked\): iterations' "$tool" report "$scratch/2.fathom"

# two recordings
expect 0 '^iteration .*(1\.2[89]|1\.3[0-2])× .*slower' "$tool" report "$scratch/0.fathom" "$scratch/3.fathom"
expect 0 '^scale .* more time' "$tool" report "$scratch/0.fathom" "$scratch/3.fathom"
expect 0 '^a .* no difference shown' "$tool" report "$scratch/0.fathom" "$scratch/3.fathom"
expect 0 '^iteration .* no difference shown' "$tool" report "$scratch/0.fathom" "$scratch/0.fathom"
"$tool" report --json "$scratch/0.fathom" "$scratch/3.fathom" >"$scratch/compared.json"
holds "$schema" "$source/docs/schemas/report-comparison.schema.json" "$scratch/compared.json"
is compared '.comparison.regions[0] | .name == "iteration" and .time.verdict == "more" and .time.ratio.low < 1.3 and .time.ratio.high > 1.3'
expect 2 'one recording is simulated, the other is not' "$tool" report "$scratch/0.fathom" "$scratch/1.fathom"
expect 2 'compared as text or --json' "$tool" report -x, "$scratch/0.fathom" "$scratch/3.fathom"
finish
