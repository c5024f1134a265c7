/* Flaws planted in truthful events, one or two at once, over a floor and noise; and whether a judgement names them. */
#ifndef FATHOM_TESTS_TRUST_PLANTING_H
#define FATHOM_TESTS_TRUST_PLANTING_H

#include "base/random.h"
#include "trust/judge.h"

struct planted {
	enum fm_class class;
	double size; /* as in struct fm_flaw; noisy: the noise; proportional: the factor; dead: the count */
	unsigned other;
	uint64_t atoms;
	enum fm_condition condition;
};

/* An event with up to two flaws. */
struct plant {
	unsigned quantity;
	bool socket;
	struct planted flaws[2];
	unsigned count;
	double factor;
	double middle;       /* median of the content */
	double peak, median; /* rate and count before a maximum and a constant */
	double floor;
};

void plant_truthful(const struct fm_matrix *bare, struct fm_random *random, struct plant *ret_plant);
void plant_flaws(const struct fm_matrix *bare, struct fm_random *random, unsigned count, struct plant *ret_plant);

/* Add it as an event, with noise of this relative size. */
void plant_count(struct fm_matrix *matrix, const struct plant *plant, double noise, struct fm_random *random);

/* Are class, quantity and size, within 10 %, of all flaws right? */
bool plant_is_found(const struct fm_matrix *bare, const struct plant *plant, const struct fm_judgement *judgement);

void plant_describe(const struct fm_matrix *bare, const struct plant *plant, char *buffer, size_t size);

#endif
