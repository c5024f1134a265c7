/* A daemon: forks twice, leaves its session and its descriptors, and writes a file when its parent has long ended. */
#include "counted.h"
#include <sys/stat.h>
#include <sys/wait.h>

int main(void)
{
	pid_t child;

	counted();
	printf("%lu\n", work(100000000));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		setsid();
		if (fork())
			_exit(0);
		umask(022);
		for (int i = 0; i < 3; i++) {
			close(i);
			open("/dev/null", O_RDWR);
		}
		usleep(200000);
		FILE *file = fopen("daemon.out", "w");
		if (file) {
			fprintf(file, "%lu\n", work(20000000));
			fclose(file);
		}
		_exit(0);
	}
	waitpid(child, NULL, 0);
	printf("detached\n");
	return 0;
}
