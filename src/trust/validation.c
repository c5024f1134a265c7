#include "trust/validation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "trust/judging.h"
#include "trust/sharing.h"

const char *fm_indicator_text(const struct fm_matrix *matrix, const struct fm_indicator *indicator, char *buffer,
                              size_t size)
{
	size_t used = 0;

	if (size)
		snprintf(buffer, size, "n/a");
	for (unsigned i = 0; i < indicator->count && used < size; i++) {
		const char *name = matrix->events[indicator->events[i]].name;

		if (indicator->coefficients[i] == 1)
			used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? " + " : "", name);
		else
			used += (size_t)snprintf(buffer + used, size - used, "%s%.4g * %s", i ? " + " : "",
			                         indicator->coefficients[i], name);
	}
	return buffer;
}

/* An event that counts the quantity, or a fixed multiple of it, and nothing else, in the same scope; -1 when there is
   none. One to one before multiples. */
static int honest_event(const struct fm_validation *validation, int quantity, bool socket)
{
	static const enum fm_class honest[] = {FM_CLASS_exact, FM_CLASS_proportional};

	for (unsigned class = 0; class < 2; class ++)
		for (unsigned i = 0; i < validation->matrix->event_count; i++) {
			const struct fm_judgement *judgement = &validation->judgements[i];

			if (judgement->quantity == quantity && judgement->socket == socket &&
			    judgement->class == honest[class])
				return (int)i;
		}
	return -1;
}

/* Are all flaws of the event removable? */
static bool can_be_subtracted(const struct fm_judgement *judgement)
{
	for (unsigned i = 0; i < judgement->flaw_count; i++)
		if (judgement->flaws[i].class != FM_CLASS_overlapping && judgement->flaws[i].class != FM_CLASS_offset)
			return false;
	return judgement->class == FM_CLASS_overlapping && judgement->quantity >= 0 && judgement->factor > 0;
}

/* The surplus of an overlapping event can be subtracted if other events count it. Formulas consist of events, never of
   truths that only the benchmark knows. */
static void correct_overlaps(struct fm_validation *validation)
{
	for (unsigned i = 0; i < validation->matrix->event_count; i++) {
		struct fm_judgement *judgement = &validation->judgements[i];
		char *formula = judgement->formula;
		size_t used = 0, size = sizeof(judgement->formula);
		bool complete = true;

		if (!can_be_subtracted(judgement))
			continue;
		used += (size_t)snprintf(formula, size, "%s%s", judgement->factor == 1 ? "" : "(",
		                         validation->matrix->events[i].name);
		for (unsigned k = 0; k < judgement->term_count && complete; k++) {
			const struct fm_term *term = &judgement->terms[k];
			int event;

			if (!term->is_atom && (int)term->index == judgement->quantity)
				continue;
			event = term->is_atom ? -1 : honest_event(validation, (int)term->index, judgement->socket);
			complete = event >= 0;
			if (complete && used < size)
				used += (size_t)snprintf(formula + used, size - used, " - %.4g * %s",
				                         term->coefficient / validation->judgements[event].factor,
				                         validation->matrix->events[event].name);
		}
		for (unsigned k = 0; k < judgement->flaw_count; k++)
			if (judgement->flaws[k].class == FM_CLASS_offset && used < size)
				used +=
				    (size_t)snprintf(formula + used, size - used, " - %.4g", judgement->flaws[k].size);
		if (judgement->factor != 1 && used < size)
			used += (size_t)snprintf(formula + used, size - used, ") / %.4g", judgement->factor);
		/* half a formula is none */
		if (!complete || used >= size)
			*formula = '\0';
	}
}

static void report(const struct fm_validation_options *options, const char *what, double share, uint64_t began)
{
	double seconds = (double)(fm_clock_now() - began) * 1e-9;

	fm_watcher_tell(&options->watcher, what, share, share > 0 ? seconds / share - seconds : 0);
}

int fm_validation_create(struct fm_matrix *matrix, const struct fm_validation_options *options,
                         struct fm_validation **ret_validation, struct fm_error *error)
{
	struct fm_validation *validation = calloc(1, sizeof(*validation));
	struct fm_bench *bench = fm_bench_create(matrix);
	uint64_t began = fm_clock_now();

	if (validation)
		validation->judgements =
		    calloc(matrix->event_count ? matrix->event_count : 1, sizeof(*validation->judgements));
	if (!validation || !validation->judgements || !bench) {
		fm_bench_free(bench);
		fm_validation_free(validation);
		return fm_error_set(error, ENOMEM, "no memory for the judgements");
	}
	validation->matrix = matrix;
	fm_matrix_settle(matrix);
	for (unsigned i = 0; i < matrix->event_count; i++) {
		if (fm_watcher_stops(&options->watcher)) {
			fm_bench_free(bench);
			fm_validation_free(validation);
			return fm_error_set(error, EINTR, "interrupted");
		}
		report(options, "judging events", FM_JUDGING_TIME * i / matrix->event_count, began);
		fm_judge_at(bench, i, &validation->judgements[i]);
	}
	fm_bench_free(bench);
	fm_sharing_judge(matrix, validation->judgements);
	fm_stalls_test(matrix, validation->judgements, &validation->stalls);
	/* the tests of waiting judge events of waiting, not the story that was nearest */
	for (unsigned i = 0; i < matrix->event_count; i++)
		if (validation->judgements[i].class == FM_CLASS_stall) {
			validation->judgements[i].flaw_count = validation->judgements[i].floor_runs = 0;
			validation->judgements[i].alternative = -1;
			*validation->judgements[i].formula = '\0';
		}
	report(options, "looking for indicators", FM_JUDGING_TIME, began);
	validation->resource_count = fm_resources_find(matrix, validation->judgements, validation->resources);
	correct_overlaps(validation);
	*ret_validation = validation;
	return 0;
}

unsigned fm_validation_missing(const struct fm_matrix *matrix, char *buffer, size_t size)
{
	unsigned count = 0;
	size_t used = 0;

	*buffer = '\0';
	for (int socket = 0; socket < 2; socket++) {
		uint64_t missing = socket ? matrix->missing_socket : matrix->missing;
		bool asked = false;

		for (unsigned i = 0; i < matrix->event_count; i++)
			asked |= matrix->events[i].socket == socket;
		if (asked && fm_matrix_has_no_truth(matrix, socket)) {
			used += (size_t)snprintf(buffer + used, size - used, "%severy %s column", count ? ", " : "",
			                         socket ? "socket." : "true.");
			count++;
			continue;
		}
		for (; asked && missing; missing &= missing - 1, count++)
			if (used < size)
				used += (size_t)snprintf(buffer + used, size - used, "%s%s%s", count ? ", " : "",
				                         socket ? "socket." : "true.",
				                         matrix->quantities.atoms[__builtin_ctzll(missing)].name);
	}
	return count;
}

void fm_validation_free(struct fm_validation *validation)
{
	if (validation)
		free(validation->judgements);
	free(validation);
}
