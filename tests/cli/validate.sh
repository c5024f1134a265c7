#!/bin/sh
# fathom validate: a simulated machine is judged, what cannot be measured is refused with its own code, files go round.
. "$(dirname "$0")/common.sh"
export FATHOM_MACHINES="$source/machines"

# a machine small enough to be quick
cat >"$scratch/small.machine" <<'END'
title      A small machine
machine    sockets=2 cores=2 frequency=2GHz line=64 page=4KiB
cache L1   size=4KiB ways=4 latency=4
cache L2   size=32KiB ways=8 latency=12 streams=4 distance=4
cache L3   size=512KiB ways=16 latency=40 shared=2 inclusion=inclusive
memory     latency=200 remote=300 gbs=20 core_gbs=10
core       width=4 window=64 load_buffers=24 store_buffers=16 fill_buffers=8 super_queue=8 load_ports=2 store_ports=1 multiply_ports=1 ports=6
END
cat >"$scratch/small.events" <<'END'
LOADS = loads
LINES = L1.lines_demand + L1.lines_ownership + L1.lines_prefetch
WRITTEN = L1.lines_written
HALF = 0.5 * L1.lines_written
DEMAND = L1.lines_demand
STUCK = 4711
CYCLES = cycles
UNSTEADY = noisy(stores, 0.2)
UNC_READS = memory.reads
END
echo '*  tool=5 other=1e5' >"$scratch/small.floors"
machine="$scratch/small.machine"
expect 0 'exact' "$tool" validate --machine "$machine" -q
holds sh -c "! awk 'length(\$0) > 100' '$scratch/out' | grep ."
holds grep -qE 'HALF' "$scratch/out"
expect 0 '' "$tool" validate --machine "$machine" --json -o "$scratch/small.json"
holds "$source/tests/cli/schema" "$source/docs/schemas/validate.schema.json" "$scratch/small.json"
class() { jq -r --arg name "$1" '.events[] | select(.name == $name).class' "$scratch/small.json"; }
holds [ "$(class LOADS)" = exact ]
holds [ "$(class HALF)" = proportional ]
holds [ "$(class DEMAND)" = blind ]
holds [ "$(class STUCK)" = dead ]
holds [ "$(class UNSTEADY)" = noisy ]
holds jq -e '.events[] | select(.name == "DEMAND").blind_to == "RFO"' "$scratch/small.json" >/dev/null
holds jq -e '.repeats == 10' "$scratch/small.json" >/dev/null
holds jq -e '.resources[] | select(.resource == "L2" and .access == "write" and .scope == "core").indicator == "WRITTEN"' "$scratch/small.json" >/dev/null
# the metrics are kept with the machine
profile="$XDG_DATA_HOME/fathom/machines/simulated-small.machine.json"
holds jq -e '.metrics | length > 3' "$profile" >/dev/null

# one event, a page, a matrix that goes round
expect 0 'class +blind' "$tool" validate --machine "$machine" --quick --explain DEMAND
expect 2 'no simulated event "NONE"' "$tool" validate --machine "$machine" --quick -e LINES,NONE
expect 2 'names no event' "$tool" validate --machine "$machine" --quick -e ,
expect 2 'the event "NONE" was not among' "$tool" validate --machine "$machine" --quick --explain NONE
expect 0 '' "$tool" validate --machine "$machine" --no-save -q --dump "$scratch/counts.csv" --html "$scratch/page.html"
holds grep -q '<svg' "$scratch/page.html"
expect 0 'LOADS;exact' "$tool" validate --from "$scratch/counts.csv" -x ';'
"$tool" validate --from "$scratch/counts.csv" --json >"$scratch/again.json" 2>/dev/null
holds [ "$(jq -c '[.events[].class]' "$scratch/again.json")" = "$(jq -c '[.events[].class]' "$scratch/small.json")" ]
expect 0 'LINES' "$tool" validate --machine "$machine" --quick -e LINES,HALF -x ';'
holds [ "$(wc -l <"$scratch/out")" = 3 ]
ln -s "$scratch/target" "$scratch/link"
expect 1 '' "$tool" validate --from "$scratch/counts.csv" --html "$scratch/link"
holds [ ! -e "$scratch/target" ]

