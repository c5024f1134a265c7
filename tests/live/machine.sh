#!/bin/sh
# A quick characterisation of this machine: the document is complete, and what must hold on any machine holds. A machine
# too disturbed to be measured makes the test inconclusive.
. "$(dirname "$0")/../cli/common.sh"
"$tool" machine --quick --tolerate 50 --json --profile "$scratch/profile.json" >"$scratch/out.json" 2>"$scratch/err"
status=$?
grep -q 'disturbed beyond use' "$scratch/err" && [ "$status" = 1 ] && skip "inconclusive: $(cat "$scratch/err")"
holds [ "$status" = 0 ]
holds "$source/tests/cli/schema" "$source/docs/schemas/machine.schema.json" "$scratch/out.json"
holds cmp "$scratch/out.json" "$scratch/profile.json"
query() { jq -e "$1" "$scratch/out.json" >/dev/null; }
holds query '.levels[-1].name == "memory"'
holds query '.levels[0].name == "L1"'
holds query '.disturbance.trials > 100'
# memory is slower than the first cache, and each interval holds its value
holds query '.levels[0].latency_ns.value * 3 < .levels[-1].latency_ns.value'
holds query '[.. | objects | select(has("low"))] | length > 20 and all(.low <= .value and .value <= .high)'
# everything is measured by kernels, but what string instructions read is inferred
holds query '[del(.published) | del(.string_stores[]? | select(type == "object")) | .. | objects | select(has("low"))] | all(.origin == "measured" and .backend == "kernels")'
# of a quick look on a machine whose memory took long there may be none
if query '.string_stores != null'; then
	holds query '.string_stores | (.bandwidth | length) >= 8 and ([.[] | objects | select(has("low"))] | all(.origin == "modelled" and .low >= 0 and .high <= 1))'
	holds query '.string_stores | (.clear_allocates or .clear_allocates_why) and (.copy_allocates or .copy_allocates_why)'
else
	echo 'no time was left for string instructions: not looked at'
fi
holds query '.levels[0].effective_bytes.value < .latency_curves[1].points[-1].bytes'
holds query '[.levels[] | select(.measured_bytes > 0) | .bandwidth | length > 0] | all'
expect 0 'against data-set size' "$tool" machine --show --profile "$scratch/profile.json"
# masked to scalar code
FATHOM_CPU=scalar "$tool" machine --quick --tolerate 50 --budget 2s --json --profile "$scratch/scalar.json" >"$scratch/scalar.out" 2>"$scratch/err"
[ $? = 1 ] && grep -q 'disturbed beyond use' "$scratch/err" && skip "inconclusive: $(cat "$scratch/err")"
holds sh -c "jq -e '[.levels[].bandwidth[].isa] | unique == [\"scalar\"]' '$scratch/scalar.out' >/dev/null"
finish
