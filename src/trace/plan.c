#include "trace/plan.h"

#include <string.h>

enum {
	KEYS = 1024,
	MOST_KEYS = KEYS / 2,
	SLOTS = 4 * FM_PLAN_LINES,
	MOST_SETS = 4096,
	LEAST_MARKS = 4,   /* visits of a mark, in what follows the run-up */
	SELDOM = 100,      /* instructions between two visits that cost nothing … */
	TOO_SELDOM = 2000, /* … and that leave enough visits */
	RUN_IN_PART = 5,   /* two of this many parts are the run-in */
	PAGE = 4096,
	LINES_PART = 4,            /* of the cache, one part of this many stays free … */
	FREE_WAYS = 2,             /* … and this number of ways of each set */
	LATE = 2 * FM_PLAN_COPIES, /* visits by which a copied loop may be late */
};

static bool is_piece(const struct fm_translate_entry *entry)
{
	return entry->site & FM_TRANSLATE_PIECE_ENTRY;
}

static bool is_old(const struct fm_translate_entry *entry)
{
	return entry->site & FM_TRANSLATE_OLD_ENTRY;
}

static const struct fm_trace_piece *piece_of(const struct fm_plan_log *log, const struct fm_translate_entry *entry)
{
	uint64_t number = entry->site & ~(uint64_t)FM_TRANSLATE_PIECE_ENTRY;

	return is_piece(entry) && number < log->piece_count ? &log->pieces[number] : NULL;
}

static uint64_t end_of(const struct fm_trace_piece *piece)
{
	return piece->end == FM_TRANSLATE_CUT ? 0 : piece->pc + piece->bytes;
}

uint64_t fm_plan_instructions(const struct fm_plan_log *log)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < log->count; i++) {
		const struct fm_trace_piece *piece = piece_of(log, &log->entries[i]);

		sum += piece ? piece->instructions : 0;
	}
	return sum;
}

/* Executions of each branch. */
struct keys {
	uint64_t ends[KEYS];
	uint32_t counts[KEYS];
	uint32_t used;
};

static void count_end(struct keys *keys, uint64_t end)
{
	uint32_t at = (uint32_t)((end * 0x9e3779b97f4a7c15ull) >> 32) % KEYS;

	while (keys->ends[at] && keys->ends[at] != end)
		at = (at + 1) % KEYS;
	if (!keys->ends[at]) {
		if (keys->used == MOST_KEYS)
			return;
		keys->used++;
		keys->ends[at] = end;
	}
	keys->counts[at]++;
}

uint64_t fm_plan_choose(const struct fm_plan_log *log)
{
	static struct keys keys;
	uint64_t instructions = 0, counted = 0, seldom = 0, often = 0;
	uint32_t seldom_count = 0, often_count = 0;

	memset(&keys, 0, sizeof(keys));
	for (size_t i = 0; i < log->count; i++) {
		const struct fm_trace_piece *piece = piece_of(log, &log->entries[i]);

		if (!piece)
			continue;
		if (instructions >= FM_PLAN_RUN_UP) {
			counted += piece->instructions;
			if (end_of(piece))
				count_end(&keys, end_of(piece));
		}
		instructions += piece->instructions;
	}
	for (uint32_t i = 0; i < KEYS; i++) {
		uint32_t count = keys.counts[i];

		if (count < LEAST_MARKS)
			continue;
		if (counted / count < SELDOM) {
			if (!often_count || count < often_count || (count == often_count && keys.ends[i] < often)) {
				often = keys.ends[i];
				often_count = count;
			}
		} else if (count > seldom_count || (count == seldom_count && keys.ends[i] < seldom)) {
			seldom = keys.ends[i];
			seldom_count = count;
		}
	}
	return seldom_count && (!often_count || counted / seldom_count <= TOO_SELDOM) ? seldom : often;
}

/* The lines and pages that are in use so far. */
struct used {
	uint64_t lines[SLOTS]; /* number of the line + 1 */
	uint64_t pages[SLOTS];
	uint16_t in_set[MOST_SETS];
};

static bool add(uint64_t *slots, uint64_t number)
{
	uint32_t at = (uint32_t)((number * 0x9e3779b97f4a7c15ull) >> 32) % SLOTS;

	while (slots[at] && slots[at] != number + 1)
		at = (at + 1) % SLOTS;
	if (slots[at])
		return false;
	slots[at] = number + 1;
	return true;
}

/* False: no room. */
static bool use(struct used *used, const struct fm_plan_limits *limits, struct fm_plan *plan, uint64_t address,
                uint32_t size)
{
	uint64_t first = address / limits->line, last = (address + (size ? size : 1) - 1) / limits->line;
	uint32_t most = limits->sets * limits->ways / LINES_PART * (LINES_PART - 1);

	if (most > FM_PLAN_LINES)
		most = FM_PLAN_LINES;
	for (uint64_t line = first; line <= last; line++) {
		uint64_t page = line * limits->line / PAGE;

		if (plan->page_count < limits->pages) {
			plan->page_count += add(used->pages, page);
		} else if (add(used->pages, page)) {
			return false;
		}
		if (!add(used->lines, line))
			continue;
		if (plan->line_count == most || ++used->in_set[line % limits->sets] > limits->ways - FREE_WAYS)
			return false;
		plan->lines[plan->line_count++] = line * limits->line;
	}
	return true;
}

static bool fits(const struct fm_plan_limits *limits)
{
	return limits->line >= 16 && limits->sets && limits->sets <= MOST_SETS && limits->ways > FREE_WAYS &&
	       limits->pages && limits->pages <= FM_PLAN_LINES;
}

