/* Loads one word of each line of a set, over and over: sweep KIB ROUNDS, 0 rounds for ever. With a third argument it
   begins with a pause of so many milliseconds, and makes another between rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LINE = 64, ALIGNED = 1 << 20 };

static void pause_for(long milliseconds)
{
	const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	if (milliseconds)
		nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 64) << 10;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	long rest = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	volatile const char *set = aligned_alloc(ALIGNED, (bytes + ALIGNED - 1) / ALIGNED * ALIGNED);

	if (!set)
		return 1;
	pause_for(rest);
	for (unsigned long round = 0; !rounds || round < rounds; round++) {
		for (size_t at = 0; at < bytes; at += LINE)
			(void)set[at];
		pause_for(rest);
	}
	puts("done");
	return 0;
}
