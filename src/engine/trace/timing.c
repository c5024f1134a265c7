#include "engine/trace/timing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/numbers.h"
#include "engine/account/misses.h"
#include "engine/account/places.h"
#include "engine/trace/curve.h"
#include "engine/trace/piece_times.h"
#include "engine/trace/state.h"
#include "engine/trace/timed_piece.h"
#include "engine/trace/tuning.h"

struct fm_traced_timing {
	struct fm_core_timing *cores[FM_SIMULATED_CORES_MAX];
	struct fm_timed_piece *pieces[FM_TRACE_PIECES]; /* as they are needed */
	/* of the hierarchy, while it is timed: otherwise its prefetches are not reported */
	bool (*on_prefetch)(void *context, uint64_t line, unsigned level, unsigned served, bool store);
	bool (*is_coming)(void *context, uint64_t line);
	uint64_t fed_clock;                 /* of the thread that was fed last */
	uint64_t called_clock;              /* of the last one that made a system call */
	uint64_t left_clock;                /* of the last one that ended */
	struct fm_piece_times *piece_times; /* with windows */
};

/* Code */

static struct fm_timed_piece *find_piece(struct fm_consumer *consumer, uint32_t number)
{
	struct fm_timed_piece **piece = &consumer->timing->pieces[number];

	if (!*piece && __atomic_load_n(&consumer->trace->pieces[number].ready, __ATOMIC_ACQUIRE))
		*piece = fm_timed_piece_decode(&consumer->trace->pieces[number], consumer->code);
	return *piece;
}

/* Execution */

/* Accesses to lines of which a window knows nothing: as in fm_window_access(), for all of an instruction at once. */
static unsigned touch(struct fm_consumer *consumer, struct fm_traced_thread *thread, unsigned *ret_unknown)
{
	const struct fm_traced_timed *timed = &thread->timed;
	unsigned any = 0;

	for (unsigned i = 0; i < timed->count; i++)
		any |= ret_unknown[i] =
		    fm_window_touch(consumer, thread, timed->accesses[i].address, timed->accesses[i].bytes);
	return any;
}

static void note_served(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_site *site,
                        const struct fm_memory_access *access)
{
	if (access->served == FM_SERVED_CORE)
		fm_hierarchy_note_site(consumer->account->hierarchy, thread->side.core, access->address,
		                       fm_places_of(thread->side.account, site)->address);
	fm_misses_note(&thread->side, site, fm_account_find_slot(thread->side.account, site, access->address),
	               access->address, access->served);
	if (consumer->stack)
		fm_traced_curve_touch(consumer, access->address);
}

/* An instruction, or a part of one, with the accesses that have come. */
static void execute(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                    const struct fm_instruction *instruction)
{
	struct fm_traced_timed *timed = &thread->timed;
	const struct fm_simulated_core *core = thread->side.core;
	unsigned unknown[FM_INSTRUCTION_ACCESSES_MAX], any = 0;
	uint64_t prefetched[FM_SIMULATED_CACHES_MAX];

	for (unsigned i = 0; i < timed->count; i++) {
		struct fm_result_slot *slot =
		    fm_account_find_slot(thread->side.account, timed->sites[i], timed->accesses[i].address);

		(&slot->loads)[timed->accesses[i].access != FM_ACCESS_LOAD]++;
	}
	for (unsigned i = 0; i < timed->count; i++)
		if (timed->followed[i])
			fm_followed_access(consumer->followed, thread, timed->sites[i], timed->accesses[i].address,
			                   timed->accesses[i].access != FM_ACCESS_LOAD);
	if (consumer->windows)
		any = touch(consumer, thread, unknown);
	if (any)
		for (unsigned i = 0; i < consumer->account->cache_count; i++)
			prefetched[i] = core->counts.caches[i].prefetch_hits;
	fm_core_execute(timed->core, instruction, timed->accesses, timed->count);
	for (unsigned i = 0; i < timed->count; i++) {
		if (timed->accesses[i].served)
			note_served(consumer, thread, timed->sites[i], &timed->accesses[i]);
		if (any && unknown[i])
			fm_window_note_unknown(thread, unknown[i], prefetched);
	}
	timed->count = 0;
	timed->in_part = true;
	timed->executed += !instruction->continues;
	timed->parts++;
}

