#!/bin/sh
# fathom doctor: every row has its parts, the JSON follows its schema, and nothing is claimed that was not tried.
. "$(dirname "$0")/common.sh"
expect 0 '[0-9]+ of [0-9]+ available' "$tool" doctor
holds awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
expect 0 '"verb": "doctor"' "$tool" doctor --json
cp "$scratch/out" "$scratch/doctor.json"
holds "$source/tests/cli/schema" "$source/docs/schemas/doctor.schema.json" "$scratch/doctor.json"
holds jq -e '.capabilities | length >= 13' "$scratch/doctor.json" >/dev/null
holds jq -e 'all(.capabilities[]; .available or (.why != "" and .remedy != ""))' "$scratch/doctor.json" >/dev/null
for name in cpu bare-metal pmu-core pmu-uncore pmu-precise perf-paranoid breakpoints numa huge-pages resctrl cpufreq rapl qemu timer-rate quiet; do
	holds jq -e --arg name "$name" 'any(.capabilities[]; .name == $name)' "$scratch/doctor.json" >/dev/null
done
# a machine without PMU devices has no core counters, and says so
if [ ! -e /sys/bus/event_source/devices/cpu ] && [ ! -e /sys/bus/event_source/devices/cpu_core ]; then
	holds jq -e '.capabilities[] | select(.name == "pmu-core") | .available | not' "$scratch/doctor.json" >/dev/null
fi
# QEMU out of reach is reported with the remedy
mkdir "$scratch/empty"
PATH="$scratch/empty" "$tool" doctor --json >"$scratch/noqemu.json"
holds jq -e '.capabilities[] | select(.name == "qemu") | (.available | not) and (.remedy | contains("apt-get install qemu-user"))' "$scratch/noqemu.json" >/dev/null
# where perf_event_open is filtered, each row says that
expect 0 'cpu;yes;' "$tool" doctor -x ';'
# output into files: written, and not through symbolic links
expect 0 '' "$tool" doctor --json -o "$scratch/file.json"
holds jq -e .verb "$scratch/file.json" >/dev/null
ln -s "$scratch/victim" "$scratch/link"
expect 1 'it is a symbolic link' "$tool" doctor -o "$scratch/link"
holds [ ! -e "$scratch/victim" ]
expect 1 'cannot write /nonexistent' "$tool" doctor -o /nonexistent/file
[ -e /dev/full ] && expect 1 'No space left' sh -c "\"$tool\" doctor >/dev/full"
finish
