/* Reads standard input to its end and writes lines of it, numbered; ended by SIGPIPE if nobody reads: copies [TIMES] */
#include "counted.h"

int main(int count, char **arguments)
{
	unsigned long lines = 0, sum = 0, times = count > 1 ? strtoul(arguments[1], NULL, 10) : 1;
	char line[256];

	counted();
	while (fgets(line, sizeof(line), stdin)) {
		for (char *letter = line; *letter; letter++)
			sum = sum * 31 + (unsigned char)*letter;
		if (++lines % 100 == 0)
			for (unsigned long i = 0; i < times; i++)
				printf("%lu %lu %s", lines, work(100000) + sum, line);
	}
	fprintf(stderr, "%lu lines\n", lines);
	return 0;
}
