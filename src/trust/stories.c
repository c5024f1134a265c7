#include "trust/court.h"
#include "trust/judging.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum fm_class fm_story_class(const struct fm_story *story)
{
	return story->flaw_count    ? story->flaws[0].class
	       : story->plus >= 0   ? FM_CLASS_sum
	       : story->factor == 1 ? FM_CLASS_exact
	                            : FM_CLASS_proportional;
}

static double sum_of_atoms(const struct fm_columns *columns, unsigned run, uint64_t atoms)
{
	const double *row = columns->socket ? columns->matrix->runs[run].socket : columns->matrix->runs[run].own;
	double sum = 0;

	for (; atoms; atoms &= atoms - 1)
		sum += row[__builtin_ctzll(atoms)];
	return sum;
}

static bool has_power(const struct fm_story *story)
{
	for (unsigned i = 0; i < story->flaw_count; i++)
		if (story->flaws[i].class == FM_CLASS_indicator)
			return true;
	return false;
}

static double value(const struct fm_columns *columns, int column, unsigned run)
{
	return column >= 0 && columns->known[columns->pattern[column]][run] ? columns->values[column][run] : NAN;
}

double fm_story_predict(const struct fm_columns *columns, const struct fm_story *story, unsigned run)
{
	const struct fm_run *row = &columns->matrix->runs[run];
	double content = value(columns, columns->quantity[story->quantity], run), added = 0;

	if (story->plus >= 0)
		content += value(columns, columns->quantity[story->plus], run);
	for (unsigned i = 0; i < story->flaw_count; i++) {
		const struct fm_flaw *flaw = &story->flaws[i];

		switch (flaw->class) {
		case FM_CLASS_blind:
			content -= sum_of_atoms(columns, run, flaw->atoms);
			break;
		case FM_CLASS_uneven:
			if (flaw->other < 0)
				content += (flaw->size - 1) * sum_of_atoms(columns, run, flaw->atoms);
			else
				added += flaw->size * sum_of_atoms(columns, run, flaw->atoms);
			break;
		case FM_CLASS_overlapping:
			added += flaw->size * value(columns, columns->quantity[flaw->other], run);
			break;
		case FM_CLASS_leaking:
			content += flaw->size * value(columns, columns->others[story->quantity], run);
			break;
		default:
			break;
		}
	}
	if (has_power(story)) {
		/* of the sum of all, in which the addition is proportional to the quantity */
		content += added;
		for (unsigned i = 0; i < story->flaw_count; i++)
			if (story->flaws[i].class == FM_CLASS_indicator)
				content =
				    content > 0 ? story->factor * pow(content, story->flaws[i].size) : 0 * content;
	} else {
		content = story->factor * content + added;
	}
	for (unsigned i = 0; i < story->flaw_count; i++)
		if (story->flaws[i].class == FM_CLASS_conditional && fm_condition_holds(story->flaws[i].condition, row))
			content *= 1 - story->flaws[i].size;
	for (unsigned i = 0; i < story->flaw_count; i++)
		if (story->flaws[i].class == FM_CLASS_saturating)
			content = isfinite(content) ? fmin(content, story->flaws[i].size * row->seconds) : content;
	for (unsigned i = 0; i < story->flaw_count; i++)
		if (story->flaws[i].class == FM_CLASS_offset)
			content += story->flaws[i].size;
	return content;
}

void fm_court_set(struct fm_court *court, const double *mean, const double *weight)
{
	court->mean = mean;
	court->weight = weight;
	court->found = false;
	court->counted = 0;
	for (unsigned r = 0; r < court->columns->runs; r++)
		court->counted += weight[r] > 0;
	for (unsigned q = 0; q < FM_QUANTITIES_MAX; q++)
		court->best_of[q].score = INFINITY;
	fm_products_set(&court->products, weight, mean);
}

