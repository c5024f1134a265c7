/* Phases: parts of a folded instance with a code of their own. Rates: shares and costs over the folded instance. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fold/parts.h"
#include "fold/thresholds.h"

enum {
	CELLS = 128,
	LINES = 31,
	EMPTY = LINES + 1,
	KINDS = LINES + 2,
	WINDOW_LEAST = 60,
	DENSE = 16,
	EMPTY_INSTANCES = 10
};

struct segment {
	unsigned begin, end; /* cells */
	double lines[KINDS], all;
};

size_t fm_fold_phase_at(const struct fm_fold_mode *mode, double place)
{
	size_t i = 0;

	while (i + 1 < mode->phase_count && place >= mode->phases[i].end)
		i++;
	return i;
}

/* Numbers of distinguished lines; LINES for all others. */
static int number_lines(const struct fm_fold *fold, const struct fm_fold_mode *mode, unsigned char **ret_numbers)
{
	const struct fm_samples *samples = fold->samples;
	size_t *counts = calloc(samples->line_count + 1, sizeof(*counts));
	unsigned char *numbers = malloc(samples->line_count + 1);

	if (!counts || !numbers) {
		free(counts);
		free(numbers);
		return -ENOMEM;
	}
	for (size_t i = 0; i < mode->sample_count; i++)
		counts[samples->line_of[samples->recording->samples[mode->samples[i].sample].code]]++;
	memset(numbers, LINES, samples->line_count + 1);
	for (unsigned k = 0; k < LINES; k++) {
		size_t most = 0;

		for (size_t i = 1; i < samples->line_count; i++)
			most = counts[i] > counts[most] ? i : most;
		if (!samples->line_count || !counts[most])
			break;
		numbers[most] = (unsigned char)k;
		counts[most] = 0;
	}
	free(counts);
	*ret_numbers = numbers;
	return 0;
}

/* Difference between the lines of two neighbours, 0 … 1, without its expected value by chance. */
static double difference(const struct segment *a, const struct segment *b)
{
	double sum = 0, kinds = 0;

	if (!(a->all > 0) || !(b->all > 0))
		return 0;
	for (unsigned i = 0; i < KINDS; i++) {
		double both = (a->lines[i] + b->lines[i]) / (a->all + b->all);

		sum += fabs(a->lines[i] / a->all - b->lines[i] / b->all);
		kinds += sqrt(both * (1 - both));
	}
	return sum / 2 - 0.4 * kinds * sqrt(1 / a->all + 1 / b->all);
}

static void merge(struct segment *segments, unsigned at, unsigned *count)
{
	segments[at].end = segments[at + 1].end;
	segments[at].all += segments[at + 1].all;
	for (unsigned i = 0; i < KINDS; i++)
		segments[at].lines[i] += segments[at + 1].lines[i];
	memmove(&segments[at + 1], &segments[at + 2], (*count - at - 2) * sizeof(*segments));
	(*count)--;
}

/* Neighbours that are most alike first, until all differ and none is too short. */
static unsigned join(struct segment *segments, unsigned count)
{
	while (count > 1) {
		double least = INFINITY;
		unsigned at = 0;

		for (unsigned i = 0; i + 1 < count; i++) {
			double different = difference(&segments[i], &segments[i + 1]);
			unsigned shorter = segments[i].end - segments[i].begin;

			if (segments[i + 1].end - segments[i + 1].begin < shorter)
				shorter = segments[i + 1].end - segments[i + 1].begin;
			/* short segments join the more similar neighbour, after similar ones have joined */
			if (different >= FM_PHASE_DIFFERENT && shorter < FM_PHASE_SHORTEST * CELLS)
				different = FM_PHASE_DIFFERENT * different;
			if (different < least) {
				least = different;
				at = i;
			}
		}
		if (least >= FM_PHASE_DIFFERENT)
			break;
		merge(segments, at, &count);
	}
	return count;
}

/* Instances are never quite the same, so that around a boundary there is code of both sides: such a part is divided
   between its neighbours. */
static double distance_from_mix(const struct segment *part, const struct segment *a, const struct segment *b,
                                double share)
{
	double sum = 0;

	for (unsigned i = 0; i < KINDS; i++)
		sum += fabs(part->lines[i] / part->all -
		            (share * a->lines[i] / a->all + (1 - share) * b->lines[i] / b->all));
	return sum / 2;
}