static void execute_next(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_traced_timed *timed = &thread->timed;
	struct fm_instruction part = fm_timed_piece_fetch(timed->piece, timed->next, timed->in_part, timed->core);

	if (!timed->in_part || timed->count)
		execute(consumer, thread, &part);
}

static void execute_until(struct fm_consumer *consumer, struct fm_traced_thread *thread, unsigned until)
{
	struct fm_traced_timed *timed = &thread->timed;

	for (; timed->next < until; timed->next++) {
		execute_next(consumer, thread);
		timed->in_part = false;
	}
}

/* An access whose instruction is not known, or all there is of one. */
static void execute_alone(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	if (thread->timed.count)
		execute(consumer, thread, &(struct fm_instruction){.operation = FM_OPERATION_none, .continues = 1});
	thread->timed.in_part = false;
}

static bool is_calling(const struct fm_traced_thread *thread)
{
	return thread->timed.piece && thread->timed.piece->calls;
}

/* Time goes on while a thread waits in a system call: until where the one is that is furthest behind of those that do
   not, or until the last of them went to wait, or ended, which may have woken this one. */
static void come_back(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_traced_timing *timing = consumer->timing;
	uint64_t now = UINT64_MAX, own = fm_core_now(thread->timed.core);
	bool alone = true;

	for (unsigned i = 0; i < consumer->places; i++) {
		const struct fm_traced_thread *other = &consumer->threads[i];

		if (other == thread || !other->live || !other->timed.core)
			continue;
		alone = false;
		if (!is_calling(other) && fm_core_now(other->timed.core) < now)
			now = fm_core_now(other->timed.core);
	}
	if (now == UINT64_MAX)
		now = alone ? timing->left_clock : timing->called_clock;
	if (now > own + THREADS_APART && consumer->core_users[thread->side.core->index] == 1)
		fm_core_skip(thread->timed.core, now);
}

static void note_piece(struct fm_consumer *consumer, struct fm_traced_timed *timed)
{
	struct fm_timing_counts took;

	if (timed->noted && timed->counting) {
		took = *fm_core_timing_counts(timed->core);
		fm_numbers_subtract(&took, &timed->piece_from, sizeof(took));
		fm_numbers_subtract(&took, &timed->piece_strings, sizeof(took));
		fm_piece_times_note(consumer->timing->piece_times, timed->number, &took);
	}
	timed->noted = false;
}

/* `following`: where the next piece begins; 0: not known. */
static void finish_piece(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t following)
{
	struct fm_traced_timed *timed = &thread->timed;

	if (timed->piece) {
		unsigned end =
		    fm_timed_piece_end(timed->piece, timed->next + (timed->count > 0 || timed->in_part), following);

		execute_until(consumer, thread, end);
		if (following && end == timed->piece->count)
			fm_timed_piece_branch(timed->piece, timed->core, following);
	} else {
		execute_alone(consumer, thread);
	}
	if (is_calling(thread)) {
		fm_core_drain(timed->core);
		if (following && !consumer->stretches)
			come_back(consumer, thread);
		consumer->timing->called_clock = fm_core_now(timed->core);
	}
	note_piece(consumer, timed);
	timed->piece = NULL;
	timed->next = timed->count = 0;
	timed->in_part = false;
}

