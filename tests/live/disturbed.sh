#!/bin/sh
# Something else on the same CPU: with no tolerance the result is refused, and the profile that was there stays.
. "$(dirname "$0")/../cli/common.sh"
command -v taskset >/dev/null || skip 'no taskset'
cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
cp "$source/tests/cli/example-profile.json" "$scratch/profile.json"
hogs=
for _ in 1 2 3; do
	taskset -c "$cpu" sh -c 'while :; do :; done' &
	hogs="$hogs $!"
done
expect 1 'disturbed beyond use' "$tool" machine --quick --budget 3s -C "$cpu" --tolerate 0 --profile "$scratch/profile.json"
holds grep -q 'the previous profile .* is kept' "$scratch/err"
# shellcheck disable=SC2086
kill $hogs
holds cmp "$scratch/profile.json" "$source/tests/cli/example-profile.json"
finish
