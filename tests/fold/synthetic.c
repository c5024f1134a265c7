#include "fold/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"

enum { LEVELS = 4, EACH = 400, PHASES = 4, BYTES = 8 * FOLDED_ELEMENTS };

static const char *const functions[PHASES] = {"copy", "scale", "add", "triad"};

/* Which objects a phase uses: b and c at once by alternating references */
static const struct {
	int objects[3];
	bool stores[3];
	unsigned count;
} phases[PHASES] = {
    {{FOLDED_A, FOLDED_C}, {false, true}, 2},
    {{FOLDED_C, FOLDED_B}, {false, true}, 2},
    {{FOLDED_A, FOLDED_B, FOLDED_C}, {false, false, true}, 3},
    {{FOLDED_B, FOLDED_C, FOLDED_A}, {false, false, true}, 3},
};

void folded_phases(const struct folded_recipe *recipe, double ends[4])
{
	double lengths[PHASES] = {0.2, 0.3 * (recipe->slower > 0 ? recipe->slower : 1), 0.25, 0.25}, all = 0, sum = 0;

	for (unsigned i = 0; i < PHASES; i++)
		all += lengths[i];
	for (unsigned i = 0; i < PHASES; i++)
		ends[i] = (sum += lengths[i]) / all;
}

static double cost_of(struct fm_random *random, unsigned level)
{
	static const double centre[LEVELS] = {2, 30, 90, 300}, width[LEVELS] = {2, 4, 10, 30};

	return fmax(centre[level] + width[level] * fm_random_normal(random), 0);
}

static void add_rows(struct fm_recording *recording, const struct folded_recipe *recipe, struct fm_random *random)
{
	static const char *const names[FOLDED_OBJECTS] = {"a", "stream.c:54 (main)", "c"};
	struct fm_recorded_sampling *sampling = &recording->sampling;
	unsigned processes = recipe->processes ? recipe->processes : 1;

	snprintf(recording->run.verb, sizeof(recording->run.verb), "record");
	snprintf(recording->run.program, sizeof(recording->run.program), "./stream");
	snprintf(sampling->sampler, sizeof(sampling->sampler), recipe->simulated ? "exact" : "burst");
	snprintf(sampling->state, sizeof(sampling->state), "finished");
	snprintf(sampling->level_names, sizeof(sampling->level_names), "L1 L2 L3 memory");
	sampling->levels = LEVELS;
	sampling->ticks_per_second = 2e9;
	sampling->coarse_step = 1;
	sampling->nodes = 1;
	sampling->every = recipe->simulated ? 100 : 0;
	sampling->overhead = fm_figure_unavailable("not asked");
	sampling->rate = recipe->simulated ? fm_figure_unavailable("not asked")
	                                   : fm_figure_make(300, 300, 300, "1/s", FM_ORIGIN_measured, "burst", 1);
	for (unsigned p = 0; p < processes; p++) {
		struct fm_recorded_sampled_process *process = fm_recording_add(recording, sampled_processes);
		struct fm_recorded_sampled_thread *thread = fm_recording_add(recording, sampled_threads);

		process->process = thread->thread = 100 + p;
		thread->process = p;
		snprintf(process->program, sizeof(process->program), "./stream");
		snprintf(thread->name, sizeof(thread->name), "stream");
		for (unsigned i = 0; i < FOLDED_OBJECTS; i++) {
			struct fm_recorded_memory *memory = fm_recording_add(recording, memories);

			/* one allocation, but static variables: the same name in each process */
			memory->kind = i == FOLDED_B ? FM_MEMORY_NAMED : FM_MEMORY_STATIC;
			snprintf(memory->name, sizeof(memory->name), "%s", names[i]);
			memory->process = p;
			memory->thread = memory->frame = -1;
			memory->bytes = BYTES;
			memory->address = (0x5500 + fm_random_below(random, 1 << 14)) << 28;
			memory->address += (uint64_t)i << 33;
			memory->allocations = memory->weight = 1;
		}
	}
	/* triad has a second instruction, which is not used */
	for (unsigned i = 0; i <= PHASES; i++) {
		unsigned phase = i < PHASES ? i : PHASES - 1;
		struct fm_recorded_code *code = fm_recording_add(recording, codes);

		code->address = 0x1000 + i;
		snprintf(code->function, sizeof(code->function), "%s", functions[phase]);
		snprintf(code->file, sizeof(code->file), "stream.c");
		snprintf(code->module, sizeof(code->module), "stream");
		code->line = 10 * (phase + 1);
	}
	for (unsigned i = 0; !recipe->simulated && i < 2 * LEVELS * EACH; i++) {
		struct fm_recorded_calibration *row = fm_recording_add(recording, calibration);

		row->kind = i / (LEVELS * EACH);
		row->level = 1 + i % LEVELS;
		row->baseline = row->neighbour_again = 60;
		row->cost = 60 + (uint32_t)cost_of(random, i % LEVELS);
		row->neighbour = 60 + (row->kind ? 150 : 0);
	}
}