/* The same at the ends of an instance, where the next one is around the corner: found iterations begin about there. */
static void cut_ends(struct segment *segments, unsigned *count)
{
	for (unsigned end = 0; end < 2 && *count > 2; end++) {
		struct segment *part = end ? &segments[*count - 1] : &segments[0], *inside = end ? part - 1 : part + 1,
		               *around = end ? &segments[0] : &segments[*count - 1];
		double least = INFINITY;

		if (!(part->all > 0) || !(inside->all > 0) || !(around->all > 0) ||
		    4 * (part->end - part->begin) > inside->end - inside->begin)
			continue;
		for (unsigned k = 0; k <= 10; k++)
			least = fmin(least, distance_from_mix(part, inside, around, k / 10.0));
		if (least > FM_PHASE_DIFFERENT / 2)
			continue;
		if (end) {
			inside->end = part->end;
		} else {
			inside->begin = part->begin;
			memmove(part, inside, (*count - 1) * sizeof(*part));
		}
		(*count)--;
	}
}

static void divide_mixtures(struct segment *segments, unsigned *count)
{
	for (unsigned i = 1; i + 1 < *count; i++) {
		struct segment *before = &segments[i - 1], *part = &segments[i], *after = &segments[i + 1];
		unsigned length = part->end - part->begin, middle;
		double least = INFINITY, best = 0.5;

		if (!(part->all > 0) || !(before->all > 0) || !(after->all > 0) ||
		    2 * length > before->end - before->begin || 2 * length > after->end - after->begin)
			continue;
		for (unsigned k = 1; k < 10; k++) {
			double distance = distance_from_mix(part, before, after, k / 10.0);

			if (distance < least) {
				least = distance;
				best = k / 10.0;
			}
		}
		if (least > FM_PHASE_DIFFERENT / 2)
			continue;
		middle = part->begin + (unsigned)lround(best * length);
		before->end = after->begin = middle;
		memmove(part, after, (*count - i - 1) * sizeof(*part));
		(*count)--;
		i--;
	}
}

static int compute_phase(const struct fm_fold *fold, struct fm_fold_mode *mode, struct fm_fold_phase *phase,
                         size_t *from, const struct fm_served_sum *whole)
{
	const struct fm_samples *samples = fold->samples;
	struct fm_served_sum *sum = calloc(1, sizeof(*sum));
	double *by_line = calloc(samples->line_count + 1, sizeof(*by_line)), all = 0;
	int r = sum && by_line ? 0 : -ENOMEM;

	for (; !r && *from < mode->sample_count && mode->samples[*from].place < phase->end; (*from)++) {
		const struct fm_recorded_sample *sample = &samples->recording->samples[mode->samples[*from].sample];

		fm_served_add(samples->model, sum, sample, fm_served_bin(samples->model, sample),
		              fm_fold_weight(fold, sample));
		by_line[samples->line_of[sample->code]]++;
		all++;
	}
	if (!r) {
		phase->line = FM_FOLD_NONE;
		for (size_t i = 0; i < samples->line_count; i++)
			if (by_line[i] > 0 && (phase->line < 0 || by_line[i] > by_line[phase->line]))
				phase->line = (int64_t)i;
		phase->line_share = phase->line < 0 ? 0 : by_line[phase->line] / all;
		fm_served_compute(samples->model, sum, whole, true, &phase->served);
	}
	free(sum);
	free(by_line);
	return r;
}

static struct fm_served_sum *sum_mode(const struct fm_fold *fold, const struct fm_fold_mode *mode)
{
	struct fm_served_sum *sum = calloc(1, sizeof(*sum));

	for (size_t i = 0; sum && i < mode->sample_count; i++) {
		const struct fm_recorded_sample *sample = &fold->samples->recording->samples[mode->samples[i].sample];

		fm_served_add(fold->samples->model, sum, sample, fm_served_bin(fold->samples->model, sample),
		              fm_fold_weight(fold, sample));
	}
	return sum;
}

/* A boundary is known to about half a cell. */
static struct fm_figure seconds_of(const struct fm_fold *fold, const struct fm_fold_mode *mode,
                                   const struct fm_fold_phase *phase)
{
	struct fm_figure figure;
	double share = phase->end - phase->begin, error = share < 1 ? 0.5 / CELLS : 0;

	if (fold->clock == FM_FOLD_REFERENCES)
		return fm_figure_unavailable("the engine changes the speed of the program");
	figure = fm_figure_scaled(&mode->length, share, "s");
	figure.low = fmax(share - error, 0) * mode->length.low;
	figure.high = (share + error) * mode->length.high;
	return figure;
}

