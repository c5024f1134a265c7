/* What threads lose on lines that several of them use: invented counts with known answers. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "model/contention.h"
#include "model/picture.h"

static struct fm_figure exactly(double value, const char *unit)
{
	return fm_figure_make(value, value, value, unit, FM_ORIGIN_measured, "native", 3);
}

/* Atomic additions 5 ns alone, 80 and 200 ns for two and four threads; stores 0.5, 2 and 5; a transfer 40. */
static struct fm_machine *machine(bool contentions)
{
	static const struct {
		unsigned threads;
		enum fm_contention_kind kind;
		double ns;
	} points[] = {{1, FM_CONTENTION_ATOMIC, 5},  {2, FM_CONTENTION_ATOMIC, 80}, {4, FM_CONTENTION_ATOMIC, 200},
	              {1, FM_CONTENTION_STORE, 0.5}, {2, FM_CONTENTION_STORE, 2},   {4, FM_CONTENTION_STORE, 5}};
	struct fm_machine *profile = calloc(1, sizeof(*profile));

	profile->transfers = calloc(1, sizeof(*profile->transfers));
	profile->transfer_count = 1;
	profile->transfers[0].ns = exactly(40, "ns");
	for (unsigned i = 0; contentions && i < 6; i++)
		profile->contentions[profile->contention_count++] = (struct fm_contention_point){
		    .threads = points[i].threads, .kind = points[i].kind, .ns = exactly(points[i].ns, "ns")};
	return profile;
}

static void costs_follow_the_threads(void **state)
{
	struct fm_machine *profile = machine(true), *without = machine(false);
	struct fm_contended_costs costs;

	(void)state;
	assert_true(fm_contended_costs(profile, 2, &costs));
	assert_true(costs.measured);
	assert_near(costs.atomic.value, 80e-9, 1e-15);
	assert_near(costs.store.value, 2e-9, 1e-15);
	assert_near(costs.transfer.value, 40e-9, 1e-15);
	assert_true(fm_contended_costs(profile, 3, &costs));
	assert_near(costs.atomic.value, 140e-9, 1e-15);
	/* more than were measured: as the most */
	assert_true(fm_contended_costs(profile, 16, &costs));
	assert_near(costs.atomic.value, 200e-9, 1e-15);
	/* from the transfer alone, and wide */
	assert_true(fm_contended_costs(without, 2, &costs));
	assert_false(costs.measured);
	assert_near(costs.atomic.low, 40e-9, 1e-15);
	assert_near(costs.atomic.high, 80e-9, 1e-15);
	assert_near(costs.store.low, 0, 1e-15);
	assert_false(fm_contended_costs(NULL, 2, &costs));
	without->transfer_count = 0;
	assert_false(fm_contended_costs(without, 2, &costs));
	fm_machine_free(profile);
	fm_machine_free(without);
}

/* Both threads do nothing else: a million operations each, three entries apart, 1 ns of their own each. */
static const struct fm_line_use dense = {.near = 1, .own_seconds = 1e-3, .got = 10000, .distance = 3, .turn = 300};

static struct fm_bounds lost(const struct fm_line_use *uses, unsigned count, unsigned which)
{
	struct fm_machine *profile = machine(true);
	struct fm_contended_costs costs;
	struct fm_line_cost cost;
	struct fm_line_cost sum = {.serial = {0}};

	assert_true(fm_contended_costs(profile, fm_line_threads(uses, count), &costs));
	cost = fm_line_contention(uses, count, which, &costs);
	fm_machine_free(profile);
	fm_contention_add(&sum, &cost);
	return fm_contention_sum(&sum);
}

