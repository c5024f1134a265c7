/* What threads lose by waiting for each other, and which verdicts that gives: invented recordings with known answers.
 */
#include "profile/profile.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/uncertainty.h"
#include "patterns/confidence.h"
#include "patterns/patterns.h"

/* Two threads on one contended line: a recording as a native run and the engine make it. */
struct invented {
	double seconds, cpu_seconds, predicted; /* wall clock; of all threads; by the simulated core */
	uint64_t accesses, transfers;           /* to the contended line; seen by the engine */
	unsigned threads;
};

static struct fm_figure exactly(double value)
{
	return fm_figure_make(value, value, value, "s", FM_ORIGIN_measured, "native", 3);
}

static struct fm_recording *invent(const struct invented *invented)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_recorded_shared *shared = fm_recording_add(recording, shared);
	struct fm_transfer *transfer = calloc(1, sizeof(*transfer));

	recording->native = (struct fm_recorded_native){.runs = 3,
	                                                .cpus = 8,
	                                                .seconds = exactly(invented->seconds),
	                                                .cpu_seconds = invented->cpu_seconds,
	                                                .share_seconds = 3 * invented->cpu_seconds,
	                                                .busiest = invented->cpu_seconds / invented->seconds};
	shared->modified = shared->true_transfers = invented->transfers;
	for (int i = 0; i < 2; i++) {
		struct fm_recorded_user *user = fm_recording_add(recording, users);

		user->thread = i + 1;
		user->stores = invented->accesses / 2;
	}
	recording->profile = calloc(1, sizeof(*recording->profile));
	transfer->ns = fm_figure_make(50, 49, 51, "ns", FM_ORIGIN_measured, "native", 9);
	recording->profile->transfers = transfer;
	recording->profile->transfer_count = 1;
	return recording;
}

static enum fm_verdict verdict(const struct invented *invented, struct fm_figure *ret_metric)
{
	struct fm_recording *recording = invent(invented);
	struct fm_core_counts counts = {.transfers_modified = invented->transfers};
	struct fm_picture picture = {.recording = recording,
	                             .threads = invented->threads,
	                             .part = {.thread = -1},
	                             .seconds = exactly(invented->seconds),
	                             .predicted_seconds = exactly(invented->predicted),
	                             .level_count = 1};
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count;
	enum fm_verdict found = FM_VERDICT_INCONCLUSIVE;

	fm_uncertain_prediction(recording, &picture);
	fm_synchronisation(recording, &counts, &picture);
	count = fm_patterns_find(&picture, findings);
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(findings[i].name, "synchronisation")) {
			print_message("  %s: %s\n", fm_verdict_name(findings[i].verdict), findings[i].evidence);
			found = findings[i].verdict;
			*ret_metric = findings[i].metric;
		}
	fm_recording_free(recording);
	return found;
}

static void contention_is_found(void **state)
{
	static const struct {
		const char *words;
		struct invented invented;
		enum fm_verdict verdict;
	} cases[] = {
	    {"an atomic counter: measured 85 ms, predicted 3",
	     {0.085, 0.168, 0.003, 2000000, 2000, 2},
	     FM_VERDICT_PRESENT},
	    {"a mutex whose threads sleep half of the time", {0.5, 0.5, 0.2, 1000000, 50000, 2}, FM_VERDICT_PRESENT},
	    {"as long as predicted: nobody waited for lines", {0.4, 0.8, 0.39, 100000, 40, 2}, FM_VERDICT_ABSENT},
	    {"slower than predicted, and nothing shared", {0.4, 0.8, 0.1, 0, 0, 2}, FM_VERDICT_ABSENT},
	    {"slower by the usual error of a prediction", {0.4, 0.8, 0.32, 20000000, 4000, 2}, FM_VERDICT_INCONCLUSIVE},
	    {"a single thread does not wait for others", {0.4, 0.4, 0.1, 5000000, 0, 1}, FM_VERDICT_ABSENT},
	    {"too short to tell", {0.004, 0.002, 0.001, 0, 0, 2}, FM_VERDICT_INCONCLUSIVE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_figure metric;

		print_message("%s\n", cases[i].words);
		assert_int_equal(verdict(&cases[i].invented, &metric), cases[i].verdict);
		assert_true(!metric.available ||
		            (metric.low <= metric.value && metric.value <= metric.high && metric.high <= 1));
	}
}

/* Two threads in a region of a simulated machine, that execute all that their cores can while they run. */
struct simulated {
	uint64_t elapsed[2], cycles[2];
	uint64_t looked;    /* cycles of the second thread in a loop that only looks at a line of the first */
	uint64_t contended; /* stores to a line that moves between them */
	uint64_t outside;   /* cycles of each before the region */
};

static void judge_simulated(const struct simulated *simulated, struct fm_finding *ret_findings, unsigned *ret_count)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_picture picture = {.recording = recording,
	                             .threads = 2,
	                             .part = {.region = "work", .thread = -1},
	                             .seconds = exactly(1),
	                             .level_count = 1};

	fm_recording_add(recording, processes);
	recording->machine.cache_count = 1;
	recording->machine.caches[0].latency = 40;
	((struct fm_recorded_shared *)fm_recording_add(recording, shared))->modified = 100;
	for (int i = 0; i < 2; i++) {
		struct fm_recorded_thread *thread = fm_recording_add(recording, threads);
		struct fm_recorded_region *region = fm_recording_add(recording, regions);
		struct fm_recorded_user *user = fm_recording_add(recording, users);

		thread->thread = region->thread = (unsigned)i;
		thread->core = (unsigned)i;
		snprintf(region->name, sizeof(region->name), "work");
		region->elapsed = simulated->elapsed[i];
		region->timing.cycles = simulated->cycles[i];
		region->work.instructions = 4 * simulated->cycles[i];
		thread->timing.cycles = simulated->cycles[i] + simulated->outside;
		user->thread = i;
		user->stores = simulated->contended + !i;
		if (i)
			user->looks = user->loads = user->look_cycles = simulated->looked;
	}
	picture.signs.throughput = fm_figure_make(1, 1, 1, "", FM_ORIGIN_simulated, "exact", 1);
	fm_synchronisation(recording, &(struct fm_core_counts){0}, &picture);
	*ret_count = fm_patterns_find(&picture, ret_findings);
	fm_recording_free(recording);
}

