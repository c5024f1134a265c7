#include "colours/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "colours/tuning.h"

/* Chases over one or two lines of many pages. A plain index puts lines at one offset into the colours' sets, so that
   more lines than these hold conflict. An index that folds d bits of the offset spreads them over 2^d times as many
   sets: the first conflicting number of pages gives d. Then for each v: lines at o and o ^ v of enough pages to
   conflict only if both are in the same sets. */

enum { ATTEMPTS = 20, CHECKS = 3, REPEATS = 5, MOST_BITS = 5, STEPS = 30000, OFFSETS = 16, MOST_PAGES = 5200 };

enum pattern { ONE_OFFSET, MANY_OFFSETS, TWO_OFFSETS };

struct work {
	struct fm_colours *colours;
	char **pages;
	unsigned count;
	char **lines;
};

static double chase(struct work *work, enum pattern pattern, unsigned pages, unsigned vector)
{
	struct fm_colours *colours = work->colours;
	double times[REPEATS];

	for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
		unsigned line = (unsigned)fm_random_below(&colours->random, FM_PAGE_LINES), count = 0;
		unsigned step = 2 * (unsigned)fm_random_below(&colours->random, FM_PAGE_LINES / 2) + 1;

		fm_colours_shuffle(&colours->random, work->pages, work->count);
		for (unsigned i = 0; i < pages; i++) {
			unsigned at = pattern == MANY_OFFSETS ? (line + i % OFFSETS * step) % FM_PAGE_LINES : line;

			work->lines[count++] = work->pages[i] + at * FM_LINE_BYTES;
			if (pattern == TWO_OFFSETS)
				work->lines[count++] = work->pages[i] + (at ^ vector) * FM_LINE_BYTES;
		}
		fm_colours_shuffle(&colours->random, work->lines, count);
		times[repeat] = colours->probe.chase(colours->probe.context, work->lines, count, STEPS);
	}
	fm_statistics_sort(times, REPEATS);
	return times[REPEATS / 2];
}

/* Everything in twice as many pages as the cache has room for. */
static double chase_beyond(struct work *work, unsigned pages)
{
	double least = 0;

	for (unsigned i = 0; i < 3; i++) {
		double ns;

		fm_colours_shuffle(&work->colours->random, work->pages, work->count);
		for (unsigned k = 0; k < pages * FM_PAGE_LINES; k++)
			work->lines[k] = work->pages[k / FM_PAGE_LINES] + (size_t)(k % FM_PAGE_LINES) * FM_LINE_BYTES;
		fm_colours_shuffle(&work->colours->random, work->lines, pages * FM_PAGE_LINES);
		ns =
		    work->colours->probe.chase(work->colours->probe.context, work->lines, pages * FM_PAGE_LINES, STEPS);
		least = !i || ns < least ? ns : least;
	}
	return least;
}

static bool is_closed(uint64_t space)
{
	for (unsigned a = 1; a < FM_PAGE_LINES; a++)
		for (unsigned b = 1; b < FM_PAGE_LINES; b++)
			if ((space >> a & 1) && (space >> b & 1) && !(space >> (a ^ b) & 1))
				return false;
	return true;
}

/* The vectors that conflict; 0: they are no space. */
static uint64_t find_space(struct work *work, unsigned bits, double difference)
{
	unsigned room = work->colours->geometry.colours * work->colours->geometry.ways << bits,
	         order[FM_PAGE_LINES - 1], size = 1u << bits;
	double times[FM_PAGE_LINES] = {0};
	uint64_t space = 1;

	for (unsigned v = 1; v < FM_PAGE_LINES; v++) {
		times[v] = chase(work, TWO_OFFSETS, room * 9 / 16, v);
		order[v - 1] = v;
	}
	/* the slowest first */
	for (unsigned i = 0; i + 1 < FM_PAGE_LINES; i++)
		for (unsigned k = i + 1; k + 1 < FM_PAGE_LINES; k++)
			if (times[order[k]] > times[order[i]]) {
				unsigned v = order[i];

				order[i] = order[k];
				order[k] = v;
			}
	for (unsigned i = 0; i + 1 < size; i++)
		space |= 1ull << order[i];
	if (!is_closed(space) || times[order[size - 2]] - times[order[size - 1]] < INDEX_APART * difference)
		return 0;
	return space;
}

