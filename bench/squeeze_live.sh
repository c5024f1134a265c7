#!/bin/sh
# fathom squeeze on this machine, back end colours, judged by programs of known need:
#     bench/squeeze_live.sh TOOL BUILD SHARE TIMES [THOUSANDS]
# random access over SHARE of the L2, so many times: how often does the interval hold the truth, how wide is it, how many runs and
# seconds does it take. SHARE is a decimal such as 0.4.
set -eu
tool=$1 build=$2 share=$3 times=$4 thousands=${5-30000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bytes=$(cat /sys/devices/system/cpu/cpu0/cache/index2/ways_of_associativity /sys/devices/system/cpu/cpu0/cache/index2/number_of_sets |
	awk '{ p = NR == 1 ? $1 : p * $1 } END { print p * 64 }')
kib=$(awk "BEGIN { printf \"%d\", $share * $bytes / 1024 }")
for i in $(seq "$times"); do
	begin=$(date +%s.%N)
	"$tool" squeeze --json -q -o "$scratch/answer.json" -- "$build/tests/squeeze_access" heap "$kib" "$thousands" >/dev/null
	end=$(date +%s.%N)
	jq -c --argjson kib "$kib" --argjson wall "$(awk "BEGIN { print $end - $begin }")" \
		'{inside: (.capacity_in_use_bytes != null and .capacity_in_use_bytes.low <= $kib * 1024 and $kib * 1024 <= .capacity_in_use_bytes.high),
		low: ((.capacity_in_use_bytes.low // 0) / 1024), high: ((.capacity_in_use_bytes.high // 0) / 1024 | floor), runs, wall: $wall, stopped,
		control: .control.value, whole: (.every_run[0].seconds)}' "$scratch/answer.json" | tee -a "$scratch/all"
done
jq -s --argjson kib "$kib" '{need_kib: $kib, times: length, inside: map(select(.inside)) | length,
	narrow: map(select(.low > 0 and .high / .low <= 2.01)) | length,
	median_runs: (map(.runs) | sort | .[length / 2 | floor]), median_seconds: (map(.wall) | sort | .[length / 2 | floor]),
	longest_seconds: (map(.wall) | max)}' -c "$scratch/all"
