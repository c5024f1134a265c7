#!/bin/sh
# Programs with a laboratory that takes far more of their time than it may usually have: stretches of them are executed, set back and
# executed again hundreds of times. Same output and exit status; nothing is seen twice. ROUNDS=20 repeats all of it.
. "$(dirname "$0")/../cli/common.sh"
library=$build/libfathom-trace.so
drain=$build/tests/trace_drain
if [ ! -e "$library" ] || [ ! -e "$drain" ]; then
	skip 'the native engine was not built'
fi
command -v gcc >/dev/null || skip 'no compiler'
report=$scratch/report
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
placed_all=0

awk 'BEGIN { x = 1; for (i = 0; i < 500000; i++) { x = (x * 16807) % 2147483647; print x % 1000003, x } }' >"$scratch/input"
cat >"$scratch/program.py" <<'EOF'
import hashlib, json, re
table = {str(i): [i * k for k in range(5)] for i in range(100000)}
text = json.dumps(table)
print(len(text), hashlib.sha256(text.encode()).hexdigest(), sum(v[3] for v in json.loads(text).values()))
print(len(re.findall(r'1\d+', text)))
words = sorted(text.split(','), key=lambda word: word[::-1])
print(hashlib.md5(''.join(words).encode()).hexdigest())
EOF
cat >"$scratch/program.c" <<'EOF'
#include <stdio.h>
#define F(n) int f##n(int x) { int sum = x; for (int i = 0; i < x; i++) sum = sum * (i ^ n) + i / (n + 1) - (sum >> 3); switch (sum & 7) { case 1: return sum; case 2: return x; case 5: return f0(sum & 3); } return sum + n; }
int f0(int x) { return x * 3; }
F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19) F(20)
int main(void) { printf("%d\n", f1(3) + f7(5) + f20(9)); return 0; }
EOF

value() { awk -v name="$1" '$1 == name { print $2 }' "$report"; }

# same NAME COMMAND...: natively, and with the laboratory
same() {
	name=$1
	shift
	command -v "$1" >/dev/null || { echo "$name: not installed"; return; }
	"$@" >"$scratch/native" 2>"$scratch/native_errors" </dev/null
	native=$?
	"$drain" "$library" "$report" -w 5000 1000 1.004 -b 20 -- "$@" >"$scratch/translated" 2>"$scratch/errors" </dev/null
	holds [ "$?" = "$native" ]
	holds cmp "$scratch/native" "$scratch/translated"
	holds cmp "$scratch/native_errors" "$scratch/errors"
	holds [ "$(value errors)$(value lost)" = 00 ]
	echo "$name: $(value natural) natural, $(value placed) placed, $(value not_placed) not placed"
	placed_all=$((placed_all + $(value placed)))
}

# own NAME: one of the translator's programs
own() {
	file=$(echo "$source/tests/translate/programs/$1".*)
	compiler=gcc
	[ "$file" = "${file%.cc}" ] || compiler=g++
	command -v "$compiler" >/dev/null || { echo "$1: no $compiler"; return; }
	holds "$compiler" -D_GNU_SOURCE -O2 -w -pthread -fopenmp -o "$scratch/$1" "$file"
	same "$1" "$scratch/$1"
}

for round in $(seq "${ROUNDS:-1}"); do
	same gzip gzip -9 -c "$scratch/input"
	same bzip2 bzip2 -c "$scratch/input"
	same xz xz -2 -c "$scratch/input"
	same sort sort -n "$scratch/input"
	same awk awk '{ s += $1 * $2 % 7; n[$1 % 1000]++ } END { print s; for (i = 0; i < 1000; i++) printf "%d ", n[i] }' "$scratch/input"
	same sqlite3 sqlite3 :memory: 'create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 300000)
		insert into t select x, x * 7919 % 10007 from c; select sum(a * b), count(distinct b) from t;
		select b, count(*) from t group by b order by 2 desc, 1 limit 5;'
	[ -z "$python" ] || same python3 "$python" "$scratch/program.py"
	# shellcheck disable=SC2016
	same perl perl -e 'for (1 .. 3000000) { $h{$_ % 1000} += $_ } print join(",", map { "$_=$h{$_}" } sort keys %h), "\n"; print `echo hello`'
	same gcc gcc -O2 -S -o - "$scratch/program.c"
	own jumps
	own vectors
	own exceptions
	own handlers
	own forks
	own openmp
done
echo "$placed_all stretches placed"
holds [ "$placed_all" -gt $((100 * ${ROUNDS:-1})) ]
finish
