/* Takers: they do what they are told, say what they achieve, take no memory that is not free, and end with the tool. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "interference/taker_places.h"
#include "interference/takers.h"
#include "check.h"

#define MIB (1ull << 20)

static unsigned last_cpu(void)
{
	struct fm_cpu_list allowed;
	struct fm_error error;

	assert_int_equal(fm_cpu_list_allowed(&allowed, &error), 0);
	return allowed.cpu[allowed.count - 1];
}

static void pause_ms(unsigned milliseconds)
{
	usleep(milliseconds * 1000);
}

static uint64_t accesses_within(struct fm_takers *takers, unsigned index, unsigned milliseconds)
{
	uint64_t before = fm_takers_work(takers, index).accesses;

	pause_ms(milliseconds);
	return fm_takers_work(takers, index).accesses - before;
}

static void follow_what_they_are_told(void **state)
{
	struct fm_taker_wish wishes[] = {{FM_TAKER_STORAGE, last_cpu(), 2 * MIB},
	                                 {FM_TAKER_BANDWIDTH, last_cpu(), MIB / 2}};
	const struct fm_taker_setting on = {.on = true}, off = {0}, slow = {.on = true, .rate = 2e5, .bytes = MIB};
	struct fm_takers *takers;
	struct fm_taker_work before, after;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_takers_start(wishes, 2, &takers, &error), 0);
	assert_int_equal(fm_takers_settle(takers, 5), 0);
	assert_int_equal(accesses_within(takers, 0, 20), 0);
	for (unsigned i = 0; i < 2; i++) {
		fm_takers_set(takers, i, &on);
		assert_int_equal(fm_takers_settle(takers, 5), 0);
		assert_true(accesses_within(takers, i, 50) > FM_TAKER_BATCH);
		fm_takers_set(takers, i, &off);
		assert_int_equal(fm_takers_settle(takers, 5), 0);
		assert_int_equal(accesses_within(takers, i, 20), 0);
	}
	/* a rate is kept while it is on; somebody else may have had the CPU, so never more, and not nothing */
	fm_takers_set(takers, 0, &slow);
	assert_int_equal(fm_takers_settle(takers, 5), 0);
	before = fm_takers_work(takers, 0);
	pause_ms(200);
	after = fm_takers_work(takers, 0);
	assert_true(after.accesses > before.accesses);
	assert_true((double)(after.accesses - before.accesses) <
	            1.1 * 2e5 * (double)(after.on_ns - before.on_ns) * 1e-9 + 2 * FM_TAKER_BATCH);
	assert_true(fm_takers_alive(takers));
	fm_takers_stop(takers);
}

/* From one setting to the next in less than a millisecond, in most of many tries: others may have the CPU. */
static void toggle_quickly(void **state)
{
	struct fm_taker_wish wish = {FM_TAKER_STORAGE, last_cpu(), MIB};
	struct fm_takers *takers;
	struct fm_error error;
	unsigned quick = 0;
	enum { TRIES = 200 };

	(void)state;
	assert_int_equal(fm_takers_start(&wish, 1, &takers, &error), 0);
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t begin = fm_clock_now();

		fm_takers_set(takers, 0, &(struct fm_taker_setting){.on = i % 2 == 0});
		assert_int_equal(fm_takers_settle(takers, 5), 0);
		quick += fm_clock_now() - begin < 1000000;
	}
	fm_takers_stop(takers);
	if (quick < TRIES / 2) {
		printf("SKIPPED: the CPU is in use by others, %u of %d changes within a millisecond\n", quick, TRIES);
		skip();
	}
	print_message("%u of %d changes within a millisecond\n", quick, TRIES);
}

static void refuse_what_is_not_free(void **state)
{
	struct fm_taker_wish wish = {FM_TAKER_STORAGE, last_cpu(), fm_memory_available()};
	struct fm_takers *takers;
	struct fm_error error;
	struct rlimit limit, before;

	(void)state;
	assert_int_equal(fm_takers_start(&wish, 1, &takers, &error), -ENOMEM);
	assert_non_null(strstr(error.message, "available"));
	wish.bytes = MIB;
	wish.cpu = FM_CPUS_MAX + 7;
	assert_int_equal(fm_takers_start(&wish, 1, &takers, &error), -EINVAL);
	assert_int_equal(fm_takers_start(&wish, 0, &takers, &error), -EINVAL);
	if (SANITIZED || THREADS_SANITIZED)
		return;
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	limit = before;
	limit.rlim_cur = 256 * MIB;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	assert_int_equal(fm_takers_check_memory(300 * MIB, &error), -ENOMEM);
	assert_non_null(strstr(error.message, "ulimit"));
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

/* The tool is killed; its takers are gone at once. They are seen because this process inherits orphans. */
static void end_with_the_tool(void **state)
{
	int ends[2];
	pid_t tool, helper;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe(ends), 0);
	tool = fork();
	if (!tool) {
		struct fm_taker_wish wish = {FM_TAKER_STORAGE, last_cpu(), MIB};
		struct fm_takers *takers;
		struct fm_error error;

		if (fm_takers_start(&wish, 1, &takers, &error))
			_exit(1);
		fm_takers_set(takers, 0, &(struct fm_taker_setting){.on = true});
		helper = fm_takers_process(takers);
		if (write(ends[1], &helper, sizeof(helper)) != sizeof(helper))
			_exit(1);
		pause();
	}
	assert_int_equal(read(ends[0], &helper, sizeof(helper)), sizeof(helper));
	assert_int_equal(kill(helper, 0), 0);
	assert_int_equal(kill(tool, SIGKILL), 0);
	assert_int_equal(waitpid(tool, NULL, 0), tool);
	/* ours now; it ends by itself */
	assert_int_equal(waitpid(helper, NULL, 0), helper);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
	close(ends[0]);
	close(ends[1]);
}

