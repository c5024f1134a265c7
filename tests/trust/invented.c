/* An invented machine whose counters are small mechanisms, line by line: bursts of two lines, a cache in two halves, a
   prefetcher, page walks, a counter that needs time, other work. None of them knows of stories or classes. Its counts
   go through a file, and each mechanism is recognised from the counts alone. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "trust/validation.h"

enum {
	LINE = 64,
	PAGE_LINES = 64, /* 4 KiB */
	TRANSLATIONS = 1024,
	REPEATS = 3,
	/* a counter that is busy for so many picoseconds after each event */
	BUSY = 2500,
	TOOL = 9000,       /* instructions to start and stop */
	WRITTEN = 1 << 26, /* lines that are written are those from here */
};

enum event { BURSTS, LOOKUPS, DEMAND, READS, TRAFFIC, BUSY_COUNTER, INSTRUCTIONS, STORED, PLAIN, RANDOM, EVENTS };
static const char *const names[EVENTS] = {"BURSTS",       "LOOKUPS",      "DEMAND", "READS", "TRAFFIC",
                                          "BUSY_COUNTER", "INSTRUCTIONS", "STORED", "PLAIN", "RANDOM"};

struct kind {
	const char *kernel;
	bool loads, stores, random, memory;
};

static const struct kind kinds[] = {
    {"load", true, false, false, true},  {"store", false, true, false, true},  {"copy", true, true, false, true},
    {"load", true, false, false, false}, {"store", false, true, false, false}, {"copy", true, true, false, false},
    {"gather", true, false, true, true}, {"gather", true, false, true, false},
};

struct machine {
	uint64_t translations[TRANSLATIONS], now, free_at;
	/* of what is read and of what is written: memory has several bursts open, and several streams are followed */
	uint64_t open_burst[2], last_line[2], streak[2];
	double counts[EVENTS];
};

/* Where the translation of a page is kept: pages that are read and pages that are written do not meet. */
static uint64_t *translation(struct machine *machine, uint64_t page)
{
	return &machine->translations[(page + (page >= WRITTEN / PAGE_LINES) * TRANSLATIONS / 2) % TRANSLATIONS];
}

/* One line comes into the first cache. */
static void fetch(struct machine *machine, uint64_t line, bool memory)
{
	uint64_t page = line / PAGE_LINES;
	unsigned stream = line >= WRITTEN;

	machine->now += memory ? 6000 : 1000;
	/* half of the lines live in the other half of the cache, and are looked up in both */
	machine->counts[LOOKUPS] += 1 + (__builtin_popcountll(line * 0x9e3779b97f4a7c15ull >> 20) & 1);
	/* after three lines in a row of a page the next has been fetched before it is asked for */
	machine->streak[stream] =
	    line == machine->last_line[stream] + 1 && line % PAGE_LINES ? machine->streak[stream] + 1 : 0;
	machine->last_line[stream] = line;
	machine->counts[DEMAND] += machine->streak[stream] < 3;
	if (machine->now >= machine->free_at) {
		machine->counts[BUSY_COUNTER]++;
		machine->free_at = machine->now + BUSY;
	}
	machine->counts[PLAIN]++;
	if (*translation(machine, page) != page) {
		*translation(machine, page) = page;
		machine->counts[READS]++;
	}
	if (!memory)
		return;
	machine->counts[READS]++;
	machine->counts[TRAFFIC]++;
	if (line / 2 != machine->open_burst[stream]) {
		machine->open_burst[stream] = line / 2;
		machine->counts[BURSTS]++;
	}
}

static void run(struct machine *machine, const struct kind *kind, uint64_t lines, struct fm_random *random)
{
	uint64_t region = kind->memory ? 1 << 24 : 1 << 14;

	memset(machine, 0, sizeof(*machine));
	/* what the caches hold has been translated before */
	for (uint64_t page = 0; !kind->memory && page < (1 << 14) / PAGE_LINES; page++) {
		*translation(machine, page) = page;
		*translation(machine, WRITTEN / PAGE_LINES + page) = WRITTEN / PAGE_LINES + page;
	}
	for (uint64_t i = 0; i < lines; i++) {
		uint64_t line = kind->random ? fm_random_below(random, region) : i % region;

		if (kind->loads) {
			fetch(machine, line, kind->memory);
			machine->counts[INSTRUCTIONS] += 3;
		}
		if (kind->stores) {
			/* other data: lines for ownership, later written back */
			fetch(machine, line + WRITTEN, kind->memory);
			machine->counts[INSTRUCTIONS] += 4;
			machine->counts[STORED]++;
			machine->counts[TRAFFIC] += kind->memory;
		}
	}
	machine->counts[INSTRUCTIONS] += TOOL;
	/* other work and the tool, each time different */
	for (unsigned i = 0; i < EVENTS; i++)
		if (i != INSTRUCTIONS && i != BUSY_COUNTER)
			machine->counts[i] += 20 + floor(-40 * log(1 - fm_random_uniform(random)));
	machine->counts[RANDOM] = floor(1e5 * exp(2 * fm_random_normal(random)));
}

