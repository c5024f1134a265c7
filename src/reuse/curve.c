#include "reuse/curve.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/statistics.h"
#include "reuse/phases.h"
#include "reuse/tuning.h"

enum {
	EACH_THREAD = 50, /* resamples that are worth a thread */
	MOST_THREADS = 16,
};

double fm_miss_bytes(unsigned point)
{
	return FM_MISS_SMALLEST * exp2((double)point / FM_MISS_PER_OCTAVE);
}

/* One estimate: the shares at every size. */
struct shares {
	double shared[FM_MISS_POINTS], private[FM_MISS_POINTS];
	double shared_low[FM_MISS_POINTS], private_low[FM_MISS_POINTS]; /* if what was not observed were all reused */
	double doubt[FM_MISS_POINTS]; /* square of the doubt downwards because of few samples */
	double largest;               /* size in lines up to which reuses were observed */
};

/* StatStack: the expected distance of a reuse at the first time of each bin. */
static void expect_distances(const struct fm_survival *survival, double *ret_distances)
{
	double distance = 0;

	ret_distances[0] = 0;
	for (unsigned bin = 1; bin < FM_TIME_BINS; bin++) {
		double first = survival->at[bin], last = survival->at[bin + 1];
		double width = fm_time_bin_low(bin + 1) - fm_time_bin_low(bin);

		ret_distances[bin] = distance;
		distance += width * (last + first - (first - last) / width) / 2;
	}
	ret_distances[FM_TIME_BINS] = distance;
}

static double expect_distance(const double *distances, double time)
{
	unsigned bin = fm_time_bin(time);
	double low = fm_time_bin_low(bin), high = fm_time_bin_low(bin + 1);

	if (bin >= FM_TIME_BINS - 1)
		return INFINITY;
	return distances[bin] + (distances[bin + 1] - distances[bin]) * (time - low) / (high - low);
}

/* Add weight times the curve of a survival function, which is one over times with these expected distances or, without
   them, over distances + 1. */
static void add_shares(const struct fm_survival *survival, const double *distances, double weight, double line_bytes,
                       struct shares *sum)
{
	unsigned bin = 1;

	for (unsigned point = 0; point < FM_MISS_POINTS; point++) {
		double lines = fm_miss_bytes(point) / line_bytes;
		double share, written, samples, doubt, part;
		bool observed;

		if (distances) {
			while (bin < FM_TIME_BINS - 1 && distances[bin + 1] < lines)
				bin++;
			part = distances[bin + 1] > distances[bin]
			           ? (lines - distances[bin]) / (distances[bin + 1] - distances[bin])
			           : 1;
			part = fmin(fmax(part, 0), 1);
		} else {
			bin = fm_time_bin(lines + 1);
			part = (lines + 1 - fm_time_bin_low(bin)) / (fm_time_bin_low(bin + 1) - fm_time_bin_low(bin));
		}
		share = survival->at[bin] + part * (survival->at[bin + 1] - survival->at[bin]);
		written = survival->written[bin] + part * (survival->written[bin + 1] - survival->written[bin]);
		samples = survival->samples[bin];
		observed = bin < survival->observed;
		sum->shared[point] += weight * share;
		sum->private[point] += weight * (share + written);
		sum->shared_low[point] += observed ? weight * share : 0;
		sum->private_low[point] += weight * ((observed ? share : 0) + written);
		doubt = weight * share * fmin(3 / fmax(samples, 1), 1);
		sum->doubt[point] += doubt * doubt;
	}
	if (survival->observed >= FM_TIME_BINS)
		sum->largest = INFINITY;
	else
		sum->largest =
		    fmax(sum->largest, distances ? distances[survival->observed] : fm_time_bin_low(survival->observed));
}

/* The data of a cluster, in lists that are sorted by clusters. */
struct span {
	size_t first_cell, cell_end; /* by time */
	size_t first_near, near_end; /* by distance */
	size_t first_sample, sample_end;
	double unwatched; /* the share of the survivors that no sample represents */
};

