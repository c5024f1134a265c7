/* fathom-truth-generator --seed N --levels L1=32768,L2=524288,L3=33554432[,memory=BYTES] --seconds 1.0 --out DIR
   [--threads 1|2] writes DIR/NAME.c and DIR/NAME.json and prints NAME; README.md has the options. */
#include "generator.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: fathom-truth-generator --seed N --levels L1=BYTES,L2=BYTES,L3=BYTES[,memory=BYTES] --seconds S --out DIR "
    "[--threads 1|2]\n"
    "                              [--translations ENTRIES] [--gigahertz G] [--only KIND[:LEVEL]] | --list\n";

static bool parse_levels(const char *text, struct options *options)
{
	options->bytes[LEVEL_MEMORY] = 0;
	for (unsigned i = 0; i < LEVELS; i++) {
		size_t length = strlen(level_names[i]);
		char *end;

		if (strncmp(text, level_names[i], length) != 0 || text[length] != '=')
			return false;
		options->bytes[i] = strtoull(text + length + 1, &end, 10);
		if (end == text + length + 1 || options->bytes[i] < 4096 ||
		    (i && options->bytes[i] < options->bytes[i - 1]))
			return false;
		if (!*end)
			return i >= LEVEL_L3;
		if (*end != ',')
			return false;
		text = end + 1;
	}
	return false;
}

static int list(const struct options *options)
{
	const struct kind *kind;
	enum level level;

	for (unsigned i = 0; plan_cell(options, i, &kind, &level); i++)
		printf("%s:%s\n", kind->name, level_names[level]);
	return 0;
}

static bool write_file(const char *folder, const struct plan *plan, const char *suffix,
                       void (*write)(const struct plan *plan, FILE *output))
{
	char path[4096];
	FILE *file;
	bool good;

	if (snprintf(path, sizeof(path), "%s/%s%s", folder, plan->name, suffix) >= (int)sizeof(path))
		return false;
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		return false;
	}
	write(plan, file);
	good = !ferror(file);
	return !fclose(file) && good;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
	    {"seed", required_argument, NULL, 's'},
	    {"levels", required_argument, NULL, 'l'},
	    {"seconds", required_argument, NULL, 't'},
	    {"out", required_argument, NULL, 'o'},
	    {"threads", required_argument, NULL, 'j'},
	    {"gigahertz", required_argument, NULL, 'g'},
	    {"translations", required_argument, NULL, 'p'},
	    {"only", required_argument, NULL, 'k'},
	    {"list", no_argument, NULL, 'a'},
	    {NULL, 0, NULL, 0},
	};
	struct options options = {
	    .bytes = {32768, 524288, 33554432, 0}, .seconds = 1, .gigahertz = 3.2, .threads = 1, .translations = 2048};
	const char *folder = NULL;
	bool seeded = false, listed = false;
	struct plan plan;
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		bool good = true;

		switch (option) {
		case 's':
			options.seed = strtoull(optarg, NULL, 10);
			seeded = true;
			break;
		case 'l':
			good = parse_levels(optarg, &options);
			break;
		case 't':
			options.seconds = strtod(optarg, NULL);
			good = options.seconds > 0;
			break;
		case 'o':
			folder = optarg;
			break;
		case 'j':
			options.threads = (unsigned)strtoul(optarg, NULL, 10);
			good = options.threads >= 1 && options.threads <= THREADS_MAX;
			break;
		case 'g':
			options.gigahertz = strtod(optarg, NULL);
			good = options.gigahertz > 0;
			break;
		case 'p':
			options.translations = (unsigned)strtoul(optarg, NULL, 10);
			good = options.translations > 0;
			break;
		case 'k':
			options.only = optarg;
			break;
		case 'a':
			listed = true;
			break;
		default:
			good = false;
		}
		if (!good) {
			fputs(usage, stderr);
			return 2;
		}
	}
	/* nothing of a sweep through three times a cache is left in it */
	if (!options.bytes[LEVEL_MEMORY])
		options.bytes[LEVEL_MEMORY] = 3 * options.bytes[LEVEL_L3];
	if (listed)
		return list(&options);
	if (!seeded || !folder || optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	if (plan_make(&options, &plan)) {
		fprintf(stderr, "fathom-truth-generator: no program is possible with these options\n");
		return 1;
	}
	if (!write_file(folder, &plan, ".c", write_program) || !write_file(folder, &plan, ".json", write_truth))
		return 1;
	printf("%s\n", plan.name);
	return 0;
}
