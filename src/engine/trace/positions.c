#include "engine/trace/positions.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "engine/account/room.h"
#include "engine/account/waiting_loop.h"
#include "engine/trace/state.h"

enum { SKID_BYTES = 24, SYSTEM_CALL_BYTES = 2, MOST_CONTENDED = 1024 };

/* Where it was looked up last: most positions of a program are at a few addresses. */
struct looked_up {
	uint64_t pc;
	bool kernel, locks, waits;
	uint8_t shares;
};
enum { LOOKED_UP = 4096 };

/* An instruction that accesses lines of other threads, too. */
struct contended {
	uint64_t pc;
	double transfers; /* of its accesses to these lines, those that may have to get the line, at most … */
	double accesses;  /* … and all its accesses, to any line */
};

struct reading {
	struct fm_consumer *consumer;
	struct looked_up *cache;
	struct contended contended[MOST_CONTENDED];
	unsigned contended_count;
};

static int by_address(const void *left, const void *right)
{
	const struct contended *a = left, *b = right;

	return (a->pc > b->pc) - (a->pc < b->pc);
}

static struct contended *find(struct reading *reading, uint64_t pc)
{
	for (unsigned i = 0; i < reading->contended_count; i++)
		if (reading->contended[i].pc == pc)
			return &reading->contended[i];
	if (reading->contended_count == MOST_CONTENDED)
		return NULL;
	reading->contended[reading->contended_count] = (struct contended){.pc = pc};
	return &reading->contended[reading->contended_count++];
}

/* How often one of its accesses may have to get the line. Threads took turns in the simulation, so transfers there are
   too few. An access waits only if another thread was there since the latest one: for a load, with a store. */
static double most_transfers(const struct fm_line_users *users, const struct fm_line_user *own)
{
	double others = 0, accesses = (double)(own->loads + own->stores);

	for (unsigned i = 0; i < FM_LINE_USERS; i++) {
		const struct fm_line_user *other = &users->users[i];

		if (other->core && other != own)
			others += (double)other->stores + (own->stores ? (double)other->loads : 0);
	}
	return others < accesses ? others : accesses;
}

/* Counts of code are weighted sums over the counted parts of windows; lines are noted in all of each window, and
   without weights. */
static double noted_part(const struct fm_results *results)
{
	double weighted = (double)(results->weighted.counts.loads + results->weighted.counts.stores), counted = 0,
	       entries = 0, counted_entries = 0;

	for (unsigned i = 0; i < results->window_count && i < FM_RESULT_WINDOWS_MAX; i++)
		counted += (double)(results->windows[i].counts.loads + results->windows[i].counts.stores);
	for (unsigned i = 0; i < results->thread_count && i < FM_RESULT_THREADS_MAX; i++) {
		entries += (double)results->threads[i].entries;
		counted_entries += (double)results->threads[i].counted_entries;
	}
	return weighted > 0 && counted_entries > 0 ? counted / weighted * entries / counted_entries : 1;
}

static void find_contended(struct reading *reading)
{
	const struct fm_results *results = reading->consumer->account->results;
	double part = noted_part(results);

	for (unsigned i = 0; i < results->line_count && i < FM_RESULT_LINES_MAX; i++)
		for (unsigned k = 0; k < FM_LINE_USERS; k++) {
			const struct fm_line_user *user = &results->line_users[i].users[k];
			struct contended *contended = user->core && user->site ? find(reading, user->site) : NULL;

			if (contended)
				contended->transfers += most_transfers(&results->line_users[i], user);
		}
	qsort(reading->contended, reading->contended_count, sizeof(reading->contended[0]), by_address);
	for (unsigned i = 0; i < results->site_count && i < FM_RESULT_SITES_MAX; i++) {
		const struct contended wanted = {.pc = results->places[i].address};
		const struct fm_result_slot *slots = results->sites[i].slots;
		struct contended *found = bsearch(&wanted, reading->contended, reading->contended_count,
		                                  sizeof(reading->contended[0]), by_address);

		if (found)
			found->accesses +=
			    part * (double)(results->places[i].loads + results->places[i].stores + slots[0].loads +
			                    slots[0].stores + slots[1].loads + slots[1].stores);
	}
}

/* Percent. A tick is noted at the instruction that could not complete yet, or at one of the next. */
static uint8_t share_of(const struct reading *reading, uint64_t pc)
{
	double most = 0;

	for (unsigned i = 0; i < reading->contended_count; i++) {
		const struct contended *contended = &reading->contended[i];

		if (pc - contended->pc < SKID_BYTES && contended->transfers > most * contended->accesses)
			most =
			    contended->transfers < contended->accesses ? contended->transfers / contended->accesses : 1;
	}
	return (uint8_t)(100 * most + 0.5);
}

