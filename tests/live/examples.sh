#!/bin/sh
# The examples of folding at native speed, with the samples that 'fathom record' takes by default. A machine that others use may make it
# inconclusive. tests/cli/examples.sh has them on a simulated machine.
. "$(dirname "$0")/../cli/common.sh"
. "$(dirname "$0")/../fold/examples.sh"
[ -e "$build/libfathom-record.so" ] || skip 'the sampler was not built'
record() { # NAME PROGRAM ARGUMENTS...
	name=$1
	shift
	checks=$((checks + 1))
	"$tool" record --force -q --sampler burst --overhead 15% -o "$scratch/$name.fathom" -- "$@" >"$scratch/$name.said" 2>"$scratch/err"
	status=$?
	[ $status != 124 ] || skip "cannot be recorded here: $(head -1 "$scratch/err")"
	[ $status = 0 ] || fail "recording $* ended with $status: $(head -3 "$scratch/err")"
	"$tool" report --json "$scratch/$name.fathom" >"$scratch/$name.json"
	# without levels nothing can be said of costs
	jq -e '.whole.mean_cost_cycles' "$scratch/$name.json" >/dev/null || skip "no costs: $(jq -r .whole.mean_cost_cycles_why "$scratch/$name.json")"
}

record up "$examples/stream-folded-stream" 60
judge stream "$scratch/up.json" "$stream" 4194304 up "$scratch/up.said"
[ "$(jq '.folded[0].modes | length' "$scratch/up.json")" != 1 ] || text_of_stream "$scratch/up.fathom" up

record apart "$examples/aos-soa-apart" 12
record together "$examples/aos-soa-together" 20
judge_apart "$scratch/apart" "$scratch/together" 1

record scattered "$examples/scattered-matrix-scattered" 25
record block "$examples/scattered-matrix-block" 100
judge_scattered "$scratch/scattered" "$scratch/block" 1
finish
