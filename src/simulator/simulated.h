/* Events of simulated machines: formulas over exactly known quantities (quantities.def), read from NAME.events beside
   NAME.machine. A flaw of a counter is a line of text there.

       # comment
       MEM_LOAD_UOPS_RETIRED:L2_HIT = L2.load_hits
           documented count, and real count

   Formulas are those of base/formula.h, with noisy(a, b): a with a relative standard deviation of b. Events with names
   in UNC_ are counted per socket. */
#ifndef FATHOM_SIMULATOR_SIMULATED_H
#define FATHOM_SIMULATOR_SIMULATED_H

#include "base/figure.h"
#include "base/random.h"
#include "simulator/core.h"
#include "simulator/description.h"
#include "simulator/hierarchy.h"
#include "simulator/work.h"

struct fm_simulated_events;

/* Loads the events of a machine, by name or by the path of its description. -EBADMSG with file, line and reason for an
   invalid file; -ENOTSUP for a machine without events. */
int fm_simulated_load(const char *machine, struct fm_simulated_events **ret_events, struct fm_error *error);
int fm_simulated_parse(const char *text, const char *file, const struct fm_machine_description *machine,
                       struct fm_simulated_events **ret_events, struct fm_error *error);
void fm_simulated_free(struct fm_simulated_events *events);

unsigned fm_simulated_count(const struct fm_simulated_events *events);
const char *fm_simulated_name(const struct fm_simulated_events *events, unsigned index);
const char *fm_simulated_formula(const struct fm_simulated_events *events, unsigned index);
const char *fm_simulated_description(const struct fm_simulated_events *events, unsigned index);

/* Has the event's formula noise? Is the event counted per socket? */
bool fm_simulated_is_noisy(const struct fm_simulated_events *events, unsigned index);
bool fm_simulated_is_uncore(const struct fm_simulated_events *events, unsigned index);

/* Do all words of the pattern occur in the event's name or description? */
bool fm_simulated_matches(const struct fm_simulated_events *events, unsigned index, const char *pattern);

/* Finds an event by name; case is ignored, and '.' equals ':'. -EINVAL with the nearest name if none matches. */
int fm_simulated_find(const struct fm_simulated_events *events, const char *name, unsigned *ret_index,
                      struct fm_error *error);

/* The known quantities of a run or of a part of a run. */
struct fm_truth {
	const struct fm_work *work;
	const struct fm_core_counts *counts;
	const struct fm_timing_counts *timing; /* NULL without core timing */
	bool smt;                              /* threads shared a core */
	struct fm_random *random;              /* for noisy events; NULL: no noise */
};

/* The count of an event. Not available if the formula needs unknown cycles or gives no finite number. */
struct fm_figure fm_simulated_value(const struct fm_simulated_events *events, unsigned index,
                                    const struct fm_truth *truth);

#endif
