/* What the scheduler says of threads, and which instructions are atomic. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/account/x86_64/locked.h"
#include "base/schedule.h"

static void lines_are_read(void **state)
{
	double ran, delayed;

	(void)state;
	assert_true(fm_schedule_parse("1500000000 250000000 12\n", &ran, &delayed));
	assert_near(ran, 1.5, 1e-12);
	assert_near(delayed, 0.25, 1e-12);
	assert_false(fm_schedule_parse("", &ran, &delayed));
	assert_false(fm_schedule_parse("12", &ran, &delayed));
	assert_false(fm_schedule_parse("a b", &ran, &delayed));
}

static void *sleep_briefly(void *context)
{
	(void)context;
	usleep(50000);
	return NULL;
}

/* A thread that sleeps is there, does not run, and does not wait for a processor. */
static void threads_are_found(void **state)
{
	static struct fm_scheduled threads[FM_SCHEDULED_MAX];
	struct fm_schedule *schedule = fm_schedule_begin(getpid());
	pthread_t thread;
	unsigned count;

	(void)state;
	assert_non_null(schedule);
	assert_int_equal(pthread_create(&thread, NULL, sleep_briefly, NULL), 0);
	pthread_join(thread, NULL);
	count = fm_schedule_end(schedule, threads);
	if (!count) {
		print_message("there is no schedstat here\n");
		skip();
	}
	/* this one, the one that looks, and perhaps the one that slept */
	assert_in_range(count, 1, 3);
	assert_int_equal(threads[0].thread, getpid());
	for (unsigned i = 0; i < count; i++)
		assert_true(threads[i].lived >= threads[i].ran + threads[i].delayed);
	assert_int_equal(fm_schedule_end(NULL, threads), 0);
}

/* A shell that starts it, the program, and what that starts. */
static void busiest_process_is_left(void **state)
{
	struct fm_scheduled threads[] = {{.process = 1, .thread = 1, .ran = 0.1},
	                                 {.process = 2, .thread = 2, .ran = 0.2},
	                                 {.process = 2, .thread = 4, .ran = 0.3},
	                                 {.process = 3, .thread = 3, .ran = 0.4}};

	(void)state;
	assert_int_equal(fm_schedule_busiest(threads, 4), 2);
	assert_int_equal(threads[0].thread, 2);
	assert_int_equal(threads[1].thread, 4);
	assert_int_equal(fm_schedule_busiest(threads, 0), 0);
}

/* Processes that are made are found with their threads; what a process did before is not its own. */
static void children_are_found(void **state)
{
	static struct fm_scheduled threads[FM_SCHEDULED_MAX];
	pid_t child = fork(), grandchild = 0;
	struct fm_schedule *schedule;
	bool found = false;
	unsigned count;

	(void)state;
	assert_true(child >= 0);
	if (!child) {
		grandchild = fork();
		if (!grandchild)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!grandchild)
			for (volatile unsigned long i = 0;; i++)
				;
		pause();
		_exit(0);
	}
	schedule = fm_schedule_begin(child);
	assert_non_null(schedule);
	usleep(200000);
	count = fm_schedule_end(schedule, threads);
	for (unsigned i = 0; i < count; i++)
		if (threads[i].process != child) {
			found = true;
			kill(threads[i].process, SIGKILL);
		}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (!count || !found) {
		print_message("there is no schedstat here, or no list of children\n");
		skip();
	}
	assert_int_equal(count, 2);
	assert_int_equal(threads[0].process, child);
	assert_true(threads[0].ran < 0.1);
}

static void atomic_instructions_are_known(void **state)
{
	static const struct {
		unsigned char bytes[8];
		unsigned count;
		bool locked;
	} cases[] = {
	    {{0xf0, 0x48, 0xff, 0x00}, 4, true},        /* lock incq (%rax) */
	    {{0xf0, 0x0f, 0xb1, 0x0a}, 4, true},        /* lock cmpxchg %ecx, (%rdx) */
	    {{0x66, 0xf0, 0x0f, 0xc1, 0x07}, 5, true},  /* lock xadd %ax, (%rdi) */
	    {{0x87, 0x07}, 2, true},                    /* xchg %eax, (%rdi) */
	    {{0x48, 0x87, 0x07}, 3, true},              /* xchg %rax, (%rdi) */
	    {{0x86, 0x07}, 2, true},                    /* xchg %al, (%rdi) */
	    {{0x48, 0xff, 0x00}, 3, false},             /* incq (%rax) */
	    {{0x48, 0x89, 0x07}, 3, false},             /* mov %rax, (%rdi) */
	    {{0x0f, 0xb1, 0x0a}, 3, false},             /* cmpxchg without lock */
	    {{0xf3, 0x48, 0xab}, 3, false},             /* rep stos */
	    {{0x64, 0x48, 0x89, 0x04, 0x25}, 5, false}, /* to %fs */
	    {{0x48}, 1, false},
	    {{0}, 0, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(fm_is_locked(cases[i].bytes, cases[i].count), cases[i].locked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_are_read),
	    cmocka_unit_test(busiest_process_is_left),
	    cmocka_unit_test(children_are_found),
	    cmocka_unit_test(threads_are_found),
	    cmocka_unit_test(atomic_instructions_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