static void say_when_they_are_gone(void **state)
{
	struct fm_taker_wish wish = {FM_TAKER_BANDWIDTH, last_cpu(), MIB};
	struct fm_takers *takers;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_takers_start(&wish, 1, &takers, &error), 0);
	assert_int_equal(kill(fm_takers_process(takers), SIGKILL), 0);
	fm_takers_set(takers, 0, &(struct fm_taker_setting){.on = true});
	assert_int_equal(fm_takers_settle(takers, 0.2), -ESRCH);
	assert_false(fm_takers_alive(takers));
	fm_takers_stop(takers);
}

/* CPUs: two hardware threads to a core, four cores to a cache. */
static void make_machine(struct fm_cpu_place *places, struct fm_busy *busy, unsigned cpus)
{
	busy->count = cpus;
	for (unsigned i = 0; i < cpus; i++) {
		places[i] =
		    (struct fm_cpu_place){.cpu = i, .core = i / 2 * 2, .cache = i / 8 * 8, .node = 0, .kib = 100};
		busy->cpus[i].cpu = i;
		busy->cpus[i].core = i / 2 * 2;
		busy->cpus[i].share = 0;
	}
}

static void places_beside_the_program(void **state)
{
	static struct fm_busy busy;
	static struct fm_taker_places chosen;
	struct fm_cpu_place places[16];
	struct fm_error error;

	(void)state;
	make_machine(places, &busy, 16);
	/* pinned to one hardware thread: not on the other, not in the other cache */
	assert_int_equal(fm_taker_places_choose(places, 16, &busy, &(struct fm_cpu_list){1, {2}}, 8, &chosen, &error),
	                 0);
	assert_int_equal(chosen.count, 3);
	assert_true(chosen.shares_cache);
	for (unsigned i = 0; i < chosen.count; i++)
		assert_true(chosen.cpu[i] < 8 && chosen.cpu[i] / 2 != 1);
	/* a CPU in use is avoided */
	busy.cpus[0].share = 0.9;
	busy.cpus[1].share = 0.9;
	assert_int_equal(fm_taker_places_choose(places, 16, &busy, &(struct fm_cpu_list){1, {2}}, 8, &chosen, &error),
	                 0);
	assert_int_equal(chosen.count, 2);
	assert_string_equal(chosen.remark, "");
	/* … or named, when there is no other */
	assert_int_equal(fm_taker_places_choose(places, 4, &busy, &(struct fm_cpu_list){1, {2}}, 8, &chosen, &error),
	                 0);
	assert_int_equal(chosen.count, 1);
	assert_non_null(strstr(chosen.remark, "CPU 0 is in use by others (90 %"));
	/* not pinned: the program gets the quietest */
	assert_int_equal(fm_taker_places_choose(places, 4, &busy, &(struct fm_cpu_list){0}, 8, &chosen, &error), 0);
	assert_int_equal(chosen.program.cpu[0] / 2, 1);
	/* no cache is shared: elsewhere on the node, and it says so */
	places[1] = places[8];
	assert_int_equal(fm_taker_places_choose(places, 2, &busy, &(struct fm_cpu_list){1, {0}}, 8, &chosen, &error),
	                 0);
	assert_false(chosen.shares_cache);
	assert_int_equal(chosen.cpu[0], 8);
	/* none left */
	make_machine(places, &busy, 16);
	assert_int_equal(fm_taker_places_choose(places, 2, &busy, &(struct fm_cpu_list){1, {0}}, 8, &chosen, &error),
	                 -ENOTSUP);
	assert_non_null(strstr(error.message, "--machine"));
	assert_int_equal(fm_taker_places_choose(places, 4, &busy, &(struct fm_cpu_list){2, {0, 2}}, 8, &chosen, &error),
	                 -ENOTSUP);
	assert_int_equal(fm_taker_places_choose(places, 2, &busy, &(struct fm_cpu_list){1, {9}}, 8, &chosen, &error),
	                 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(follow_what_they_are_told), cmocka_unit_test(toggle_quickly),
	    cmocka_unit_test(refuse_what_is_not_free),   cmocka_unit_test(end_with_the_tool),
	    cmocka_unit_test(say_when_they_are_gone),    cmocka_unit_test(places_beside_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
