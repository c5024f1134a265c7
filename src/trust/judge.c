#include "trust/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "trust/explain.h"
#include "trust/judging.h"
#include "trust/stories.h"
#include "trust/wording.h"

static const char *const names[] = {
#define CLASS(identifier, words) #identifier,
#include "trust/classes.def"
#undef CLASS
};

static const char *const words_of[] = {
#define CLASS(identifier, words) words,
#include "trust/classes.def"
#undef CLASS
};

const char *fm_class_name(enum fm_class class)
{
	return names[class];
}

const char *fm_class_words(enum fm_class class)
{
	return words_of[class];
}

void fm_judge_unseen_words(const struct fm_quantities *quantities, uint64_t atoms, char *buffer, size_t size)
{
	size_t used = 0;

	if (size)
		*buffer = '\0';
	for (unsigned i = 0; i < quantities->atom_count; i++) {
		const char *kind = quantities->atoms[i].kind;
		bool before = false;

		if (!(atoms >> i & 1))
			continue;
		for (unsigned k = 0; k < i; k++)
			before |= atoms >> k & 1 && !strcmp(kind, quantities->atoms[k].kind);
		if (before)
			continue;
		used += (size_t)snprintf(buffer + used, used < size ? size - used : 0, "%s%s", used ? ", " : "", kind);
		if (used >= size)
			return;
	}
}

struct fm_bench {
	const struct fm_matrix *matrix;
	struct fm_columns *columns[2]; /* of one core, of the socket; made when needed */
};

struct fm_bench *fm_bench_create(const struct fm_matrix *matrix)
{
	struct fm_bench *bench = calloc(1, sizeof(*bench));

	if (bench)
		bench->matrix = matrix;
	return bench;
}

void fm_bench_free(struct fm_bench *bench)
{
	if (!bench)
		return;
	fm_columns_free(bench->columns[0]);
	fm_columns_free(bench->columns[1]);
	free(bench);
}

/* Events for each of the quantity. With two factors, the one that is nearer to one: as a count of it, the others are
   wrong. */
static double plain_factor(const struct fm_judgement *judgement)
{
	for (unsigned i = 0; i < judgement->flaw_count; i++) {
		const struct fm_flaw *flaw = &judgement->flaws[i];

		if (flaw->class == FM_CLASS_uneven && flaw->other < 0 && flaw->size > 0 &&
		    fabs(log(judgement->factor * flaw->size)) < fabs(log(judgement->factor)))
			return judgement->factor * flaw->size;
	}
	return judgement->factor;
}

/* Errors as a count of the quantity. */
static void measure_errors(const struct fm_matrix *matrix, const struct fm_evidence *evidence,
                           struct fm_judgement *judgement)
{
	double sum = 0, factor = judgement->factor > 0 ? plain_factor(judgement) : 0;

	judgement->error_min = INFINITY;
	judgement->error_max = -INFINITY;
	for (unsigned r = 0; judgement->quantity >= 0 && factor > 0 && r < matrix->run_count; r++) {
		double truth = fm_run_quantity(matrix, r, (unsigned)judgement->quantity, judgement->socket), error;

		if (!isfinite(evidence->mean[r]) || !(truth > 0) || fm_evidence_is_disturbed(evidence, r))
			continue;
		error = evidence->mean[r] / factor / truth - 1;
		sum += error;
		judgement->error_min = fmin(judgement->error_min, error);
		judgement->error_max = fmax(judgement->error_max, error);
		judgement->error_runs++;
	}
	if (judgement->error_runs)
		judgement->error_mean = sum / judgement->error_runs;
	else
		judgement->error_min = judgement->error_max = judgement->error_mean = NAN;
}

/* Counts in runs in which the story predicts none. */
static void measure_floor(const struct fm_columns *columns, const struct fm_evidence *evidence,
                          const struct fm_story *story, struct fm_judgement *judgement)
{
	double *counts = malloc((columns->runs + 1) * sizeof(*counts));
	unsigned n = 0;

	for (unsigned r = 0; counts && r < columns->runs; r++)
		if (isfinite(evidence->mean[r]) && fm_story_predict(columns, story, r) == 0)
			counts[n++] = evidence->mean[r];
	if (n) {
		fm_statistics_sort(counts, n);
		judgement->floor_most = counts[n - 1];
		judgement->floor = n % 2 ? counts[n / 2] : (counts[n / 2 - 1] + counts[n / 2]) / 2;
		judgement->floor_runs = n;
	}
	free(counts);
}

/* A quantity of which every run has the same multiple might be meant as well. */
static void find_alternative(const struct fm_columns *columns, const struct fm_evidence *evidence,
                             const struct fm_story *story, struct fm_judgement *judgement)
{
	int own = columns->quantity[story->quantity];

	for (unsigned q = 0; q < columns->matrix->quantities.quantity_count && judgement->alternative < 0; q++) {
		int other = columns->quantity[q];
		double ratio = 0;
		bool same = other >= 0 && q != story->quantity;

		for (unsigned r = 0; same && r < columns->runs; r++) {
			double a = columns->values[own][r], b = columns->values[other][r];

			if (!isfinite(evidence->mean[r]))
				continue;
			same = columns->known[columns->pattern[own]][r] == columns->known[columns->pattern[other]][r] &&
			       (a > 0) == (b > 0) &&
			       (!(a > 0) || !(ratio > 0) || fabs(b / a / ratio - 1) < FM_SAME_TRUTH);
			if (a > 0 && b > 0)
				ratio = b / a;
		}
		if (same && ratio > 0) {
			judgement->alternative = (int)q;
			judgement->alternative_factor = story->factor / ratio;
		}
	}
}

