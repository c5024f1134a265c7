#!/bin/sh
# fathom doctor: every row has its parts, the JSON follows its schema, and nothing is claimed that was not tried.
. "$(dirname "$0")/common.sh"
expect 0 '[0-9]+ of [0-9]+ capabilities available' "$tool" doctor
holds env LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
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
# where perf_event_open is refused, each row says that: the faults of the counters reach the doctor
row() { jq -c --arg name "$1" '.capabilities[] | select(.name == $name) | [.available, .why, .remedy]' "$2"; }
for fault in EACCES ENOSYS EBUSY; do
	FATHOM_FAULTS=$fault "$tool" doctor --json >"$scratch/$fault.json"
	for name in pmu-core pmu-precise perf-software breakpoints; do
		holds jq -e --arg name "$name" '.capabilities[] | select(.name == $name) | .available | not' "$scratch/$fault.json" >/dev/null
		holds [ "$(row $name "$scratch/$fault.json")" != "$(row $name "$scratch/doctor.json")" ]
	done
done
holds jq -e '.capabilities[] | select(.name == "pmu-core") | (.why | startswith("not permitted")) and (.remedy | test("sysctl|container"))' "$scratch/EACCES.json" >/dev/null
holds jq -e '.capabilities[] | select(.name == "pmu-core") | (.why | contains("missing or filtered"))' "$scratch/ENOSYS.json" >/dev/null
holds jq -e '.capabilities[] | select(.name == "pmu-core") | (.why | contains("all counters are already in use"))' "$scratch/EBUSY.json" >/dev/null
# software events are there, and hardware events are refused
FATHOM_FAULTS=EACCES@hardware "$tool" doctor --json >"$scratch/hardware.json"
holds jq -e '.capabilities[] | select(.name == "pmu-core") | (.available | not) and (.why | startswith("not permitted"))' "$scratch/hardware.json" >/dev/null
holds [ "$(row perf-software "$scratch/hardware.json" | cut -c1-6)" = "$(row perf-software "$scratch/doctor.json" | cut -c1-6)" ]
# an event that opens and counts nothing
if jq -e '.capabilities[] | select(.name == "perf-software") | .available' "$scratch/doctor.json" >/dev/null; then
	FATHOM_FAULTS=zero "$tool" doctor --json >"$scratch/zero.json"
	holds jq -e '.capabilities[] | select(.name == "perf-software") | (.available | not) and (.why | contains("counts nothing"))' "$scratch/zero.json" >/dev/null
fi
# another machine's sysfs: its uncore units, its energy counter, its clock limit
tree=$scratch/sys
grep -v '^#' "$source/tests/counters/sysfs/haswell-ep.tree" | while read -r path value; do
	mkdir -p "$tree/bus/event_source/devices/$(dirname "$path")"
	printf '%s\n' "$value" >"$tree/bus/event_source/devices/$path"
done
mkdir -p "$tree/class/powercap/intel-rapl:0" "$tree/devices/system/cpu/cpu0/cpufreq"
echo 4711 >"$tree/class/powercap/intel-rapl:0/energy_uj"
echo 2600000 >"$tree/devices/system/cpu/cpu0/cpufreq/scaling_max_freq"
echo testgovernor >"$tree/devices/system/cpu/cpu0/cpufreq/scaling_governor"
FATHOM_SYSFS=$tree FATHOM_FAULTS=EACCES "$tool" doctor --json >"$scratch/other.json"
holds jq -e '.capabilities[] | select(.name == "pmu-uncore") | (.why | startswith("not permitted")) and (.remedy | contains("cap_perfmon"))' "$scratch/other.json" >/dev/null
holds jq -e '.capabilities[] | select(.name == "rapl") | .why | contains("does not advance")' "$scratch/other.json" >/dev/null
holds jq -e '.capabilities[] | select(.name == "cpufreq") | .found | contains("2600000 kHz, governor testgovernor")' "$scratch/other.json" >/dev/null
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
