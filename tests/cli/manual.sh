#!/bin/sh
# The man pages name every verb and option, and format without complaint.
. "$(dirname "$0")/common.sh"
for verb in $("$tool" --complete); do
	[ "$verb" = help ] && continue
	page="$source/man/fathom-$verb.1"
	holds [ -f "$page" ]
	holds grep -q "fathom-$verb\|fathom $verb\|$verb" "$source/man/fathom.1"
	sed 's/\\-/-/g' "$page" >"$scratch/page"
	for option in $("$tool" --complete "$verb"); do
		checks=$((checks + 1))
		grep -qF -- "$option" "$scratch/page" || fail "$page does not explain $option"
	done
done
for page in "$source"/man/*.1; do
	checks=$((checks + 1))
	LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>"$scratch/warnings" >/dev/null || fail "$page does not format"
	[ ! -s "$scratch/warnings" ] || fail "$page: $(cat "$scratch/warnings")"
done
finish