/* What the walk along the log has seen. */
struct walk {
	uint64_t instructions, placed_at; /* instructions */
	uint32_t visits;
	bool full;
	bool repeats; /* no branch between two visits: a loop that may be copied */
};

/* Up to the first reference for which there is no room. */
static void walk_along(const struct fm_plan_log *log, uint64_t mark, const struct fm_plan_limits *limits,
                       struct fm_plan *plan, struct walk *walk)
{
	static struct used used;
	bool others = true; /* branches since the latest visit */

	memset(&used, 0, sizeof(used));
	for (size_t i = 0; i < log->count && !walk->full; i++) {
		const struct fm_translate_entry *entry = &log->entries[i];
		const struct fm_trace_piece *piece = piece_of(log, entry);

		if (piece && end_of(piece) == mark) {
			walk->visits++;
			walk->repeats |= !others;
			others = false;
			if (!plan->place_at && walk->instructions >= FM_PLAN_RUN_UP) {
				plan->place_at = walk->visits;
				walk->placed_at = walk->instructions;
			}
		}
		others |= piece && end_of(piece) && end_of(piece) != mark;
		if (piece)
			walk->instructions += piece->instructions;
		else if (plan->place_at && !is_old(entry) && !is_piece(entry) && entry->site < log->site_count)
			walk->full = !use(&used, limits, plan, entry->address, log->sites[entry->site].size);
	}
}

/* Instructions before this visit. */
static uint64_t instructions_before(const struct fm_plan_log *log, uint64_t mark, uint32_t visit)
{
	uint64_t instructions = 0;
	uint32_t visits = 0;

	for (size_t i = 0; i < log->count; i++) {
		const struct fm_trace_piece *piece = piece_of(log, &log->entries[i]);

		if (piece && end_of(piece) == mark && ++visits == visit)
			break;
		instructions += piece ? piece->instructions : 0;
	}
	return instructions;
}

enum fm_timing_problem fm_plan_make(const struct fm_plan_log *log, uint64_t mark, const struct fm_plan_limits *limits,
                                    struct fm_plan *ret_plan)
{
	struct walk walk = {0};
	uint32_t visits, run_in;
	enum fm_timing_problem why;

	ret_plan->step = 1;
	ret_plan->place_at = ret_plan->from = ret_plan->until = ret_plan->instructions = 0;
	ret_plan->line_count = ret_plan->page_count = 0;
	if (!fits(limits))
		return FM_TIMING_MEMORY;
	if (fm_plan_instructions(log) < FM_PLAN_RUN_UP + FM_PLAN_LEAST)
		return FM_TIMING_SHORT;
	if (!mark)
		return FM_TIMING_OTHER_MARK;
	walk_along(log, mark, limits, ret_plan, &walk);
	why = walk.full ? FM_TIMING_SETS : FM_TIMING_OTHER_MARK;
	if (walk.instructions < FM_PLAN_RUN_UP + FM_PLAN_LEAST)
		return FM_TIMING_SETS;
	visits = walk.visits - ret_plan->place_at;
	if (!ret_plan->place_at || visits < FM_PLAN_LEAST_VISITS + 1)
		return why;
	/* copies of a loop count, and are left, a little late */
	if (walk.repeats) {
		ret_plan->step = FM_PLAN_COPIES;
		visits = visits > LATE ? visits - LATE : 0;
	}
	run_in = visits / RUN_IN_PART * 2 + 1;
	if (visits < run_in + ret_plan->step)
		return why;
	ret_plan->from = ret_plan->place_at + run_in;
	ret_plan->until = ret_plan->from + (visits - run_in) / ret_plan->step * ret_plan->step;
	ret_plan->instructions = (uint32_t)(instructions_before(log, mark, ret_plan->until) -
	                                    instructions_before(log, mark, ret_plan->from));
	if (ret_plan->until < ret_plan->from + FM_PLAN_LEAST_VISITS || ret_plan->instructions < FM_PLAN_LEAST)
		return why;
	visits = (uint32_t)((uint64_t)FM_PLAN_STRETCH * (ret_plan->until - ret_plan->from) / ret_plan->instructions);
	ret_plan->apart = (visits + ret_plan->step) / ret_plan->step * ret_plan->step;
	return FM_TIMING_DONE;
}

void fm_plan_halve(const struct fm_plan_log *log, uint64_t mark, struct fm_plan *plan)
{
	uint32_t visits = (plan->until - plan->from) / 2 / plan->step * plan->step, from = plan->until - visits,
	         instructions =
	             (uint32_t)(instructions_before(log, mark, plan->until) - instructions_before(log, mark, from));

	if (visits < FM_PLAN_LEAST_VISITS || instructions < FM_PLAN_LEAST)
		return;
	plan->from = from;
	plan->instructions = instructions;
}

void fm_plan_undo(const struct fm_plan_log *log)
{
	for (size_t i = log->count; i-- > 0;) {
		size_t first = i;
		uint64_t at;

		if (!is_old(&log->entries[i]))
			continue;
		/* the entries of one store, which follow that of its address */
		while (first && is_old(&log->entries[first - 1]))
			first--;
		if (!first)
			return;
		at = log->entries[first - 1].address;
		for (size_t k = first; k <= i; k++) {
			uint64_t bytes = log->entries[k].site & ~(uint64_t)FM_TRANSLATE_OLD_ENTRY;

			memcpy((void *)at, &log->entries[k].address, bytes);
			at += bytes;
		}
		i = first;
	}
}

bool fm_plan_avoids(const struct fm_plan_log *log, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < log->count; i++) {
		const struct fm_translate_entry *entry = &log->entries[i];

		if (!is_old(entry) && !is_piece(entry) && entry->site < log->site_count && entry->address < end &&
		    entry->address + log->sites[entry->site].size > start)
			return false;
	}
	return true;
}
