/* A thousand children, one after the other; each reads a thousand numbers. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long numbers[1000];

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 1000;

	for (int i = 0; i < children; i++) {
		pid_t child = fork();
		int status;

		if (child < 0)
			return 1;
		if (!child) {
			for (int j = 0; j < 1000; j++)
				(void)numbers[j];
			_exit(7);
		}
		if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
			return 2;
	}
	return 0;
}
