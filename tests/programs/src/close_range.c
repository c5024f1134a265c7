/* Closes every descriptor but the first three by the close_range system call itself, as daemons and launchers do. */
#define _GNU_SOURCE
#include "counted.h"
#include <dirent.h>
#include <sys/wait.h>

int main(void)
{
	long result, status = 0;
	int file;

	counted();
	printf("%lu\n", work(30000000));
	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(436), "D"(3L), "S"(~0UL >> 32), "d"(0L)
	                 : "rcx", "r11", "memory");
	file = open("/dev/null", O_RDONLY);
	printf("%ld %d\n", result, file);
	printf("%lu\n", work(50000000));
	fflush(stdout);
	if (fork() == 0)
		_exit((int)(work(1000000) % 7));
	wait((int *)&status);
	printf("%ld\n", status);
	return 0;
}
