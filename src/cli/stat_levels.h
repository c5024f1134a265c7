/* fathom stat by counters: levels, utilisation, cycles and patterns from what this machine's counters, or those of a
   simulated one, say. */
#ifndef FATHOM_CLI_STAT_LEVELS_H
#define FATHOM_CLI_STAT_LEVELS_H

#include "cli/stat_events.h"
#include "model/recipe.h"

/* What this machine's counters can tell; -ENOTSUP with the reason when that is nothing. The profile's metrics are used
   first (validate), then the vendor's formulas. */
int fm_levels_recipe(bool whole_machine, struct fm_recipe **ret_recipe, struct fm_error *error);

/* The metrics that validation left in a profile; NULL when there are none. A new reference. */
json_t *fm_levels_metrics(const char *profile);

/* With this machine's counters. Returns the exit code. */
int fm_stat_levels(const struct fm_stat_request *request, const struct fm_recipe *recipe);

/* With those of a simulated machine, after its run. */
int fm_stat_levels_simulated(const struct fm_stat_request *request, const char *machine, const struct fm_stat *stat);

#endif
