/* Selection of samples. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/parts.h"

static bool matches(const char *pattern, const char *text, bool part)
{
	if (strpbrk(pattern, "*?["))
		return !fnmatch(pattern, text, 0);
	return part ? strcasestr(text, pattern) != NULL : !strcmp(pattern, text);
}

/* One flag for each row of a table: it passes. NULL: no memory. */

static bool *choose_memories(const struct fm_recording *recording, const char *pattern, bool *ret_any)
{
	bool *chosen = calloc(recording->memories_count + 1, sizeof(*chosen));

	for (size_t i = 0; chosen && i < recording->memories_count; i++) {
		const struct fm_recorded_memory *memory = &recording->memories[i];
		char name[FM_FUNCTION + 16];

		fm_samples_object_name(memory, name, sizeof(name));
		chosen[i] =
		    matches(pattern, name, true) || (*memory->group_name && matches(pattern, memory->name, true));
		*ret_any |= chosen[i];
	}
	return chosen;
}

static bool *choose_threads(const struct fm_recording *recording, const char *pattern, bool *ret_any)
{
	bool *chosen = calloc(recording->sampled_threads_count + 1, sizeof(*chosen));

	for (size_t i = 0; chosen && i < recording->sampled_threads_count; i++) {
		char number[16];

		snprintf(number, sizeof(number), "%u", recording->sampled_threads[i].thread);
		chosen[i] = !strcmp(number, pattern) || matches(pattern, recording->sampled_threads[i].name, false);
		*ret_any |= chosen[i];
	}
	return chosen;
}

/* Instances of a marked region with that name, and those within them. */
static bool *choose_instances(const struct fm_recording *recording, const char *name, bool *ret_any)
{
	bool *chosen = calloc(recording->instances_count + 1, sizeof(*chosen));

	for (size_t i = 0; chosen && i < recording->instances_count; i++) {
		chosen[i] = matches(name, recording->instances[i].name, false);
		*ret_any |= chosen[i];
	}
	return chosen;
}

static bool is_function(const struct fm_recorded_code *code, const char *name)
{
	return matches(name, code->function, false) || (*code->inlined && matches(name, code->inlined, false));
}

/* Frames that are, or were called from, that function. */
static bool *choose_frames(const struct fm_recording *recording, const char *name, bool *ret_any)
{
	bool *chosen = calloc(recording->frames_count + 1, sizeof(*chosen));
	bool *codes = calloc(recording->codes_count + 1, sizeof(*codes));

	for (size_t i = 0; codes && i < recording->codes_count; i++) {
		codes[i] = is_function(&recording->codes[i], name);
		*ret_any |= codes[i];
	}
	for (size_t i = 0; codes && chosen && i < recording->frames_count; i++) {
		int64_t frame = (int64_t)i;

		for (unsigned depth = 0; frame >= 0 && depth < FM_STACK_MAX && !chosen[i]; depth++) {
			chosen[i] = codes[recording->frames[frame].code];
			frame = recording->frames[frame].caller;
		}
	}
	if (!codes) {
		free(chosen);
		chosen = NULL;
	}
	free(codes);
	return chosen;
}

struct choice {
	const struct fm_samples_filter *filter;
	bool *memories, *threads, *instances, *frames; /* NULL: all pass */
};

/* Is the sample inside an instance that was chosen, though another one may be inside that? */
struct span {
	double began, ended;
	uint32_t process, thread;
};

static int by_thread_and_time(const void *first, const void *second)
{
	const struct span *a = first, *b = second;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->began > b->began) - (a->began < b->began);
}

/* The chosen instances in order; `ended` is the latest end of all of the thread so far, so that one search is enough.
 */
static struct span *sort_spans(const struct fm_recording *recording, const bool *chosen, size_t *ret_count)
{
	struct span *spans = malloc((recording->instances_count + 1) * sizeof(*spans));
	size_t count = 0;

	for (size_t i = 0; spans && i < recording->instances_count; i++) {
		const struct fm_recorded_instance *instance = &recording->instances[i];

		if (chosen[i])
			spans[count++] =
			    (struct span){instance->began, instance->ended, instance->process, instance->thread};
	}
	if (!spans)
		return NULL;
	qsort(spans, count, sizeof(*spans), by_thread_and_time);
	for (size_t i = 1; i < count; i++)
		if (spans[i].thread == spans[i - 1].thread)
			spans[i].ended = fmax(spans[i].ended, spans[i - 1].ended);
	*ret_count = count;
	return spans;
}

static bool in_spans(const struct span *spans, size_t count, const struct fm_recorded_sample *sample)
{
	size_t low = 0, high = count; /* the first that begins later */

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (spans[middle].thread < sample->thread ||
		    (spans[middle].thread == sample->thread && spans[middle].began <= sample->at))
			low = middle + 1;
		else
			high = middle;
	}
	return low && spans[low - 1].thread == sample->thread && sample->at <= spans[low - 1].ended;
}

static void say(struct fm_samples *samples, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct fm_samples *samples, const char *format, ...)
{
	size_t length = strlen(samples->filter);
	va_list list;

	if (length)
		length += (size_t)snprintf(samples->filter + length, sizeof(samples->filter) - length, ", ");
	if (length >= sizeof(samples->filter))
		return;
	va_start(list, format);
	vsnprintf(samples->filter + length, sizeof(samples->filter) - length, format, list);
	va_end(list);
}

