#include "samples/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"

enum { LEVELS = 4, MIB = 1 << 20, EACH = 400 };

static const struct {
	uint32_t kind;
	const char *name, *site;
	uint64_t address, bytes;
	double weight, share;
	double levels[LEVELS]; /* cumulated */
	double stores;
} objects[SYNTHETIC_OBJECTS] = {
    {FM_MEMORY_STATIC, "table", "", 0x10000000, 64 * MIB, 1, 0.30, {0, 0, 0.2, 1}, 0},
    {FM_MEMORY_HEAP,
     "solver.c:40 (make_grid)",
     "solver.c:40 (make_grid) < main.c:12 (main)",
     0x7f0000000000,
     64 * MIB,
     1,
     0.30,
     {0.85, 1, 1, 1},
     0.5},
    {FM_MEMORY_POOL,
     "tree.c:9 (new_node)",
     "tree.c:9 (new_node) < main.c:20 (main)",
     0,
     3 * MIB,
     8,
     0.02,
     {0.5, 1, 1, 1},
     0.1},
    {FM_MEMORY_UNTRACKED, "heap that was not tracked", "", 0, 0, 1, 0.20, {0.5, 1, 1, 1}, 0.1},
    {FM_MEMORY_STACK, "stack of thread 100", "", 0x7ffe00000000, 8192, 1, 0.06, {1, 1, 1, 1}, 0.5},
    {FM_MEMORY_STACK, "stack of thread 101", "", 0x7f8e00000000, 8192, 1, 0.04, {1, 1, 1, 1}, 0.5},
    {FM_MEMORY_STATIC, "counter", "", 0x20000000, 8, 1, 0.04, {0.2, 0.2, 1, 1}, 1},
    {FM_MEMORY_HEAP,
     "work.c:7 (make_buffer)",
     "work.c:7 (make_buffer) < main.c:14 (main)",
     0x7f1000000000,
     16 * MIB,
     1,
     0.02,
     {0, 0, 1, 1},
     0},
    {FM_MEMORY_HEAP,
     "work.c:7 (make_buffer)",
     "work.c:7 (make_buffer) < main.c:14 (main)",
     0x7f2000000000,
     16 * MIB,
     1,
     0.02,
     {0, 0, 1, 1},
     0},
};

static const struct {
	const char *function, *inlined, *chain, *file;
	int64_t line;
} codes[] = {
    {"main", "", "", "main.c", 30},
    {"solve", "", "", "solver.c", 40},
    {"solve", "relax", "kernel.h:12 (relax) inlined into solver.c:44 (solve)", "kernel.h", 12},
    {"lookup", "", "", "table.c", 12},
    {"step", "", "", "", 0},
};
/* code and caller */
static const struct fm_recorded_frame frames[] = {{0, -1}, {1, 0}, {2, 0}, {4, 0}, {3, 3}, {4, 3}};

static double cost_of(struct fm_random *random, unsigned level)
{
	static const double centre[LEVELS] = {2, 14, 60, 240}, width[LEVELS] = {3, 4, 12, 40};

	if (level + 1 < LEVELS && fm_random_uniform(random) < 0.2)
		level++;
	return centre[level] + width[level] * fm_random_normal(random);
}

static uint32_t ticks(double value)
{
	return (uint32_t)fmax(value, 1);
}

static void calibrate(struct fm_recording *recording, struct fm_random *random)
{
	for (unsigned i = 0; i < 2 * LEVELS * EACH; i++) {
		struct fm_recorded_calibration *row = fm_recording_add(recording, calibration);

		row->kind = i / (LEVELS * EACH);
		row->level = 1 + i % LEVELS;
		row->baseline = 60;
		row->cost = ticks(60 + cost_of(random, i % LEVELS));
		row->neighbour_again = ticks(60 + cost_of(random, i % LEVELS));
		row->neighbour =
		    ticks(60 + cost_of(random, i % LEVELS) + (row->kind ? 150 + 20 * fm_random_normal(random) : 0));
	}
}

