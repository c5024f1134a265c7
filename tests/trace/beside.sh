#!/bin/sh
# Programs side by side on one simulated machine: sweeps over sets that fit its shared cache alone, and beside each other do not. The last
# cache has 4096 lines in 256 sets of 16 ways; a sweep of 154 KiB takes 0.6 of it, 100 KiB 0.4.
. "$(dirname "$0")/../cli/common.sh"
[ -x "$build/tests/program_sweep" ] && [ -e "$build/libfathom-trace.so" ] || skip 'the native engine was not built'
sweep=$scratch/sweep # a name of our own, to see who is left
cp "$build/tests/program_sweep" "$sweep"
machine=$scratch/tiny.machine
cat >"$machine" <<'TEXT'
title    A machine with small caches
machine  sockets=1 cores=4 frequency=2GHz
cache L1 size=4KiB ways=4 latency=4
cache L2 size=16KiB ways=8 latency=12
cache L3 size=256KiB ways=16 latency=40 shared=4 replacement=lru
tlb      entries=64 ways=4 penalty=20
memory   latency=200 gbs=10
core     width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 super_queue=16 load_ports=2 store_ports=1 multiply_ports=1 ports=8
TEXT
rounds=100
large=$((154 * 1024 / 64 * rounds)) # loads of lines, all of which miss L2
small=$((100 * 1024 / 64 * rounds))
json=$scratch/stat.json
beside() { "$tool" stat --machine "$machine" --json -o "$json" "$@"; }
says() {
	checks=$((checks + 1))
	jq -e --argjson large "$large" --argjson small "$small" "$1" "$json" >/dev/null ||
		fail "$1: $(jq -c '[.counts.memory_reads.value, .beside]' "$json")"
}

# alone it fits: each line is read once, and what the program is loaded with
expect 0 '^done$' beside --engine native -- "$sweep" 154 $rounds
says '.counts.memory_reads.value < 5000 and .beside == null'
# two of them do not: all misses, of both
expect 0 '^done$' beside --beside "$sweep 154 0" -- "$sweep" 154 $rounds
says '.counts.memory_reads.value >= $large * 0.999 and .counts.memory_reads.value <= $large + 5000'
says '.beside | length == 1 and (.[0] | .runs == 1 and .core == 1 and (.ended_early | not) and .exit_status == null and
	.lines_from_memory >= $large * 0.98 and .lines_from_memory <= $large * 1.02 and .lines_from_shared_cache < 5000)'
says '.beside[0].command | endswith(" 154 0")'
holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$json"
# two smaller ones do: the other has as many lines from the shared cache as it asks for
expect 0 '^done$' beside --beside "$sweep 100 0" -- "$sweep" 100 $rounds
says '.counts.memory_reads.value < 5000 and .beside[0].lines_from_memory < 5000 and .beside[0].lines_from_shared_cache > $small * 0.9'
# four share it: on a core each
expect 0 '^done$' beside --beside "$sweep 80 0" --beside "$sweep 80 0" --beside "$sweep 80 0" -- "$sweep" 80 $rounds
says '.counts.memory_reads.value >= 80 * 16 * 100 * 0.99 and ([.beside[].core] == [1, 2, 3])'
# one that ends early: it is said; or it is started again, and there is always one
expect 0 'ended with 0 before the program did; --beside-again' beside --beside "$sweep 154 10" -- "$sweep" 154 $rounds
says '.beside[0] | .ended_early and .exit_status == 0 and .runs == 1'
says '.counts.memory_reads.value < $large * 0.3'
expect 0 '^done$' beside --beside-again --beside "$sweep 154 20" -- "$sweep" 154 $rounds
# while it starts again, which takes real time, the program has the cache alone: 4 of 5 runs' worth at most, half on a busy machine
says '.beside[0].runs >= 4 and .counts.memory_reads.value >= $large * 0.45'
# one that fails is not
expect 0 'ended with 1 before the program did' beside --beside-again --beside false -- "$sweep" 100 $rounds
says '.beside[0] | .ended_early and .exit_status == 1 and .runs == 1'
# one that sleeps holds nobody up; what a shell executes or makes is the neighbour's too
expect 0 '^done$' beside --beside "sleep 1000" -- "$sweep" 100 $rounds
says '.beside[0].runs == 1'
expect 0 '^done$' beside --beside "sh -c 'exec $sweep 154 0'" -- "$sweep" 154 $rounds
says '.beside[0].processes == 2 and .counts.memory_reads.value >= $large * 0.95'
# a process that a neighbour makes is not waited for: whoever has the cache first may keep it, since hits are faster than misses
expect 0 '^done$' beside --beside "sh -c '$sweep 154 0; true'" -- "$sweep" 154 2000
says '.beside[0].processes == 2 and .beside[0].lines_from_memory > 10000'
# cores that are given are the program's
expect 0 '^done$' beside --cores 1+3 --beside "$sweep 100 0" -- "$sweep" 100 $rounds
says '.beside[0].core == 0 and .threads[0].core == 1'
# what the program makes is alone, and that is said
expect 0 'caches of their own, without the commands of --beside' beside --beside "$sweep 154 0" -- sh -c "$sweep 154 20; true"
says '.counts.memory_reads.value < 20000'
expect 0 'caches of their own, without the commands of --beside' beside --beside "$sweep 154 0" -- env X=1 "$sweep" 154 20
# the program's own end
expect 3 '' beside --beside "$sweep 100 0" -- sh -c 'exit 3'
expect 137 '' beside --beside "$sweep 100 0" -- sh -c 'kill -9 $$'
# nobody is left behind
holds sh -c "! pgrep -f '^$sweep' >/dev/null"
# as text, and recorded
expect 0 'Concurrent program from core 1 on: .* lines from L3, .* lines from memory' "$tool" stat --machine "$machine" --record "$scratch/run.fathom" \
	--beside "$sweep 100 0" -- "$sweep" 100 10
cp "$scratch/out" "$scratch/text"
"$tool" report "$scratch/run.fathom" >"$scratch/again"
holds sh -c "tail -n +2 '$scratch/text' | cmp -s - '$scratch/again'"
# what does not go together
expect 2 'machine host' "$tool" stat --beside true -- true
expect 2 'needs --beside' "$tool" stat --machine "$machine" --beside-again -- true
for option in --timing --curve '-I 10' '--region x' '--window 1-2' --free-running '--engine qemu' '--counters windows' '-e task-clock'; do
	# shellcheck disable=SC2086
	expect 2 '' "$tool" stat --machine "$machine" --beside true $option -- true
done
expect 2 'too few' beside --cores 0-3 --beside true -- true
expect 2 'sh -c' beside --beside 'a | b' -- true
expect 2 'takes a program' beside --beside '' -- true
expect 127 'there is no such program' beside --beside ./not-there -- true
finish
