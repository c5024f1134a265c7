#include "samples/samples.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/parts.h"
#include "samples/unmixing.h"

static int by_weight(const void *first, const void *second, void *context)
{
	const struct fm_served_sum *sums = context;
	uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)second;

	if (sums[a].weight != sums[b].weight)
		return sums[a].weight > sums[b].weight ? -1 : 1;
	if (sums[a].count != sums[b].count)
		return sums[a].count > sums[b].count ? -1 : 1;
	return (a > b) - (a < b);
}

uint32_t *fm_samples_order(const struct fm_served_sum *sums, size_t count)
{
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	for (size_t i = 0; order && i < count; i++)
		order[i] = (uint32_t)i;
	if (order && count)
		qsort_r(order, count, sizeof(*order), by_weight, (void *)sums);
	return order;
}

/* The recording is not trusted. */

static bool within(int64_t index, size_t count)
{
	return index >= -1 && (index < 0 || (size_t)index < count);
}

/* No time or number of anything is larger: sums and squares stay finite. */
static bool sane(double value)
{
	return fabs(value) < 1e18;
}

static bool refers_rightly(const struct fm_recording *recording)
{
	const struct fm_recorded_sampling *sampling = &recording->sampling;
	bool right = recording->samples_count < UINT32_MAX && sane(sampling->seconds) && sane(sampling->cpu_seconds) &&
	             sane(sampling->ticks_per_second) && sane(sampling->overhead_asked) && sane(sampling->rate_asked);

	for (size_t i = 0; i < recording->sampled_threads_count; i++)
		right &= recording->sampled_threads[i].process < recording->sampled_processes_count;
	for (size_t i = 0; i < recording->frames_count; i++)
		right &= recording->frames[i].code < recording->codes_count &&
		         within(recording->frames[i].caller, recording->frames_count);
	for (size_t i = 0; i < recording->memories_count; i++)
		right &= recording->memories[i].kind < FM_MEMORY_KINDS && sane(recording->memories[i].began) &&
		         sane(recording->memories[i].ended) && sane(recording->memories[i].allocations) &&
		         sane(recording->memories[i].weight);
	for (size_t i = 0; i < recording->instances_count; i++)
		right &= recording->instances[i].thread < recording->sampled_threads_count &&
		         sane(recording->instances[i].began) && sane(recording->instances[i].ended);
	for (size_t i = 0; i < recording->samples_count; i++) {
		const struct fm_recorded_sample *sample = &recording->samples[i];

		right &= sample->process < recording->sampled_processes_count &&
		         sample->thread < recording->sampled_threads_count && sample->code < recording->codes_count &&
		         within(sample->frame, recording->frames_count) &&
		         within(sample->memory, recording->memories_count) &&
		         within(sample->instance, recording->instances_count) && sane(sample->at) &&
		         sane(sample->weight);
	}
	return right;
}

/* Time without samples */

static int by_seconds(const void *first, const void *second)
{
	const struct fm_sampled_missed *a = first, *b = second;

	if (a->seconds != b->seconds)
		return a->seconds > b->seconds ? -1 : 1;
	return strcmp(a->reason, b->reason);
}

int fm_samples_missed(struct fm_samples *samples)
{
	const struct fm_recording *recording = samples->recording;
	struct fm_names names = {0};
	double *most = calloc(recording->missed_count + 1, sizeof(*most));
	double all = recording->sampling.cpu_seconds;
	int r = 0;

	samples->missed = calloc(recording->missed_count + 1, sizeof(*samples->missed));
	if (!samples->missed || !most)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < recording->missed_count; i++) {
		const struct fm_recorded_missed *row = &recording->missed[i];
		struct fm_sampled_missed *missed;
		uint32_t number;

		r = fm_names_find(&names, row->reason, &number);
		if (r)
			break;
		missed = &samples->missed[number];
		snprintf(missed->reason, sizeof(missed->reason), "%s", row->reason);
		missed->count += row->count;
		missed->seconds += row->seconds > 0 && sane(row->seconds) ? row->seconds : 0;
		if (row->seconds >= most[number]) {
			most[number] = row->seconds;
			snprintf(missed->function, sizeof(missed->function), "%s", row->function);
			snprintf(missed->module, sizeof(missed->module), "%s", row->module);
		}
	}
	samples->missed_count = r ? 0 : names.count;
	if (!r && names.count)
		qsort(samples->missed, names.count, sizeof(*samples->missed), by_seconds);
	for (size_t i = 0; !r && i < samples->missed_count; i++) {
		samples->missed[i].share = all > 0 ? fmin(samples->missed[i].seconds / all, 1) : 0;
		samples->missed_share += samples->missed[i].share;
	}
	samples->missed_share = fmin(samples->missed_share, 1);
	fm_names_free(&names);
	free(most);
	return r;
}

/* Warnings */