static void begin_piece(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint32_t number)
{
	struct fm_timed_piece *piece = find_piece(consumer, number);

	if (!thread->pieces[number]++)
		thread->touched[thread->touched_count++] = number;
	finish_piece(consumer, thread, piece ? piece->pc : 0);
	thread->timed.piece = piece;
	thread->timed.number = number;
	memset(&thread->timed.piece_strings, 0, sizeof(thread->timed.piece_strings));
	if (thread->timed.counting && consumer->timing->piece_times) {
		thread->timed.piece_from = *fm_core_timing_counts(thread->timed.core);
		thread->timed.noted = piece != NULL;
	}
}

/* References */

static void add_access(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_site *site,
                       struct fm_memory_access access)
{
	struct fm_traced_timed *timed = &thread->timed;

	if (timed->count == FM_INSTRUCTION_ACCESSES_MAX) {
		if (timed->piece)
			execute_next(consumer, thread);
		else
			execute_alone(consumer, thread);
	}
	timed->sites[timed->count] = site;
	timed->followed[timed->count] =
	    !thread->unfollowed && fm_translate_is_followed(&consumer->filter, access.address);
	timed->accesses[timed->count++] = access;
}

/* The most bytes of one access: a line, and the range of their counter. */
static unsigned access_limit(const struct fm_account *account)
{
	enum { BYTES_MAX = 128 };
	unsigned line = 1u << account->hierarchy->line_shift;

	return line < BYTES_MAX ? line : BYTES_MAX;
}

/* Longer than a line perhaps. */
static void add_accesses(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                         const struct fm_traced_rest *rest, uint64_t address, unsigned access)
{
	unsigned line = access_limit(consumer->account);

	for (unsigned at = 0; at < rest->size; at += line)
		add_access(
		    consumer, thread, rest->site,
		    (struct fm_memory_access){.address = address + at,
		                              .bytes = (uint8_t)(rest->size - at < line ? rest->size - at : line),
		                              .access = (uint8_t)access});
}

/* Everything before the instruction of a reference is executed. False: it is none of the piece. */
static bool advance(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t pc)
{
	struct fm_traced_timed *timed = &thread->timed;

	unsigned index;

	if (!timed->piece)
		return false;
	index = fm_timed_piece_find(timed->piece, timed->next, pc);
	if (index == timed->piece->count)
		return false;
	execute_until(consumer, thread, index);
	timed->piece->instructions[index].accesses = true;
	return true;
}

static void on_reference(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint32_t number,
                         uint64_t address)
{
	const struct fm_traced_rest *rest = fm_traced_site(consumer, number);

	if (!rest) {
		consumer->account->results->lost_accesses++;
		return;
	}
	if (!advance(consumer, thread, rest->pc)) {
		/* the rest of the piece is not in the trace, or this is another's */
		finish_piece(consumer, thread, 0);
	}
	if (rest->repeated) {
		if (!thread->timed.piece)
			execute_alone(consumer, thread);
		fm_traced_feed_slowly(consumer, thread, number, address);
		return;
	}
	thread->unfollowed = rest->apart;
	if (rest->loads)
		add_accesses(consumer, thread, rest, address, FM_ACCESS_LOAD);
	if (rest->stores)
		add_accesses(consumer, thread, rest, address, rest->access);
	thread->unfollowed = false;
}

void fm_timing_access(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_site *site,
                      uint64_t address, unsigned bytes, enum fm_access access)
{
	static const struct fm_instruction unknown;
	struct fm_traced_timed *timed = &thread->timed;
	const struct fm_instruction *whole =
	    timed->piece ? &timed->piece->instructions[timed->next].instruction : &unknown;
	unsigned most = access_limit(consumer->account);
	struct fm_instruction part = fm_instruction_part(whole, !timed->in_part, access != FM_ACCESS_LOAD);

	part.continues |= !timed->piece;
	add_access(consumer, thread, site,
	           (struct fm_memory_access){
	               .address = address, .bytes = (uint8_t)(bytes < most ? bytes : most), .access = (uint8_t)access});
	execute(consumer, thread, &part);
}

/* Stretches of windows */

static struct fm_traced_course course_of(const struct fm_traced_thread *thread)
{
	return (struct fm_traced_course){thread->record->work.instructions, thread->string_lines};
}

