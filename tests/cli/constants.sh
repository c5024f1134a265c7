#!/bin/sh
# Tables of tuned constants: the code uses each name, and a check that is a path exists.
. "$(dirname "$0")/common.sh"
cd "$source" || exit 1

cat src/*/*.def | tr '\n' ' ' | sed -E 's/\bTUNED(_COUNT|_LIST)?\(/\n&/g' | sed -nE 's/^TUNED[A-Z_]*\((\w+),[^"]*"[^"]*", \w+,\s*"([^ ";]*).*/\1 \2/p' >"$scratch/rows"
holds [ -s "$scratch/rows" ]
while read -r name check; do
	case $check in
	tests/* | bench/* | docs/*) [ -e "$check" ] || fail "$name: there is no $check" ;;
	esac
	grep -rqw "$name" src --include='*.[ch]' || fail "$name is not used"
	checks=$((checks + 1))
done <"$scratch/rows"
finish
