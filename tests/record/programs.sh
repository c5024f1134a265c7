#!/bin/sh
# Unmodified programs under `fathom record`, at a high rate: same output and exit status as without. ROUNDS=20 for the soak.
. "$(dirname "$0")/../cli/common.sh"
rounds=${ROUNDS:-1}
cd "$scratch" || exit 1
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
"$tool" record --force -q -o first.fathom -- true 2>first.err || skip "nothing can be recorded here: $(cat first.err)"
awk 'BEGIN { x = 1; for (i = 0; i < 200000; i++) { x = (x * 16807) % 2147483647; print x % 1000003, x } }' >input
cat >program.c <<'END'
#include <stdio.h>
int squares(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * i; return sum; }
int main(void) { printf("%d\n", squares(10)); return 0; }
END
cat >program.py <<'END'
import hashlib, json, re, subprocess, threading
table = {str(i): [i * k for k in range(5)] for i in range(20000)}
text = json.dumps(table)
print(len(text), hashlib.sha256(text.encode()).hexdigest(), sum(v[3] for v in json.loads(text).values()))
print(len(re.findall(r'1\d+', text)))
threads = [threading.Thread(target=lambda: sum(range(100000))) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(subprocess.run(['echo', 'hello'], capture_output=True).stdout)
END

# same NAME COMMAND...
same() {
	name=$1
	shift
	command -v "$1" >/dev/null || { echo "$name: not installed"; return; }
	"$@" >native 2>errors </dev/null
	native=$?
	rm -rf p.fathom
	"$tool" record --force -q --rate 2000 -o p.fathom -- "$@" >recorded 2>errors </dev/null
	holds [ "$?" = "$native" ]
	holds cmp native recorded
	samples="$samples $name:$(sqlite3 p.fathom 'SELECT count(*) FROM samples')"
}

redis() {
	command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null || { echo 'redis: not installed'; return; }
	port=$((20000 + $$ % 20000))
	"$tool" record --force -q --rate 2000 -o redis.fathom -- redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no --daemonize no >redis.log 2>&1 &
	server=$!
	for try in $(seq 100); do
		redis-cli -p $port ping >/dev/null 2>&1 && break
		sleep 0.05
	done
	redis-benchmark -p $port -n 20000 -c 20 -q -t set,get,lpush,lrange_100,mset >benchmark.log 2>&1
	holds [ "$?" = 0 ]
	holds [ "$(tr '\r' '\n' <benchmark.log | grep -c 'requests per second')" -ge 5 ]
	checks=$((checks + 1))
	grep -iE 'error|refused|reset' benchmark.log && fail 'redis-benchmark saw errors'
	redis-cli -p $port shutdown nosave >/dev/null 2>&1
	wait $server
	holds [ "$?" = 0 ]
	samples="$samples redis:$(sqlite3 redis.fathom 'SELECT count(*) FROM samples')"
}

for round in $(seq "$rounds"); do
	samples=
	[ -z "$python" ] || same python3 "$python" program.py
	same sqlite3 sqlite3 :memory: 'create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 60000)
		insert into t select x, x * 7919 % 10007 from c; select sum(a * b), count(distinct b) from t;
		select b, count(*) from t group by b order by 2 desc, 1 limit 5;'
	same gcc gcc -O2 -S -o - program.c
	same 'xz-T2' xz -2 -T2 --block-size=262144 -c input
	same bzip2 bzip2 -c input
	same sort sort --parallel=2 -S 1M -n input
	# shellcheck disable=SC2016
	same perl perl -e 'for (1 .. 200000) { $h{$_ % 1000} += $_ } print join(",", map { "$_=$h{$_}" } sort keys %h), "\n"; print `echo hello`'
	# shellcheck disable=SC2016
	same sh sh -c 'for i in 1 2 3; do echo $i | cat; done; (exit 3); echo $?; exit 4'
	for program in threads forks handlers openmp files; do
		[ ! -x "$build/tests/recorded_$program" ] || same $program "$build/tests/recorded_$program"
	done
	same node node -e 'let s = 0; for (let i = 0; i < 3e7; i++) s += i % 7; console.log(s); const a = []; for (let i = 0; i < 3e5; i++) a.push({i}); console.log(a.length)'
	redis
	echo "samples:$samples"
done
finish
