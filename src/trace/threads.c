#include "trace/threads.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

#include "preload/next.h"
#include "trace/rest.h"
#include "trace/ring.h"
#include "trace/signals.h"
#include "trace/opening.h"

static __thread struct fm_place *own __attribute__((tls_model("initial-exec")));

/* A forked child that nobody has told of it yet has its parent's place, which it must be able to settle. */
struct fm_place *fm_place_own(void)
{
	return own && (own->thread == fm_thread_id() || !fm_is_alive()) ? own : NULL;
}

/* No lock: a child of fork() may find any state. */
static struct fm_place *take_place(void)
{
	for (uint32_t i = 0; i < FM_TRACE_THREADS; i++) {
		struct fm_place *place = &fm_places[i];

		if (__atomic_exchange_n(&place->taken, 1, __ATOMIC_ACQUIRE))
			continue;
		place->number = i;
		if (fm_ring_take(place)) {
			place->region_depth = 0;
			place->epoch = 0;
			place->resting = false;
			place->current = fm_place_usual(place);
			if (fm_place_translator(place))
				return place;
			fm_ring_release(place);
			__atomic_store_n(&place->taken, 0, __ATOMIC_RELEASE);
			break;
		}
		__atomic_store_n(&place->taken, 0, __ATOMIC_RELEASE);
	}
	fm_add(&fm_head()->native_threads, 1);
	return NULL;
}

static void begin_in(struct fm_place *place)
{
	uint64_t mask = fm_block_all();
	struct fm_translator *translator;

	place->thread = fm_thread_id();
	place->depth = place->deferred_count = 0;
	fm_place_begin(place);
	fm_signals_begin_ticks(place);
	own = place;
	fm_rest_tick(place); /* threads that are too short for ticks */
	if (fm_rest_is_due(place)) {
		fm_rest_begin(place);
		place->wanted = true;
		fm_change_mask(mask & ~FM_TICK_BIT);
		return;
	}
	if (!fm_rest_is_near())
		fm_window_begin_early(place);
	translator = fm_place_translator(place);
	if (!translator) {
		fm_place_end(place);
		fm_change_mask(mask);
		return;
	}
	place->wanted = true;
	fm_change_mask(mask & ~FM_TICK_BIT);
	fm_translator_enter(translator);
}

/* Also when the thread ends by pthread_exit() or is cancelled; what the C library does after that runs natively. */
static void end_thread(void *memory)
{
	struct fm_place *place = memory;
	int error = errno;
	uint64_t mask;

	place->wanted = false; /* from here on no tick brings it back */
	fm_translator_leave();
	mask = fm_block_all();
	fm_signals_end_ticks(place);
	fm_place_end(place);
	own = NULL;
	__atomic_store_n(&place->taken, 0, __ATOMIC_RELEASE);
	fm_change_mask(mask);
	errno = error;
}

/* The first thread ends, and others go on. */
static void end_first(void *memory)
{
	if (memory == own)
		end_thread(memory);
}

void fm_traced_thread_begin(void)
{
	struct fm_place *place = take_place();
	pthread_key_t ending;

	if (!place) {
		fm_head()->error = ENOMEM;
		return;
	}
	if (!pthread_key_create(&ending, end_first))
		pthread_setspecific(ending, place);
	begin_in(place);
}

static void *run(void *memory)
{
	struct fm_place *place = memory;
	void *result;

	pthread_cleanup_push(end_thread, place);
	begin_in(place);
	result = place->routine(place->argument);
	pthread_cleanup_pop(1);
	return result;
}

EXPORTED int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                            void *(*routine)(void *), void *restrict argument)
{
	struct fm_place *place = NULL;
	int error;

	fm_next_find();
	if (fm_is_alive() && !fm_stopped && !fm_session->stop)
		place = take_place();
	if (!place)
		return fm_next.pthread_create(thread, attributes, routine, argument);
	place->routine = routine;
	place->argument = argument;
	error = fm_next.pthread_create(thread, attributes, run, place);
	if (error) {
		fm_ring_release(place);
		__atomic_store_n(&place->taken, 0, __ATOMIC_RELEASE);
	}
	return error;
}

/* The C library's own is made of pthread_create() too, but not of ours. */
EXPORTED int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
	int error = pthread_create(thread, NULL, (void *(*)(void *))(void (*)(void))routine, argument);

	return !error ? thrd_success : error == ENOMEM ? thrd_nomem : thrd_error;
}

/* Other threads may have been anywhere, in the middle of a translation too: theirs are thrown away. */
static void forget_others(void)
{
	for (struct fm_place *place = fm_places; place < fm_places + FM_TRACE_THREADS; place++) {
		struct fm_translator *translators[FM_TRANSLATORS];

		if (place == own)
			continue;
		memcpy(translators, place->translators, sizeof(translators));
		for (unsigned i = 0; i < FM_TRANSLATORS; i++)
			fm_counters_close(&place->counters[i]);
		memset(place, 0, sizeof(*place));
		for (unsigned i = 0; i < FM_TRANSLATORS; i++)
			fm_translator_destroy(translators[i]);
	}
}

bool fm_traced_threads_forked(void)
{
	forget_others();
	if (!own) {
		own = take_place();
		if (!own)
			return false;
		own->depth = 0;
		own->wanted = true;
	}
	own->thread = fm_thread_id();
	own->reserved = own->begun = false;
	own->large = 0;
	own->publishing = 0;
	own->deferred_count = 0;
	for (unsigned i = 0; i < FM_TRANSLATORS; i++) {
		if (!own->translators[i] || !own->counters[i].now)
			continue;
		for (uint32_t k = 0; k < fm_head()->piece_count; k++)
			fm_counters_take(&own->counters[i], k);
		own->translator_ticks[i] = fm_translator_ticks(own->translators[i]);
	}
	if (!own->wanted || !fm_ring_take(own)) {
		own->wanted = false;
		own = NULL;
		fm_add(&fm_head()->native_threads, 1);
		return false;
	}
	fm_place_begin(own);
	fm_signals_begin_ticks(own);
	return true;
}

void fm_threads_abandon(void)
{
	if (own)
		own->wanted = own->begun = false;
	own = NULL;
}

struct fm_place *fm_thread_step_out(uint64_t *ret_mask)
{
	struct fm_place *place = fm_place_own();

	if (!place)
		return NULL;
	place->stepped_out++;
	fm_translator_leave();
	*ret_mask = fm_block_all();
	return place;
}

void fm_thread_return(struct fm_place *place, uint64_t mask)
{
	struct fm_translator *translator = NULL;

	place->stepped_out--;
	if (place->wanted && !place->depth && !place->stepped_out)
		translator = fm_place_translator(place);
	fm_change_mask(mask);
	if (translator)
		fm_translator_enter(translator);
}
