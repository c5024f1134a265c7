#!/bin/sh
# Folders depend downwards only: every include between folders of src must be allowed by tests/cli/layers.txt.
. "$(dirname "$0")/common.sh"
cd "$source" || exit 1
grep -rnoE '^#include "[a-z]+/' src --include='*.[chS]' | sed -E 's|^src/([a-z]+)/([^:]*):([0-9]+):#include "([a-z]+)/|\1 \4 src/\1/\2:\3|' >"$scratch/includes"
holds [ -s "$scratch/includes" ]
while read -r from to where; do
	checks=$((checks + 1))
	[ "$from" = "$to" ] || grep -qE "^$from:.* $to( |\$)" tests/cli/layers.txt || fail "$where: $from may not use $to"
done <"$scratch/includes"
# what is loaded into other programs or linked everywhere neither prints nor exits
for folder in base kernels json machine doctor; do
	checks=$((checks + 1))
	! grep -rnE '\b(printf|puts|fprintf\(stderr|perror|exit|abort|_exit)\(' "src/$folder" --include='*.c' | grep -vE 'snprintf|vsnprintf|asprintf' ||
		fail "src/$folder prints or exits"
done
finish
