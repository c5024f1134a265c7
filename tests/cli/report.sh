#!/bin/sh
# Recordings: what `report` prints is byte for byte what the live run wrote, in every way of observing and every format; on
# another machine (no profile, no program, no machine files); bad files are refused.
. "$(dirname "$0")/common.sh"
phases="$build/tests/program_phases" regions="$build/tests/program_regions" # the second is a tenth of the first
[ -x "$phases" ] || skip 'the emulator was not built'
mkdir -p "$XDG_DATA_HOME/fathom/machines"
cp "$source/tests/cli/example-profile.json" "$XDG_DATA_HOME/fathom/machines/$(hostname).json"

# same NAME OPTIONS... : one run, and its recording in the same format, opened where nothing else is
same() {
	name=$1
	shift
	format=
	for option; do
		case $option in --json | -v | -vv | --bandwidth-curve) format="$format $option" ;; -x*) format="$format $option" ;; --) break ;; esac
	done
	"$tool" stat --record "$scratch/$name.fathom" -o "$scratch/$name.live" "$@" >/dev/null 2>"$scratch/err"
	checks=$((checks + 1))
	[ -s "$scratch/$name.live" ] || fail "$name: nothing was written: $(cat "$scratch/err")"
	mv "$XDG_DATA_HOME" "$scratch/elsewhere"
	# shellcheck disable=SC2086
	(cd / && FATHOM_MACHINES=/nonexistent FATHOM_GROUPS=/nonexistent "$tool" report $format "$scratch/$name.fathom") >"$scratch/$name.again" 2>"$scratch/err" ||
		fail "$name: report failed: $(cat "$scratch/err")"
	mv "$scratch/elsewhere" "$XDG_DATA_HOME"
	checks=$((checks + 1))
	cmp -s "$scratch/$name.live" "$scratch/$name.again" ||
		fail "$name differs: $(diff "$scratch/$name.live" "$scratch/$name.again" | head -5)"
}
case $tool in /*) ;; *) tool=$PWD/$tool ;; esac
cp "$build/examples/sharing" "$scratch/program"
same combined -r 3 -- "$scratch/program"
rm "$scratch/program"
same combined-json -r 3 --json -- "$regions"
same bandwidth-curve -r 3 --bandwidth-curve -- "$phases"
holds grep -q '@ the program' "$scratch/bandwidth-curve.live"
holds grep -qE '^Peak of memory: .* GB/s for 2 threads and 1[67] % writes' "$scratch/bandwidth-curve.live"
same verbose -r 3 -vv -- "$build/examples/sharing"
same separated -r 3 -x, -- "$build/examples/sharing"
same machine --machine haswell-ep --timing -- "$regions"
same machine-json --machine haswell-ep --timing --json -- "$build/tests/program_regions"
same untimed --machine zen3 -- "$build/tests/program_threads"
same region --region sum --instances 2-3 -- "$phases"
same series --machine haswell-ep -I 1 -- "$phases"
same series-json --machine haswell-ep -I 1 --json -- "$regions"
same simulated --machine haswell-ep --counters simulated -- "$regions"
same simulated-json --machine haswell-ep --counters simulated --json -- "$regions"
same simulated-events --machine haswell-ep --timing -e MEM_LOAD_UOPS_RETIRED:L2_HIT,CPU_CLK_UNHALTED -- "$regions"
same simulated-group --machine haswell-ep --timing -g haswell-ep/L2 --json -- "$regions"
same events -e page-faults,task-clock -- "$phases"
same events-json -e page-faults,task-clock --json -r 3 -- "$phases"
same events-separated -e page-faults '-x;' -- "$phases"
same intervals -e page-faults -I 5 -- sleep 0.03
same intervals-json -e page-faults -I 5 --json -- sleep 0.03
# levels by counters, with page faults in place of the event of memory: as tests/cli/levels.sh does
jq '.metrics = [{"name": "memory read", "unit": "transfers", "scope": "core", "formula": "page-faults", "bytes": 4096, "error": 0.001, "error_max": 0.01, "maximal_gbs": 5, "events": [{"name": "page-faults", "factor": 1}]}]' \
	"$source/tests/cli/example-profile.json" >"$XDG_DATA_HOME/fathom/machines/$(hostname).json"
if "$tool" stat -e page-faults -- true >/dev/null 2>&1; then
	same counted -- "$phases"
	same counted-json --json -- "$phases"
	same counted-separated -x, -- "$phases"
	same counted-series -I 5 -- sleep 0.03
	same counted-series-json -I 5 --json -- sleep 0.03
fi
holds [ "$(sqlite3 "$scratch/combined.fathom" "SELECT verb FROM run" 2>/dev/null)" = stat ]
holds [ "$(sqlite3 "$scratch/machine.fathom" "SELECT value > 1000 FROM totals WHERE name = 'loads'" 2>/dev/null)" = 1 ]
expect 0 '"verb": "stat"' "$tool" report --json "$scratch/combined.fathom"

# what is no recording
expect 1 'No such file' "$tool" report "$scratch/nonexistent"
expect 1 'this is no file' "$tool" report "$scratch"
printf 'hello\n' >"$scratch/text"
expect 1 'not a database|no recording' "$tool" report "$scratch/text"
expect 125 'there and no recording' "$tool" stat --record "$scratch/text" --machine zen3 -- true
holds [ "$(cat "$scratch/text")" = hello ]
ln -s "$scratch/text" "$scratch/link.fathom"
expect 125 'symbolic link' "$tool" stat --record "$scratch/link.fathom" --machine zen3 -- true
expect 125 'cannot keep a recording in /nonexistent' "$tool" stat --record /nonexistent/x.fathom --machine zen3 -- true
sqlite3 "$scratch/other.db" 'CREATE TABLE x (y)' 2>/dev/null
expect 1 'no recording of Fathom' "$tool" report "$scratch/other.db"
cp "$scratch/machine.fathom" "$scratch/newer.fathom"
change "$scratch/newer.fathom" 'PRAGMA user_version = 99'
expect 1 'use a newer one' "$tool" report "$scratch/newer.fathom"
# tables of someone else's making: rows that refer to nothing, views in the place of tables, texts without end, cut files
damage() {
	cp "$scratch/machine.fathom" "$scratch/damaged.fathom"
	change "$scratch/damaged.fathom" "$1"
	"$tool" report "$scratch/damaged.fathom" >/dev/null 2>"$scratch/err"
	status=$?
	checks=$((checks + 1))
	[ $status -le 1 ] || fail "'$1' ended with $status: $(head -3 "$scratch/err")"
}
damage 'UPDATE threads SET process = 7'
damage 'UPDATE users SET shared = 4000000000'
damage 'DELETE FROM processes'
damage 'DELETE FROM documents'
damage "UPDATE documents SET text = 'machine sockets=1' WHERE name = 'machine'"
damage 'DROP TABLE threads; CREATE VIEW threads AS WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t'
damage "UPDATE lines SET function = printf('%.*c', 100000, 'x')"
damage "UPDATE lines SET file = x'fffe00411b5b32'"
damage 'UPDATE asked SET question = 4'
damage 'UPDATE asked SET question = 5'
damage 'UPDATE asked SET question = 77'
damage 'UPDATE asked SET question = 3'
damage 'DROP TABLE counts'
damage 'UPDATE counts SET value = -1'
damage "UPDATE counts SET \"row\" = -5"
damage 'CREATE TEMP TABLE more AS SELECT * FROM threads; UPDATE more SET "row" = "row" + 1000; INSERT INTO threads SELECT * FROM more'
size=$(stat -c %s "$scratch/machine.fathom")
for part in 1 100 1000 4096 $((size / 2)) $((size - 100)); do
	head -c "$part" "$scratch/machine.fathom" >"$scratch/damaged.fathom"
	"$tool" report "$scratch/damaged.fathom" >/dev/null 2>&1
	status=$?
	checks=$((checks + 1))
	[ $status -le 1 ] || fail "a file cut at $part ended with $status"
done
finish
