/* What the exact engine counted: for people, for spreadsheets, as JSON. */
#ifndef FATHOM_REPORT_STAT_TEXT_H
#define FATHOM_REPORT_STAT_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "exact/engine.h"

/* Accesses and misses of one function or source line. */
struct fm_stat_place {
	char function[160];
	char file[160];
	int line;
	char module[64];
	uint64_t loads, stores;
	uint64_t misses[FM_SIMULATED_CACHES_MAX];
};

/* Accesses and misses of one variable. */
struct fm_stat_object {
	char name[FM_RESULT_NAME];
	char module[64];
	uint64_t bytes;
	uint64_t loads, stores;
	uint64_t misses[FM_SIMULATED_CACHES_MAX];
};

/* A line that moved between cores. */
struct fm_stat_sharing {
	uint64_t line;
	uint64_t modified, clean, invalidations;
	uint64_t true_transfers, false_transfers; /* of those whose bytes were noted */
	char object[FM_RESULT_NAME];              /* "" when it is no static variable */
	unsigned user_count;
	struct fm_stat_sharer {
		int thread; /* -1: not known */
		uint64_t read, written;
		char field[96]; /* what it wrote, or read, first in the line */
		char function[160];
		char file[160];
		int source_line;
	} users[FM_LINE_USERS];
};

/* False when most of what moved it brought nothing new; with too little noted, nothing is said ("unknown"). */
const char *fm_sharing_kind(const struct fm_stat_sharing *sharing);

/* Everything there is to say of one run. */
struct fm_stat {
	const struct fm_machine_description *machine;
	const struct fm_engine_options *options;
	const struct fm_engine_run *run;
	const char *program;
	struct fm_core_counts total;
	struct fm_timing_counts timing;
	struct fm_work work;
	struct fm_stat_place *functions; /* most misses of the last cache first */
	size_t function_count;
	struct fm_stat_place *lines;
	size_t line_count;
	struct fm_stat_object *objects; /* static ones; the last is all other memory */
	size_t object_count;
	struct fm_stat_sharing *sharing; /* most transfers first */
	size_t sharing_count;
};

/* Sum up a run, and find names for its addresses. */
int fm_stat_build(const struct fm_machine_description *machine, const struct fm_engine_options *options,
                  const struct fm_engine_run *run, const char *program, struct fm_stat *ret_stat,
                  struct fm_error *error);
void fm_stat_free(struct fm_stat *stat);

/* Add what one process did to the totals. */
void fm_stat_add_process(struct fm_stat *stat, const struct fm_results *results);

void fm_stat_print(const struct fm_stat *stat, FILE *output, unsigned width, unsigned top);
void fm_stat_print_separated(const struct fm_stat *stat, FILE *output, const char *separator);
json_t *fm_stat_to_json(const struct fm_stat *stat, unsigned top);

#endif
