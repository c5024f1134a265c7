/* Many processes, each of which works a little. */
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	volatile uint64_t sum = 0;

	for (unsigned i = 0; i < 200; i++) {
		pid_t child = fork();
		int status;

		if (child < 0)
			return 1;
		if (!child) {
			for (unsigned k = 0; k < 300000; k++)
				sum += k;
			_exit((int)(sum % 250));
		}
		if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
			printf("child %u ended with %x\n", i, (unsigned)status);
			return 1;
		}
		sum += (uint64_t)WEXITSTATUS(status);
	}
	printf("%lu\n", (unsigned long)sum);
	return 0;
}
