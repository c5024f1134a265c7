#include "trace/positions.h"

#include "base/context.h"
#include "preload/unwind.h"
#include "preload/x86_64/start.h"
#include "trace/allocations.h"
#include "trace/rest.h"

static uint64_t thread_ns(void)
{
	return fm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void fm_positions_begin(struct fm_place *place)
{
	place->position_ticks = 0;
	place->position_sum = 0;
	fm_positions_resume(place);
}

void fm_positions_resume(struct fm_place *place)
{
	place->position_ns = thread_ns();
}

/* Which half stays is random: a program may change its place with every second tick. */
static void thin_out(struct fm_place *place, struct fm_trace_positions *positions)
{
	uint32_t odd = fm_place_random(place) & 1, kept = 0;

	for (uint32_t i = 0; i + 1 < FM_TRACE_POSITIONS; i += 2) {
		struct fm_trace_position position = positions->list[i + odd];
		uint64_t ns = (uint64_t)positions->list[i].ns + positions->list[i + 1].ns;

		/* the other may be of another thread that had the place before */
		if (positions->list[i].thread != positions->list[i + 1].thread)
			ns = 2 * (uint64_t)position.ns;
		if (position.ns)
			position.instructions = (uint32_t)((double)position.instructions / position.ns * (double)ns);
		position.ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
		positions->list[kept++] = position;
	}
	positions->every = 2 * positions->every + 1;
	__atomic_store_n(&positions->count, kept, __ATOMIC_RELEASE);
}

/* The program's address; 0: between two states. */
static uint64_t origin(const struct fm_place *place, uint64_t pc, bool *ret_plain)
{
	*ret_plain = false;
	if (!fm_place_holds(place, pc))
		return place->resting ? pc : 0;
	*ret_plain = true;
	if (place->resting || place->current != FM_PLAIN || !place->translators[FM_PLAIN])
		return 0;
	return fm_translator_origin(place->translators[FM_PLAIN], pc);
}

/* In plain code a register of the program may be elsewhere; the stack pointer is not, and wrong frames only end a walk.
 */
static void note_callers(struct fm_trace_position *position, const ucontext_t *context)
{
	struct fm_unwind_registers start = fm_unwind_start(context, position->pc);
	uint64_t frames[FM_TRACE_CALLERS + 1];
	unsigned count = fm_allocations_can_unwind() ? fm_unwind(&start, frames, FM_TRACE_CALLERS + 1) : 0;

	for (unsigned i = 0; i < FM_TRACE_CALLERS; i++)
		position->callers[i] = i + 1 < count ? frames[i + 1] : 0;
}

void fm_positions_note(struct fm_place *place, const ucontext_t *context)
{
	struct fm_trace_positions *positions = &fm_file->positions[place - fm_places];
	uint64_t now = thread_ns(), ns = now > place->position_ns ? now - place->position_ns : 0, pc;
	bool plain;

	place->position_ns = now;
	if (fm_rest_is_disturbed())
		return;
	pc = origin(place, fm_context_pc(context), &plain);
	if (!pc)
		return;
	place->position_sum += ns;
	if (place->position_ticks++ < positions->every)
		return;
	if (positions->count == FM_TRACE_POSITIONS)
		thin_out(place, positions);
	positions->list[positions->count] = (struct fm_trace_position){
	    .pc = pc,
	    .at = (uint32_t)((fm_clock_ns(CLOCK_MONOTONIC) - fm_head()->begun_ns) / FM_TRACE_POSITION_NS),
	    .thread = (uint32_t)place->thread,
	    .ns = place->position_sum < UINT32_MAX ? (uint32_t)place->position_sum : UINT32_MAX,
	    .plain = plain};
	note_callers(&positions->list[positions->count], context);
	place->position_ticks = 0;
	place->position_sum = 0;
	__atomic_store_n(&positions->count, positions->count + 1, __ATOMIC_RELEASE);
}

void fm_positions_count(struct fm_place *place, uint64_t instructions)
{
	struct fm_trace_positions *positions = &fm_file->positions[place - fm_places];
	struct fm_trace_position *latest = &positions->list[positions->count - 1];

	if (positions->count && latest->plain && latest->thread == (uint32_t)place->thread && !place->position_ticks)
		latest->instructions = instructions < UINT32_MAX ? (uint32_t)instructions : UINT32_MAX;
}
