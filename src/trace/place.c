#include "trace/place.h"

#include "trace/client.h"
#include "trace/pace.h"
#include "trace/positions.h"
#include "trace/rest.h"
#include "trace/ring.h"
#include "trace/opening.h"

struct fm_place fm_places[FM_TRACE_THREADS];

static uint32_t code_version;
static uint64_t instructions;

uint8_t fm_place_usual(const struct fm_place *place)
{
	if (fm_session->mode == FM_TRACE_WINDOWS || (fm_session->region[0] && !place->region_depth))
		return FM_COUNTING;
	return FM_LOGGING;
}

void fm_places_code_changed(uint64_t start, uint64_t end)
{
	for (struct fm_place *place = fm_places; place < fm_places + FM_TRACE_THREADS; place++)
		for (unsigned i = 0; i < FM_TRANSLATORS; i++)
			if (place->translators[i] && fm_translator_covers(place->translators[i], start, end)) {
				__atomic_fetch_add(&code_version, 1, __ATOMIC_RELEASE);
				return;
			}
}

bool fm_place_is_stale(const struct fm_place *place)
{
	return place->versions[place->current] != __atomic_load_n(&code_version, __ATOMIC_ACQUIRE);
}

struct fm_translator *fm_place_translator_of(struct fm_place *place, unsigned which)
{
	uint32_t version = __atomic_load_n(&code_version, __ATOMIC_ACQUIRE);

	if (!place->translators[which]) {
		if (fm_client_create(place, which)) {
			place->translators[which] = NULL;
			return NULL;
		}
		place->translator_ticks[which] = 0;
		place->versions[which] = version;
	}
	if (place->versions[which] != version) {
		fm_translator_flush(place->translators[which]);
		place->versions[which] = version;
	}
	return place->translators[which];
}

struct fm_translator *fm_place_translator(struct fm_place *place)
{
	struct fm_translator *translator = place->resting ? NULL : fm_place_translator_of(place, place->current);

	place->began = fm_ticks();
	if (translator && place->current == FM_LOGGING && place->epoch)
		fm_translator_set_room(translator, fm_window_room(place));
	return translator;
}

void fm_place_hand_over(struct fm_place *place, unsigned from)
{
	struct fm_translator *to = place->wanted ? fm_place_translator(place) : NULL;

	if (to && to != place->translators[from])
		fm_translator_hand_over(place->translators[from], to);
}

bool fm_place_holds(const struct fm_place *place, uint64_t address)
{
	for (unsigned i = 0; i < FM_TRANSLATORS; i++)
		if (place->translators[i] && fm_translator_holds(place->translators[i], address))
			return true;
	return false;
}

int fm_place_settle(struct fm_place *place, ucontext_t *context)
{
	int error = 0;

	for (unsigned i = 0; i < FM_TRANSLATORS && !error; i++)
		if (place->translators[i])
			error = fm_translator_settle(place->translators[i], context);
	return error;
}

bool fm_place_has_lines(const struct fm_place *place)
{
	return place->translators[FM_COUNTING] &&
	       fm_translator_logged(place->translators[FM_COUNTING]) > FM_LINE_ENTRIES / 64;
}

void fm_place_deliver(struct fm_place *place)
{
	if (place->translators[FM_COUNTING])
		fm_translator_set_room(place->translators[FM_COUNTING], FM_LINE_ENTRIES);
	if (place->translators[FM_LOGGING])
		fm_translator_set_room(place->translators[FM_LOGGING],
		                       place->epoch ? fm_window_room(place) : FM_LOG_ENTRIES);
}

static uint64_t add_counters(struct fm_counters *counters)
{
	uint32_t count = fm_head()->piece_count;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count && i < FM_TRACE_PIECES; i++) {
		uint64_t times = fm_counters_take(counters, i);

		if (times) {
			fm_add(&fm_file->pieces[i].executed, times);
			sum += times * fm_file->pieces[i].instructions;
		}
	}
	return sum;
}

