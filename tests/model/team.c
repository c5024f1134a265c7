/* What a team of threads did with its processors: invented recordings with known answers. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/team.h"
#include "patterns/patterns.h"

#define TICK 0.004

enum { MOST = 16 };

/* In each period, a thread works, spins, or is blocked; in that order. */
struct thread {
	double works, spins, blocks; /* s of each period */
	const char *function;
};

struct invented {
	double period, seconds;
	unsigned cpus;
	struct thread threads[MOST];
	double shares;      /* of working positions */
	double false_share; /* of transfers */
};

static uint32_t running(struct fm_recording *recording, const char *function)
{
	struct fm_recorded_running *row;

	for (size_t i = 0; i < recording->runnings_count; i++)
		if (!strcmp(recording->runnings[i].function, function))
			return (uint32_t)i;
	row = fm_recording_add(recording, runnings);
	snprintf(row->function, sizeof(row->function), "%s", function);
	return (uint32_t)(recording->runnings_count - 1);
}

static struct fm_figure exactly(double value)
{
	return fm_figure_make(value, value, value, "s", FM_ORIGIN_sampled, "windows", 9);
}

static void add_thread(struct fm_recording *recording, const struct invented *invented, unsigned number)
{
	const struct thread *thread = &invented->threads[number];
	struct fm_recorded_native_thread *native = fm_recording_add(recording, native_threads);
	double all = thread->works + thread->spins + thread->blocks;

	*native = (struct fm_recorded_native_thread){.ordinal = number,
	                                             .ran = invented->seconds * (thread->works + thread->spins) / all,
	                                             .lived = invented->seconds};
	/* ticks of all processors come at the same moments */
	for (double at = 0; at < invented->seconds; at += TICK) {
		double phase = fmod(at, invented->period);
		bool works = phase < thread->works, spins = !works && phase < thread->works + thread->spins;
		uint32_t row = running(recording, thread->function ? thread->function : "work");
		struct fm_recorded_position *position;

		if (!works && !spins)
			continue;
		position = fm_recording_add(recording, positions);
		*position = (struct fm_recorded_position){.thread = number,
		                                          .running = row,
		                                          .at = (float)at,
		                                          .seconds = (float)TICK,
		                                          .waits = spins,
		                                          .shares = works ? (float)invented->shares : 0};
	}
}

static struct fm_picture judge(const struct invented *invented, struct fm_finding *ret_findings, unsigned *ret_count)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_recorded_shared *shared = fm_recording_add(recording, shared);
	struct fm_picture picture = {.recording = recording, .part = {.thread = -1}, .level_count = 1};

	recording->native = (struct fm_recorded_native){
	    .runs = 1, .same_run = true, .cpus = invented->cpus, .seconds = exactly(invented->seconds)};
	shared->false_transfers = (uint64_t)(1000 * invented->false_share);
	shared->true_transfers = (uint64_t)(1000 * (1 - invented->false_share));
	for (unsigned i = 0;
	     i < MOST && invented->threads[i].works + invented->threads[i].spins + invented->threads[i].blocks > 0;
	     i++) {
		fm_picture_grow(&picture,
		                &(struct fm_picture_thread){.thread = i, .instructions = 1000, .useful = 1000});
		add_thread(recording, invented, i);
	}
	fm_team_build(recording, &picture);
	picture.threads = picture.team.workers ? picture.team.workers : 1;
	*ret_count = fm_patterns_find(&picture, ret_findings);
	fm_picture_free(&picture);
	fm_recording_free(recording);
	picture.recording = NULL;
	return picture;
}

static enum fm_verdict verdict_of(const struct fm_finding *findings, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(findings[i].name, name))
			return findings[i].verdict;
	return FM_VERDICT_INCONCLUSIVE;
}

