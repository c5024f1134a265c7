/* Events that count cycles of waiting, by their cause: the tests of Molka et al. (ICPE 2017), section 3.2, on chases
   with and without multiplications and on bandwidth kernels. */
#ifndef FATHOM_TRUST_STALLS_H
#define FATHOM_TRUST_STALLS_H

#include "trust/judge.h"

enum fm_stall_role {
#define STALL_ROLE(identifier, words) FM_STALL_ROLE_##identifier,
#include "trust/stall_roles.def"
#undef STALL_ROLE
	FM_STALL_ROLE_COUNT
};

enum { FM_STALL_TESTS_MAX = 64, FM_STALL_LEVELS_MAX = FM_SIMULATED_CACHES_MAX + 1, FM_QUEUES_MAX = 4 };

/* One event, per load of a chase, for each level of the data. */
struct fm_stall_test {
	unsigned event;
	enum fm_stall_role role;
	double plain[FM_STALL_LEVELS_MAX], independent[FM_STALL_LEVELS_MAX], dependent[FM_STALL_LEVELS_MAX];
	bool follows_latency;
	double deducted;            /* uncounted share of the cycles that compute beside the loads */
	double dependencies;        /* counted share of the cycles that wait for arithmetic */
	double of_loads, of_stores; /* share of the cycles of bandwidth kernels, beyond the second cache */
	char reason[240];
};

struct fm_stalls {
	unsigned level_count;
	char levels[FM_STALL_LEVELS_MAX][12];
	double cycles_plain[FM_STALL_LEVELS_MAX], cycles_independent[FM_STALL_LEVELS_MAX],
	    cycles_dependent[FM_STALL_LEVELS_MAX];
	struct fm_stall_test tests[FM_STALL_TESTS_MAX];
	unsigned test_count;
	/* events of the decomposition; -1: none */
	int active, total, loads, outstanding, stores;
	int queues[FM_QUEUES_MAX];
	unsigned queue_count;
	char why[160]; /* why no decomposition exists */
};

const char *fm_stall_role_words(enum fm_stall_role role);

/* Gives events that count waiting the class `stall` and the reason. */
void fm_stalls_test(const struct fm_matrix *matrix, struct fm_judgement *judgements, struct fm_stalls *ret_stalls);

#endif
