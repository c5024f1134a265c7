#!/bin/sh
# Every verb explains itself, completely.
. "$(dirname "$0")/common.sh"
expect 2 'Usage: fathom -- PROGRAM' "$tool"
expect 0 'Usage: fathom -- PROGRAM' "$tool" --help
expect 0 'Usage: fathom -- PROGRAM' "$tool" -h
expect 0 '^fathom [0-9]+\.[0-9]+' "$tool" --version
for verb in $("$tool" --complete); do
	expect 0 "^  $verb +[a-z]" "$tool" --help
	for how in -h --help; do
		expect 0 "^Usage: fathom $verb" "$tool" "$verb" "$how"
		holds [ ! -s "$scratch/err" ]
	done
	expect 0 "^Usage: fathom $verb" "$tool" help "$verb"
	"$tool" "$verb" --help >"$scratch/help"
	for option in $("$tool" --complete "$verb"); do
		holds grep -qE -- "(^| |,)$option([ ,=]|\$)" "$scratch/help"
	done
	holds awk 'length > 100 { exit 1 }' "$scratch/help"
done
# help wins over a mistake beside it
expect 0 '^Usage: fathom machine' "$tool" machine --help --nonsense
finish