static void atomics_of_two_threads_take_turns(void **state)
{
	struct fm_line_use uses[2] = {dense, dense};
	struct fm_bounds range;

	(void)state;
	uses[0].atomics = uses[1].atomics = 1e6;
	assert_near(fm_line_threads(uses, 2), 2, 1e-9);
	range = lost(uses, 2, 0);
	/* 80 ns each, of which 1 is its own work already */
	assert_near(range.value, 79e-3, 1e-6);
	assert_near(range.low, 79e-3, 1e-6);
	/* with 100 ns of work between them nobody waits for his turn; the line comes from elsewhere, always or by
	   chance: every second time */
	uses[0].own_seconds = uses[1].own_seconds = 0.1;
	range = lost(uses, 2, 0);
	assert_near(range.high, 40e-3, 1e-6);
	assert_near(range.low, 20e-3, 1e-6);
	/* rarely used, 10 µs apart: as often as the engine has seen it moved */
	uses[0].own_seconds = uses[1].own_seconds = 0;
	uses[0].near = uses[1].near = 0;
	uses[0].distance = uses[1].distance = 1e4;
	uses[0].got = uses[1].got = 3e5;
	range = lost(uses, 2, 0);
	assert_near(range.value, 0.3 * 40e-3, 1e-3);
}

static void stores_are_buffered(void **state)
{
	struct fm_line_use uses[2] = {dense, dense};

	(void)state;
	/* stores alone: 2 ns each while both do it, 1 is its own */
	uses[0].stores = uses[1].stores = 1e6;
	assert_near(lost(uses, 2, 0).value, 1e-3, 1e-9);
	/* with 50 ns of work between them, nothing */
	uses[0].own_seconds = uses[1].own_seconds = 50e-3;
	assert_near(lost(uses, 2, 0).value, 0, 1e-12);
	/* Increments load what they have stored: a core that loses the line once in 27 (40 ns / 1.5 ns) stores of 0.5
	   ns keeps it for 13 ns. */
	uses[0].own_seconds = uses[1].own_seconds = 4e-3;
	uses[0].loads = uses[1].loads = 1e6;
	assert_near(lost(uses, 2, 0).value, 4.0 / 13.33 * 40e-3, 1e-4);
	uses[0].own_seconds = uses[1].own_seconds = 0.2;
	assert_near(lost(uses, 2, 0).high, 40e-3, 1e-6);
}

static void readers_wait_for_the_writer_only(void **state)
{
	struct fm_line_use uses[2] = {dense, dense};

	(void)state;
	/* two readers */
	uses[0].loads = uses[1].loads = 1e6;
	assert_near(lost(uses, 2, 0).high, 0, 1e-12);
	/* one writes 1000 times: so often the other gets the line, however often it looks */
	uses[1].loads = 0;
	uses[1].stores = 1000;
	assert_near(lost(uses, 2, 0).high, 1000 * 40e-9, 1e-9);
}

static void threads_apart_lose_nothing(void **state)
{
	struct fm_line_use uses[2] = {dense, dense};

	(void)state;
	/* nobody else */
	uses[0].atomics = 1e6;
	assert_near(lost(uses, 1, 0).high, 0, 1e-12);
	/* one after the other: the line moved once */
	uses[1].atomics = 1e6;
	uses[0].got = uses[1].got = 1;
	assert_true(lost(uses, 2, 0).high < 1e-4 * 80e-3 * 2);
	/* never */
	uses[0].got = uses[1].got = 0;
	assert_near(lost(uses, 2, 0).high, 0, 1e-12);
}

static void lines_add_up(void **state)
{
	const struct fm_line_cost first = {.serial = {5, 4, 6}, .moving = {1, 1, 2}},
	                          second = {.serial = {3, 3, 3}, .moving = {2, 1, 3}};
	struct fm_line_cost sum = {.serial = {0}};
	struct fm_bounds range;

	(void)state;
	fm_contention_add(&sum, &first);
	fm_contention_add(&sum, &second);
	range = fm_contention_sum(&sum);
	assert_near(range.value, 5, 1e-12);
	assert_near(range.low, 4, 1e-12);
	assert_near(range.high, 6, 1e-12);
	/* atomic operations wait for one line after the other, loads for all at once, or nearly */
	fm_contention_add(&sum, &(struct fm_line_cost){.moving = {5, 5, 5}, .atomic = {4, 4, 4}});
	range = fm_contention_sum(&sum);
	assert_near(range.value, 6, 1e-12);
	assert_near(range.low, 5, 1e-12);
	assert_near(range.high, 10, 1e-12);
	fm_contention_add(&sum, &(struct fm_line_cost){.moving = {3, 3, 3}});
	assert_near(fm_contention_sum(&sum).value, 7, 1e-12);
}

