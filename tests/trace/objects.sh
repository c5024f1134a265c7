#!/bin/sh
# Heap objects in `stat`: by the call that allocated them, for large arrays, lists of small nodes, memory that is used again, and C++ containers.
. "$(dirname "$0")/../cli/common.sh"
command -v gcc >/dev/null || skip 'no compiler'
cd "$scratch" || exit 1
cat >objects.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
struct node { struct node *next; long value[5]; };
static void *xmalloc(size_t size) { void *memory = malloc(size); if (!memory) abort(); return memory; }
static unsigned *array(size_t count) { unsigned *all = xmalloc(count * sizeof(*all)), x = 1;
	for (size_t i = 0; i < count; i++) all[i] = (x = x * 1664525 + 1013904223) % count; return all; }
static struct node *list(unsigned count) { struct node **order = xmalloc(count * sizeof(*order)), *head = NULL; unsigned x = 7;
	for (unsigned i = 0; i < count; i++) { order[i] = xmalloc(sizeof(struct node)); order[i]->value[0] = i; }
	for (unsigned i = count - 1; i > 0; i--) { unsigned k = (x = x * 1664525 + 1013904223) % (i + 1); struct node *other = order[i]; order[i] = order[k]; order[k] = other; }
	for (unsigned i = 0; i < count; i++) { order[i]->next = head; head = order[i]; }
	free(order); return head; }
static char *mapped(size_t size) { char *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); all[0] = 1; return all; }
int main(int count, char **arguments)
{
	unsigned long sum = 0, rounds = strtoul(arguments[2], NULL, 10);
	if (count < 3) return 2;
	if (!strcmp(arguments[1], "array")) { unsigned *all = array(16 << 20), at = 0; for (unsigned long i = 0; i < rounds; i++) sum += at = all[(at + i) % (16 << 20)]; }
	if (!strcmp(arguments[1], "list")) { struct node *head = list(400000); for (unsigned long i = 0; i < rounds; i++) for (struct node *at = head; at; at = at->next) sum += (unsigned long)at->value[0]; }
	if (!strcmp(arguments[1], "again")) { free(list(200000)); free(xmalloc(32 << 20)); struct node *head = list(400000); for (unsigned long i = 0; i < rounds; i++) for (struct node *at = head; at; at = at->next) sum += (unsigned long)at->value[0]; }
	if (!strcmp(arguments[1], "mapped")) { char *all = mapped(64 << 20); for (unsigned long i = 0; i < rounds; i++) sum += (unsigned long)all[i * 7919 * 64 % (64 << 20)]++; }
	printf("%lu\n", sum);
	return 0;
}
END
holds gcc -O2 -g -fno-inline -fno-ipa-cp -w -o objects objects.c

# named SHARE NAME KIND ROUNDS: at least this share of the lines from the second cache belongs to the object of this name
named() {
	share=$1 name=$2
	shift 2
	"$@" >native 2>errors
	holds "$tool" stat --json -q -o result.json -- "$@" >traced
	holds cmp native traced
	checks=$((checks + 1))
	jq -e --arg name "$name" "([.objects[].lines_moved.L1] | add) as \$all | [.objects[] | select(.name | test(\$name)) | .lines_moved.L1] | add // 0 | . >= $share * \$all" result.json >/dev/null ||
		fail "$*: $(jq -c '[.objects[] | {name, bytes, lines: .lines_moved.L1}]' result.json | cut -c1-600)"
}
named 0.9 '^objects.c:[0-9]+ \(array\)$' ./objects array 6000000
holds jq -e '[.objects[] | select(.name | test("array"))] | length == 1 and .[0].bytes == 67108864' result.json >/dev/null
named 0.8 '^objects.c:[0-9]+ \(list\)$' ./objects list 20
named 0.7 '^objects.c:[0-9]+ \(list\)$' ./objects again 20
named 0.9 '^objects.c:[0-9]+ \(mapped\)$' ./objects mapped 20000000

if command -v g++ >/dev/null; then
	cat >containers.cc <<'END'
#include <cstdio>
#include <unordered_map>
#include <vector>
static std::unordered_map<unsigned, long> table(unsigned count)
{
	std::unordered_map<unsigned, long> all;
	for (unsigned i = 0, x = 1; i < count; i++) { x = x * 1664525 + 1013904223; all[x] = i; }
	return all;
}
int main()
{
	auto all = table(500000);
	long sum = 0;
	for (int round = 0; round < 4; round++) for (unsigned i = 0, x = 1; i < 500000; i++) { x = x * 1664525 + 1013904223; sum += all.find(x)->second; }
	std::printf("%ld\n", sum);
}
END
	for level in -O0 -O2; do
		holds g++ $level -g -w -o containers containers.cc
		named 0.6 '^containers.cc:[0-9]+ \((table|main)' ./containers
	done
fi

# the one verdict names the object, in the text and for scripts
expect 0 'objects.c:[0-9]+ \(array\)' "$tool" -- ./objects array 25000000
holds "$tool" diagnose --force --json -q -- ./objects array 25000000 >verdict
holds sh -c "tail -n +2 verdict | jq -e '.verdict.cause != \"inconclusive\" and (.verdict.object | test(\"array\"))' >/dev/null"
expect 0 'objects.c:[0-9]+ \(array\): [0-9]+ % of the lines from memory' "$tool" stat -v -- ./objects array 25000000
finish
