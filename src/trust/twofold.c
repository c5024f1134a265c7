/* Two flaws at once. Flaws that add something are fitted together. Otherwise one is removed first: the runs under a
   condition, those at the maximum rate, or a constant. One flaw is searched in the remainder, and the pair is judged
   with all runs. */
#include "trust/court.h"
#include "trust/judging.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"

enum { QUANTITIES_TRIED = 10, REMEMBERED = 3, PAIRS_MAX = 32 };

/* Possible additions to a quantity. */
struct extra {
	struct fm_flaw flaw;
	int column;
	double cost;
};

static unsigned find_extras(const struct fm_court *court, unsigned quantity, struct extra *extras)
{
	const struct fm_columns *columns = court->columns;
	unsigned count = 0;

	extras[count++] = (struct extra){{.class = FM_CLASS_offset, .other = -1}, columns->one, FM_COST_CHOICE};
	if (columns->others[quantity] >= 0)
		extras[count++] =
		    (struct extra){{.class = FM_CLASS_leaking, .other = -1}, columns->others[quantity], FM_COST_CHOICE};
	for (unsigned c = 0; c < FM_CONDITION_COUNT; c++)
		if (columns->under[quantity][c] >= 0)
			extras[count++] = (struct extra){
			    {.class = FM_CLASS_conditional, .other = -1, .condition = (enum fm_condition)c},
			    columns->under[quantity][c],
			    FM_COST_CHOICE};
	for (unsigned g = 0; g < columns->groups[quantity].count; g++)
		if (columns->part[quantity][g] >= 0)
			extras[count++] = (struct extra){
			    {.class = FM_CLASS_uneven, .other = -1, .atoms = columns->groups[quantity].atoms[g]},
			    columns->part[quantity][g],
			    FM_COST_CHOICE};
	return count;
}

/* A loss acts on all that is counted, which is no sum: such pairs are found by leaving runs out. */
static bool adds_up(enum fm_class a, enum fm_class b)
{
	bool conditional = a == FM_CLASS_conditional || b == FM_CLASS_conditional,
	     other = a == FM_CLASS_overlapping || b == FM_CLASS_overlapping || a == FM_CLASS_uneven ||
	             b == FM_CLASS_uneven || a == b;

	return !(conditional && other);
}

static void try_two(struct fm_court *court, unsigned quantity, const struct extra *first, const struct extra *second)
{
	struct fm_story story = {
	    .quantity = quantity, .plus = -1, .flaws = {first->flaw, second->flaw}, .flaw_count = 2};

	fm_court_try(court,
	             (struct fm_summand[]){fm_mixture_of(court->columns->quantity[quantity]),
	                                   fm_mixture_of(first->column), fm_mixture_of(second->column)},
	             3, story, first->cost + second->cost);
}

static void try_other(struct fm_court *court, unsigned quantity, unsigned other, const struct extra *extras,
                      unsigned count)
{
	const struct fm_columns *columns = court->columns;
	struct extra overlap = {{.class = FM_CLASS_overlapping, .other = (int)other},
	                        columns->quantity[other],
	                        2 * FM_COST_CHOICE},
	             uneven;

	for (unsigned i = 0; i < count; i++)
		if (adds_up(extras[i].flaw.class, FM_CLASS_overlapping))
			try_two(court, quantity, &overlap, &extras[i]);
	for (unsigned g = 0; g < columns->groups[other].count; g++)
		if (columns->part[other][g] >= 0) {
			uneven = (struct extra){
			    {.class = FM_CLASS_uneven, .other = (int)other, .atoms = columns->groups[other].atoms[g]},
			    columns->part[other][g],
			    FM_COST_CHOICE + (g ? 0 : 1)};
			try_two(court, quantity, &overlap, &uneven);
		}
}

static void try_blind(struct fm_court *court, unsigned quantity, const bool *known, const struct extra *extras,
                      unsigned count)
{
	const struct fm_columns *columns = court->columns;

	for (unsigned g = 0; g < columns->groups[quantity].count; g++) {
		uint64_t unseen = columns->groups[quantity].atoms[g];
		struct fm_story story = {.quantity = quantity,
		                         .plus = -1,
		                         .flaws = {{.class = FM_CLASS_blind, .other = -1, .atoms = unseen}},
		                         .flaw_count = 2};
		struct fm_summand mixtures[2] = {
		    {{columns->quantity[quantity], columns->part[quantity][g]}, {1, -1}, 2}};

		if (columns->part[quantity][g] < 0)
			continue;
		for (unsigned i = 0; i < count; i++) {
			if (!adds_up(extras[i].flaw.class, FM_CLASS_uneven) || extras[i].flaw.atoms & unseen)
				continue;
			story.flaws[1] = extras[i].flaw;
			mixtures[1] = fm_mixture_of(extras[i].column);
			fm_court_try(court, mixtures, 2, story, FM_COST_CHOICE + extras[i].cost);
		}
		for (unsigned other = 0; other < columns->matrix->quantities.quantity_count; other++) {
			if (other == quantity || !known[other] || fm_court_is_part(court, quantity, other))
				continue;
			story.flaws[1] = (struct fm_flaw){.class = FM_CLASS_overlapping, .other = (int)other};
			mixtures[1] = fm_mixture_of(columns->quantity[other]);
			fm_court_try(court, mixtures, 2, story, 3 * FM_COST_CHOICE);
		}
	}
}

