/* Memory set and copied by repeated string instructions and by vector loops, of as many MiB as asked for, each in a
   region of its own; and the odd ends: backwards, unaligned, of no length, from a forked process, by two threads. */
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fathom.h"

enum { ODD = 4096, SAVED = 512 };

static _Alignas(4096) char odd[2 * ODD];
static _Alignas(64) char saved[SAVED];

static void set(char *to, size_t bytes)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(1) : "memory");
}

static void copy(char *to, const char *from, size_t bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static void copy_words_down(char *to, const char *from, size_t words)
{
	__asm__ volatile("std\n\trep movsq\n\tcld" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

/* Jumped to: the instruction is the first of its block, also when it begins. */
static void set_in_a_block_of_its_own(char *to, size_t bytes)
{
	__asm__ volatile("jmp 1f\n1:\trep stosb" : "+D"(to), "+c"(bytes) : "a"(1) : "memory");
}

static size_t length_until_zero(const char *text)
{
	size_t left = (size_t)-1;

	__asm__ volatile("repne scasb" : "+D"(text), "+c"(left) : "a"(0) : "memory", "cc");
	return ~left - 1;
}

__attribute__((target("avx2"), noinline)) static void set_by_vectors(char *to, size_t bytes)
{
	__m256i ones = _mm256_set1_epi8(1);

	for (size_t i = 0; i < bytes; i += 32) {
		_mm256_store_si256((__m256i *)(void *)(to + i), ones);
		__asm__ volatile("" : : : "memory");
	}
}

__attribute__((target("avx2"), noinline)) static void copy_by_vectors(char *to, const char *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 32) {
		_mm256_store_si256((__m256i *)(void *)(to + i),
		                   _mm256_load_si256((const __m256i *)(const void *)(from + i)));
		__asm__ volatile("" : : : "memory");
	}
}

/* More accesses in one block than usual blocks have instructions. */
static void save_often(void)
{
	__asm__ volatile(".rept 200\n\tfxsave %0\n\t.endr" : "=m"(saved));
}

static void *set_own_half(void *half)
{
	for (int i = 0; i < 16; i++)
		set(half, ODD);
	return NULL;
}

#define REGION(name, ...)                  \
	do {                               \
		fathom_region_begin(name); \
		__VA_ARGS__;               \
		fathom_region_end(name);   \
	} while (0)

static int odd_ends(void)
{
	pthread_t thread;
	int status;

	REGION("one line", set(odd, 64));
	REGION("no length", set(odd, 0));
	REGION("own block", set_in_a_block_of_its_own(odd, 640));
	REGION("unaligned", set(odd + 13, 200));
	REGION("unaligned copy", copy(odd + 5, odd + ODD + 50, 1000));
	REGION("down", copy_words_down(odd + ODD - 8, odd + 2 * ODD - 8, ODD / 8));
	memset(odd, 'x', ODD - 1);
	odd[ODD - 1] = 0;
	REGION("scan", if (length_until_zero(odd) != ODD - 1) return 3);
	REGION("many", save_often());
	REGION("ten", for (int i = 0; i < 10; i++) set(odd + 64 * i, 64));
	if (!fork()) {
		REGION("forked", set(odd, ODD));
		_exit(0);
	}
	wait(&status);
	if (pthread_create(&thread, NULL, set_own_half, odd))
		return 4;
	set_own_half(odd + ODD);
	pthread_join(thread, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? (size_t)atoi(argv[1]) : 0) << 20;
	/* beyond what was set before, so that all of them find the same: nothing */
	char *memory;

	/* the first costs more than the others */
	REGION("first", );
	REGION("nothing", );
	if (!bytes)
		return odd_ends();
	memory = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	if (argc < 3 || !strcmp(argv[2], "vectors")) {
		REGION("vectors set", set_by_vectors(memory, bytes));
		REGION("vectors copy", copy_by_vectors(memory, memory + bytes, bytes));
	}
	if (argc < 3 || !strcmp(argv[2], "strings")) {
		REGION("strings set", set(memory, bytes));
		REGION("strings copy", copy(memory, memory + bytes, bytes));
	}
	return 0;
}
