/* Finds a word with the most regular touches in a long run of references. The number of its touches gives the number of
   references in native code. Allocates and calls nothing. */
#ifndef FATHOM_RECORD_RHYTHM_H
#define FATHOM_RECORD_RHYTHM_H

#include <stdbool.h>
#include <stdint.h>

enum {
	FM_RHYTHM_WORDS = 2048,
	FM_RHYTHM_ONE_IN = 16, /* one word in 16 is observed: the others cost no time */
};

struct fm_rhythm {
	uint64_t references; /* so far */
	struct fm_rhythm_word {
		uint64_t word;        /* address / 8; 0: free */
		uint64_t first, last; /* references before the first and the last touch */
		uint32_t gaps;        /* between touches */
		double squares;       /* of the gaps */
	} words[FM_RHYTHM_WORDS];
};

void fm_rhythm_begin(struct fm_rhythm *rhythm);

static inline void fm_rhythm_touch(struct fm_rhythm *rhythm, uint64_t word)
{
	uint64_t hash = word * 0x9e3779b97f4a7c15u;
	struct fm_rhythm_word *known;
	double gap;

	if (hash >> 60) /* one in 16 */
		return;
	known = &rhythm->words[hash >> 40 & (FM_RHYTHM_WORDS - 1)];
	if (!known->word) {
		known->word = word;
		known->first = known->last = rhythm->references;
		return;
	}
	if (known->word != word)
		return;
	gap = (double)(rhythm->references - known->last);
	known->last = rhythm->references;
	known->squares += gap * gap;
	known->gaps++;
}

struct fm_rhythm_choice {
	uint64_t word;
	double gap;       /* references between touches, average */
	double variation; /* standard deviation of the gaps, relative to the average */
	uint32_t gaps;    /* number of gaps seen */
};

/* Chooses the most regular word whose average gap is at least `least_gap`. False: none is regular. A word chosen for
   its many touches would underestimate the references. */
bool fm_rhythm_choose(const struct fm_rhythm *rhythm, double least_gap, struct fm_rhythm_choice *ret_choice);

#endif
