/* Threads that fork at the same time, and wait for what their children computed: forks THREADS FORKS */
#include "counted.h"
#include <pthread.h>
#include <sys/wait.h>

static int forks;

static void *one(void *number)
{
	long sum = 0;

	for (int i = 0; i < forks; i++) {
		int ends[2], status = 0;
		unsigned long value = 0;
		pid_t child;

		if (pipe(ends))
			abort();
		child = fork();
		if (child == 0) {
			value = work(100000 + (unsigned long)number + (unsigned long)i);
			_exit(write(ends[1], &value, sizeof(value)) == sizeof(value) ? i : 127);
		}
		close(ends[1]);
		if (read(ends[0], &value, sizeof(value)) != sizeof(value))
			abort();
		close(ends[0]);
		waitpid(child, &status, 0);
		sum += (long)(value % 1000) + WEXITSTATUS(status);
	}
	return (void *)sum;
}

int main(int count, char **arguments)
{
	int threads = atoi(count > 1 ? arguments[1] : "4");
	pthread_t thread[64];
	long sum = 0;

	forks = atoi(count > 2 ? arguments[2] : "10");
	counted();
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, one, (void *)i);
	for (int i = 0; i < threads; i++) {
		void *part;

		pthread_join(thread[i], &part);
		sum += (long)part;
	}
	printf("%ld\n", sum);
	return 0;
}