static void write_run(FILE *file, const struct kind *kind, uint64_t lines, unsigned repeat, struct fm_random *random)
{
	struct machine machine;
	double loads = kind->loads ? (double)lines : 0, stores = kind->stores ? (double)lines : 0;

	run(&machine, kind, lines, random);
	fprintf(file, "%s/%s/%llu,%s,%s,1,%u,%.9g", kind->kernel, kind->memory ? "memory" : "L2",
	        (unsigned long long)lines, kind->kernel, kind->memory ? "memory" : "L2", repeat,
	        (double)machine.now * 1e-12);
	/* loads_8, stores_8, instructions; then by place: in order, at random, ownership, written */
	fprintf(file, ",%.0f,%.0f,%.0f", loads, stores, 3 * loads + 4 * stores);
	for (int memory = 0; memory < 2; memory++) {
		bool here = kind->memory == memory;

		fprintf(file, ",%.0f,%.0f,%.0f,%.0f", here && !kind->random ? loads : 0,
		        here && kind->random ? loads : 0, here ? stores : 0, here ? stores : 0);
	}
	for (unsigned i = 0; i < EVENTS; i++)
		fprintf(file, ",%.0f", machine.counts[i]);
	fputc('\n', file);
}

static struct fm_matrix *make(uint64_t seed)
{
	static const uint64_t lengths[] = {40000, 90000, 200000};
	char path[] = "/tmp/fathom-invented-XXXXXX";
	struct fm_matrix *matrix = NULL;
	struct fm_random random;
	struct fm_error error;
	FILE *file = fdopen(mkstemp(path), "w");

	assert_non_null(file);
	fm_random_seed(&random, seed);
	fprintf(file, "# machine invented\n# origin measured\n# caches L1 L2\n# line %d\n# remote no\n", LINE);
	fprintf(file, "run,kernel,level,cores,repeat,seconds,true.loads_8,true.stores_8,true.instructions");
	for (int memory = 0; memory < 2; memory++) {
		const char *place = memory ? "memory" : "L2";

		fprintf(file, ",true.%s.read_in_order,true.%s.read_at_random,true.%s.ownership,true.%s.written", place,
		        place, place, place);
	}
	for (unsigned i = 0; i < EVENTS; i++)
		fprintf(file, ",%s", names[i]);
	fputc('\n', file);
	for (unsigned repeat = 1; repeat <= REPEATS; repeat++)
		for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
			for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
				write_run(file, &kinds[kind], lengths[i], repeat, &random);
	fclose(file);
	if (fm_matrix_read(path, &matrix, &error))
		fail_msg("%s", error.message);
	unlink(path);
	return matrix;
}

static double coefficient(const struct fm_matrix *matrix, const struct fm_judgement *judgement, const char *name)
{
	int atom = fm_atom_find(&matrix->quantities, name);
	double sum = 0;

	for (unsigned i = 0; i < judgement->term_count; i++) {
		const struct fm_term *term = &judgement->terms[i];

		if (term->is_atom ? term->index == (unsigned)atom
		                  : matrix->quantities.quantities[term->index].atoms >> atom & 1 &&
		                        !(judgement->unseen >> atom & 1))
			sum += term->coefficient;
	}
	return sum;
}