/* The quantities with the best stories of one flaw. */
static unsigned best_quantities(const struct fm_court *court, unsigned *ret_quantities)
{
	unsigned count = 0;

	for (unsigned q = 0; q < court->columns->matrix->quantities.quantity_count; q++) {
		unsigned at;

		if (!isfinite(court->best_of[q].score))
			continue;
		at = count < QUANTITIES_TRIED ? count++ : QUANTITIES_TRIED;
		for (; at > 0 && court->best_of[q].score < court->best_of[ret_quantities[at - 1]].score; at--)
			if (at < QUANTITIES_TRIED)
				ret_quantities[at] = ret_quantities[at - 1];
		if (at < QUANTITIES_TRIED)
			ret_quantities[at] = q;
	}
	return count;
}

static void try_sums(struct fm_court *court)
{
	unsigned quantities[QUANTITIES_TRIED], count = best_quantities(court, quantities),
	                                       all = court->columns->matrix->quantities.quantity_count;
	bool known[FM_QUANTITIES_MAX] = {false};

	for (unsigned q = 0; q < all; q++)
		known[q] = fm_court_is_known(court, q);
	for (unsigned i = 0; i < count; i++) {
		struct extra extras[2 + FM_CONDITION_COUNT + FM_GROUPS_MAX];
		unsigned q = quantities[i], extra_count = find_extras(court, q, extras);

		for (unsigned a = 0; a < extra_count; a++)
			for (unsigned b = a + 1; b < extra_count; b++)
				if (adds_up(extras[a].flaw.class, extras[b].flaw.class) &&
				    !(extras[a].flaw.atoms & extras[b].flaw.atoms) &&
				    !(extras[a].flaw.atoms && extras[b].flaw.atoms &&
				      court->columns->groups[q].count == 2))
					try_two(court, q, &extras[a], &extras[b]);
		for (unsigned other = 0; other < all; other++)
			if (other != q && known[other] && !fm_court_is_part(court, q, other))
				try_other(court, q, other, extras, extra_count);
		try_blind(court, q, known, extras, extra_count);
	}
}

static double cost_of(const struct fm_story *story)
{
	double cost = story->plus >= 0 ? 2 * FM_COST_CHOICE : 0;

	if (story->factor != 1)
		cost += FM_COST_NUMBER + FM_COST_CHOICE;
	for (unsigned i = 0; i < story->flaw_count; i++)
		cost += (story->flaws[i].class == FM_CLASS_blind ? 0 : FM_COST_NUMBER) +
		        (story->flaws[i].class == FM_CLASS_overlapping ? 2 : 1) * FM_COST_CHOICE;
	return cost;
}

/* A story found without some runs, with the flaw of those. */
struct pairs {
	struct fm_story stories[PAIRS_MAX];
	unsigned count;
};

static void remember(struct pairs *pairs, struct fm_story story, struct fm_flaw flaw)
{
	if (story.flaw_count == FM_FLAWS_MAX || pairs->count == PAIRS_MAX ||
	    (story.flaw_count && story.flaws[0].class == flaw.class))
		return;
	story.flaws[story.flaw_count++] = flaw;
	pairs->stories[pairs->count++] = story;
}

static void remember_best(const struct fm_court *court, struct pairs *pairs, struct fm_flaw flaw)
{
	unsigned quantities[QUANTITIES_TRIED], count = best_quantities(court, quantities);

	for (unsigned i = 0; i < count && i < REMEMBERED; i++)
		remember(pairs, court->best_of[quantities[i]], flaw);
}

/* Before the loss: the story's prediction without its constant and its maximum. */
static double share_kept(const struct fm_court *court, const struct fm_story *story, const double *mean,
                         const double *weight, enum fm_condition condition)
{
	double constant = 0, cap = INFINITY, mp = 0, pp = 0;

	for (unsigned i = 0; i < story->flaw_count; i++) {
		constant += story->flaws[i].class == FM_CLASS_offset ? story->flaws[i].size : 0;
		cap = story->flaws[i].class == FM_CLASS_saturating ? story->flaws[i].size : cap;
	}
	for (unsigned r = 0; r < court->columns->runs; r++) {
		const struct fm_run *run = &court->columns->matrix->runs[r];
		double said = fm_story_predict(court->columns, story, r) - constant;

		if (!(weight[r] > 0) || !(said > 0) || !fm_condition_holds(condition, run) ||
		    (mean[r] - constant) > FM_CAP_REACHED * cap * run->seconds)
			continue;
		mp += weight[r] * (mean[r] - constant) * said;
		pp += weight[r] * said * said;
	}
	return pp > 0 ? mp / pp : NAN;
}

