/* Everything that a matrix says: a judgement of every event, the stall tests, the resources and their indicators. */
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

/* The matrix is settled. -EINTR when interrupted. */
int fm_validation_create(struct fm_matrix *matrix, const struct fm_validation_options *options,
                         struct fm_validation **ret_validation, struct fm_error *error);
/* The names of the columns of truth that the file does not have, with commas: those of cores, and those of the socket
   if there are events of it. Returns how many. */
unsigned fm_validation_missing(const struct fm_matrix *matrix, char *buffer, size_t size);

void fm_validation_free(struct fm_validation *validation);

/* "A + 0.5 * B"; "n/a" when there is none. Returns buffer. */
const char *fm_indicator_text(const struct fm_matrix *matrix, const struct fm_indicator *indicator, char *buffer,
                              size_t size);

#endif
