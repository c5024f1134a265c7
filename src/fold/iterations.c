/* Iterations without markers. A program that repeats itself returns to the same lines after the same time: the times of
   each line's samples gather around one phase of that period. Periods are tried. Since they vary, samples are divided
   into blocks, and phases are followed from block to block. Blocks of samples that are further apart show longer
   periods. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fold/parts.h"
#include "fold/thresholds.h"

enum {
	BLOCK = 256, /* samples */
	BLOCKS = 12, /* that a period is looked for in */
	LINES = 16,  /* that are distinguished */
	CELLS = 128,
	FINEST = 4,  /* tried frequencies for each period that fits into a block */
	PERIODS = 4, /* that a block has at least */
	THREADS_MAX = 64,
};

struct sequence {
	size_t count;
	double *at;          /* seconds or references */
	unsigned char *line; /* LINES: another one */
	double counts[LINES + 1];
};

static void sequence_free(struct sequence *sequence)
{
	free(sequence->at);
	free(sequence->line);
}

static int take(const struct fm_fold *fold, const struct fm_thread_timeline *timeline, uint32_t thread,
                struct sequence *sequence)
{
	const struct fm_samples *samples = fold->samples;
	size_t begin = timeline->begin[thread], end = timeline->begin[thread + 1];
	size_t *counts = calloc(samples->line_count + 1, sizeof(*counts));
	unsigned char *numbers = malloc(samples->line_count + 1);
	int r = counts && numbers ? 0 : -ENOMEM;

	*sequence =
	    (struct sequence){.at = malloc((end - begin + 1) * sizeof(double)), .line = malloc(end - begin + 1)};
	if (!sequence->at || !sequence->line)
		r = -ENOMEM;
	for (size_t i = begin; !r && i < end; i++) {
		uint32_t line = samples->line_of[samples->recording->samples[timeline->list[i]].code];

		if (line != UINT32_MAX)
			counts[line]++;
	}
	if (!r)
		memset(numbers, LINES, samples->line_count + 1);
	for (unsigned k = 0; !r && k < LINES; k++) {
		size_t most = 0;

		for (size_t i = 1; i < samples->line_count; i++)
			most = counts[i] > counts[most] ? i : most;
		if (!counts[most])
			break;
		numbers[most] = (unsigned char)k;
		counts[most] = 0;
	}
	for (size_t i = begin; !r && i < end; i++) {
		uint32_t index = timeline->list[i];
		const struct fm_recorded_sample *sample = &samples->recording->samples[index];

		if (samples->left && !samples->left[index])
			continue;
		sequence->at[sequence->count] = fold->clock == FM_FOLD_REFERENCES
		                                    ? (double)(i - begin)
		                                    : fm_timeline_active(timeline, thread, sample->at);
		sequence->line[sequence->count] = numbers[samples->line_of[sample->code]];
		sequence->counts[sequence->line[sequence->count]]++;
		sequence->count++;
	}
	free(counts);
	free(numbers);
	return r;
}

/* Concentration of the samples of a block at a frequency, 0 … 1, from every `each`-th sample. */
static double gathering(const struct sequence *sequence, size_t from, size_t each, double frequency)
{
	double real[LINES + 1] = {0}, imaginary[LINES + 1] = {0}, counts[LINES + 1] = {0}, sum = 0, all = 0;

	for (size_t k = 0; k < BLOCK; k++) {
		size_t i = from + k * each;
		double angle = 2 * M_PI * frequency * (sequence->at[i] - sequence->at[from]);
		unsigned char line = sequence->line[i];

		real[line] += cos(angle);
		imaginary[line] += sin(angle);
		counts[line]++;
	}
	for (unsigned k = 0; k < LINES; k++) {
		double gathered = real[k] * real[k] + imaginary[k] * imaginary[k] - counts[k];

		all += counts[k];
		if (counts[k] > 3)
			sum += gathered / (counts[k] - 1);
	}
	return all > 0 ? sum / all : 0;
}

struct period {
	double frequency, score;
};

/* The best frequency of every n-th sample. A lower one that is nearly as good is better: loops within the iteration
   repeat as well. */
static struct period search(const struct sequence *sequence, size_t each)
{
	struct period best = {0};
	size_t span = (BLOCK - 1) * each + 1, room = sequence->count - span;
	size_t blocks = room / span + 1 < BLOCKS ? room / span + 1 : BLOCKS;
	double duration = 0, scores[FINEST * BLOCK / 2];

