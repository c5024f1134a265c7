/* The metrics that validation generates for a machine: for each resource the events that tell how much it is used, with
   the rate that means 100 %, and the decomposition of cycles. Kept in the machine's profile for `stat`. */
#ifndef FATHOM_TRUST_METRICS_H
#define FATHOM_TRUST_METRICS_H

#include <jansson.h>

#include "trust/validation.h"

/* A new reference: an array of objects with name, unit, scope, formula, events (name, factor), bytes, error, and
   maximal_events_per_second where there is one. */
json_t *fm_metrics_to_json(const struct fm_validation *validation);

/* The decomposition of cycles as formulas, in the order in which each may use the ones before. Returns how many, 0 when
   there is none. */
struct fm_cycle_formula {
	const char *name;
	char formula[240];
};
enum { FM_CYCLE_FORMULAS = 7 };
unsigned fm_metrics_cycles(const struct fm_validation *validation, struct fm_cycle_formula *ret_formulas);

/* Put them into the profile at `path`, whose other members stay. A machine without a profile gets one with nothing
   else. */
int fm_metrics_save(const struct fm_validation *validation, const char *path, struct fm_error *error);

#endif