/* Everything that resampling needs. */
struct estimation {
	const struct fm_times *times; /* all references: what happens between a reference and its reuse */
	const struct fm_times *part;  /* those the curve is of */
	struct span *spans;
	uint8_t *phase_of;
	unsigned phases;
	uint32_t *members; /* clusters by phase */
	double *taken;     /* how often each member is in the resample */
	uint32_t first_member[FM_MISS_PHASES_MAX + 1];
	double weight[FM_MISS_PHASES_MAX]; /* share of references */
	struct fm_times_sum *sum;
	struct fm_survival *survival;
	double distances[FM_TIME_BINS + 1];
	double unseen; /* what may be of any kind without a sample having shown it */
	double line_bytes;
};

static bool make_own(struct estimation *estimation)
{
	estimation->taken = calloc(estimation->times->clusters, sizeof(double));
	estimation->sum = malloc(sizeof(*estimation->sum));
	estimation->survival = malloc(sizeof(*estimation->survival));
	return estimation->taken && estimation->sum && estimation->survival;
}

static void free_own(struct estimation *estimation)
{
	free(estimation->taken);
	free(estimation->sum);
	free(estimation->survival);
}

static void free_estimation(struct estimation *estimation)
{
	free(estimation->spans);
	free(estimation->phase_of);
	free(estimation->members);
	free_own(estimation);
}

static void find_spans(struct estimation *estimation)
{
	const struct fm_times *times = estimation->times, *part = estimation->part;
	size_t cell = 0, near = 0, sample = 0, own_near = 0, own_sample = 0;

	for (uint32_t i = 0; i < times->clusters; i++) {
		struct span *span = &estimation->spans[i];
		double survivors = 0, watched = 0;

		span->first_cell = cell;
		while (cell < times->by_time.count && times->by_time.cells[cell].cluster == i)
			cell++;
		span->cell_end = cell;
		for (; near < times->by_distance.count && times->by_distance.cells[near].cluster == i; near++)
			survivors += times->by_distance.cells[near].censored;
		for (; sample < times->sample_count && times->samples[sample].cluster == i; sample++)
			watched += times->samples[sample].weight;
		span->unwatched = survivors > watched ? 1 - watched / survivors : 0;
		span->first_near = own_near;
		while (own_near < part->by_distance.count && part->by_distance.cells[own_near].cluster == i)
			own_near++;
		span->near_end = own_near;
		span->first_sample = own_sample;
		while (own_sample < part->sample_count && part->samples[own_sample].cluster == i)
			own_sample++;
		span->sample_end = own_sample;
	}
}

/* The share of the part's references that each phase has. */
static int weigh_phases(struct estimation *estimation)
{
	const struct fm_cells *list =
	    estimation->part == estimation->times ? &estimation->times->by_time : &estimation->part->by_distance;
	double total = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct fm_times_cell *cell = &list->cells[i];
		/* by time those observed from the beginning: watched ones continue them */
		double weight = list == &estimation->times->by_time ? (cell->bin ? 0 : cell->entered)
		                                                    : cell->reused + cell->censored;

		estimation->weight[estimation->phase_of[cell->cluster]] += weight;
		total += weight;
	}
	if (!(total > 0))
		return -ENODATA;
	for (unsigned i = 0; i < estimation->phases; i++)
		estimation->weight[i] /= total;
	return 0;
}

/* An event that none of n samples shows may still be up to 3/n of the references that they represent, at 95 %.
   Resampling does not show it, since it repeats the same samples. */
static double measure_unseen(const struct estimation *estimation)
{
	double squares = 0;

	for (unsigned phase = 0; phase < estimation->phases; phase++) {
		double watched = 0, reused = 0, count = 0, unseen;

		for (uint32_t k = estimation->first_member[phase]; k < estimation->first_member[phase + 1]; k++) {
			const struct span *span = &estimation->spans[estimation->members[k]];

			for (size_t i = span->first_near; i < span->near_end; i++)
				reused += estimation->part->by_distance.cells[i].reused;
			for (size_t i = span->first_sample; i < span->sample_end; i++, count++)
				watched += estimation->part->samples[i].weight;
		}
		unseen =
		    watched > 0 ? estimation->weight[phase] * watched / (watched + reused) * fmin(3 / count, 1) : 0;
		squares += unseen * unseen;
	}
	return sqrt(squares);
}

