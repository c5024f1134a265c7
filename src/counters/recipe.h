/* Which events, put together how, tell what a program does: formulas that `fathom validate` found to hold on this
   machine first, the vendor's (groups/FAMILY/UTILISATION.txt) where there is none. */
#ifndef FATHOM_COUNTERS_RECIPE_H
#define FATHOM_COUNTERS_RECIPE_H

#include <jansson.h>

#include "base/error.h"
#include "base/figure.h"
#include "counters/event.h"
#include "counters/group.h"

enum fm_recipe_quantity {
#define RECIPE(identifier, name, per_level) FM_RECIPE_##identifier,
#include "counters/recipe.def"
#undef RECIPE
	FM_RECIPE_COUNT
};

enum { FM_RECIPE_ITEMS_MAX = 96 };

struct fm_recipe_item {
	enum fm_recipe_quantity quantity;
	char level[16]; /* "" when it has none */
	bool socket;    /* counts what all cores of the socket do, whosoever's program that is */
	bool validated;
	double error;     /* of a validated one, in the run where it was worst among those with much of it; relative */
	double peak_gbs;  /* at which it was seen to saturate; 0: not known */
	unsigned metric;  /* of the group it came from */
	char limits[160]; /* when it does not apply, "" when nothing is known */
};

struct fm_recipe {
	struct fm_group groups[2]; /* the vendor's, and what was validated */
	unsigned event_of[2][FM_GROUP_EVENTS_MAX];
	struct fm_recipe_item items[FM_RECIPE_ITEMS_MAX];
	unsigned item_count;
	char events[FM_EVENTS_MAX][96]; /* what has to be counted */
	unsigned event_count;
};

struct fm_recipe_wishes {
	const json_t *metrics;   /* of the profile; NULL: nothing was validated */
	const char *vendor_text; /* the vendor's group; NULL: there is none for this family */
	const char *vendor_name; /* its file, for messages */
	bool whole_machine;      /* everything is counted, so what a socket counts is as good as what a core does */
	/* Can it be counted here? NULL: everything can. */
	bool (*exists)(void *context, const char *event);
	void *context;
};

/* The vendor's group may say, after a line "Limits:" of its text, when a metric does not apply: "loads pending: counts
   waiting for arithmetic as well"; "loads pending PMC7: …" when only the formula PMC7 does not.

   -ENOTSUP when nothing can be told, with the reason. */
int fm_recipe_create(const struct fm_recipe_wishes *wishes, struct fm_recipe **ret_recipe, struct fm_error *error);
void fm_recipe_free(struct fm_recipe *recipe);

/* NULL when nothing tells it. */
const struct fm_recipe_item *fm_recipe_find(const struct fm_recipe *recipe, enum fm_recipe_quantity quantity,
                                            const char *level);

/* From the counts of the events, in their order. The interval holds what the counts' intervals make of it, and how far
   off a validated formula was at worst. `seconds` and `hertz` are for formulas that want them, NAN when they are not
   known. */
struct fm_figure fm_recipe_value(const struct fm_recipe *recipe, const struct fm_recipe_item *item,
                                 const struct fm_figure *counts, double seconds, double hertz, const char *unit);

/* "validated within 0.1 %: L1D:REPLACEMENT * 64", and when it does not apply. Returns text. */
const char *fm_recipe_describe(const struct fm_recipe *recipe, const struct fm_recipe_item *item, char *text,
                               size_t size);

#endif
