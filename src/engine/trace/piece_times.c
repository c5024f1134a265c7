#include "engine/trace/piece_times.h"
#include "simulator/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/trace/tuning.h"

enum {
	NUMBERS = FM_TIMING_NUMBERS,
	GROUPS = 8, /* of stretches, in turn: their differences give the error of the sum */
	PIECES = 1 << 18,
	ALL = PIECES + FM_STRING_CLASSES, /* a line of a string instruction is a piece of one instruction */
};

struct piece_time {
	double executed, numbers[NUMBERS]; /* weighted */
	double group_executed[GROUPS], group_cycles[GROUPS];
	/* of the window under way */
	uint64_t fresh_executed;
	struct fm_timing_counts fresh;
	double fresh_group_executed[GROUPS], fresh_group_cycles[GROUPS];
};

struct fm_piece_times {
	struct piece_time *pieces[ALL];
	uint32_t *fresh; /* numbers of those that have something */
	uint32_t fresh_count, fresh_room;
	unsigned stretch, windows; /* windows with stretches */
	uint64_t instructions;     /* of the window, in stretches; and string lines */
	uint64_t executed_before;  /* of the process, at the end of the window before */
};

struct fm_piece_times *fm_piece_times_create(void)
{
	return calloc(1, sizeof(struct fm_piece_times));
}

void fm_piece_times_destroy(struct fm_piece_times *times)
{
	for (uint32_t i = 0; times && i < ALL; i++)
		free(times->pieces[i]);
	if (times)
		free(times->fresh);
	free(times);
}

static struct piece_time *find(struct fm_piece_times *times, uint32_t number)
{
	if (number >= ALL)
		return NULL;
	if (!times->pieces[number])
		times->pieces[number] = calloc(1, sizeof(struct piece_time));
	if (times->pieces[number] && !times->pieces[number]->fresh_executed) {
		if (times->fresh_count == times->fresh_room) {
			uint32_t room = times->fresh_room ? 2 * times->fresh_room : 256,
			         *larger = reallocarray(times->fresh, room, sizeof(*larger));

			if (!larger)
				return NULL;
			times->fresh = larger;
			times->fresh_room = room;
		}
		times->fresh[times->fresh_count++] = number;
	}
	return times->pieces[number];
}

static void note(struct fm_piece_times *times, uint32_t number, const struct fm_timing_counts *took,
                 uint64_t executions)
{
	struct piece_time *piece = find(times, number);
	unsigned group = times->stretch % GROUPS;
	const uint64_t *numbers = (const uint64_t *)took;
	uint64_t *sums;

	/* without memory for it, it was not timed */
	if (!piece)
		return;
	sums = (uint64_t *)&piece->fresh;
	for (unsigned i = 0; i < NUMBERS; i++)
		sums[i] += numbers[i];
	piece->fresh_executed += executions;
	piece->fresh_group_executed[group] += (double)executions;
	piece->fresh_group_cycles[group] += (double)took->cycles;
}

void fm_piece_times_note(struct fm_piece_times *times, uint32_t number, const struct fm_timing_counts *took)
{
	if (number >= PIECES)
		return;
	note(times, number, took, 1);
	times->instructions += took->instructions;
}

void fm_piece_times_note_lines(struct fm_piece_times *times, unsigned class, uint64_t lines,
                               const struct fm_timing_counts *took)
{
	if (!lines)
		return;
	note(times, PIECES + class, took, lines);
	times->instructions += lines;
}

void fm_piece_times_end_stretch(struct fm_piece_times *times)
{
	times->stretch++;
}

static void fold(struct piece_time *piece, double weight)
{
	const uint64_t *fresh = (const uint64_t *)&piece->fresh;

	piece->executed += weight * (double)piece->fresh_executed;
	for (unsigned i = 0; i < NUMBERS; i++)
		piece->numbers[i] += weight * (double)fresh[i];
	for (unsigned i = 0; i < GROUPS; i++) {
		piece->group_executed[i] += weight * piece->fresh_group_executed[i];
		piece->group_cycles[i] += weight * piece->fresh_group_cycles[i];
		piece->fresh_group_executed[i] = piece->fresh_group_cycles[i] = 0;
	}
	piece->fresh_executed = 0;
	memset(&piece->fresh, 0, sizeof(piece->fresh));
}

