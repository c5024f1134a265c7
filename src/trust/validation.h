/* All results from a matrix: judgements of events, stall tests, resources and their indicators. */
#ifndef FATHOM_TRUST_VALIDATION_H
#define FATHOM_TRUST_VALIDATION_H

#include "base/watcher.h"
#include "trust/judge.h"
#include "trust/resources.h"
#include "trust/stalls.h"

struct fm_validation {
	const struct fm_matrix *matrix; /* not owned */
	struct fm_judgement *judgements;
	struct fm_stalls stalls;
	struct fm_resource resources[FM_RESOURCES_MAX];
	unsigned resource_count;
};

struct fm_validation_options {
	struct fm_watcher watcher;
};

/* Validates a settled matrix. -EINTR when interrupted. */
int fm_validation_create(struct fm_matrix *matrix, const struct fm_validation_options *options,
                         struct fm_validation **ret_validation, struct fm_error *error);
/* Writes the names of missing columns of truth, separated by commas: those of cores, and of the socket if it has
   events. Returns their number. */
unsigned fm_validation_missing(const struct fm_matrix *matrix, char *buffer, size_t size);

void fm_validation_free(struct fm_validation *validation);

/* Writes "A + 0.5 * B", or "n/a" without an indicator. Returns `buffer`. */
const char *fm_indicator_text(const struct fm_matrix *matrix, const struct fm_indicator *indicator, char *buffer,
                              size_t size);

#endif