static int prepare(struct estimation *estimation)
{
	const struct fm_times *times = estimation->times;
	uint32_t next[FM_MISS_PHASES_MAX], clusters = times->clusters;
	int phases;

	estimation->spans = calloc(clusters, sizeof(*estimation->spans));
	estimation->phase_of = calloc(clusters, 1);
	estimation->members = calloc(clusters, sizeof(uint32_t));
	if (!make_own(estimation) || !estimation->spans || !estimation->phase_of || !estimation->members)
		return -ENOMEM;
	find_spans(estimation);
	phases = fm_phases_find(times, FM_MISS_PHASES_MAX, estimation->phase_of);
	if (phases < 0)
		return phases;
	estimation->phases = (unsigned)phases;
	for (uint32_t i = 0; i < clusters; i++)
		estimation->first_member[estimation->phase_of[i] + 1]++;
	for (unsigned i = 0; i < estimation->phases; i++) {
		estimation->first_member[i + 1] += estimation->first_member[i];
		next[i] = estimation->first_member[i];
	}
	for (uint32_t i = 0; i < clusters; i++)
		estimation->members[next[estimation->phase_of[i]]++] = i;
	if (weigh_phases(estimation))
		return -ENODATA;
	estimation->unseen = measure_unseen(estimation);
	return 0;
}

/* There are no late entries here: a sample that is watched from a window's end on represents the window's survivors
   from their references on. Short distances are then those of the place itself, and only the part after the window
   comes from the average of the phase. */
static void sum_distances(const struct estimation *estimation, uint32_t cluster, double taken, struct fm_times_sum *sum)
{
	const struct span *span = &estimation->spans[cluster];

	for (size_t i = span->first_near; i < span->near_end; i++) {
		const struct fm_times_cell *cell = &estimation->part->by_distance.cells[i];
		double reused = taken * cell->reused, censored = taken * cell->censored * span->unwatched;
		double samples = reused + censored;

		sum->entered[0] += samples;
		sum->reused[cell->bin] += reused;
		sum->written[cell->bin] += taken * cell->written;
		sum->censored[cell->bin] += censored;
		sum->samples[0] += samples;
		sum->samples[cell->bin] -= samples;
	}
	for (size_t i = span->first_sample; i < span->sample_end; i++) {
		const struct fm_reuse *reuse = &estimation->part->samples[i];
		double passed = expect_distance(estimation->distances, reuse->time) -
		                expect_distance(estimation->distances, reuse->entered);
		double weight = taken * reuse->weight;
		unsigned bin = fm_time_bin((reuse->entered > 0 ? reuse->distance : 0) + passed + 1);

		sum->entered[0] += weight;
		sum->samples[0] += taken;
		sum->samples[bin] -= taken;
		if (reuse->censored)
			sum->censored[bin] += weight;
		else
			sum->reused[bin] += weight;
		if (!reuse->censored && reuse->written)
			sum->written[bin] += weight;
	}
}

/* The number of times that each cluster of a phase is in a resample: a third of them is not, and the others are summed
   once. */
static void draw(struct estimation *estimation, struct fm_random *random, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		estimation->taken[i] = random ? 0 : 1;
	for (uint32_t i = 0; random && i < count; i++)
		estimation->taken[first + fm_random_below(random, count)]++;
}