static void processors_taken_away(void **state)
{
	(void)state;
	assert_near(fm_running_at_once(1).low, 1, 1e-12);
	assert_near(fm_running_at_once(0.5).low, 0, 1e-12);
	assert_near(fm_running_at_once(0.5).high, 0.5, 1e-12);
	assert_near(fm_running_at_once(0.8).value, 0.7, 1e-12);
}

/* Whole recordings */

enum { LINES = 1, WORKERS = 2 };

struct invented {
	bool shares;     /* both do a million atomic operations on one line */
	bool windows;    /* seen through windows, a hundredth of it */
	double spinning; /* share of the second one's time */
	double available, blocked, cpu_seconds;
	bool unseen;            /* by the scheduler */
	bool same_run;          /* the only one, in which it was slowed down */
	double cycles[WORKERS]; /* 10^6 */
};

static struct fm_recording *invent(const struct invented *invented)
{
	struct fm_recording *recording = fm_recording_create();
	double part = invented->windows ? 0.01 : 1;

	recording->machine.frequency_ghz = 1;
	recording->profile = machine(true);
	recording->native =
	    (struct fm_recorded_native){.runs = 3,
	                                .cpus = 2,
	                                .same_run = invented->same_run,
	                                .seconds = exactly(0.1, "s"),
	                                .cpu_seconds = invented->cpu_seconds > 0 ? invented->cpu_seconds : 0.2,
	                                .share_seconds = 0.6};
	((struct fm_recorded_process *)fm_recording_add(recording, processes))->turns = (uint64_t)(20000 * part);
	if (invented->shares)
		((struct fm_recorded_shared *)fm_recording_add(recording, shared))->modified = 20000;
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct fm_recorded_thread *thread = fm_recording_add(recording, threads);

		thread->thread = thread->core = i;
		thread->timing.cycles = thread->clock = (uint64_t)(invented->cycles[i] * 1e6);
		thread->work.instructions = 3000000;
		thread->counts.loads = thread->counts.stores = 1500000;
		thread->represents = invented->windows ? 100 : 0;
		thread->entries = invented->windows ? 30000 : 0;
		thread->spinning = i ? invented->spinning : 0;
		if (!invented->unseen)
			*(struct fm_recorded_native_thread *)fm_recording_add(recording, native_threads) =
			    (struct fm_recorded_native_thread){.ordinal = i,
			                                       .ran = invented->available,
			                                       .delayed = 1 - invented->available,
			                                       .lived = 1 + (i ? invented->blocked : 0)};
		if (invented->shares) {
			struct fm_recorded_user *user = fm_recording_add(recording, users);

			user->thread = i;
			user->loads = user->stores = user->atomics = (uint64_t)(1e6 * part);
			user->got = (uint64_t)(1e4 * part);
			user->near = (uint64_t)(1e6 * part);
			user->span = (uint64_t)(3e6 * part);
		}
	}
	return recording;
}

static struct fm_picture_times predict(const struct invented *invented)
{
	struct fm_recording *recording = invent(invented);
	struct fm_picture picture;
	struct fm_picture_times times;

	fm_picture_build(recording, &(struct fm_part){.thread = -1}, &picture);
	times = picture.times;
	if (times.user.available)
		assert_near(picture.predicted_seconds.value, times.user.value, 1e-12);
	fm_picture_free(&picture);
	fm_recording_free(recording);
	return times;
}

