#!/bin/sh
# fathom record, with a stand-in for the sampling library that is not at work here: what the tool does with the program,
# its output and exit status, signals, the files, and recordings that were cut short.
. "$(dirname "$0")/common.sh"
mkdir -p "$scratch/bin" "$scratch/lib/fathom" "$scratch/work"
cp "$tool" "$scratch/bin/fathom"
cp "$build/tests/libfake-runtime.so" "$scratch/lib/fathom/libfathom-record.so"
XDG_DATA_HOME="$scratch/data"
export XDG_DATA_HOME
cd "$scratch/work" || exit 1
fathom="$scratch/bin/fathom"
rows() { # TABLE FILE
	sqlite3 "$2" "SELECT count(*) FROM $1"
}

# usage
expect 2 'no program given' "$fathom" record
expect 2 'not "0%"' "$fathom" record --overhead 0% -- true
expect 2 'not "60%"' "$fathom" record --overhead 60% -- true
expect 2 'choose one' "$fathom" record --overhead 3% --rate 10 -- true
expect 2 '--max-size takes' "$fathom" record --max-size 1k -- true
expect 2 'one of auto, burst, exact' "$fathom" record --sampler pebs -- true
expect 127 'there is no such program' "$fathom" record -- no-such-program
expect 126 'cannot be run' "$fathom" record -- /etc/passwd
holds [ ! -e fathom.fathom ]
holds [ ! -e fathom.fathom.parts ]

# the program's own output and status, and where the recording went
expect 7 "fathom report fathom.fathom" "$fathom" record -- sh -c 'echo out; echo err >&2; sleep 0.1; exit 7'
holds [ "$(cat "$scratch/out")" = out ]
holds grep -qx err "$scratch/err"
holds grep -q 'samples, .* per second of processor time, overhead 1.0 %' "$scratch/err"
holds [ -s fathom.fathom ]
holds [ ! -e fathom.fathom.parts ]
holds [ "$(rows samples fathom.fathom)" -gt 3 ]
holds [ "$(sqlite3 fathom.fathom "SELECT state FROM sampling")" = finished ]
holds [ "$(sqlite3 fathom.fathom "SELECT exit_status FROM run")" = 7 ]
holds [ "$(sqlite3 fathom.fathom "SELECT verb FROM run")" = record ]
# working sets are set against the caches of the machine, measured or not
holds [ ! -e /sys/devices/system/cpu/cpu0/cache/index0/size -o "$(sqlite3 fathom.fathom "SELECT count(*) FROM caches WHERE bytes > 0")" -gt 0 ]
expect 143 'samples' "$fathom" record --force -o b.fathom -- sh -c 'kill -TERM $$'
expect 0 '' "$fathom" record --force -q -o b.fathom -- true
holds [ ! -s "$scratch/err" ]
# an earlier recording is not lost: the default name rotates, a chosen one is kept unless --force is given
echo $(rows samples fathom.fathom) >before
expect 0 '' "$fathom" record -q -- true
holds [ "$(rows samples fathom.fathom.old)" = "$(cat before)" ]
holds [ "$(rows samples fathom.fathom)" = 0 ]
cp fathom.fathom.old kept.fathom
expect 2 'kept.fathom exists: choose another name, or replace it with --force' "$fathom" record -o kept.fathom -- touch ran
holds [ ! -e ran ]
holds cmp -s kept.fathom fathom.fathom.old
expect 0 '' "$fathom" record -q --force -o kept.fathom -- true
holds [ "$(rows samples kept.fathom)" = 0 ]
: >empty.fathom
expect 0 '' "$fathom" record -q -o empty.fathom -- true
rm fathom.fathom.old
mkdir fathom.fathom.old
expect 125 'fathom.fathom.old is in the way' "$fathom" record -- touch ran
holds [ ! -e ran ]
rmdir fathom.fathom.old
# another preloaded library stays
LD_PRELOAD=libm.so.6 expect 0 'libfathom-record.so:libm.so.6' "$fathom" record --force -o b.fathom -- sh -c 'echo $LD_PRELOAD'
# its standard input is the program's
echo hello | "$fathom" record --force -q -o b.fathom -- cat >out 2>/dev/null
holds [ "$(cat out)" = hello ]
# what is no recording is not replaced
echo precious >c.fathom
expect 125 'c.fathom' "$fathom" record --force -o c.fathom -- true
holds grep -qx precious c.fathom
mkdir -p d.fathom.parts/mine
expect 125 'in the way' "$fathom" record --force -o d.fathom -- true
holds [ -d d.fathom.parts/mine ]
# nothing was loaded into the program: said, not hidden
FAKE_RUNTIME=silent expect 0 'did not load the sampling library' "$fathom" record --force -o e.fathom -- true
holds [ "$(rows samples e.fathom)" = 0 ]
# what still runs at the end
expect 0 'process runs? still|processes run still' "$fathom" record --force -o e.fathom -- sh -c 'sleep 3 >/dev/null 2>&1 & sleep 0.05'