# a file that does not tell everything: what it does not have is named, or did not happen
cat >"$scratch/few.csv" <<'END'
# machine few
# caches L1 L2
run,cores,repeat,seconds,true.loads_8,true.L2.read_in_order,true.memory.read_in_order,LOADS,LINES,uncore:READS
a,1,1,0.001,1000000,0,0,1000004,11,0
b,1,1,0.002,2000000,0,0,2000001,3,0
c,1,1,0.001,800000,100000,0,800010,100009,2
d,1,1,0.002,1600000,200000,0,1600003,200020,5
e,1,1,0.003,800000,0,100000,800002,100004,100007
f,1,1,0.006,1600000,0,200000,1600009,200011,200003
END
expect 0 'Not in the file:.*true.stores_8' "$tool" validate --from "$scratch/few.csv"
holds grep -q 'every socket' "$scratch/out"
expect 0 'LINES;exact;L1.lines_in;1;' "$tool" validate --from "$scratch/few.csv" -x ';'
holds grep -q 'READS;uncounted.*no column socket' "$scratch/out"
expect 0 'LINES;exact;L1.lines_in;1;' "$tool" validate --from "$scratch/few.csv" --missing-zero -x ';'
holds sh -c "! '$tool' validate --from '$scratch/few.csv' --missing-zero | grep 'true.stores_8'"
"$tool" validate --from "$scratch/few.csv" --json >"$scratch/few.json" 2>/dev/null
holds "$source/tests/cli/schema" "$source/docs/schemas/validate.schema.json" "$scratch/few.json"
holds jq -e '.missing | contains("true.transfers")' "$scratch/few.json" >/dev/null
holds jq -e '.events[] | select(.name == "LINES").floor | .runs == 2 and .max == 11' "$scratch/few.json" >/dev/null
expect 2 'name the file with --from' "$tool" validate --missing-zero

# mistakes
echo nonsense >"$scratch/bad.csv"
expect 1 'bad.csv:1' "$tool" validate --from "$scratch/bad.csv"
expect 1 'cannot read' "$tool" validate --from "$scratch/missing.csv"
expect 2 'omit the other options' "$tool" validate --from "$scratch/counts.csv" --machine small
expect 2 'name one with --machine' "$tool" validate --scale 4
expect 2 'cannot be made' "$tool" validate --machine "$machine" --scale 1000
expect 2 'unknown option or argument' "$tool" validate cycles
expect 2 '-e' "$tool" validate -e
echo 'LOADS tools=5' >"$scratch/small.floors"
expect 1 'small.floors:1' "$tool" validate --machine "$machine" --quick
rm "$scratch/small.floors"
expect 3 'has no table of events' "$tool" validate --machine zen3

# without a PMU: refused, with what doctor says and the offer of a simulated machine
for fault in ENOENT EACCES ENOSYS; do
	expect 3 'events cannot be measured here' env FATHOM_FAULTS="$fault@hardware" "$tool" validate
	expect 3 '--machine haswell-ep' env FATHOM_FAULTS="$fault@hardware" "$tool" validate
done

# the measurement itself, with events every kernel has; and its interruption
expect 3 'fathom machine --quick' "$tool" validate -e page-faults --quick
# a machine that others disturb may show no latency of memory, and sizes of runs follow from it
if "$tool" machine --quick --tolerate 100 -q -o /dev/null 2>/dev/null &&
	host=$(ls "$XDG_DATA_HOME"/fathom/machines/*.json | grep -v simulated) &&
	jq -e '.levels[] | select(.name == "memory").latency_cycles' "$host" >/dev/null; then
	expect 0 'page-faults' "$tool" validate -e page-faults,context-switches -r 2 --quick
	"$tool" validate -e page-faults,context-switches -r 400 --quick -q >/dev/null 2>"$scratch/err" &
	running=$!
	sleep 2
	kill -INT $running
	wait $running
	holds [ $? = 1 ]
	holds grep -q 'continues from there' "$scratch/err"
	holds [ -s "$host.validate" ]
	rm -f "$host.validate"
else
	echo 'not measured here: this machine is too disturbed'
fi
finish
