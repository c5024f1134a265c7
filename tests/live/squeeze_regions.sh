#!/bin/sh
# fathom squeeze by the rate of a region, with resctrl on a tree of files: interference is turned on and off inside runs, the
# program that notices it is found out, and nothing is left.
. "$(dirname "$0")/../cli/common.sh"
region=$build/tests/squeeze_region
tree=$scratch/resctrl
mkdir -p "$tree/info/L3"
echo 7ff >"$tree/info/L3/cbm_mask"
echo 1 >"$tree/info/L3/min_cbm_bits"
echo 'L3:0=7ff' >"$tree/schemata"
export FATHOM_RESCTRL_ROOT="$tree" TMPDIR="$scratch"

# slower with fewer than 6 of the 11 ways; says nothing wrong, however busy the machine is
expect 0 '' "$tool" squeeze --backend resctrl --budget 8s --json -q --record "$scratch/region.fathom" -o "$scratch/region.json" -- "$region" 3000 250 "$tree" 6
grep -q 'does not report the size' "$scratch/err" && skip 'this machine has no L3'
expect 0 '' "$source/tests/cli/schema" "$source/docs/schemas/squeeze.schema.json" "$scratch/region.json"
holds jq -e '.region == "work"' "$scratch/region.json" >/dev/null
# an instance takes some milliseconds at most; the program does not
holds jq -e 'all(.every_run[1:][]; .seconds < 0.1) and .every_run[0].seconds > 0.3' "$scratch/region.json" >/dev/null
holds jq -e '[.every_run[1:][] | .role] | (map(select(. == "less")) | length) == (map(select(. == "whole")) | length)' "$scratch/region.json" >/dev/null
if jq -e '.kind == "inconclusive"' "$scratch/region.json" >/dev/null; then
	inconclusive "$(jq -r .stopped "$scratch/region.json")"
else
	holds jq -e '.level_bytes as $all | .capacity_in_use_bytes | .low <= $all * 5.01 / 11 and .high >= $all * 5.99 / 11' "$scratch/region.json" >/dev/null
	# several amounts in one run and the next
	holds jq -e '.kind == "sensitive" and ([.every_run[].pair] | max) >= 4' "$scratch/region.json" >/dev/null
fi
expect 0 'per instance of region "work"' "$tool" report "$scratch/region.fathom"

# A region that comes too seldom is none: whole runs are compared.
expect 0 '' "$tool" squeeze --backend resctrl --budget 1s --json -q -o "$scratch/seldom.json" -- "$region" 3 10000
holds jq -e '.region == null' "$scratch/seldom.json" >/dev/null

# Killed in the middle: neither the group nor the file of the regions is left.
"$tool" squeeze --backend resctrl --budget 20s -q -- "$region" 3000 250 >/dev/null 2>&1 &
running=$!
sleep 1.2
kill -KILL $running
wait $running 2>/dev/null
for try in 1 2 3 4 5 6 7 8 9 10; do
	[ -z "$(find "$scratch" -name '*fathom-regions*')$(find "$tree" -name 'fathom-*')" ] && break
	sleep 0.2
done
holds [ -z "$(find "$scratch" -name '*fathom-regions*')" ]
holds [ -z "$(find "$tree" -name 'fathom-*')" ]
finish