int fm_fold_phases(const struct fm_fold *fold, struct fm_fold_mode *mode)
{
	const struct fm_samples *samples = fold->samples;
	struct segment *segments = calloc(CELLS, sizeof(*segments));
	struct fm_served_sum *whole = sum_mode(fold, mode);
	unsigned char *numbers = NULL;
	unsigned count = CELLS;
	size_t from = 0;
	int r = segments && whole ? number_lines(fold, mode, &numbers) : -ENOMEM;

	if (r)
		goto out;
	for (unsigned i = 0; i < CELLS; i++)
		segments[i].end = (segments[i].begin = i) + 1;
	for (size_t i = 0; i < mode->sample_count; i++) {
		struct segment *segment = &segments[(unsigned)(mode->samples[i].place * CELLS)];

		segment->lines[numbers[samples->line_of[samples->recording->samples[mode->samples[i].sample].code]]]++;
		segment->all++;
	}
	/* without samples, although there are enough for each place */
	for (unsigned i = 0; i < CELLS; i++)
		if (segments[i].all <= 0 && mode->sample_count >= (size_t)DENSE * CELLS &&
		    mode->instances >= EMPTY_INSTANCES)
			segments[i].lines[EMPTY] = segments[i].all = (double)mode->sample_count / CELLS;
	count = join(segments, count);
	divide_mixtures(segments, &count);
	cut_ends(segments, &count);
	mode->phases = calloc(count, sizeof(*mode->phases));
	r = mode->phases ? 0 : -ENOMEM;
	for (unsigned i = 0; !r && i < count; i++) {
		struct fm_fold_phase *phase = &mode->phases[mode->phase_count++];

		phase->begin = (double)segments[i].begin / CELLS;
		phase->end = (double)segments[i].end / CELLS;
		phase->seconds = seconds_of(fold, mode, phase);
		r = compute_phase(fold, mode, phase, &from, whole);
	}
out:
	free(segments);
	free(whole);
	free(numbers);
	return r;
}

/* Rates */

/* Cells around one, within its phase, with enough samples if there are. */
static void sum_around(const struct fm_served_model *model, const struct fm_fold_mode *mode,
                       const struct fm_served_sum *cells, int at, struct fm_served_sum *ret_sum)
{
	const struct fm_fold_phase *phase = &mode->phases[fm_fold_phase_at(mode, (at + 0.5) / FM_FOLD_POINTS)];
	int begin = (int)(phase->begin * FM_FOLD_POINTS), end = (int)ceil(phase->end * FM_FOLD_POINTS) - 1;

	*ret_sum = cells[at];
	for (int reach = 1; reach <= FM_FOLD_POINTS / 4; reach++) {
		/* one neighbour on each side in any case: a fit, not a histogram */
		if (reach > 1 && ret_sum->count >= WINDOW_LEAST &&
		    (model->simulated || ret_sum->costs.count >= WINDOW_LEAST))
			break;
		if (at - reach >= begin)
			fm_served_merge(ret_sum, &cells[at - reach]);
		if (at + reach <= end)
			fm_served_merge(ret_sum, &cells[at + reach]);
	}
}

static void name_rate(struct fm_fold_rate *rate, const char *name, const char *unit)
{
	snprintf(rate->name, sizeof(rate->name), "%s", name);
	snprintf(rate->unit, sizeof(rate->unit), "%s", unit);
}

int fm_fold_rates(const struct fm_fold *fold, struct fm_fold_mode *mode)
{
	const struct fm_served_model *model = fold->samples->model;
	struct fm_served_sum *cells = calloc(FM_FOLD_POINTS, sizeof(*cells)), *sum = calloc(1, sizeof(*sum)),
	                     *whole = sum_mode(fold, mode);
	unsigned levels = *model->why ? 0 : model->classes - 1;
	int r = -ENOMEM;

	mode->rates = calloc(FM_FOLD_RATES, sizeof(*mode->rates));
	if (!cells || !sum || !whole || !mode->rates)
		goto out;
	r = 0;
	for (size_t i = 0; i < mode->sample_count; i++) {
		const struct fm_recorded_sample *sample = &fold->samples->recording->samples[mode->samples[i].sample];

		fm_served_add(model, &cells[(unsigned)(mode->samples[i].place * FM_FOLD_POINTS)], sample,
		              fm_served_bin(model, sample), fm_fold_weight(fold, sample));
	}
	name_rate(&mode->rates[0], "stores", "");
	name_rate(&mode->rates[1], "mean cost", *model->cycles_unit ? model->cycles_unit : "cycles");
	name_rate(&mode->rates[2], "TLB misses", "");
	for (unsigned k = 0; k < levels; k++)
		name_rate(&mode->rates[3 + k], model->class_names[k], "");
	mode->rate_count = 3 + levels;
	for (int i = 0; i < FM_FOLD_POINTS; i++) {
		struct fm_served served;

		sum_around(model, mode, cells, i, sum);
		fm_served_compute(model, sum, whole, true, &served);
		mode->rates[0].points[i] = served.stores;
		mode->rates[1].points[i] = served.mean_cost_cycles;
		mode->rates[2].points[i] = served.translation_misses;
		for (unsigned k = 0; k < levels; k++)
			mode->rates[3 + k].points[i] = served.levels[k];
	}
out:
	free(cells);
	free(sum);
	free(whole);
	return r;
}
