#!/bin/sh
# fathom export: every format is read back by a reader that knows its description alone (tests/export/readers.py) and compared
# with the recording; hostile names; recordings without samples; what happens to files that are in the way.
. "$(dirname "$0")/common.sh"
make="$build/tests/sampled_recording"
[ -x "$make" ] || skip 'sampled_recording was not built'
case $tool in /*) ;; *) tool=$PWD/$tool ;; esac
readers="$source/tests/export/readers.py"
formats='paraver perfetto speedscope callgrind csv json'
mkdir "$scratch/work"
cd "$scratch/work" || exit 1

# read_back RECORDING: in every format
read_back() {
	for format in $formats; do
		expect 0 '' "$tool" export -q "$1" --format "$format" -o "out.$format.prv"
		checks=$((checks + 1))
		"$readers" "$format" "out.$format.prv" "$1" >"$scratch/said" 2>&1 || fail "$1 as $format: $(tail -3 "$scratch/said")"
	done
	holds "$source/tests/cli/schema" "$source/docs/schemas/export.schema.json" out.json.prv
	if command -v callgrind_annotate >/dev/null; then
		expect 0 'PROGRAM TOTALS' callgrind_annotate --auto=no out.callgrind.prv
		holds [ ! -s "$scratch/err" ]
		expect 0 'PROGRAM TOTALS' callgrind_annotate --auto=no --inclusive=yes --tree=both out.callgrind.prv
		holds [ ! -s "$scratch/err" ]
	fi
}
for kind in 0 1 2; do
	holds "$make" run.fathom 300 $kind
	read_back run.fathom
	# twice, the same bytes
	for format in $formats; do
		"$tool" export -q run.fathom -f "$format" -o again.prv
		holds cmp -s again.prv "out.$format.prv"
	done
done

# one instance of each region
"$make" run.fathom 300 0
expect 0 '' "$tool" export -q run.fathom --format paraver --folded -o folded.prv
holds "$readers" paraver_folded folded.prv run.fathom
expect 2 '--folded needs --format paraver, not csv' "$tool" export run.fathom --format csv --folded
change run.fathom 'DELETE FROM instances; UPDATE samples SET instance = -1'
expect 2 'nothing can be folded: no region is marked' "$tool" export run.fathom --format paraver --folded -o no.prv
holds [ ! -e no.prv ]
"$make" run.fathom 300 2

# names of all kinds of things that are not easy
change run.fathom "UPDATE codes SET function = char(10) || '</script><script>alert(1)</script>' || char(13, 27) || '[31m\"' WHERE row = 1;
	UPDATE codes SET function = '=cmd|''/C calc''!A0', file = '../../etc/passwd,\"x\"\\', inlined = x'c328ff41' WHERE row = 2;
	UPDATE codes SET function = printf('%.*c', 5000, 'f'), module = '(7) fn=(1) ' || char(10) || 'totals: 0' WHERE row = 3;
	UPDATE codes SET function = '', module = '' WHERE row = 4;
	UPDATE memories SET name = 'a:b;c,d' || char(9) || '0      none' WHERE row = 0;
	UPDATE memories SET name = printf('%.*c', 198, 'x') || 'äöü' WHERE row = 1;
	UPDATE memories SET name = '{\"\\u0000\": [], ' || char(8232) || '}' WHERE row = 2;
	UPDATE instances SET name = '@SUM(1)' || char(10) || '2:0:1:1:1:0:1:1' WHERE row % 2 = 0;
	UPDATE sampled_threads SET name = '%s%n\"<b>' WHERE row = 0;
	UPDATE run SET program = './a' || char(10) || 'events: X', host = char(10) || 'LEVEL THREAD SIZE 9'"
read_back run.fathom
holds sh -c '! grep -q "<script>" out.json.prv out.speedscope.prv'

# not in the order of time, regions that overlap, nest and are empty, samples for levels only, no frames, nodes and CPUs that are not known
"$make" run.fathom 300 0
change run.fathom "UPDATE samples SET at = 10 - at; UPDATE samples SET flags = flags | 16 WHERE row % 7 = 0;
	UPDATE samples SET frame = -1, page_node = -1, node = -1 WHERE row % 5 = 0; UPDATE samples SET kind = 3 WHERE row % 11 = 0; UPDATE samples SET kind = 6 WHERE row % 17 = 0;
	UPDATE samples SET cpu = 60000 WHERE row % 13 = 0; UPDATE samples SET address = -1 WHERE row = 3;
	UPDATE instances SET ended = began + 1.7 WHERE row % 2 = 0; UPDATE instances SET ended = began WHERE row = 5"
read_back run.fathom

# recursion: a call is counted once for each sample
change run.fathom 'UPDATE frames SET code = 1 WHERE row IN (3, 5); UPDATE samples SET code = 1 WHERE frame IN (3, 5)'
read_back run.fathom

# nothing to export, and what to do about it
cp run.fathom empty.fathom
change empty.fathom 'DELETE FROM samples'
for format in paraver perfetto speedscope callgrind csv; do
	expect 2 'has no samples: .* --overhead .* can be written as: json' "$tool" export empty.fathom --format $format
done
expect 0 '' "$tool" export empty.fathom --format json -o -
holds sh -c '[ "$(ls | grep -c "^empty")" = 1 ]'

# recordings of stat: sums, lines, intervals
phases="$build/tests/program_phases"
if [ -x "$phases" ]; then
	expect 0 '' "$tool" stat --machine haswell-ep --record stat.fathom -- "$phases"
	expect 2 'perfetto needs data over time.*callgrind, csv, json' "$tool" export stat.fathom --format perfetto
	expect 2 'speedscope needs sampled references.*callgrind, csv, json' "$tool" export stat.fathom --format speedscope
	expect 2 '--folded folds sampled references|needs data over time' "$tool" export stat.fathom --format paraver --folded
	expect 0 'wrote stat.callgrind' "$tool" export stat.fathom --format callgrind
	expect 0 'Loads +Stores +Misses_1' callgrind_annotate --auto=no stat.callgrind
	loads=$(sqlite3 stat.fathom 'SELECT sum(loads) FROM lines')
	holds [ "$(awk '/^totals:/ { print $2 }' stat.callgrind)" = "$loads" ]
	expect 0 '^row,function,inlined' "$tool" export stat.fathom --format csv -o -
	holds [ "$(wc -l <"$scratch/out")" = "$(sqlite3 stat.fathom 'SELECT 1 + count(*) FROM lines')" ]
	expect 0 '^row,process,thread,core.*instructions' "$tool" export stat.fathom --format csv --table threads -o -
	expect 0 '' "$tool" stat --machine haswell-ep -I 1 --record series.fathom -- "$phases"
	expect 0 '' "$tool" export series.fathom --format paraver -o series.prv
	holds [ "$(awk -F: '$1 == 2 { if ($6 < last) exit 1; last = $6 }' series.prv && awk -F: '$1 == 2 && $7 >= 49000000' series.prv | wc -l)" -gt 10 ]
	awk -F: 'NR > 1 { print $7 }' series.prv | sort -u >types
	awk '/^7    49/ { print $2 }' series.pcf | sort -u >labels
	holds cmp -s types labels
	expect 0 '' "$tool" export series.fathom --format perfetto -o series.pftrace
	holds [ -s series.pftrace ]
fi

# usage
"$make" run.fathom 200 1
expect 2 'no recording given' "$tool" export
expect 2 'choose a format: --format FORMAT, one of paraver, perfetto' "$tool" export run.fathom
expect 2 'unknown format; did you mean perfetto' "$tool" export run.fathom --format perfeto
expect 2 'one recording at a time' "$tool" export run.fathom run.fathom
expect 1 'No such file' "$tool" export nobody.fathom --format csv
expect 1 'no recording' "$tool" export out.csv.prv --format csv
expect 2 '--table needs --format csv, not json' "$tool" export run.fathom --format json --table codes
expect 2 'recordings have no such table. Tables: asked run' "$tool" export run.fathom --format csv --table codez -o -
expect 2 'several files' "$tool" export run.fathom --format paraver -o -
expect 0 '^row,process,address,function' "$tool" export run.fathom --format csv --table codes -o -

# names by default, and what is in the way
rm -f ./*.prv ./*.pcf ./*.row
expect 0 'wrote run.prv, its .pcf and its .row; for wxparaver' "$tool" export run.fathom --format paraver
holds [ -s run.prv -a -s run.pcf -a -s run.row ]
cp run.prv before
expect 1 'run.prv already exists: -o run.prv replaces it' "$tool" export run.fathom --format paraver
holds cmp -s run.prv before
expect 0 '' "$tool" export -q run.fathom --format paraver -o run
holds [ ! -s "$scratch/err" ]
holds [ ! -e run ]
expect 1 'it is the recording itself' "$tool" export run.fathom --format csv -o run.fathom
echo precious >precious
ln -s precious link.csv
expect 1 'symbolic link, which is not followed' "$tool" export run.fathom --format csv -o link.csv
holds [ "$(cat precious)" = precious ]
ln -sf precious run.row
expect 1 'run.row: it is a symbolic link' "$tool" export run.fathom --format paraver -o run.prv
holds [ "$(cat precious)" = precious ]
mkdir folder
expect 1 'it is a folder' "$tool" export run.fathom --format csv -o folder
expect 1 'cannot write nowhere/x.csv: No such file' "$tool" export run.fathom --format csv -o nowhere/x.csv
expect 0 '' "$tool" export run.fathom --format csv -o /dev/null
# a full disk leaves what was there, and nothing else
if [ -e /dev/full ]; then
	expect 1 'cannot write /dev/full: No space left' "$tool" export run.fathom --format csv -o /dev/full
	"$tool" export run.fathom --format csv -o - 2>"$scratch/err" >/dev/full
	holds [ $? = 1 ]
fi
echo old >run.csv
holds sh -c 'ulimit -f 8; trap "" XFSZ; ! "$1" export -q run.fathom --format csv -o run.csv 2>/dev/null' sh "$tool"
holds [ "$(cat run.csv)" = old ]
holds sh -c '! ls | grep -q "\.csv\.\|\.prv\."'
umask 027
expect 0 '' "$tool" export run.fathom --format csv -o mode.csv
holds [ "$(stat -c %a mode.csv)" = 640 ]

# a live one
if [ -e "$build/libfathom-record.so" ]; then
	"$tool" record --force -q --rate 2000 -o live.fathom -- "$build/examples/chase" >/dev/null 2>&1
	if [ "$(sqlite3 live.fathom 'SELECT count(*) FROM samples' 2>/dev/null || echo 0)" -gt 10 ]; then
		read_back live.fathom
	else
		echo 'a live recording had too few samples to look at'
	fi
fi
finish