static void without_condition(struct fm_court *court, const double *mean, const double *weight, double *scratch,
                              struct pairs *pairs)
{
	for (unsigned c = 0; c < FM_CONDITION_COUNT; c++) {
		unsigned left = 0, out = 0, quantities[QUANTITIES_TRIED], count;

		for (unsigned r = 0; r < court->columns->runs; r++) {
			bool holds = fm_condition_holds((enum fm_condition)c, &court->columns->matrix->runs[r]);

			scratch[r] = holds ? 0 : weight[r];
			left += scratch[r] > 0;
			out += holds && weight[r] > 0;
		}
		if (left < FM_POWER_RUNS || out < FM_CLUSTER_LEAST)
			continue;
		fm_court_set(court, mean, scratch);
		fm_court_search(court);
		count = best_quantities(court, quantities);
		for (unsigned i = 0; i < count && i < REMEMBERED; i++) {
			const struct fm_story *story = &court->best_of[quantities[i]];
			double kept = share_kept(court, story, mean, weight, (enum fm_condition)c);

			if (kept > FM_KEPT_LEAST && fabs(1 - kept) > FM_FLAW_LEAST)
				remember(pairs, *story,
				         (struct fm_flaw){.class = FM_CLASS_conditional,
				                          .other = -1,
				                          .size = 1 - kept,
				                          .condition = (enum fm_condition)c});
		}
	}
}

static void without_constant(struct fm_court *court, const double *mean, const double *weight, double *scratch,
                             struct pairs *pairs)
{
	double least = INFINITY, sum = 0, off = 0, weights = 0;
	unsigned cluster = 0;
	struct fm_flaw flaw = {.class = FM_CLASS_offset, .other = -1};
	struct fm_story story;

	for (unsigned r = 0; r < court->columns->runs; r++)
		if (weight[r] > 0)
			least = fmin(least, mean[r]);
	for (unsigned r = 0; r < court->columns->runs; r++)
		if (weight[r] > 0 && mean[r] <= (1 + 2 * FM_CLUSTER) * least) {
			sum += mean[r];
			cluster++;
		}
	if (cluster < FM_CLUSTER_LEAST || !(sum / cluster > FM_CONSTANT_LEAST * court->evidence->typical))
		return;
	flaw.size = sum / cluster;
	for (unsigned r = 0; r < court->columns->runs; r++)
		scratch[r] = fmax(mean[r] - flaw.size, 0);
	fm_court_set(court, scratch, weight);
	fm_court_search(court);
	if (!court->found || court->best.flaw_count == FM_FLAWS_MAX)
		return;
	story = court->best;
	story.flaws[story.flaw_count++] = flaw;
	/* the constant again, by all runs */
	for (unsigned r = 0; r < court->columns->runs; r++) {
		double said = weight[r] > 0 ? fm_story_predict(court->columns, &story, r) : NAN;

		if (isfinite(said)) {
			off += weight[r] * (mean[r] - said);
			weights += weight[r];
		}
	}
	flaw.size += weights > 0 ? off / weights : 0;
	remember(pairs, court->best, flaw);
}

static void without_fastest(struct fm_court *court, const double *mean, const double *weight, double *scratch,
                            struct pairs *pairs)
{
	double fastest = 0, mt = 0, tt = 0, tolerance = FM_CLUSTER + court->evidence->tolerance;
	unsigned cluster = 0, left = 0;
	struct fm_flaw flaw = {.class = FM_CLASS_saturating, .other = -1};

	for (unsigned r = 0; r < court->columns->runs; r++)
		if (weight[r] > 0)
			fastest = fmax(fastest, mean[r] / court->columns->matrix->runs[r].seconds);
	for (unsigned r = 0; r < court->columns->runs; r++) {
		double seconds = court->columns->matrix->runs[r].seconds;
		bool fast = weight[r] > 0 && mean[r] / seconds > (1 - tolerance) * fastest;

		scratch[r] = fast ? 0 : weight[r];
		cluster += fast;
		left += scratch[r] > 0;
		if (fast) {
			mt += weight[r] * mean[r] * seconds;
			tt += weight[r] * seconds * seconds;
		}
	}
	if (cluster < FM_CLUSTER_LEAST || left < FM_POWER_RUNS)
		return;
	flaw.size = mt / tt;
	fm_court_set(court, mean, scratch);
	fm_court_search(court);
	remember_best(court, pairs, flaw);
}

