/* One line in the file COUNTED for each execution: the process number. The script counts the lines. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void counted(void)
{
	const char *path = getenv("COUNTED");
	char line[32];
	int length = snprintf(line, sizeof(line), "%d\n", (int)getpid());
	int file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	if (file >= 0) {
		if (write(file, line, (size_t)length) != length)
			abort();
		close(file);
	}
}

/* Work whose result depends on every step. */
static inline unsigned long work(unsigned long steps)
{
	unsigned long value = 1;

	for (unsigned long i = 0; i < steps; i++)
		value = value * 6364136223846793005UL + (value >> 33) + i;
	return value;
}
