#!/bin/sh
# The program, the tool, or both are killed at random moments: the recording opens, and at most the last second is missing.
# KILLS=100 for the soak.
. "$(dirname "$0")/../cli/common.sh"
truth=$build/tests/truth
cd "$scratch" || exit 1
kills=${KILLS:-6}
"$tool" record --force -q -o first.fathom -- "$truth" mix 0.1 >/dev/null 2>first.err || skip "nothing can be recorded here: $(cat first.err)"

missing=0
for round in $(seq "$kills"); do
	victim=$((round % 3))
	rm -rf kill.fathom kill.fathom.parts
	"$tool" record --force -q --rate 500 -o kill.fathom -- "$truth" mix 30 >/dev/null 2>&1 &
	fathom=$!
	program=
	for try in $(seq 400); do
		program=$(pgrep -P "$fathom" -x truth) && [ -n "$program" ] && break
		sleep 0.01
	done
	[ -n "$program" ] || { fail 'the program did not start'; kill "$fathom" 2>/dev/null; continue; }
	wait_for=$(awk -v r="$round" 'BEGIN { srand(r * 7919); printf "%.3f", 0.05 + rand() * 2.5 }')
	sleep "$wait_for"
	[ "$victim" = 0 ] && kill -KILL "$program"
	[ "$victim" = 1 ] && kill -KILL "$fathom" && sleep 0.2 && kill -KILL "$program"
	[ "$victim" = 2 ] && kill -KILL "$fathom" "$program"
	wait "$fathom" 2>/dev/null
	sleep 0.05
	checks=$((checks + 1))
	if ! "$tool" report --json kill.fathom >report.json 2>report.err; then
		fail "round $round, victim $victim after $wait_for s: $(cat report.err)"
		continue
	fi
	last=$(sqlite3 kill.fathom 'SELECT max(at) FROM samples')
	samples=$(sqlite3 kill.fathom 'SELECT count(*) FROM samples')
	echo "victim $victim after $wait_for s: ${samples:-0} samples, the last at ${last:-none} s, $(sqlite3 kill.fathom 'SELECT state FROM sampling')"
	awk -v last="${last:-0}" -v killed="$wait_for" 'BEGIN { exit !(last >= killed - 1) }' || { missing=$((missing + 1)); fail "more than a second is missing: killed after $wait_for s, last sample at ${last:-none}"; }
	checks=$((checks + 1))
done
finish
