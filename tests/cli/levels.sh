#!/bin/sh
# fathom stat by counters: which formulas are taken, and the whole way from the kernel's counters to levels and patterns.
# There may be no PMU here, so a profile says that page faults tell what memory reads: 4096 bytes each.
. "$(dirname "$0")/common.sh"
phases="$build/tests/program_phases"
[ -x "$phases" ] || skip 'the emulator was not built'
"$tool" stat -e page-faults -- true >/dev/null 2>&1 || skip 'perf_event_open is not permitted here'
profile="$XDG_DATA_HOME/fathom/machines/$(hostname).json"
mkdir -p "$(dirname "$profile")"
metric() { printf '{"name": "%s", "unit": "transfers", "scope": "%s", "formula": "%s", "bytes": %s, "error": 0.001, "error_max": 0.01, "maximal_gbs": 5, "events": [{"name": "%s", "factor": 1}]}' "$1" "$2" "$3" "$4" "$3"; }
jq ".metrics = [$(metric 'memory read' core page-faults 4096), $(metric 'L3 read' core no-such-event 64), $(metric 'memory write' core minor-faults 0)]" \
	"$source/tests/cli/example-profile.json" >"$profile"
# on one CPU no more than one of its threads runs at a time, so the peak is that of one thread; no event tells what was
# written, so that any mixture may be it
one_cpu=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
expect 0 '^The program: .* GB/s of memory traffic[,;] ' taskset -c "$one_cpu" "$tool" stat --bandwidth-curve -- "$phases"
holds grep -q '^Peak of memory: 12 GB/s for 1 thread, at the best share of writes' "$scratch/out"
holds env LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
expect 2 'omit --machine, -e and -g' "$tool" stat --bandwidth-curve -e page-faults -- true
# a program: 8 MiB touched first are 2048 faults
expect 0 'counted by the counters of this machine' "$tool" stat -- "$phases"
holds grep -q 'memory *validated within 1 %: (4096)\*page-faults' "$scratch/out"
holds env LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
expect 0 '' "$tool" stat --json -o "$scratch/counted.json" -- "$phases"
holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/counted.json"
holds jq -e '.levels[3] | .read_bytes.value >= 8388608 and .read_bytes.value < 10485760 and .read_bytes.origin == "counted"' "$scratch/counted.json" >/dev/null
expect 0 '' taskset -c "$one_cpu" "$tool" stat --json -o "$scratch/one.json" -- "$phases"
holds jq -e '.levels[3] | .peak_threads == 1 and .peak_write_share_why != null and .peak_gbs.value == 12 and .peak_gbs.low < 10.5' "$scratch/one.json" >/dev/null
holds jq -e '.levels[3].loaded_latency_ns.value >= 115 or .levels[3].loaded_latency_ns_why != null' "$scratch/counted.json" >/dev/null
holds jq -e '.levels[3].gbs.low < .levels[3].gbs.value and .levels[3].utilisation.value > 0' "$scratch/counted.json" >/dev/null
# what no event tells is null, with the reason
holds jq -e '.levels[2].read_bytes == null and (.levels[2].read_bytes_why | length > 10) and .cycles == null' "$scratch/counted.json" >/dev/null
# regions, by counters of their own threads: nothing is touched first there
holds jq -e '[.regions[] | select(.name == "sum")] | map(.thread) == [0, 1, null]' "$scratch/counted.json" >/dev/null
holds jq -e '[.regions[] | select(.name == "sum" and .thread == null)][0] | .instances == 8 and .threads == 2 and .levels[3].read_bytes.value < 100000' "$scratch/counted.json" >/dev/null
# the exit status, signals, what is not there
expect 42 'counted by' "$tool" stat -- "$build/tests/program_ending"
expect 139 'counted by' "$tool" stat -- "$build/tests/program_ending" segv
expect 127 'there is no such program' "$tool" stat -- /nonexistent
# repeated: an interval over runs
expect 0 '3 runs' "$tool" stat -r 3 -- "$phases"
# a running process, a time series, all CPUs
sh -c 'while :; do cat /proc/self/maps; done' >/dev/null &
busy=$!
"$tool" stat -I 20 -p $busy -o "$scratch/series" -- sleep 0.3
kill $busy
wait $busy 2>/dev/null
holds [ "$(grep -cE '^ +0\.[0-9]+ s .*memory [0-9.e+-]+ GB/s' "$scratch/series")" -ge 5 ]
expect 0 '' "$tool" stat -I 50 -p $$ --json -o "$scratch/series.json" -- sleep 0.2
holds jq -e '.intervals | length >= 2 and (.[0].levels | length == 4)' "$scratch/series.json" >/dev/null
"$tool" stat -a -- true >"$scratch/all" 2>&1
case $? in
0) holds grep -q 'counted by the counters' "$scratch/all" ;;
124) echo 'note: everything on all CPUs may not be counted here' ;;
*) fail 'stat -a' ;;
esac
# Ctrl-C still prints what was counted
"$tool" stat -o "$scratch/ended" -p $$ &
counting=$!
sleep 0.5
kill -INT $counting
wait $counting
holds grep -q 'counted by the counters' "$scratch/ended"
# the choice can be overridden, and what does not go together is refused
if command -v qemu-x86_64 >/dev/null; then
	expect 0 'Counts are simulated on host' "$tool" stat --counters exact -- "$phases"
	expect 0 'Level +formula' "$tool" stat --machine haswell-ep --counters simulated -- "$phases"
	# nothing was validated there: the vendor's formulas, and it says so
	holds grep -q "L2 *the vendor's formula: 64.0\*L1D:REPLACEMENT" "$scratch/out"
	expect 0 '' "$tool" stat --machine haswell-ep --counters simulated --json -o "$scratch/vendor.json" -- "$phases"
	holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/vendor.json"
	holds jq -e '.levels[1].source | startswith("the vendor")' "$scratch/vendor.json" >/dev/null
	expect 0 'Over .* of simulated time' "$tool" stat --counters exact -I 1 -- "$phases"
	expect 0 '' "$tool" stat --machine haswell-ep -I 1 --json -o "$scratch/moments.json" -- "$phases"
	holds jq -e '.intervals | length > 2 and (.[1].levels | length == 4) and .[1].cycles.active.value > 0' "$scratch/moments.json" >/dev/null
	holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/moments.json"
fi
expect 2 'needs --machine' "$tool" stat --counters simulated -- true
expect 2 'auto, perf, exact, windows or simulated' "$tool" stat --counters some -- true
expect 2 'from its beginning' "$tool" stat --counters exact -p $$
# with nothing that can be counted: the reason, and 124
jq 'del(.metrics)' "$source/tests/cli/example-profile.json" >"$profile"
if ! "$tool" stat -e instructions -- true >/dev/null 2>&1; then
	expect 124 'instructions cannot be counted' "$tool" stat --counters perf -- true
	expect 124 'instructions cannot be counted' "$tool" stat -a -- true
	expect 124 'instructions cannot be counted' "$tool" stat -p $$
fi
finish
