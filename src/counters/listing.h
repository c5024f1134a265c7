/* Every event there is a name for, and whether it opens and counts here. */
#ifndef FATHOM_COUNTERS_LISTING_H
#define FATHOM_COUNTERS_LISTING_H

#include <stdbool.h>
#include <stddef.h>

enum fm_answer { FM_ANSWER_NO, FM_ANSWER_YES, FM_ANSWER_UNKNOWN };

struct fm_listed {
	char *name;
	char *pmu;
	char *description;
	enum fm_answer opens;
	enum fm_answer counts; /* UNKNOWN: what it counts need not have happened while we looked */
	char why[480];         /* not */
};

struct fm_listing {
	struct fm_listed *events;
	size_t count;
};

/* Those whose name or description matches, regardless of case: all words of the pattern must occur. NULL: all. With
   `try` each is opened, given some work, and read. */
int fm_listing_create(const char *pattern, bool try, struct fm_listing *ret_listing);
void fm_listing_free(struct fm_listing *listing);

#endif
