#include "base/suggest.h"

#include <string.h>

enum { WORD_MAX = 32 };

/* Insertions, deletions and replacements from one word to the other. */
static unsigned distance(const char *from, const char *to)
{
	unsigned row[WORD_MAX + 1];
	size_t from_length = strlen(from), to_length = strlen(to);

	if (from_length > WORD_MAX || to_length > WORD_MAX)
		return WORD_MAX;
	for (unsigned j = 0; j <= to_length; j++)
		row[j] = j;
	for (unsigned i = 1; i <= from_length; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= to_length; j++) {
			unsigned best = diagonal + (from[i - 1] != to[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[to_length];
}

const char *fm_suggest(const char *word, const char *const *candidates, unsigned count)
{
	const char *nearest = NULL;
	unsigned least = (unsigned)strlen(word) / 3 + 1;

	for (unsigned i = 0; i < count; i++) {
		unsigned apart = distance(word, candidates[i]);

		if (apart <= least && (!nearest || apart < least)) {
			nearest = candidates[i];
			least = apart;
		}
	}
	return nearest;
}
