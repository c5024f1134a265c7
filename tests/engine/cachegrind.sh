#!/bin/sh
# A second opinion: first-level data misses against cachegrind, on the same LRU cache, for five programs. Its last level
# holds instructions too, so only the first is compared. Both get the same processor features, or the C library would
# choose different routines for them.
. "$(dirname "$0")/../cli/common.sh"
command -v valgrind >/dev/null || skip 'valgrind is not installed'
command -v qemu-x86_64 >/dev/null || skip 'qemu-x86_64 is not installed'
[ -e "$build/libfathom-exact.so" ] || skip 'the emulator was not built'
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-AVX,-ERMS,-FSRM,-SSE4_2,-SSSE3
export PYTHONHASHSEED=0
export PYTHONDONTWRITEBYTECODE=1

# without address randomisation, so that stacks and heaps lie where they lay before
still=
command -v setarch >/dev/null && setarch -R true 2>/dev/null && still='setarch -R'

theirs() {
	$still valgrind --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null --I1=32768,8,64 --D1=32768,8,64 \
		--LL=33554432,16,64 "$@" 2>&1 >/dev/null | sed -n 's/.*D1  misses: *\([0-9,]*\).*/\1/p' | tr -d ,
}

ours() {
	rm -f "$scratch/stat.json"
	$still "$tool" stat --machine haswell-ep --no-prefetch -q --json -o "$scratch/stat.json" -- "$@" >/dev/null 2>&1
	jq '.levels[0] | .load_misses.value + .store_misses.value' "$scratch/stat.json"
}

# compare POSITIONS PROGRAM...: the two place the stack differently, and in programs that use it beside their data its place
# alone changes the misses. Those are run with the stack moved by several paddings of the environment, and the ranges are
# compared; the others with one.
compare() {
	positions=$1
	shift
	: >"$scratch/theirs"
	: >"$scratch/ours"
	for position in $(seq "$positions"); do
		PADDING=$(head -c $((position * 1100)) /dev/zero | tr '\0' x)
		export PADDING
		theirs "$@" >>"$scratch/theirs"
		ours "$@" >>"$scratch/ours"
	done
	unset PADDING
	sort -n -o "$scratch/theirs" "$scratch/theirs"
	sort -n -o "$scratch/ours" "$scratch/ours"
	echo "$1: cachegrind $(tr '\n' ' ' <"$scratch/theirs"), emulator $(tr '\n' ' ' <"$scratch/ours")"
	holds awk -v a="$(head -1 "$scratch/ours")" -v b="$(tail -1 "$scratch/ours")" -v c="$(head -1 "$scratch/theirs")" \
		-v d="$(tail -1 "$scratch/theirs")" 'BEGIN { exit !(a > 0 && c > 0 && a <= d * 1.001 && c <= b * 1.001) }'
}
for program in stream chase matmul; do
	compare 1 "$build/bench/program_$program"
done
compare 3 "$build/bench/program_sort" 200000
[ -x /usr/bin/python3 ] && compare 3 /usr/bin/python3 -S -s -c 'print(sum(i * i % 7 for i in range(300000)))'
finish
