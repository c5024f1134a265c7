/* Events of simulated machines: formulas over what the simulator knows for certain (quantities.def), read from
   NAME.events beside NAME.machine. A flaw of a counter is a line of text there.

       # comment
       MEM_LOAD_UOPS_RETIRED:L2_HIT = L2.load_hits
           what it says it counts, and what it does

   Formulas are those of base/formula.h, with noisy(a, b): a with a relative standard deviation of b. Events whose names
   begin with UNC_ are counted for a socket as a whole. */
#ifndef FATHOM_SIMULATOR_SIMULATED_H
#define FATHOM_SIMULATOR_SIMULATED_H

#include "base/figure.h"
#include "base/random.h"
#include "simulator/core.h"
#include "simulator/description.h"
#include "simulator/hierarchy.h"
#include "simulator/work.h"

struct fm_simulated_events;

/* The events of a machine by name or by the path of its description. A file with a mistake is refused with file, line
   and reason (-EBADMSG); a machine without one: -ENOTSUP. */
int fm_simulated_load(const char *machine, struct fm_simulated_events **ret_events, struct fm_error *error);
int fm_simulated_parse(const char *text, const char *file, const struct fm_machine_description *machine,
                       struct fm_simulated_events **ret_events, struct fm_error *error);
void fm_simulated_free(struct fm_simulated_events *events);

unsigned fm_simulated_count(const struct fm_simulated_events *events);
const char *fm_simulated_name(const struct fm_simulated_events *events, unsigned index);
const char *fm_simulated_formula(const struct fm_simulated_events *events, unsigned index);
const char *fm_simulated_description(const struct fm_simulated_events *events, unsigned index);

/* Does its formula have noise? Is it counted for the socket? */
bool fm_simulated_is_noisy(const struct fm_simulated_events *events, unsigned index);
bool fm_simulated_is_uncore(const struct fm_simulated_events *events, unsigned index);

/* All words of the pattern occur in its name or description. */
bool fm_simulated_matches(const struct fm_simulated_events *events, unsigned index, const char *pattern);

/* By name, regardless of case, '.' the same as ':'. -EINVAL with the nearest when there is none. */
int fm_simulated_find(const struct fm_simulated_events *events, const char *name, unsigned *ret_index,
                      struct fm_error *error);

/* What is known for certain of a run, or of a part of it. */
struct fm_truth {
	const struct fm_work *work;
	const struct fm_core_counts *counts;
	const struct fm_timing_counts *timing; /* NULL without core timing */
	bool smt;                              /* threads shared a core */
	struct fm_random *random;              /* for noisy events; NULL: no noise */
};

/* The count; not available when the formula needs cycles and there are none, or when it gives no finite number. */
struct fm_figure fm_simulated_value(const struct fm_simulated_events *events, unsigned index,
                                    const struct fm_truth *truth);

#endif
