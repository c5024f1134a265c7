/* Meets a limit of its own process: limited memory|time|stack|file|files. */
#define _GNU_SOURCE
#include "counted.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static int fall(int depth)
{
	volatile char room[512];

	room[0] = (char)depth;
	return depth ? fall(depth - 1) + room[0] : 0;
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "memory";
	static char block[4096];
	long number = 0;

	counted();
	printf("%lu\n", work(100000000));
	fflush(stdout);
	if (!strcmp(what, "memory")) {
		void *large = malloc(300UL << 20), *small = malloc(20UL << 20);

		printf("%s %s\n", large ? "large" : strerror(errno), small ? "small" : "none");
		if (small)
			memset(small, 1, 20UL << 20);
	} else if (!strcmp(what, "time")) {
		for (;;)
			number += (long)work(1000000);
	} else if (!strcmp(what, "stack")) {
		struct rlimit limit;

		getrlimit(RLIMIT_STACK, &limit);
		printf("%d %lu\n", fall(50), (unsigned long)limit.rlim_cur);
	} else if (!strcmp(what, "file")) {
		int file = open("limited.out", O_WRONLY | O_CREAT | O_TRUNC, 0644);

		for (int i = 0; i < 1000; i++)
			number += write(file, block, sizeof(block));
		printf("%ld written\n", number);
	} else {
		while (dup(2) >= 0)
			number++;
		printf("%ld: %s\n", number, strerror(errno));
	}
	return 0;
}