/* Streams are in order and hit the first cache seven times of eight; scale reads c at random, from memory. */
static void set_reference(struct fm_recorded_sample *sample, const struct folded_recipe *recipe,
                          struct fm_random *random, const struct fm_recording *recording, double place)
{
	static const uint32_t latency[LEVELS] = {4, 12, 50, 200};
	double ends[PHASES], begin = 0, within;
	unsigned phase = 0, use, level = fm_random_uniform(random) < 0.125 ? 1 : 0;
	const struct fm_recorded_memory *memory;
	uint64_t element;

	folded_phases(recipe, ends);
	while (phase + 1 < PHASES && place >= ends[phase])
		begin = ends[phase++];
	within = fmin((place - begin) / (ends[phase] - begin), 0.999999);
	use = (unsigned)fm_random_below(random, phases[phase].count);
	sample->code = phase;
	sample->memory = (int)sample->process * FOLDED_OBJECTS + phases[phase].objects[use];
	sample->kind = phases[phase].stores[use] ? FM_SAMPLE_STORE : FM_SAMPLE_LOAD;
	if (phase == 0 && recipe->copy_down)
		within = 1 - within - 1e-9;
	element = (uint64_t)(within * FOLDED_ELEMENTS);
	if (phase == 1 && phases[phase].stores[use])
		element /= 8;
	if (phase == 1 && !phases[phase].stores[use]) {
		element = fm_random_below(random, FOLDED_ELEMENTS);
		level = fm_random_uniform(random) < 0.75 ? 3 : 2;
	}
	memory = &recording->memories[sample->memory];
	sample->address = memory->address + 8 * element;
	sample->size = 8;
	if (recipe->simulated) {
		sample->flags = FM_SAMPLE_SIMULATED;
		sample->level = level + 1;
		sample->cost = latency[level];
		return;
	}
	sample->baseline = sample->neighbour_again = sample->neighbour = 60;
	sample->cost = 60 + (uint32_t)cost_of(random, level);
}

static int by_time(const void *first, const void *second)
{
	const struct fm_recorded_sample *a = first, *b = second;

	return (a->at > b->at) - (a->at < b->at);
}

/* Samples come at intervals that are even but for some chance, whatever the instances do. */
static void run(struct fm_recording *recording, const struct folded_recipe *recipe, struct fm_random *random,
                unsigned process)
{
	double at = 0.01 * (process + 1), interval = recipe->length / recipe->samples, next = at, slower = 0;

	for (unsigned i = 0; i < recipe->instances; i++) {
		double length = recipe->length * fmax(1 + recipe->jitter * fm_random_normal(random), 0.1);
		double kind = fm_random_uniform(random), pause, paused = 0, paused_at;

		if (kind < recipe->second)
			length *= 1.6;
		else if (kind < recipe->second + recipe->outliers)
			length *= 2 + 3 * fm_random_uniform(random);
		slower = recipe->slower > 0 ? 0.7 + 0.3 * recipe->slower : 1;
		length *= slower;
		pause = i % 3 ? 0 : recipe->off;
		paused_at = at + length * fm_random_uniform(random);
		for (; next < at + length; next += interval * (0.7 + 0.6 * fm_random_uniform(random))) {
			struct fm_recorded_sample *sample = fm_recording_add(recording, samples);

			if (next > paused_at)
				paused = pause;
			sample->process = sample->thread = process;
			sample->at = next + paused;
			sample->frame = -1;
			sample->instance = recipe->unmarked ? -1 : (int)recording->instances_count;
			sample->weight = recipe->simulated ? 100 : interval;
			sample->node = sample->page_node = -1;
			set_reference(sample, recipe, random, recording, (next - at) / length);
		}
		if (!recipe->unmarked) {
			struct fm_recorded_instance *instance = fm_recording_add(recording, instances);

			snprintf(instance->name, sizeof(instance->name), "iteration");
			instance->process = instance->thread = process;
			instance->began = at;
			instance->ended = at + length + pause;
		}
		at += length + pause;
		next += pause;
	}
	recording->sampling.seconds = fmax(recording->sampling.seconds, at);
	recording->sampled_threads[process].ended = recording->sampled_processes[process].ended = at;
}

struct fm_recording *folded_recording(const struct folded_recipe *recipe)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_random random;
	struct fm_error error;

	fm_random_seed(&random, recipe->seed);
	add_rows(recording, recipe, &random);
	for (unsigned p = 0; p < recording->sampled_processes_count; p++)
		run(recording, recipe, &random, p);
	qsort(recording->samples, recording->samples_count, sizeof(*recording->samples), by_time);
	for (size_t i = 0; i < recording->samples_count; i++)
		recording->sampling.cpu_seconds += recipe->simulated ? 0 : recording->samples[i].weight;
	if (fm_recording_settle(recording, &error))
		return NULL;
	return recording;
}
