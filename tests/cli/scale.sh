#!/bin/sh
# fathom scale: wrong usage; verdicts of programs of known cause on simulated machines; STREAM on a Core 2 Quad; recordings.
. "$(dirname "$0")/common.sh"
team=$build/tests/scale_team
schema=$source/docs/schemas/scale.schema.json

expect 2 'no program given' "$tool" scale
expect 2 'numbers from 1' "$tool" scale -t 0 -- true
expect 2 'at least two numbers' "$tool" scale -t 3 -- true
expect 2 'threads or cpus' "$tool" scale --by nodes -- true
expect 2 'omit --machine' "$tool" scale --by cpus --machine zen3 -- true
expect 2 'omit one of the two' "$tool" scale --by cpus -- echo '{threads}'
expect 2 'omit --variable' "$tool" scale --by cpus --variable N -- true
expect 2 'name of a variable' "$tool" scale --variable 'N=1' -- true
expect 2 'is not a duration' "$tool" scale --budget soon -- true
expect 2 'no simulated machine "pdp-11"' "$tool" scale --machine pdp-11 -- true
expect 2 '8 threads: core2-quad has 4' "$tool" scale --machine core2-quad -t 1,8 -- true
expect 127 'no such program' "$tool" scale --machine core2-quad -t 1,2 -- no-such-program
expect 127 'no such program' "$tool" scale --times-only -t 1,2 -- no-such-program

# scale NAME KIND WORK: into $scratch/NAME.json, valid, and the recording beside it
scale() {
	expect 0 '' "$tool" scale --machine "$machine" -t 1,2,4 --json -q --record "$scratch/$1.fathom" -o "$scratch/$1.json" -- "$team" "$2" '{threads}' "$3" 2
	expect 0 '' "$source/tests/cli/schema" "$schema" "$scratch/$1.json"
	holds jq -e '.complete and (.counts | length == 3)' "$scratch/$1.json" >/dev/null
}

# says NAME FILTER: it is true of the answer
says() {
	checks=$((checks + 1))
	jq -e "$2" "$scratch/$1.json" >/dev/null || fail "$1: not $2: $(jq -c '[.verdict, .counts]' "$scratch/$1.json")"
}

for machine in core2-quad haswell-ep; do
	scale compute compute 4000
	says compute '.verdict.cause == "scaling" and .counts[2].speedup.value > 3.8'
	scale triangle triangle 2000
	says triangle '.verdict.cause == "imbalanced" and (.counts[1].imbalance.value | . > 1.4 and . < 1.6)'
	scale lock lock 2000
	says lock '.verdict.cause == "synchronising" and .counts[2].speedup.value < 1.5'
	scale uneven uneven 2000
	says uneven '.verdict.cause == "imbalanced"'
	# a fifth of the work
	scale serial serial 2000
	says serial '.verdict.cause == "serial" and (.fit.serial_share.value | . > 0.17 and . < 0.25)'
	says serial '.verdict.line | startswith("team.c:")'
done
for name in compute triangle lock uneven serial; do
	says $name 'all(.counts[]; ([.time[]] | add | . > 0.999 and . < 1.001) and all(.time[]; . >= 0))'
	says $name 'all(.counts[].levels[]; .utilisation == null or (.utilisation.value <= 1))'
done

# STREAM's triad with stores that bypass the caches, on a front-side bus that one thread nearly uses up: no gain
machine=core2-quad
expect 0 '' "$tool" scale --machine core2-quad -t 1,2,4 --json -q -o "$scratch/triad.json" -- "$team" stream '{threads}' 1500 4
says triad '.verdict.cause == "saturated" and .verdict.level == "memory"'
says triad '.counts[2].speedup.value | . > 0.9 and . < 1.15'
says triad 'all(.counts[]; .levels[-1].gbs.value | . > 7 and . < 8.3)'

# A recording says the same again.
"$tool" report --json "$scratch/serial.fathom" >"$scratch/again.json"
holds cmp -s "$scratch/serial.json" "$scratch/again.json"
expect 0 'serial at 4 threads' "$tool" report "$scratch/serial.fathom"
expect 0 'Amdahl.s law: serial share' "$tool" report "$scratch/serial.fathom"
expect 2 'omit -x' "$tool" report -x, "$scratch/serial.fathom"
# damaged numbers are no crash
change "$scratch/serial.fathom" 'update scale_runs set seconds = -1, workers = 4000000000, count = 4000000000 where count = 4; update scale_levels set count = 0'
expect 0 '' "$tool" report "$scratch/serial.fathom"
change "$scratch/serial.fathom" 'update scale_runs set seconds = 0'
"$tool" report "$scratch/serial.fathom" >/dev/null 2>&1
holds [ $? -le 2 ]

# A budget that is spent is said, and what was measured is kept.
expect 0 'no further run fits into the budget of 0.001 s; 2 runs are missing' "$tool" scale --machine core2-quad -t 1,2,4 --budget 1ms -- "$team" compute '{threads}' 100
# Observed runs are silent, and every run has the input from its beginning.
printf 'a\nb\n' >"$scratch/input"
expect 0 '' sh -c "'$tool' scale -q --machine core2-quad -t 1,2,4 -o '$scratch/out.txt' -- sh -c 'wc -l' <'$scratch/input'"
holds [ "$(cat "$scratch/out")" = 2 ]
expect 0 '' sh -c "'$tool' scale -q -r 1 -t 1,2 -o '$scratch/out.txt' -- sh -c 'wc -l' <'$scratch/input'"
holds [ "$(cat "$scratch/out")" = 2 ]
holds sh -c "! grep -q 'does not repeat' '$scratch/out.txt'"
expect 0 'can be read only once' sh -c "cat '$scratch/input' | '$tool' scale --machine core2-quad -t 1,2 -- sh -c 'wc -l'"
# The program's status is the tool's; native runs are made, whatever the machine says of their times.
expect 3 '' "$tool" scale --times-only -r 1 -t 1,2 -- sh -c 'exit 3'
expect 0 'by \{threads\}' "$tool" scale --times-only -r 1 -t 1,2 -- "$team" compute '{threads}' 20000
expect 0 'by WORKERS' "$tool" scale --times-only -r 1 -t 1,2 --variable WORKERS -- sh -c '[ "$WORKERS" -ge 1 ]'
expect 0 'does not repeat its work' "$tool" scale --times-only -r 1 -t 1,2 -- sh -c "[ -e '$scratch/once' ] && exit 1; : >'$scratch/once'"
if [ "$(nproc)" -gt 1 ]; then
	expect 0 'processor masks' "$tool" scale --times-only -r 1 --by cpus -t 1,2 -- "$team" compute 2 20000
fi
finish
