#include "recording/recording.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "recording/schema.h"

size_t fm_recording_references(const struct fm_recording *recording)
{
	size_t count = 0;

	for (size_t i = 0; i < recording->samples_count; i++)
		count += !(recording->samples[i].flags & FM_SAMPLE_LEVEL_ONLY);
	return count;
}

struct fm_recording *fm_recording_create(void)
{
	struct fm_recording *recording = calloc(1, sizeof(*recording));

	if (recording)
		recording->native.output_bytes = recording->run.engine_output_bytes = -1;
	return recording;
}

void fm_recording_free(struct fm_recording *recording)
{
	if (!recording)
		return;
#define SINGLE(name, type, words)
#define TABLE(name, type, words) free(recording->name);
#define TABLE_END
#define COLUMN(kind, member)
#include "recording/tables.def"
#undef SINGLE
#undef TABLE
#undef TABLE_END
#undef COLUMN
	for (unsigned i = 0; i < recording->document_count; i++)
		free(recording->documents[i].text);
	fm_machine_free(recording->profile);
	free(recording);
}

void *fm_recording_grow(void **items, size_t *count, size_t size)
{
	/* by doubling: room is a power of two */
	if (!(*count & (*count - 1))) {
		size_t room = *count ? 2 * *count : 1;
		void *larger = realloc(*items, room * size);

		if (!larger)
			return NULL;
		*items = larger;
	}
	return memset((char *)*items + (*count)++ * size, 0, size);
}

static struct fm_document *find(struct fm_recording *recording, const char *name)
{
	for (unsigned i = 0; i < recording->document_count; i++)
		if (!strcmp(recording->documents[i].name, name))
			return &recording->documents[i];
	return NULL;
}

int fm_recording_set(struct fm_recording *recording, const char *name, const char *text)
{
	const unsigned room = sizeof(recording->documents) / sizeof(recording->documents[0]);
	struct fm_document *document = find(recording, name);
	char *copy = strdup(text);

	if (!copy || (!document && recording->document_count == room)) {
		free(copy);
		return -ENOMEM;
	}
	if (!document) {
		document = &recording->documents[recording->document_count++];
		snprintf(document->name, sizeof(document->name), "%s", name);
	}
	free(document->text);
	document->text = copy;
	return 0;
}

const char *fm_recording_get(const struct fm_recording *recording, const char *name)
{
	const struct fm_document *document = find((struct fm_recording *)recording, name);

	return document ? document->text : NULL;
}

static bool is_row(int64_t index, size_t count)
{
	return index >= -1 && index < (int64_t)count;
}

static bool is_time(double seconds)
{
	return isfinite(seconds) && seconds >= 0;
}

/* Processes, threads, code and call stacks of samples. A caller comes before the frames it called, so that there are no
   circles. */
static bool samplers_refer_rightly(const struct fm_recording *recording)
{
	bool right = recording->sampling.levels <= FM_SIMULATED_CACHES_MAX + 1;

	for (size_t i = 0; i < recording->sampled_processes_count; i++)
		right &=
		    is_time(recording->sampled_processes[i].began) && is_time(recording->sampled_processes[i].ended);
	for (size_t i = 0; i < recording->sampled_threads_count; i++)
		right &= recording->sampled_threads[i].process < recording->sampled_processes_count &&
		         is_time(recording->sampled_threads[i].began) && is_time(recording->sampled_threads[i].ended);
	for (size_t i = 0; i < recording->curve_points_count; i++) {
		const struct fm_recorded_curve_point *point = &recording->curve_points[i];

		right &= point->curve < recording->curves_count && point->low >= 0 && point->low <= 1 &&
		         point->value >= 0 && point->value <= 1 && point->high >= 0 && point->high <= 1;
	}
	for (size_t i = 0; i < recording->curves_count; i++)
		right &= recording->curves[i].kind < FM_CURVE_KINDS && isfinite(recording->curves[i].own_references);
	for (size_t i = 0; i < recording->caches_count; i++)
		right &= isfinite(recording->caches[i].bytes) && recording->caches[i].bytes > 0;
	for (size_t i = 0; i < recording->codes_count; i++)
		right &= recording->codes[i].process < recording->sampled_processes_count;
	for (size_t i = 0; i < recording->frames_count; i++)
		right &= recording->frames[i].code < recording->codes_count && is_row(recording->frames[i].caller, i);
	for (size_t i = 0; i < recording->instances_count; i++)
		right &= recording->instances[i].process < recording->sampled_processes_count &&
		         recording->instances[i].thread < recording->sampled_threads_count &&
		         is_time(recording->instances[i].began) && is_time(recording->instances[i].ended);
	for (size_t i = 0; i < recording->calibration_count; i++)
		right &= recording->calibration[i].level >= 1 &&
		         recording->calibration[i].level <= FM_SIMULATED_CACHES_MAX + 1 &&
		         recording->calibration[i].kind <= 1;
	for (size_t i = 0; i < recording->missed_count; i++)
		right &= is_time(recording->missed[i].seconds);
	return right;
}

