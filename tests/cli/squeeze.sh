#!/bin/sh
# fathom squeeze on simulated machines: wrong usage, what it answers of programs of known need, recordings, pairs.
. "$(dirname "$0")/common.sh"
needs=$build/tests/squeeze_needs
schema=$source/docs/schemas/squeeze.schema.json

expect 2 'no program given' "$tool" squeeze --machine zen3
expect 124 '--machine NAME' "$tool" squeeze --backend exact -- true
expect 124 'omit --machine' "$tool" squeeze --machine zen3 --backend colours -- true
expect 2 'no simulated machine "pdp-11"' "$tool" squeeze --machine pdp-11 -- true
expect 2 '--backend is resctrl, colours, threads, exact' "$tool" squeeze --machine zen3 --backend magic -- true
expect 2 'no cache L9' "$tool" squeeze --machine zen3 --level L9 -- true
expect 2 'capacity or bandwidth' "$tool" squeeze --machine zen3 --only latency -- true
expect 2 'is not a duration' "$tool" squeeze --machine zen3 --budget soon -- true
expect 2 'the maximum is' "$tool" squeeze --machine xeon-e5-2670 --predict l3=40M -- "$needs" compute 1 1000
expect 2 '--level NAME' "$tool" squeeze --machine xeon-e5-2670 --predict l2=8K -- "$needs" compute 1 1000
expect 2 'two recordings' "$tool" squeeze --pair one.fathom
expect 2 'omit the other options' "$tool" squeeze --machine zen3 --pair one.fathom two.fathom
expect 2 'omit the other options' "$tool" squeeze --map --pair one.fathom two.fathom
expect 2 'omit --only' "$tool" squeeze --machine zen3 --map --only capacity -- true
expect 2 'cannot limit cache and bandwidth at once' "$tool" squeeze --backend colours --map -- true
expect 124 '--machine NAME' env FATHOM_RESCTRL_ROOT="$scratch/nothing" "$tool" squeeze --map -- true
expect 127 'no such program' "$tool" squeeze --machine zen3 -- no-such-program
expect 2 'was not run again' "$tool" squeeze --machine xeon-e5-2670 -- "$needs" nothing

# The live back ends refuse simulated machines; resctrl, what it cannot have, and what others have.
for name in resctrl threads; do
	expect 124 'omit --machine' "$tool" squeeze --machine zen3 --backend $name -- true
done
expect 124 'cat_l3' env FATHOM_RESCTRL_ROOT="$scratch/nothing" "$tool" squeeze --backend resctrl -- true
tree=$scratch/resctrl
mkdir -p "$tree/info/L3"
expect 124 'cannot be read' env FATHOM_RESCTRL_ROOT="$tree" "$tool" squeeze --backend resctrl -- true
echo 7ff >"$tree/info/L3/cbm_mask"
echo 1 >"$tree/info/L3/min_cbm_bits"
echo 'L3:0=7ff' >"$tree/schemata"
mkdir "$tree/theirs"
expect 124 'theirs' env FATHOM_RESCTRL_ROOT="$tree" "$tool" squeeze --backend resctrl -- true
rmdir "$tree/theirs"
expect 0 'Capacity in use, L3' env FATHOM_RESCTRL_ROOT="$tree" "$tool" squeeze --backend resctrl --budget 1s -- "$needs" random 0.25 2000000
holds [ "$(ls "$tree" | tr '\n' ' ')" = 'info schemata ' ]
expect 2 'was not run again|no such program' env FATHOM_RESCTRL_ROOT="$tree" "$tool" squeeze --backend resctrl -- "$needs" nothing
holds [ "$(cat "$tree/schemata")" = 'L3:0=7ff' ]

# A small machine, so that programs of known need are short: 1 MiB of last cache.
cat >"$scratch/small.machine" <<'END'
title      a small machine
machine    sockets=1 cores=4 frequency=2GHz
cache L1   size=4KiB ways=8 latency=4
cache L2   size=16KiB ways=8 latency=12 interval=2.5 streams=16 distance=8
cache L3   size=1MiB ways=16 latency=40 interval=5 shared=4 inclusion=inclusive
tlb        entries=64 ways=4 penalty=7
memory     latency=200 gbs=20
core       width=4 window=168 load_buffers=64 store_buffers=36 fill_buffers=10 super_queue=16 load_ports=2 store_ports=1 multiply_ports=1 ports=6
END

# squeeze NAME PROGRAM...: into $scratch/NAME.json, valid, and the recording beside it
squeeze() {
	name=$1
	shift
	expect 0 '' "$tool" squeeze --machine "$scratch/small.machine" --budget 10min --json -q --predict l3=50% --predict l3=25% \
		--predict l3=50%,bw=50% --record "$scratch/$name.fathom" -o "$scratch/$name.json" -- "$needs" "$@"
	expect 0 '' "$source/tests/cli/schema" "$schema" "$scratch/$name.json"
	holds jq -e '.complete' "$scratch/$name.json" >/dev/null
}

# says NAME FILTER: it is true of the answer
says() {
	checks=$((checks + 1))
	jq -e "$2" "$scratch/$1.json" >/dev/null || fail "$1: not $2: $(jq -c '[.kind, .capacity_in_use_bytes, .bandwidth_in_use_gbs]' "$scratch/$1.json")"
}