static int allocate(struct fm_chosen *chosen, size_t count)
{
	chosen->index = malloc((count + 1) * sizeof(*chosen->index));
	chosen->bins = malloc((count + 1) * sizeof(*chosen->bins));
	chosen->object = calloc(count + 1, sizeof(*chosen->object));
	chosen->line = calloc(count + 1, sizeof(*chosen->line));
	return chosen->index && chosen->bins && chosen->object && chosen->line ? 0 : -ENOMEM;
}

/* Samples without weights, of which there should be none, count the same. */
static bool has_weights(const struct fm_recording *recording)
{
	for (size_t i = 0; i < recording->samples_count; i++)
		if (recording->samples[i].weight > 0)
			return true;
	return false;
}

static int no_match(struct fm_error *error, const char *what, const char *pattern, const char *hint)
{
	return fm_error_set(error, EINVAL, "no %s \"%s\" in this recording: %s", what, pattern, hint);
}

static int prepare(const struct fm_recording *recording, struct choice *choice, struct fm_samples *samples,
                   struct fm_error *error)
{
	const struct fm_samples_filter *filter = choice->filter;
	bool any = false;

	if (filter->object) {
		choice->memories = choose_memories(recording, filter->object, &any);
		if (choice->memories && !any)
			return no_match(error, "object", filter->object, "the report without --object lists them");
		say(samples, "objects \"%s\"", filter->object);
	}
	any = false;
	if (filter->thread) {
		choice->threads = choose_threads(recording, filter->thread, &any);
		if (choice->threads && !any)
			return no_match(error, "thread", filter->thread,
			                "the report without --thread lists their numbers and names");
		say(samples, "thread %s", filter->thread);
	}
	any = false;
	if (filter->region) {
		choice->instances = choose_instances(recording, filter->region, &any);
		if (choice->instances && !any) {
			free(choice->instances);
			choice->instances = NULL;
			choice->frames = choose_frames(recording, filter->region, &any);
			if (choice->frames && !any)
				return no_match(error, "marked region or function", filter->region,
				                "the report without --region lists them");
			say(samples, "function %s and its callees", filter->region);
		} else {
			say(samples, "region %s", filter->region);
		}
	}
	if (filter->timed && isinf(filter->end))
		say(samples, "from %g s on", filter->begin);
	else if (filter->timed)
		say(samples, "from %g s to %g s", filter->begin, filter->end);
	if ((filter->object && !choice->memories) || (filter->thread && !choice->threads) ||
	    (filter->region && !choice->instances && !choice->frames))
		return fm_error_set(error, ENOMEM, "out of memory");
	return 0;
}

int fm_chosen_take(const struct fm_recording *recording, const struct fm_served_model *model,
                   const struct fm_samples_filter *filter, struct fm_samples *samples, struct fm_chosen *ret_chosen,
                   struct fm_error *error)
{
	static const struct fm_samples_filter everything;
	struct choice choice = {.filter = filter ? filter : &everything};
	struct fm_chosen *chosen = ret_chosen;
	struct span *spans = NULL;
	size_t span_count = 0;
	double all = 0;
	int r;

	*chosen = (struct fm_chosen){.recording = recording, .model = model, .weighted = has_weights(recording)};
	r = prepare(recording, &choice, samples, error);
	if (r)
		goto out;
	if (choice.instances)
		spans = sort_spans(recording, choice.instances, &span_count);
	if (allocate(chosen, recording->samples_count) || (choice.instances && !spans)) {
		r = fm_error_set(error, ENOMEM, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < recording->samples_count; i++) {
		const struct fm_recorded_sample *sample = &recording->samples[i];
		double weight = fm_chosen_weight_of(chosen, sample);
		size_t at = chosen->count;

		all += sample->flags & FM_SAMPLE_LEVEL_ONLY ? 0 : weight;
		if ((choice.memories && (sample->memory < 0 || !choice.memories[sample->memory])) ||
		    (choice.threads && !choice.threads[sample->thread]) ||
		    (choice.instances && !in_spans(spans, span_count, sample)) ||
		    (choice.frames &&
		     (sample->frame < 0 ? !is_function(&recording->codes[sample->code], choice.filter->region)
		                        : !choice.frames[sample->frame])) ||
		    (choice.filter->timed && !(sample->at >= choice.filter->begin && sample->at <= choice.filter->end)))
			continue;
		chosen->index[at] = (uint32_t)i;
		chosen->bins[at] = fm_served_bin(model, sample);
		fm_served_add(model, &chosen->whole, sample, chosen->bins[at], weight);
		chosen->count++;
	}
	samples->filtered = all > 0 ? chosen->whole.weight / all : 1;
	/* samples for levels alone belong to nothing */
	if (!chosen->whole.count && recording->samples_count)
		r = *samples->filter
		        ? fm_error_set(error, EINVAL, "no sample is left by the filter: %s", samples->filter)
		        : fm_error_set(error, EBADMSG, "no sample of the recording has an address");
out:
	free(spans);
	free(choice.memories);
	free(choice.threads);
	free(choice.instances);
	free(choice.frames);
	return r;
}

void fm_chosen_free(struct fm_chosen *chosen)
{
	free(chosen->index);
	free(chosen->bins);
	free(chosen->object);
	free(chosen->line);
}
