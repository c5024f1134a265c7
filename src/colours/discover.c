#include "colours/discover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "colours/hash.h"
#include "base/statistics.h"
#include "colours/tuning.h"

enum {
	CALIBRATIONS = 8,
	CALIBRATION_HITS = 201,
	CALIBRATION_MISSES = 41,
	PASSES = 3,
	DISCOVERIES = 5,
	FAILURES = 400,
	STUCK = 12
};

unsigned fm_colours_pages_wanted(const struct fm_colours_geometry *geometry)
{
	unsigned room = geometry->colours * geometry->ways;

	return 8 * room > 4096 ? 8 * room : 4096;
}

/* The threshold: cycles for lines that are in the cache and for lines that are not, seen again and again. The lowest of
   several, since slow phases raise both. */

static double quantile(double *values, unsigned count, double share)
{
	fm_statistics_sort(values, count);
	return fm_statistics_quantile_sorted(values, count, share);
}

static int calibrate(struct fm_colours *colours, char **pages, unsigned count, struct fm_error *error)
{
	const struct fm_colours_geometry *geometry = &colours->geometry;
	unsigned few = 2 * geometry->first_ways + 4, many = 3 * geometry->colours * geometry->ways;
	double hits[CALIBRATION_HITS], misses[CALIBRATION_MISSES];

	if (many > count - 1)
		many = count - 1;
	colours->threshold = 0;
	for (unsigned round = 0; round < CALIBRATIONS; round++) {
		double high, low;

		for (unsigned i = 0; i < CALIBRATION_HITS; i++) {
			fm_colours_shuffle(&colours->random, pages, few + 1);
			/* others come to the front in the next round */
			char *page = pages[few];
			unsigned other = (unsigned)fm_random_below(&colours->random, count);

			hits[i] = colours->probe.reload(colours->probe.context, &colours->lines, page, pages, few, 1);
			pages[few] = pages[other];
			pages[other] = page;
		}
		for (unsigned i = 0; i < CALIBRATION_MISSES; i++)
			misses[i] = colours->probe.reload(colours->probe.context, &colours->lines, pages[many - i],
			                                  pages, many - CALIBRATION_MISSES, 1);
		high = quantile(hits, CALIBRATION_HITS, 1 - CALIBRATION_QUANTILE);
		low = quantile(misses, CALIBRATION_MISSES, CALIBRATION_QUANTILE);
		if (low > high && (!colours->threshold || (low + high) / 2 < colours->threshold))
			colours->threshold = (uint32_t)((low + high) / 2);
	}
	if (!colours->threshold)
		return fm_error_set(
		    error, ENOTSUP,
		    "loads from the L2 and from the next level have the same latency here, or the machine is too busy "
		    "to distinguish them");
	colours->others = pages;
	colours->other_count = count;
	return 0;
}

/* Group testing */

static bool evicts(struct fm_colours *colours, char *target, char *const *pages, unsigned count)
{
	unsigned ways = colours->geometry.ways,
	         passes = count > 20 * ways  ? 1
	                  : count > 6 * ways ? PASSES
	                                     : FM_COLOURS_PASSES_MOST,
	         out;
	bool large = count > 6 * ways;

	/* most answers are clear at once */
	out = fm_colours_score(colours, target, pages, count, passes, 3);
	if (out <= 1)
		return false;
	out += fm_colours_score(colours, target, pages, count, passes, 6);
	if (out <= 5)
		return false;
	return large || out + fm_colours_score(colours, target, pages, count, passes, 12) >= 16;
}

/* Removes groups without which the rest still evicts the target, down to the number of ways. Caches that are not LRU
   need some more pages. */
static unsigned reduce(struct fm_colours *colours, char *target, char **pages, unsigned count, char **room)
{
	unsigned ways = colours->geometry.ways, stuck = 0;

	while (count > ways && stuck < STUCK) {
		unsigned groups = ways + 1 < count ? ways + 1 : count;
		bool smaller = false;

		fm_colours_shuffle(&colours->random, pages, count);
		for (unsigned group = 0; group < groups && !smaller; group++) {
			unsigned from = count * group / groups, to = count * (group + 1) / groups, left = 0;

			for (unsigned i = 0; i < count; i++)
				if (i < from || i >= to)
					room[left++] = pages[i];
			if (from < to && evicts(colours, target, room, left)) {
				memcpy(pages, room, left * sizeof(*pages));
				count = left;
				smaller = true;
			}
		}
		stuck = smaller ? 0 : stuck + 1;
	}
	return count;
}

