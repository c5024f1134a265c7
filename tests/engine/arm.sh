#!/bin/sh
# Programs for aarch64: counted as exactly as those for x86-64, without core timing. Needs a cross compiler.
. "$(dirname "$0")/../cli/common.sh"
command -v aarch64-linux-gnu-gcc >/dev/null || skip 'aarch64-linux-gnu-gcc is not installed'
command -v qemu-aarch64 >/dev/null || skip 'qemu-aarch64 is not installed'
[ -e "$build/libfathom-exact.so" ] || skip 'the emulator was not built'

# translate NAME: a test program as a static one for aarch64
translate() {
	aarch64-linux-gnu-gcc -O2 -g -static -pthread -D_GNU_SOURCE -I"$source/include" "$source/tests/engine/programs/$1.c" -o "$scratch/$1" ||
		fail "$1 does not compile for aarch64"
}

# measure NAME OPTIONS...: run it, the JSON into NAME.json
measure() {
	name=$1
	shift
	rm -f "$scratch/$name.json"
	checks=$((checks + 1))
	timeout 60 "$tool" stat --machine haswell-ep --json -o "$scratch/$name.json" "$@" -- "$scratch/$name" >"$scratch/out" 2>&1 ||
		fail "$name ended with $?: $(cat "$scratch/out")"
}

translate variables
measure variables --top 10000
jq -e '.objects | map(select(.name == "swept"))[0] | .loads == 2097152 and .stores == 0 and .bytes == 1048576' \
	"$scratch/variables.json" >/dev/null || fail 'accesses of the variable "swept" are not exact'
jq -e '.objects | map(select(.name == "hot"))[0] | .loads == 262144 and .stores == 262144' \
	"$scratch/variables.json" >/dev/null || fail 'accesses of the variable "hot" are not exact'

# regions, threads and affinity are system calls with other numbers there
translate affinity
measure affinity --cores 0-3
jq -e '[.threads[].core] == [23, 7, 19]' "$scratch/affinity.json" >/dev/null || fail 'threads are not where they were pinned'
jq -e '.regions[] | select(.name == "moving") | .counts.loads.value >= 200000' "$scratch/affinity.json" >/dev/null ||
	fail 'the region was not seen'

translate sharing
measure sharing --cores 0-1
jq -e '.sharing[0].transfers > 100' "$scratch/sharing.json" >/dev/null || fail 'false sharing was not seen'

# what it cannot do, it says
measure variables --timing
jq -e '.cycles == null' "$scratch/variables.json" >/dev/null || fail 'cycles out of nowhere'
"$tool" stat --machine haswell-ep --timing -- "$scratch/variables" 2>&1 | grep -q 'decodes x86-64 only' ||
	fail 'nothing is said of the missing cycles'
finish
