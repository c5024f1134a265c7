#include "engine/trace/spinning.h"

#include <string.h>

#include "engine/trace/state.h"
#include "engine/trace/tuning.h"
#include "simulator/tables.h"

enum { PIECE_BYTES_MAX = 256 };
enum { NO_PAUSE = 1, PAUSES };

static bool is_piece(uint64_t what)
{
	return (what ^ FM_TRACE_PIECE) < FM_TRACE_PIECES;
}

/* Returns how many loads of one line the entries are, and nothing else but pieces of code; 0: they are something else.
   Most code touches a second line at once, so that this costs next to nothing. */
static uint64_t loads_of_one_line(const struct fm_consumer *consumer, const struct fm_trace_entry *entries,
                                  uint64_t count, uint64_t *ret_line)
{
	uint64_t line = 0, loads = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t what = entries[i].what;

		if (is_piece(what))
			continue;
		if (what >= FM_TRACE_SITES || what >= consumer->site_count)
			return 0;
		if (consumer->rests[what].stores || !consumer->rests[what].loads || consumer->rests[what].repeated)
			return 0;
		if (!loads)
			line = entries[i].address >> consumer->account->hierarchy->line_shift;
		else if (entries[i].address >> consumer->account->hierarchy->line_shift != line)
			return 0;
		loads++;
	}
	*ret_line = line;
	return loads >= SPINNING_LOADS ? loads : 0;
}

/* The code is read once. */
static bool has_pause(struct fm_consumer *consumer, uint64_t number)
{
	const struct fm_trace_piece *piece = &consumer->trace->pieces[number];
	unsigned char bytes[PIECE_BYTES_MAX];
	size_t length;

	if (consumer->piece_pauses[number])
		return consumer->piece_pauses[number] == PAUSES;
	if (!__atomic_load_n(&piece->ready, __ATOMIC_ACQUIRE))
		return false;
	length = piece->bytes < sizeof(bytes) ? piece->bytes : sizeof(bytes);
	length = fm_code_bytes(consumer->code, piece->pc, bytes, length);
	consumer->piece_pauses[number] = length > 1 && memmem(bytes, length, "\xf3\x90", 2) ? PAUSES : NO_PAUSE;
	return consumer->piece_pauses[number] == PAUSES;
}

/* With all of them in use, the least is given up. */
static struct fm_spun_line *find_line(struct fm_traced_spinning *spinning, uint64_t line)
{
	struct fm_spun_line *least = spinning->lines;

	for (unsigned i = 0; i < FM_SPUN_LINES; i++) {
		if (spinning->lines[i].line == line + 1)
			return &spinning->lines[i];
		if (spinning->lines[i].references < least->references)
			least = &spinning->lines[i];
	}
	*least = (struct fm_spun_line){.line = line + 1};
	return least;
}

void fm_spinning_look(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                      const struct fm_trace_entry *entries, uint64_t count, double ticks)
{
	struct fm_spun_line *spun;
	uint64_t line, loads;

	loads = loads_of_one_line(consumer, entries, count, &line);
	if (!loads)
		return;
	spun = find_line(&thread->spinning, line);
	spun->references += loads;
	spun->ticks += ticks;
	for (uint64_t i = 0; i < count; i++)
		if (is_piece(entries[i].what)) {
			uint64_t number = entries[i].what ^ FM_TRACE_PIECE;

			spun->instructions += fm_traced_piece(consumer, (uint32_t)number)->instructions;
			spun->pauses |= has_pause(consumer, number);
		}
}

/* Does another core store to it? */
static bool others_store(const struct fm_traced_thread *thread, uint64_t line)
{
	struct fm_shared_line *record = fm_lines_find(thread->side.account->hierarchy->lines, line);
	const struct fm_line_users *users =
	    record && record->users ? fm_lines_users(thread->side.account->hierarchy->lines, record) : NULL;

	for (unsigned i = 0; users && i < FM_LINE_USERS && users->users[i].core; i++)
		if (users->users[i].stores && users->users[i].core != thread->side.core->index + 1)
			return true;
	return false;
}

void fm_spinning_settle(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_result_looking *looking = &thread->record->looking;

	(void)consumer;
	for (unsigned i = 0; i < FM_SPUN_LINES; i++) {
		const struct fm_spun_line *spun = &thread->spinning.lines[i];

		/* a loop that loads a constant for its arithmetic does not wait */
		if (!spun->line || !(spun->pauses || others_store(thread, spun->line - 1)))
			continue;
		looking->references += spun->references;
		looking->instructions += spun->instructions;
		looking->ticks += spun->ticks;
	}
	thread->spinning = (struct fm_traced_spinning){0};
}
