#include "colours/sets.h"

enum { LEAST_LINES = 8, CHASES = 3, CHASE_STEPS = 20000, ATTEMPTS = 20, RETAKEN = 50 };

void fm_colours_shuffle(struct fm_random *random, char **pages, unsigned count)
{
	for (unsigned i = count; i > 1; i--) {
		unsigned other = (unsigned)fm_random_below(random, i);
		char *page = pages[i - 1];

		pages[i - 1] = pages[other];
		pages[other] = page;
	}
}

static bool has_equal_strides(const struct fm_colours_lines *lines)
{
	for (unsigned i = 2; i < lines->count; i++)
		if (lines->offsets[i] - lines->offsets[i - 1] == lines->offsets[i - 1] - lines->offsets[i - 2])
			return true;
	return false;
}

void fm_colours_choose_lines(struct fm_colours *colours)
{
	struct fm_colours_lines *lines = &colours->lines;
	uint64_t used = 0;

	lines->count = 0;
	for (unsigned i = 0; i < FM_PAGE_LINES && lines->count < LEAST_LINES; i++) {
		/* spread over the page */
		unsigned line = (i * 37 + 18) % FM_PAGE_LINES;

		if (used >> line & 1)
			continue;
		for (unsigned v = 0; v < FM_PAGE_LINES; v++)
			if (colours->hash >> v & 1) {
				used |= 1ull << (line ^ v);
				lines->offsets[lines->count++] = (line ^ v) * FM_LINE_BYTES;
			}
	}
	for (unsigned attempt = 0; attempt < 20000 && (!attempt || has_equal_strides(lines)); attempt++)
		for (unsigned i = lines->count; i > 1; i--) {
			unsigned other = (unsigned)fm_random_below(&colours->random, i);
			uint32_t offset = lines->offsets[i - 1];

			lines->offsets[i - 1] = lines->offsets[other];
			lines->offsets[other] = offset;
		}
	lines->warm = lines->offsets[lines->count - 1];
	for (unsigned line = FM_PAGE_LINES; line-- > 0;)
		if (!(used >> line & 1)) {
			lines->warm = line * FM_LINE_BYTES;
			break;
		}
	colours->longest = lines->count * 500 + 2000;
}

/* After pages of any colour, enough for the first cache and too few for this one: the target is still there. */
static bool control_fails(struct fm_colours *colours, char *target)
{
	char *pages[2 * FM_COLOURS_WAYS_MOST + 4];
	unsigned count = 2 * colours->geometry.first_ways + 4;

	for (unsigned i = 0; i < count; i++)
		do
			pages[i] = colours->others[fm_random_below(&colours->random, colours->other_count)];
		while (pages[i] == target);
	return colours->probe.reload(colours->probe.context, &colours->lines, target, pages, count, 1) >
	       colours->threshold;
}

unsigned fm_colours_score(struct fm_colours *colours, char *target, char *const *pages, unsigned count, unsigned passes,
                          unsigned trials)
{
	unsigned out = 0, retaken = 0;

	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		unsigned controls = 0, failed = 0;

		out = 0;
		for (unsigned i = 0; i < trials; i++) {
			uint32_t cycles;

			if (i % 4 == 0 && trials > 1) {
				controls++;
				failed += control_fails(colours, target);
			}
			cycles = colours->probe.reload(colours->probe.context, &colours->lines, target, pages, count,
			                               passes);
			while (cycles > colours->longest && retaken++ < RETAKEN)
				cycles = colours->probe.reload(colours->probe.context, &colours->lines, target, pages,
				                               count, passes);
			out += cycles > colours->threshold;
		}
		if (failed * 4 <= controls)
			break;
	}
	return out;
}

unsigned fm_colours_others(const struct fm_colours_set *set, const char *page, char **ret_pages)
{
	unsigned count = 0;

	for (unsigned i = 0; i < set->count; i++)
		if (set->pages[i] != page)
			ret_pages[count++] = set->pages[i];
	return count;
}

static unsigned score_of(struct fm_colours *colours, unsigned colour, char *page, unsigned trials)
{
	char *pages[FM_COLOURS_SET_PAGES];
	unsigned count = fm_colours_others(&colours->sets[colour], page, pages);

	return fm_colours_score(colours, page, pages, count, colours->passes, trials);
}

bool fm_colours_is(struct fm_colours *colours, unsigned colour, char *page, bool sure)
{
	return score_of(colours, colour, page, 1) && score_of(colours, colour, page, 4) == 4 &&
	       (!sure || score_of(colours, colour, page, 9) >= 7);
}

int fm_colours_find(struct fm_colours *colours, char *page, unsigned first, unsigned among)
{
	for (unsigned i = 0; i < among; i++) {
		unsigned colour = (first + i) % among;

		if (fm_colours_is(colours, colour, page, true))
			return (int)colour;
	}
	return -1;
}

double fm_colours_chase(struct fm_colours *colours, char *const *pages, unsigned count, char **lines)
{
	double least = 0;

	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < FM_PAGE_LINES; k++)
			lines[i * FM_PAGE_LINES + k] = pages[i] + k * FM_LINE_BYTES;
	for (unsigned i = 0; i < CHASES; i++) {
		double ns;

		fm_colours_shuffle(&colours->random, lines, count * FM_PAGE_LINES);
		ns = colours->probe.chase(colours->probe.context, lines, count * FM_PAGE_LINES, CHASE_STEPS);
		if (!i || ns < least)
			least = ns;
	}
	return least;
}
