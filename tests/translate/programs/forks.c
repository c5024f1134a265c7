/* Children: forked from both kinds of threads, by vfork and exec, by popen and system. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 200, BY_THREAD = 20 };

static uint64_t work(uint64_t from)
{
	volatile uint64_t sum = from;

	for (unsigned i = 0; i < 100000; i++)
		sum += i * (from + 1);
	return sum;
}

static void *in_child(void *from)
{
	return (void *)work((uint64_t)from);
}

static int fork_once(int i)
{
	pid_t child = fork();
	int status;

	if (!child) {
		uint64_t result = work((uint64_t)i);
		pthread_t thread;
		void *other = NULL;

		if (i % 10 == 0 && (pthread_create(&thread, NULL, in_child, (void *)(uint64_t)i) ||
		                    pthread_join(thread, &other) || (uint64_t)other != result))
			_exit(255);
		_exit((int)(result % 250));
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1000000;
	return WEXITSTATUS(status);
}

static void *fork_in_thread(void *sum)
{
	for (int i = 0; i < BY_THREAD; i++)
		*(int *)sum += fork_once(i);
	return NULL;
}

int main(void)
{
	int sum = 0, by_thread = 0, status = 0;
	char line[100] = "";
	pthread_t thread;
	FILE *pipe;
	pid_t child;

	for (int i = 0; i < FORKS; i++)
		sum += fork_once(i);
	if (pthread_create(&thread, NULL, fork_in_thread, &by_thread) || pthread_join(thread, NULL))
		return 1;
	child = vfork();
	if (!child) {
		execl("/bin/sh", "sh", "-c", "exit 7", NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	pipe = popen("echo from a pipe", "r");
	if (!pipe || !fgets(line, sizeof(line), pipe) || pclose(pipe))
		return 1;
	printf("%d %d %d %d %s", sum, by_thread, WEXITSTATUS(status), WEXITSTATUS(system("exit 9")), line);
	return 0;
}
