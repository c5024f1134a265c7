/* Two recordings: what got faster, which object, which level. "No difference shown" is an answer. */
#ifndef FATHOM_FOLD_COMPARE_H
#define FATHOM_FOLD_COMPARE_H

#include "fold/fold.h"

enum fm_change {
	FM_CHANGE_NONE, /* no difference shown */
	FM_CHANGE_LESS,
	FM_CHANGE_MORE,
	FM_CHANGE_ONLY_FIRST, /* the other has no such thing */
	FM_CHANGE_ONLY_SECOND,
	FM_CHANGE_INCOMPARABLE, /* not available in one of them */
};

/* A figure in both, and the second over the first. */
struct fm_compared {
	struct fm_figure first, second, ratio, difference;
	enum fm_change change;
};

struct fm_compared_row {
	char name[FM_FUNCTION + 16];
	struct fm_compared
	    time; /* of an instance (regions), of the program's processor time (others); simulated: costs */
	struct fm_compared share;
	struct fm_compared mean_cost;
	struct fm_compared levels[FM_SERVED_CLASSES];
};

struct fm_comparison {
	const struct fm_fold *first, *second;
	unsigned classes; /* of levels that both have */
	char class_names[FM_SERVED_CLASSES][FM_SERVED_NAME];
	struct fm_compared_row whole;
	struct fm_compared_row *regions, *objects, *routines; /* the largest difference first */
	size_t region_count, object_count, routine_count;
	char unit[24]; /* of times: "s", "cycles" */
	char why[200]; /* why they cannot be compared in part; "": they can */
};

/* Both must outlive the result. -EINVAL when one was simulated and the other was not; -ENOMEM. */
int fm_compare(const struct fm_fold *first, const struct fm_fold *second, struct fm_comparison **ret_comparison,
               struct fm_error *error);
void fm_comparison_free(struct fm_comparison *comparison);

const char *fm_change_name(enum fm_change change);

#endif
