#!/bin/sh
# fathom stat on a simulated machine: exit codes, JSON, regions, markers in C, C++ and Fortran, installed and not.
. "$(dirname "$0")/common.sh"
command -v qemu-x86_64 >/dev/null || skip 'qemu-x86_64 is not installed'
[ -e "$build/libfathom-exact.so" ] || skip 'the emulator was not built'
program="$build/tests/program_ending"
expect 42 'Simulated: exact counts of this machine' "$tool" stat --machine haswell-ep -- "$program"
holds env LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
expect 139 'ended by signal 11' "$tool" stat --machine haswell-ep -- "$program" segv
expect 132 'AVX-512: build it for AVX2' "$tool" stat --machine haswell-ep -- "$program" avx512
expect 127 'there is no such program' "$tool" stat --machine haswell-ep -- /nonexistent
expect 126 'not executable|neither a 64-bit ELF program' "$tool" stat --machine haswell-ep -- /etc/hostname
expect 2 'no simulated machine "x": there are' "$tool" stat --machine x -- true
expect 124 'no machine profile yet' "$tool" stat --machine host -- true
expect 0 'true \(executed\)' "$tool" stat --machine zen3 -- "$program" exec
expect 124 'apt-get install qemu-user' env PATH=/nonexistent "$tool" stat --machine zen3 -- "$program"
printf 'machine sockets=1\n' >"$scratch/bad.machine"
expect 2 'bad.machine:1: cores is missing' "$tool" stat --machine "$scratch/bad.machine" -- true
# a script runs in its interpreter
printf '#!/bin/sh\nexit 5\n' >"$scratch/script"
chmod +x "$scratch/script"
expect 5 'instructions' "$tool" stat --machine zen3 -- "$scratch/script"
# JSON
expect 0 '' "$tool" stat --machine haswell-ep --json -o "$scratch/stat.json" -- "$build/tests/program_regions"
holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/stat.json"
holds jq -e '.regions[] | select(.name == "outer") | .instances == 10' "$scratch/stat.json" >/dev/null
holds jq -e '.functions | map(select(.function == "main" and .loads > 0)) | length == 1' "$scratch/stat.json" >/dev/null
holds jq -e '.lines | map(select(.file != null and (.file | endswith("regions.c")))) | length > 0' "$scratch/stat.json" >/dev/null
expect 0 '^total;loads;[0-9]+;accesses$' "$tool" stat --machine zen3 -x ';' -- "$build/tests/program_regions"
expect 42 'Cycles [0-9,]+; nothing executed' "$tool" stat --machine haswell-ep --timing -- "$program"
"$tool" stat --machine haswell-ep --timing -o "$scratch/wide" -- "$build/examples/phases" >/dev/null
holds sh -c "LC_ALL=C awk '{ gsub(/[\200-\277]/, \"\"); if (length > 100) exit 1 }' '$scratch/wide'"
# host, from a profile
cp "$source/tests/cli/example-profile.json" "$scratch/profile.json"
mkdir -p "$XDG_DATA_HOME/fathom/machines"
cp "$scratch/profile.json" "$XDG_DATA_HOME/fathom/machines/$(hostname).json"
expect 42 'on host \(Example Processor' "$tool" stat --machine host -- "$program"
# hardware threads that share their core's caches; two nodes: both make a host
jq '.machine.cores = 1 | .machine.cpus = 2 | (.levels[] | select(.name == "L1" or .name == "L2")).shared_by = 2' "$scratch/profile.json" \
	>"$XDG_DATA_HOME/fathom/machines/$(hostname).json"
