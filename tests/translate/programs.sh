#!/bin/sh
# Unmodified programs, their first thread wholly in the code cache: same output, same exit status, and nothing that made it
# leave. Each runs plainly, with every reference logged, with fuel, in a small cache, and with 1,000 exits and entries a
# second at whatever instruction it happens to be. ROUNDS=20 repeats all of it.
. "$(dirname "$0")/../cli/common.sh"
library=$build/tests/libtranslate-preload.so
[ -e "$library" ] || skip 'the translator was not built'
rounds=${ROUNDS:-1}
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
export TRANSLATE_REPORT="$scratch/report" PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1

awk 'BEGIN { x = 1; for (i = 0; i < 60000; i++) { x = (x * 16807) % 2147483647; print x % 1000003, x } }' >"$scratch/input"
cat >"$scratch/program.py" <<'END'
import hashlib, json, re, subprocess, threading
table = {str(i): [i * k for k in range(5)] for i in range(3000)}
text = json.dumps(table)
print(len(text), hashlib.sha256(text.encode()).hexdigest(), sum(v[3] for v in json.loads(text).values()))
try:
    raise ValueError(3)
except ValueError as error:
    print(error)
print(len(re.findall(r'1\d+', text)))
thread = threading.Thread(target=lambda: print(sum(range(10000))))
thread.start()
thread.join()
print(subprocess.run(['echo', 'hello'], capture_output=True).stdout)
END
cat >"$scratch/program.c" <<'END'
#include <stdio.h>
int squares(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * i; return sum; }
int main(void) { printf("%d\n", squares(10)); return 0; }
END

# same NAME COMMAND...: all ways of running it; reasons other than those in $allowed fail
same() {
	name=$1
	shift
	command -v "$1" >/dev/null || { echo "$name: not installed"; return; }
	"$@" >"$scratch/native" 2>"$scratch/errors" </dev/null
	native=$?
	for way in plain log fuel small tick; do
		mode=$way size=16384
		[ "$way" = small ] && mode=plain size=256
		rm -f "$TRANSLATE_REPORT"
		env LD_PRELOAD="$library" TRANSLATE_MODE="$mode" TRANSLATE_SIZE="$size" "$@" >"$scratch/translated" 2>"$scratch/errors" </dev/null
		holds [ "$?" = "$native" ]
		holds cmp "$scratch/native" "$scratch/translated"
		holds grep -q '^end' "$TRANSLATE_REPORT"
		grep '^left' "$TRANSLATE_REPORT" | sort | uniq -c >"$scratch/left"
		if [ "$way" = plain ]; then
			echo "$name: $(awk '$1 == "instructions" { sum += $2 } END { print sum }' "$TRANSLATE_REPORT") instructions translated," \
				"$(if [ -s "$scratch/left" ]; then cat "$scratch/left"; else echo 'never left'; fi)"
		fi
		[ "$way" = tick ] && echo "$name: $(awk '$1 == "ticks" { t += $2 } $1 == "between" { b += $2 } END { print t " ticks, " b " between two states" }' "$TRANSLATE_REPORT")"
		checks=$((checks + 1))
		grep -vE "${allowed:-^$}" "$scratch/left" && fail "$name, $way, left the cache"
	done
}

allowed=
for round in $(seq "$rounds"); do
	same gzip gzip -c "$scratch/input"
	same bzip2 bzip2 -c "$scratch/input"
	same xz xz -2 -c "$scratch/input"
	same 'xz -T2' xz -2 -T2 --block-size=262144 -c "$scratch/input"
	same sort sort -n "$scratch/input"
	same 'sort --parallel=2' sort --parallel=2 -S 1M "$scratch/input"
	same sqlite3 sqlite3 :memory: 'create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
		insert into t select x, x * 7919 % 10007 from c; select sum(a * b), count(distinct b) from t;
		select b, count(*) from t group by b order by 2 desc, 1 limit 5;'
	[ -z "$python" ] || same python3 "$python" "$scratch/program.py"
	# shellcheck disable=SC2016
	same perl perl -e 'for (1 .. 50000) { $h{$_ % 1000} += $_ } print join(",", map { "$_=$h{$_}" } sort keys %h), "\n"; print `echo hello`'
	same gcc gcc -O2 -S -o - "$scratch/program.c"
	# shellcheck disable=SC2016
	same sh sh -c 'for i in 1 2 3; do echo $i | cat; done; (exit 3); echo $?; exit 4'
	# a compiler of its own: its code is left to the processor
	allowed='at code that can be written to|at code that belongs to no file'
	same node node -e 'let s = 0; for (let i = 0; i < 1e6; i++) s += i % 7; console.log(s)'
	allowed=
done
finish
