/* Programs that do not end when they are asked to. The argument says which kind. Each process adds a byte to the file
   STUBBORN_READY when it has read a million numbers. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile long numbers[1000];
static int ends[2];

static void read_numbers(void)
{
	for (int i = 0; i < 1000000; i++)
		(void)numbers[i % 1000];
}

static void be_ready(void)
{
	const char *path = getenv("STUBBORN_READY");
	int file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	read_numbers();
	if (file >= 0 && write(file, "x", 1) == 1)
		close(file);
}

static void *wait_for_ever(void *unused)
{
	char byte;

	while (read(ends[0], &byte, 1) != 1)
		;
	return unused;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	sigset_t all;

	sigfillset(&all);
	/* the signals are blocked, and the threads are too */
	if (!strcmp(kind, "blocked"))
		sigprocmask(SIG_BLOCK, &all, NULL);
	else
		signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	if (pipe(ends))
		return 1;
	be_ready();
	if (!strcmp(kind, "blocked")) {
		pthread_t threads[4];

		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, wait_for_ever, NULL);
		wait_for_ever(NULL);
	}
	/* the parent ends as it should, its children do not; one of them has left for a session of its own */
	if (!strcmp(kind, "forked")) {
		for (int i = 0; i < 3; i++)
			if (!fork()) {
				if (i == 1)
					setsid();
				be_ready();
				wait_for_ever(NULL);
			}
		signal(SIGTERM, SIG_DFL);
		wait_for_ever(NULL);
	}
	for (;;)
		read_numbers();
}
