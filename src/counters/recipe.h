/* Formulas over events for the behaviour of a program: confirmed by `fathom validate` on this machine, else the
   vendor's (groups/FAMILY/UTILISATION.txt). */
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
	char level[16]; /* "" without one */
	bool socket;    /* counts all cores of the socket, including other programs */
	bool validated;
	double error;     /* largest relative error of a validated formula among runs with high counts */
	double peak_gbs;  /* bandwidth of saturation; 0: unknown */
	unsigned metric;  /* index in its group */
	char limits[160]; /* conditions in which the formula fails; "": none known */
};

struct fm_recipe {
	struct fm_group groups[2]; /* the vendor's group and the validated one */
	unsigned event_of[2][FM_GROUP_EVENTS_MAX];
	struct fm_recipe_item items[FM_RECIPE_ITEMS_MAX];
	unsigned item_count;
	char events[FM_EVENTS_MAX][96]; /* the events to count */
	unsigned event_count;
};

struct fm_recipe_wishes {
	const json_t *metrics;   /* validated metrics of the profile; NULL: none */
	const char *vendor_text; /* the vendor's group; NULL: none for this family */
	const char *vendor_name; /* file of the vendor's group, for messages */
	bool whole_machine;      /* system-wide counting, so that counts of sockets are as good as those of cores */
	/* true if an event can be counted here; NULL: all events */
	bool (*exists)(void *context, const char *event);
	void *context;
};

/* Makes the recipe. After a line "Limits:" the vendor's group may have conditions in which a metric fails: "loads
   pending: counts waiting for arithmetic as well"; "loads pending PMC7: …" for a single formula. -ENOTSUP with the
   reason if no formula applies. */
int fm_recipe_create(const struct fm_recipe_wishes *wishes, struct fm_recipe **ret_recipe, struct fm_error *error);
void fm_recipe_free(struct fm_recipe *recipe);

/* NULL without a formula. */
const struct fm_recipe_item *fm_recipe_find(const struct fm_recipe *recipe, enum fm_recipe_quantity quantity,
                                            const char *level);

/* The value from the counts of the events, in their order. Its interval combines the counts' intervals with the error
   of a validated formula. `seconds` and `hertz` are NAN if unknown. */
struct fm_figure fm_recipe_value(const struct fm_recipe *recipe, const struct fm_recipe_item *item,
                                 const struct fm_figure *counts, double seconds, double hertz, const char *unit);

/* "validated within 0.1 %: L1D:REPLACEMENT * 64", and its conditions. Returns text. */
const char *fm_recipe_describe(const struct fm_recipe *recipe, const struct fm_recipe_item *item, char *text,
                               size_t size);

#endif
