#include "engine/trace/long_string.h"

#include <math.h>
#include <string.h>

#include "engine/account/places.h"
#include "engine/trace/state.h"
#include "engine/trace/tuning.h"

uint64_t fm_long_string_passes(const struct fm_consumer *consumer, uint64_t bytes)
{
	const struct fm_machine_description *machine = &consumer->account->hierarchy->description;
	const struct fm_cache_description *cache = &machine->caches[machine->cache_count - 1];
	uint64_t lines = bytes >> consumer->account->hierarchy->line_shift,
	         last = fm_cache_available(cache) >> consumer->account->hierarchy->line_shift, needed;

	last += last / 4;
	needed = FM_LONG_STRING_FILLS + FM_LONG_STRING_SAMPLE + (last < PASS_LINES_LAST ? last : PASS_LINES_LAST);
	return consumer->windows && lines > needed + PASS_LINES_WORTH ? lines - needed : 0;
}

void fm_long_string_begin(const struct fm_traced_thread *thread, const struct fm_traced_rest *first,
                          const struct fm_traced_rest *second, struct fm_long_string *ret_sample)
{
	const struct fm_traced_rest *const sites[] = {first, second};

	memset(ret_sample, 0, sizeof(*ret_sample));
	ret_sample->counts = thread->side.core->counts;
	if (thread->timed.on)
		ret_sample->timing = *fm_core_timing_counts(thread->timed.core);
	ret_sample->delay = thread->side.delay;
	memcpy(ret_sample->unknown, thread->window.unknown, sizeof(ret_sample->unknown));
	ret_sample->known = thread->window.known;
	for (unsigned i = 0; i < 2 && sites[i] && (!i || sites[i]->site != first->site); i++) {
		ret_sample->places[i] = fm_places_of(thread->side.account, sites[i]->site);
		ret_sample->before[i] = *ret_sample->places[i];
	}
}

static void repeat(void *numbers, const void *before, size_t bytes, double factor)
{
	uint64_t *now = numbers;
	const uint64_t *then = before;

	for (size_t i = 0; i < bytes / sizeof(*now); i++)
		now[i] += (uint64_t)llround(factor * (double)(now[i] - then[i]));
}

void fm_long_string_stand_for(struct fm_traced_thread *thread, const struct fm_long_string *sample, uint64_t lines)
{
	const double factor = (double)lines / FM_LONG_STRING_SAMPLE;

	repeat(&thread->side.core->counts, &sample->counts, sizeof(sample->counts), factor);
	if (thread->timed.on) {
		struct fm_timing_counts more = *fm_core_timing_counts(thread->timed.core);

		repeat(&more, &sample->timing, sizeof(more), factor);
		fm_core_count(thread->timed.core, &more);
	}
	repeat(&thread->side.delay, &sample->delay, sizeof(sample->delay), factor);
	repeat(thread->window.unknown, sample->unknown, sizeof(sample->unknown), factor);
	repeat(&thread->window.known, &sample->known, sizeof(sample->known), factor);
	for (unsigned i = 0; i < 2 && sample->places[i]; i++) {
		struct fm_result_place *place = sample->places[i];
		const struct fm_result_place *before = &sample->before[i];

		/* lines that moved follow from the core's counts, at the instruction's next miss */
		repeat(place->misses, before->misses, sizeof(place->misses), factor);
		repeat(&place->regular, &before->regular, sizeof(place->regular), factor);
		repeat(&place->irregular, &before->irregular, sizeof(place->irregular), factor);
	}
}