static void mechanisms_are_recognised(void **state)
{
	/* events for a line from memory in order, at random, for ownership, written back */
	static const struct {
		enum event event;
		enum fm_class class;
		const char *quantity;
		double counts[4];
	} expected[] = {
	    {BURSTS, FM_CLASS_uneven, "memory.reads", {0.5, 1, 0.5, 0}},
	    {LOOKUPS, FM_CLASS_proportional, "L1.lines_in", {1.5, 1.5, 1.5, 0}},
	    {DEMAND, FM_CLASS_uneven, "L1.lines_in", {3 / 64.0, 1, 3 / 64.0, 0}},
	    {READS, FM_CLASS_uneven, "memory.reads", {65 / 64.0, 2, 65 / 64.0, 0}},
	    {TRAFFIC, FM_CLASS_sum, "", {1, 1, 1, 1}},
	    {PLAIN, FM_CLASS_exact, "L1.lines_in", {1, 1, 1, 0}},
	};
	static const char *const atoms[] = {"memory.read_in_order", "memory.read_at_random", "memory.ownership",
	                                    "memory.written"};

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct fm_matrix *matrix = make(seed);
		struct fm_bench *bench = fm_bench_create(matrix);
		struct fm_judgement judgement;

		assert_non_null(bench);
		for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
			fm_judge_at(bench, expected[i].event, &judgement);
			if (judgement.class != expected[i].class)
				fail_msg("%s is %s: %s", names[expected[i].event], fm_class_name(judgement.class),
				         judgement.reason);
			if (*expected[i].quantity &&
			    strcmp(matrix->quantities.quantities[judgement.quantity].name, expected[i].quantity) != 0 &&
			    (judgement.alternative < 0 ||
			     strcmp(matrix->quantities.quantities[judgement.alternative].name, expected[i].quantity) !=
			         0))
				fail_msg("%s: %s", names[expected[i].event], judgement.reason);
			for (unsigned k = 0; k < 4; k++)
				assert_near(coefficient(matrix, &judgement, atoms[k]), expected[i].counts[k], 0.03);
			/* the floor of other work and the tool */
			assert_true(judgement.floor_runs == 0 ||
			            (judgement.floor >= 20 && judgement.floor_most < 1000));
		}
		/* every store takes a line for ownership and writes one back: the runs cannot tell which is counted */
		fm_judge_at(bench, STORED, &judgement);
		assert_int_equal(judgement.class, FM_CLASS_exact);
		assert_true(judgement.alternative >= 0);
		/* 2.5 ns for each at least, in steps of a nanosecond: not more than every third */
		fm_judge_at(bench, BUSY_COUNTER, &judgement);
		assert_int_equal(judgement.class, FM_CLASS_saturating);
		assert_near(judgement.size, 1e9 / 3, 2e7);
		fm_judge_at(bench, INSTRUCTIONS, &judgement);
		assert_int_equal(judgement.class, FM_CLASS_offset);
		assert_near(judgement.size, TOOL, 0.1 * TOOL);
		fm_judge_at(bench, RANDOM, &judgement);
		assert_true(judgement.class == FM_CLASS_noisy || judgement.class == FM_CLASS_unexplained ||
		            judgement.class == FM_CLASS_dead);
		fm_bench_free(bench);
		fm_matrix_free(matrix);
	}
}

/* A column that the file does not have is named, not taken for a flaw; and it can be taken as nothing. */
static void missing_columns_are_named(void **state)
{
	struct fm_matrix *matrix = make(9);
	struct fm_validation *validation;
	const struct fm_validation_options options = {.watcher = {0}};
	struct fm_error error;
	char names_missing[1600];

	(void)state;
	assert_true(fm_validation_missing(matrix, names_missing, sizeof(names_missing)) > 0);
	assert_non_null(strstr(names_missing, "true.transfers"));
	assert_non_null(strstr(names_missing, "true.memory.nontemporal"));
	assert_null(strstr(names_missing, "true.loads_8"));
	assert_int_equal(fm_validation_create(matrix, &options, &validation, &error), 0);
	assert_non_null(strstr(validation->judgements[PLAIN].reason, "true.transfers"));
	fm_validation_free(validation);
	fm_matrix_take_as_zero(matrix);
	assert_int_equal(fm_validation_missing(matrix, names_missing, sizeof(names_missing)), 0);
	assert_int_equal(fm_validation_create(matrix, &options, &validation, &error), 0);
	assert_int_equal(validation->judgements[PLAIN].class, FM_CLASS_exact);
	assert_null(strstr(validation->judgements[PLAIN].reason, "true.transfers"));
	fm_validation_free(validation);
	fm_matrix_free(matrix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mechanisms_are_recognised),
	    cmocka_unit_test(missing_columns_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
