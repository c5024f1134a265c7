#include "trust/validation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

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

/* An event that counts the quantity and nothing else, in the same scope; -1 when there is none. */
static int honest_event(const struct fm_validation *validation, int quantity, bool socket)
{
	for (unsigned i = 0; i < validation->matrix->event_count; i++) {
		const struct fm_judgement *judgement = &validation->judgements[i];

		if (judgement->quantity == quantity && judgement->socket == socket &&
		    judgement->class == FM_CLASS_exact)
			return (int)i;
	}
	return -1;
}

/* What an overlapping event counts too much can be taken away, when another event counts it. */
static void correct_overlaps(struct fm_validation *validation)
{
	for (unsigned i = 0; i < validation->matrix->event_count; i++) {
		struct fm_judgement *judgement = &validation->judgements[i];
		size_t used = 0;
		bool complete = true;

		if (judgement->class != FM_CLASS_overlapping || judgement->quantity < 0)
			continue;
		used += (size_t)snprintf(judgement->formula, sizeof(judgement->formula), "%s%s",
		                         judgement->factor == 1 ? "" : "(", validation->matrix->events[i].name);
		for (unsigned k = 0; k < judgement->term_count; k++) {
			const struct fm_term *term = &judgement->terms[k];
			int event;

			if (!term->is_atom && (int)term->index == judgement->quantity)
				continue;
			event = term->is_atom ? -1 : honest_event(validation, (int)term->index, judgement->socket);
			if (event < 0) {
				complete = false;
				break;
			}
			if (used < sizeof(judgement->formula))
				used += (size_t)snprintf(judgement->formula + used, sizeof(judgement->formula) - used,
				                         " - %.4g * %s", term->coefficient,
				                         validation->matrix->events[event].name);
		}
		if (complete && judgement->factor != 1 && used < sizeof(judgement->formula))
			snprintf(judgement->formula + used, sizeof(judgement->formula) - used, ") / %.4g",
			         judgement->factor);
		if (!complete)
			*judgement->formula = '\0';
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
	uint64_t began = fm_clock_now();

	if (validation)
		validation->judgements =
		    calloc(matrix->event_count ? matrix->event_count : 1, sizeof(*validation->judgements));
	if (!validation || !validation->judgements) {
		free(validation);
		return fm_error_set(error, ENOMEM, "no memory for the judgements");
	}
	validation->matrix = matrix;
	fm_matrix_settle(matrix);
	for (unsigned i = 0; i < matrix->event_count; i++) {
		if (fm_watcher_stops(&options->watcher)) {
			fm_validation_free(validation);
			return fm_error_set(error, EINTR, "interrupted");
		}
		report(options, "judging events", 0.8 * i / matrix->event_count, began);
		fm_judge(matrix, i, &validation->judgements[i]);
	}
	fm_stalls_test(matrix, validation->judgements, &validation->stalls);
	report(options, "looking for indicators", 0.8, began);
	validation->resource_count = fm_resources_find(matrix, validation->judgements, validation->resources);
	correct_overlaps(validation);
	*ret_validation = validation;
	return 0;
}

void fm_validation_free(struct fm_validation *validation)
{
	if (validation)
		free(validation->judgements);
	free(validation);
}
