#include "trust/stalls.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trust/judging.h"
#include "trust/plan.h"
#include "trust/sharing.h"

static const char *const role_words[] = {
#define STALL_ROLE(identifier, words) words,
#include "trust/stall_roles.def"
#undef STALL_ROLE
};

const char *fm_stall_role_words(enum fm_stall_role role)
{
	return role_words[role];
}

/* The index of the level of a run's data, or -1. */
static int level_of(const struct fm_stalls *stalls, const struct fm_run *run)
{
	for (unsigned i = 0; i < stalls->level_count; i++)
		if (!strcmp(stalls->levels[i], run->level))
			return (int)i;
	return -1;
}

/* Can it be a count of cycles? Never more than there are. */
static bool within_cycles(const struct fm_matrix *matrix, unsigned event)
{
	bool any = false;

	for (unsigned r = 0; r < matrix->run_count; r++) {
		double count = fm_matrix_mean(matrix, event, r),
		       cycles = matrix->runs[r].own[matrix->quantities.cycles];

		if (!isfinite(count) || !(cycles > 0))
			continue;
		any |= count > 0;
		if (count > (1 + FM_STALL_EXCESS) * cycles)
			return false;
	}
	return any;
}

static void read_chases(const struct fm_matrix *matrix, const struct fm_stalls *stalls, int event, double *plain,
                        double *independent, double *dependent)
{
	for (unsigned r = 0; r < matrix->run_count; r++) {
		const struct fm_run *run = &matrix->runs[r];
		double loads = run->own[matrix->quantities.loads[0]];
		double count =
		    event < 0 ? run->own[matrix->quantities.cycles] : fm_matrix_mean(matrix, (unsigned)event, r);
		int level = level_of(stalls, run);

		if (run->cores > 1 || run->remote || level < 0 || !(loads > 0))
			continue;
		if (run->kind == FM_RUN_latency)
			plain[level] = count / loads;
		else if (run->kind == FM_RUN_latency_independent)
			independent[level] = count / loads;
		else if (run->kind == FM_RUN_latency_dependent)
			dependent[level] = count / loads;
	}
}

/* Share of the cycles of load-only and store-only kernels with the data beyond the second cache. */
static void read_streams(const struct fm_matrix *matrix, const struct fm_stalls *stalls, struct fm_stall_test *test)
{
	double cycles[2] = {0}, counts[2] = {0};

	for (unsigned r = 0; r < matrix->run_count; r++) {
		const struct fm_run *run = &matrix->runs[r];
		bool store = !strcmp(run->kernel, "store");
		double count = fm_matrix_mean(matrix, test->event, r);

		if (run->kind != FM_RUN_stream || run->cores > 1 || (!store && strcmp(run->kernel, "load")) ||
		    level_of(stalls, run) < 2 || !isfinite(count))
			continue;
		cycles[store] += run->own[matrix->quantities.cycles];
		counts[store] += count;
	}
	test->of_loads = cycles[0] > 0 ? counts[0] / cycles[0] : 0;
	test->of_stores = cycles[1] > 0 ? counts[1] / cycles[1] : 0;
}

static void examine(const struct fm_matrix *matrix, const struct fm_stalls *stalls, struct fm_stall_test *test)
{
	unsigned last = stalls->level_count - 1, first = last > 1 ? last - 1 : last;
	double deducted = 0, dependencies = 0;
	unsigned n = 0;

	read_chases(matrix, stalls, (int)test->event, test->plain, test->independent, test->dependent);
	read_streams(matrix, stalls, test);
	test->follows_latency = true;
	for (unsigned level = first; level <= last; level++) {
		double waits = stalls->cycles_dependent[level] - stalls->cycles_plain[level];

		test->follows_latency &= test->plain[level] >= FM_STALL_FOLLOWS * stalls->cycles_plain[level];
		/* the multiplications take FM_MULTIPLICATIONS cycles if one can begin in each */
		deducted += (test->plain[level] - test->independent[level]) / FM_MULTIPLICATIONS;
		if (waits > 0)
			dependencies += (test->dependent[level] - test->plain[level]) / waits;
		n++;
	}
	test->deducted = deducted / n;
	test->dependencies = dependencies / n;
}

static bool in_chase(const struct fm_stalls *stalls, const struct fm_stall_test *test)
{
	for (unsigned level = 0; level < stalls->level_count; level++)
		if (test->plain[level] > FM_STALL_ABSENT * stalls->cycles_plain[level])
			return true;
	return false;
}

static void decide(const struct fm_stalls *stalls, struct fm_stall_test *test)
{
	unsigned last = stalls->level_count - 1;
	char level[12];

	memcpy(level, stalls->levels[last], sizeof(level));
	if (test->follows_latency) {
		bool deducts = test->deducted >= FM_STALL_DEDUCTS, clean = test->dependencies <= FM_STALL_DEPENDENCIES;

		test->role = !clean ? FM_STALL_ROLE_none : deducts ? FM_STALL_ROLE_loads : FM_STALL_ROLE_outstanding;
		snprintf(test->reason, sizeof(test->reason), "%.0f of %.0f cycles of a load from %s; %s; %s%s",
		         test->plain[last], stalls->cycles_plain[last], level,
		         deducts ? "excludes cycles with arithmetic" : "includes cycles with arithmetic",
		         clean ? "does not count waiting for arithmetic" : "counts waiting for arithmetic as well",
		         clean ? "" : ": no count of memory stalls");
	} else if (!in_chase(stalls, test) &&
	           (test->of_loads > FM_STALL_PRESENT || test->of_stores > FM_STALL_PRESENT)) {
		test->role = test->of_loads > FM_STALL_ABSENT ? FM_STALL_ROLE_queue : FM_STALL_ROLE_stores;
		snprintf(test->reason, sizeof(test->reason),
		         "zero in a pointer chase, %.0f %% of the cycles of loads and %.0f %% of stores at full "
		         "bandwidth",
		         100 * test->of_loads, 100 * test->of_stores);
	} else {
		snprintf(test->reason, sizeof(test->reason), "covers %.0f of %.0f cycles of a load from %s",
		         test->plain[last], stalls->cycles_plain[last], level);
	}
}

