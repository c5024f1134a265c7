#!/bin/sh
# Unmodified programs with all their threads in the code cache: same output, same exit status, no reason to leave, and at most 1 % of
# the clock ticks that find the program find it outside of the cache. Each runs plainly, with every reference logged, with fuel, with
# pieces counted, in a small cache, and with 1,000 exits and entries a second at whatever instruction it happens to be. ROUNDS=20 repeats all of it.
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

# preloaded WAY COMMAND...: runs it in the cache; with launch=exec in place of the shell
preloaded() {
	mode=$1 size=16384
	[ "$mode" = small ] && mode=plain size=256
	shift
	rm -f "$TRANSLATE_REPORT"
	$launch env LD_PRELOAD="$library" TRANSLATE_MODE="$mode" TRANSLATE_SIZE="$size" "$@"
}

# check WAY: what the report of a run says; reasons other than those in $allowed fail
check() {
	holds grep -q '^end' "$TRANSLATE_REPORT"
	cat "$TRANSLATE_REPORT" >>"$scratch/reports"
	checks=$((checks + 1))
	grep '^left' "$TRANSLATE_REPORT" | grep -vE "${allowed:-^$}" && fail "$name, $1, left the cache"
}

# summary: of all ways; more than 1 % outside, beyond chance, fails, except for programs whose code is left to the processor
summary() {
	awk -v name="$name" -v most="${most:-1}" '
		$1 == "left" { reason = $0; sub(/^left [0-9]+ times /, "", reason); reasons[reason] += $2; next }
		{ sum[$1] += $2 }
		END {
			outside = sum["in_handler"] + sum["at_edge"] + sum["outside"] + sum["outside_again"]
			all = outside + sum["inside"]
			limit = most / 100 * all
			printf "%s: %d threads, %d handled signals (%d deferred), %d of %d ticks outside (%.1f %%)", name,
				sum["threads"], sum["handled"], sum["deferred"], outside, all, all ? 100 * outside / all : 0
			if (outside)
				printf ": %d in handlers, %d where threads begin and end, %d elsewhere", sum["in_handler"], sum["at_edge"], sum["outside"] + sum["outside_again"]
			printf "; %d more in the translator", sum["between"]
			for (reason in reasons)
				printf "; left %d times %s", reasons[reason], reason
			print ""
			exit sum["lost"] || sum["without"] || !all || outside > limit + 3 * sqrt(limit) + 2
		}' "$scratch/reports"
	holds [ $? = 0 ]
}

# same NAME COMMAND...: in all $ways
same() {
	name=$1
	shift
	command -v "$1" >/dev/null || { echo "$name: not installed"; return; }
	"$@" >"$scratch/native" 2>"$scratch/errors" </dev/null
	native=$?
	: >"$scratch/reports"
	for way in $ways; do
		preloaded "$way" "$@" >"$scratch/translated" 2>"$scratch/errors" </dev/null
		holds [ "$?" = "$native" ]
		holds cmp "$scratch/native" "$scratch/translated"
		check "$way"
	done
	summary
}

# own NAME OPTIONS...: one of the programs of this folder
own() {
	file=$(echo "$source/tests/translate/programs/$1".*)
	compiler=gcc
	[ "$file" = "${file%.cc}" ] || compiler=g++
	command -v "$compiler" >/dev/null || { echo "$1: no $compiler"; return; }
	program=$1
	shift
	holds "$compiler" -D_GNU_SOURCE -O2 -w "$@" -pthread -o "$scratch/$program" "$file"
	same "$program" "$scratch/$program"
}

