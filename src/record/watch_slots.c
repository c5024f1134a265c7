#include "record/watch_slots.h"

enum { ALL = (1 << FM_WATCHPOINTS) - 1, LONGEST = 1 << 20 };

uint32_t fm_watch_slots_free(const struct fm_watch_slots *slots)
{
	uint32_t used = 0;

	for (unsigned i = 0; i < FM_WATCHPOINTS; i++)
		if (slots->watches[i].state != FM_WATCH_FREE)
			used |= slots->watches[i].points;
	return ALL & ~used;
}

/* Exponentially distributed around the mean: -log2 of a random number is the zeros before its first bit, and a rest
   between 0 and 1. */
static uint32_t draw_term(unsigned point, uint64_t random)
{
	int zeros = __builtin_clzll(random | 1);
	double rest = 1 - (double)((random | 1) << zeros << 1 >> 12) / (double)(1ull << 52);
	double term = 1 + 0.6931 * (zeros + rest) * (double)(1u << 2 * point);

	return point == 0 ? 1 : term < LONGEST ? (uint32_t)term : LONGEST;
}

struct fm_watch *fm_watch_slots_take(struct fm_watch_slots *slots, unsigned points, uint64_t random)
{
	uint32_t free_points = fm_watch_slots_free(slots), taken = 0;
	unsigned first = 0;

	if (!free_points || !points)
		return NULL;
	for (unsigned point = FM_WATCHPOINTS; point-- > 0 && points;)
		if (free_points & 1u << point) {
			taken |= 1u << point;
			first = point;
			points--;
		}
	for (unsigned i = 0; i < FM_WATCHPOINTS; i++) {
		struct fm_watch *watch = &slots->watches[i];

		if (watch->state == FM_WATCH_FREE) {
			*watch = (struct fm_watch){
			    .state = FM_WATCH_ARMED, .points = taken, .term = draw_term(first, random)};
			return watch;
		}
	}
	return NULL;
}

struct fm_watch *fm_watch_slots_of(struct fm_watch_slots *slots, unsigned point)
{
	for (unsigned i = 0; i < FM_WATCHPOINTS; i++)
		if (slots->watches[i].state != FM_WATCH_FREE && (slots->watches[i].points >> point & 1))
			return &slots->watches[i];
	return NULL;
}

bool fm_watch_slots_expired(struct fm_watch *watch)
{
	return watch->term == 0 || --watch->term == 0;
}

void fm_watch_slots_release(struct fm_watch *watch)
{
	watch->points = 0;
	watch->state = FM_WATCH_FREE;
}
