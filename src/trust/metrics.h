/* The metrics that validation generates for a machine: events that measure the use of each resource, with their rate at
   100 %, and the decomposition of cycles. Stored in the machine's profile for `stat`. */
#ifndef FATHOM_TRUST_METRICS_H
#define FATHOM_TRUST_METRICS_H

#include <jansson.h>

#include "trust/validation.h"

/* A new reference: an array of objects with name, unit, scope, formula, events (name, factor), bytes, error, and, if
   known, maximal_events_per_second. */
json_t *fm_metrics_to_json(const struct fm_validation *validation);

/* The decomposition of cycles as formulas; each may use earlier ones. Returns their number, 0 without a
   decomposition. */
struct fm_cycle_formula {
	const char *name;
	char formula[240];
};
enum { FM_CYCLE_FORMULAS = 7 };
unsigned fm_metrics_cycles(const struct fm_validation *validation, struct fm_cycle_formula *ret_formulas);

/* Writes the metrics into the profile at `path`; other members stay. A new profile has these members only. 0 or a
   negative errno. */
int fm_metrics_save(const struct fm_validation *validation, const char *path, struct fm_error *error);

#endif
