#!/bin/sh
# Unmodified programs with their allocations tracked (by the stand-in for the runtime): same output, same exit status, with
# the C library's allocator, and with others behind and before ours; C++; plug-ins; programs with an allocator of their own.
. "$(dirname "$0")/../cli/common.sh"
library=$build/tests/librecord_allocations_double.so
[ -e "$library" ] || skip 'the stand-in was not built'
export FATHOM_DOUBLE_REPORT="$scratch/report" PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)

awk 'BEGIN { x = 1; for (i = 0; i < 60000; i++) { x = (x * 16807) % 2147483647; print x % 1000003, x } }' >"$scratch/input"
cat >"$scratch/program.py" <<'END'
import hashlib, json, mmap, subprocess, threading
text = json.dumps({str(i): [i * k for k in range(5)] for i in range(3000)})
print(len(text), hashlib.sha256(text.encode()).hexdigest(), sum(v[3] for v in json.loads(text).values()))
thread = threading.Thread(target=lambda: print(sum(len(str(i)) for i in range(10000))))
thread.start()
thread.join()
with mmap.mmap(-1, 1 << 20) as area:
    area[5] = 1
    print(area[5])
print(subprocess.run(['echo', 'hello'], capture_output=True).stdout)
END
cat >"$scratch/program.c" <<'END'
#include <stdio.h>
int squares(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * i; return sum; }
int main(void) { printf("%d\n", squares(10)); return 0; }
END

# reported NAME: the sum of that count over all processes that ended since the report was removed
reported() {
	awk -v name="$1" '{ for (i = 1; i < NF; i += 2) if ($i == name) sum += $(i + 1) } END { print sum + 0 }' "$FATHOM_DOUBLE_REPORT"
}

# same NAME COMMAND...: with $preloaded, and with each and one in 50 small allocations kept
same() {
	name=$1
	shift
	command -v "$1" >/dev/null || { echo "$name: not installed"; return; }
	"$@" >"$scratch/native" 2>"$scratch/errors" </dev/null
	native=$?
	for interval in 1 50; do
		rm -f "$FATHOM_DOUBLE_REPORT"
		env FATHOM_DOUBLE_INTERVAL=$interval LD_PRELOAD="$preloaded" "$@" >"$scratch/tracked" 2>"$scratch/errors" </dev/null
		holds [ "$?" = "$native" ]
		holds cmp "$scratch/native" "$scratch/tracked"
		holds [ "$(reported wrong)" = 0 ]
		holds [ "$(reported heap)" -ge 1 ]
	done
}

programs() {
	[ -z "$python" ] || same python3 "$python" "$scratch/program.py"
	same xz xz -1 -c "$scratch/input"
	same 'xz -T2' xz -1 -T2 --block-size=262144 -c "$scratch/input"
	same sort sort -n "$scratch/input"
	same 'sort --parallel=2' sort --parallel=2 -S 1M "$scratch/input"
	same gcc gcc -O2 -S -o - "$scratch/program.c"
	# shellcheck disable=SC2016
	same sh sh -c 'for i in 1 2 3; do echo $i | sort | cat; done; (exit 3); echo $?; exit 4'
}

preloaded=$library
programs

compiler=$(command -v "${CXX:-g++}") || compiler=
if [ -n "$compiler" ]; then
	holds "$compiler" -std=c++17 -O1 -g -fno-builtin -I"$source/src" -I"$source/tests" -o "$scratch/operators" \
		"$source/tests/record/operators.cc" -ldl
	expect 0 '^good' env LD_PRELOAD="$library" "$scratch/operators"
	expect 0 '^good' env FATHOM_DOUBLE_INTERVAL=10 LD_PRELOAD="$library" "$scratch/operators" any
	expect 0 '^good' env FATHOM_DOUBLE_OFF=1 LD_PRELOAD="$library" "$scratch/operators" any

	# a program in C whose plug-in is C++: its library is not among those that the dynamic linker shows to ours
	cat >"$scratch/plugin.cc" <<'END'