squeeze quarter random 0.25 60000
says quarter '.kind == "sensitive"'
says quarter '.capacity_in_use_bytes | .low <= 262144 and 262144 <= .high and .high / .low <= 2'
says quarter '.methods_agree'
squeeze most random 0.75 100000
says most '.capacity_in_use_bytes | .low <= 786432 and 786432 <= .high and .high / .low <= 2'
squeeze phases phases 0.5 60000
says phases '.capacity_in_use_bytes | .low <= 524288 and 524288 <= .high and .high / .low <= 2'
squeeze stream stream 4 300000
says stream '.kind == "insensitive-streaming"'
says stream '.bandwidth_in_use_gbs.low > 1'
squeeze compute compute 0.1 200000
says compute '.kind == "insensitive-small" and .runs <= 4'

# What is foretold for half and a quarter of the cache is what a machine has that has no more.
for share in 2 4; do
	sed "s/^cache L3 .*/& available=$((1024 / share))KiB/" "$scratch/small.machine" >"$scratch/less.machine"
	"$tool" stat --machine "$scratch/less.machine" --timing --engine native --json -q -- "$needs" random 0.75 100000 >"$scratch/less.json"
	cycles=$(jq '.cycles.active.value' "$scratch/less.json")
	says most ".predictions[$((share / 2 - 1))].slowdown.value * .curve[0].cycles / $cycles | . > 0.95 and . < 1.05"
done

# Less of both: a cell is what a machine has that has no more of either.
expect 0 '' "$tool" squeeze --machine "$scratch/small.machine" --budget 10min --json -q --map --record "$scratch/map.fathom" -o "$scratch/map.json" -- "$needs" random 0.5 60000
expect 0 '' "$source/tests/cli/schema" "$schema" "$scratch/map.json"
says map '.complete and (.map | length == 16) and all(.map[]; .slowdown.low <= .slowdown.value and .slowdown.value <= .slowdown.high)'
says map '.map[0].slowdown.value == 1 and .map[15].slowdown.value > .map[12].slowdown.value and .map[15].slowdown.value > .map[3].slowdown.value'
says map '. as $all | all(.curve[]; .capacity_bytes == $all.level_bytes or .gbs == $all.memory_gbs)'
sed "s/^cache L3 .*/& available=$(jq '.map[15].capacity_bytes | floor' "$scratch/map.json")/; s/gbs=20/gbs=$(jq '.map[15].gbs' "$scratch/map.json")/" "$scratch/small.machine" >"$scratch/less.machine"
"$tool" stat --machine "$scratch/less.machine" --timing --engine native --json -q -- "$needs" random 0.5 60000 >"$scratch/less.json"
says map ".map[15].slowdown.value * .curve[0].cycles / $(jq '.cycles.active.value' "$scratch/less.json") | . > 0.99 and . < 1.01"
"$tool" report --json "$scratch/map.fathom" | sed 's/"verb": "report"/"verb": "squeeze"/' >"$scratch/again.json"
holds cmp -s "$scratch/map.json" "$scratch/again.json"
expect 0 'Less of both: run time ratio' "$tool" report "$scratch/map.fathom"
expect 0 'Map of both: n/a .the budget of 0.001 s is spent' "$tool" squeeze --machine "$scratch/small.machine" --map --budget 1ms -- "$needs" random 0.25 1000

# A recording says the same again.
"$tool" report --json "$scratch/most.fathom" | sed 's/"verb": "report"/"verb": "squeeze"/' >"$scratch/again.json"
holds cmp -s "$scratch/most.json" "$scratch/again.json"
expect 0 'Capacity in use, L3: between' "$tool" report "$scratch/most.fathom"
expect 2 'omit -x' "$tool" report -x, "$scratch/most.fathom"
expect 0 'share of the cache .*; run time' "$tool" squeeze --pair "$scratch/quarter.fathom" "$scratch/most.fathom"
expect 0 '' "$tool" squeeze --json --pair "$scratch/quarter.fathom" "$scratch/phases.fathom"
cp "$scratch/out" "$scratch/pair.json"
expect 0 '' "$source/tests/cli/schema" "$schema" "$scratch/pair.json"
# a quarter and a half fit together; two of three quarters do not
says pair 'all(.pair[]; .slowdown.value < 1.02)'
"$tool" squeeze --json --pair "$scratch/most.fathom" "$scratch/most.fathom" >"$scratch/twice.json"
says twice '.pair | (.[0].slowdown.value - .[1].slowdown.value | fabs < 0.01) and .[0].slowdown.value > 1.3'
expect 1 '' "$tool" squeeze --pair "$scratch/nothing.fathom" "$scratch/most.fathom"
"$tool" stat --machine zen3 -q --record "$scratch/stat.fathom" -- "$needs" compute 1 1000 >/dev/null
expect 2 'has no results of squeeze' "$tool" squeeze --pair "$scratch/stat.fathom" "$scratch/most.fathom"

# A budget that is spent is said, and what was measured is kept.
expect 0 'budget of 0.001 s is spent' "$tool" squeeze --machine "$scratch/small.machine" --budget 1ms -- "$needs" random 0.25 1000
# What a shell executes or makes is the program, too.
for way in "exec '$needs' compute 1 1000" "'$needs' compute 1 1000; true"; do
	"$tool" squeeze --machine "$scratch/small.machine" --only capacity --json -q -- sh -c "$way" >"$scratch/shell.json"
	says shell '.complete and .runs > 1'
done
# The program's output comes once.
"$tool" squeeze --machine "$scratch/small.machine" --only capacity -q -o "$scratch/text" -- sh -c 'echo once' >"$scratch/out"
holds [ "$(cat "$scratch/out")" = once ]
finish