void fm_piece_times_end_window(struct fm_piece_times *times, uint64_t executed)
{
	uint64_t since = executed > times->executed_before ? executed - times->executed_before : 1;

	for (uint32_t i = 0; i < times->fresh_count; i++)
		fold(times->pieces[times->fresh[i]],
		     times->instructions ? (double)since / (double)times->instructions : 1);
	times->windows += times->fresh_count > 0;
	times->fresh_count = 0;
	times->instructions = 0;
	if (executed > times->executed_before)
		times->executed_before = executed;
}

struct rate {
	double cycles, instructions; /* per instruction; that were executed */
};

static int by_cycles(const void *left, const void *right)
{
	double a = ((const struct rate *)left)->cycles, b = ((const struct rate *)right)->cycles;

	return (a > b) - (a < b);
}

/* Cycles per instruction of code without timing: the median of timed code, but at most one. Windows open at random
   times, so code without a window took little time, however many instructions it has. */
static double usual_rate(struct rate *rates, uint32_t count, double instructions)
{
	double sum = 0;

	qsort(rates, count, sizeof(*rates), by_cycles);
	for (uint32_t i = 0; i < count; i++) {
		sum += rates[i].instructions;
		if (2 * sum >= instructions)
			return fmin(1, rates[i].cycles);
	}
	return 1;
}

/* A piece that was timed, where it lies. */
struct placed {
	uint64_t from, to;
	const struct piece_time *time;
	double instructions; /* executed while it was timed, weighted */
};

static int by_place(const void *left, const void *right)
{
	uint64_t a = ((const struct placed *)left)->from, b = ((const struct placed *)right)->from;

	return (a > b) - (a < b);
}

struct placed_list {
	struct placed *pieces;
	uint32_t count;
	uint64_t longest;
};

static void place_all(const struct fm_piece_times *times, const struct fm_piece_total *pieces, uint32_t count,
                      struct placed_list *ret)
{
	for (uint32_t i = 0; i < count && i < PIECES; i++) {
		const struct piece_time *time = times->pieces[i];

		if (!time || !(time->executed > 0) || !pieces[i].instructions)
			continue;
		ret->pieces[ret->count++] = (struct placed){.from = pieces[i].pc,
		                                            .to = pieces[i].pc + pieces[i].bytes,
		                                            .time = time,
		                                            .instructions = time->executed * pieces[i].instructions};
		if (pieces[i].bytes > ret->longest)
			ret->longest = pieces[i].bytes;
	}
	qsort(ret->pieces, ret->count, sizeof(ret->pieces[0]), by_place);
}

/* Times of a piece, per instruction. The same code may be cut into other pieces where it is counted than where it is
   timed: all timed pieces with its addresses count. */
struct timed_code {
	double instructions, numbers[NUMBERS];
	double group_instructions[GROUPS], group_cycles[GROUPS];
};

static void ask(const struct placed_list *list, const struct fm_piece_total *piece, struct timed_code *ret)
{
	uint64_t from = piece->pc, to = piece->pc + piece->bytes,
	         least = from > list->longest ? from - list->longest : 0;
	uint32_t low = 0, high = list->count;

	memset(ret, 0, sizeof(*ret));
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (list->pieces[middle].from < least)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < list->count && list->pieces[low].from < to; low++) {
		const struct placed *placed = &list->pieces[low];
		double each = placed->time->executed > 0 ? placed->instructions / placed->time->executed : 0;

		if (placed->to <= from)
			continue;
		ret->instructions += placed->instructions;
		for (unsigned i = 0; i < NUMBERS; i++)
			ret->numbers[i] += placed->time->numbers[i];
		for (unsigned i = 0; i < GROUPS; i++) {
			ret->group_instructions[i] += each * placed->time->group_executed[i];
			ret->group_cycles[i] += placed->time->group_cycles[i];
		}
	}
}

