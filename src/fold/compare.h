/* Comparison of two recordings: times, objects and levels. "No difference shown" is a possible result. */
#ifndef FATHOM_FOLD_COMPARE_H
#define FATHOM_FOLD_COMPARE_H

#include "base/compared.h"
#include "fold/fold.h"

struct fm_compared_row {
	char name[FM_FUNCTION + 16];
	struct fm_compared time; /* regions: time of an instance; objects, routines: part of the processor time;
	                            simulated: costs */
	struct fm_compared share;
	struct fm_compared mean_cost;
	struct fm_compared levels[FM_SERVED_CLASSES];
};

struct fm_comparison {
	const struct fm_fold *first, *second;
	unsigned classes; /* number of levels in both recordings */
	char class_names[FM_SERVED_CLASSES][FM_SERVED_NAME];
	struct fm_compared_row whole;
	struct fm_compared_row *regions, *objects, *routines; /* largest difference first */
	size_t region_count, object_count, routine_count;
	char unit[24]; /* of times: "s", "cycles" */
	char why[200]; /* reason why a part is not comparable; "": none */
};

/* Both foldings must outlive the result. -EINVAL if only one was simulated; -ENOMEM. */
int fm_compare(const struct fm_fold *first, const struct fm_fold *second, struct fm_comparison **ret_comparison,
               struct fm_error *error);
void fm_comparison_free(struct fm_comparison *comparison);

#endif
