/* Begins and ends tracing in a process: the library is preloaded, and this is what runs first. */
#include "trace/runtime.h"

#include <errno.h>
#include <pthread.h>

#include "trace/allocations.h"
#include "trace/laboratory.h"
#include "trace/numbers.h"
#include "trace/place.h"
#include "trace/rest.h"
#include "trace/ring.h"
#include "trace/signals.h"
#include "trace/threads.h"
#include "trace/opening.h"
#include "preload/next.h"

enum { STOP_NS = 1000000, STOP_PATIENCE = 100 };

static void in_child(void)
{
	struct fm_translator *translator = NULL;
	struct fm_place *place;
	int error = errno;
	uint64_t mask;

	fm_translator_leave();
	mask = fm_block_all();
	if (!fm_session->children || fm_session->stop || fm_stopped || fm_file_forked()) {
		fm_threads_abandon();
	} else {
		fm_rings_forked();
		fm_numbers_forked();
		fm_allocations_forked();
		fm_places_forked();
		fm_opening_prepare();
		fm_rest_prepare();
		fm_laboratory_prepare();
		fm_traced_threads_forked();
	}
	place = fm_place_own();
	if (place && place->wanted && !place->depth)
		translator = fm_place_translator(place);
	fm_change_mask(mask);
	errno = error;
	if (translator)
		fm_translator_enter(translator);
}

static int set_up(void)
{
	int error = fm_numbers_open();

	if (!error)
		error = fm_handlers_open();
	if (!error)
		error = -pthread_atfork(NULL, NULL, in_child);
	return error;
}

__attribute__((constructor(101))) static void begin(void)
{
	int error = errno, problem;

	fm_next_find();
	if (!fm_file_open()) {
		if (!fm_session->children)
			fm_folder_hide(FM_TRACE_VARIABLE);
		problem = set_up();
		if (problem) {
			fm_head()->error = -problem;
			fm_alive_set(false);
		} else {
			fm_allocations_open();
			fm_opening_prepare();
			fm_rest_prepare();
			fm_laboratory_prepare();
			fm_traced_thread_begin();
		}
	}
	errno = error;
}

static void publish_all(void)
{
	for (struct fm_place *place = fm_places; place < fm_places + FM_TRACE_THREADS; place++)
		if (__atomic_load_n(&place->taken, __ATOMIC_ACQUIRE))
			fm_place_publish(place);
	fm_file_clock();
}

void fm_runtime_publish(void)
{
	publish_all();
	fm_head()->ended = fm_ticks();
}

void fm_runtime_go_on(void)
{
	fm_head()->ended = 0;
}

void fm_runtime_end(void)
{
	struct fm_place *place = fm_place_own();

	if (!fm_is_alive())
		return;
	fm_stopped = 1;
	if (place)
		fm_place_end(place);
	publish_all();
	fm_head()->ended = fm_ticks();
	fm_alive_set(false);
	__atomic_fetch_add(&fm_session->published, 1, __ATOMIC_RELEASE);
	fm_wake(&fm_session->published);
}

/* Where every reference is logged, the thread stays in the cache up to its last system call, which is seen. */
__attribute__((destructor(101))) static void end(void)
{
	struct fm_place *place;
	uint64_t mask;

	if (!fm_is_alive() || fm_process_id() != (pid_t)fm_head()->process)
		return;
	place = fm_thread_step_out(&mask);
	if (place && place->wanted && !place->depth && place->current == FM_LOGGING &&
	    fm_session->mode == FM_TRACE_EXACT)
		fm_runtime_publish();
	else
		fm_runtime_end();
	if (place)
		fm_thread_return(place, mask);
}

/* Threads that sleep in a system call are woken for it. */
static void stop_others(const struct fm_place *own)
{
	for (struct fm_place *place = fm_places; place < fm_places + FM_TRACE_THREADS; place++) {
		if (place == own || !place->begun)
			continue;
		fm_signals_poke(place);
		for (unsigned i = 0; i < STOP_PATIENCE && place->begun; i++) {
			struct timespec pause = {0, STOP_NS};

			fm_system_call(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
		}
	}
}

static void stop_for_good(struct fm_place *place)
{
	fm_stopped = 1;
	if (place)
		fm_place_end(place);
	stop_others(place);
	for (struct fm_place *other = fm_places; other < fm_places + FM_TRACE_THREADS; other++)
		if (other->taken)
			fm_signals_end_ticks(other);
	publish_all();
	fm_head()->filtered = 1;
	fm_folder_hide(FM_TRACE_VARIABLE);
	fm_handlers_close();
	fm_alive_set(false);
}

void fm_runtime_stop_for_good(void)
{
	struct fm_place *place;
	uint64_t mask;

	if (!fm_is_alive() || fm_process_id() != (pid_t)fm_head()->process)
		return;
	place = fm_thread_step_out(&mask);
	stop_for_good(place);
	if (place)
		fm_thread_return(place, mask);
}

void fm_runtime_stop_before_filter(struct fm_place *place)
{
	if (fm_is_alive() && fm_process_id() == (pid_t)fm_head()->process)
		stop_for_good(place);
}
