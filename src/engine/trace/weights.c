#include "engine/trace/weights.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/balance.h"
#include "engine/account/objects.h"
#include "engine/account/places.h"

/* Where a kind of record has its numbers: all in a row. */
struct kind {
	size_t from, bytes, size;
};

#define NUMBERS_OF(type, first, last)                                                                               \
	{                                                                                                           \
		offsetof(type, first), offsetof(type, last) + sizeof(((type *)NULL)->last) - offsetof(type, first), \
		    sizeof(type)                                                                                    \
	}

static const struct kind place_kind = NUMBERS_OF(struct fm_result_place, loads, irregular),
                         object_kind = NUMBERS_OF(struct fm_result_object, loads, moved),
                         region_kind = NUMBERS_OF(struct fm_result_region, work, timing),
                         whole_kind = NUMBERS_OF(struct fm_result_weighted, work, counts);

enum { ROOM = 64, LATEST = FM_WEIGHED_KINDS, BEFORE, BLOCKS };

static unsigned numbers_of(const struct kind *kind)
{
	return (unsigned)(kind->bytes / sizeof(uint64_t));
}

static bool make_room(struct fm_weighted *weighted, const struct kind *kind, unsigned records)
{
	unsigned more = records + records / 4, room = (more + ROOM - 1) / ROOM * ROOM;
	size_t each = BLOCKS * numbers_of(kind);
	double *larger;

	if (records <= weighted->records)
		return true;
	larger = reallocarray(weighted->numbers, room, each * sizeof(*larger));
	if (!larger)
		return false;
	memset(larger + weighted->records * each, 0, (room - weighted->records) * each * sizeof(*larger));
	weighted->numbers = larger;
	weighted->records = room;
	return true;
}

static uint64_t *at(void *records, const struct kind *kind, unsigned index)
{
	return (uint64_t *)((char *)records + index * kind->size + kind->from);
}

/* The instructions that the latest window and the one before represent in addition. */
struct portion {
	double latest, before;
	unsigned latest_kind, before_kind;
};

static void add(double *sums, unsigned count, struct portion portion)
{
	const double *latest = sums + (size_t)LATEST * count, *before = sums + (size_t)BEFORE * count;
	double *to_latest = sums + (size_t)portion.latest_kind * count,
	       *to_before = sums + (size_t)portion.before_kind * count;

	for (unsigned i = 0; i < count; i++)
		to_latest[i] += portion.latest * latest[i];
	for (unsigned i = 0; i < count; i++)
		to_before[i] += portion.before * before[i];
}

static void take_one(uint64_t *numbers, double *sums, unsigned count, double instructions)
{
	double *latest = sums + (size_t)LATEST * count, *before = sums + (size_t)BEFORE * count;

	for (unsigned i = 0; i < count; i++) {
		before[i] = latest[i];
		latest[i] = (double)numbers[i] / instructions;
		numbers[i] = 0;
	}
}

/* Most places are in few windows: those that were in none of the last three need not be looked at closely. The first
   two numbers are loads and stores, or instructions. */
static bool is_idle(const uint64_t *numbers, const double *latest, const double *before)
{
	return !numbers[0] && !numbers[1] && !(latest[0] > 0) && !(latest[1] > 0) && !(before[0] > 0) &&
	       !(before[1] > 0);
}

static void take(struct fm_weighted *weighted, const struct kind *kind, void *records, unsigned count,
                 double instructions, struct portion portion)
{
	unsigned each = numbers_of(kind);

	for (unsigned i = 0; i < count && i < weighted->records; i++) {
		double *sums = weighted->numbers + (size_t)BLOCKS * each * i;
		uint64_t *numbers = at(records, kind, i);

		if (is_idle(numbers, sums + (size_t)LATEST * each, sums + (size_t)BEFORE * each))
			continue;
		add(sums, each, portion);
		take_one(numbers, sums, each, instructions);
	}
}

static unsigned kind_of(double strings)
{
	return strings > 0.5;
}

/* The gap before the latest window. The first window represents everything before it. */
static struct portion split(const struct fm_weights *weights)
{
	const struct fm_weighing *latest = &weights->latest;
	double share = weights->windows > 1 ? fm_gap_share(&latest->gap) : 0;

