#!/bin/sh
# One verdict: the contract for scripts, the program's own output and status, and causes that no noise hides.
. "$(dirname "$0")/common.sh"
command -v gcc >/dev/null || skip 'no compiler'
holds gcc -O2 -w -o "$scratch/loops" "$source/bench/judge/laboratory.c"
cd "$scratch" || exit 1

expect 2 'no program given: fathom -- ./program' "$tool" diagnose
expect 2 'no program given' "$tool" --
expect 2 'unknown option or argument' "$tool" diagnose --nonsense -- true
expect 127 'nothing-of-this-name' "$tool" -- ./nothing-of-this-name
expect 0 'what limits the program' "$tool" --help
expect 0 'fathom -- ./program' "$tool" diagnose --help

# once, with its own output and status
expect 3 '^Verdict' "$tool" -- sh -c 'echo one >>ran; echo hello; sleep 0.3; exit 3'
holds [ "$(cat ran)" = one ]
holds grep -q '^hello$' "$scratch/out"
holds grep -q "^Verdict *io" "$scratch/out"
holds grep -q "Recorded in fathom.fathom: 'fathom report fathom.fathom'" "$scratch/out"
expect 0 '^Verdict *io' "$tool" report fathom.fathom
# no more than ten lines above the levels
holds [ "$(sed '/^hello$/d; /^Level/,$d' "$scratch/out" | grep -c .)" -le 12 ]

# verdict KIND BYTES ITERATIONS: into $scratch/verdict, after a check against the schema
verdict() {
	holds "$tool" diagnose --force --json -q -o "$1.fathom" -- ./loops "$@" >"$scratch/document"
	tail -n +2 "$scratch/document" >"$scratch/verdict"
	holds "$source/tests/cli/schema" "$source/docs/schemas/diagnose.schema.json" "$scratch/verdict"
}
says() {
	checks=$((checks + 1))
	jq -e "$1" "$scratch/verdict" >/dev/null || fail "$1: $(jq -c .verdict "$scratch/verdict")"
}

# a chain through 256 MiB waits for memory and for translations, whatever else runs here
verdict chase 268435456 6000000
says '.verdict.cause | test("^(latency:(memory|L3)|tlb)$")'
says '.verdict.share.value > 0.3 and .verdict.worth.high <= 1 and .verdict.confidence >= 0.5'
says '.verdict.line.function == "chase" or .verdict.line.function == "main"'
# data in L1: whatever it is, no level of the hierarchy
verdict polynomials 16384 30000000
says '.verdict.cause | test("^(compute|branches|inconclusive)$")'
says '[.verdict.also[], .verdict | select(.cause | test("bandwidth|latency")) | .share.value] | add // 0 | . < 0.3'

gunzip -c "$source/tests/cli/recordings-0.1.0/sampled.fathom.gz" >sampled.fathom
# two runs: the answer first; conditions for scripts
expect 0 'The verdict (is the same|changed)' "$tool" report chase.fathom polynomials.fathom
holds grep -qE '^(The second run takes|No difference in time|The times cannot)' "$scratch/out"
expect 0 '' "$tool" report --json -o "$scratch/runs.json" chase.fathom polynomials.fathom
holds "$source/tests/cli/schema" "$source/docs/schemas/report-runs.schema.json" "$scratch/runs.json"
holds jq -e '.runs | .levels[0].name == "L1" and (.causes | length) == (.causes | map(.name) | unique | length)' "$scratch/runs.json"
expect 0 '' "$tool" report --fail-if 'numa>0' polynomials.fathom
expect 4 '' "$tool" report --fail-if 'compute>1%' --fail-if 'numa>0' polynomials.fathom
holds grep -q 'compute>1 holds' "$scratch/err"
expect 2 'there is no cause "latencies"' "$tool" report --fail-if 'latencies>3' chase.fathom
expect 2 'a condition is CAUSE>PERCENT' "$tool" report --fail-if 'latency' chase.fathom
expect 2 'compares two recordings' "$tool" report --fail-if 'time>5' chase.fathom
expect 2 'cannot be compared|same verb' "$tool" report chase.fathom sampled.fathom
finish