/* A thread that waits executes nothing, and one that spins nothing of use: that leads, not how much they execute. */
static void waiting_is_no_throughput(void **state)
{
	static const struct {
		const char *words;
		struct simulated simulated;
		enum fm_verdict waiting, throughput;
	} cases[] = {
	    {"independent threads",
	     {{1000000, 1000000}, {1000000, 990000}, 0, 0, 0},
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_PRESENT},
	    {"a lock: one at a time",
	     {{1000000, 1000000}, {520000, 480000}, 0, 0, 0},
	     FM_VERDICT_PRESENT,
	     FM_VERDICT_ABSENT},
	    {"one is done early",
	     {{1000000, 250000}, {1000000, 250000}, 0, 0, 0},
	     FM_VERDICT_PRESENT,
	     FM_VERDICT_INCONCLUSIVE},
	    {"one spins",
	     {{1000000, 1000000}, {1000000, 1000000}, 800000, 0, 0},
	     FM_VERDICT_PRESENT,
	     FM_VERDICT_INCONCLUSIVE},
	    {"it may have spun before",
	     {{1000000, 1000000}, {1000000, 1000000}, 800000, 0, 800000},
	     FM_VERDICT_INCONCLUSIVE,
	     FM_VERDICT_INCONCLUSIVE},
	    {"one line that both write",
	     {{1000000, 1000000}, {1000000, 1000000}, 0, 100000, 0},
	     FM_VERDICT_INCONCLUSIVE,
	     FM_VERDICT_INCONCLUSIVE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_finding findings[FM_FINDINGS_MAX];
		unsigned count, found = 0;

		judge_simulated(&cases[i].simulated, findings, &count);
		print_message("%s\n", cases[i].words);
		for (unsigned k = 0; k < count; k++) {
			bool waiting = !strcmp(findings[k].name, "synchronisation");

			if (!waiting && strcmp(findings[k].name, "instruction-throughput") != 0)
				continue;
			print_message("  %s %s: %s\n", findings[k].name, fm_verdict_name(findings[k].verdict),
			              findings[k].evidence);
			assert_int_equal(findings[k].verdict, waiting ? cases[i].waiting : cases[i].throughput);
			if (cases[i].waiting == FM_VERDICT_PRESENT && !found)
				assert_true(waiting);
			found++;
		}
		assert_int_equal(found, 2);
	}
}

/* Stores alone do not make an imbalance when the instructions are even; a spinning thread's stores are no work. */
static enum fm_verdict balance(const struct fm_picture_thread *threads, unsigned count)
{
	struct fm_picture picture = {.threads = count, .part = {.thread = -1}, .level_count = 2};
	struct fm_finding findings[FM_FINDINGS_MAX];
	enum fm_verdict found = FM_VERDICT_INCONCLUSIVE;
	unsigned found_count;

	picture.levels[1].read_bytes = exactly(1);
	for (unsigned i = 0; i < count; i++)
		fm_picture_grow(&picture, &threads[i]);
	found_count = fm_patterns_find(&picture, findings);
	for (unsigned i = 0; i < found_count; i++)
		if (!strcmp(findings[i].name, "imbalance"))
			found = findings[i].verdict;
	fm_picture_free(&picture);
	return found;
}

#define THREAD(number, executed, work, calculates, operations, stored)                                \
	{                                                                                             \
		.thread = number, .instructions = executed, .useful = work, .arithmetic = calculates, \
		.flops = operations, .stores = stored                                                 \
	}

static void balance_needs_work(void **state)
{
	/* main starts the others: a few per cent of the stores */
	const struct fm_picture_thread even[] = {THREAD(0, 200000, 30000, false, 0, 30000),
	                                         THREAD(1, 5000000, 1000000, false, 0, 1000000),
	                                         THREAD(2, 5000000, 1000000, false, 0, 1000000)},
	                               queue[] = {THREAD(0, 200000, 30000, false, 0, 30000),
	                                          THREAD(1, 9000000, 2000000, false, 0, 2000000),
	                                          THREAD(2, 9000000, 900000, false, 0, 900000)},
	                               uneven[] = {THREAD(0, 200000, 30000, false, 0, 30000),
	                                           THREAD(1, 9000000, 3000000, false, 0, 3000000),
	                                           THREAD(2, 3000000, 1000000, false, 0, 1000000)},
	                               spinning[] = {THREAD(0, 9000000, 3000000, true, 3000000, 0),
	                                             THREAD(1, 20000000, 1000000, true, 1000000, 9000000)};

	(void)state;
	assert_int_equal(balance(even, 3), FM_VERDICT_ABSENT);
	assert_int_equal(balance(queue, 3), FM_VERDICT_INCONCLUSIVE);
	assert_int_equal(balance(uneven, 3), FM_VERDICT_PRESENT);
	assert_int_equal(balance(spinning, 2), FM_VERDICT_PRESENT);
}

/* Predicted and measured user time that differ by more than 30 %: said, and the confidence is that of doubtful
 * verdicts. */
static void doubt_is_another_confidence(void **state)
{
	(void)state;
	for (int doubtful = 0; doubtful < 2; doubtful++) {
		struct fm_recording *recording = fm_recording_create();
		struct fm_picture picture = {
		    .recording = recording, .threads = 1, .part = {.thread = -1}, .level_count = 2};
		struct fm_finding findings[FM_FINDINGS_MAX];
		unsigned count, found = 0;
		recording->native = (struct fm_recorded_native){
		    .runs = 3, .seconds = exactly(1), .cpu_seconds = 1, .kernel_share = 0.2, .share_seconds = 3};
		picture.seconds = exactly(1);
		picture.predicted_seconds = exactly(doubtful ? 0.55 : 0.6);
		snprintf(picture.levels[1].name, sizeof(picture.levels[1].name), "memory");
		picture.levels[1].latency_share = fm_figure_make(0.9, 0.9, 0.9, "", FM_ORIGIN_simulated, "exact", 1);
		fm_uncertain_prediction(recording, &picture);
		/* 0.8 s were the program's own */
		assert_near(picture.user_seconds.value, 0.8, 1e-9);
		assert_int_equal(picture.doubtful, doubtful);
		count = fm_patterns_find(&picture, findings);
		for (unsigned i = 0; i < count; i++)
			if (!strcmp(findings[i].name, "latency:memory")) {
				found++;
				assert_int_equal(findings[i].verdict, FM_VERDICT_PRESENT);
				assert_int_equal(findings[i].doubtful, doubtful);
				assert_int_equal(
				    strstr(findings[i].evidence, "doubtful, predicted time is 31 % too short") != NULL,
				    doubtful);
				assert_near(findings[i].confidence,
				            (doubtful ? fm_confidence_in_doubt : fm_confidence_of)(
				                "latency", FM_WAY_exact, FM_VERDICT_PRESENT, 2.6)
				                .value,
				            1e-9);
			}
		assert_int_equal(found, 1);
		fm_recording_free(recording);
	}
}

/* Of a program that makes its code itself the engine sees little: the rest does not predict it. */
static void what_is_not_seen_is_not_predicted(void **state)
{
	static const struct {
		uint64_t inside, outside;
		bool predicted;
	} cases[] = {{100, 0, true}, {95, 5, true}, {3, 9, true}, {20, 80, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_recording *recording = fm_recording_create();
		struct fm_recorded_process *process = fm_recording_add(recording, processes);
		struct fm_picture picture = {
		    .recording = recording, .threads = 1, .part = {.thread = -1}, .level_count = 2};
		struct fm_finding findings[FM_FINDINGS_MAX];
		unsigned count;

		recording->native =
		    (struct fm_recorded_native){.runs = 1, .seconds = exactly(1), .cpu_seconds = 1, .share_seconds = 1};
		process->native = 2;
		process->found_inside = cases[i].inside;
		process->found_outside = cases[i].outside;
		picture.seconds = exactly(1);
		picture.predicted_seconds = exactly(0.9);
		picture.signs.throughput = fm_figure_make(1, 1, 1, "", FM_ORIGIN_simulated, "exact", 1);
		fm_uncertain_prediction(recording, &picture);
		fm_uncertain_unseen(recording, &picture);
		assert_int_equal(picture.predicted_seconds.available, cases[i].predicted);
		assert_int_equal(picture.off.available, cases[i].predicted);
		assert_int_equal(picture.doubtful, !cases[i].predicted);
		assert_near(picture.unseen, cases[i].predicted ? 0 : 0.8, 1e-9);
		count = fm_patterns_find(&picture, findings);
		for (unsigned k = 0; k < count; k++)
			if (!strcmp(findings[k].name, "instruction-throughput") && !cases[i].predicted) {
				assert_true(findings[k].confidence <= 0.5);
				assert_non_null(strstr(findings[k].evidence, "80 % of the time was not covered"));
			}
		fm_recording_free(recording);
	}
}

/* The profile's intervals reach the figures: wide latency, wide shares; a wide capacity, a wide range of misses. */
static void profiles_make_intervals(void **state)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_machine *profile = calloc(1, sizeof(*profile));
	struct fm_picture picture = {.recording = recording, .level_count = 4};
	static const char *const names[] = {"L1", "L2", "L3", "memory"};

	(void)state;
	recording->profile = profile;
	recording->machine.cache_count = 3;
	profile->level_count = 4;
	for (unsigned i = 0; i < 4; i++) {
		struct fm_picture_level *level = &picture.levels[i];

		snprintf(profile->levels[i].name, sizeof(profile->levels[i].name), "%s", names[i]);
		snprintf(level->name, sizeof(level->name), "%s", names[i]);
		profile->levels[i].latency_cycles = exactly(10 * (i + 1));
		profile->levels[i].effective_bytes = exactly(32768 << 4 * i);
		level->latency_share = level->bandwidth_share = exactly(0.2);
		level->peak_gbs = exactly(10);
		level->read_bytes = exactly(1e9 / (1 << i));
		level->allocate_bytes = level->write_bytes = exactly(0);
		if (i < 3) {
			snprintf(recording->machine.caches[i].name, sizeof(recording->machine.caches[i].name), "%s",
			         names[i]);
			recording->machine.caches[i].bytes = 32768 << 4 * i;
		}
	}
	picture.active = picture.stall = picture.latency_bound = picture.bandwidth_bound = picture.memory_bound =
	    exactly(1e9);
	/* L3: latency ±48 %, 3 … 20 MiB for 8 */
	profile->levels[2].latency_cycles = fm_figure_make(30, 15.6, 44.4, "cycles", FM_ORIGIN_measured, "native", 9);
	profile->levels[2].effective_bytes =
	    fm_figure_make(32768 << 8, (32768 << 8) / 2.5, (32768 << 8) * 2.5, "B", FM_ORIGIN_measured, "native", 9);
	fm_uncertain_traffic(recording, &picture);
	fm_uncertain_cycles(recording, &picture);
	assert_near(picture.levels[2].latency_share.low, 0.2 * 0.52 / (0.8 + 0.2 * 0.52), 1e-9);
	assert_near(picture.levels[2].latency_share.high, 0.2 * 1.48 / (0.8 + 0.2 * 1.48), 1e-9);
	assert_near(picture.levels[3].latency_share.high, 0.2, 1e-9);
	assert_near(picture.latency_bound.low, 1e9 - 0.2e9 * 0.48, 1);
	assert_near(picture.latency_bound.high, 1e9 + 0.2e9 * 0.48, 1);
	/* misses fall by half for each factor of 16 in size: 2.5 times as much is 2.5^-0.25 of them */
	assert_near(picture.levels[3].read_bytes.low / picture.levels[3].read_bytes.value, 0.7953, 1e-3);
	assert_near(picture.levels[3].read_bytes.high / picture.levels[3].read_bytes.value, 1.2574, 1e-3);
	assert_near(picture.levels[2].read_bytes.high, picture.levels[2].read_bytes.value, 1e-6);
	/* a machine that is given as a file is exact */
	recording->profile = NULL;
	picture.levels[3].read_bytes = exactly(5);
	fm_uncertain_traffic(recording, &picture);
	assert_near(picture.levels[3].read_bytes.high, 5, 1e-12);
	fm_machine_free(profile);
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(contention_is_found),
	    cmocka_unit_test(waiting_is_no_throughput),
	    cmocka_unit_test(balance_needs_work),
	    cmocka_unit_test(doubt_is_another_confidence),
	    cmocka_unit_test(what_is_not_seen_is_not_predicted),
	    cmocka_unit_test(profiles_make_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