/* The one that covers most. */
static double coverage(const struct fm_stalls *stalls, const struct fm_stall_test *test)
{
	double sum = test->of_loads + test->of_stores;

	for (unsigned level = 0; level < stalls->level_count; level++)
		if (stalls->cycles_plain[level] > 0)
			sum += test->plain[level] / stalls->cycles_plain[level];
	return sum;
}

static int best_of(struct fm_stalls *stalls, enum fm_stall_role role)
{
	struct fm_stall_test *best = NULL;

	for (unsigned i = 0; i < stalls->test_count; i++) {
		struct fm_stall_test *test = &stalls->tests[i];

		if (test->role != role)
			continue;
		if (!best || coverage(stalls, test) > coverage(stalls, best)) {
			if (best)
				best->role = FM_STALL_ROLE_spare;
			best = test;
		} else {
			test->role = FM_STALL_ROLE_spare;
		}
	}
	return best ? (int)best->event : -1;
}

/* All cycles without execution: excludes computing, counts all waiting, and covers most of it. */
static void find_total(struct fm_stalls *stalls)
{
	struct fm_stall_test *best = NULL;

	for (unsigned i = 0; i < stalls->test_count; i++) {
		struct fm_stall_test *test = &stalls->tests[i];

		if (test->follows_latency && test->deducted >= FM_STALL_DEDUCTS &&
		    test->dependencies > FM_STALL_DEPENDENCIES &&
		    (!best || coverage(stalls, test) > coverage(stalls, best)))
			best = test;
	}
	stalls->total = best ? (int)best->event : -1;
	if (best)
		best->role = FM_STALL_ROLE_total;
}

void fm_stalls_test(const struct fm_matrix *matrix, struct fm_judgement *judgements, struct fm_stalls *ret_stalls)
{
	struct fm_stalls *stalls = ret_stalls;
	int cycles = fm_quantity_find(&matrix->quantities, "cycles");

	memset(stalls, 0, sizeof(*stalls));
	stalls->active = stalls->total = stalls->loads = stalls->stores = stalls->outstanding = -1;
	for (unsigned i = 0; i < matrix->quantities.cache_count; i++)
		snprintf(stalls->levels[stalls->level_count++], 12, "%s", matrix->quantities.caches[i]);
	snprintf(stalls->levels[stalls->level_count++], 12, "memory");
	read_chases(matrix, stalls, -1, stalls->cycles_plain, stalls->cycles_independent, stalls->cycles_dependent);
	if (!(stalls->cycles_plain[stalls->level_count - 1] > 0) ||
	    !(stalls->cycles_dependent[stalls->level_count - 1] > 0)) {
		snprintf(stalls->why, sizeof(stalls->why), "the matrix has no chases with known cycles");
		return;
	}
	for (unsigned i = 0; i < matrix->event_count && stalls->test_count < FM_STALL_TESTS_MAX; i++) {
		struct fm_judgement *judgement = &judgements[i];
		struct fm_stall_test *test = &stalls->tests[stalls->test_count];

		if (judgement->quantity == cycles && judgement->class == FM_CLASS_exact && stalls->active < 0)
			stalls->active = (int)i;
		/* an event with a quantity does not count waiting */
		if (matrix->events[i].socket || fm_sharing_counts_only_handovers(matrix, i) ||
		    judgement->class == FM_CLASS_dead || judgement->class == FM_CLASS_noisy ||
		    judgement->class == FM_CLASS_uncounted ||
		    (judgement->class != FM_CLASS_unexplained && judgement->misfit < FM_STALL_EXPLAINED) ||
		    !within_cycles(matrix, i))
			continue;
		memset(test, 0, sizeof(*test));
		test->event = i;
		examine(matrix, stalls, test);
		/* it has to be counted in all the chases */
		if (!isfinite(test->deducted) || !isfinite(test->dependencies))
			continue;
		decide(stalls, test);
		stalls->test_count++;
	}
	find_total(stalls);
	stalls->loads = best_of(stalls, FM_STALL_ROLE_loads);
	stalls->stores = best_of(stalls, FM_STALL_ROLE_stores);
	stalls->outstanding = best_of(stalls, FM_STALL_ROLE_outstanding);
	for (unsigned i = 0; i < stalls->test_count; i++) {
		struct fm_stall_test *test = &stalls->tests[i];
		struct fm_judgement *judgement = &judgements[test->event];

		if (test->role == FM_STALL_ROLE_queue && stalls->queue_count < FM_QUEUES_MAX)
			stalls->queues[stalls->queue_count++] = (int)test->event;
		judgement->class = FM_CLASS_stall;
		judgement->quantity = judgement->other = -1;
		judgement->term_count = 0;
		judgement->unseen = 0;
		judgement->error_mean = judgement->error_min = judgement->error_max = NAN;
		judgement->error_runs = 0;
		snprintf(judgement->reason, sizeof(judgement->reason), "%s: %s", role_words[test->role], test->reason);
	}
	if (stalls->total < 0 || stalls->loads < 0)
		snprintf(stalls->why, sizeof(stalls->why), "%s",
		         stalls->total < 0 ? "no event counts all cycles without execution"
		                           : "no event counts waiting for loads and nothing else");
}
