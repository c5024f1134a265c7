/* The emulator against cachegrind: the time to run a program under each, interleaved. Three levels and coherence on
   our side, prefetchers off as there. Usage: bench_exact TOOL FOLDER-OF-PROGRAMS [PAIRS] (5 by default). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "report/table.h"

static double seconds(const char *command)
{
	uint64_t begin = fm_clock_now();

	if (system(command))
		return 0;
	return (double)(fm_clock_now() - begin) / 1e9;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		const char *command;
		int counted; /* in the mean */
	} programs[] = {
	    {"stream -O2", "%s/program_stream", 1},
	    {"stream -O3 -mavx2", "%s/program_stream_avx2", 1},
	    {"chase", "%s/program_chase", 1},
	    {"sort", "%s/program_sort", 1},
	    {"python3", "/usr/bin/python3 -S -c 'print(sum(i * i %% 7 for i in range(300000)))'", 1},
	    {"matmul -O3 -mavx2", "%s/program_matmul", 0},
	};
	unsigned pairs = argc > 3 ? (unsigned)atoi(argv[3]) : 5;
	struct fm_table *table = fm_table_create("lrrrr");
	double sum = 0;
	unsigned counted = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: bench_exact TOOL FOLDER [PAIRS]\n");
		return 2;
	}
	fm_table_cell(table, "program");
	fm_table_cell(table, "exact s");
	fm_table_cell(table, "cachegrind s");
	fm_table_cell(table, "ratio");
	fm_table_cell(table, "interval");
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct fm_sample ratios = {0}, own = {0}, their = {0};
		struct fm_location ratio, ours, theirs;
		char program[512], command[2][1200];

		snprintf(program, sizeof(program), programs[i].command, argv[2]);
		snprintf(command[0], sizeof(command[0]),
		         "'%s' stat --machine haswell-ep --no-prefetch -q -o /dev/null -- %s >/dev/null 2>&1", argv[1],
		         program);
		snprintf(
		    command[1], sizeof(command[1]),
		    "valgrind -q --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null %s >/dev/null 2>&1",
		    program);
		for (unsigned k = 0; k < pairs; k++) {
			double first = seconds(command[k % 2]), second = seconds(command[1 - k % 2]);

			if (!(first > 0) || !(second > 0))
				continue;
			fm_sample_add(&own, k % 2 ? second : first);
			fm_sample_add(&their, k % 2 ? first : second);
			fm_sample_add(&ratios, k % 2 ? second / first : first / second);
		}
		fm_table_cell(table, "%s", programs[i].name);
		if (fm_statistics_median(ratios.values, ratios.count, &ratio)) {
			for (int k = 0; k < 4; k++)
				fm_table_cell(table, "%s", k ? "" : "failed");
		} else {
			fm_statistics_median(own.values, own.count, &ours);
			fm_statistics_median(their.values, their.count, &theirs);
			fm_table_cell(table, "%.2f", ours.value);
			fm_table_cell(table, "%.2f", theirs.value);
			fm_table_cell(table, "%.2f", ratio.value);
			fm_table_cell(table, "[%.2f, %.2f]", ratio.low, ratio.high);
			if (programs[i].counted) {
				sum += log(ratio.value);
				counted++;
			}
		}
		fm_sample_free(&ratios);
		fm_sample_free(&own);
		fm_sample_free(&their);
	}
	printf("Exact engine against cachegrind, %u interleaved pairs each\n", pairs);
	fm_table_print(table, stdout, 0, 100);
	if (counted)
		printf("geometric mean without matmul: %.2f\n", exp(sum / counted));
	fm_table_free(table);
	return 0;
}
