/* The queue between a program and the simulator beside it, without QEMU: everything arrives once, in order, and has
   arrived when it was drained. */
#include "check.h"

#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/qemu/accesses.h"
#include "engine/qemu/queue.h"
#include "engine/qemu/state.h"

enum { ROUNDS = 40, MOST = 3 * FM_QUEUE_LENGTH };

struct fm_engine fm_engine;

static struct fm_account account;

/* written by the simulating thread, read by the test after a drain */
static uint64_t arrived, disorder;

void fm_engine_simulate(struct fm_engine_side *side, const struct fm_queued *accesses, size_t count)
{
	(void)side;
	for (size_t i = 0; i < count; i++) {
		disorder += fm_queued_address(&accesses[i]) != (arrived & 0xffffffffffffu) ||
		            fm_queued_bytes(&accesses[i]) != 1 + arrived % 64 ||
		            fm_queued_access(&accesses[i]) != arrived % 3;
		arrived++;
	}
}

static struct fm_engine_thread thread;

static void push(struct fm_queue *queue, uint64_t first, unsigned count)
{
	for (uint64_t i = first; i < first + count; i++)
		fm_queue_push(queue, NULL, i, 1 + i % 64, i % 3);
}

static void begin(void)
{
	fm_engine.account = &account;
	if (!account.results)
		account.results = calloc(1, sizeof(*account.results));
	assert_non_null(account.results);
	fm_queue_begin(&thread);
	if (!fm_queue_active()) {
		print_message("SKIPPED: there is one processor only\n");
		skip();
	}
}

static void everything_arrives_in_order(void **state)
{
	uint64_t pushed = 0;

	(void)state;
	begin();
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned count = 1 + round * 7919 % MOST;

		/* long enough for the other side to fall asleep */
		if (round % 8 == 7)
			nanosleep(&(struct timespec){0, 20000000}, NULL);
		push(fm_queue_active(), pushed, count);
		pushed += count;
		fm_queue_drain();
		assert_int_equal(arrived, pushed);
	}
	assert_int_equal(disorder, 0);
	fm_queue_end();
	assert_null(fm_queue_active());
}

/* What is not handed over yet is worked off too, should the program do nothing for long. */
static void the_rest_is_looked_for(void **state)
{
	uint64_t before;

	(void)state;
	begin();
	before = atomic_load(&account.results->queue.read);
	push(fm_queue_active(), before, 5);
	for (unsigned i = 0; i < 2000 && atomic_load(&account.results->queue.read) != before + 5; i++)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	assert_int_equal(atomic_load(&account.results->queue.read), before + 5);
	fm_queue_end();
	assert_int_equal(disorder, 0);
}

/* A forked child has no thread beside it; it gets one of its own. */
static void a_child_has_its_own(void **state)
{
	int status;
	pid_t child;

	(void)state;
	if (THREADS_SANITIZED) /* it knows no threads of a forked child; the other builds check this */
		return;
	begin();
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		fm_queue_after_fork();
		arrived = disorder = 0;
		fm_queue_begin(&thread);
		if (!fm_queue_active())
			_exit(1);
		push(fm_queue_active(), 0, 10000);
		fm_queue_drain();
		_exit(arrived == 10000 && !disorder ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fm_queue_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(everything_arrives_in_order),
	    cmocka_unit_test(the_rest_is_looked_for),
	    cmocka_unit_test(a_child_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