static void believe(const struct fm_columns *columns, const struct fm_evidence *evidence, unsigned event,
                    struct fm_story *story, struct fm_judgement *judgement)
{
	if (!story->flaw_count && fabs(story->factor - 1) < FM_EXACT_FACTOR)
		story->factor = 1;
	fm_word_story(columns->matrix, event, story, judgement);
	measure_floor(columns, evidence, story, judgement);
	if (!story->flaw_count && story->plus < 0)
		find_alternative(columns, evidence, story, judgement);
	judgement->misfit = judgement->misfit_left_out = story->misfit * evidence->tolerance;
}

/* Factor by which a root mean square of n numbers may be too large by chance: two standard errors. */
static double margin(double numbers)
{
	return 1 + 2 / sqrt(2 * fmax(numbers, 1));
}

static bool fits_well(const struct fm_evidence *evidence, const struct fm_story *story)
{
	double noise = FM_FITS_NOISE * evidence->noise / sqrt(evidence->repeats) *
	               margin(evidence->counted * (evidence->repeats - 1.0)) * margin(evidence->counted);

	return story->misfit * evidence->tolerance < sqrt(noise * noise + FM_FITS_UNKNOWN * FM_FITS_UNKNOWN);
}

static void judge(struct fm_columns *columns, unsigned event, const struct fm_evidence *evidence,
                  struct fm_judgement *judgement)
{
	const struct fm_matrix *matrix = columns->matrix;
	struct fm_story story;
	bool fits;

	if (evidence->counted < 2) {
		judgement->class = FM_CLASS_uncounted;
		if (fm_matrix_has_no_truth(matrix, columns->socket))
			fm_say(judgement, "the file has no column %s… for comparison",
			       columns->socket ? "socket." : "true.");
		else
			fm_say(judgement, evidence->counted ? "counted in one run only, which is not enough"
			                                    : "not counted in any run with a known true value");
		return;
	}
	if (fm_evidence_is_unchanged(matrix, evidence)) {
		judgement->class = FM_CLASS_dead;
		fm_say(judgement, evidence->typical > 0 ? "about %.4g in every run" : "zero in every run",
		       evidence->typical);
		return;
	}
	fits = fm_stories_best(columns, evidence, &story) && fits_well(evidence, &story);
	if (evidence->noise > FM_NOISY * margin(evidence->counted * (evidence->repeats - 1.0))) {
		judgement->class = FM_CLASS_noisy;
		judgement->size = evidence->noise;
		fm_say(judgement, "differs by %.0f %% between repetitions of the same run", evidence->noise * 100);
		if (fits) {
			fm_say(judgement, "; on average ");
			believe(columns, evidence, event, &story, judgement);
			judgement->class = FM_CLASS_noisy;
			judgement->size = evidence->noise;
			*judgement->formula = '\0';
		}
	} else if (fits) {
		believe(columns, evidence, event, &story, judgement);
	} else {
		fm_explain(columns, evidence, judgement);
	}
}

void fm_judge_at(struct fm_bench *bench, unsigned event, struct fm_judgement *ret_judgement)
{
	const struct fm_matrix *matrix = bench->matrix;
	bool socket = matrix->events[event].socket;
	struct fm_judgement *judgement = ret_judgement;
	struct fm_evidence evidence;

	memset(judgement, 0, sizeof(*judgement));
	judgement->quantity = judgement->other = judgement->alternative = -1;
	judgement->socket = socket;
	judgement->error_mean = judgement->error_min = judgement->error_max = NAN;
	if (!bench->columns[socket])
		bench->columns[socket] = fm_columns_create(matrix, socket);
	if (!bench->columns[socket] || fm_evidence_create(matrix, event, bench->columns[socket], &evidence)) {
		judgement->class = FM_CLASS_uncounted;
		fm_say(judgement, "not enough memory for this event");
		return;
	}
	judgement->reproducibility = evidence.noise;
	judge(bench->columns[socket], event, &evidence, judgement);
	measure_errors(matrix, &evidence, judgement);
	if (judgement->class == FM_CLASS_exact && fabs(judgement->error_mean) > FM_ERROR_REPORTED)
		fm_say(judgement, ". On average %.1f %% too %s", 100 * fabs(judgement->error_mean),
		       judgement->error_mean < 0 ? "few" : "many");
	fm_word_remarks(matrix, judgement);
	fm_evidence_free(&evidence);
}

void fm_judge(const struct fm_matrix *matrix, unsigned event, struct fm_judgement *ret_judgement)
{
	struct fm_bench *bench = fm_bench_create(matrix);

	if (bench)
		fm_judge_at(bench, event, ret_judgement);
	fm_bench_free(bench);
}