/* Number of folded bits of the offset; -1: unknown. */
static int find_bits(struct work *work, double *near_ns, double *beyond_ns)
{
	const struct fm_colours_geometry *geometry = &work->colours->geometry;
	unsigned room = geometry->colours * geometry->ways;

	*near_ns = chase(work, ONE_OFFSET, 3 * geometry->first_ways, 0);
	*beyond_ns = chase_beyond(work, 2 * room);
	for (int bits = 0; bits <= MOST_BITS; bits++) {
		unsigned pages = room * 5 / 4 << bits;

		if (pages > work->count || pages > MOST_PAGES)
			break;
		if (chase(work, ONE_OFFSET, pages, 0) - chase(work, MANY_OFFSETS, pages, 0) >
		    INDEX_CONFLICTS * (*beyond_ns - *near_ns))
			return bits;
	}
	return -1;
}

static uint64_t find_once(struct work *work, double *near_ns, double *beyond_ns)
{
	int bits = find_bits(work, near_ns, beyond_ns);

	return bits > 0 ? find_space(work, (unsigned)bits, *beyond_ns - *near_ns) : bits == 0;
}

/* Lines whose numbers differ by a vector of the hash conflict in pages whose lines elsewhere do not. */
static bool fits_once(struct work *work, uint64_t hash)
{
	double near_ns, beyond_ns, apart;
	int bits = find_bits(work, &near_ns, &beyond_ns);
	unsigned pages, other = 0;

	if (bits < 0 || __builtin_popcountll(hash) != 1 << bits)
		return false;
	if (!bits)
		return true;
	pages = (work->colours->geometry.colours * work->colours->geometry.ways << bits) * 9 / 16;
	while (hash >> other & 1)
		other++;
	apart = chase(work, TWO_OFFSETS, pages, other);
	for (unsigned v = 1; v < FM_PAGE_LINES; v++)
		if ((hash >> v & 1) && chase(work, TWO_OFFSETS, pages, v) - apart < INDEX_APART * (beyond_ns - near_ns))
			return false;
	return true;
}

static int begin(struct work *work, struct fm_error *error)
{
	const struct fm_colours_geometry *geometry = &work->colours->geometry;
	unsigned beyond = 2 * geometry->colours * geometry->ways;

	if (beyond > work->count)
		return fm_error_set(error, EINVAL, "%u pages are too few to look at a cache of %u", work->count,
		                    beyond / 2);
	work->lines = calloc((size_t)(beyond > MOST_PAGES ? beyond : MOST_PAGES) * FM_PAGE_LINES, sizeof(*work->lines));
	return work->lines ? 0 : fm_error_set(error, ENOMEM, "out of memory");
}

int fm_colours_check_hash(struct fm_colours *colours, char **pages, unsigned count, struct fm_error *error)
{
	struct work work = {.colours = colours, .pages = pages, .count = count};
	bool fits = false;
	int r = begin(&work, error);

	for (unsigned i = 0; i < CHECKS && !r && !fits; i++)
		fits = fits_once(&work, colours->hash);
	free(work.lines);
	return r || fits ? r : fm_error_set(error, ENOTSUP, "the index of the L2 has changed since the last run");
}

int fm_colours_find_hash(struct fm_colours *colours, char **pages, unsigned count, double *ret_near_ns,
                         double *ret_beyond_ns, struct fm_error *error)
{
	struct work work = {.colours = colours, .pages = pages, .count = count};
	double near_ns = 0, beyond_ns = 0;
	uint64_t hash = 0;
	int r = begin(&work, error);

	if (r)
		return r;
	for (unsigned i = 0; i < ATTEMPTS && !hash; i++)
		hash = find_once(&work, &near_ns, &beyond_ns);
	free(work.lines);
	if (!hash)
		return fm_error_set(
		    error, ENOTSUP,
		    "set conflicts do not fit an L2 of %u ways and %u sets: it has another index function, the machine "
		    "is too busy, or the hypervisor reports a wrong geometry",
		    colours->geometry.ways, colours->geometry.sets);
	colours->hash = hash;
	*ret_near_ns = near_ns;
	*ret_beyond_ns = beyond_ns;
	return 0;
}
