/* Draws a program from a seed. The kind of the main phase goes round with the seed, so that every kind occurs in as
   many seeds that follow each other; everything else is drawn. */
#include "generator.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A phase has to have three times the stalled cycles of what has another cause, since costs are known only roughly. */
#define CLEAR 3.0

/* Below this share of the cycles nothing to speak of is stalled; above the second one, something is. */
#define LITTLE 0.1
#define MUCH 0.35

/* cycles of an iteration of spend() */
#define SPEND 2.5

enum { LINE = 64, PAGE = 4096, GROUP = 2048 * LINE, TRIES = 256 };

uint64_t random_next(uint64_t *state)
{
	uint64_t value = *state += 0x9e3779b97f4a7c15;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
	value = (value ^ value >> 27) * 0x94d049bb133111eb;
	return value ^ value >> 31;
}

static double random_share(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* From low to high, even in the logarithm. */
static double random_between(uint64_t *state, double low, double high)
{
	return low * pow(high / low, random_share(state));
}

/* Where a level begins and ends: well beyond the level above, well inside its own. */
static bool level_range(const struct options *options, enum level level, double *ret_low, double *ret_high)
{
	switch (level) {
	case LEVEL_L1:
		*ret_low = 0.25 * (double)options->bytes[LEVEL_L1];
		*ret_high = 0.6 * (double)options->bytes[LEVEL_L1];
		break;
	case LEVEL_L2:
	case LEVEL_L3:
		/* threads share the last cache */
		*ret_low = 3 * (double)options->bytes[level - 1];
		*ret_high = (level == LEVEL_L2 ? 0.5 : 0.4 / options->threads) * (double)options->bytes[level];
		break;
	default:
		*ret_low = (double)options->bytes[LEVEL_MEMORY] / options->threads;
		*ret_high = 1.7 * *ret_low;
	}
	return *ret_low <= *ret_high;
}

/* Lines a page apart: more than the first cache has of them, fewer than L2 has, and than the first TLB has entries. */
static double set_low(const struct options *options)
{
	return fmax(16, 1.5 * (double)options->bytes[LEVEL_L1] / PAGE);
}

static double set_high(const struct options *options)
{
	return fmin(48, 0.6 * (double)options->bytes[LEVEL_L2] / PAGE);
}

static bool possible(const struct options *options, const struct kind *kind, enum level level)
{
	double low, high;

	if (!(kind->at[level].cycles > 0) || !(kind->threads & (options->threads > 1 ? TWO : ONE)))
		return false;
	switch (kind->shape) {
	case SHAPE_LINES:
	case SHAPE_SPARSE:
	case SHAPE_STEPS:
		return level_range(options, level, &low, &high);
	case SHAPE_SET:
		return set_low(options) <= set_high(options);
	case SHAPE_PAGES:
		/* more than the last TLB knows, well inside L2 */
		return 1.5 * options->translations * LINE <= 0.6 * (double)options->bytes[LEVEL_L2];
	default:
		return true;
	}
}

bool plan_cell(const struct options *options, unsigned index, const struct kind **ret_kind, enum level *ret_level)
{
	for (unsigned i = 0; i < kind_count; i++)
		for (unsigned level = 0; level < LEVELS; level++)
			if (possible(options, &kinds[i], (enum level)level) && !index--) {
				*ret_kind = &kinds[i];
				*ret_level = (enum level)level;
				return true;
			}
	return false;
}

/* Lines that a phase's data has; whole groups where it has several. */
static uint64_t draw_lines(const struct options *options, const struct phase *phase, uint64_t *state)
{
	double low = LINE, high = LINE;
	uint64_t bytes;

	level_range(options, phase->level, &low, &high);
	bytes = (uint64_t)random_between(state, low, high) / phase->kind->arrays;
	bytes = bytes > GROUP ? bytes / GROUP * GROUP : bytes / (8 * LINE) * (8 * LINE);
	return bytes / LINE;
}

static void draw_sizes(const struct options *options, struct phase *phase, uint64_t *state)
{
	/* an odd number of lines: others leave sets of the caches unused, so that less fits */
	static const unsigned strides[] = {192, 320};

	/* nothing is left of what was drawn before */
	*phase = (struct phase){.kind = phase->kind, .level = phase->level, .share = phase->share};
	phase->seed = random_next(state) >> 16;
	phase->chains = 2 + (unsigned)(random_next(state) % 3);
	phase->stride = LINE;
	/* so few instructions for each line that L3 is the limit for certain; elsewhere that does not matter */
	phase->spread = phase->level == LEVEL_L1 ? 1 : phase->level == LEVEL_L3 ? 4 : 1u << random_next(state) % 3;
	phase->units = 1024;
	switch (phase->kind->shape) {
	case SHAPE_LINES:
	case SHAPE_SPARSE:
	case SHAPE_STEPS:
		phase->lines = draw_lines(options, phase, state);
		if (phase->kind->shape == SHAPE_SPARSE) {
			/* a sweep leaves nothing of itself in a cache that is a little too small, and untouched lines
			 * take room */
			phase->stride = strides[random_next(state) % (sizeof(strides) / sizeof(*strides))];
			phase->lines /= phase->level == LEVEL_MEMORY ? 2 : 1;
		}
		phase->bytes = phase->lines * LINE;
		if (phase->kind->shape != SHAPE_STEPS)
			phase->units = phase->lines * phase->kind->arrays;
		break;
	case SHAPE_SET:
		phase->lines = (uint64_t)random_between(state, set_low(options), set_high(options));
		phase->stride = PAGE;
		phase->bytes = phase->lines * PAGE;
		break;
	case SHAPE_PAGES:
		phase->lines = (uint64_t)random_between(state, 1.5 * options->translations,
		                                        0.6 * (double)options->bytes[LEVEL_L2] / LINE);
		phase->stride = PAGE;
		phase->bytes = phase->lines * PAGE;
		break;
	case SHAPE_WORK:
		phase->units = 1;
		if (phase->kind->arrays)
			phase->work = (uint64_t)random_between(state, 400, 40000);
		break;
	default:
		break;
	}
}

static bool same_cause(const char *one, const char *other)
{
	size_t length = strcspn(one, "|");

	return length == strcspn(other, "|") && !strncmp(one, other, length);
}

static const struct at_level *at(const struct phase *phase)
{
	return &phase->kind->at[phase->level];
}

/* Which phase has most of the stalled cycles, if that is clear. */
static bool find_dominant(struct plan *plan)
{
	double all = 0, most = 0, others = 0;

	plan->dominant = -1;
	for (unsigned i = 0; i < plan->phase_count; i++) {
		double stalled = plan->phases[i].share * at(&plan->phases[i])->stalled;

		all += stalled;
		if (stalled > most) {
			most = stalled;
			plan->dominant = (int)i;
		}
	}
	if (plan->phase_count == 1)
		return true;
	if (all <= LITTLE) {
		plan->dominant = -1;
		return true;
	}
	for (unsigned i = 0; i < plan->phase_count; i++)
		if (!same_cause(at(&plan->phases[i])->causes, at(&plan->phases[plan->dominant])->causes))
			others += plan->phases[i].share * at(&plan->phases[i])->stalled;
	return most >= MUCH && most >= CLEAR * others;
}

/* Each phase gets its share; what is left of a whole repetition is lost. */
static void set_repetitions(struct plan *plan)
{
	for (unsigned i = 0; i < plan->phase_count; i++) {
		struct phase *phase = &plan->phases[i];
		double cycles = plan->options.seconds * plan->options.gigahertz * 1e9 * phase->share / plan->rounds,
		       unit = at(phase)->cycles + SPEND * (double)(phase->work * phase->kind->arrays),
		       repetitions = cycles / (unit * (double)phase->units);

		phase->repetitions = repetitions < 1 ? 1 : (uint64_t)(repetitions + 0.5);
	}
}

static bool find_only(const struct options *options, struct phase *phase)
{
	for (unsigned i = 0; plan_cell(options, i, &phase->kind, &phase->level); i++) {
		size_t length = strlen(phase->kind->name);

		if (!strncmp(options->only, phase->kind->name, length) &&
		    (!options->only[length] ||
		     (options->only[length] == ':' && !strcmp(options->only + length + 1, level_names[phase->level]))))
			return true;
	}
	return false;
}

/* One in two programs has one phase, one in five three. */
static unsigned draw_phase_count(uint64_t *state)
{
	uint64_t lot = random_next(state) % 10;

	return lot < 5 ? 1 : lot < 8 ? 2 : 3;
}

static void draw_phases(struct plan *plan, unsigned cells, uint64_t *state)
{
	static const unsigned rounds[] = {1, 4, 16};
	double left = 1;

	plan->rounds = plan->phase_count > 1 ? rounds[random_next(state) % 3] : 1;
	for (unsigned i = 0; i < plan->phase_count; i++) {
		struct phase *phase = &plan->phases[i];

		if (i)
			plan_cell(&plan->options, (unsigned)(random_next(state) % cells), &phase->kind, &phase->level);
		phase->share = i + 1 == plan->phase_count ? left
		               : i                        ? left * (0.3 + 0.4 * random_share(state))
		                                          : 0.55 + 0.3 * random_share(state);
		left -= phase->share;
		draw_sizes(&plan->options, phase, state);
	}
	/* the main phase is not always the first */
	if (plan->phase_count > 1) {
		unsigned place = (unsigned)(random_next(state) % plan->phase_count);
		struct phase first = plan->phases[0];

		plan->phases[0] = plan->phases[place];
		plan->phases[place] = first;
	}
}

/* With threads, every second program has a kind that only threads can have: there are fewer of these. */
static void main_cell(const struct options *options, unsigned cells, struct phase *phase)
{
	unsigned common = 0, index = (unsigned)(options->seed % cells);

	if (options->threads > 1) {
		/* these are last in the table */
		while (plan_cell(options, common, &phase->kind, &phase->level) && phase->kind->threads == ANY)
			common++;
		index = (unsigned)(options->seed / 2 % (options->seed % 2 ? cells - common : common));
		if (options->seed % 2)
			index += common;
	}
	plan_cell(options, index, &phase->kind, &phase->level);
}

int plan_make(const struct options *options, struct plan *ret_plan)
{
	struct plan plan = {.options = *options};
	uint64_t state = options->seed * 0x2545f4914f6cdd1d + options->threads;
	struct phase main_phase = {0};
	unsigned cells = 0;

	while (plan_cell(options, cells, &main_phase.kind, &main_phase.level))
		cells++;
	if (!cells)
		return -EINVAL;
	if (options->only) {
		if (!find_only(options, &main_phase))
			return -EINVAL;
	} else {
		main_cell(options, cells, &main_phase);
	}
	plan.phase_count = options->only ? 1 : draw_phase_count(&state);
	for (unsigned i = 0;; i++) {
		/* what cannot be made clear becomes a program of one phase */
		if (i == TRIES)
			plan.phase_count = 1;
		plan.phases[0] = main_phase;
		draw_phases(&plan, cells, &state);
		if (plan.phase_count == 1)
			plan.phases[0].share = 1;
		if (find_dominant(&plan))
			break;
	}
	set_repetitions(&plan);
	snprintf(plan.name, sizeof(plan.name), options->threads > 1 ? "program-%04llu-%u" : "program-%04llu",
	         (unsigned long long)options->seed, options->threads);
	*ret_plan = plan;
	return 0;
}
