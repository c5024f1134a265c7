/* The picture of a program as counters tell it: a recipe's formulas over what was counted. */
#ifndef FATHOM_MODEL_COUNTED_H
#define FATHOM_MODEL_COUNTED_H

#include "counters/recipe.h"
#include "model/picture.h"
#include "simulator/simulated.h"

struct fm_counted {
	const struct fm_recipe *recipe;
	const struct fm_machine *profile;             /* what this machine can do; NULL: not known */
	const struct fm_machine_description *machine; /* a simulated one instead; NULL: none */
	const struct fm_figure *counts;               /* of the recipe's events, in their order */
	struct fm_figure seconds;
	struct fm_figure blocked; /* of the threads' time, in which they did not run */
	unsigned threads;         /* that ran at the same time, to compare with what so many can achieve */
	struct fm_part part;
	uint64_t instances;
	const struct fm_recording *recording;
};

void fm_picture_from_counts(const struct fm_counted *counted, struct fm_picture *ret_picture);

/* What the counters of a simulated machine say of a part of a recorded run: a picture, and the counts, for which there
   is room for each event of the recipe. */
void fm_picture_from_simulated(const struct fm_recipe *recipe, const struct fm_simulated_events *events,
                               const struct fm_recording *recording, const struct fm_part *part,
                               struct fm_figure *counts, struct fm_picture *ret_picture);

/* What one thread did, for the balance between threads; adds it to a picture of all. */
void fm_picture_add_thread(struct fm_picture *picture, const struct fm_recipe *recipe, const struct fm_figure *counts,
                           unsigned thread);

/* Pictures of a recording that counters of this machine made. */
struct fm_counted_view;

/* The formulas are chosen again as they were when it was recorded. */
int fm_counted_open(const struct fm_recording *recording, struct fm_counted_view **ret_view, struct fm_error *error);
void fm_counted_close(struct fm_counted_view *view);

/* Everything; then, false after the last: threads of running processes, regions with all their threads, regions as each
   thread ran them, and intervals of time. */
void fm_counted_whole(struct fm_counted_view *view, struct fm_picture *ret_picture);
bool fm_counted_thread(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture);
bool fm_counted_region(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture);
bool fm_counted_region_thread(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture);
bool fm_counted_interval(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture, double *ret_at);

/* What was counted of an event over all parts. */
struct fm_figure fm_counted_sum(const struct fm_recording *recording, unsigned event);

#endif
