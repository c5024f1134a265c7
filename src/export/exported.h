/* What exporters write, prepared once: samples in the order of time, names with numbers, times in nanoseconds. */
#ifndef FATHOM_EXPORT_EXPORTED_H
#define FATHOM_EXPORT_EXPORTED_H

#include "export/series.h"
#include "recording/recording.h"
#include "samples/names.h"
#include "samples/samples.h"

/* What a recording has. An exporter says which of them it can do with. */
enum {
	FM_EXPORT_SAMPLES = 1, /* sampled references */
	FM_EXPORT_SERIES = 2,  /* counts over time: `stat -I` */
	FM_EXPORT_LINES = 4,   /* source lines with their counts: `stat` in the engine */
	FM_EXPORT_COUNTS = 8,  /* counted events */
};

struct fm_export_options {
	bool folded;       /* one instance of each region, made of all of them */
	const char *table; /* of formats that write one; NULL: what the recording is about */
};

struct fm_exported {
	const struct fm_recording *recording;
	const struct fm_export_options *options;
	unsigned has;
	struct fm_samples *samples; /* NULL: none were taken */
	/* Samples that stand for references, by time: indexes. Others, which tell of levels alone, are left out. */
	uint32_t *order;
	size_t count;
	/* texts; numbers from 0 */
	struct fm_names functions, places, files, modules, objects, regions;
	uint32_t *function_of, *place_of, *file_of, *module_of; /* of each code */
	uint32_t *object_of;   /* of each memory; the last entry is for samples of no known memory */
	uint32_t *region_of;   /* of each instance */
	int64_t *first_thread; /* of each process: index; -1 */
	struct fm_series series;
	uint64_t duration; /* ns */
	bool references;   /* weights are references (the engine has no time), else seconds of processor time */
	char cost_unit[8]; /* "cycles" (simulated), or "ticks" of the time stamp */
};

/* The recording is settled and outlives the result, as the options do. -EBADMSG for a damaged one. */
int fm_exported_prepare(const struct fm_recording *recording, const struct fm_export_options *options,
                        struct fm_exported *ret_exported, struct fm_error *error);
void fm_exported_free(struct fm_exported *exported);

/* Seconds as nanoseconds; what is no time is 0, what is beyond 292 years the largest number. */
uint64_t fm_exported_time(double seconds);

static inline const struct fm_recorded_sample *fm_exported_sample(const struct fm_exported *exported, size_t i)
{
	return &exported->recording->samples[exported->order[i]];
}

static inline uint32_t fm_exported_object(const struct fm_exported *exported, const struct fm_recorded_sample *sample)
{
	return exported->object_of[sample->memory < 0 ? exported->recording->memories_count : (size_t)sample->memory];
}

/* The most likely level of a sample of the recording, from 1; 0: not known. Its name, and how many there are. */
unsigned fm_exported_level(const struct fm_exported *exported, size_t sample);
const char *fm_exported_level_name(const struct fm_exported *exported, unsigned level);
unsigned fm_exported_levels(const struct fm_exported *exported);

/* Ticks or cycles above the cost of doing nothing; false: it was not timed. */
bool fm_exported_cost(const struct fm_recorded_sample *sample, uint64_t *ret_cost);

/* "load", "store", "load and store" */
const char *fm_exported_kind(const struct fm_recorded_sample *sample);

/* What the sample stands for: nanoseconds of processor time, or references. */
uint64_t fm_exported_weight(const struct fm_exported *exported, const struct fm_recorded_sample *sample);

#endif