/* Cycles per instruction without the stretches of one group; those of all where it alone had the piece. */
static double without(const struct timed_code *timed_code, unsigned group)
{
	double instructions = timed_code->instructions - timed_code->group_instructions[group];

	return instructions > 1e-9 * timed_code->instructions
	           ? (timed_code->numbers[FM_TIMING_cycles] - timed_code->group_cycles[group]) / instructions
	           : timed_code->numbers[FM_TIMING_cycles] / timed_code->instructions;
}

/* Sums over all pieces. */
struct sums {
	double numbers[NUMBERS], left_out[GROUPS], all, timed;
	double lines;   /* of these, of string instructions */
	double guessed; /* cycles, by what others took */
};

/* So many instructions, or string lines, took what they took where they were timed. */
static void add(struct sums *sums, const struct timed_code *timed_code, double executed, unsigned groups)
{
	double factor = executed / timed_code->instructions;

	sums->timed += executed;
	for (unsigned k = 0; k < NUMBERS; k++)
		sums->numbers[k] += factor * timed_code->numbers[k];
	for (unsigned k = 0; k < groups; k++)
		sums->left_out[k] += executed * without(timed_code, k);
}

static bool is_timed(const struct fm_piece_times *times, unsigned class)
{
	return times->pieces[PIECES + class] && times->pieces[PIECES + class]->executed > 0;
}

/* The class itself, or the nearest of its kind: the larger one first, which took more of the time that was looked at.
   FM_STRING_CLASSES: none was timed. */
static unsigned nearest_class(const struct fm_piece_times *times, unsigned class)
{
	unsigned first = class / FM_STRING_SIZES * FM_STRING_SIZES;

	for (unsigned distance = 0; distance < FM_STRING_SIZES; distance++) {
		if (class + distance < first + FM_STRING_SIZES && is_timed(times, class + distance))
			return class + distance;
		if (class >= first + distance && is_timed(times, class - distance))
			return class - distance;
	}
	return FM_STRING_CLASSES;
}

static void add_class(const struct fm_piece_times *times, unsigned class, double lines, unsigned groups,
                      struct sums *sums)
{
	const struct piece_time *piece = times->pieces[PIECES + class];
	struct timed_code timed_code = {.instructions = piece->executed};

	memcpy(timed_code.numbers, piece->numbers, sizeof(timed_code.numbers));
	memcpy(timed_code.group_instructions, piece->group_executed, sizeof(timed_code.group_instructions));
	memcpy(timed_code.group_cycles, piece->group_cycles, sizeof(timed_code.group_cycles));
	add(sums, &timed_code, lines, groups);
}

/* A string instruction that is interrupted, as by the beginning of a window, goes on as one of a smaller class. The
   timed lines of a class represent a number of lines. The excess over its own lines, beyond chance, belongs to classes
   without timing: 1 if all of those of its kind do. */
static double seen_as_others(const struct fm_piece_times *times, const uint64_t *lines, unsigned class)
{
	unsigned first = class / FM_STRING_SIZES * FM_STRING_SIZES;
	double more = 0, untimed = 0;

	for (unsigned i = first; i < first + FM_STRING_SIZES; i++)
		if (is_timed(times, i))
			more += fmax(0, times->pieces[PIECES + i]->executed - 2 * (double)lines[i]);
		else
			untimed += (double)lines[i];
	return untimed > more ? more / untimed : 1;
}

/* Lines of classes without timing take as long as those of the nearest class, up to a limit: windows open at random
   times, and classes that took more than one part of their number would have been seen in one. */
static void add_untimed_lines(const struct fm_piece_times *times, const uint64_t *lines, unsigned groups,
                              struct sums *sums)
{
	double most = sums->numbers[FM_TIMING_cycles] / (times->windows ? times->windows : 1), cycles = 0, part;