static double length(const struct fm_traced_course *from, const struct fm_traced_course *until)
{
	return (double)(int64_t)(until->instructions - from->instructions + until->lines - from->lines);
}

/* `inside` of an instruction, which counts as a whole. */
static void begin_to_count(struct fm_traced_thread *thread, bool inside)
{
	struct fm_traced_timed *timed = &thread->timed;

	timed->before = *fm_core_timing_counts(timed->core);
	timed->before.instructions -= inside;
	timed->lines_before = thread->string_lines;
	timed->counting = true;
}

void fm_timing_string_begin(struct fm_traced_thread *thread)
{
	struct fm_traced_timed *timed = &thread->timed;

	if (!timed->on)
		return;
	timed->string_from = *fm_core_timing_counts(timed->core);
	timed->string_lines = thread->string_lines;
}

/* A window may lie in one instruction, and no piece begin in it. */
void fm_timing_string_line(const struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_traced_timed *timed = &thread->timed;

	if (!timed->on || timed->counting || !consumer->stretches || timed->parts < STRETCH_FILLS)
		return;
	begin_to_count(thread, true);
	fm_timing_string_begin(thread);
}

void fm_timing_string_end(struct fm_consumer *consumer, struct fm_traced_thread *thread, int class)
{
	struct fm_traced_timed *timed = &thread->timed;
	uint64_t lines = thread->string_lines - timed->string_lines;
	struct fm_timing_counts took;

	if (!timed->on || !timed->counting || !consumer->timing->piece_times || class == FM_STRING_SHORT)
		return;
	took = *fm_core_timing_counts(timed->core);
	fm_numbers_subtract(&took, &timed->string_from, sizeof(took));
	took.instructions = 0; /* it is one of its piece */
	fm_numbers_add(&timed->piece_strings, &took, sizeof(took));
	fm_piece_times_note_lines(consumer->timing->piece_times, (unsigned)class,
	                          fm_string_class_copies(class) ? lines / 2 : lines, &took);
}

static void attach(struct fm_consumer *consumer, struct fm_traced_thread *thread, bool on)
{
	struct fm_simulated_core *core = thread->side.core;

	thread->timed.on = on;
	core->on_prefetch = on ? consumer->timing->on_prefetch : NULL;
	core->is_coming = on ? consumer->timing->is_coming : NULL;
}

/* Threads are timed at once, at the same simulated time: what they wait for is each other's traffic, too. */
static void join_others(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	uint64_t own = fm_core_now(thread->timed.core), latest = own;

	for (unsigned i = 0; i < consumer->places; i++) {
		struct fm_traced_thread *other = &consumer->threads[i];

		if (other == thread || !other->live || !other->timed.core)
			continue;
		if (fm_core_now(other->timed.core) > latest)
			latest = fm_core_now(other->timed.core);
		if ((other->window.warm || !consumer->windows) && !other->timed.on)
			other->timed.pause = 0;
	}
	if (latest > own && consumer->core_users[thread->side.core->index] == 1)
		fm_core_skip(thread->timed.core, latest);
}

/* The code that came before the stretch, and its branches. */
static void learn_code(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	uint32_t count = thread->recent_next < FM_TRACED_RECENT ? thread->recent_next : FM_TRACED_RECENT;
	const struct fm_timed_piece *before = NULL;

	for (uint32_t i = thread->recent_next - count; i != thread->recent_next; i++) {
		uint32_t number = thread->recent[i % FM_TRACED_RECENT];
		const struct fm_timed_piece *piece = find_piece(consumer, number);

		if (before && piece)
			fm_timed_piece_skip_branch(before, thread->timed.core, piece->pc);
		if (piece)
			fm_core_skip_code(thread->timed.core, piece->pc, consumer->trace->pieces[number].bytes);
		before = piece;
	}
	thread->recent_next = 0;
}

