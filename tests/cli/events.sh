#!/bin/sh
# fathom events and fathom stat -e: what is counted is counted, what is not is refused in words with its own code, and
# nothing that was not counted is a zero.
. "$(dirname "$0")/common.sh"
program="$build/tests/program_variables"
export FATHOM_MACHINES="$source/machines"

expect 0 '^counts +task-clock \(software\)' "$tool" events task-clock
expect 0 'L2_TRANS:L1D_WB' "$tool" events --machine haswell-ep L2_TRANS
expect 0 '' "$tool" events
holds env LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
expect 0 '' "$tool" events --machine haswell-ep
holds env LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
expect 1 'no event matches' "$tool" events no such event anywhere
expect 3 'has no table of events' "$tool" events --machine zen3
expect 0 '' "$tool" events --json -o "$scratch/events.json" clock
holds "$source/tests/cli/schema" "$source/docs/schemas/events.schema.json" "$scratch/events.json"
holds jq -e '.events | length > 1 and (map(select(.name == "task-clock"))[0].counts)' "$scratch/events.json" >/dev/null
expect 0 '' "$tool" events --machine haswell-ep --json -o "$scratch/simulated.json"
holds "$source/tests/cli/schema" "$source/docs/schemas/events.schema.json" "$scratch/simulated.json"
# the events of a machine that is not here have names, and are refused
mkdir -p "$scratch/sys/bus/event_source/devices/uncore_imc_0/events"
echo 24 >"$scratch/sys/bus/event_source/devices/uncore_imc_0/type"
echo event=4 >"$scratch/sys/bus/event_source/devices/uncore_imc_0/events/cas_count_read"
expect 0 '^no +uncore_imc_0/cas_count_read/' env FATHOM_SYSFS="$scratch/sys" "$tool" events cas_count

# counting
expect 0 'page-faults' "$tool" stat -e task-clock,page-faults -- true
expect 7 '' "$tool" stat -e task-clock -- sh -c 'exit 7'
expect 143 '' "$tool" stat -e task-clock -- sh -c 'kill -TERM $$'
expect 127 'no such program' "$tool" stat -e task-clock -- /nonexistent/program
echo nothing >"$scratch/file"
expect 126 'cannot be run' "$tool" stat -e task-clock -- "$scratch/file"
expect 2 'did you mean "page-faults"' "$tool" stat -e page-fautls -- true
expect 2 'brace is not closed' "$tool" stat -e '{task-clock' -- true
if ! "$tool" stat -e instructions -- true >/dev/null 2>&1; then
	expect 124 'instructions cannot be counted' "$tool" stat -p 1
fi
expect 2 'exclude each other' "$tool" stat -a -p 1 -e task-clock
expect 2 'no process' "$tool" stat -e task-clock -p 999999999 -- true
expect 2 'omit -p' "$tool" stat --machine haswell-ep -e loads -a -- true
expect 0 '' "$tool" stat -e task-clock,page-faults -r 6 --json -o "$scratch/stat.json" -- true
holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/stat.json"
holds jq -e '.events[1].count | .value >= .low and .value <= .high and .trials == 6 and .origin == "counted"' "$scratch/stat.json" >/dev/null
expect 0 '' "$tool" stat -e task-clock -I 50 --json -o "$scratch/interval.json" -- sleep 0.3
holds jq -e '(.intervals | length >= 1) and .intervals[0].seconds > 0' "$scratch/interval.json" >/dev/null
expect 0 'context-switches' "$tool" stat -a -e context-switches -- sleep 0.05
sleep 5 &
sleep 0.3 # until it sleeps
expect 0 'n/a' "$tool" stat -e task-clock -p $! -- sleep 0.05
kill $!

# refusals, each in its own words and with the code for "cannot be measured here"
for fault in 'ENOENT:hardware counters' 'EACCES:not permitted' 'ENOSYS:missing or filtered' 'EBUSY:already in use' 'EMFILE:too many open files' 'EINVAL:does not accept'; do
	expect 124 "${fault#*:}" env FATHOM_FAULTS="${fault%%:*}@hardware" "$tool" stat -e cycles -- true
	expect 124 '--machine host' env FATHOM_FAULTS="${fault%%:*}@hardware" "$tool" stat -e cycles -- true
	expect 124 "${fault#*:}" env FATHOM_FAULTS="${fault%%:*}@hardware" "$tool" stat -e cycles -a -- true
	expect 124 "${fault#*:}" env FATHOM_FAULTS="${fault%%:*}@hardware" "$tool" stat -e cycles -p $$ -- true
done
expect 0 'never gave it a counter' env FATHOM_FAULTS=never "$tool" stat -e page-faults -- true
holds sh -c "! FATHOM_FAULTS=never '$tool' stat -e page-faults --json -- true | jq -e '.events[0].count'" >/dev/null

# simulated
if [ -e "$build/libfathom-exact.so" ] && command -v qemu-x86_64 >/dev/null; then
	expect 0 '2,[0-9]{3},[0-9]{3}  perf::L1-DCACHE-LOADS' "$tool" stat --machine haswell-ep -e perf::L1-DCACHE-LOADS -- "$program"
	expect 0 'need --timing' "$tool" stat --machine haswell-ep -e CPU_CLK_UNHALTED -- "$program"
	expect 2 'did you mean' "$tool" stat --machine haswell-ep -e L2_TRANS:L1D_WBX -- "$program"
	expect 0 '' "$tool" stat --machine haswell-ep -e UNC_H_REQUESTS:READS --json -o "$scratch/sim.json" -- "$program"
	holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/sim.json"
fi
finish
