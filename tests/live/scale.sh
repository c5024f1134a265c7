#!/bin/sh
# fathom scale on this machine: arithmetic scales, one lock does not, and its parts of time add up.
. "$(dirname "$0")/../cli/common.sh"
team=$build/tests/scale_team
[ "$(nproc)" -gt 1 ] || skip 'one processor: nothing can scale'

# measure KIND WORK
measure() {
	expect 0 '' "$tool" scale -q -r 5 --times-only --json -o "$scratch/$1.json" -- "$team" "$1" '{threads}' "$2"
	expect 0 '' "$source/tests/cli/schema" "$source/docs/schemas/scale.schema.json" "$scratch/$1.json"
	holds jq -e 'all(.counts[]; [.time[]] | add | . > 0.999 and . < 1.001)' "$scratch/$1.json" >/dev/null
	cause=$(jq -r .verdict.cause "$scratch/$1.json")
	[ "$cause" != inconclusive ] || inconclusive "$1: $(jq -c .verdict.evidence "$scratch/$1.json")"
}

measure compute 300000
[ "$cause" = inconclusive ] || holds [ "$cause" = scaling ]
measure lock 200000
# whatever the machine does, threads with one lock are not faster
holds [ "$cause" != scaling ]
measure serial 300000
[ "$cause" = inconclusive ] || holds [ "$cause" = serial ]
finish
