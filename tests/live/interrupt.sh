#!/bin/sh
# Ctrl-C at several moments: a clean end, nothing half-written.
. "$(dirname "$0")/../cli/common.sh"
mkdir "$scratch/place"
for moment in 0.3 1.2 3 5; do
	"$tool" machine --profile "$scratch/place/profile.json" >"$scratch/out" 2>"$scratch/err" &
	process=$!
	sleep "$moment"
	kill -INT $process
	wait $process
	status=$?
	holds [ "$status" = 1 ]
	holds grep -q 'interrupted; nothing was saved' "$scratch/err"
	holds [ ! -s "$scratch/out" ]
	holds [ -z "$(ls "$scratch/place")" ]
done
finish
