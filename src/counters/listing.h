/* All named events, with tests of opening and counting them here. */
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
	enum fm_answer counts; /* UNKNOWN: the event may not have occurred in the trial */
	char why[480];         /* reason, if not */
};

struct fm_listing {
	struct fm_listed *events;
	size_t count;
};

/* Lists events whose name or description contains all words of the pattern, regardless of case; NULL: all. With `try`,
   each event is opened and read after some work. */
int fm_listing_create(const char *pattern, bool try, struct fm_listing *ret_listing);
void fm_listing_free(struct fm_listing *listing);

#endif
