#!/bin/sh
# A second opinion: first-level data misses against cachegrind, on the same LRU cache, for five programs. Its last level
# holds instructions too, so only the first is compared. Both get the same processor features, or the C library would
# choose different routines for them.
. "$(dirname "$0")/../cli/common.sh"
command -v valgrind >/dev/null || skip 'valgrind is not installed'
command -v qemu-x86_64 >/dev/null || skip 'qemu-x86_64 is not installed'
[ -e "$build/libfathom-exact.so" ] || skip 'the exact engine was not built'
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-AVX,-ERMS,-FSRM,-SSE4_2,-SSSE3
export PYTHONHASHSEED=0
export PYTHONDONTWRITEBYTECODE=1

# without address randomisation, so that stacks and heaps lie where they lay before
still=
command -v setarch >/dev/null && setarch -R true 2>/dev/null && still='setarch -R'

compare() {
	theirs=$($still valgrind --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null --I1=32768,8,64 --D1=32768,8,64 \
		--LL=33554432,16,64 "$@" 2>&1 >/dev/null | sed -n 's/.*D1  misses: *\([0-9,]*\).*/\1/p' | tr -d ,)
	$still "$tool" stat --machine haswell-ep --no-prefetch -q --json -o "$scratch/stat.json" -- "$@" >/dev/null 2>&1
	ours=$(jq '.levels[0] | .load_misses.value + .store_misses.value' "$scratch/stat.json")
	rm -f "$scratch/stat.json"
	echo "$* cachegrind $theirs, exact engine $ours"
	holds awk -v a="$ours" -v b="$theirs" 'BEGIN { exit !(a > 0 && b > 0 && a - b <= b / 1000 && b - a <= b / 1000) }'
}
for program in stream chase sort matmul; do
	compare "$build/bench/program_$program"
done
[ -x /usr/bin/python3 ] && compare /usr/bin/python3 -S -s -c 'print(sum(i * i % 7 for i in range(300000)))'
finish
