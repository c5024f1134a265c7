/* Executes itself, 5 times, from a thread in the end: again [TIMES] */
#include "counted.h"
#include <pthread.h>
#include <sys/wait.h>

static char **words;

static void *execute(void *nothing)
{
	execv("/proc/self/exe", words);
	return nothing;
}

int main(int count, char **arguments)
{
	int left = count > 1 ? atoi(arguments[1]) : 5;
	char number[16];
	pthread_t thread;

	if (count == 1)
		counted();
	printf("%d %lu\n", left, work(20000000));
	fflush(stdout);
	if (left == 0)
		return 27;
	snprintf(number, sizeof(number), "%d", left - 1);
	words = (char *[]){arguments[0], number, NULL};
	if (left == 1) {
		pthread_create(&thread, NULL, execute, NULL);
		pthread_join(thread, NULL);
	}
	execv("/proc/self/exe", words);
	return 1;
}