/* All clusters once, or, with a generator, as many drawn from each phase as it has. */
static void estimate(struct estimation *estimation, struct fm_random *random, double scale, struct shares *ret_shares)
{
	const struct fm_times *times = estimation->times;
	struct fm_times_sum *sum = estimation->sum;

	memset(ret_shares, 0, sizeof(*ret_shares));
	for (unsigned phase = 0; phase < estimation->phases; phase++) {
		uint32_t first = estimation->first_member[phase], count = estimation->first_member[phase + 1] - first;
		bool by_distance = times->by_distance.count > 0 || estimation->part != times;

		draw(estimation, random, first, count);
		memset(sum, 0, sizeof(*sum));
		for (uint32_t i = first; i < first + count; i++) {
			const struct span *span = &estimation->spans[estimation->members[i]];

			for (size_t k = span->first_cell; estimation->taken[i] > 0 && k < span->cell_end; k++)
				fm_times_sum_cell(sum, &times->by_time.cells[k], estimation->taken[i]);
		}
		fm_survival_estimate(sum, estimation->survival);
		expect_distances(estimation->survival, estimation->distances);
		if (by_distance) {
			memset(sum, 0, sizeof(*sum));
			for (uint32_t i = first; i < first + count; i++)
				if (estimation->taken[i] > 0)
					sum_distances(estimation, estimation->members[i], estimation->taken[i], sum);
			fm_survival_estimate(sum, estimation->survival);
		}
		add_shares(estimation->survival, by_distance ? NULL : estimation->distances, estimation->weight[phase],
		           estimation->line_bytes * scale, ret_shares);
	}
}

static double limited(double share)
{
	return fmin(fmax(share, 0), 1);
}

/* Quantiles of resampled values, ascending, as an interval around a value. */
static void set_interval(struct fm_miss_point *point, const double *lows, const double *highs, unsigned count,
                         double widen, double doubt, double unseen)
{
	double low = fm_statistics_quantile_sorted(lows, count, 0.025);
	double high = fm_statistics_quantile_sorted(highs, count, 0.975);

	low = point->value - widen * fmax(point->value - low, 0);
	low = fmin(low, point->value - doubt) - MODEL_FLOOR;
	high = point->value + widen * fmax(high - point->value, 0) + MODEL_FLOOR;
	high = fmax(high, unseen);
	point->low = limited(low);
	point->high = limited(high);
}

/* Resamples of one thread: all with these numbers modulo `step`. */
struct resampling {
	struct estimation estimation; /* shares everything but what resampling writes to */
	double error;
	uint64_t seed;
	unsigned first, step, count;
	double *values;
	pthread_t thread;
};

/* Every resample has its own error of the clock and of the model, and its own random numbers, so that results do not
   depend on the number of threads. */
static void *resample(void *argument)
{
	struct resampling *own = argument;
	struct shares shares;

	for (unsigned i = own->first; i < own->count; i += own->step) {
		struct fm_random random;
		double scale;

		fm_random_seed(&random, own->seed + i);
		scale = exp(own->error * fm_random_normal(&random));
		estimate(&own->estimation, &random, scale, &shares);
		for (unsigned point = 0; point < FM_MISS_POINTS; point++) {
			const double found[4] = {shares.shared_low[point], shares.shared[point],
			                         shares.private_low[point], shares.private[point]};

			for (unsigned k = 0; k < 4; k++)
				own->values[((size_t)4 * point + k) * own->count + i] = found[k];
		}
	}
	return NULL;
}

/* Fills the values with resamples of the clusters. */
static int resample_all(const struct estimation *estimation, const struct fm_miss_options *options, unsigned count,
                        double *values)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned wanted = count / EACH_THREAD + 1, threads = 0;
	struct resampling *all;
	int status = 0;

	wanted = processors > 0 && wanted > (unsigned long)processors ? (unsigned)processors : wanted;
	wanted = wanted > MOST_THREADS ? MOST_THREADS : wanted;
	all = calloc(wanted, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (unsigned i = 0; i < wanted; i++)
		all[i] = (struct resampling){.estimation = *estimation,
		                             .error = hypot(options->clock_error, MODEL_ERROR),
		                             .seed = i ? all->seed : fm_random_next(options->random),
		                             .first = i,
		                             .step = wanted,
		                             .count = count,
		                             .values = values};
	for (unsigned i = 0; i < wanted; i++)
		if (!make_own(&all[i].estimation))
			status = -ENOMEM;
	while (!status && threads + 1 < wanted &&
	       !pthread_create(&all[threads + 1].thread, NULL, resample, &all[threads + 1]))
		threads++;
	/* this thread has the first share, and those of threads that could not be started */
	for (unsigned i = 0; !status && i < wanted; i = i ? i + 1 : threads + 1)
		resample(&all[i]);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(all[i + 1].thread, NULL);
	for (unsigned i = 0; i < wanted; i++)
		free_own(&all[i].estimation);
	free(all);
	return status;
}

