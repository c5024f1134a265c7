/* The picture of a program from counters: the formulas of a recipe over counts. */
#ifndef FATHOM_MODEL_COUNTED_H
#define FATHOM_MODEL_COUNTED_H

#include "counters/recipe.h"
#include "model/picture.h"
#include "simulator/simulated.h"

struct fm_counted {
	const struct fm_recipe *recipe;
	const struct fm_machine *profile;             /* this machine's profile; NULL: unknown */
	const struct fm_machine_description *machine; /* a simulated machine instead; NULL: none */
	const struct fm_figure *counts;               /* of the recipe's events, in their order */
	struct fm_figure seconds;
	struct fm_figure blocked; /* waiting share of the threads' time */
	unsigned threads;         /* simultaneous threads, for the choice of peaks */
	struct fm_part part;
	uint64_t instances;
	const struct fm_recording *recording;
};

void fm_picture_from_counts(const struct fm_counted *counted, struct fm_picture *ret_picture);

/* The picture of a part of a recorded run from counters of a simulated machine. `counts` has room for each event of the
   recipe. */
void fm_picture_from_simulated(const struct fm_recipe *recipe, const struct fm_simulated_events *events,
                               const struct fm_recording *recording, const struct fm_part *part,
                               struct fm_figure *counts, struct fm_picture *ret_picture);

/* Adds the work of one thread to a picture of all threads, for the load balance. */
void fm_picture_add_thread(struct fm_picture *picture, const struct fm_recipe *recipe, const struct fm_figure *counts,
                           unsigned thread);

/* Pictures of a recording made with counters of this machine. */
struct fm_counted_view;

/* Uses the formulas of the recording. */
int fm_counted_open(const struct fm_recording *recording, struct fm_counted_view **ret_view, struct fm_error *error);
void fm_counted_close(struct fm_counted_view *view);

/* Pictures of the whole run, of threads of running processes, of regions, of regions per thread, and of time intervals.
   False after the last index. */
void fm_counted_whole(struct fm_counted_view *view, struct fm_picture *ret_picture);
bool fm_counted_thread(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture);
bool fm_counted_region(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture);
bool fm_counted_region_thread(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture);
bool fm_counted_interval(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture, double *ret_at);

/* Counts of an event, summed over all parts. */
struct fm_figure fm_counted_sum(const struct fm_recording *recording, unsigned event);

#endif
