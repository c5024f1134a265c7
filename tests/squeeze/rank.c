/* One of several ranks: rank FILE [FAILING]. Adds a line with what its environment says to the file; the one of that
   number fails, the others work for a while. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile uint64_t result;

int main(int argc, char **argv)
{
	static const char *const names[] = {"FATHOM_RANK",          "FATHOM_RANKS", "OMPI_COMM_WORLD_RANK",
	                                    "OMPI_COMM_WORLD_SIZE", "PMI_RANK",     "PMI_SIZE"};
	char line[128] = "";
	int file = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
	uint64_t sum = 1;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s ", value ? value : "none");
	}
	line[strlen(line) - 1] = '\n';
	/* one write, since others add to the file, too */
	if (file < 0 || write(file, line, strlen(line)) != (ssize_t)strlen(line))
		return 1;
	if (argc > 2 && !strncmp(line, argv[2], strlen(argv[2])))
		return 7;
	for (uint64_t i = 0; i < 50000; i++)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	result = sum;
	return 0;
}
