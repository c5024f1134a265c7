/* A program with a region: region INSTANCES THOUSANDS [TREE WAYS]. Each instance makes so many thousand dependent
   multiplications. With a tree of resctrl that is made of files, which takes nothing away, the program does so itself:
   instances are half as long again while its group has fewer ways of L3. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom.h"

static volatile uint64_t result;

/* Of the group that Fathom made; all of them when there is none. */
static unsigned ways_left(const char *tree)
{
	DIR *entries = opendir(tree);
	const struct dirent *entry;
	unsigned ways = UINT32_MAX;

	while (entries && (entry = readdir(entries))) {
		char path[512], line[128];
		const char *mask;
		FILE *file;

		if (strncmp(entry->d_name, "fathom-", 7) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%.200s/schemata", tree, entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file))
			if ((mask = strstr(line, "L3:0=")))
				ways = (unsigned)__builtin_popcountl(strtoul(mask + 5, NULL, 16));
		if (file)
			fclose(file);
	}
	if (entries)
		closedir(entries);
	return ways;
}

int main(int argc, char **argv)
{
	uint64_t instances = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000,
	         steps = 1000 * (argc > 2 ? strtoull(argv[2], NULL, 10) : 1000), sum = 1;
	unsigned needed = argc > 4 ? (unsigned)atoi(argv[4]) : 0;

	for (uint64_t i = 0; i < instances; i++) {
		uint64_t takes = needed && ways_left(argv[3]) < needed ? steps + steps / 2 : steps;

		fathom_region_begin("work");
		for (uint64_t k = 0; k < takes; k++)
			sum = sum * 6364136223846793005u + 1442695040888963407u;
		fathom_region_end("work");
	}
	result = sum;
	return 0;
}