/* Unknown runs are no evidence: the others represent them. */
void fm_court_propose(struct fm_court *court, struct fm_story story, double squares, unsigned used, double cost)
{
	if (!used || !isfinite(squares) || used < court->counted / 4)
		return;
	/* a story in which the quantity is next to nothing is about something else */
	if (!has_power(&story) &&
	    story.factor * court->columns->most[story.quantity] < FM_CONSTANT_LEAST * court->evidence->typical)
		return;
	story.misfit = sqrt(fmax(squares, 0) / used);
	story.score =
	    fmax(squares, 0) / used * court->counted + cost + FM_COST_UNKNOWN * court->unknown[story.quantity];
	if (story.score < court->best_of[story.quantity].score)
		court->best_of[story.quantity] = story;
	if (!court->found || story.score < court->best.score) {
		court->best = story;
		court->found = true;
	}
}

/* From fitted coefficients to the sizes of flaws; false when one is not worth its name, or impossible. */
static bool set_sizes(const struct fm_court *court, struct fm_story *story, const double *coefficients)
{
	double factor = coefficients[0], kept = 1;

	story->factor = factor;
	if (!(factor > 0))
		return false;
	for (unsigned i = 0, k = 1; i < story->flaw_count; i++) {
		struct fm_flaw *flaw = &story->flaws[i];
		double fitted;

		if (flaw->class == FM_CLASS_blind)
			continue; /* its atoms are no part of the first mixture */
		fitted = coefficients[k++];
		switch (flaw->class) {
		case FM_CLASS_overlapping:
			flaw->size = fitted;
			if (!(fitted >= FM_FLAW_LEAST * factor && fitted <= 50 * factor))
				return false;
			break;
		case FM_CLASS_uneven:
			flaw->size = flaw->other >= 0 ? fitted : 1 + fitted / factor;
			if (flaw->other < 0
			        ? flaw->size < FM_FLAW_LEAST || fabs(flaw->size - 1) < FM_UNEVEN_LEAST
			        : fabs(fitted) < FM_UNEVEN_LEAST * factor || fitted < -story->flaws[i - 1].size)
				return false;
			break;
		case FM_CLASS_leaking:
			flaw->size = fitted / factor;
			if (!(flaw->size >= FM_FLAW_LEAST && flaw->size <= FM_LEAKING_MOST))
				return false;
			break;
		case FM_CLASS_conditional:
			flaw->size = -fitted / factor;
			kept = 1 - flaw->size;
			if (fabs(flaw->size) < FM_FLAW_LEAST || kept < FM_KEPT_LEAST)
				return false;
			break;
		case FM_CLASS_offset:
			flaw->size = fitted;
			if (!(fitted > FM_CONSTANT_LEAST * court->evidence->typical && fitted > court->evidence->floor))
				return false;
			break;
		default:
			return false;
		}
	}
	/* a loss between several threads also affects the other core's work */
	for (unsigned i = 0; i < story->flaw_count; i++)
		if (story->flaws[i].class == FM_CLASS_leaking)
			story->flaws[i].size /= kept;
	return true;
}

void fm_court_try(struct fm_court *court, const struct fm_summand *mixtures, unsigned count, struct fm_story story,
                  double cost)
{
	double coefficients[FM_FIT_MAX], squares, both = 0;
	unsigned used;

	/* with two factors, which of them is one is no merit */
	for (unsigned i = 0; i < story.flaw_count; i++)
		if (story.flaws[i].class == FM_CLASS_uneven && story.flaws[i].other < 0 &&
		    (story.flaw_count > 1 || !court->columns->matrix->quantities.quantities[story.quantity].bytes))
			both = FM_COST_NUMBER + (story.flaw_count > 1 ? 0 : FM_COST_CHOICE);
	/* a memory system counts lines sooner than accesses */
	if (!court->columns->matrix->quantities.quantities[story.quantity].bytes)
		cost += FM_COST_ACCESSES;
	squares = fm_products_fit(&court->products, mixtures, count, true, coefficients, &used);
	if (isfinite(squares) && set_sizes(court, &story, coefficients))
		fm_court_propose(court, story, squares, used, cost + (count - 1) * FM_COST_NUMBER + both);
	squares = fm_products_fit(&court->products, mixtures, count, false, coefficients, &used);
	if (isfinite(squares) && set_sizes(court, &story, coefficients))
		fm_court_propose(court, story, squares, used,
		                 cost + count * FM_COST_NUMBER + (count > 1 ? FM_COST_CHOICE : 0));
}