/* Intervals from resampled clusters. */
static int bootstrap(const struct estimation *estimation, const struct fm_miss_options *options, const double *doubts,
                     struct fm_miss_curve *shared, struct fm_miss_curve *private)
{
	unsigned resamples = options->resamples ? options->resamples : RESAMPLES;
	uint32_t clusters = estimation->times->clusters;
	/* percentiles of few clusters are too narrow by what Student's t is wider than the normal distribution */
	double widen = clusters > 1 ? fm_statistics_student(clusters - 1) / 1.96 : 1;
	double *values = calloc((size_t)4 * FM_MISS_POINTS * resamples, sizeof(*values));
	int status = values ? resample_all(estimation, options, resamples, values) : -ENOMEM;

	for (unsigned point = 0; !status && point < FM_MISS_POINTS; point++) {
		double *own = values + (size_t)4 * point * resamples;

		for (unsigned k = 0; k < 4; k++)
			fm_statistics_sort(own + (size_t)k * resamples, resamples);
		set_interval(&shared->points[point], own, own + resamples, resamples, widen, sqrt(doubts[point]),
		             estimation->unseen);
		set_interval(&private->points[point], own + (size_t)2 * resamples, own + (size_t)3 * resamples,
		             resamples, widen, sqrt(doubts[point]), estimation->unseen);
	}
	shared->bootstrapped = private->bootstrapped = !status;
	free(values);
	return status;
}

/* A larger cache never misses more. Each end of the intervals is made to fall as well. */
static void make_monotonous(struct fm_miss_curve *curve)
{
	for (unsigned i = 1; i < FM_MISS_POINTS; i++)
		curve->points[i].high = fmin(curve->points[i].high, curve->points[i - 1].high);
	for (unsigned i = FM_MISS_POINTS - 1; i-- > 0;)
		curve->points[i].low = fmax(curve->points[i].low, curve->points[i + 1].low);
}

int fm_miss_estimate(struct fm_times *times, const struct fm_miss_options *options, struct fm_miss_curve *ret_shared,
                     struct fm_miss_curve *ret_private)
{
	return fm_miss_estimate_part(times, times, options, ret_shared, ret_private);
}

int fm_miss_estimate_part(struct fm_times *all, struct fm_times *part, const struct fm_miss_options *options,
                          struct fm_miss_curve *ret_shared, struct fm_miss_curve *ret_private)
{
	struct fm_miss_curve shared = {.origin = FM_ORIGIN_sampled, .clock_error = options->clock_error}, private;
	struct estimation estimation = {
	    .times = all, .part = part, .line_bytes = options->line_bytes > 0 ? options->line_bytes : 64};
	struct shares shares;
	int status;

	if (!all->by_time.count)
		return -ENODATA;
	fm_times_halve(part, all->halved);
	fm_times_halve(all, part->halved);
	if (part->clusters > all->clusters)
		return -EINVAL;
	fm_times_merge(all);
	fm_times_merge(part);
	status = prepare(&estimation);
	if (status)
		goto out;
	estimate(&estimation, NULL, 1, &shares);
	shared.clusters = all->clusters;
	shared.phases = estimation.phases;
	if (part == all)
		for (size_t i = 0; i < all->by_time.count; i++)
			shared.samples += all->by_time.cells[i].samples_in;
	else
		shared.samples = (double)part->sample_count;
	for (size_t i = 0; part != all && i < part->by_distance.count; i++)
		shared.samples += part->by_distance.cells[i].reused;
	shared.largest_bytes = shares.largest * estimation.line_bytes;
	private = shared;
	for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
		double value = limited(shares.shared[i]);

