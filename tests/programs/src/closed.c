/* Writes to a pipe that has no reader; the default action of SIGPIPE ends it: closed [ignore] */
#include "counted.h"
#include <errno.h>
#include <signal.h>

int main(int count, char **arguments)
{
	(void)arguments;
	counted();
	fprintf(stderr, "%lu\n", work(100000000));
	if (count > 1)
		signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 100000; i++)
		if (write(1, "line\n", 5) < 0)
			return errno == EPIPE ? 32 : 33;
	return 0;
}