	for (unsigned i = 0; i < FM_STRING_CLASSES; i++) {
		unsigned like = nearest_class(times, i);

		if (!is_timed(times, i) && like < FM_STRING_CLASSES)
			cycles += (1 - seen_as_others(times, lines, i)) * (double)lines[i] *
			          times->pieces[PIECES + like]->numbers[FM_TIMING_cycles] /
			          times->pieces[PIECES + like]->executed;
	}
	part = cycles > most ? most / cycles : 1;
	sums->guessed += part * cycles;
	for (unsigned i = 0; i < FM_STRING_CLASSES; i++) {
		unsigned like = nearest_class(times, i);
		double before = sums->timed, seen;

		if (!lines[i] || is_timed(times, i) || like == FM_STRING_CLASSES)
			continue;
		seen = seen_as_others(times, lines, i);
		add_class(times, like, (seen + part * (1 - seen)) * (double)lines[i], groups, sums);
		sums->timed = before + (double)lines[i];
	}
}

static void add_lines(const struct fm_piece_times *times, const uint64_t *lines, unsigned groups, struct sums *sums)
{
	for (unsigned i = 0; i < FM_STRING_CLASSES; i++) {
		sums->all += (double)lines[i];
		sums->lines += (double)lines[i];
		if (lines[i] && is_timed(times, i))
			add_class(times, i, (double)lines[i], groups, sums);
	}
	add_untimed_lines(times, lines, groups, sums);
}

/* The error of the cycles, 95 %: from the sums without a group of stretches each (jackknife; Student's t of that number
   of groups), and from code without timing, which may take nothing or twice the assumed time; half of that where
   similar code was timed. */
static double error_of(const struct sums *sums, unsigned groups, double more)
{
	const double student = 2.4;
	double mean = 0, variance = 0;

	for (unsigned k = 0; k < groups; k++)
		mean += sums->left_out[k] / groups;
	for (unsigned k = 0; k < groups; k++)
		variance += (sums->left_out[k] - mean) * (sums->left_out[k] - mean) * (groups - 1) / groups;
	return (student * sqrt(variance) + sums->guessed / 2 + more) / (sums->numbers[FM_TIMING_cycles] + more);
}

void fm_piece_times_total(struct fm_piece_times *times, const struct fm_piece_total *pieces, uint32_t count,
                          const uint64_t *lines, struct fm_result_pieces *ret)
{
	struct placed_list list = {.pieces = calloc(count + 1ul, sizeof(*list.pieces))};
	struct rate *rates = calloc(count + 1ul, sizeof(*rates));
	struct sums sums = {0};
	uint32_t rate_count = 0;
	double plain;
	unsigned groups = times->stretch < GROUPS ? times->stretch : GROUPS;

	memset(ret, 0, sizeof(*ret));
	fm_piece_times_end_window(times, times->executed_before);
	if (!list.pieces || !rates) {
		free(list.pieces);
		free(rates);
		return;
	}
	place_all(times, pieces, count, &list);
	for (uint32_t i = 0; i < count; i++) {
		double instructions = (double)pieces[i].executed * pieces[i].instructions;
		struct timed_code timed_code;

		if (!(instructions > 0))
			continue;
		sums.all += instructions;
		ask(&list, &pieces[i], &timed_code);
		if (!(timed_code.instructions > 0))
			continue;
		add(&sums, &timed_code, instructions, groups);
		rates[rate_count++] =
		    (struct rate){timed_code.numbers[FM_TIMING_cycles] / timed_code.instructions, instructions};
	}
	plain = sums.timed;
	add_lines(times, lines, groups, &sums);
	if (groups > 1 && sums.all > 0 && sums.timed > TIMED_LEAST * sums.all) {
		double more = (sums.all - sums.timed) * usual_rate(rates, rate_count, plain);

		for (unsigned k = 0; k < NUMBERS; k++)
			((uint64_t *)&ret->timing)[k] = (uint64_t)llround(sums.numbers[k]);
		ret->error = error_of(&sums, groups, more);
		ret->timing.cycles += (uint64_t)llround(more);
		ret->timing.instructions = (uint64_t)llround(sums.all - sums.lines);
		ret->timed = sums.timed / sums.all;
	}
	free(list.pieces);
	free(rates);
}
