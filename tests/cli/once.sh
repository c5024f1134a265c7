#!/bin/sh
# A program is executed once by stat and record, as often as it was asked for with -r, and its output appears once. Programs that cannot
# be observed are not run; those in which nothing was seen end as they would.
. "$(dirname "$0")/common.sh"
[ -e "$build/libfathom-trace.so" ] || skip 'the native engine was not built'
mkdir -p "$XDG_DATA_HOME/fathom/machines"
cp "$source/tests/cli/example-profile.json" "$XDG_DATA_HOME/fathom/machines/$(hostname).json"
mkdir "$scratch/temporary"
export TMPDIR="$scratch/temporary"
export COUNTED="$scratch/counted"
cat >"$scratch/short" <<'END'
#!/bin/sh
echo once >>"$COUNTED"
echo output
echo talk >&2
exit 7
END
chmod +x "$scratch/short"
cat >"$scratch/program.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef RAW
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static long raw(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}
#endif
int main(int count, char **arguments)
{
	long sum = 0, most = count > 1 ? atol(arguments[1]) : 100000000;
	int file = open(getenv("COUNTED"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (write(file, "once\n", 5) != 5)
		return 1;
	for (volatile long i = 0; i < most; i++)
		sum += i;
#ifdef RAW
	raw(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0);
	for (volatile long i = 0; i < most; i++)
		sum += i;
	raw(SYS_write, 1, (long)"output\n", 7);
	raw(SYS_write, 2, (long)"talk\n", 5);
	raw(SYS_exit, 7, 0, 0);
#endif
	puts("output");
	fputs("talk\n", stderr);
	return sum ? 7 : 8;
}
END
compile() { holds cc -O1 -o "$scratch/$1" "$scratch/program.c" ${2-}; }
compile long
compile filtered -DRAW
command -v gcc >/dev/null && compile static -static
gcc -O1 -fsanitize=thread -o "$scratch/thread" "$scratch/program.c" 2>/dev/null || echo 'no thread sanitizer here'

# runs TIMES STATUS OUTPUTS PROGRAM WORDS...: of the tool with these words
runs() {
	times=$1 status=$2 outputs=$3 command=$4
	shift 4
	checks=$((checks + 1))
	rm -f "$COUNTED"
	touch "$COUNTED"
	"$tool" "$@" -- $command >"$scratch/out" 2>"$scratch/err" </dev/null
	got=$?
	[ "$got" = "$status" ] || fail "$* -- $command ended with $got instead of $status: $(cat "$scratch/err")"
	[ "$(wc -l <"$COUNTED")" = "$times" ] || fail "$* -- $command was executed $(wc -l <"$COUNTED") times instead of $times"
	[ "$(grep -c '^output$' "$scratch/out")" = "$outputs" ] || fail "$* -- $command: $(grep -c '^output$' "$scratch/out") times its output"
	[ "$(grep -c '^talk$' "$scratch/err")" = "$outputs" ] || fail "$* -- $command: $(grep -c '^talk$' "$scratch/err") times its talk"
}
stat="stat -o $scratch/text"
for program in "$scratch/short" "$scratch/long 100000" "$scratch/long"; do
	runs 1 7 1 "$program" $stat
	runs 1 7 1 "$program" $stat -r 1
	runs 3 7 1 "$program" $stat -r 3
	runs 1 7 1 "$program" record --force -o "$scratch/a.fathom"
	runs 1 7 1 "$program" $stat --json --region nowhere
done
for options in '--counters windows' '--counters exact' '--engine native' '--engine qemu --no-timing' '--machine zen3' '--curve' '-e task-clock'; do
	runs 1 7 1 "$scratch/short" $stat $options
done
runs 2 7 1 "$scratch/short" $stat --counters exact -r 2
runs 4 7 1 "$scratch/long 100000" $stat -r 4
runs 1 7 1 "$scratch/short" record --force --sampler exact -o "$scratch/b.fathom"
# what is short is said, with what helps
runs 1 7 1 "$scratch/short" $stat
holds grep -q ' s is short: -r 5 narrows this' "$scratch/text"
# a filter that the program installs without the C library: the run goes on, and the report begins with what was not seen
runs 1 7 1 "$scratch/filtered" $stat
holds sh -c "head -1 '$scratch/text' | grep -q '^Only [0-9]* % of the processor time was seen.*seccomp'"
# known before the start: not run
runs 0 124 0 "$scratch/filtered" record --force -o "$scratch/c.fathom"
for program in static thread; do
	[ -x "$scratch/$program" ] || continue
	for verb in "$stat" "record --force -o $scratch/c.fathom"; do
		runs 0 124 0 "$scratch/$program" $verb
		holds [ -n "$(grep '^fathom: ' "$scratch/err")" ]
	done
done
command -v valgrind >/dev/null && runs 0 124 0 "valgrind $scratch/long" $stat
# noticed after the start: the program's own status, and one line
runs 1 7 1 "env LD_PRELOAD= $scratch/long" $stat
holds sh -c "head -1 '$scratch/text' | grep -q 'processes without the library'"
runs 1 7 1 "env -i COUNTED=$COUNTED $scratch/long" record --force -o "$scratch/d.fathom"
holds grep -q '^fathom: coverage: [0-9]* % of the processor time' "$scratch/err"
holds sh -c "'$tool' report '$scratch/d.fathom' | head -1 | grep -q '^Only [0-9]* %'"
# results that cannot be written: 125, and how the program ended
runs 1 125 1 "$scratch/short" stat -o /dev/full
holds grep -q 'the program ended with exit status 7' "$scratch/err"
# nothing is left behind
holds [ -z "$(ls "$TMPDIR")" ]
finish