/* Scale and power of a story's content, by the runs with more than a floor; false if these do not determine a power. */
static bool fit_power(const struct fm_court *court, const double *mean, const double *weight, struct fm_story *story,
                      struct fm_flaw *flaw)
{
	double n = 0, x = 0, y = 0, xx = 0, xy = 0, power;

	story->factor = 1;
	for (unsigned r = 0; r < court->columns->runs; r++) {
		double said = fm_story_predict(court->columns, story, r);

		if (!(weight[r] > 0) || !(said > 0) || !(mean[r] > 10 * court->evidence->floor) || !(mean[r] > 0))
			continue;
		n++;
		x += log(said);
		y += log(mean[r]);
		xx += log(said) * log(said);
		xy += log(said) * log(mean[r]);
	}
	power = (n * xy - x * y) / (n * xx - x * x);
	if (n < FM_POWER_RUNS || !(power > FM_POWER_LOWEST && power < FM_POWER_HIGHEST) ||
	    fabs(power - 1) < FM_POWER_LEAST)
		return false;
	flaw->size = power;
	story->factor = exp((y - power * x) / n);
	return true;
}

/* The root of the counts is a sum again. */
static void without_power(struct fm_court *court, const double *mean, const double *weight, double *scratch,
                          struct pairs *pairs)
{
	unsigned runs = court->columns->runs;
	double *root = malloc((runs + 1) * sizeof(*root));

	for (unsigned i = 0; root && i < sizeof(FM_POWERS_TRIED) / sizeof(FM_POWERS_TRIED[0]); i++) {
		double power = FM_POWERS_TRIED[i];

		for (unsigned round = 0; round < FM_POWER_ROUNDS; round++) {
			struct fm_flaw flaw = {.class = FM_CLASS_indicator, .other = -1};
			double typical = pow(court->evidence->typical, 1 / power);
			struct fm_story story;

			for (unsigned r = 0; r < runs; r++) {
				double relative = mean[r] > 0 ? fmin(1, 1 / (sqrt(weight[r]) * mean[r])) : 0, off;

				root[r] = pow(mean[r], 1 / power);
				off = relative / power * root[r] + FM_UNCERTAIN_COUNT * typical;
				scratch[r] = weight[r] > 0 ? 1 / (off * off) : 0;
			}
			fm_court_set(court, root, scratch);
			fm_court_search(court);
			story = court->best;
			if (!court->found || story.flaw_count != 1 || story.plus >= 0 ||
			    (story.flaws[0].class != FM_CLASS_overlapping && story.flaws[0].class != FM_CLASS_leaking &&
			     story.flaws[0].class != FM_CLASS_uneven && story.flaws[0].class != FM_CLASS_blind))
				break;
			if (story.flaws[0].class == FM_CLASS_overlapping)
				story.flaws[0].size /= story.factor;
			if (!fit_power(court, mean, weight, &story, &flaw))
				break;
			if (round + 1 == FM_POWER_ROUNDS || fabs(flaw.size - power) < FM_POWER_SETTLED) {
				remember(pairs, story, flaw);
				break;
			}
			power = flaw.size;
		}
	}
	free(root);
}

void fm_court_search_twofold(struct fm_court *court)
{
	const double *mean = court->mean, *weight = court->weight;
	double *scratch = malloc((court->columns->runs + 1) * sizeof(*scratch));
	struct fm_story best;
	struct pairs pairs = {.count = 0};

	if (!scratch)
		return;
	try_sums(court);
	best = court->best;
	without_condition(court, mean, weight, scratch, &pairs);
	without_constant(court, mean, weight, scratch, &pairs);
	without_fastest(court, mean, weight, scratch, &pairs);
	if (best.misfit > FM_HOPELESS)
		without_power(court, mean, weight, scratch, &pairs);
	free(scratch);
	court->mean = mean;
	court->weight = weight;
	court->counted = 0;
	for (unsigned r = 0; r < court->columns->runs; r++)
		court->counted += weight[r] > 0;
	court->best = best;
	court->found = true;
	for (unsigned i = 0; i < pairs.count; i++) {
		double squares = 0;
		unsigned used = 0;

		for (unsigned r = 0; r < court->columns->runs; r++) {
			double off =
			    weight[r] > 0 ? mean[r] - fm_story_predict(court->columns, &pairs.stories[i], r) : NAN;

			if (!isfinite(off))
				continue;
			squares += weight[r] * off * off;
			used++;
		}
		fm_court_propose(court, pairs.stories[i], squares, used, cost_of(&pairs.stories[i]));
	}
}
