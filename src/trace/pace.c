#include "trace/pace.h"

#include "trace/numbers.h"
#include "trace/positions.h"
#include "trace/rest.h"

enum {
	FIRST_PAUSE_NS = 20000000,
	EARLY_PAUSE_NS = 100000000, /* after the first episodes */
	EARLY_EPISODES = 8,
	PAUSE_NS = 300000000,
	DOUBLED_EVERY = 64, /* episodes after which pauses become longer */
	SELDOM = 64,        /* one branch may have this part of all; all of them four times as much */
	SLICE_NS = 500000,
	TRANSLATED_PART =
	    32, /* a slice in which more than this part of the time went into translations tells nothing */
};

/* A look at which branches there are, one slice to warm up, and then in turns, so that what changes steadily cancels.
 */
static const uint8_t slices[2][6] = {
    {FM_COUNTING, FM_PLAIN, FM_COUNTING, FM_PLAIN, FM_PLAIN, FM_COUNTING},
    {FM_COUNTING, FM_PLAIN, FM_PLAIN, FM_COUNTING, FM_COUNTING, FM_PLAIN},
};
enum { SLICES = sizeof(slices[0]), FIRST_MEASURED = 2 };

static bool is_mark(const struct fm_pace *pace, uint64_t end)
{
	for (unsigned i = 0; i < pace->mark_count; i++)
		if (pace->marks[i] == end)
			return true;
	return false;
}

uint32_t fm_pace_number(const struct fm_place *place, const struct fm_translate_piece *piece)
{
	return place->pace.all || (piece->end != FM_TRANSLATE_CUT && is_mark(&place->pace, piece->pc + piece->bytes))
	           ? fm_number_piece(piece)
	           : FM_NO_NUMBER;
}

