/* Do two runs of `fathom machine` agree within their stated intervals, and are these narrow?
   Usage: bench_agreement TOOL [REPETITIONS [OPTION...]] (10 repetitions of --quick by default). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/profile.h"
#include "report/table.h"

static struct fm_machine *run(const char *tool, const char *options, const char *profile)
{
	char command[512];
	struct fm_machine *machine = NULL;
	struct fm_error error;

	unlink(profile);
	snprintf(command, sizeof(command), "'%s' machine %s --profile '%s' >/dev/null", tool, options, profile);
	if (system(command) || fm_profile_load(profile, &machine, &error))
		return NULL;
	return machine;
}

int main(int argc, char **argv)
{
	unsigned repetitions = argc > 2 ? (unsigned)atoi(argv[2]) : 10;
	const char *options = argc > 3 ? argv[3] : "--quick";
	char profile[] = "/tmp/fathom-agreement-XXXXXX";
	unsigned agreed[FM_LEVELS_MAX] = {0}, narrow[FM_LEVELS_MAX] = {0}, pairs = 0, refused = 0;
	char names[FM_LEVELS_MAX][12];
	unsigned levels = 0;
	int file = argc > 1 ? mkstemp(profile) : -1;

	if (file < 0) {
		fprintf(stderr, "usage: bench_agreement TOOL [REPETITIONS [OPTIONS]]\n");
		return 2;
	}
	close(file);
	for (unsigned i = 0; i < repetitions; i++) {
		struct fm_machine *first = run(argv[1], options, profile);
		struct fm_machine *second = run(argv[1], options, profile);

		if (!first || !second) {
			refused++;
		} else {
			pairs++;
			levels = first->level_count;
			for (unsigned j = 0; j < levels; j++) {
				const struct fm_figure *a = &first->levels[j].latency_ns,
				                       *b = &second->levels[j].latency_ns;
				/* the bar: ±10 % for caches of one core, ±20 % for memory; shared ones have none */
				double limit = !strcmp(first->levels[j].name, "memory") ? 0.2 : 0.1;
				char one[64], two[64];

				snprintf(names[j], sizeof(names[j]), "%s", first->levels[j].name);
				/* a level that neither shows is agreed upon */
				agreed[j] += fm_figure_agrees(a, b) || (!a->available && !b->available);
				narrow[j] +=
				    fm_figure_relative_width(a) <= limit && fm_figure_relative_width(b) <= limit;
				fprintf(stderr, "%u %-6s %-18s %-18s %s\n", i + 1, names[j],
				        fm_figure_text(one, sizeof(one), a), fm_figure_text(two, sizeof(two), b),
				        fm_figure_agrees(a, b) ? "agree" : "DIFFER");
			}
		}
		fm_machine_free(first);
		fm_machine_free(second);
	}
	unlink(profile);
	printf("Two runs of 'fathom machine %s', %u repetitions, %u of them refused as disturbed\n", options,
	       repetitions, refused);
	for (unsigned j = 0; j < levels; j++)
		printf("  %-8s intervals overlap in %u of %u, both within ±%d %% in %u\n", names[j], agreed[j], pairs,
		       strcmp(names[j], "memory") ? 10 : 20, narrow[j]);
	return 0;
}