	for (size_t b = 0; b < blocks; b++) {
		size_t from = blocks > 1 ? b * room / (blocks - 1) : 0;

		duration += (sequence->at[from + span - 1] - sequence->at[from]) / (double)blocks;
	}
	if (!(duration > 0))
		return best;
	for (unsigned k = PERIODS * FINEST; k < FINEST * BLOCK / 2; k++) {
		scores[k] = 0;
		for (size_t b = 0; b < blocks; b++)
			scores[k] += gathering(sequence, blocks > 1 ? b * room / (blocks - 1) : 0, each,
			                       k / (FINEST * duration)) /
			             (double)blocks;
		if (scores[k] > best.score)
			best = (struct period){k / (FINEST * duration), scores[k]};
	}
	for (unsigned k = PERIODS * FINEST + 1; k + 1 < FINEST * BLOCK / 2; k++)
		if (scores[k] >= FM_PERIOD_PEAK * best.score && scores[k] >= scores[k - 1] &&
		    scores[k] >= scores[k + 1])
			return (struct period){k / (FINEST * duration), scores[k]};
	return best;
}

/* Phases of blocks: knots of the number of periods that have passed. */
struct knots {
	double *at, *periods;
	size_t count;
};

static void add_block(const struct sequence *sequence, size_t begin, size_t end, double frequency, double *real,
                      double *imaginary)
{
	memset(real, 0, (LINES + 1) * sizeof(*real));
	memset(imaginary, 0, (LINES + 1) * sizeof(*imaginary));
	for (size_t i = begin; i < end; i++) {
		double angle = 2 * M_PI * frequency * sequence->at[i];

		real[sequence->line[i]] += cos(angle);
		imaginary[sequence->line[i]] += sin(angle);
	}
}

static int follow(const struct sequence *sequence, const struct period *period, struct knots *knots)
{
	double model_real[LINES + 1] = {0}, model_imaginary[LINES + 1] = {0}, real[LINES + 1], imaginary[LINES + 1];
	double length = PERIODS / period->frequency, shift = 0;
	size_t room = (size_t)((sequence->at[sequence->count - 1] - sequence->at[0]) / length) + 2;

	knots->at = malloc(room * sizeof(double));
	knots->periods = malloc(room * sizeof(double));
	if (!knots->at || !knots->periods)
		return -ENOMEM;
	for (size_t i = 0, next; i < sequence->count && knots->count < room; i = next) {
		double sum_real = 0, sum_imaginary = 0;

		for (next = i; next < sequence->count && sequence->at[next] < sequence->at[i] + length; next++)
			;
		if (next - i < 4)
			continue;
		add_block(sequence, i, next, period->frequency, real, imaginary);
		for (unsigned k = 0; k < LINES; k++) {
			sum_real += real[k] * model_real[k] + imaginary[k] * model_imaginary[k];
			sum_imaginary += imaginary[k] * model_real[k] - real[k] * model_imaginary[k];
		}
		if (knots->count) {
			double turn = atan2(sum_imaginary, sum_real) - shift;

			shift += turn - 2 * M_PI * round(turn / (2 * M_PI));
		}
		for (unsigned k = 0; k < LINES; k++) {
			/* turned back to where the first block was, and the older the less */
			model_real[k] =
			    FM_MODEL_KEPT * model_real[k] + real[k] * cos(shift) + imaginary[k] * sin(shift);
			model_imaginary[k] =
			    FM_MODEL_KEPT * model_imaginary[k] + imaginary[k] * cos(shift) - real[k] * sin(shift);
		}
		knots->at[knots->count] = (sequence->at[i] + sequence->at[next - 1]) / 2;
		knots->periods[knots->count] = period->frequency * knots->at[knots->count] - shift / (2 * M_PI);
		knots->count++;
	}
	return 0;
}

