#!/bin/sh
# The examples of folding, on a simulated machine: every figure is the same in each run. tests/live/examples.sh has them at native speed.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/../fold/examples.sh"
[ -e "$build/libfathom-exact.so" ] || skip 'the emulator was not built'
record() { # NAME EVERY PROGRAM ARGUMENTS...
	name=$1 every=$2
	shift 2
	holds "$tool" record --force -q --sampler exact --machine haswell-ep --every "$every" -o "$scratch/$name.fathom" -- "$@" >"$scratch/$name.said"
	"$tool" report --json "$scratch/$name.fathom" >"$scratch/$name.json"
}

record up 500 "$examples/stream-folded-stream" 6 65536
record down 500 "$examples/stream-folded-stream" 6 65536 back
judge stream "$scratch/up.json" "$stream" 65536 up
judge stream "$scratch/down.json" "$stream" 65536 down
is down '[.findings[] | select(.name == "copy-backwards") | .object] == ["c"]'
is up '[.findings[] | select(.name == "copy-backwards")] == []'
# an array of 512 KiB: more than the second cache, less than the third
is up '[.working_sets[] | select(.object == "a" or .object == "c") | .exceeds + " " + .fits] == ["L2 L3", "L2 L3"]'
text_of_stream "$scratch/up.fathom" up
text_of_stream "$scratch/down.fathom" down

# nothing is marked and nothing repeats: what the whole run does
record chase 1000 "$examples/chase"
is chase '.folded == [] and ([.findings[] | select(.name == "random-access") | .line] | sort) == '"[$(line chase.c '.value = i'), $(line chase.c 'sum += at->value')]"
is chase '[.streams[] | select(.region != null)] == [] and ([.working_sets[] | select(.object == null) | .fits] == ["memory"])'
is chase '.threads[0].name == "chase"'
expect 0 '^The whole run, not folded: [0-9,]+ samples' "$tool" report "$scratch/chase.fathom"

record apart 500 "$examples/aos-soa-apart" 4 262144 32768
record together 500 "$examples/aos-soa-together" 4 262144 32768
judge_apart "$scratch/apart" "$scratch/together" 0.6

# where the stack begins depends on the environment, and with it which references are samples: so many that it does not matter
record scattered 100 "$examples/scattered-matrix-scattered" 4 16384
record block 100 "$examples/scattered-matrix-block" 4 16384
judge_scattered "$scratch/scattered" "$scratch/block" 0.8
# of simulated costs there is no doubt which level is meant
expect 0 'L3 [0-9]+→0 %|L2 [0-9]+→[0-9]+ %' "$tool" report "$scratch/scattered.fathom" "$scratch/block.fathom"
finish