#include <stdexcept>
#include <string>
#include <vector>
extern "C" int work(int n)
{
	std::vector<std::string> texts;
	for (int i = 0; i < n; i++)
		texts.push_back(std::string(100, 'x'));
	try {
		texts.at(n);
	} catch (const std::out_of_range &) {
		return (int)texts.size();
	}
	return 0;
}
END
	cat >"$scratch/host.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments)
{
	void *plugin = dlopen(arguments[count - 1], RTLD_NOW);
	int (*work)(int) = (int (*)(int))dlsym(plugin, "work");
	printf("%d\n", work(100));
	dlclose(plugin);
	return 0;
}
END
	holds "$compiler" -O1 -shared -fPIC -o "$scratch/plugin.so" "$scratch/plugin.cc"
	holds gcc -o "$scratch/host" "$scratch/host.c" -ldl
	rm -f "$FATHOM_DOUBLE_REPORT"
	expect 0 '^100$' env LD_PRELOAD="$library" "$scratch/host" "$scratch/plugin.so"
	holds [ "$(reported new)" -ge 100 ]
else
	echo 'there is no C++ compiler'
fi

# an allocator of its own, which comes before ours: said, and left alone
cat >"$scratch/own.c" <<'END'
#include <stdio.h>
#include <string.h>
static char heap[1 << 22];
static unsigned long used;
void *malloc(unsigned long n) { void *p = heap + used; used += (n + 31) / 16 * 16; return p; }
void free(void *p) { (void)p; }
void *calloc(unsigned long a, unsigned long b) { return memset(malloc(a * b), 0, a * b); }
void *realloc(void *p, unsigned long n) { void *q = malloc(n); if (p) memcpy(q, p, n); return q; }
int main(void) { char *p = strdup("own"); puts(p); return 0; }
END
holds gcc -fno-builtin -o "$scratch/own" "$scratch/own.c"
rm -f "$FATHOM_DOUBLE_REPORT"
expect 0 '^own$' env LD_PRELOAD="$library" "$scratch/own"
holds [ "$(reported own)" = 1 ]
holds [ "$(reported heap)" = 0 ]

# not its own, though the dynamic linker gives an address in the program
cat >"$scratch/address.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
void *(*volatile allocate)(unsigned long) = malloc;
int main(void) { free(allocate(10)); puts("address"); return 0; }
END
holds gcc -O1 -no-pie -fno-pie -o "$scratch/address" "$scratch/address.c"
rm -f "$FATHOM_DOUBLE_REPORT"
expect 0 '^address$' env LD_PRELOAD="$library" "$scratch/address"
holds [ "$(reported own)" = 0 ]
holds [ "$(reported heap)" -ge 1 ]

for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(/sbin/ldconfig -p 2>/dev/null | awk -v name="$allocator" '$1 == name { print $NF; exit }')
	[ -n "$path" ] || { echo "$allocator: not installed"; continue; }
	preloaded="$library $path"
	programs
	expect 0 'PASSED' env FATHOM_CASES='threads_*' LD_PRELOAD="$preloaded" "$build/tests/test_allocations"
	expect 0 'PASSED' env FATHOM_CASES='sampled_*' LD_PRELOAD="$preloaded" "$build/tests/test_allocations"
	if [ -n "$compiler" ]; then
		env LD_PRELOAD="$path" "$scratch/operators" any >/dev/null 2>&1 || export ENOUGH=1
		expect 0 '^good' env LD_PRELOAD="$library $path" "$scratch/operators"
		expect 0 '^good' env LD_PRELOAD="$path $library" "$scratch/operators" any
		unset ENOUGH
		holds gcc -O1 -o "$scratch/linked" "$scratch/address.c" -Wl,--no-as-needed "$path"
		rm -f "$FATHOM_DOUBLE_REPORT"
		expect 0 '^address$' env LD_PRELOAD="$library" "$scratch/linked"
		holds [ "$(reported own)" = 0 ]
		rm -f "$FATHOM_DOUBLE_REPORT"
		expect 0 '^address$' env LD_PRELOAD="$path $library" "$scratch/address"
		holds [ "$(reported own)" = 1 ]
	fi
	echo "$allocator: tried"
done
finish