static uint64_t thread_ns(void)
{
	return fm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void plan_next(struct fm_place *place, uint64_t pause)
{
	uint64_t episodes = fm_head()->episode_count, doubled = episodes / DOUBLED_EVERY;

	if (episodes < EARLY_EPISODES && pause > EARLY_PAUSE_NS)
		pause = EARLY_PAUSE_NS;
	pause <<= doubled < 8 ? doubled : 8;
	place->pace.step = 0;
	place->pace.next_ns = thread_ns() + pause / 2 + fm_place_random(place) % pause;
}

void fm_pace_begin(struct fm_place *place)
{
	place->pace.mark_count = place->pace.together = 0;
	place->pace.all = place->pace.settles = false;
	plan_next(place, FIRST_PAUSE_NS);
}

bool fm_pace_is_due(const struct fm_place *place)
{
	const struct fm_pace *pace = &place->pace;

	if (!fm_session->pace || place->epoch || fm_place_usual(place) != FM_COUNTING)
		return false;
	if (fm_rest_is_near())
		return true;
	return pace->step || (!fm_rest_takes_turns() && thread_ns() >= pace->next_ns);
}

static uint64_t end_of(const struct fm_trace_piece *piece)
{
	return piece->end == FM_TRANSLATE_CUT ? 0 : piece->pc + piece->bytes;
}

/* Since they were asked for last: passes of the marked branches, of all that are counted, and instructions. */
struct passed {
	uint64_t marked, all, instructions;
};

static struct passed look(const struct fm_place *place, unsigned which)
{
	struct passed passed = {0};

	for (uint32_t i = 0; place->translators[which] && i < fm_head()->piece_count; i++) {
		uint64_t times = fm_counters_since(&place->counters[which], i);

		if (!times)
			continue;
		passed.all += times;
		passed.instructions += times * fm_file->pieces[i].instructions;
		if (is_mark(&place->pace, end_of(&fm_file->pieces[i])))
			passed.marked += times;
	}
	return passed;
}

/* The marks were passed often enough, and seldom enough to cost nothing. */
static bool is_usable(const struct passed *passed)
{
	return passed->marked >= FM_PACE_PASSES && passed->marked <= 4 * (passed->all / SELDOM);
}

static void empty_plain(struct fm_place *place)
{
	for (uint32_t i = 0; place->translators[FM_PLAIN] && i < fm_head()->piece_count; i++)
		fm_counters_take(&place->counters[FM_PLAIN], i);
}

/* The most frequent of the seldom ones; if there are none, as in a single loop, the least frequent. */
static void choose_marks(struct fm_place *place, uint64_t all)
{
	struct fm_pace *pace = &place->pace;
	uint64_t counts[FM_PACE_MARKS], least = UINT64_MAX, sum = 0, fallback = 0;

	pace->mark_count = 0;
	for (uint32_t i = 0; place->translators[FM_COUNTING] && i < fm_head()->piece_count; i++) {
		uint64_t count = fm_counters_since(&place->counters[FM_COUNTING], i), end = end_of(&fm_file->pieces[i]);
		unsigned at = pace->mark_count;

		if (count < FM_PACE_PASSES || !end || is_mark(pace, end))
			continue;
		if (count < least) {
			least = count;
			fallback = end;
		}
		if (count > all / SELDOM || sum + count > 4 * (all / SELDOM))
			continue;
		if (at == FM_PACE_MARKS) { /* in place of the least frequent */
			at = 0;
			for (unsigned k = 1; k < FM_PACE_MARKS; k++)
				if (counts[k] < counts[at])
					at = k;
			if (counts[at] >= count)
				continue;
			sum -= counts[at];
		} else {
			pace->mark_count++;
		}
		pace->marks[at] = end;
		counts[at] = count;
		sum += count;
	}
	if (!pace->mark_count && fallback) {
		pace->marks[0] = fallback;
		pace->mark_count = 1;
	}
	if (place->translators[FM_PLAIN])
		fm_translator_flush(place->translators[FM_PLAIN]);
}

static void begin_slice(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;

	place->current = slices[pace->order][pace->step - 1];
	fm_place_publish(place); /* counters begin anew */
	empty_plain(place);
	fm_positions_resume(place);
	pace->began_ns = thread_ns();
	pace->waited = place->waited;
	pace->translated =
	    place->translators[place->current] ? fm_translator_ticks(place->translators[place->current]) : 0;
}

static bool was_translating(const struct fm_place *place, unsigned which, uint64_t ns)
{
	uint64_t ticks = fm_translator_ticks(place->translators[which]) - place->pace.translated,
	         waited = place->waited - place->pace.waited;

	ticks = ticks > waited ? ticks - waited : 0;
	return (double)ticks * 1e9 / (double)fm_session->ticks_per_second * TRANSLATED_PART > (double)ns;
}

static void note(const struct fm_pace *pace)
{
	struct fm_trace_head *head = fm_head();
	uint64_t number = __atomic_fetch_add(&head->episode_count, 1, __ATOMIC_RELAXED);

	if (number < FM_TRACE_EPISODES)
		head->episodes[number] = pace->episode;
	if (pace->episode.counted_passes && pace->episode.plain_passes)
		fm_rest_note_slowdown((double)pace->episode.counted_ns / (double)pace->episode.counted_passes *
		                      (double)pace->episode.plain_passes / (double)pace->episode.plain_ns);
}

static void note_plain(struct fm_place *place)
{
	const struct fm_pace *pace = &place->pace;
	uint64_t instructions = fm_pace_plain_instructions(pace);

	if (!pace->plain_ns || !fm_is_alive())
		return;
	fm_add(&fm_head()->plain_ns, pace->plain_ns);
	if (instructions)
		fm_add(&fm_head()->plain_instructions, instructions);
	else
		fm_add(&fm_head()->plain_unknown_ns, pace->plain_ns);
}

/* False: the episode is worth nothing. */
static bool end_slice(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;
	unsigned which = slices[pace->order][pace->step - 1];
	uint64_t ns = thread_ns() - pace->began_ns;
	bool plain = which == FM_PLAIN, same = place->current == which && place->translators[which];
	struct passed passed = {0};

	if (same)
		passed = look(place, which);
	if (pace->step == 1 && same && !is_usable(&passed)) {
		choose_marks(place, passed.all);
		passed = look(place, which);
	}
	*(plain ? &pace->plain_ns : &pace->counted_ns) += ns;
	*(plain ? &pace->plain_passes : &pace->counted_passes) += passed.marked;
	if (!plain)
		pace->counted_instructions += passed.instructions;
	if (!same || !pace->mark_count)
		return false;
	if (pace->step <= FIRST_MEASURED)
		return true;
	if (ns < SLICE_NS || passed.marked < FM_PACE_PASSES / 2 || was_translating(place, which, ns))
		return false;
	*(plain ? &pace->episode.plain_ns : &pace->episode.counted_ns) += ns;
	*(plain ? &pace->episode.plain_passes : &pace->episode.counted_passes) += passed.marked;
	return true;
}

/* Plain phases, right after rests: all threads at once. All branches are counted, so that the instructions are known.
   Branches that are rare and follow the progress are not enough here: a few loops have none, threads that spin pass
   branches without any progress, and a program of phases passes them in one of these only. */

void fm_pace_prepare_together(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;

	if (pace->all)
		return;
	pace->all = true;
	if (place->translators[FM_PLAIN])
		fm_translator_flush(place->translators[FM_PLAIN]);
}

static void begin_slice_together(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;

	if (place->current != FM_PLAIN)
		fm_positions_resume(place);
	place->current = FM_PLAIN;
	empty_plain(place);
	pace->began_ns = thread_ns();
	pace->waited = place->waited;
	pace->translated = place->translators[FM_PLAIN] ? fm_translator_ticks(place->translators[FM_PLAIN]) : 0;
}

static void end_slice_together(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;
	uint64_t ns = thread_ns() - pace->began_ns;
	struct passed passed;

	if (!place->translators[FM_PLAIN])
		return;
	passed = look(place, FM_PLAIN);
	pace->plain_ns += ns;
	pace->plain_passes += passed.instructions;
	if (pace->together > 1 && !was_translating(place, FM_PLAIN, ns)) {
		pace->episode.plain_ns += ns;
		pace->episode.plain_passes += passed.instructions;
		fm_positions_count(place, passed.instructions);
	}
}

static void step_together(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;

	if (pace->step)
		fm_pace_abandon(place);
	if (pace->together)
		end_slice_together(place);
	else
		pace->plain_ns = pace->plain_passes = 0;
	fm_place_publish(place);
	pace->together++;
	begin_slice_together(place);
}

void fm_pace_end_together(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;

	if (!pace->together)
		return;
	if (fm_is_alive())
		end_slice_together(place);
	pace->together = 0;
	pace->settles = true;
	if (place->current == FM_PLAIN)
		place->current = fm_place_usual(place);
}

void fm_pace_settle_together(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;
	struct passed passed = {0};
	uint64_t ns = thread_ns() - place->cpu_published;

	if (!pace->settles)
		return;
	pace->settles = false;
	if (!fm_is_alive())
		return;
	fm_add(&fm_head()->plain_ns, pace->plain_ns);
	fm_add(&fm_head()->plain_instructions, pace->plain_passes);
	if (place->current == FM_COUNTING && place->translators[FM_COUNTING])
		passed = look(place, FM_COUNTING);
	pace->episode.counted_ns = ns;
	pace->episode.counted_passes = passed.instructions;
	if (pace->episode.plain_ns && passed.instructions)
		note(pace);
	pace->episode = (struct fm_trace_episode){0};
}

void fm_pace_abandon(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;

	fm_pace_end_together(place);
	fm_pace_settle_together(place);
	if (!pace->step)
		return;
	if (fm_is_alive())
		end_slice(place);
	note_plain(place);
	if (place->current == FM_PLAIN)
		place->current = fm_place_usual(place);
	plan_next(place, PAUSE_NS);
}

static void count_marks(struct fm_place *place)
{
	if (!place->pace.all)
		return;
	place->pace.all = false;
	if (place->translators[FM_PLAIN])
		fm_translator_flush(place->translators[FM_PLAIN]);
}

void fm_pace_step(struct fm_place *place)
{
	struct fm_pace *pace = &place->pace;

	if (!fm_pace_is_due(place))
		return;
	if (fm_rest_is_near()) {
		step_together(place);
		return;
	}
	if (!pace->step) {
		count_marks(place);
		pace->order = fm_place_random(place) & 1;
		pace->episode = (struct fm_trace_episode){0};
		pace->counted_instructions = pace->counted_ns = pace->counted_passes = 0;
		pace->plain_ns = pace->plain_passes = 0;
	} else if (!end_slice(place) || pace->step == SLICES) {
		if (pace->step == SLICES && pace->episode.plain_ns && pace->episode.counted_ns)
			note(pace);
		note_plain(place);
		place->current = fm_place_usual(place);
		plan_next(place, PAUSE_NS);
		return;
	}
	pace->step++;
	begin_slice(place);
}