	return (struct portion){.latest = (1 - share) * latest->gap.instructions,
	                        .before = share * latest->gap.instructions,
	                        .latest_kind = kind_of(latest->strings[0]),
	                        .before_kind = kind_of(latest->strings[1])};
}

static void add_sums(struct fm_weights *weights, struct portion portion)
{
	const double *strings = weights->latest.strings;

	weights->sums[portion.latest_kind].strings += portion.latest * strings[0];
	weights->sums[portion.latest_kind].plain += portion.latest * (1 - strings[0]);
	weights->sums[portion.before_kind].strings += portion.before * strings[1];
	weights->sums[portion.before_kind].plain += portion.before * (1 - strings[1]);
}

/* Factors with which each kind has as much weight as was counted of it. */
static void find_factors(const struct fm_weights *weights, double executed, double string_lines,
                         double factors[FM_WEIGHED_KINDS])
{
	_Static_assert(FM_WEIGHED_KINDS == 2, "two equations");
	fm_balance((const double[2][2]){{weights->sums[0].plain, weights->sums[1].plain},
	                                {weights->sums[0].strings, weights->sums[1].strings}},
	           (const double[2]){executed - string_lines, string_lines}, factors);
}

void fm_weights_take(struct fm_weights *weights, struct fm_account *account, const struct fm_weighed *window)
{
	struct fm_results *results = account->results;
	struct fm_weighing *latest = &weights->latest;
	struct fm_gap next = {.instructions = fmax(0, window->executed - latest->executed),
	                      .seconds = window->ended - latest->ended};
	struct portion portion;

	if (!(window->instructions > 0) || !make_room(&weights->places, &place_kind, results->site_count) ||
	    !make_room(&weights->objects, &object_kind, results->object_count) ||
	    !make_room(&weights->regions, &region_kind, results->region_count) ||
	    !make_room(&weights->whole, &whole_kind, 1))
		return;
	for (unsigned i = 0; i < results->site_count; i++)
		if (fm_places_is_used(&results->sites[i]))
			fm_objects_settle(account, &results->sites[i]);
	latest->gap.after = fm_gap_pace(&next);
	portion = split(weights);
	add_sums(weights, portion);
	take(&weights->places, &place_kind, results->places, results->site_count, window->instructions, portion);
	take(&weights->objects, &object_kind, results->objects, results->object_count, window->instructions, portion);
	take(&weights->regions, &region_kind, results->regions, results->region_count, window->instructions, portion);
	take(&weights->whole, &whole_kind, &results->weighted, 1, window->instructions, portion);
	next.before = weights->windows > 1 ? fm_gap_pace(&latest->gap) : 0;
	latest->gap = next;
	latest->strings[1] = latest->strings[0];
	latest->strings[0] = fmin(window->string_lines / window->instructions, 1);
	latest->executed += next.instructions;
	latest->ended = window->ended;
	weights->windows++;
}

static void give(const struct fm_weighted *weighted, const struct kind *kind, void *records, unsigned count,
                 struct portion portion, const double factors[FM_WEIGHED_KINDS])
{
	unsigned each = numbers_of(kind);

	for (unsigned i = 0; i < count && i < weighted->records; i++) {
		double *sums = weighted->numbers + (size_t)BLOCKS * each * i;
		uint64_t *numbers = at(records, kind, i);

		add(sums, each, portion);
		for (unsigned k = 0; k < each; k++)
			numbers[k] += (uint64_t)llround(factors[0] * sums[k] + factors[1] * sums[each + k]);
	}
}

void fm_weights_return(struct fm_weights *weights, struct fm_results *results, double executed, double string_lines)
{
	struct portion portion = split(weights);
	double factors[FM_WEIGHED_KINDS];

	portion.latest += fmax(0, executed - weights->latest.executed);
	add_sums(weights, portion);
	find_factors(weights, executed, string_lines, factors);
	give(&weights->places, &place_kind, results->places, results->site_count, portion, factors);
	give(&weights->objects, &object_kind, results->objects, results->object_count, portion, factors);
	give(&weights->regions, &region_kind, results->regions, results->region_count, portion, factors);
	give(&weights->whole, &whole_kind, &results->weighted, 1, portion, factors);
}

void fm_weights_destroy(struct fm_weights *weights)
{
	free(weights->places.numbers);
	free(weights->objects.numbers);
	free(weights->regions.numbers);
	free(weights->whole.numbers);
}
