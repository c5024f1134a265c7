#include "record/rhythm.h"

enum { GAPS_LEAST = 3, GAPS_MANY = 8 };

/* Few gaps are alike by chance. */
static const double most_variance = 0.1, few_variance = 1e-6;

void fm_rhythm_begin(struct fm_rhythm *rhythm)
{
	rhythm->references = 0;
	for (unsigned i = 0; i < FM_RHYTHM_WORDS; i++)
		rhythm->words[i] = (struct fm_rhythm_word){0};
}

/* Newton's: the mathematical library is the program's. */
static double square_root(double value)
{
	double root = value > 1 ? value : 1;

	for (unsigned i = 0; i < 40; i++)
		root = (root + value / root) / 2;
	return value > 0 ? root : 0;
}

bool fm_rhythm_choose(const struct fm_rhythm *rhythm, double least_gap, struct fm_rhythm_choice *ret_choice)
{
	double best = 1e9;

	for (unsigned i = 0; i < FM_RHYTHM_WORDS; i++) {
		const struct fm_rhythm_word *word = &rhythm->words[i];
		double gap, variance, error;

		if (!word->word || word->gaps < GAPS_LEAST)
			continue;
		gap = (double)(word->last - word->first) / word->gaps;
		if (gap < least_gap)
			continue;
		variance = word->squares / word->gaps / (gap * gap) - 1;
		if (variance > (word->gaps < GAPS_MANY ? few_variance : most_variance))
			continue;
		/* of the mean: more gaps are better than fewer that look the same */
		error = ((variance > 0 ? variance : 0) + 0.01) / word->gaps;
		if (error < best) {
			best = error;
			*ret_choice = (struct fm_rhythm_choice){.word = word->word,
			                                        .gap = gap,
			                                        .variation = square_root(variance > 0 ? variance : 0),
			                                        .gaps = word->gaps};
		}
	}
	return best < 1e9;
}
