/* Traces its child by ptrace, step by step and at system calls, as debuggers do. */
#include "counted.h"
#include <sys/ptrace.h>
#include <sys/wait.h>

int main(void)
{
	long stops = 0, calls = 0;
	int status;
	pid_t child;

	counted();
	printf("%lu\n", work(100000000));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(19);
		for (int i = 0; i < 100; i++)
			getppid();
		_exit((int)(work(1000) & 7));
	}
	waitpid(child, &status, 0);
	for (int i = 0; i < 1000 && WIFSTOPPED(status); i++, stops++) {
		ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
		waitpid(child, &status, 0);
	}
	while (WIFSTOPPED(status)) {
		ptrace(PTRACE_SYSCALL, child, NULL, NULL);
		waitpid(child, &status, 0);
		calls++;
	}
	printf("%ld steps, %d calls, status %d\n", stops, calls >= 100, WEXITSTATUS(status));
	return 0;
}
