/* vfork, posix_spawn, popen and system: spawns COUNT */
#define _GNU_SOURCE
#include "counted.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int main(int count, char **arguments)
{
	int times = atoi(count > 1 ? arguments[1] : "10"), statuses = 0, lines = 0;
	char *words[] = {"sh", "-c", "exit 3", NULL}, line[64];

	counted();
	for (int i = 0; i < times; i++) {
		int status = 0;
		pid_t child = vfork();
		FILE *pipe;

		if (child == 0) {
			execl("/bin/sh", "sh", "-c", "exit 2", (char *)NULL);
			_exit(127);
		}
		waitpid(child, &status, 0);
		statuses += WEXITSTATUS(status);
		if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ))
			return 1;
		waitpid(child, &status, 0);
		statuses += WEXITSTATUS(status);
		pipe = popen("echo one; echo two", "r");
		while (pipe && fgets(line, sizeof(line), pipe))
			lines++;
		status = pclose(pipe);
		statuses += WEXITSTATUS(status);
		status = system("exit 5");
		statuses += WEXITSTATUS(status);
	}
	printf("%d %d %lu\n", statuses, lines, work(10000000));
	return 0;
}