static struct fm_story about(unsigned quantity, enum fm_class class)
{
	struct fm_story story = {.quantity = quantity, .plus = -1, .factor = 1, .flaw_count = class != FM_CLASS_exact};

	story.flaws[0] = (struct fm_flaw){.class = class, .other = -1};
	return story;
}

static void try_parts(struct fm_court *court, unsigned quantity)
{
	const struct fm_columns *columns = court->columns;
	const struct fm_groups *groups = &columns->groups[quantity];
	int whole = columns->quantity[quantity];

	for (unsigned i = 0; i < groups->count; i++) {
		struct fm_story story = about(quantity, FM_CLASS_uneven);

		if (columns->part[quantity][i] < 0)
			continue;
		story.flaws[0].atoms = groups->atoms[i];
		/* reads in order are the rule, the rest the exception */
		fm_court_try(court,
		             (struct fm_summand[]){fm_mixture_of(whole), fm_mixture_of(columns->part[quantity][i])}, 2,
		             story, FM_COST_CHOICE + (i ? 0 : 1));
		for (unsigned k = i; k < groups->count; k++) {
			struct fm_summand rest = {{whole, columns->part[quantity][i], columns->part[quantity][k]},
			                          {1, -1, -1},
			                          k > i ? 3 : 2};

			if (columns->part[quantity][k] < 0 || (k > i && groups->atoms[i] & groups->atoms[k]))
				continue;
			story = about(quantity, FM_CLASS_blind);
			story.flaws[0].atoms = groups->atoms[i] | groups->atoms[k];
			fm_court_try(court, &rest, 1, story, (k > i ? 2 : 1) * FM_COST_CHOICE);
		}
	}
}

/* The fastest runs are counted too low: there is a maximum rate. */
static void try_saturating(struct fm_court *court, unsigned quantity)
{
	const struct fm_columns *columns = court->columns;
	const double *truth = columns->values[columns->quantity[quantity]];
	const unsigned char *known = columns->known[columns->pattern[columns->quantity[quantity]]];
	double capped_mt = 0, capped_tt = 0, capped_mm = 0, free_squares = 0, free_xx = 0, free_xm = 0, free_mm = 0,
	       fastest = 0;
	unsigned count = 0, *order = columns->by_rate[quantity], rated = order ? columns->rated[quantity] : 0;

	for (unsigned r = 0; r < columns->runs; r++) {
		double w = court->weight[r], m = court->mean[r];

		if (!(w > 0) || !known[r])
			continue;
		count++;
		free_squares += w * (m - truth[r]) * (m - truth[r]);
		free_xx += w * truth[r] * truth[r];
		free_xm += w * truth[r] * m;
		free_mm += w * m * m;
	}
	for (unsigned i = 0; i + 1 < rated; i++) {
		unsigned r = order[i], next = order[i + 1];
		double w = court->weight[r], m = court->mean[r], t = columns->matrix->runs[r].seconds, cap, capped,
		       factor, rate = truth[r] / t, next_rate = truth[next] / columns->matrix->runs[next].seconds;
		struct fm_story story = about(quantity, FM_CLASS_saturating);

		if (!(w > 0))
			continue;
		fastest = fmax(fastest, rate);
		free_squares -= w * (m - truth[r]) * (m - truth[r]);
		free_xx -= w * truth[r] * truth[r];
		free_xm -= w * truth[r] * m;
		free_mm -= w * m * m;
		capped_mt += w * m * t;
		capped_tt += w * t * t;
		capped_mm += w * m * m;
		cap = capped_mt / capped_tt;
		capped = capped_mm - cap * capped_mt;
		story.flaws[0].size = cap;
		/* The cap lies between the slowest run that it limits and the fastest that it does not. At least the
		   fastest run misses a reportable share. */
		if (cap <= rate * (1 + FM_CAP_SLACK) && cap >= next_rate * (1 - FM_CAP_SLACK) &&
		    cap <= FM_CAP_MOST * fastest)
			fm_court_propose(court, story, free_squares + capped, count, FM_COST_NUMBER + FM_COST_CHOICE);
		factor = free_xx > 0 ? free_xm / free_xx : 0;
		if (factor > 0 && cap <= factor * rate * (1 + FM_CAP_SLACK) &&
		    cap >= factor * next_rate * (1 - FM_CAP_SLACK) && cap <= FM_CAP_MOST * factor * fastest) {
			story.factor = factor;
			fm_court_propose(court, story, free_mm - factor * free_xm + capped, count,
			                 2 * FM_COST_NUMBER + 2 * FM_COST_CHOICE);
		}
	}
}

