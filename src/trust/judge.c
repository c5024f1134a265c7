#include "trust/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "trust/explain.h"
#include "trust/stories.h"

/* Beyond this relative standard deviation between repetitions an event is noise first of all. */
#define NOISY 0.05
/* Within this all counts are the same. */
#define UNCHANGED 0.02
/* Deviations of a quantity that are no flaw worth a name: the paths of lines are not known better. */
#define EXACT_FACTOR 0.005
/* A story fits when it is within this many standard errors of the mean, root mean square over the runs. */
#define FITS 3

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

/* Means, noise and weights of an event's runs. */
static void prepare(const struct fm_matrix *matrix, unsigned event, struct fm_evidence *evidence)
{
	double *scatter = calloc(matrix->run_count ? matrix->run_count : 1, sizeof(*scatter));
	double *positive = calloc(matrix->run_count ? matrix->run_count : 1, sizeof(*positive));
	unsigned scatters = 0, positives = 0;

	evidence->socket = matrix->events[event].socket;
	for (unsigned r = 0; r < matrix->run_count; r++) {
		const double *counts = fm_matrix_counts(matrix, event, r);
		double sum = 0, squares = 0;
		unsigned n = 0;

		evidence->mean[r] = NAN;
		/* runs of which nothing is known tell nothing */
		if (!(evidence->socket ? matrix->runs[r].known_socket : matrix->runs[r].known))
			continue;
		for (unsigned k = 0; k < matrix->repeats; k++)
			if (isfinite(counts[k])) {
				sum += counts[k];
				n++;
			}
		if (!n)
			continue;
		evidence->mean[r] = sum / n;
		evidence->counted++;
		for (unsigned k = 0; k < matrix->repeats; k++)
			if (isfinite(counts[k]))
				squares += (counts[k] - sum / n) * (counts[k] - sum / n);
		if (sum > 0 && positive)
			positive[positives++] = sum / n;
		if (sum > 0 && n > 1 && scatter)
			scatter[scatters++] = squares / (n - 1) / (sum / n * sum / n);
		if (n > evidence->repeats)
			evidence->repeats = n;
	}
	/* the mean of variances, without the tenth that is largest: a disturbed run does not make an event noisy */
	if (scatter) {
		double sum = 0;
		unsigned kept = scatters - scatters / 10;

		fm_statistics_sort(scatter, scatters);
		for (unsigned i = 0; i < kept; i++)
			sum += scatter[i];
		evidence->noise = kept ? sqrt(sum / kept) : 0;
	}
	if (positive && positives) {
		fm_statistics_sort(positive, positives);
		evidence->typical = positive[positives / 2];
	}
	free(scatter);
	free(positive);
	evidence->tolerance =
	    sqrt(evidence->noise * evidence->noise / (evidence->repeats ? evidence->repeats : 1) + 0.004 * 0.004);
	for (unsigned r = 0; r < matrix->run_count; r++)
		if (isfinite(evidence->mean[r])) {
			double relative = evidence->tolerance * evidence->mean[r],
			       absolute = 0.001 * evidence->typical + 1;

			evidence->weight[r] = 1 / (relative * relative + absolute * absolute);
		}
}

static bool unchanged(const struct fm_matrix *matrix, const struct fm_evidence *evidence)
{
	double low = INFINITY, high = 0, sum = 0, squares = 0, expected;

	for (unsigned r = 0; r < matrix->run_count; r++)
		if (isfinite(evidence->mean[r])) {
			low = fmin(low, evidence->mean[r]);
			high = fmax(high, evidence->mean[r]);
			sum += evidence->mean[r];
			squares += evidence->mean[r] * evidence->mean[r];
		}
	if (high - low <= UNCHANGED * high)
		return true;
	/* or the runs differ no more than repetitions of one do */
	sum /= evidence->counted;
	squares = squares / evidence->counted - sum * sum;
	expected = evidence->noise * sum * evidence->noise * sum / (evidence->repeats ? evidence->repeats : 1);
	return squares <= 3 * expected;
}

static void say(struct fm_judgement *judgement, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct fm_judgement *judgement, const char *format, ...)
{
	size_t used = strlen(judgement->reason);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(judgement->reason + used, sizeof(judgement->reason) - used, format, arguments);
	va_end(arguments);
}

/* Errors as a count of the quantity. */
static void measure_errors(const struct fm_matrix *matrix, const struct fm_evidence *evidence,
                           struct fm_judgement *judgement)
{
	double sum = 0;

