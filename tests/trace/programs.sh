#!/bin/sh
# Unmodified programs with the native engine's library: same output and exit status, every entry as the contract has it, every thread
# traced, at most 1 % of the processor time outside of the cache, except for native rests. With every reference logged, in windows, in
# windows with native rests, and in windows with a busy laboratory. Loops with a known number of references must have exactly that many.
. "$(dirname "$0")/../cli/common.sh"
library=$build/libfathom-trace.so
drain=$build/tests/trace_drain
if [ ! -e "$library" ] || [ ! -e "$drain" ]; then
	skip 'the native engine was not built'
fi
report=$scratch/report
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)

awk 'BEGIN { x = 1; for (i = 0; i < 20000; i++) { x = (x * 16807) % 2147483647; print x % 1000003, x } }' >"$scratch/input"
cat >"$scratch/program.py" <<'EOF'
import hashlib, json, subprocess, threading
table = {str(i): [i * k for k in range(5)] for i in range(1000)}
text = json.dumps(table)
print(len(text), hashlib.sha256(text.encode()).hexdigest(), sum(v[3] for v in json.loads(text).values()))
thread = threading.Thread(target=lambda: print(sum(range(10000))))
thread.start()
thread.join()
print(subprocess.run(['echo', 'hello'], capture_output=True).stdout)
EOF

value() { awk -v name="$1" '$1 == name { print $2 }' "$report"; }

# traced OPTIONS -- COMMAND...: by the library
traced() { "$drain" "$library" "$report" "$@"; }

windows='-w 5000 1000 1.5'
rests="$windows -n 5 0.2"
laboratory="-w 5000 1000 1.004 -b 5"

# same NAME COMMAND...: natively and in all ways
same() {
	name=$1
	shift
	command -v "$1" >/dev/null || { echo "$name: not installed"; return; }
	"$@" >"$scratch/native" 2>"$scratch/errors" </dev/null
	native=$?
	for way in '' "$windows" "$rests" "$laboratory"; do
		# shellcheck disable=SC2086
		traced $way -- "$@" >"$scratch/translated" 2>"$scratch/errors" </dev/null
		holds [ "$?" = "$native" ] || cat "$scratch/errors"
		holds cmp "$scratch/native" "$scratch/translated"
		holds [ "$(value errors)$(value lost)$(value lost_processes)$(value errors_of_processes)" = 0000 ]
		holds [ "$(value native)" -le "${unseen:-0}" ]
		checks=$((checks + 1))
		awk -v name="$name" -v most="${most:-1}" -v way="${way:-all references}" '
			{ sum[$1] += $2 }
			END {
				all = sum["in_cache"] + sum["outside"]
				# ticks of native rests are neither: the share is of the rest of the time
				outside = sum["outside"] * (sum["cpu_us"] ? 1 - sum["rest_us"] / sum["cpu_us"] : 1)
				limit = most / 100 * all
				printf "%s (%s): %d processes, %d threads, %d references, %d instructions, %d windows, %d of %d ticks outside\n", name, way,
					sum["processes"], sum["threads"], sum["references"], sum["instructions"], sum["windows_begun"], sum["outside"], all
				exit outside > limit + 3 * sqrt(limit) + 2 || !sum["instructions"] || !sum["threads"]
			}' "$report" || fail "$name: outside of the cache, or nothing traced"
	done
}

# built NAME OPTIONS...: a program of this folder or of the translator's
built() {
	file=$source/tests/trace/programs/$1.c
	[ -e "$file" ] || file=$source/tests/translate/programs/$1.c
	program=$1
	shift
	holds gcc -D_GNU_SOURCE -O2 -w -I "$source/include" "$@" -pthread -o "$scratch/$program" "$file"
}

command -v gcc >/dev/null || skip 'no compiler'
built known
built ends -ldl

# A loop more is so many references more, and nothing else.
for way in '' -p; do
	for threads in 0 2; do
		setarch -R "$drain" "$library" "$report" $way -- "$scratch/known" 20000 $threads >/dev/null
		before=$(value references) loads=$(value loads) stores=$(value stores) instructions=$(value instructions) pieces=$(value pieces)
		setarch -R "$drain" "$library" "$report" $way -- "$scratch/known" 30000 $threads >/dev/null
		times=$((5 * 10000 * (threads > 1 ? threads : 1)))
		# threads that wait for each other do that more or less often
		slack=$((threads ? 300 : 0))
		holds [ $(($(value loads) - loads - times)) -le $slack ]
		holds [ $(($(value stores) - stores - times)) -le $slack ]
		holds [ $(($(value loads) - loads - times)) -ge -$slack ]
		holds [ $(($(value stores) - stores - times)) -ge -$slack ]
		holds [ $(($(value references) - before - 2 * times)) -le $((2 * slack)) ]
		if [ "$threads" = 0 ]; then
			# the number is printed with as many digits
			holds [ "$(value instructions)" = $((instructions + 5 * times)) ]
			[ -z "$way" ] || holds [ "$(value pieces)" = $((pieces + times)) ]
		fi
	done
done

# In windows every instruction is counted too; where a window begins or ends in the middle of a piece, that piece twice.
traced -w 5000 1000 3 -- "$scratch/known" 20000000 >/dev/null
holds [ "$(value windows_begun)" -gt 0 ]
holds [ $(($(value instructions) - 5 * 5 * 20000000)) -le 30000 ]
holds [ $(($(value instructions) - 5 * 5 * 20000000)) -ge 0 ]
holds [ "$(value windows_begun)" = "$(value windows_ended)" ]
# the program may end while the last one still warms up
holds [ $(($(value windows_begun) - $(value windows_warm))) -ge 0 ]
holds [ $(($(value windows_begun) - $(value windows_warm))) -le 1 ]

