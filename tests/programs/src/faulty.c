/* For the sanitizers: right, or with one fault of each kind: faulty right|overflow|shift|race|leak */
#include "counted.h"
#include <pthread.h>
#include <string.h>

static long shared;

static void *add(void *nothing)
{
	for (int i = 0; i < 1000; i++)
		shared++;
	return nothing;
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "right";
	volatile int large = 2147483647;
	char *block = malloc(100);
	pthread_t thread;

	counted();
	memset(block, 1, 100);
	pthread_create(&thread, NULL, add, NULL);
	if (!strcmp(what, "race"))
		add(NULL);
	pthread_join(thread, NULL);
	printf("%lu %d\n", work(100000000), shared >= 1000);
	fflush(stdout);
	if (!strcmp(what, "overflow"))
		block[100 + (large & 1)] = 1;
	if (!strcmp(what, "shift"))
		printf("%d\n", large + 1);
	if (!strcmp(what, "leak"))
		block = NULL;
	free(block);
	return 0;
}
