/* libpfm4: the vendors' names. Without it (FATHOM_HAS_LIBPFM undefined) all names are unknown. */
#ifndef FATHOM_COUNTERS_LIBRARY_H
#define FATHOM_COUNTERS_LIBRARY_H

#include <stdbool.h>

#include "counters/event.h"

struct fm_library_event {
	const char *name; /* with its PMU: "hsw_ep::L2_RQSTS:DEMAND_DATA_RD_HIT" */
	const char *pmu;
	const char *description;
	bool present; /* the PMU exists on this machine */
};

/* -ENOENT for an unknown name. */
int fm_library_resolve(const char *name, struct fm_event *event, struct fm_error *error);

/* True if the PMU exists on this machine. */
bool fm_library_has_pmu(const char *pmu);

/* Calls back for each event of this machine's PMUs, or of one PMU; false ends the loop. */
void fm_library_each(const char *pmu, bool (*callback)(const struct fm_library_event *event, void *context),
                     void *context);

#endif