static void begin_stretch(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	join_others(consumer, thread);
	learn_code(consumer, thread);
	attach(consumer, thread, true);
	fm_traced_settle(consumer, thread);
	thread->timed.began = course_of(thread);
	thread->timed.executed = thread->timed.parts = 0;
	thread->timed.counting = false;
}

/* The last stretch has stood for the instructions up to here. */
static void add_latest(struct fm_traced_timed *timed, const struct fm_traced_course *until)
{
	const unsigned instructions = FM_TIMING_instructions;
	double factor = length(&timed->stands_from, until) / (double)(timed->latest.instructions + timed->latest_lines);

	for (unsigned i = 0; i < FM_TIMING_NUMBERS; i++)
		timed->stood[i] += factor * (double)((const uint64_t *)&timed->latest)[i];
	/* these are known */
	timed->stood[instructions] += (double)(int64_t)(until->instructions - timed->stands_from.instructions) -
	                              factor * (double)timed->latest.instructions;
	timed->stands_from = *until;
}

static uint64_t some_pause(struct fm_traced_timed *timed)
{
	uint64_t x = timed->random ? timed->random : 0x9e3779b97f4a7c15u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	timed->random = x;
	return STRETCH_DISTANCE / 2 + x % STRETCH_DISTANCE;
}

/* The variance between two stretches, in cycles of the represented code: two of the same distribution differ by twice
   their variance. */
static void note_difference(struct fm_account *account, struct fm_traced_timed *timed,
                            const struct fm_timing_counts *counted, uint64_t lines)
{
	double before = (double)timed->latest.cycles / (double)(timed->latest.instructions + timed->latest_lines),
	       now = (double)counted->cycles / (double)(counted->instructions + lines),
	       off = (now - before) * length(&timed->stands_from, &timed->began);

	account->results->timing_variance += off * off / 2;
}

static void end_stretch(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_traced_timed *timed = &thread->timed;
	struct fm_timing_counts counted;
	uint64_t lines;

	finish_piece(consumer, thread, 0);
	lines = thread->string_lines - timed->lines_before;
	counted = fm_timing_so_far(consumer, thread);
	fm_numbers_subtract(&counted, &timed->counted, sizeof(counted));
	fm_numbers_add(&timed->counted, &counted, sizeof(counted));
	timed->counting = false;
	if (consumer->timing->piece_times)
		fm_piece_times_end_stretch(consumer->timing->piece_times);
	timed->pause = some_pause(timed);
	attach(consumer, thread, false);
	if (!counted.instructions)
		return;
	/* a stretch represents the code before it: the first of a program is its beginning, which is untypical. The
	   last represents the end, too */
	if (timed->latest.instructions) {
		note_difference(consumer->account, timed, &counted, lines);
		if (length(&timed->stands_from, &timed->over) > 0)
			add_latest(timed, &timed->over);
	}
	timed->over = (struct fm_traced_course){timed->began.instructions + timed->executed, thread->string_lines};
	timed->latest = counted;
	timed->latest_lines = lines;
	timed->in_stretches += counted.instructions;
}

/* Between two pieces. True: the stretch is over. */
static bool look_at_stretch(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_traced_timed *timed = &thread->timed;
	const struct fm_timing_counts *counts = fm_core_timing_counts(timed->core);

	if (timed->counting &&
	    (timed->executed >= STRETCH || counts->cycles - timed->before.cycles >= STRETCH_CYCLES)) {
		end_stretch(consumer, thread);
		return true;
	}
	if (timed->parts >= STRETCH_FILLS && !timed->counting)
		begin_to_count(thread, false);
	return false;
}

void fm_timing_interrupt(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	if (consumer->stretches && thread->timed.on)
		end_stretch(consumer, thread);
}

bool fm_timing_wants(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t count)
{
	struct fm_traced_timed *timed = &thread->timed;

	if (!timed->core)
		return false;
	if (!consumer->stretches || timed->on)
		return true;
	if (consumer->windows && !thread->window.warm)
		return false;
	if (timed->pause > count) {
		timed->pause -= count;
		return false;
	}
	begin_stretch(consumer, thread);
	return true;
}

