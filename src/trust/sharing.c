#include "trust/sharing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trust/judging.h"

struct share {
	double sum, least, most;
	unsigned count;
};

static void add(struct share *share, double value)
{
	share->least = share->count ? fmin(share->least, value) : value;
	share->most = share->count ? fmax(share->most, value) : value;
	share->sum += value;
	share->count++;
}

/* Transferred lines, from cores of the same socket or of another. */
static double model_of(const struct fm_matrix *matrix, const struct fm_run *run)
{
	return run->own[matrix->quantities.transfers[run->remote && matrix->quantities.remote]];
}

bool fm_sharing_counts_only_handovers(const struct fm_matrix *matrix, unsigned event)
{
	struct share within = {0}, elsewhere = {0};

	if (matrix->events[event].socket)
		return false;
	for (unsigned r = 0; r < matrix->run_count; r++) {
		double count = fm_matrix_mean(matrix, event, r);

		if (isfinite(count))
			add(matrix->runs[r].kind == FM_RUN_handover ? &within : &elsewhere, count);
	}
	return within.count && elsewhere.count && within.sum > 0 &&
	       elsewhere.sum / elsewhere.count <= FM_TRANSFERS_ELSEWHERE * within.sum / within.count;
}

/* One event in the transfers of one kind. */
struct handovers {
	struct share shares;            /* of the lines, without threads that share a core */
	double counted;                 /* of them */
	unsigned shortest, longest;     /* lines at a time … */
	double of_shortest, of_longest; /* … and the counts of these */
	struct share beside;            /* with threads that share a core, to without, of the same length */
};

static double counted_without(const struct fm_matrix *matrix, unsigned event, const struct fm_run *run)
{
	for (unsigned r = 0; r < matrix->run_count; r++) {
		const struct fm_run *other = &matrix->runs[r];

		if (other->kind == FM_RUN_handover && other->remote == run->remote && other->step == run->step &&
		    !other->smt)
			return fm_matrix_mean(matrix, event, r);
	}
	return NAN;
}

static struct handovers look(const struct fm_matrix *matrix, unsigned event, bool remote)
{
	struct handovers handovers = {.shortest = UINT32_MAX};

	for (unsigned r = 0; r < matrix->run_count; r++) {
		const struct fm_run *run = &matrix->runs[r];
		double count = fm_matrix_mean(matrix, event, r), model = model_of(matrix, run),
		       without = run->smt ? counted_without(matrix, event, run) : NAN;

		if (run->kind != FM_RUN_handover || run->remote != remote || !isfinite(count) || !(model > 0))
			continue;
		if (run->smt) {
			if (without > 0)
				add(&handovers.beside, count / without);
			continue;
		}
		add(&handovers.shares, count / model);
		handovers.counted += count;
		if (run->step < handovers.shortest) {
			handovers.shortest = run->step;
			handovers.of_shortest = count / model;
		}
		if (run->step > handovers.longest) {
			handovers.longest = run->step;
			handovers.of_longest = count / model;
		}
	}
	return handovers;
}

static void describe(const struct handovers *handovers, struct fm_judgement *judgement)
{
	size_t used = (size_t)snprintf(
	    judgement->reason, sizeof(judgement->reason),
	    "counts only cache line transfers between cores: %.0f %% with %u lines at a time, %.0f %% with %u",
	    100 * handovers->of_shortest, handovers->shortest, 100 * handovers->of_longest, handovers->longest);

	if (handovers->of_longest < FM_TRANSFERS_FALL * handovers->of_shortest && used < sizeof(judgement->reason))
		used += (size_t)snprintf(judgement->reason + used, sizeof(judgement->reason) - used,
		                         ": fewer for longer ranges, as if prefetched lines were excluded");
	if (handovers->beside.count && handovers->beside.sum / handovers->beside.count < 1 - FM_TRANSFERS_LOST &&
	    used < sizeof(judgement->reason)) {
		judgement->size = 1 - handovers->beside.sum / handovers->beside.count;
		snprintf(judgement->reason + used, sizeof(judgement->reason) - used,
		         "; %.0f %% fewer if threads share a core", 100 * judgement->size);
	}
}

void fm_sharing_judge(const struct fm_matrix *matrix, struct fm_judgement *judgements)
{
	for (unsigned i = 0; i < matrix->event_count; i++) {
		struct fm_judgement *judgement = &judgements[i];
		struct handovers near, far;
		const struct handovers *chosen;
		double least;

		if ((judgement->class != FM_CLASS_unexplained && judgement->misfit < FM_TRANSFERS_EXPLAINED) ||
		    judgement->class == FM_CLASS_noisy || judgement->class == FM_CLASS_dead ||
		    judgement->class == FM_CLASS_uncounted || !fm_sharing_counts_only_handovers(matrix, i))
			continue;
		near = look(matrix, i, false);
		far = look(matrix, i, true);
		least = FM_TRANSFERS_COUNTED * (near.counted + far.counted);
		chosen = near.counted > least ? &near : &far;
		judgement->class = FM_CLASS_indicator;
		judgement->quantity = fm_quantity_find(&matrix->quantities, near.counted <= least ? "transfers_remote"
		                                                            : far.counted > least ? "transfers_all"
		                                                                                  : "transfers");
		judgement->other = judgement->alternative = -1;
		judgement->flaw_count = judgement->floor_runs = 0;
		judgement->factor = 1;
		judgement->term_count = 0;
		judgement->unseen = 0;
		judgement->size = 0;
		judgement->error_runs = chosen->shares.count;
		judgement->error_mean = chosen->shares.count ? chosen->shares.sum / chosen->shares.count - 1 : NAN;
		judgement->error_min = chosen->shares.least - 1;
		judgement->error_max = chosen->shares.most - 1;
		*judgement->formula = '\0';
		describe(chosen, judgement);
	}
}