static void publish_short(struct fm_place *place, const struct fm_translate_short *now)
{
	for (unsigned i = 0; i < FM_TRANSLATE_STRING_KINDS; i++) {
		fm_add(&fm_head()->not_logged[i].elements, now[i].elements - place->not_logged[i].elements);
		fm_add(&fm_head()->not_logged[i].times, now[i].times - place->not_logged[i].times);
		place->not_logged[i] = now[i];
	}
}

void fm_place_publish(struct fm_place *place)
{
	uint64_t spent = 0, counted, waited, outside, cpu;

	if (!fm_is_alive() || __atomic_exchange_n(&place->publishing, 1, __ATOMIC_ACQUIRE))
		return;
	for (unsigned i = 0; i < FM_TRANSLATORS; i++) {
		struct fm_translator *translator = place->translators[i];
		uint64_t ticks;

		/* the plain one counts only some */
		if (!__atomic_load_n(&place->counters[i].now, __ATOMIC_ACQUIRE) || i == FM_PLAIN)
			continue;
		counted = add_counters(&place->counters[i]);
		fm_add(&instructions, counted);
		fm_add(&fm_file->threads[place - fm_places].executed, counted);
		ticks = fm_translator_ticks(translator);
		/* what is spent in windows is theirs */
		if (i != FM_LOGGING || fm_session->mode == FM_TRACE_EXACT)
			spent += ticks - place->translator_ticks[i];
		place->translator_ticks[i] = ticks;
	}
	if (place->translators[FM_COUNTING]) {
		const struct fm_translate_counts *counts = fm_translator_counts(place->translators[FM_COUNTING]);

		fm_add(&fm_head()->lost_entries, counts->dropped - place->dropped);
		place->dropped = counts->dropped;
		publish_short(place, counts->not_logged);
	}
	fm_rest_publish(place);
	cpu = fm_clock_ns(FM_CLOCK_OF_THREAD(place->thread));
	if (place->begun && cpu > place->cpu_published) {
		fm_add(&fm_head()->threads_ns, cpu - place->cpu_published);
		place->cpu_published = cpu;
	}
	waited = place->waited - place->waited_published;
	outside = place->waited_outside - place->waited_outside_published;
	/* waiting happens in translators, most of it */
	fm_add(&fm_head()->translator_ticks, spent > outside ? spent - outside : 0);
	fm_add(&fm_head()->waited_ticks, waited);
	place->waited_published += waited;
	place->waited_outside_published += outside;
	__atomic_store_n(&place->publishing, 0, __ATOMIC_RELEASE);
}

uint64_t fm_places_instructions(void)
{
	return __atomic_load_n(&instructions, __ATOMIC_RELAXED);
}

void fm_places_forked(void)
{
	instructions = 0;
}

void fm_place_begin(struct fm_place *place)
{
	place->epoch = place->last_epoch = 0;
	place->current = fm_place_usual(place);
	fm_rest_forget(place);
	fm_pace_begin(place);
	fm_positions_begin(place);
	place->published_at = fm_ticks();
	place->cpu_published = fm_clock_ns(FM_CLOCK_OF_THREAD(place->thread));
	place->waited_published = place->waited_before = place->waited;
	place->waited_outside_published = place->waited_outside;
	place->begun = true;
	/* everything of the thread before has been read */
	__atomic_store_n(&fm_file->threads[place - fm_places].executed, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&fm_file->threads[place - fm_places].rested_ns, 0, __ATOMIC_RELAXED);
	fm_ring_control(place, FM_TRACE_THREAD_BEGIN, (uint64_t)place->thread);
}

void fm_place_end(struct fm_place *place)
{
	place->wanted = false;
	if (!place->begun)
		return;
	fm_window_end(place);
	fm_pace_abandon(place);
	fm_place_publish(place);
	fm_rest_forget(place);
	fm_ring_control(place, FM_TRACE_THREAD_END, place->waited - place->waited_before);
	place->begun = false;
	fm_ring_release(place);
}
