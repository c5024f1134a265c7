#include "record/window_log.h"

enum { VISIT_GAP = 32 /* references: less apart, and it is one visit */ };

static const double enough = 0.9; /* of the visits: then one word is watched */

void fm_window_log_begin(struct fm_window_log *log)
{
	log->count = log->survivors = 0;
}

static uint64_t line_of(const struct fm_window_log *log, uint32_t position)
{
	return log->words[position] / FM_WINDOW_WORDS;
}

static void note_visit(const struct fm_window_log *log, struct fm_window_habits *habits, uint32_t began,
                       uint32_t before)
{
	habits->visits++;
	habits->same += log->words[began] == log->words[before];
}

void fm_window_log_link(struct fm_window_log *log, struct fm_window_habits *habits)
{
	uint32_t size = 64, horizon = fm_window_log_horizon(log->count);

	while (size < 2 * log->count)
		size *= 2;
	for (uint32_t i = 0; i < size; i++)
		log->table[i] = 0;
	/* what was long ago counts less */
	habits->visits *= 0.95;
	habits->same *= 0.95;
	for (uint32_t i = 0; i < log->count; i++) {
		uint64_t line = line_of(log, i);
		uint32_t at = (uint32_t)(line * 0x9e3779b97f4a7c15u >> 40) & (size - 1), before;

		while ((before = log->table[at]) && line_of(log, before - 1) != line)
			at = (at + 1) & (size - 1);
		log->table[at] = (uint16_t)(i + 1);
		log->again[i] = 0;
		log->since[i] = before ? (uint16_t)(i + 1 - before) : 0;
		if (!before)
			continue;
		log->again[before - 1] = 1;
		if (log->since[i] > VISIT_GAP) {
			/* where the visit before began */
			uint32_t first = before - 1;

			while (log->since[first] && log->since[first] <= VISIT_GAP)
				first -= log->since[first];
			note_visit(log, habits, i, first);
		}
	}
	log->survivors = 0;
	for (uint32_t i = 0; i < log->count && log->count - 1 - i >= horizon; i++)
		log->survivors += !log->again[i];
}

uint32_t fm_window_log_choose(const struct fm_window_log *log, uint64_t random)
{
	uint32_t left = (uint32_t)((random >> 32) * log->survivors >> 32);

	for (uint32_t i = 0;; i++)
		if (!log->again[i] && !left--)
			return i;
}

/* The first reference of the visit that this one ends. */
static uint32_t first_of(const struct fm_window_log *log, uint32_t position)
{
	while (log->since[position] && log->since[position] <= VISIT_GAP)
		position -= log->since[position];
	return position;
}

/* Where visits that end with the same instruction begin. The first half of them chooses words, the second half tells
   how good the choice is: the same visits would praise it too much. */
static unsigned count_words(const struct fm_window_log *log, uint32_t code, double (*ret_counts)[FM_WINDOW_WORDS])
{
	uint32_t whole = log->count / 16; /* visits that were under way when the window began tell nothing */
	unsigned visits = 0;

	for (unsigned half = 0; half < 2; half++)
		for (unsigned word = 0; word < FM_WINDOW_WORDS; word++)
			ret_counts[half][word] = 0;
	for (uint32_t i = whole; i < log->count; i++) {
		uint32_t first;

		if (log->again[i] || log->codes[i] != code)
			continue;
		first = first_of(log, i);
		if (first < whole)
			continue;
		ret_counts[visits++ & 1][log->words[first] % FM_WINDOW_WORDS]++;
	}
	return visits;
}

/* Of the words that are not taken yet. */
static unsigned next_best(const double *counts, unsigned taken)
{
	unsigned best = 0;

	while (taken & 1u << best)
		best++;
	for (unsigned word = best + 1; word < FM_WINDOW_WORDS; word++)
		if (!(taken & 1u << word) && counts[word] > counts[best])
			best = word;
	return best;
}

unsigned fm_window_log_words(const struct fm_window_log *log, const struct fm_window_habits *habits, uint32_t position,
                             unsigned room, uint64_t *ret_words, double *ret_share)
{
	uint64_t line = line_of(log, position);
	unsigned own = (unsigned)(log->words[first_of(log, position)] % FM_WINDOW_WORDS), taken = 0, count = 0;
	double counts[2][FM_WINDOW_WORDS], share[FM_WINDOW_WORDS], chance = 0, agreed, same, covered = 0, total = 0;

	count_words(log, log->codes[position], counts);
	for (unsigned word = 0; word < FM_WINDOW_WORDS; word++)
		total += counts[1][word];
	for (unsigned word = 0; word < FM_WINDOW_WORDS; word++) {
		/* as if each word had been seen a little */
		share[word] = (counts[1][word] + 0.05) / (total + 0.05 * FM_WINDOW_WORDS);
		chance += share[word] * share[word];
	}
	/* beyond chance: lines whose visits begin where they began before */
	agreed = (habits->same + 2) / (habits->visits + 4);
	same = agreed > chance && chance < 1 ? (agreed - chance) / (1 - chance) : 0;
	/* its own first, then those that others begin with most often */
	for (unsigned best = own; count < room; best = next_best(counts[0], taken)) {
		taken |= 1u << best;
		covered += share[best];
		ret_words[count++] = line * FM_WINDOW_WORDS + best;
		if (same + (1 - same) * covered >= enough || count == FM_WINDOW_WORDS)
			break;
	}
	*ret_share = same + (1 - same) * covered;
	if (*ret_share > 1)
		*ret_share = 1;
	return count;
}

size_t fm_window_log_encode(struct fm_window_log *log)
{
	uint8_t *at = log->bytes;

	for (uint32_t i = 0; i < log->count; i++)
		at = fm_window_encode(at, log->since[i]);
	return (size_t)(at - log->bytes);
}