/* The number of periods before a time, or the time after a number of periods: linear between knots and beyond. */
static double interpolate(const double *x, const double *y, size_t count, double at)
{
	size_t low = 0, high = count - 1;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (x[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return x[high] > x[low] ? y[low] + (y[high] - y[low]) * (at - x[low]) / (x[high] - x[low]) : y[low];
}

/* The place in the period with the largest change of lines: iterations begin there. */
static double find_origin(const struct sequence *sequence, const struct knots *knots)
{
	enum { REACH = CELLS / 16 };
	double cells[CELLS][LINES + 1] = {{0}}, most = -1, origin = 0;

	for (size_t i = 0; i < sequence->count; i++) {
		double periods = interpolate(knots->at, knots->periods, knots->count, sequence->at[i]);

		cells[(unsigned)((periods - floor(periods)) * CELLS) % CELLS][sequence->line[i]]++;
	}
	for (unsigned c = 0; c < CELLS; c++) {
		double before[LINES + 1] = {0}, after[LINES + 1] = {0}, all_before = 0, all_after = 0, change = 0;

		for (unsigned k = 0; k < REACH; k++)
			for (unsigned l = 0; l <= LINES; l++) {
				all_before += cells[(c + CELLS - 1 - k) % CELLS][l];
				before[l] += cells[(c + CELLS - 1 - k) % CELLS][l];
				all_after += cells[(c + k) % CELLS][l];
				after[l] += cells[(c + k) % CELLS][l];
			}
		for (unsigned l = 0; l <= LINES && all_before > 0 && all_after > 0; l++)
			change += fabs(before[l] / all_before - after[l] / all_after);
		if (change > most) {
			most = change;
			origin = (double)c / CELLS;
		}
	}
	return origin;
}

/* The time by the clock at which a thread has been on the processor so long. */
static double by_clock(const struct fm_thread_timeline *timeline, uint32_t thread, double active)
{
	size_t first = timeline->first_gap[thread], low = first, high = timeline->first_gap[thread + 1];

	/* the first gap that it has not got to the end of */
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct fm_off_cpu *gap = &timeline->gaps[middle];

		if (gap->end - gap->before - gap->off <= active)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first ? active + timeline->gaps[low - 1].before + timeline->gaps[low - 1].off : active;
}

static int add_iterations(const struct fm_fold *fold, const struct fm_thread_timeline *timeline, uint32_t thread,
                          const struct sequence *sequence, const struct knots *knots, struct fm_fold_region *region)
{
	const struct fm_recorded_sample *samples = fold->samples->recording->samples;
	double origin = find_origin(sequence, knots);
	double first = ceil(interpolate(knots->at, knots->periods, knots->count, sequence->at[0]) - origin) + origin;
	double last = interpolate(knots->at, knots->periods, knots->count, sequence->at[sequence->count - 1]);

	for (size_t k = 0; first + (double)k + 1 <= last; k++) {
		double began = interpolate(knots->periods, knots->at, knots->count, first + (double)k),
		       ended = interpolate(knots->periods, knots->at, knots->count, first + (double)k + 1);
		struct fm_fold_instance *instance =
		    fm_recording_grow((void **)&region->instances, &region->instance_count, sizeof(*instance));

		if (!instance)
			return -ENOMEM;
		if (fold->clock == FM_FOLD_REFERENCES) {
			size_t here = timeline->begin[thread], end = timeline->begin[thread + 1] - here - 1;

			began = samples[timeline->list[here + (size_t)fmin(fmax(began, 0), (double)end)]].at;
			ended = samples[timeline->list[here + (size_t)fmin(fmax(ended, 0), (double)end)]].at;
		} else {
			began = by_clock(timeline, thread, began);
			ended = by_clock(timeline, thread, ended);
		}
		*instance =
		    (struct fm_fold_instance){.thread = thread, .began = began, .ended = ended, .mode = FM_FOLD_NONE};
	}
	return 0;
}

static int find_in_thread(const struct fm_fold *fold, const struct fm_thread_timeline *timeline, uint32_t thread,
                          struct fm_fold_region *region)
{
	struct sequence sequence = {0};
	struct period best = {0};
	struct knots knots = {0};
	size_t before = region->instance_count;
	int r = take(fold, timeline, thread, &sequence);

	if (r || sequence.count < FM_ITERATIONS_SAMPLES)
		goto out;
	for (size_t each = 1; (BLOCK - 1) * each + 1 < sequence.count; each *= 8) {
		struct period period = search(&sequence, each);

		/* with samples left out a short period may look like a long one */
		if (period.score > FM_PERIOD_BETTER * best.score)
			best = period;
	}
	if (best.score < FM_GATHERING_LEAST)
		goto out;
	r = follow(&sequence, &best, &knots);
	if (!r && knots.count >= 2)
		r = add_iterations(fold, timeline, thread, &sequence, &knots, region);
	if (region->instance_count - before < FM_ITERATIONS_LEAST)
		region->instance_count = before;
	else
		region->confidence = fmax(region->confidence, fmin(FM_ITERATIONS_SURE, 0.5 + best.score));
out:
	sequence_free(&sequence);
	free(knots.at);
	free(knots.periods);
	return r;
}

int fm_fold_find_iterations(const struct fm_fold *fold, const struct fm_thread_timeline *timeline,
                            struct fm_fold_region *region)
{
	size_t threads = fold->samples->recording->sampled_threads_count;
	int r = 0;

	for (size_t i = 0; !r && i < threads && i < THREADS_MAX; i++)
		if (timeline->begin[i + 1] - timeline->begin[i] >= FM_ITERATIONS_SAMPLES)
			r = find_in_thread(fold, timeline, (uint32_t)i, region);
	return r;
}