# without the program for it there is no calibration, and with it there is one for an hour
expect 0 'no calibration' "$fathom" record --force -o h.fathom -- true
cp "$build/fathom-calibrate" "$scratch/lib/fathom"
expect 0 'measuring what each level costs' "$fathom" record --force -o h.fathom -- true
holds [ "$(rows calibration h.fathom)" -gt 20 ]
holds [ "$(sqlite3 h.fathom "SELECT count(DISTINCT level) = max(level) FROM calibration")" = 1 ]
holds [ "$(sqlite3 h.fathom "SELECT levels = max(level) FROM sampling, calibration")" = 1 ]
holds [ "$(sqlite3 h.fathom "SELECT level_names LIKE 'L1 L2%memory' FROM sampling")" = 1 ]
holds [ ! -e h.fathom.calibration.parts ]
expect 0 '' "$fathom" record --force -o h.fathom -- true
checks=$((checks + 1))
grep -q 'measuring' "$scratch/err" && fail 'a calibration was taken twice'
holds [ "$(rows calibration h.fathom)" -gt 20 ]
expect 0 'measuring' "$fathom" record --force --calibrate -o h.fathom -- true

# the tool is told to end: the program too, and what was sampled is kept
"$fathom" record --force -o f.fathom -- sleep 20 2>err &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -e f.fathom ] && break; sleep 0.1; done
sleep 0.3
kill -TERM $pid
wait $pid
status=$?
checks=$((checks + 1))
[ "$status" = 143 ] || fail "status $status after SIGTERM"
holds [ "$(sqlite3 f.fathom "SELECT state FROM sampling")" = finished ]
holds [ "$(rows samples f.fathom)" -gt 3 ]

# the tool is killed: what was sampled up to then can be opened
"$fathom" record --force -o g.fathom -- sleep 20 2>err &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -e g.fathom ] && break; sleep 0.1; done
sleep 0.4
holds [ "$(sqlite3 g.fathom "SELECT state FROM sampling")" = unfinished ]
holds [ "$(sqlite3 g.fathom "SELECT parts FROM sampling")" = g.fathom.parts ]
# meanwhile
"$fathom" report g.fathom >out 2>err
holds grep -q 'still being recorded' err
holds [ "$(sqlite3 g.fathom "SELECT state FROM sampling")" = unfinished ]
program=$(pgrep -P $pid -x sleep)
kill -KILL $pid
wait $pid 2>/dev/null
sleep 0.2
# the program goes on
"$fathom" report g.fathom >out 2>err
holds grep -q 'still being recorded' err
holds kill -KILL "$program"
sleep 0.2
"$fathom" report g.fathom >out 2>err
holds grep -q 'made from its parts, and kept' err
holds [ "$(sqlite3 g.fathom "SELECT state FROM sampling")" = recovered ]
holds [ "$(rows samples g.fathom)" -gt 10 ]
holds [ ! -e g.fathom.parts ]
# no room at the end: the program's own status, and what was sampled can be opened
"$fathom" record --force -q -o r.fathom -- sh -c 'sleep 0.2; rm -f r.fathom; mkdir r.fathom; exit 5' >out 2>err
status=$?
checks=$((checks + 1))
[ "$status" = 5 ] || fail "status $status where the recording cannot be kept"
holds grep -q 'the samples are in r.fathom.parts' err
holds [ -e r.fathom.parts/session ]
# its parts are gone
sqlite3 g.fathom "UPDATE sampling SET state = 'unfinished', parts = 'g.fathom.parts'"
expect 1 'its parts .* are gone' "$fathom" report g.fathom
finish
