/* Two threads add to neighbouring words of one cache line: false sharing. With the argument "padded" the words lie on lines
   of their own. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ADDITIONS = 100000, PADDED_WORDS = 16 };

static struct {
	_Alignas(128) volatile long words[2 * PADDED_WORDS];
} counters;

static void *add(void *argument)
{
	volatile long *word = argument;

	for (int i = 0; i < ADDITIONS; i++)
		++*word;
	return NULL;
}

int main(int argc, char **argv)
{
	int apart = argc > 1 && !strcmp(argv[1], "padded") ? PADDED_WORDS : 1;
	pthread_t thread;

	if (pthread_create(&thread, NULL, add, (void *)&counters.words[apart]))
		return 1;
	add((void *)&counters.words[0]);
	pthread_join(thread, NULL);
	printf("%ld additions\n", counters.words[0] + counters.words[apart]);
	return 0;
}
