/* Levels, utilisation, cycles and patterns of a program, for people and scripts. */
#ifndef FATHOM_REPORT_PICTURE_TEXT_H
#define FATHOM_REPORT_PICTURE_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "patterns/patterns.h"
#include "report/stat_text.h"

/* Pictures of parts, one after the other; false after the last. */
struct fm_picture_parts {
	void *context;
	bool (*thread)(void *context, unsigned index, struct fm_picture *ret_picture);
	bool (*region)(void *context, unsigned index, struct fm_picture *ret_picture); /* all its threads together */
	/* each region as each of its threads ran it; NULL: not known */
	bool (*region_thread)(void *context, unsigned index, struct fm_picture *ret_picture);
};

/* By the exact engine. The picture is of everything. */
void fm_picture_print(const struct fm_picture *picture, const struct fm_picture_parts *parts,
                      const struct fm_stat *stat, FILE *output, unsigned width, int verbose);

/* By counters: with what each level is told by. `what` is the program, or what else was counted. */
void fm_picture_print_counted(const struct fm_picture *picture, const struct fm_picture_parts *parts, const char *what,
                              FILE *output, unsigned width, int verbose);

/* One line of a time series. */
void fm_picture_print_moment(const struct fm_picture *picture, double at, FILE *output);

/* Parts of a run of the exact engine. */
struct fm_exact_parts {
	const struct fm_picture_source *source;
	const char *region; /* only this one; NULL: all */
	char name[FM_RESULT_NAME];
};
struct fm_picture_parts fm_picture_exact_parts(struct fm_exact_parts *parts);

/* Adds elapsed, predicted and patterns to an object, and traffic to its levels and cycles, which are made when there
   are none. */
void fm_picture_to_json(const struct fm_picture *picture, json_t *object);

/* The same for a whole document of stat, with `native`, and for each of its threads and regions. A region that several
   threads ran gets one more entry for all of them, whose thread is null. */
void fm_picture_add_to_document(const struct fm_picture *picture, const struct fm_picture_source *source,
                                const struct fm_stat *stat, json_t *root);

/* threads[] and regions[] of a document whose parts are counted; regions first by thread, then all together with null
   for the thread. */
void fm_picture_add_parts(const struct fm_picture *picture, const struct fm_picture_parts *parts, json_t *root);

#endif