static void try_indicator(struct fm_court *court, unsigned quantity, const double *log_mean)
{
	const struct fm_columns *columns = court->columns;
	const double *truth = columns->values[columns->quantity[quantity]], *logarithm = columns->logarithm[quantity];
	const unsigned char *known = columns->known[columns->pattern[columns->quantity[quantity]]];
	struct fm_story story = about(quantity, FM_CLASS_indicator);
	double n = 0, x = 0, y = 0, xx = 0, xy = 0, least = INFINITY, most = 0, power, scale, squares = 0;
	unsigned used = 0;

	for (unsigned r = 0; logarithm && r < columns->runs; r++) {
		if (!(court->weight[r] > 0) || !(truth[r] > 0) || !isfinite(log_mean[r]))
			continue;
		n++;
		x += logarithm[r];
		y += log_mean[r];
		xx += logarithm[r] * logarithm[r];
		xy += logarithm[r] * log_mean[r];
		least = fmin(least, truth[r]);
		most = fmax(most, truth[r]);
	}
	/* runs of one length do not determine a power */
	if (n < 4 || most < 3 * least)
		return;
	power = (n * xy - x * y) / (n * xx - x * x);
	if (!(power > FM_POWER_LOWEST && power < FM_POWER_HIGHEST) || fabs(power - 1) < FM_POWER_LEAST)
		return;
	scale = (y - power * x) / n;
	for (unsigned r = 0; r < columns->runs; r++) {
		double off;

		if (!(court->weight[r] > 0) || !known[r])
			continue;
		off = court->mean[r] - (truth[r] > 0 ? exp(scale + power * logarithm[r]) : 0);
		squares += court->weight[r] * off * off;
		used++;
		/* hopeless */
		if (squares > FM_SQUARES_HOPELESS * columns->runs)
			return;
	}
	story.flaws[0].size = power;
	story.factor = exp(scale);
	fm_court_propose(court, story, squares, used, 2 * FM_COST_NUMBER + FM_COST_CHOICE);
}

/* Is the quantity known in enough of the runs in which the event counted anything? A story about the others alone would
   be beside the point. */
bool fm_court_is_known(struct fm_court *court, unsigned quantity)
{
	unsigned known = 0, counted = 0;
	int column = court->columns->quantity[quantity];

	if (column < 0)
		return false;
	for (unsigned r = 0; r < court->columns->runs; r++)
		if (court->weight[r] > 0 && court->mean[r] > 2 * court->evidence->floor) {
			counted++;
			known += court->columns->known[court->columns->pattern[column]][r];
		}
	court->unknown[quantity] = counted - known;
	return known >= 3 && 5 * known >= counted;
}

bool fm_court_is_part(const struct fm_court *court, unsigned quantity, unsigned other)
{
	const struct fm_groups *groups = &court->columns->groups[quantity];
	uint64_t atoms = court->columns->matrix->quantities.quantities[other].atoms & court->columns->occur;

	for (unsigned i = 0; i < groups->count; i++)
		if (groups->atoms[i] == atoms)
			return true;
	return false;
}