/* Each page of the set is driven out by the others and the target; those that are not may be of another colour, and are
   left out. The target, which is of this colour for certain, can take the place of one. */
static bool make_mutual(struct fm_colours *colours, struct fm_colours_set *set, char *target)
{
	unsigned left = 0;
	bool mutual[FM_COLOURS_SET_PAGES] = {false};

	for (unsigned i = 0; i < set->count; i++) {
		char *pages[FM_COLOURS_SET_PAGES + 1];
		unsigned count = fm_colours_others(set, set->pages[i], pages);

		pages[count++] = target;
		mutual[i] = fm_colours_score(colours, set->pages[i], pages, count, FM_COLOURS_PASSES_MOST, 15) >= 10;
	}
	for (unsigned i = 0; i < set->count; i++)
		if (mutual[i])
			set->pages[left++] = set->pages[i];
	if (left + 1 == colours->geometry.ways)
		set->pages[left++] = target;
	set->count = left;
	return left >= colours->geometry.ways;
}

/* The least number of passes in which a set nearly always evicts pages of its colour: two for LRU, more otherwise. */
static unsigned fewest_passes(struct fm_colours *colours, const struct fm_colours_set *set)
{
	enum { TRIALS = 4 };

	for (unsigned passes = 2; passes < FM_COLOURS_PASSES_MOST; passes++) {
		unsigned out = 0;

		for (unsigned i = 0; i < set->count; i++) {
			char *pages[FM_COLOURS_SET_PAGES];
			unsigned count = fm_colours_others(set, set->pages[i], pages);

			out += fm_colours_score(colours, set->pages[i], pages, count, passes, TRIALS);
		}
		if (100 * out >= 97 * TRIALS * set->count)
			return passes;
	}
	return FM_COLOURS_PASSES_MOST;
}

static bool holds(const struct fm_colours_set *set, const char *page)
{
	for (unsigned i = 0; i < set->count; i++)
		if (set->pages[i] == page)
			return true;
	return false;
}

struct rest {
	char **pages, **room, **more;
	unsigned count;
};

/* The set of one more colour; false: it did not work out this time. */
static bool find_set(struct fm_colours *colours, struct rest *rest, struct fm_colours_set *set)
{
	const unsigned ways = colours->geometry.ways, most = colours->geometry.colours * ways * 5 / 2;
	unsigned wanted = ways * 3 / 2 < ways + 4 ? ways + 4 : ways * 3 / 2, count = rest->count - 1, minimal;
	char *target;

	fm_colours_shuffle(&colours->random, rest->pages, rest->count);
	target = rest->pages[0];
	if (count > most)
		count = most;
	memcpy(rest->room, rest->pages + 1, count * sizeof(*rest->room));
	if (!evicts(colours, target, rest->room, count))
		return false;
	minimal = reduce(colours, target, rest->room, count, rest->more);
	if (minimal > 2 * ways || minimal > FM_COLOURS_SET_PAGES ||
	    fm_colours_score(colours, target, rest->room, minimal, FM_COLOURS_PASSES_MOST, 31) < 25)
		return false;
	set->count = minimal;
	memcpy(set->pages, rest->room, minimal * sizeof(*set->pages));
	if (!make_mutual(colours, set, target))
		return false;
	minimal = set->count;
	memcpy(rest->room, set->pages, minimal * sizeof(*set->pages));
	for (unsigned i = 0; i < rest->count && set->count < wanted; i++)
		if (!holds(set, rest->pages[i]) &&
		    fm_colours_score(colours, rest->pages[i], rest->room, minimal, FM_COLOURS_PASSES_MOST, 3) >= 2 &&
		    fm_colours_score(colours, rest->pages[i], rest->room, minimal, FM_COLOURS_PASSES_MOST, 21) >= 17)
			set->pages[set->count++] = rest->pages[i];
	return set->count >= ways + 2;
}

/* Takes the pages of the last colour out. */
static void remove_colour(struct fm_colours *colours, struct rest *rest)
{
	const struct fm_colours_set *set = &colours->sets[colours->count - 1];
	unsigned left = 0;

	for (unsigned i = 0; i < rest->count; i++) {
		char *page = rest->pages[i], *pages[FM_COLOURS_SET_PAGES];
		unsigned count = fm_colours_others(set, page, pages);

		if (fm_colours_score(colours, page, pages, count, colours->passes, 3) < 2 ||
		    fm_colours_score(colours, page, pages, count, colours->passes, 9) < 6)
			rest->pages[left++] = page;
	}
	rest->count = left;
}

