/* A program that knows nothing of Fathom, with a known need: dependent accesses to random lines of so many bytes.

   squeeze_access PLACE KIB THOUSANDS: PLACE is heap, mapped, static, or thread (the heap, from another thread) */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, STATIC_BYTES = 4 << 20 };

static char variables[STATIC_BYTES];
static char *memory;
static uint64_t lines, accesses;

static void *work(void *result)
{
	uint64_t random = 88172645463325252u, value = 0;

	for (uint64_t i = 0; i < accesses; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* what was loaded is 0, which the compiler cannot know */
		value =
		    *(volatile uint64_t *)(void *)(memory + ((unsigned __int128)(random + value) * lines >> 64) * LINE);
	}
	*(uint64_t *)result = value;
	return NULL;
}

int main(int count, char **words)
{
	size_t bytes = count == 4 ? strtoul(words[2], NULL, 10) * 1024 : 0;
	uint64_t result = 1;

	if (bytes < LINE || bytes > STATIC_BYTES)
		return 2;
	accesses = strtoull(words[3], NULL, 10) * 1000;
	lines = bytes / LINE;
	memory = !strcmp(words[1], "static") ? variables
	         : !strcmp(words[1], "mapped")
	             ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
	             : malloc(bytes);
	if (!memory || memory == MAP_FAILED)
		return 1;
	memset(memory, 0, bytes);
	if (!strcmp(words[1], "thread")) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, &result))
			return 1;
		pthread_join(thread, NULL);
	} else {
		work(&result);
	}
	printf("%llu\n", (unsigned long long)result);
	return 0;
}
