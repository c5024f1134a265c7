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

# What fork() would copy: threads that allocate nothing get no arenas, and translators are not inherited.
cat >inherited.c <<'END_OF_PROGRAM'
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sum;
static void *work(void *unused) { for (unsigned long i = 0; i < 300000000; i++) sum += i; return unused; }
static int caches(void)
{
	char line[300];
	int found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps)) found += strstr(line, " rwxp ") != NULL;
	return fclose(maps), found;
}
int main(void)
{
	pthread_t threads[4];
	int status;
	for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	printf("%d in the parent\n", caches()); fflush(stdout);
	if (fork() == 0) { printf("%d in the child\n", caches()); return fflush(stdout) || malloc_info(0, stdout); }
	wait(&status);
	return status != 0;
}
END_OF_PROGRAM
cc -O1 -pthread -o inherited inherited.c || exit 1
expect 0 '' "$tool" record --force -q -o inherited.fathom -- "$shell" -c "./inherited >inherited.out"
holds grep -q '^[1-9][0-9]* in the parent' inherited.out
holds grep -qx '0 in the child' inherited.out
holds [ "$(grep -c '<heap nr=' inherited.out)" = 1 ]
finish