/* Returns how many pages are left without a colour. */
static unsigned find_all(struct fm_colours *colours, struct rest *rest)
{
	const struct fm_colours_geometry *geometry = &colours->geometry;

	colours->count = 0;
	colours->passes = FM_COLOURS_PASSES_MOST;
	for (unsigned failed = 0;
	     rest->count > geometry->ways + 1 && failed < FAILURES && colours->count < geometry->colours;) {
		if (!find_set(colours, rest, &colours->sets[colours->count])) {
			failed++;
			/* half of the pages do not drive a page out: these are not the sets of this cache */
			if (failed > 40 && !colours->count)
				break;
			continue;
		}
		if (!colours->count++)
			colours->passes = fewest_passes(colours, &colours->sets[0]);
		remove_colour(colours, rest);
	}
	return rest->count;
}

int fm_colours_discover(struct fm_colours *colours, char **pages, unsigned count, struct fm_colours_found *ret_found,
                        struct fm_error *error)
{
	const struct fm_colours_geometry *geometry = &colours->geometry;
	unsigned room = 4 * geometry->colours * geometry->ways;
	struct fm_colours_found found = {0};
	struct rest rest = {0};
	int r = fm_colours_geometry_check(geometry, error);

	if (!r && count < fm_colours_pages_wanted(geometry))
		r = fm_error_set(error, EINVAL, "%u pages are too few to find colours with", count);
	fm_colours_shuffle(&colours->random, pages, count);
	if (!r)
		r = colours->hash
		        ? fm_colours_check_hash(colours, pages, count, error)
		        : fm_colours_find_hash(colours, pages, count, &found.near_ns, &found.beyond_ns, error);
	if (r)
		return r;
	fm_colours_choose_lines(colours);
	r = calibrate(colours, pages, count, error);
	if (r)
		return r;
	rest.pages = calloc(3 * (size_t)room, sizeof(*rest.pages));
	if (!rest.pages)
		return fm_error_set(error, ENOMEM, "out of memory");
	rest.room = rest.pages + room;
	rest.more = rest.room + room;
	for (found.attempts = 1; found.attempts <= DISCOVERIES; found.attempts++) {
		rest.count = room;
		fm_colours_shuffle(&colours->random, pages, count);
		memcpy(rest.pages, pages, room * sizeof(*pages));
		found.left = find_all(colours, &rest);
		if (colours->count == geometry->colours && found.left <= WITHOUT_COLOUR * room)
			break;
	}
	free(rest.pages);
	if (colours->count != geometry->colours || found.left > WITHOUT_COLOUR * room)
		return fm_error_set(
		    error, ENOTSUP,
		    "the L2's page colours were not found: %u instead of %u, and %u of %u pages have none; the machine "
		    "is too busy, or reports a wrong L2 geometry",
		    colours->count, geometry->colours, found.left, room);
	*ret_found = found;
	return 0;
}

bool fm_colours_recheck(struct fm_colours *colours)
{
	for (unsigned colour = 0; colour < colours->count; colour++) {
		struct fm_colours_set *set = &colours->sets[colour];
		unsigned other = (colour + 1) % colours->count;

		for (unsigned i = 0; i < set->count;) {
			if (fm_colours_is(colours, colour, set->pages[i], false) ||
			    fm_colours_is(colours, colour, set->pages[i], false))
				i++;
			else
				set->pages[i] = set->pages[--set->count];
		}
		if (set->count < colours->geometry.ways + 2 || fm_colours_is(colours, other, set->pages[0], true))
			return false;
	}
	return true;
}

double fm_colours_disagreement(struct fm_colours *colours, char *const *pages, unsigned count)
{
	unsigned differ = 0;

	for (unsigned i = 0; i < count; i++) {
		int first = fm_colours_find(colours, pages[i], 0, colours->count),
		    second = fm_colours_find(
		        colours, pages[i], (unsigned)fm_random_below(&colours->random, colours->count), colours->count);

		differ += first < 0 || first != second;
	}
	return count ? (double)differ / count : 0;
}