static void times_of_threads(void **state)
{
	struct fm_picture_times times;

	(void)state;
	/* alone: their own work, nothing added */
	times = predict(&(struct invented){.available = 1, .cycles = {3, 3}});
	assert_true(times.user.available);
	assert_near(times.work.value, 6e-3, 1e-9);
	assert_near(times.user.value, 6e-3, 1e-9);
	assert_near(times.sharing.high, 0, 1e-12);
	assert_near(times.spinning.high, 0, 1e-12);
	assert_near(times.wall.value, 3e-3, 1e-9);
	/* an atomic counter of two threads: 3 ms simulated, 80 ms each in truth */
	for (int windows = 0; windows < 2; windows++) {
		times =
		    predict(&(struct invented){.shares = true, .windows = windows, .available = 1, .cycles = {3, 3}});
		assert_near(times.sharing.value, 2 * 77e-3, 1e-6);
		assert_near(times.user.value, 160e-3, 1e-6);
		assert_near(times.wall.value, 80e-3, 1e-6);
	}
	/* with half of the processors they meet less often, or never */
	times = predict(&(struct invented){.shares = true, .available = 0.5, .cycles = {3, 3}});
	assert_near(times.sharing.low, 0, 1e-9);
	assert_near(times.sharing.high, 77e-3, 1e-6);
	assert_near(times.available.value, 0.5, 1e-9);
	/* one works for 10 ms, the other for 3 and spins for the rest */
	times = predict(&(struct invented){.windows = true, .spinning = 0.7, .available = 1, .cycles = {10, 3}});
	assert_near(times.spinning.value, 7e-3, 1e-6);
	assert_near(times.user.value, 20e-3, 1e-6);
	assert_near(times.wall.value, 10e-3, 1e-6);
	/* or does nothing but spin */
	times = predict(&(struct invented){.windows = true, .spinning = 1, .available = 1, .cycles = {10, 0}});
	assert_near(times.spinning.value, 10e-3, 1e-6);
	/* but for no longer than others work */
	times = predict(&(struct invented){.windows = true, .spinning = 0.8, .available = 1, .cycles = {10, 5}});
	assert_near(times.spinning.value, 10e-3, 1e-6);
	/* or is blocked, which is measured and no user time */
	times = predict(&(struct invented){.blocked = 8e-3, .available = 1, .cycles = {10, 3}});
	assert_near(times.user.value, 13e-3, 1e-6);
	assert_near(times.waiting.value, 8e-3, 1e-6);
	assert_int_equal(times.waiting.origin, FM_ORIGIN_measured);
	assert_near(times.wall.value, 11e-3, 1e-6);
	assert_int_equal(times.wall.origin, FM_ORIGIN_combined);
	assert_near(times.waiting_longest, 8e-3, 1e-6);
	/* in a run that was slowed down: blocked for half as long as it ran, whatever that took */
	times = predict(&(struct invented){.same_run = true, .blocked = 0.5, .available = 1, .cycles = {10, 8}});
	assert_near(times.waiting.value, 4e-3, 1e-6);
	assert_int_equal(times.waiting.origin, FM_ORIGIN_combined);
	assert_near(times.wall.value, 12e-3, 1e-6);
	/* of whom is not known: two processors for 0.1 s, of which 0.15 s were used */
	times = predict(&(struct invented){.unseen = true, .available = 1, .cpu_seconds = 0.15, .cycles = {10, 3}});
	assert_near(times.waiting.value, 50e-3, 1e-6);
	assert_near(times.wall.value, 31.5e-3, 1e-6);
	assert_near(times.wall.low, 10e-3, 1e-6);
	assert_false(times.available.available);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(costs_follow_the_threads),   cmocka_unit_test(atomics_of_two_threads_take_turns),
	    cmocka_unit_test(stores_are_buffered),        cmocka_unit_test(readers_wait_for_the_writer_only),
	    cmocka_unit_test(threads_apart_lose_nothing), cmocka_unit_test(lines_add_up),
	    cmocka_unit_test(processors_taken_away),      cmocka_unit_test(times_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