/* An interrupted call is repeated: the thread is then in front of it, else behind it. */
static bool is_system_call(const uint8_t *bytes, size_t length, size_t at)
{
	return length >= at + SYSTEM_CALL_BYTES && !memcmp(bytes + at, "\x0f\x05", SYSTEM_CALL_BYTES);
}

/* The call before `at` is one in which threads wait for each other: its number is loaded right before, as in the C
   library, whose functions for that have no names without debugging information. */
static bool is_lock(const uint8_t *bytes, size_t at)
{
	enum { LOAD_BYTES = 5, LOAD_EAX = 0xb8, NEAR_BYTES = 32 };

	for (size_t i = LOAD_BYTES; i <= at && i <= NEAR_BYTES; i++) {
		const uint8_t *load = bytes + at - i;
		uint32_t number;

		if (*load != LOAD_EAX)
			continue;
		memcpy(&number, load + 1, sizeof(number));
		if (number == SYS_futex || number == SYS_sched_yield)
			return true;
	}
	return false;
}

static const struct looked_up *look_up(struct reading *reading, uint64_t pc)
{
	struct looked_up *entry = &reading->cache[(pc ^ pc >> 12) % LOOKED_UP];
	uint8_t bytes[2 * FM_WAITING_LOOP_BYTES];
	uint64_t from = pc - FM_WAITING_LOOP_BYTES;
	size_t length;

	if (entry->pc == pc)
		return entry;
	*entry = (struct looked_up){.pc = pc};
	length = fm_code_bytes(reading->consumer->code, from, bytes, sizeof(bytes));
	if (length <= FM_WAITING_LOOP_BYTES) { /* at the begin of a mapping */
		from = pc;
		length = fm_code_bytes(reading->consumer->code, from, bytes, sizeof(bytes));
	}
	entry->kernel =
	    is_system_call(bytes, length, pc - from) ||
	    (pc - from >= SYSTEM_CALL_BYTES && is_system_call(bytes, length, pc - from - SYSTEM_CALL_BYTES));
	entry->locks = entry->kernel && is_lock(bytes, pc - from);
	entry->waits = !entry->kernel && fm_is_waiting_loop(bytes, length, pc - from);
	entry->shares = entry->kernel ? 0 : share_of(reading, pc);
	return entry;
}

static uint32_t record_of(const struct fm_results *results, uint32_t thread)
{
	/* numbers are used again: the latest has it */
	for (unsigned i = results->thread_count; i-- > 0;)
		if (results->threads[i].host_thread == thread)
			return i;
	return FM_RESULT_THREADS_MAX;
}

static void add(struct reading *reading, const struct fm_trace_position *from)
{
	struct fm_consumer *consumer = reading->consumer;
	struct fm_results *results = consumer->account->results;
	struct fm_result_position *position = &results->positions[results->position_count];
	const struct looked_up *code;

	if (results->position_count == FM_RESULT_POSITIONS_MAX ||
	    !fm_room_claim(&consumer->account->room, position, sizeof(*position)))
		return;
	code = look_up(reading, from->pc);
	fm_code_note_module(consumer->code, consumer->account, from->pc);
	*position = (struct fm_result_position){.pc = from->pc,
	                                        .at = from->at,
	                                        .thread = record_of(results, from->thread),
	                                        .ns = from->ns,
	                                        .plain = from->plain != 0,
	                                        .kernel = code->kernel,
	                                        .locks = code->locks,
	                                        .waits = code->waits,
	                                        .shares = code->shares};
	_Static_assert((int)FM_RESULT_CALLERS == (int)FM_TRACE_CALLERS, "copied as they are");
	for (unsigned i = 0; i < FM_RESULT_CALLERS && from->callers[i]; i++) {
		position->callers[i] = from->callers[i];
		fm_code_note_module(consumer->code, consumer->account, from->callers[i]);
	}
	results->position_count++;
}

void fm_traced_positions(struct fm_consumer *consumer)
{
	struct reading *reading = calloc(1, sizeof(*reading));

	if (reading)
		reading->cache = calloc(LOOKED_UP, sizeof(*reading->cache));
	if (!reading || !reading->cache) {
		free(reading);
		return;
	}
	reading->consumer = consumer;
	find_contended(reading);
	for (unsigned i = 0; i < FM_TRACE_THREADS; i++) {
		const struct fm_trace_positions *positions = &consumer->trace->positions[i];
		uint32_t count = __atomic_load_n(&positions->count, __ATOMIC_ACQUIRE);

		for (uint32_t k = 0; k < count && k < FM_TRACE_POSITIONS; k++)
			add(reading, &positions->list[k]);
	}
	free(reading->cache);
	free(reading);
}