# A server with clients on loopback: all requests are answered, nothing is complained about, and it ends as it should.
serve() {
	name=redis-server
	if ! command -v redis-server >/dev/null || ! command -v redis-benchmark >/dev/null; then
		echo "$name: not installed"
		return
	fi
	: >"$scratch/reports"
	for way in $ways; do
		for attempt in 1 2 3; do
			port=$((20000 + ($$ * 7 + attempt * 1009) % 20000))
			(launch='exec'; preloaded "$way" redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$scratch") >"$scratch/server" 2>&1 &
			server=$!
			for _ in $(seq 100); do
				[ "$(redis-cli -p "$port" info server 2>/dev/null | tr -d '\r' | sed -n 's/^process_id://p')" = "$server" ] && break 2
				kill -0 "$server" 2>/dev/null || break
				sleep 0.1
			done
			kill "$server" 2>/dev/null
			wait "$server"
			server=
		done
		holds [ -n "$server" ] || { cat "$scratch/server"; return; }
		holds redis-benchmark -p "$port" -t set,get,incr,lpush,hset,zadd,mset -n 2000 -c 20 --threads 2 -q >"$scratch/clients" 2>&1
		checks=$((checks + 1))
		grep -iE 'error|fail' "$scratch/clients" && fail "redis-benchmark, $way"
		holds [ "$(redis-cli -p "$port" info commandstats | tr -d '\r' | sed -n 's/^cmdstat_\(set\|get\|incr\|lpush\|hset\|zadd\|mset\):calls=\([0-9]*\),.*rejected_calls=0,failed_calls=0.*/\1 \2/p' | sort | tr '\n' ' ')" = \
			'get 2000 hset 2000 incr 2000 lpush 2000 mset 2000 set 2000 zadd 2000 ' ]
		holds [ "$(redis-cli -p "$port" eval 'local s = 0; for i = 1, 20000 do s = s + i % 7 end; return s' 0)" = 59998 ]
		redis-cli -p "$port" shutdown nosave >/dev/null 2>&1
		wait "$server"
		holds [ "$?" = 0 ]
		holds grep -q 'bye bye' "$scratch/server"
		check "$way"
	done
	summary
}

launch=
all_ways='plain log fuel count small tick'
allowed='' most=
for round in $(seq "$rounds"); do
	ways=$all_ways
	same gzip gzip -c "$scratch/input"
	same bzip2 bzip2 -c "$scratch/input"
	same xz xz -2 -c "$scratch/input"
	same 'xz -T2' xz -2 -T2 --block-size=262144 -c "$scratch/input"
	same sort sort -n "$scratch/input"
	same 'sort --parallel=2' sort --parallel=2 -S 1M "$scratch/input"
	same sqlite3 sqlite3 :memory: 'create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
		insert into t select x, x * 7919 % 10007 from c; select sum(a * b), count(distinct b) from t;
		select b, count(*) from t group by b order by 2 desc, 1 limit 5;'
	ways='plain log fuel count tick' # in a small cache it translates for many seconds
	[ -z "$python" ] || same python3 "$python" "$scratch/program.py"
	ways=$all_ways
	# shellcheck disable=SC2016
	same perl perl -e 'for (1 .. 50000) { $h{$_ % 1000} += $_ } print join(",", map { "$_=$h{$_}" } sort keys %h), "\n"; print `echo hello`'
	same gcc gcc -O2 -S -o - "$scratch/program.c"
	# shellcheck disable=SC2016
	same sh sh -c 'for i in 1 2 3; do echo $i | cat; done; (exit 3); echo $?; exit 4'
	own jumps
	own exceptions
	own vectors
	own openmp -fopenmp
	allowed='at an interrupt, breakpoint'
	own handlers
	allowed=
	ways='plain log tick'
	own threads
	own forks
	serve
	# sequences that the kernel restarts must run where it knows them
	allowed='at a restartable sequence' most=100
	if echo '#include <sys/rseq.h>' | gcc -E - >/dev/null 2>&1; then
		own sequences
	else
		echo 'sequences: the C library knows none'
	fi
	# a compiler of its own: its code is left to the processor
	allowed='at code that can be written to|at code that belongs to no file' most=100
	same node node -e 'let s = 0; for (let i = 0; i < 1e6; i++) s += i % 7; console.log(s)'
	allowed='' most=
done
finish