# Long windows go into a large ring, round and round, from the second of a thread on; without room they do not.
sound() {
	holds [ "$(value errors) $(value lost) $(value native)" = '0 0 0' ]
	holds [ "$(value windows_begun)" = "$(value windows_ended)" ]
}
traced -p -w 600000 300000 3 -- "$scratch/known" 20000000 >/dev/null
sound
holds [ "$(value large_rings)" = 1 ]
holds [ "$(value in_large)" -gt 1048576 ]
traced -p -l 0 -w 600000 300000 3 -- "$scratch/known" 20000000 >/dev/null
sound
holds [ "$(value in_large)" = 0 ]
# shellcheck disable=SC3045
(ulimit -f 200000; traced -p -w 600000 300000 3 -- "$scratch/known" 20000000) >/dev/null
sound
holds [ "$(value in_large)" = 0 ]
holds [ "$(value windows_begun)" -gt 1 ]
traced -p -w 100000 50000 3 -- "$scratch/known" 8000000 8 >/dev/null
sound
holds [ "$(value large_rings)" -le 16 ]

# Rests of several busy threads: most of the time, and their pace is known. A single thread has none.
traced -p $rests -- "$scratch/known" 400000000 2 >/dev/null
sound
holds [ "$(value rests)" -gt 1 ]
holds [ "$(value rest_us)" -gt $(($(value cpu_us) / 4)) ]
holds [ "$(value plain_us)" -gt 0 ]
holds [ "$(value plain_instructions)" -gt "$(value plain_us)" ]
traced -p $rests -- "$scratch/known" 100000000 >/dev/null
sound
holds [ "$(value rests) $(value rest_us)" = '0 0' ]

# Two runs of one program refer to the same things.
setarch -R "$drain" "$library" "$report" -- gzip -c "$scratch/input" >/dev/null
before="$(value references) $(value loads) $(value stores) $(value elements) $(value instructions)"
setarch -R "$drain" "$library" "$report" -- gzip -c "$scratch/input" >/dev/null
holds [ "$before" = "$(value references) $(value loads) $(value stores) $(value elements) $(value instructions)" ]

# Only in the region: 3 of 5 loops, and little beside them.
traced -r inside -- "$scratch/known" 20000 >/dev/null
holds [ "$(value regions)" = 1 ]
holds [ "$(value references)" -ge 120000 ]
holds [ "$(value references)" -le 120500 ]
holds [ "$(value instructions)" -ge 500000 ]
traced -r inside -w 5000 1000 3 -- "$scratch/known" 20000000 2 >/dev/null
holds [ "$(value regions)" = 2 ]
holds [ "$(value windows_begun)" -gt 0 ]
traced -r outside -w 5000 1000 3 -- "$scratch/known" 300000 2 >/dev/null
holds [ "$(value windows_begun)" = 0 ]

same gzip gzip -c "$scratch/input"
same bzip2 bzip2 -c "$scratch/input"
same 'xz -T2' xz -1 -T2 --block-size=131072 -c "$scratch/input"
same 'sort --parallel=2' sort --parallel=2 -S 1M "$scratch/input"
[ -z "$python" ] || same python3 "$python" "$scratch/program.py"
# shellcheck disable=SC2016
same perl perl -e 'for (1 .. 20000) { $h{$_ % 1000} += $_ } print join(",", map { "$_=$h{$_}" } sort keys %h), "\n"; print `echo hello`'
# shellcheck disable=SC2016
same sh sh -c 'for i in 1 2 3; do echo $i | cat; done; (exit 3); echo $?; exit 4'
for program in jumps openmp handlers leaps small_stack threads forks; do
	built "$program" -fopenmp
	# five thousand threads of some microseconds, which begin and end natively: about 3 %; on a busy machine the reader
	# may not have left room for one of them
	[ "$program" = threads ] && most=3 unseen=10
	# its 2,500 handlers run natively: half a tick of seven, in 80 runs
	[ "$program" = leaps ] && most=7
	same "$program" "$scratch/$program"
	most= unseen=
done
for how in _exit quick_exit abort killed spinning elsewhere without_main executed unloaded by_vfork masked; do
	same "$how" "$scratch/ends" $how
done
same limited "$scratch/ends" limited
holds [ "$(value filtered)" = 1 ]

# Nobody reads any more, children are not wanted, no room for the file: the program does not notice.
traced -s -- gzip -c "$scratch/input" >"$scratch/translated"
gzip -c "$scratch/input" | holds cmp - "$scratch/translated"
# shellcheck disable=SC2016
traced -c -- sh -c 'echo 1 | cat; gzip -c "$0"' "$scratch/input" >"$scratch/translated"
holds [ "$?" = 0 ]
holds [ "$(value processes)" = 1 ]
# shellcheck disable=SC3045
(ulimit -f 100; traced -- gzip -c "$scratch/input") | cat >"$scratch/translated"
gzip -c "$scratch/input" | holds cmp - "$scratch/translated"
holds [ "$(value processes) $(value lost_processes)" = '0 1' ]
holds [ "$(FATHOM_NATIVE=/nonexistent LD_PRELOAD=$library /bin/echo hello)" = hello ]
finish