static void shares_are_found(void **state)
{
	static const struct {
		const char *words;
		struct invented invented;
		unsigned workers;
		double worked, spinning, idle, uneven, waiting;
		enum fm_verdict imbalance, synchronisation, false_sharing;
	} cases[] = {
	    {"two even workers, and a first thread that waits for them",
	     {0.13, 4, 2, {{0, 0.0005, 0.1295, "start"}, {0.13, 0, 0, NULL}, {0.13, 0, 0, NULL}}, 0, 0},
	     2,
	     1,
	     0,
	     0,
	     0,
	     0,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_ABSENT},
	    {"three to one, blocked",
	     {0.13, 4, 2, {{0.13, 0, 0, NULL}, {0.0433, 0, 0.0867, NULL}}, 0, 0},
	     2,
	     0.667,
	     0,
	     0.333,
	     0.333,
	     0,
	     FM_VERDICT_PRESENT,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_ABSENT},
	    {"three to one, spinning",
	     {0.13, 4, 2, {{0.13, 0, 0, NULL}, {0.0433, 0.0867, 0, NULL}}, 0, 0},
	     2,
	     0.667,
	     0.333,
	     0,
	     0.333,
	     0,
	     FM_VERDICT_PRESENT,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_ABSENT},
	    {"equal work with long waits: a barrier or a lock",
	     {0.013, 4, 2, {{0.0065, 0.0065, 0, NULL}, {0.0065, 0.0065, 0, NULL}}, 0, 0},
	     2,
	     0.5,
	     0.5,
	     0,
	     0,
	     0.5,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_PRESENT,
	     FM_VERDICT_ABSENT},
	    {"lines with parts of both",
	     {0.13, 4, 2, {{0.13, 0, 0, NULL}, {0.13, 0, 0, NULL}}, 0.9, 1},
	     2,
	     1,
	     0,
	     0,
	     0,
	     0,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_PRESENT},
	    {"a counter of both",
	     {0.13, 4, 2, {{0.13, 0, 0, NULL}, {0.13, 0, 0, NULL}}, 0.9, 0},
	     2,
	     1,
	     0,
	     0,
	     0,
	     0.9,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_PRESENT,
	     FM_VERDICT_ABSENT},
	    {"four threads in two processors, all busy: a thread with less work costs nothing",
	     {0.13,
	      4,
	      2,
	      {{0.065, 0, 0.065, NULL}, {0.065, 0, 0.065, NULL}, {0.065, 0, 0.065, NULL}, {0.065, 0, 0.065, NULL}},
	      0,
	      0},
	     4,
	     1,
	     0,
	     0,
	     0,
	     0,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_ABSENT},
	    {"in a mutex for half of the time",
	     {0.13, 4, 2, {{0.13, 0, 0, "__lll_lock_wait"}, {0.13, 0, 0, NULL}}, 0, 0},
	     2,
	     0.5,
	     0,
	     0,
	     0,
	     0.5,
	     FM_VERDICT_ABSENT,
	     FM_VERDICT_PRESENT,
	     FM_VERDICT_ABSENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_finding findings[FM_FINDINGS_MAX];
		unsigned count;
		struct fm_picture picture = judge(&cases[i].invented, findings, &count);
		const struct fm_picture_team *team = &picture.team;

		print_message(
		    "%s: %u workers, worked %.2f, spinning %.2f, idle %.2f, uneven %.2f, waiting %.2f (%.2f … %.2f)\n",
		    cases[i].words, team->workers, team->worked.value, team->spinning.value, team->idle.value,
		    team->uneven.value, team->waiting.value, team->waiting.low, team->waiting.high);
		assert_true(team->known);
		assert_int_equal(team->workers, cases[i].workers);
		assert_true(fabs(team->worked.value - cases[i].worked) < 0.05);
		assert_true(fabs(team->spinning.value - cases[i].spinning) < 0.05);
		assert_true(fabs(team->idle.value - cases[i].idle) < 0.05);
		assert_true(fabs(team->uneven.value - cases[i].uneven) < 0.06);
		assert_true(fabs(team->waiting.value - cases[i].waiting) < 0.06);
		assert_true(team->waiting.low <= cases[i].waiting && cases[i].waiting <= team->waiting.high + 1e-9);
		assert_int_equal(verdict_of(findings, count, "imbalance"), cases[i].imbalance);
		assert_int_equal(verdict_of(findings, count, "synchronisation"), cases[i].synchronisation);
		assert_int_equal(verdict_of(findings, count, "false-sharing"), cases[i].false_sharing);
	}
}

/* One worker waits for no other. */
static void one_worker_is_no_team(void **state)
{
	const struct invented invented = {0.13, 4, 4, {{0.001, 0, 0.129, "start"}, {0.13, 0, 0, NULL}}, 0, 0};
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count;
	struct fm_picture picture = judge(&invented, findings, &count);

	(void)state;
	assert_int_equal(picture.team.workers, 1);
	assert_false(picture.team.known);
}

/* Sixteen threads, of which one also has a serial part. */
static void a_serial_part_is_unevenness(void **state)
{
	struct invented invented = {.period = 0.2, .seconds = 6, .cpus = 16};
	struct fm_finding findings[FM_FINDINGS_MAX];
	struct fm_picture picture;
	unsigned count;

	(void)state;
	invented.threads[0] = (struct thread){.works = 0.2};
	for (unsigned i = 1; i < MOST; i++)
		invented.threads[i] = (struct thread){.works = 0.12, .spins = 0.08};
	picture = judge(&invented, findings, &count);
	print_message("alone %.2f, uneven %.2f\n", picture.team.alone.value, picture.team.uneven.value);
	assert_true(fabs(picture.team.alone.value - 0.4) < 0.06);
	assert_true(fabs(picture.team.uneven.value - 0.4 * 15 / 16) < 0.06);
	assert_int_equal(verdict_of(findings, count, "imbalance"), FM_VERDICT_PRESENT);
	assert_string_equal(findings[0].name, "imbalance");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shares_are_found),
	    cmocka_unit_test(one_worker_is_no_team),
	    cmocka_unit_test(a_serial_part_is_unevenness),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
