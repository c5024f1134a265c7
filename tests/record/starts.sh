#!/bin/sh
# Jobs of many short processes: most of them are passed over, and without our library in their environment where it is known that they begin no
# others. A program that does begin others keeps it, so that what it begins is recorded.
. "$(dirname "$0")/../cli/common.sh"
cd "$scratch" || exit 1
"$tool" record --force -q -o first.fathom -- true 2>first.err || skip "nothing can be recorded here: $(cat first.err)"
true=$(command -v true) shell=$(command -v dash || command -v sh)
cat >probe.c <<'END_OF_PROGRAM'
#include <stdio.h>
#include <stdlib.h>
int main(void) { FILE *list = fopen("list", "a"); fprintf(list, "%d\n", getenv("LD_PRELOAD") != NULL); return fclose(list); }
END_OF_PROGRAM
cc -o probe probe.c || exit 1
processes() { sqlite3 "$1" "SELECT count(*) FROM sampled_processes"; }

# of 100 processes that begin no others: the first eight, one in 64, and the shell; the rest do not even see the library
expect 0 '' "$tool" record --force -q -o short.fathom -- "$shell" -c "i=0; while [ \$i -lt 100 ]; do $scratch/probe || exit 1; i=\$((i+1)); done"
holds [ "$(wc -l <list)" = 100 ]
holds [ "$(grep -c 0 list)" -ge 60 ]
holds [ "$(processes short.fathom)" -ge 9 ]
holds [ "$(processes short.fathom)" -le 40 ]

# 100 shells that wait for another program, and 100 that become another: all keep the library
for become in '' 'exec '; do
	rm -f list
	expect 0 '' "$tool" record --force -q -o parents.fathom -- "$shell" -c "i=0; while [ \$i -lt 100 ]; do $shell -c '$become$scratch/probe; exit 0'; i=\$((i+1)); done"
	holds [ "$(wc -l <list)" = 100 ]
	expect 0 '' "$tool" record --force -q -o after.fathom -- "$shell" -c "i=0; while [ \$i -lt 100 ]; do $shell -c '$become$true; exit 0'; i=\$((i+1)); done
		$shell -c '${become}awk \"BEGIN { while (i < 5000000) i++ }\"; exit 0'"
	holds [ "$(sqlite3 after.fathom "SELECT count(*) FROM sampled_processes WHERE program LIKE '%awk'")" = 1 ]
done
finish