uint64_t fm_timing_feed(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                        const struct fm_trace_entry *entries, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++) {
		uint64_t what = entries[i].what;

		if (what < FM_TRACE_SITES) {
			on_reference(consumer, thread, (uint32_t)what, entries[i].address);
		} else if ((what ^ FM_TRACE_PIECE) < FM_TRACE_PIECES) {
			if (consumer->stretches && look_at_stretch(consumer, thread))
				return i + fm_traced_feed(consumer, thread, entries + i, count - i);
			begin_piece(consumer, thread, (uint32_t)(what ^ FM_TRACE_PIECE));
		} else {
			break;
		}
	}
	if (!consumer->stretches)
		consumer->timing->fed_clock = fm_core_now(thread->timed.core);
	return i;
}

void fm_timing_window_warm(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_traced_timed *timed = &thread->timed;

	(void)consumer;
	timed->pause = timed->in_stretches = 0;
	timed->latest.instructions = 0;
	timed->stands_from = course_of(thread);
	memset(timed->stood, 0, sizeof(timed->stood));
}

void fm_timing_window_end(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_window *part)
{
	struct fm_traced_timed *timed = &thread->timed;
	struct fm_traced_course now;

	if (!timed->core)
		return;
	if (timed->on)
		end_stretch(consumer, thread);
	part->timed = timed->in_stretches;
	if (!timed->latest.instructions)
		return;
	now = course_of(thread);
	add_latest(timed, &now);
	for (unsigned i = 0; i < FM_TIMING_NUMBERS; i++)
		((uint64_t *)&part->timing)[i] = (uint64_t)llround(timed->stood[i]);
	fm_numbers_add(&consumer->account->results->timings[thread->side.core->index], &part->timing,
	               sizeof(part->timing));
}

void fm_timing_window_over(struct fm_consumer *consumer, uint64_t executed)
{
	if (consumer->timing && consumer->timing->piece_times)
		fm_piece_times_end_window(consumer->timing->piece_times, executed);
}

/* Beginning and end */

int fm_timing_create(struct fm_consumer *consumer)
{
	consumer->timing = calloc(1, sizeof(*consumer->timing));
	if (consumer->timing && consumer->windows)
		consumer->timing->piece_times = fm_piece_times_create();
	return consumer->timing && (!consumer->windows || consumer->timing->piece_times) ? 0 : -ENOMEM;
}

void fm_timing_destroy(struct fm_consumer *consumer)
{
	if (!consumer->timing)
		return;
	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++)
		fm_core_timing_destroy(consumer->timing->cores[i]);
	for (unsigned i = 0; i < consumer->trace->head.piece_count && i < FM_TRACE_PIECES; i++)
		free(consumer->timing->pieces[i]);
	fm_piece_times_destroy(consumer->timing->piece_times);
	free(consumer->timing);
	consumer->timing = NULL;
}

void fm_timing_sum_up(struct fm_consumer *consumer, const struct fm_piece_total *pieces, uint32_t count)
{
	if (consumer->timing && consumer->timing->piece_times)
		fm_piece_times_total(consumer->timing->piece_times, pieces, count, consumer->string_lines,
		                     &consumer->account->results->pieces);
}

void fm_timing_thread_begin(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_traced_timing *timing = consumer->timing;
	struct fm_simulated_core *core = thread->side.core;
	struct fm_core_timing **own;

	memset(&thread->timed, 0, sizeof(thread->timed));
	if (!timing)
		return;
	own = &timing->cores[core->index];
	if (!*own && fm_core_timing_create(consumer->account->hierarchy, core->index, own, NULL)) {
		consumer->account->results->native_error = ENOMEM;
		return;
	}
	if (!timing->on_prefetch) {
		timing->on_prefetch = core->on_prefetch;
		timing->is_coming = core->is_coming;
	}
	thread->timed.core = *own;
	attach(consumer, thread, !consumer->stretches);
	thread->timed.stands_from = course_of(thread);
	if (!consumer->stretches && consumer->core_users[core->index] == 1)
		fm_core_skip(*own, timing->fed_clock);
	thread->record->timing_at_begin = consumer->account->results->timings[core->index];
}

