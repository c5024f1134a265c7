/* Data for all exporters: samples in the order of time, numbered names, times in nanoseconds. */
#ifndef FATHOM_EXPORT_EXPORTED_H
#define FATHOM_EXPORT_EXPORTED_H

#include "export/series.h"
#include "recording/recording.h"
#include "samples/names.h"
#include "samples/samples.h"

/* Contents of a recording. An exporter lists the contents that it can write. */
enum {
	FM_EXPORT_SAMPLES = 1, /* sampled references */
	FM_EXPORT_SERIES = 2,  /* counts over time: `stat -I` */
	FM_EXPORT_LINES = 4,   /* source lines with their counts: `stat` in the engine */
	FM_EXPORT_COUNTS = 8,  /* counted events */
};

struct fm_export_options {
	bool folded;       /* one folded instance of each region */
	const char *table; /* table for formats with a single table; NULL: the main table of the recording */
};

struct fm_exported {
	const struct fm_recording *recording;
	const struct fm_export_options *options;
	unsigned has;
	struct fm_samples *samples; /* NULL: no samples */
	/* Indexes of all samples, by time. Those for levels only have a weight of 0. */
	uint32_t *order;
	size_t count;
	/* texts; numbers from 0 */
	struct fm_names functions, places, files, modules, objects, regions;
	uint32_t *function_of, *place_of, *file_of, *module_of; /* of each code */
	uint32_t *object_of;   /* of each memory; last entry: samples of unknown memory */
	uint32_t *region_of;   /* of each instance */
	int64_t *first_thread; /* index of each process's first thread; -1: none */
	struct fm_series series;
	uint64_t duration; /* ns */
	bool references;   /* weights are references (the engine has no time), otherwise seconds of processor time */
	char cost_unit[8]; /* "cycles" (simulated), or "ticks" of the time stamp */
};

/* Prepares a settled recording. Recording and options must outlive the result. -EBADMSG: the recording is damaged. */
int fm_exported_prepare(const struct fm_recording *recording, const struct fm_export_options *options,
                        struct fm_exported *ret_exported, struct fm_error *error);
void fm_exported_free(struct fm_exported *exported);

/* Converts seconds to nanoseconds. NaN: 0; beyond 292 years: the largest number. */
uint64_t fm_exported_time(double seconds);

static inline const struct fm_recorded_sample *fm_exported_sample(const struct fm_exported *exported, size_t i)
{
	return &exported->recording->samples[exported->order[i]];
}

static inline bool fm_exported_is_level_only(const struct fm_exported *exported, size_t i)
{
	return fm_exported_sample(exported, i)->flags & FM_SAMPLE_LEVEL_ONLY;
}

static inline uint32_t fm_exported_object(const struct fm_exported *exported, const struct fm_recorded_sample *sample)
{
	return exported->object_of[sample->memory < 0 ? exported->recording->memories_count : (size_t)sample->memory];
}

/* The probability of each level for a sample of the recording, as un-mixed. Levels that cannot be distinguished are one
   ("L1 or L2"); the last one is "other". False: not known. */
bool fm_exported_shares(const struct fm_exported *exported, size_t index, double shares[FM_SERVED_CLASSES]);

/* The most likely one of them, from 1; 0: unknown. `ret_probability` may be NULL. Further: the name of a level, and the
   number of levels. */
unsigned fm_exported_level(const struct fm_exported *exported, size_t index, double *ret_probability);
const char *fm_exported_level_name(const struct fm_exported *exported, unsigned level);
unsigned fm_exported_levels(const struct fm_exported *exported);

/* Ticks or cycles above an empty measurement; false: the sample was not timed. */
bool fm_exported_cost(const struct fm_recorded_sample *sample, uint64_t *ret_cost);

/* "load", "store", "load and store" */
const char *fm_exported_kind(const struct fm_recorded_sample *sample);

/* Weight of the sample: nanoseconds of processor time, or references. Weights add up to the shares of the report. */
uint64_t fm_exported_weight(const struct fm_exported *exported, const struct fm_recorded_sample *sample);

#endif
