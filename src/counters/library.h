/* libpfm4: the vendors' names. Without it (FATHOM_HAS_LIBPFM not defined) it knows nothing. */
#ifndef FATHOM_COUNTERS_LIBRARY_H
#define FATHOM_COUNTERS_LIBRARY_H

#include <stdbool.h>

#include "counters/event.h"

struct fm_library_event {
	const char *name; /* with its PMU: "hsw_ep::L2_RQSTS:DEMAND_DATA_RD_HIT" */
	const char *pmu;
	const char *description;
	bool present; /* the PMU is that of this machine */
};

/* -ENOENT when it does not know the name. */
int fm_library_resolve(const char *name, struct fm_event *event, struct fm_error *error);

/* Is that PMU the one of this machine? */
bool fm_library_has_pmu(const char *pmu);

/* Every event of the PMUs of this machine, or of the PMU given; a callback that returns false ends it. */
void fm_library_each(const char *pmu, bool (*callback)(const struct fm_library_event *event, void *context),
                     void *context);

#endif
