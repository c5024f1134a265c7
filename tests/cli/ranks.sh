#!/bin/sh
# fathom squeeze --ranks: copies of a program that share a simulated cache, and what each of them uses.
. "$(dirname "$0")/common.sh"
needs=$build/tests/squeeze_needs
schema=$source/docs/schemas/squeeze.schema.json

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

# ranks OPTION...: wrong usage
ranks() {
	"$tool" squeeze --machine "$scratch/small.machine" "$@" -- "$needs" compute 1 1000
}
for number in 0 -1 many 5000 2x; do
	expect 2 'a number from 1 to 4096' ranks --ranks "$number"
done
expect 2 'needs --ranks' ranks --mapping packed
for mapping in '' scattered 0 -1 1,x 2.5; do
	expect 2 'spread, packed, or numbers' ranks --ranks 4 --mapping "$mapping"
done
expect 2 'there are 3 ranks, and 4 of them can share the L3' ranks --ranks 3 --mapping 4
expect 2 'there are 8 ranks, and 4 of them can share the L3' ranks --ranks 8 --mapping 1,5
expect 2 'ranks share L3, not L2' ranks --ranks 2 --level L2
expect 2 'colours has no ranks' "$tool" squeeze --ranks 2 --backend colours -- true
expect 124 '--machine NAME' "$tool" squeeze --ranks 2 -- true
expect 2 'omit the other options' "$tool" squeeze --ranks 2 --pair one.fathom two.fathom

# says NAME FILTER: it is true of the answer
says() {
	checks=$((checks + 1))
	jq -e "$2" "$scratch/$1.json" >/dev/null || fail "$1: not $2: $(jq -c '.mappings' "$scratch/$1.json")"
}

# squeeze NAME MAPPING AXIS PROGRAM...: into $scratch/NAME.json, valid, and the recording beside it
squeeze() {
	name=$1 mapping=$2 axis=$3
	shift 3
	expect 0 '' "$tool" squeeze --machine "$scratch/small.machine" --budget 10min --json -q --ranks 4 --mapping "$mapping" ${axis:+--only "$axis"} \
		--record "$scratch/$name.fathom" -o "$scratch/$name.json" -- "$needs" "$@"
	expect 0 '' "$source/tests/cli/schema" "$schema" "$scratch/$name.json"
	holds jq -e '.complete' "$scratch/$name.json" >/dev/null
}

# An eighth of the cache each: all four fit, and each of them uses as much as one alone.
squeeze fits packed,spread '' random 0.125 40000
says fits '.ranks == 4 and [.mappings[] | [.ranks_per_cache, .caches]] == [[1, 4], [4, 1]]'
says fits 'all(.mappings[]; .capacity_in_use_bytes | .low <= 131072 and 131072 <= .high and .high / .low <= 2)'
says fits '.mappings[1].slowdown.value < 1.02'

# Half of the cache each: two fit, three do not.
squeeze exceeds 2,3 capacity random 0.46875 20000
says exceeds '[.mappings[].ranks_per_cache] == [1, 2, 3]'
says exceeds '.mappings[1].slowdown.value < 1.02 and (.mappings[1].capacity_in_use_bytes | .low <= 491520 and 491520 <= .high)'
says exceeds '.mappings[2].slowdown.value > 1.1 and .mappings[2].capacity_in_use_bytes == null and (.mappings[2].capacity_in_use_bytes_why | test("slower than alone"))'

# The bandwidth of memory is shared, too: four that stream draw what is there for all of them.
squeeze stream 4 capacity stream 2 60000
says stream '.mappings[1] | .slowdown.value > 1.5 and .traffic_gbs.value * 4 < 20.5 and .traffic_gbs.value * 4 > 12'

# A recording says the same again.
"$tool" report --json "$scratch/exceeds.fathom" | sed 's/"verb": "report"/"verb": "squeeze"/' >"$scratch/again.json"
holds cmp -s "$scratch/exceeds.json" "$scratch/again.json"
expect 0 '4 ranks: use of each rank, by number of ranks per L3' "$tool" report "$scratch/exceeds.fathom"

# Each knows its number.
"$tool" squeeze --machine "$scratch/small.machine" --only capacity -q --ranks 3 --mapping 3 -- "$build/tests/squeeze_rank" "$scratch/ranks" >/dev/null
holds [ "$(sort -u "$scratch/ranks" | tr '\n' ';')" = '0 3 0 3 0 3;1 3 1 3 1 3;2 3 2 3 2 3;' ]

# One that fails ends the sweep, and what was measured is kept.
expect 0 'rank 1 ended with 7, and rank 0 with 0' "$tool" squeeze --machine "$scratch/small.machine" --ranks 2 --mapping 2 -- "$build/tests/squeeze_rank" "$scratch/ranks" 1
expect 0 'without a shell' "$tool" squeeze --machine "$scratch/small.machine" --only capacity --ranks 2 --mapping 2 -- sh -c "exec '$needs' compute 1 1000"
expect 0 'budget of 0.001 s is spent' "$tool" squeeze --machine "$scratch/small.machine" --budget 1ms --ranks 2 -- "$needs" random 0.25 1000
finish
