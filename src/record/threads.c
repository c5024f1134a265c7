#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "preload/next.h"
#include "record/burst.h"
#include "record/costs.h"
#include "record/log.h"
#include "record/threads.h"
#include "record/timer.h"
#include "preload/x86_64/registers.h"

static pthread_key_t ending; /* whose destructor tells the end of a thread */
static bool is_open;
static uint32_t thread_count;
static size_t local_bytes; /* thread-local variables of what is there from the beginning */

/* Threads that live, by the kernel's numbers; 0: a free place. With more of them the sum is not known. */
enum { LIVING = 4096 };
static uint32_t living[LIVING];
static uint32_t living_end; /* no later place was ever used */
static uint32_t too_many;

static void note_living(uint32_t thread, uint32_t instead)
{
	for (unsigned i = 0; i < LIVING; i++) {
		uint32_t expected = instead;

		uint32_t end = __atomic_load_n(&living_end, __ATOMIC_RELAXED);

		if (__atomic_load_n(&living[i], __ATOMIC_RELAXED) != instead ||
		    !__atomic_compare_exchange_n(&living[i], &expected, thread, false, __ATOMIC_RELAXED,
		                                 __ATOMIC_RELAXED))
			continue;
		while (end <= i && !__atomic_compare_exchange_n(&living_end, &end, i + 1, false, __ATOMIC_RELEASE,
		                                                __ATOMIC_RELAXED))
			;
		return;
	}
	too_many = 1;
}

void fm_threads_sum_up(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < __atomic_load_n(&living_end, __ATOMIC_ACQUIRE); i++) {
		uint32_t thread = __atomic_load_n(&living[i], __ATOMIC_RELAXED);

		if (thread)
			sum += fm_clock_ns(FM_CLOCK_OF_THREAD(thread));
	}
	sum += __atomic_load_n(&fm_process->threads_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&fm_process->threads_ns, too_many ? 0 : sum, __ATOMIC_RELAXED);
}

void fm_thread_begin(bool main_thread, unsigned long stack_bytes)
{
	struct fm_stream_thread thread = {0};
	uint64_t pointer = fm_thread_pointer();

	if (!fm_is_alive())
		return;
	fm_self_enter();
	fm_self.number = __atomic_add_fetch(&thread_count, 1, __ATOMIC_RELAXED);
	fm_self.process = fm_process->process;
	fm_self.ended = 0;
	fm_self.until_tracked = 0;
	fm_self.random = fm_ticks() * 0x9e3779b97f4a7c15u ^ fm_self.number;
	thread.id = (uint32_t)fm_thread_id();
	note_living(thread.id, 0);
	fm_system_call(SYS_prctl, PR_GET_NAME, (long)thread.name, 0, 0, 0, 0);
	if (stack_bytes) {
		thread.stack_end = pointer;
		thread.stack_begin = pointer - stack_bytes;
	}
	thread.local_begin = pointer - local_bytes;
	thread.local_end = pointer;
	fm_log_write(FM_STREAM_THREAD, &thread, sizeof(thread));
	if (fm_session->sampling && !fm_timer_start(main_thread))
		fm_timer_arm(fm_costs_period());
	fm_self_leave();
}

/* Threads get their names after they have begun. */
void fm_thread_name(void)
{
	struct fm_stream_thread thread = {.id = (uint32_t)fm_thread_id()};

	if (fm_self.ended || !fm_self.number)
		return;
	fm_system_call(SYS_prctl, PR_GET_NAME, (long)thread.name, 0, 0, 0, 0);
	fm_log_write(FM_STREAM_THREAD, &thread, sizeof(thread));
}

void fm_thread_end(void)
{
	uint32_t own = (uint32_t)fm_thread_id();

	if (!fm_is_alive() || fm_self.ended)
		return;
	fm_self_enter();
	fm_timer_stop();
	fm_burst_end_watches();
	fm_thread_name();
	fm_log_write(FM_STREAM_THREAD_END, "", 0);
	note_living(0, own);
	__atomic_fetch_add(&fm_process->threads_ns, fm_clock_ns(FM_CLOCK_OF_THREAD(own)), __ATOMIC_RELAXED);
	fm_self.ended = 1;
	fm_log_end_thread();
	fm_burst_end_thread();
	fm_self_leave();
}

static void at_end(void *value)
{
	(void)value;
	fm_thread_end();
}

/* What a new thread needs. Not from the heap: if a thread only frees memory, the C library gives it an arena of its
   own, and each fork() then copies these arenas. More starts at the same moment than there are places use the heap. */
struct start {
	void *(*routine)(void *);
	void *argument;
	size_t stack_bytes;
	uint32_t taken;
};
static struct start starts[64];

static struct start *take_start(void)
{
	struct start *start;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!__atomic_exchange_n(&starts[i].taken, 1, __ATOMIC_ACQUIRE))
			return &starts[i];
	fm_self_enter();
	start = malloc(sizeof(*start));
	fm_self_leave();
	return start;
}

static void release_start(struct start *start)
{
	if (start >= starts && start < starts + sizeof(starts) / sizeof(starts[0])) {
		__atomic_store_n(&start->taken, 0, __ATOMIC_RELEASE);
		return;
	}
	fm_self_enter();
	free(start);
	fm_self_leave();
}

void fm_threads_forked(void)
{
	memset(starts, 0, sizeof(starts));
	/* only pages that were used: others need not be copied */
	memset(living, 0, living_end * sizeof(living[0]));
	living_end = too_many = 0;
}

static void *begin(void *pointer)
{
	struct start start = *(struct start *)pointer;

	release_start(pointer);
	fm_thread_begin(false, start.stack_bytes);
	pthread_setspecific(ending, &ending);
	return start.routine(start.argument);
}

EXPORTED int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                            void *(*routine)(void *), void *restrict argument)
{
	struct start *start;
	int error;

	fm_next_find();
	if (!is_open || !fm_is_alive() || fm_session->stop)
		return fm_next.pthread_create(thread, attributes, routine, argument);
	start = take_start();
	if (!start)
		return fm_next.pthread_create(thread, attributes, routine, argument);
	start->routine = routine;
	start->argument = argument;
	start->stack_bytes = 8 << 20;
	if (attributes)
		pthread_attr_getstacksize(attributes, &start->stack_bytes);
	error = fm_next.pthread_create(thread, attributes, begin, start);
	if (error)
		release_start(start);
	return error;
}

static int add_local(struct dl_phdr_info *information, size_t size, void *context)
{
	(void)size;
	(void)context;
	for (unsigned i = 0; i < information->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &information->dlpi_phdr[i];

		if (header->p_type == PT_TLS && header->p_align)
			local_bytes += (header->p_memsz + header->p_align - 1) & ~(header->p_align - 1);
	}
	return 0;
}

int fm_threads_open(void)
{
	int error = pthread_key_create(&ending, at_end);

	if (error)
		return -error;
	dl_iterate_phdr(add_local, NULL);
	is_open = true;
	return 0;
}