static void try_quantity(struct fm_court *court, unsigned quantity, const bool *known, const double *log_mean)
{
	const struct fm_columns *columns = court->columns;
	const struct fm_quantities *all = &columns->matrix->quantities;
	struct fm_summand mixtures[2] = {fm_mixture_of(columns->quantity[quantity])};
	struct fm_story story = about(quantity, FM_CLASS_exact);

	fm_court_try(court, mixtures, 1, story, 0);
	try_parts(court, quantity);
	try_saturating(court, quantity);
	try_indicator(court, quantity, log_mean);
	for (unsigned c = 0; c < FM_CONDITION_COUNT; c++)
		if (columns->under[quantity][c] >= 0) {
			story = about(quantity, FM_CLASS_conditional);
			story.flaws[0].condition = (enum fm_condition)c;
			mixtures[1] = fm_mixture_of(columns->under[quantity][c]);
			fm_court_try(court, mixtures, 2, story, FM_COST_CHOICE);
		}
	mixtures[1] = fm_mixture_of(columns->one);
	fm_court_try(court, mixtures, 2, about(quantity, FM_CLASS_offset), FM_COST_CHOICE);
	if (columns->others[quantity] >= 0) {
		mixtures[1] = fm_mixture_of(columns->others[quantity]);
		fm_court_try(court, mixtures, 2, about(quantity, FM_CLASS_leaking), FM_COST_CHOICE);
	}
	for (unsigned other = 0; other < all->quantity_count; other++) {
		struct fm_summand both = {{columns->quantity[quantity], columns->quantity[other]}, {1, 1}, 2};

		if (other == quantity || !known[other] || fm_court_is_part(court, quantity, other))
			continue;
		story = about(quantity, FM_CLASS_overlapping);
		story.flaws[0].other = (int)other;
		mixtures[1] = fm_mixture_of(columns->quantity[other]);
		fm_court_try(court, mixtures, 2, story, 2 * FM_COST_CHOICE);
		if (other < quantity || all->quantities[quantity].atoms & all->quantities[other].atoms)
			continue;
		story = about(quantity, FM_CLASS_exact);
		story.plus = (int)other;
		fm_court_try(court, &both, 1, story, 2 * FM_COST_CHOICE);
	}
}

void fm_court_search(struct fm_court *court)
{
	unsigned count = court->columns->matrix->quantities.quantity_count;
	double *log_mean = malloc((court->columns->runs + 1) * sizeof(*log_mean));
	bool known[FM_QUANTITIES_MAX];

	if (!log_mean)
		return;
	/* near the floor a logarithm shows the floor */
	for (unsigned r = 0; r < court->columns->runs; r++)
		log_mean[r] = court->weight[r] > 0 && court->mean[r] > 10 * court->evidence->floor && court->mean[r] > 0
		                  ? log(court->mean[r])
		                  : NAN;
	for (unsigned q = 0; q < count; q++)
		known[q] = fm_court_is_known(court, q);
	for (unsigned q = 0; q < count; q++)
		if (known[q])
			try_quantity(court, q, known, log_mean);
	free(log_mean);
}

static void find_worst(const struct fm_court *court, struct fm_story *story)
{
	story->worst = 0;
	for (unsigned r = 0; r < court->columns->runs; r++) {
		double off = court->weight[r] > 0 ? court->mean[r] - fm_story_predict(court->columns, story, r) : NAN;

		if (isfinite(off))
			story->worst = fmax(story->worst, fabs(off) * sqrt(court->weight[r]));
	}
}

bool fm_stories_best(struct fm_columns *columns, const struct fm_evidence *evidence, struct fm_story *ret_story)
{
	struct fm_court *court = calloc(1, sizeof(*court));
	double *mean = calloc(columns->runs + 1, sizeof(*mean));
	bool found;

	if (!court || !mean || fm_products_create(columns, &court->products)) {
		free(court);
		free(mean);
		return false;
	}
	court->columns = columns;
	court->evidence = evidence;
	for (unsigned r = 0; r < columns->runs; r++)
		mean[r] = isfinite(evidence->mean[r]) ? evidence->mean[r] : 0;
	fm_court_set(court, mean, evidence->weight);
	fm_court_search(court);
	if (court->found)
		find_worst(court, &court->best);
	if (court->found && (court->best.misfit > FM_GOOD || court->best.worst > FM_GOOD_WORST)) {
		fm_court_search_twofold(court);
		find_worst(court, &court->best);
	}
	found = court->found;
	*ret_story = court->best;
	fm_products_free(&court->products);
	free(court);
	free(mean);
	return found;
}
