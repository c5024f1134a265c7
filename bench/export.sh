#!/bin/sh
# What exporting takes: processor time, peak memory and size of each format, for several numbers of samples. The time to load and
# analyse the recording, which all formats pay, is the "load" row: a table of one row is written.
# bench/export.sh BUILD [SAMPLES...]
set -eu
build=${1:-build}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- 250000 1000000
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fathom-export-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
measure() { # NAME OPTIONS...
	name=$1
	shift
	/usr/bin/time -f '%U %S %M' -o "$scratch/time" "$build/fathom" export -q "$scratch/run.fathom" -o "$scratch/out.prv" "$@"
	bytes=$(cat "$scratch"/out.* | wc -c)
	rm -f "$scratch"/out.*
	awk -v name="$name" -v samples="$samples" -v bytes="$bytes" \
		'{ printf "| %d | %s | %.2f | %.0f | %.0f |\n", samples, name, $1 + $2, $3 / 1024, bytes / 1e6 }' "$scratch/time"
}
echo '| samples | format | processor time, s | peak memory, MiB | MB written |'
echo '|---|---|---|---|---|'
for samples; do
	"$build/tests/sampled_recording" "$scratch/run.fathom" "$samples" 0
	measure load --format csv --table run
	for format in paraver perfetto speedscope callgrind csv json; do measure $format --format $format; done
	[ "$samples" -gt 1000000 ] || measure 'paraver --folded' --format paraver --folded
done