	judgement->error_min = INFINITY;
	judgement->error_max = -INFINITY;
	for (unsigned r = 0; judgement->quantity >= 0 && judgement->factor > 0 && r < matrix->run_count; r++) {
		double truth = fm_run_quantity(matrix, r, (unsigned)judgement->quantity, judgement->socket), error;

		if (!isfinite(evidence->mean[r]) || !(truth > 0))
			continue;
		error = evidence->mean[r] / judgement->factor / truth - 1;
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

static void add_term(struct fm_judgement *judgement, bool is_atom, unsigned index, double coefficient)
{
	if (judgement->term_count < FM_TERMS_MAX)
		judgement->terms[judgement->term_count++] = (struct fm_term){is_atom, index, coefficient};
}

static const char *scope_words(bool socket)
{
	return socket ? ", of the whole socket" : "";
}

/* The words and formulas of a story. */
static void tell(const struct fm_matrix *matrix, unsigned event, const struct fm_story *story,
                 struct fm_judgement *judgement)
{
	const struct fm_quantities *all = &matrix->quantities;
	const struct fm_quantity *quantity = &all->quantities[story->quantity];
	const char *name = matrix->events[event].name;
	char unseen[120];

	judgement->class = story->class;
	judgement->quantity = (int)story->quantity;
	judgement->factor = story->factor;
	judgement->size = story->size;
	judgement->other = story->other;
	judgement->unseen = story->unseen;
	add_term(judgement, false, story->quantity, story->factor);
	if (story->factor != 1 && story->class != FM_CLASS_proportional && story->class != FM_CLASS_indicator)
		say(judgement, "%.4g for each, and: ", story->factor);
	switch (story->class) {
	case FM_CLASS_exact:
		say(judgement, "one for each of the %s%s", quantity->words, scope_words(judgement->socket));
		snprintf(judgement->formula, sizeof(judgement->formula), "%s", name);
		break;
	case FM_CLASS_proportional:
		say(judgement, "%.4g for each of the %s%s", story->factor, quantity->words,
		    scope_words(judgement->socket));
		snprintf(judgement->formula, sizeof(judgement->formula), "%s / %.4g", name, story->factor);
		break;
	case FM_CLASS_overlapping:
		add_term(judgement, false, (unsigned)story->other, story->size);
		say(judgement, "counts the %s, and %.3g of each of the %s as well", quantity->words, story->size,
		    all->quantities[story->other].words);
		snprintf(judgement->formula, sizeof(judgement->formula), "(%s - %.4g * %s)%s", name, story->size,
		         all->quantities[story->other].name, "");
		break;
	case FM_CLASS_blind:
		fm_judge_unseen_words(all, story->unseen, unseen, sizeof(unseen));
		say(judgement, "counts the %s, but not %s", quantity->words, unseen);
		break;
	case FM_CLASS_saturating:
		say(judgement, "counts the %s up to %.4g million a second, and no faster", quantity->words,
		    story->size / 1e6);
		break;
	case FM_CLASS_conditional:
		say(judgement, "counts the %s, but %.0f %% %s when %s", quantity->words, fabs(story->size) * 100,
		    story->size > 0 ? "too few" : "too many", fm_condition_words(story->condition));
		snprintf(judgement->formula, sizeof(judgement->formula), "%s / %.4g when %s", name, 1 - story->size,
		         fm_condition_words(story->condition));
		break;
	case FM_CLASS_leaking:
		say(judgement, "counts the %s, and %.0f %% of what another core does", quantity->words,
		    story->size * 100);
		break;
	case FM_CLASS_offset:
		say(judgement, "counts the %s, and %.4g more in every run", quantity->words, story->size);
		snprintf(judgement->formula, sizeof(judgement->formula), "%s - %.4g for every run", name, story->size);
		break;
	case FM_CLASS_indicator:
		say(judgement, "grows with the %s to the power of %.2f", quantity->words, story->size);
		break;
	default:
		break;
	}
}

void fm_judge(const struct fm_matrix *matrix, unsigned event, struct fm_judgement *ret_judgement)
{
	struct fm_evidence evidence = {0};
	struct fm_judgement *judgement = ret_judgement;
	struct fm_story story;

	memset(judgement, 0, sizeof(*judgement));
	judgement->quantity = judgement->other = -1;
	judgement->socket = matrix->events[event].socket;
	judgement->error_mean = judgement->error_min = judgement->error_max = NAN;
	evidence.mean = calloc(matrix->run_count ? matrix->run_count : 1, sizeof(double));
	evidence.weight = calloc(matrix->run_count ? matrix->run_count : 1, sizeof(double));
	if (!evidence.mean || !evidence.weight) {
		judgement->class = FM_CLASS_uncounted;
		say(judgement, "no memory to judge it");
		goto out;
	}
	prepare(matrix, event, &evidence);
	judgement->reproducibility = evidence.noise;
	if (evidence.counted < 2) {
		judgement->class = FM_CLASS_uncounted;
		say(judgement, evidence.counted ? "it was counted in one run only, which tells nothing"
		                                : "it was not counted in any run of which the truth is known");
	} else if (unchanged(matrix, &evidence)) {
		judgement->class = FM_CLASS_dead;
		say(judgement, evidence.typical > 0 ? "always about %.4g, whatever runs" : "always zero, whatever runs",
		    evidence.typical);
	} else if (evidence.noise > NOISY) {
		judgement->class = FM_CLASS_noisy;
		judgement->size = evidence.noise;
		say(judgement, "differs by %.0f %% between repetitions of the same run", evidence.noise * 100);
		if (fm_stories_best(matrix, &evidence, &story) && story.misfit < FITS)
			judgement->quantity = (int)story.quantity, judgement->factor = story.factor;
	} else if (fm_stories_best(matrix, &evidence, &story) && story.misfit < FITS) {
		if (story.class == FM_CLASS_proportional && fabs(story.factor - 1) < EXACT_FACTOR) {
			story.class = FM_CLASS_exact;
			story.factor = 1;
		}
		tell(matrix, event, &story, judgement);
		judgement->misfit = judgement->misfit_left_out = story.misfit * evidence.tolerance;
	} else {
		fm_explain(matrix, &evidence, judgement);
	}
	measure_errors(matrix, &evidence, judgement);
out:
	free(evidence.mean);
	free(evidence.weight);
}
