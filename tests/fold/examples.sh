# For tests/cli/examples.sh and tests/live/examples.sh: what must hold of the examples, whoever took the samples.
examples="$build/examples"
[ -x "$examples/stream-folded-stream" ] || skip 'the examples were not built'
stream="$source/examples/stream-folded/stream.c"

line() { grep -nF "$2" "$source/examples/$1" | head -1 | cut -d: -f1; }

# judge WHAT ARGUMENTS...: tests/fold/examples.py; a recording that cannot decide ends the test
judge() {
	checks=$((checks + 1))
	"$source/tests/fold/examples.py" "$@" >"$scratch/judged" 2>&1
	judged=$?
	[ $judged != 77 ] || { [ $failures = 0 ] && cat "$scratch/judged" && exit 77; }
	[ $judged = 0 ] || fail "$*: $(tail -3 "$scratch/judged")"
}

is() {
	checks=$((checks + 1))
	jq -e "$2" "$scratch/$1.json" >/dev/null || fail "$1.json: not $2"
}

# text_of_stream RECORDING DIRECTION
text_of_stream() {
	expect 0 "^Finding 1: random accesses that miss the caches: c, stream.c:$(line stream-folded/stream.c 'c[random %') scale" "$tool" report --top 20 "$1"
	cp "$scratch/out" "$scratch/text"
	for phase in '1 +0–[0-9]+ .* copy' '2 .* scale' '3 .* add' '4 +[0-9]+–100 .* triad'; do
		holds grep -qE "^  $phase" "$scratch/text"
	done
	holds [ "$(grep -cE '^  [^ ].* (r|w) +random ' "$scratch/text")" = 1 ]
	holds grep -qE '^  c +2  stream.c:[0-9]+ +r  random' "$scratch/text"
	# of the kernels, in lines of two digits; what main() does outside of the region is listed apart
	holds [ "$(grep -cE "^  (a|c) +1  stream.c:[0-9]{2} +[rw]  $2 " "$scratch/text")" = 2 ]
	holds [ "$(grep -cE '^  [^ ].* [134]  stream.c:[0-9]{2} +[rw]  (up|down) ' "$scratch/text")" = 8 ]
}

# judge_apart APART TOGETHER RATIO
judge_apart() {
	at=aos-soa/apart.c
	judge finding "$1.json" fields-apart "$(for axis in x y z; do printf 'apart.c:%s (main)\n' "$(line $at "*$axis = r ?")"; done | paste -sd,)" \
		"apart.c:$(line $at 'x[node]'),$(line $at 'y[node]'),$(line $at 'z[node]')"
	judge without "$2.json" fields-apart
	"$tool" report --json "$1.fathom" "$2.fathom" >"$scratch/compared.json"
	judge faster "$scratch/compared.json" gather "$3"
	expect 0 '^gather .*faster' "$tool" report "$1.fathom" "$2.fathom"
	expect 0 '^gather .*slower' "$tool" report "$2.fathom" "$1.fathom"
}

# judge_scattered SCATTERED BLOCK RATIO
judge_scattered() {
	at=scattered-matrix/scattered.c
	judge finding "$1.json" scattered-allocations "scattered.c:$(line $at 'value = malloc') (main),scattered.c:$(line $at 'column = malloc') (main)" \
		"matrix.h:$(line scattered-matrix/matrix.h 'sum +=')"
	judge without "$2.json" scattered-allocations
	"$tool" report --json "$1.fathom" "$2.fathom" >"$scratch/compared.json"
	judge faster "$scratch/compared.json" multiply "$3"
	expect 0 '^multiply .*faster' "$tool" report "$1.fathom" "$2.fathom"
}
