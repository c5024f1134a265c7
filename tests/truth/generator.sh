#!/bin/sh
# Generated programs: the same seed gives the same bytes, every kind occurs, programs compile and do the same work each time, and on a
# simulated machine the dominant cause of stalled cycles is the known one.
. "$(dirname "$0")/../cli/common.sh"
generator=$build/tests/fathom-truth-generator
compiler=${CC:-gcc}
cd "$scratch" || exit 1
command -v "$compiler" > compiler.txt || skip "there is no $compiler"
levels=L1=16384,L2=131072,L3=1048576

# make_program FOLDER OPTION...: prints the program's name
make_program() {
	folder=$1
	shift
	mkdir -p "$folder"
	"$generator" --levels $levels --translations 512 --gigahertz 3 --out "$folder" "$@"
}

for threads in 1 2; do
	for seed in 1 77 1000; do
		name=$(make_program first --seed $seed --threads $threads --seconds 1)
		make_program second --seed $seed --threads $threads --seconds 1 > again.txt
		holds cmp -s "first/$name.c" "second/$name.c"
		holds cmp -s "first/$name.json" "second/$name.json"
	done
	"$generator" --list --threads $threads --levels $levels --translations 512 | sed 's/:.*//' | sort -u > kinds.txt
	seed=1
	while [ $seed -le 60 ]; do
		make_program "all-$threads" --seed $seed --threads $threads --seconds 1 > again.txt
		seed=$((seed + 1))
	done
	jq -r '.phases[].kind' "all-$threads"/*.json | sort -u > seen.txt
	holds cmp -s kinds.txt seen.txt
	checks=$((checks + 1))
	jq -e '(.cause as $cause | .accept | index($cause) == 0) and ([.phases[].share] | add | . > 0.99 and . < 1.01)' \
		"all-$threads"/*.json | grep -qv true && fail "a cause is not among those accepted, or shares do not add up"
done
expect 2 usage "$generator" --seed 1
expect 2 usage "$generator" --seed 1 --levels L1=1,L2=2 --out .
expect 1 'no program' "$generator" --seed 1 --levels $levels --only nothing --out .

for seed in 3 8 21 34; do
	name=$(make_program run --seed $seed --seconds 0.01)
	expect 0 '' "$compiler" -O2 -Wall -Wextra -Werror -pthread "run/$name.c" -o "run/$name" -lm
	expect 0 '^[0-9a-f]{16}$' "run/$name"
	cp out "$name.out"
	expect 0 '' "run/$name"
	holds cmp -s out "$name.out"
done
for seed in 4 5 9 15; do
	name=$(make_program run --seed $seed --threads 2 --seconds 0.002)
	expect 0 '' "$compiler" -O2 -Wall -Wextra -Werror -pthread "run/$name.c" -o "run/$name" -lm
	expect 0 '^[0-9a-f]{16}$' "run/$name"
	cp out "$name.out"
	expect 0 '' "run/$name"
	holds cmp -s out "$name.out"
done

cat > small.machine <<'MACHINE'
title      Small caches, so that little data is beyond them
machine    sockets=1 cores=2 frequency=3GHz
cache L1   size=16KiB ways=8 latency=4
cache L2   size=128KiB ways=8 latency=14 interval=2 streams=16 distance=16
cache L3   size=1MiB ways=16 latency=50 interval=6 shared=2 inclusion=victim
tlb        entries=64 ways=64 penalty=7
tlb        entries=512 ways=8 penalty=40
memory     latency=250 gbs=30 core_gbs=13
core       width=5 window=256 load_buffers=72 store_buffers=64 fill_buffers=16 super_queue=32 load_ports=2 store_ports=1 multiply_ports=1 ports=10
MACHINE
[ -e "$build/libfathom-exact.so" ] || { echo 'no emulator: causes are not checked'; finish; }
# as in bench/judge/predict.py
dominant='.cycles as $cycles | [$cycles.stalls | to_entries[] | {key, value: .value.value}] |
	if (map(.value) | add) < 0.25 * $cycles.active.value then "none" else max_by(.value).key end'
for kind in stream_read:L3 stream_read:memory stream_triad:memory stream_write:memory chase:L1 chase:L2 chase:L3 chase:memory \
	chains:memory gather:memory stride:memory conflict pages integer_multiply float_divide independent memcpy:memory; do
	name=$(make_program cause --seed 5 --seconds 0.002 --only $kind)
	expect 0 '' "$compiler" -O2 -pthread "cause/$name.c" -o "cause/$name" -lm
	expect 0 '' "$tool" stat --json -o stat.json --machine ./small.machine --timing -- "cause/$name"
	found=$(jq -r "$dominant" stat.json)
	checks=$((checks + 1))
	jq -e --arg found "$found" '.accept | index($found) != null' "cause/$name.json" > again.txt ||
		fail "$kind: $found, not $(jq -c .accept "cause/$name.json")"
done
finish
