/* Closes every file it does not know, in all the ways there are, works, and becomes another program. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int values[4096];

int main(void)
{
	volatile unsigned long sum = 0;
	int unexpected = 0;

	for (int file = 3; file < 2000; file++)
		unexpected += close(file) != -1 || errno != EBADF;
	closefrom(3);
	close_range(3, 5000, 0);
	printf("%d closed, next file %d\n", unexpected, open("/dev/null", O_RDONLY));
	fflush(stdout);
	for (unsigned long i = 0; i < 50000000; i++)
		sum += (unsigned long)values[i & 4095];
	execlp("echo", "echo", "another", NULL);
	return 3;
}