		shared.points[i] = (struct fm_miss_point){value, value, value};
		value = limited(shares.private[i]);
		private.points[i] = (struct fm_miss_point){value, value, value};
	}
	if (options->random) {
		status = bootstrap(&estimation, options, shares.doubt, &shared, &private);
		if (status)
			goto out;
		make_monotonous(&shared);
		make_monotonous(&private);
	}
	if (ret_shared)
		*ret_shared = shared;
	if (ret_private)
		*ret_private = private;
out:
	free_estimation(&estimation);
	return status;
}

int fm_miss_exact(const struct fm_distances *distances, double line_bytes, struct fm_miss_curve *ret_curve)
{
	struct fm_miss_curve curve = {.origin = FM_ORIGIN_counted,
	                              .clusters = 1,
	                              .samples = distances->references,
	                              .phases = 1,
	                              .largest_bytes = INFINITY};

	if (!(distances->references > 0))
		return -ENODATA;
	for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
		double value =
		    fm_distances_miss_ratio(distances, fm_miss_bytes(i) / (line_bytes > 0 ? line_bytes : 64));

		curve.points[i] = (struct fm_miss_point){value, value, value};
	}
	*ret_curve = curve;
	return 0;
}

int fm_miss_windows(const struct fm_distances *windows, unsigned count, double line_bytes, struct fm_random *random,
                    struct fm_miss_curve *ret_curve)
{
	struct fm_distances *all = calloc(1, sizeof(*all));
	double *ratios = calloc((size_t)count + 1, sizeof(*ratios));
	double *means = calloc(RESAMPLES, sizeof(*means));
	struct fm_miss_curve curve;
	uint64_t seed[2];
	int status = -ENOMEM;

	if (!all || !ratios || !means)
		goto out;
	for (unsigned i = 0; i < count; i++)
		fm_distances_add(all, &windows[i]);
	status = fm_miss_exact(all, line_bytes, &curve);
	if (status)
		goto out;
	curve.origin = FM_ORIGIN_sampled;
	curve.clusters = count;
	curve.bootstrapped = count > 1;
	memcpy(seed, random->state, sizeof(seed));
	for (unsigned point = 0; curve.bootstrapped && point < FM_MISS_POINTS; point++) {
		double lines = fm_miss_bytes(point) / (line_bytes > 0 ? line_bytes : 64);

		/* the same resamples at every size */
		memcpy(random->state, seed, sizeof(seed));
		for (unsigned i = 0; i < count; i++)
			ratios[i] = windows[i].references > 0 ? fm_distances_miss_ratio(&windows[i], lines) : 0;
		for (unsigned i = 0; i < RESAMPLES; i++) {
			double missed = 0, references = 0;

			for (unsigned k = 0; k < count; k++) {
				uint64_t drawn = fm_random_below(random, count);

				missed += ratios[drawn] * windows[drawn].references;
				references += windows[drawn].references;
			}
			means[i] = references > 0 ? missed / references : curve.points[point].value;
		}
		fm_statistics_sort(means, RESAMPLES);
		set_interval(&curve.points[point], means, means, RESAMPLES, fm_statistics_student(count - 1) / 1.96, 0,
		             0);
	}
	make_monotonous(&curve);
	*ret_curve = curve;
out:
	free(all);
	free(ratios);
	free(means);
	return status;
}

static double between(double a, double b, double part)
{
	return a + part * (b - a);
}

struct fm_miss_point fm_miss_at(const struct fm_miss_curve *curve, double bytes)
{
	double place = bytes > FM_MISS_SMALLEST ? log2(bytes / FM_MISS_SMALLEST) * FM_MISS_PER_OCTAVE : 0;
	unsigned left;
	const struct fm_miss_point *a, *b;

	if (place >= FM_MISS_POINTS - 1)
		return curve->points[FM_MISS_POINTS - 1];
	left = (unsigned)place;
	a = &curve->points[left];
	b = a + 1;
	place -= left;
	return (struct fm_miss_point){between(a->value, b->value, place), between(a->low, b->low, place),
	                              between(a->high, b->high, place)};
}