expect 42 'on host ' "$tool" stat --machine host --timing -- "$program"
expect 0 '"shares_core"' "$tool" stat --machine host --json -- "$build/tests/program_threads"
cp "$scratch/profile.json" "$XDG_DATA_HOME/fathom/machines/$(hostname).json"
# counts from the engine, time from the program by itself
expect 42 'native run time .* [(]1 run,' "$tool" stat -r 3 -- "$program"
holds sh -c "LC_ALL=C awk '{ gsub(/[\200-\277]/, \"\"); if (length > 100) exit 1 }' '$scratch/out'"
holds grep -q 'Predicted from the simulated cycles' "$scratch/out"
expect 139 'It ended with 139, by signal 11' "$tool" stat -- "$program" segv
expect 139 'by signal 11' "$tool" stat -r 5 -- "$program" segv
expect 127 'no such program' "$tool" stat -- /nonexistent
expect 126 'cannot be run' "$tool" stat -- /etc/hostname
expect 0 '' "$tool" stat -r 5 --json -o "$scratch/combined.json" -- "$build/examples/sharing"
holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/combined.json"
holds jq -e '.levels | map(select(.name == "memory"))[0].gbs.origin == "combined"' "$scratch/combined.json" >/dev/null
holds jq -e '.patterns | map(select(.name == "false-sharing"))[0].verdict == "present"' "$scratch/combined.json" >/dev/null
holds jq -e '.sharing[0] | .kind == "false" and .object == "counters" and (.threads | length == 2)' "$scratch/combined.json" >/dev/null
holds jq -e '.native.differs | not' "$scratch/combined.json" >/dev/null
"$tool" stat -r 5 --json -- "$build/examples/sharing" padded 2>/dev/null | sed 1d >"$scratch/padded.json"
holds jq -e '.patterns | map(select(.name == "false-sharing"))[0].verdict == "absent"' "$scratch/padded.json" >/dev/null
# the program's output is seen once, and its input read by each run
printf 'one\ntwo\n' >"$scratch/input"
"$tool" stat -r 3 --no-timing -o /dev/null -- wc -l <"$scratch/input" >"$scratch/counted" 2>/dev/null
holds [ "$(cat "$scratch/counted")" = 2 ]
expect 250 'native run time' "$tool" stat --no-timing -- sh -c 'exit 250'
expect 2 'needs --machine' "$tool" stat --window 1-2 -- true
# regions: their own time, levels, cycles and patterns, per thread and together; other paths are found out by them
phases="$build/tests/program_phases"
expect 0 '' "$tool" stat -r 5 --json -o "$scratch/regions.json" -- "$phases"
holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/regions.json"
holds jq -e '[.regions[] | select(.name == "sum")] | length == 3 and (map(.thread) | sort == [null, 1, 2])' "$scratch/regions.json" >/dev/null
holds jq -e '[.regions[] | select(.elapsed.origin == "measured" and (.patterns | length > 10) and .cycles.bandwidth_bound != null)] | length == 12' "$scratch/regions.json" >/dev/null
holds jq -e '[.threads[] | select((.levels | map(.name)) == ["L1", "L2", "L3", "memory"] and (.patterns | length > 10))] | length == 3' "$scratch/regions.json" >/dev/null
# 8 MiB streamed four times; the inner regions are in the outer one
holds jq -e '.regions | map(select(.thread == null)) | map({(.name): (.levels[3].read_bytes.value / 1048576)}) | add | .sum > 30 and .sum < 34 and .small < 1 and .nested >= .sum' "$scratch/regions.json" >/dev/null
holds jq -e '.regions | map(select(.thread == null)) | map({(.name): .elapsed.value}) | add | .nested >= .sum and .nested >= .small' "$scratch/regions.json" >/dev/null
PHASES_MORE=1 "$tool" stat -r 2 --counters exact --engine qemu --no-timing -o "$scratch/more" -- "$phases" >/dev/null
holds grep -q 'region small was passed 9 times by 3 threads in native runs, 8 times by 2 in the engine' "$scratch/more"
expect 0 '' "$tool" stat -r 3 --json --region sum --instances 2-3 -o "$scratch/chosen.json" -- "$phases"
holds jq -e '.levels[3].read_bytes.value / 1048576 | . > 15 and . < 17' "$scratch/chosen.json" >/dev/null
holds jq -e '.native.differs | not' "$scratch/chosen.json" >/dev/null
# a pipe can be read only once, and is: by the run that people see
seq 100000 | "$tool" stat --no-timing -o "$scratch/piped" -- wc -l >"$scratch/counted" 2>/dev/null
holds [ "$(cat "$scratch/counted")" = 100000 ]
holds grep -q 'Too short for windows' "$scratch/piped"
seq 100000 | "$tool" stat -r 2 --counters exact --no-timing -o "$scratch/piped" -- wc -l >"$scratch/counted" 2>/dev/null
holds [ "$(cat "$scratch/counted")" = 100000 ]
holds grep -q 'No rates, since the two runs differ' "$scratch/piped"
# a program that does not do the same twice is found out
printf '#!/bin/sh\necho once more >>"%s/times"\ncat "%s/times"\n' "$scratch" "$scratch" >"$scratch/changing"
chmod +x "$scratch/changing"
expect 0 'the two runs differ' "$tool" stat --no-timing -r 3 -- "$scratch/changing"
# odd regions: recursion counts once, forked processes' are seen, names are fit for JSON; natively the same
expect 0 '' "$tool" stat -r 3 --json -o "$scratch/odd.json" -- "$build/tests/program_regions"
holds "$source/tests/cli/schema" "$source/docs/schemas/stat.schema.json" "$scratch/odd.json"
holds jq -e '.native.differs | not' "$scratch/odd.json" >/dev/null
holds jq -e '[.regions[].name] | index("odd???") != null' "$scratch/odd.json" >/dev/null
expect 0 'forked +1 +1 ' "$tool" stat -r 3 --no-timing -- "$build/tests/program_regions"
expect 0 'Nothing was counted' "$tool" stat -r 3 --region nosuch --no-timing -- "$build/tests/program_regions"
expect 2 'with -e all regions are listed' "$tool" stat -e page-faults --region inner -- "$build/tests/program_regions"
expect 2 'zen3 has cores 0 to 7' "$tool" stat --machine zen3 --cores 99 -- true
# a full folder for temporary files is not used, and a program that executes itself is itself
expect 42 'instructions' env TMPDIR=/nonexistent "$tool" stat --machine zen3 -- "$program"
printf '#include <stdio.h>\n#include <unistd.h>\nint main(int c, char **v) { if (c < 2) return execl("/proc/self/exe", v[0], "again", (char *)0); puts("again"); return 7; }\n' >"$scratch/again.c"
holds cc "$scratch/again.c" -o "$scratch/again"
expect 7 '^again' "$tool" stat --machine zen3 -- "$scratch/again"
# told to end, it tells the program, and leaves nothing behind
"$tool" stat --machine zen3 -o "$scratch/told" -- sleep 60 &
telling=$!
sleep 1
kill -TERM $telling
wait $telling
holds [ $? = 143 ]
holds grep -q 'instructions' "$scratch/told"
# whom a pattern concerns: the lines that miss, the thread with most to do
expect 0 '' "$tool" stat --counters exact --json -o "$scratch/where.json" -- "$build/examples/chase"
holds jq -e '.patterns | map(select(.name == "latency:memory"))[0] | .verdict == "present" and (.lines[0].file == "chase.c") and .lines[0].share > 0.3' "$scratch/where.json" >/dev/null
expect 0 'where +thread 0$' "$tool" stat --machine haswell-ep --timing -- "$build/tests/program_triangle"
expect 2 'needs the engine' "$tool" stat --region x -p $$
# threads that wait for each other: seen in the native run only
"$tool" stat -r 3 --no-timing --json -o "$scratch/waiting.json" -- "$build/tests/program_troubles" waiting >/dev/null
holds jq -e '.patterns | map(select(.name == "synchronisation"))[0] | .verdict == "present" and .metric.origin == "measured"' "$scratch/waiting.json" >/dev/null
# a program marked for LIKWID
cat >"$scratch/likwid.c" <<'END'
#include <likwid-marker.h>
int main(void)
{
	volatile double sum = 0;

	LIKWID_MARKER_INIT;
	LIKWID_MARKER_THREADINIT;
	LIKWID_MARKER_REGISTER("sum");
	for (int pass = 0; pass < 4; pass++) {
		LIKWID_MARKER_START("sum");
		for (int i = 0; i < 100; i++)
			sum += i;
		LIKWID_MARKER_STOP("sum");
	}
	LIKWID_MARKER_CLOSE;
	return 0;
}
END
holds cc -Wall -Werror -I "$source/include/fathom" -DLIKWID_PERFMON "$scratch/likwid.c" -o "$scratch/likwid"
expect 0 'sum \(0\) +4' "$tool" stat --machine zen3 -- "$scratch/likwid"
holds cc -Wall -Werror -I "$source/include/fathom" "$scratch/likwid.c" -o "$scratch/unmarked"
# markers: C++, static, Fortran where there are compilers
cat >"$scratch/marked.cc" <<'END'
#include <fathom.h>
int main() { for (int i = 0; i < 3; i++) { fathom::region region("scope"); } return 0; }
END
if command -v c++ >/dev/null; then
	holds c++ -Wall -Wextra -I "$source/include" "$scratch/marked.cc" -o "$scratch/marked"
	holds "$scratch/marked"
	expect 0 'scope \(0\) +3' "$tool" stat --machine zen3 -- "$scratch/marked"
	holds c++ -static -no-pie -I "$source/include" "$scratch/marked.cc" -o "$scratch/marked-static"
	expect 0 'scope \(0\) +3' "$tool" stat --machine zen3 -- "$scratch/marked-static"
fi
if command -v gfortran >/dev/null; then
	printf '#define FATHOM_FORTRAN\n#include <fathom.h>\n' >"$scratch/markers.c"
	printf 'program p\n use fathom\n call fathom_region_begin("loop")\n call fathom_region_end("loop")\nend program\n' >"$scratch/p.f90"
	holds sh -c "cd '$scratch' && cc -c -I '$source/include' markers.c && gfortran '$source/include/fathom.f90' p.f90 markers.o -o fortran"
	expect 0 'loop \(0\) +1' "$tool" stat --machine zen3 -- "$scratch/fortran"
fi
finish
