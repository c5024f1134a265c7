/* The picture of a program as counters tell it: a recipe's formulas over what was counted. */
#ifndef FATHOM_MODEL_COUNTED_H
#define FATHOM_MODEL_COUNTED_H

#include "exact/simulated.h"
#include "model/picture.h"
#include "model/recipe.h"

struct fm_counted {
	const struct fm_recipe *recipe;
	const struct fm_machine *profile;             /* what this machine can do; NULL: not known */
	const struct fm_machine_description *machine; /* a simulated one instead; NULL: none */
	const struct fm_figure *counts;               /* of the recipe's events, in their order */
	struct fm_figure seconds;
	unsigned threads; /* that ran at the same time, to compare with what so many can achieve */
	struct fm_part part;
	uint64_t instances;
};

void fm_picture_from_counts(const struct fm_counted *counted, struct fm_picture *ret_picture);

/* What the counters of a simulated machine say of a part of a run: a picture, and the counts, for which there is room
   for each event of the recipe. */
void fm_picture_from_simulated(const struct fm_recipe *recipe, const struct fm_simulated_events *events,
                               const struct fm_machine_description *machine, const struct fm_engine_run *run,
                               const struct fm_part *part, struct fm_figure *counts, struct fm_picture *ret_picture);

/* What one thread did, for the balance between threads; adds it to a picture of all. */
void fm_picture_add_thread(struct fm_picture *picture, const struct fm_recipe *recipe, const struct fm_figure *counts,
                           unsigned thread);

#endif