static int add_warning(struct fm_samples *samples, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int add_warning(struct fm_samples *samples, const char *format, ...)
{
	char(*place)[400] = fm_recording_grow((void **)&samples->warnings, &samples->warning_count, 400);
	va_list list;

	if (!place)
		return -ENOMEM;
	va_start(list, format);
	vsnprintf(*place, sizeof(*place), format, list);
	va_end(list);
	return 0;
}

static int warn_of_losses(struct fm_samples *samples)
{
	const struct fm_recorded_sampling *sampling = &samples->recording->sampling;
	const struct {
		uint64_t count;
		const char *what;
	} losses[] = {
	    {sampling->lost_entries, "entries are missing: the buffer was full"},
	    {sampling->lost_stacks, "call stacks are missing: the buffer was full, and their samples have no callers"},
	    {sampling->lost_allocations, "allocations are missing: the buffer was full, and their memory counts as "
	                                 "untracked"},
	    {sampling->lost_threads, "threads could not be sampled"},
	    {sampling->lost_processes, "processes could not be recorded"},
	};
	int r = 0;

	if (*sampling->loss)
		r = add_warning(samples, "Data were lost: %s", sampling->loss);
	for (size_t i = 0; !r && i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].count)
			r = add_warning(samples, "%llu %s", (unsigned long long)losses[i].count, losses[i].what);
	if (!r && !strcmp(sampling->state, "recovered"))
		r = add_warning(samples, "The recording is incomplete: it contains the samples up to its interruption");
	return r;
}

static int warn_of_processes(struct fm_samples *samples)
{
	const struct fm_recording *recording = samples->recording;
	unsigned said = 0, more = 0;
	int r = 0;

	for (size_t i = 0; !r && i < recording->sampled_processes_count; i++) {
		const struct fm_recorded_sampled_process *process = &recording->sampled_processes[i];

		if (!process->own_allocator && !*process->remark)
			continue;
		if (said++ >= 5)
			more++;
		else if (*process->remark)
			r = add_warning(samples, "%s (process %u): %s", process->program, process->process,
			                process->remark);
		else
			r = add_warning(samples,
			                "%s (process %u) has a private allocator: its heap is not divided into objects",
			                process->program, process->process);
	}
	return r || !more ? r : add_warning(samples, "%u more processes were covered only in part", more);
}

int fm_samples_warn(struct fm_samples *samples)
{
	const struct fm_recorded_sampling *sampling = &samples->recording->sampling;
	const struct fm_served_model *model = samples->model;
	int r = warn_of_losses(samples);

	for (size_t i = 0; !r && i < samples->missed_count; i++)
		if (samples->missed[i].share >= FM_MISSED_REPORTED)
			r = add_warning(samples, "%.0f %% of the processor time was not sampled: %s",
			                100 * samples->missed[i].share, samples->missed[i].reason);
	if (!r && samples->whole.samples < 100)
		r = add_warning(samples, "%llu samples are few: record longer, or with a higher --overhead",
		                (unsigned long long)samples->whole.samples);
	if (!r && sampling->overhead.available && sampling->overhead_asked > 0 &&
	    sampling->overhead.low > sampling->overhead_asked)
		r = add_warning(samples, "The overhead was %.1f %%, above the limit of %.1f %%",
		                100 * sampling->overhead.value, 100 * sampling->overhead_asked);
	if (!r && *model->why)
		r = add_warning(samples, "No levels: %s", model->why);
	for (unsigned i = 0; !r && model->costs && i + 1 < model->classes; i++)
		if (strstr(model->class_names[i], " or "))
			r = add_warning(samples, "%s cannot be distinguished by their costs on this machine",
			                model->class_names[i]);
	return r ? r : warn_of_processes(samples);
}

int fm_samples_analyse(const struct fm_recording *recording, const struct fm_samples_filter *filter,
                       struct fm_samples **ret_samples, struct fm_error *error)
{
	struct fm_samples *samples = NULL;
	struct fm_chosen chosen = {0};
	int r = 0;

	if (!*recording->sampling.sampler)
		return fm_error_set(error, EINVAL, "this recording has no sampled references");
	if (!refers_rightly(recording))
		return fm_error_set(error, EBADMSG, "the recording is inconsistent: it is damaged, or not from Fathom");
	samples = calloc(1, sizeof(*samples));
	if (!samples)
		return fm_error_set(error, ENOMEM, "out of memory");
	samples->recording = recording;
	samples->levels = calloc(recording->samples_count + 1, 1);
	r = samples->levels ? fm_served_create(recording, &samples->model) : -ENOMEM;
	if (r)
		goto out;
	r = fm_chosen_take(recording, samples->model, filter, samples, &chosen, error);
	if (r) {
		fm_chosen_free(&chosen);
		fm_samples_free(samples);
		return r;
	}
	fm_served_compute(samples->model, &chosen.whole, &chosen.whole, true, &samples->whole);
	r = fm_samples_objects(samples, &chosen);
	if (!r)
		r = fm_samples_sharing(samples, &chosen);
	if (!r)
		r = fm_samples_code(samples, &chosen);
	if (!r)
		r = fm_samples_places(samples, &chosen);
	if (!r)
		r = fm_samples_patterns(samples, &chosen);
	if (!r)
		r = fm_samples_regions(samples, &chosen);
	if (!r)
		r = fm_samples_threads(samples, &chosen);
	if (!r)
		r = fm_samples_missed(samples);
	if (!r)
		r = fm_samples_warn(samples);
out:
	fm_chosen_free(&chosen);
	if (r) {
		fm_samples_free(samples);
		return fm_error_set(error, -r, "cannot analyse the samples: %s", strerror(-r));
	}
	*ret_samples = samples;
	return 0;
}

void fm_samples_free(struct fm_samples *samples)
{
	if (!samples)
		return;
	fm_served_free(samples->model);
	free(samples->objects);
	free(samples->routines);
	free(samples->lines);
	free(samples->regions);
	free(samples->threads);
	free(samples->sharing);
	free(samples->missed);
	free(samples->warnings);
	free(samples->levels);
	free(samples->object_of);
	free(samples->line_of);
	free(samples->routine_of);
	free(samples->pool_of);
	free(samples->pool_met);
	free(samples->left);
	free(samples);
}