static void describe(struct fm_recording *recording, enum synthetic_kind kind, unsigned samples)
{
	struct fm_recorded_sampling *sampling = &recording->sampling;

	snprintf(recording->run.verb, sizeof(recording->run.verb), "record");
	snprintf(recording->run.program, sizeof(recording->run.program), "./solver");
	snprintf(sampling->sampler, sizeof(sampling->sampler), kind == SYNTHETIC_SIMULATED ? "exact" : "burst");
	snprintf(sampling->state, sizeof(sampling->state), "finished");
	snprintf(sampling->level_names, sizeof(sampling->level_names), "L1 L2 L3 memory");
	sampling->levels = LEVELS;
	sampling->seconds = 10;
	sampling->cpu_seconds = 12;
	sampling->ticks_per_second = 2e9;
	sampling->coarse_step = 1;
	sampling->nodes = 2;
	sampling->overhead_asked = 0.03;
	sampling->overhead = fm_figure_make(0.024, 0.022, 0.026, "", FM_ORIGIN_measured, "burst", 1);
	sampling->rate = kind == SYNTHETIC_SIMULATED ? fm_figure_make(1, 1, 1, "", FM_ORIGIN_simulated, "exact", 1)
	                                             : fm_figure_make(samples / 12.0, samples / 12.0, samples / 12.0,
	                                                              "1/s", FM_ORIGIN_measured, "burst", 1);
}

static void add_rows(struct fm_recording *recording)
{
	struct fm_recorded_sampled_process *process = fm_recording_add(recording, sampled_processes);
	struct fm_recorded_missed *missed = fm_recording_add(recording, missed);

	process->process = 100;
	snprintf(process->program, sizeof(process->program), "./solver");
	process->ended = 10;
	snprintf(missed->reason, sizeof(missed->reason), "code that belongs to no file (JIT)");
	missed->count = 420;
	missed->seconds = 5.04;
	for (unsigned i = 0; i < 2; i++) {
		struct fm_recorded_sampled_thread *thread = fm_recording_add(recording, sampled_threads);

		thread->thread = 100 + i;
		snprintf(thread->name, sizeof(thread->name), i ? "worker" : "solver");
		thread->ended = 10;
	}
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct fm_recorded_code *code = fm_recording_add(recording, codes);

		code->address = 0x1000 + i;
		snprintf(code->function, sizeof(code->function), "%s", codes[i].function);
		snprintf(code->inlined, sizeof(code->inlined), "%s", codes[i].inlined);
		snprintf(code->chain, sizeof(code->chain), "%s", codes[i].chain);
		snprintf(code->file, sizeof(code->file), "%s", codes[i].file);
		code->line = codes[i].line;
		snprintf(code->module, sizeof(code->module), "solver");
	}
	for (unsigned i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		*fm_recording_add(recording, frames) = frames[i];
	for (unsigned i = 0; i < SYNTHETIC_OBJECTS; i++) {
		struct fm_recorded_memory *memory = fm_recording_add(recording, memories);

		memory->kind = objects[i].kind;
		snprintf(memory->name, sizeof(memory->name), "%s", objects[i].name);
		snprintf(memory->site, sizeof(memory->site), "%s", objects[i].site);
		if (!*objects[i].site)
			snprintf(memory->module, sizeof(memory->module), "solver");
		memory->address = objects[i].address;
		memory->bytes = objects[i].bytes;
		memory->frame = -1;
		memory->thread = -1;
		memory->ended = 10;
		memory->allocations = objects[i].kind == FM_MEMORY_POOL ? 50000 : 1;
		memory->weight = objects[i].weight;
	}
	/* ten steps of the first thread, each with a search inside */
	for (unsigned i = 0; i < 20; i++) {
		struct fm_recorded_instance *instance = fm_recording_add(recording, instances);

		snprintf(instance->name, sizeof(instance->name), i % 2 ? "search" : "step");
		instance->began = i / 2 + (i % 2 ? 0.5 : 0);
		instance->ended = i / 2 + (i % 2 ? 0.8 : 1);
	}
}