static bool samples_refer_rightly(const struct fm_recording *recording)
{
	bool right = true;

	for (size_t i = 0; i < recording->memories_count; i++) {
		const struct fm_recorded_memory *memory = &recording->memories[i];

		right &= memory->kind < FM_MEMORY_KINDS &&
		         is_row(memory->process, recording->sampled_processes_count) &&
		         is_row(memory->thread, recording->sampled_threads_count) &&
		         is_row(memory->frame, recording->frames_count) && is_time(memory->began) &&
		         is_time(memory->ended) && is_time(memory->allocations) && is_time(memory->weight);
	}
	for (size_t i = 0; i < recording->samples_count; i++) {
		const struct fm_recorded_sample *sample = &recording->samples[i];

		right &= sample->process < recording->sampled_processes_count &&
		         sample->thread < recording->sampled_threads_count && sample->code < recording->codes_count &&
		         is_row(sample->frame, recording->frames_count) &&
		         is_row(sample->memory, recording->memories_count) &&
		         is_row(sample->instance, recording->instances_count) &&
		         sample->level <= FM_SIMULATED_CACHES_MAX + 1 && is_time(sample->at) && is_time(sample->weight);
	}
	return right;
}

static bool refers_rightly(const struct fm_recording *recording)
{
	bool right = recording->asked.question < FM_QUESTION_COUNT;

	for (size_t i = 0; i < recording->threads_count; i++)
		right &= recording->threads[i].process < recording->processes_count;
	for (size_t i = 0; i < recording->regions_count; i++)
		right &= recording->regions[i].process < recording->processes_count;
	for (size_t i = 0; i < recording->users_count; i++)
		right &= recording->users[i].shared < recording->shared_count;
	for (size_t i = 0; i < recording->positions_count; i++)
		right &= recording->positions[i].process < recording->processes_count &&
		         recording->positions[i].running < recording->runnings_count &&
		         recording->positions[i].caller <= recording->runnings_count &&
		         is_time(recording->positions[i].at) && is_time(recording->positions[i].seconds);
	for (size_t i = 0; i < recording->timed_count; i++)
		right &= recording->timed[i].process < recording->processes_count &&
		         recording->timed[i].running < recording->runnings_count &&
		         is_time(recording->timed[i].seconds);
	for (size_t i = 0; i < recording->event_counts_count; i++)
		right &= recording->event_counts[i].owner < recording->parts_count &&
		         recording->event_counts[i].event < recording->events_count;
	for (size_t i = 0; i < recording->marked_counts_count; i++)
		right &= recording->marked_counts[i].owner < recording->marked_count &&
		         recording->marked_counts[i].event < recording->events_count;
	for (size_t i = 0; i < recording->intervals_count; i++)
		right &= recording->intervals[i].part < recording->parts_count &&
		         recording->intervals[i].event < recording->events_count;
	right &= samplers_refer_rightly(recording) && samples_refer_rightly(recording);
	/* [owner][event] */
	return right && recording->event_counts_count == recording->parts_count * recording->events_count &&
	       recording->marked_counts_count == recording->marked_count * recording->events_count &&
	       (!*recording->run.engine || (recording->processes_count && recording->has_machine));
}

static int read_profile(struct fm_recording *recording, const char *text, struct fm_error *error)
{
	json_t *root = json_loads(text, 0, NULL);
	int r;

	fm_machine_free(recording->profile);
	recording->profile = NULL;
	r = root ? fm_machine_from_json(root, &recording->profile, error)
	         : fm_error_set(error, EBADMSG, "the recorded machine profile is no JSON");
	json_decref(root);
	return r;
}

int fm_recording_settle(struct fm_recording *recording, struct fm_error *error)
{
	const char *machine = fm_recording_get(recording, "machine"), *profile = fm_recording_get(recording, "profile");
	int r = 0;

	fm_schema_clean(recording);
	if (machine) {
		r = fm_description_parse(machine, recording->asked.machine, &recording->machine, error);
		recording->has_machine = !r;
	}
	if (!r && profile)
		r = read_profile(recording, profile, error);
	if (!r && !refers_rightly(recording))
		r = fm_error_set(error, EBADMSG,
		                 "the recording contradicts itself: it is damaged, or no work of Fathom's");
	return r;
}

const char *fm_sharing_kind(const struct fm_recorded_shared *shared)
{
	uint64_t noted = shared->true_transfers + shared->false_transfers;

	if (noted < 2)
		return "unknown";
	return 2 * shared->false_transfers > noted ? "false" : "true";
}
