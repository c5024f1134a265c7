#include "measure/cycle.h"

/* A linear congruence walks 2^bits places in one cycle; they are scrambled into numbers of lines. Numbers beyond the
   last line are skipped: the rest of a cycle is a cycle. */

/* Shifts by half of the bits or more are their own inverse. */
static uint64_t line_of(const struct fm_cycle *cycle, uint64_t place)
{
	place ^= place >> cycle->shift;
	place = place * cycle->scramble & cycle->mask;
	return place ^ place >> cycle->shift;
}

static uint64_t place_of(const struct fm_cycle *cycle, uint64_t line)
{
	line ^= line >> cycle->shift;
	line = line * cycle->straight & cycle->mask;
	return line ^ line >> cycle->shift;
}

static uint64_t onwards(const struct fm_cycle *cycle, uint64_t place)
{
	return (place * cycle->factor + cycle->increment) & cycle->mask;
}

void fm_cycle_make(uint64_t count, struct fm_random *random, struct fm_cycle *ret_cycle)
{
	unsigned bits = 1;
	struct fm_cycle cycle = {.count = count};

	while (bits < 40 && UINT64_C(1) << bits < count)
		bits++;
	cycle.mask = (UINT64_C(1) << bits) - 1;
	cycle.shift = (bits + 1) / 2;
	/* 5 of every 8, and odd: every place is reached before the first comes again (Hull and Dobell) */
	cycle.factor = (fm_random_next(random) & ~UINT64_C(7)) | 5;
	cycle.increment = fm_random_next(random) | 1;
	cycle.scramble = fm_random_next(random) | 1;
	/* each round of Newton's doubles the bits that are right, of which an odd number has three */
	cycle.straight = cycle.scramble;
	for (unsigned right = 3; right < 64; right *= 2)
		cycle.straight *= 2 - cycle.scramble * cycle.straight;
	*ret_cycle = cycle;
}

uint64_t fm_cycle_next(const struct fm_cycle *cycle, uint64_t line)
{
	uint64_t place = place_of(cycle, line);

	do {
		place = onwards(cycle, place);
		line = line_of(cycle, place);
	} while (line >= cycle->count);
	return line;
}

uint64_t fm_cycle_at(const struct fm_cycle *cycle, uint64_t part, uint64_t parts)
{
	/* several steps at once: the step composed with itself, by the bits of the number */
	uint64_t steps = (uint64_t)((double)cycle->mask * (double)part / (double)parts), factor = cycle->factor,
	         increment = cycle->increment, place = place_of(cycle, 0), line;

	for (; steps; steps >>= 1) {
		if (steps & 1)
			place = (place * factor + increment) & cycle->mask;
		increment = increment * factor + increment;
		factor *= factor;
	}
	line = line_of(cycle, place);
	return line < cycle->count ? line : fm_cycle_next(cycle, line);
}