/* Stretches of a whole run: the represented counts since the last call. */
static void publish_stretches(struct fm_traced_thread *thread)
{
	struct fm_traced_timed *timed = &thread->timed;
	struct fm_timing_counts *core = &thread->side.account->results->timings[thread->side.core->index];
	struct fm_traced_course now;

	if (!timed->latest.instructions)
		return;
	now = course_of(thread);
	add_latest(timed, &now);
	for (unsigned i = 0; i < FM_TIMING_NUMBERS; i++) {
		uint64_t stood = (uint64_t)llround(timed->stood[i]);

		((uint64_t *)core)[i] += stood - ((uint64_t *)&timed->published)[i];
		((uint64_t *)&timed->published)[i] = stood;
	}
	thread->record->clock = timed->published.cycles;
}

static void publish(const struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	const struct fm_traced_timed *timed = &thread->timed;

	if (consumer->stretches && !consumer->windows)
		publish_stretches(thread);
	if (consumer->stretches)
		return;
	consumer->account->results->timings[thread->side.core->index] = *fm_core_timing_counts(timed->core);
	thread->record->clock = fm_core_now(timed->core);
}

void fm_timing_settle(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	if (!thread->timed.on)
		return;
	finish_piece(consumer, thread, 0);
	if (!consumer->stretches)
		fm_core_drain(thread->timed.core);
	publish(consumer, thread);
}

void fm_timing_leave_core(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_result_thread *record = thread->record;

	if (!thread->timed.core)
		return;
	publish(consumer, thread);
	fm_numbers_add(&record->timing_before_moves, &consumer->account->results->timings[thread->side.core->index],
	               sizeof(record->timing_at_begin));
	fm_numbers_subtract(&record->timing_before_moves, &record->timing_at_begin, sizeof(record->timing_at_begin));
}

void fm_timing_enter_core(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	if (!thread->timed.core)
		return;
	attach(consumer, thread, thread->timed.on);
	thread->record->timing_at_begin = consumer->account->results->timings[thread->side.core->index];
}

void fm_timing_thread_end(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_traced_timed *timed = &thread->timed;

	if (!timed->core)
		return;
	if (consumer->stretches && timed->on)
		end_stretch(consumer, thread);
	fm_timing_settle(consumer, thread);
	publish(consumer, thread);
	if (thread->record->clock > consumer->timing->left_clock)
		consumer->timing->left_clock = thread->record->clock;
	thread->record->timing_at_end = consumer->account->results->timings[thread->side.core->index];
	timed->core = NULL;
}

struct fm_timing_counts fm_timing_so_far(const struct fm_consumer *consumer, const struct fm_traced_thread *thread)
{
	const struct fm_traced_timed *timed = &thread->timed;
	struct fm_timing_counts counts = timed->counted;

	if (!timed->core || (consumer->stretches && !timed->counting))
		return counts;
	fm_numbers_add(&counts, fm_core_timing_counts(timed->core), sizeof(counts));
	if (consumer->stretches)
		fm_numbers_subtract(&counts, &timed->before, sizeof(counts));
	return counts;
}

uint64_t fm_timing_now(const struct fm_traced_thread *thread)
{
	return thread->timed.core ? fm_core_now(thread->timed.core) : 0;
}

void fm_timing_catch_up(struct fm_traced_thread *thread, uint64_t until)
{
	if (thread->timed.core && thread->timed.on && until > fm_core_now(thread->timed.core))
		fm_core_skip(thread->timed.core, until);
}
