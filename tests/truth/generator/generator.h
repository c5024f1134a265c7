/* Makes C programs whose stalled cycles have a known cause. A program is one to three phases; a phase is one of the
   kinds of kinds.def with its data in one level of the hierarchy. What a seed gives never depends on the machine that
   the generator runs on, only on the options. */
#ifndef GENERATOR_H
#define GENERATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum level { LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_MEMORY, LEVELS };

enum { PHASES_MAX = 3, CAUSES_MAX = 4, THREADS_MAX = 2 };

/* What a kind does with its data at one level. `cycles` is what a unit of work costs, roughly; 0: not at this level. */
struct at_level {
	double cycles;
	/* the share of these cycles in which nothing executes, roughly */
	double stalled;
	/* the known cause, then others that are as true; separated by | */
	const char *causes;
};

/* How large the data is and what a unit of work is. */
enum shape {
	/* the level's size in lines; a unit is a line, a repetition a pass */
	SHAPE_LINES,
	/* the same, of which few lines are touched */
	SHAPE_SPARSE,
	/* the same, a repetition is 1024 units */
	SHAPE_STEPS,
	/* a few lines in one set of the first cache */
	SHAPE_SET,
	/* a line in each of many pages */
	SHAPE_PAGES,
	/* no data to speak of; a repetition is 1024 units */
	SHAPE_NONE,
	/* so many cycles of arithmetic, `arrays` times one after the other; a unit and a repetition have one such piece
	 */
	SHAPE_WORK,
};

enum { ONE = 1, TWO = 2, ANY = 3 };

struct kind {
	const char *name;
	/* ONE, TWO or ANY: how many threads the program may have */
	unsigned threads;
	enum shape shape;
	/* arrays that the level's size is divided into */
	unsigned arrays;
	struct at_level at[LEVELS];
	/* C text: static data, `prepare_N` and `work_N`; see write.c for what is replaced */
	const char *text;
};

extern const struct kind kinds[];
extern const unsigned kind_count;

struct options {
	uint64_t seed;
	/* of each cache; what is larger than the last is memory for certain */
	uint64_t bytes[LEVELS];
	double seconds, gigahertz;
	unsigned threads, translations;
	/* only this kind, at this level, in one phase; NULL: by the seed */
	const char *only;
};

struct phase {
	const struct kind *kind;
	enum level level;
	/* of each array; lines of all arrays together are units of work of a pass */
	uint64_t bytes, lines;
	/* repetitions of a round, units of work in one */
	uint64_t repetitions, units;
	unsigned chains, stride, spread;
	/* iterations of spend() */
	uint64_t work;
	uint64_t seed;
	/* of the program's time, as meant */
	double share;
};

struct plan {
	struct options options;
	struct phase phases[PHASES_MAX];
	unsigned phase_count;
	/* the phases follow each other this often */
	unsigned rounds;
	/* index of the phase that has most of the stalled cycles; -1: nothing to speak of is stalled */
	int dominant;
	char name[64];
};

extern const char *const level_names[LEVELS];

/* The next of a sequence that `state` stands for. */
uint64_t random_next(uint64_t *state);

/* The program of the options' seed; -EINVAL: the options allow none. */
int plan_make(const struct options *options, struct plan *ret_plan);

/* "kind:level" of every program that one phase can make, in `index` order; NULL after the last. */
bool plan_cell(const struct options *options, unsigned index, const struct kind **ret_kind, enum level *ret_level);

void write_program(const struct plan *plan, FILE *output);

void write_truth(const struct plan *plan, FILE *output);

#endif