static unsigned choose(struct fm_random *random)
{
	double at = fm_random_uniform(random);

	for (unsigned i = 0; i + 1 < SYNTHETIC_OBJECTS; i++) {
		if (at < objects[i].share)
			return i;
		at -= objects[i].share;
	}
	return SYNTHETIC_SECOND;
}

static void set_place(struct fm_recorded_sample *sample, struct fm_random *random, unsigned object)
{
	uint64_t bytes = objects[object].bytes > 64 ? objects[object].bytes : 8;

	sample->memory = object;
	sample->thread = object == SYNTHETIC_STACK2 || object >= SYNTHETIC_FIRST;
	if (object == SYNTHETIC_COUNTER)
		sample->thread = (uint32_t)fm_random_below(random, 2);
	sample->address = objects[object].address + fm_random_below(random, bytes) / 8 * 8;
	/* a pass takes 40 ms */
	if (object == SYNTHETIC_GRID)
		sample->address =
		    objects[object].address + (uint64_t)(fmod(sample->at / 0.04, 1) * (double)bytes) / 8 * 8;
	if (object == SYNTHETIC_REST)
		sample->address = 0x7f4000000000 + fm_random_below(random, 8 * MIB);
	sample->frame = object == SYNTHETIC_TABLE  ? 4
	                : object == SYNTHETIC_GRID ? (sample->address / 8 % 2 ? 1 : 2)
	                                           : 5;
	if (object == SYNTHETIC_STACK2)
		sample->frame = -1;
	sample->code = sample->frame < 0 ? 0 : frames[sample->frame].code;
	sample->instance = -1;
	if (!sample->thread) {
		unsigned step = (unsigned)sample->at;
		double rest = sample->at - step;

		sample->instance = rest >= 0.5 && rest <= 0.8 ? 2 * step + 1 : 2 * step;
	}
}

static void set_cost(struct fm_recorded_sample *sample, struct fm_random *random, unsigned object,
                     enum synthetic_kind kind)
{
	static const uint32_t latency[LEVELS] = {4, 14, 50, 200};
	double at = fm_random_uniform(random);
	unsigned level = 0;
	/* in the table one page in two is not in the buffer */
	bool missed = object == SYNTHETIC_TABLE && fm_random_uniform(random) < 0.5;

	while (level + 1 < LEVELS && at > objects[object].levels[level])
		level++;
	if (kind == SYNTHETIC_SIMULATED) {
		sample->flags = FM_SAMPLE_SIMULATED;
		sample->level = level + 1;
		sample->cost = latency[level];
		return;
	}
	sample->baseline = 60;
	sample->cost = ticks(60 + cost_of(random, level));
	sample->neighbour_again = ticks(60 + cost_of(random, level));
	sample->neighbour = ticks(60 + cost_of(random, level) + (missed ? 150 + 20 * fm_random_normal(random) : 0));
}

struct fm_recording *synthetic_recording(unsigned samples, uint64_t seed, enum synthetic_kind kind)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_random random;

	fm_random_seed(&random, seed);
	describe(recording, kind, samples);
	add_rows(recording);
	if (kind == SYNTHETIC_TIMED)
		calibrate(recording, &random);
	for (unsigned i = 0; i < samples; i++) {
		struct fm_recorded_sample *sample = fm_recording_add(recording, samples);
		unsigned object = choose(&random);

		sample->at = (i + 0.3 * fm_random_uniform(&random)) * 10.0 / samples;
		set_place(sample, &random, object);
		sample->kind = fm_random_uniform(&random) < objects[object].stores ? FM_SAMPLE_STORE : FM_SAMPLE_LOAD;
		sample->size = 8;
		sample->page_node = object == SYNTHETIC_TABLE;
		sample->weight = 6.96 / samples;
		set_cost(sample, &random, object, kind);
	}
	return recording;
}
