#include "engine/trace/map.h"
#include "engine/trace/consumer.h"

#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/processor.h"
#include "simulator/numbers.h"
#include "engine/account/places.h"
#include "engine/account/room.h"
#include "engine/trace/allocations.h"
#include "engine/trace/beside.h"
#include "engine/trace/curve.h"
#include "engine/trace/large.h"
#include "engine/trace/pace.h"
#include "engine/trace/positions.h"
#include "engine/trace/timings.h"
#include "engine/trace/rest_pace.h"
#include "engine/trace/piece_times.h"
#include "engine/trace/seen.h"
#include "engine/trace/state.h"
#include "engine/trace/tuning.h"
#include "engine/threads.h"

enum {
	STEP = 2048, /* entries until the writer learns of the room */
	NOTE_TIME = 16 * STEP,
	LEAST = 16,
	SLICE = 256, /* of one thread while there are others */
	UNSETTLED_MAX = 1 << 30,
	LOOK_EVERY = 16,       /* turns, with programs beside it */
	BESIDE_MOST = 1 << 16, /* turns between two looks at whether the program has ended */
	SPINS = 2000,
	YIELD_EVERY = 64,
	NAP_NS = 2000000,
	POLITE_READ = 1 << 14, /* entries, then it looks whether the program rests */
	HELD_OFF_NS = 20000000,
	HELD_OFF_MOST = 100, /* times, then it looks whether there is a process */
};

/* Threads. A core may be several threads': what it counts belongs to the one that was fed last. */

static void leave_core(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_result_thread *record = thread->record;

	fm_timing_leave_core(consumer, thread);
	fm_traced_regions_leave_core(consumer, thread);
	fm_numbers_add(&record->before_moves, &thread->side.core->counts, sizeof(record->at_begin));
	fm_numbers_subtract(&record->before_moves, &record->at_begin, sizeof(record->at_begin));
	record->away = 1;
}

static void own_core(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_traced_thread **owner = &consumer->owners[thread->side.core->index];

	if (*owner == thread)
		return;
	if (*owner)
		leave_core(consumer, *owner);
	*owner = thread;
	if (thread->record->away) {
		thread->record->at_begin = thread->side.core->counts;
		thread->record->away = 0;
		fm_timing_enter_core(consumer, thread);
		fm_traced_regions_enter_core(consumer, thread);
	}
}

static unsigned choose_core(const struct fm_consumer *consumer, struct fm_result_thread *record)
{
	for (unsigned i = 0; i < consumer->core_list_count; i++)
		if (!consumer->core_users[consumer->core_list[i]])
			return consumer->core_list[i];
	record->shares_core = 1;
	return consumer->core_list_count ? consumer->core_list[consumer->threads_begun % consumer->core_list_count] : 0;
}

/* In the table, for good; when that is full, one that is used again after the thread's end. */
static struct fm_result_thread *find_record(const struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_results *results = consumer->account->results;
	struct fm_result_thread *record = &results->threads[results->thread_count];

	if (consumer->threads_begun == results->thread_count && results->thread_count < FM_RESULT_THREADS_MAX &&
	    fm_room_claim(&consumer->account->room, record, sizeof(*record))) {
		results->thread_count++;
		return record;
	}
	memset(&thread->own, 0, sizeof(thread->own));
	return &thread->own;
}

static void thread_begin(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t id)
{
	struct fm_result_thread *record;
	struct fm_simulated_core *core;

	if (!thread->pieces) {
		thread->pieces = calloc(FM_TRACE_PIECES, sizeof(*thread->pieces));
		thread->touched = calloc(FM_TRACE_PIECES + 1, sizeof(*thread->touched));
	}
	record = find_record(consumer, thread);
	record->host_thread = (uint32_t)id;
	record->core = choose_core(consumer, record);
	core = fm_hierarchy_core(consumer->account->hierarchy, record->core);
	if (!core || !thread->pieces || !thread->touched) {
		consumer->account->results->lost_threads++;
		consumer->account->results->native_error = ENOMEM;
		return;
	}
	thread->record = record;
	thread->index = consumer->threads_begun++;
	thread->side = (struct fm_engine_side){.account = consumer->account, .core = core};
	consumer->core_users[core->index]++;
	own_core(consumer, thread);
	record->at_begin = core->counts;
	fm_timing_thread_begin(consumer, thread);
	thread->counts = !consumer->region_only[0];
	thread->open_count = 0;
	thread->window = (struct fm_traced_window){0};
	thread->waiting.site = thread->held.site = NULL;
	thread->live = true;
	consumer->live_count++;
}

static void thread_end(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_result_thread *record = thread->record;
	unsigned core;

	if (!thread->live)
		return;
	fm_traced_settle(consumer, thread);
	fm_spinning_settle(consumer, thread);
	own_core(consumer, thread);
	core = thread->side.core->index;
	fm_timing_thread_end(consumer, thread);
	record->executed =
	    __atomic_load_n(&consumer->trace->threads[thread - consumer->threads].executed, __ATOMIC_RELAXED);
	record->rested_ns =
	    __atomic_load_n(&consumer->trace->threads[thread - consumer->threads].rested_ns, __ATOMIC_RELAXED);
	record->at_end = thread->side.core->counts;
	record->ended = 1;
	consumer->core_users[core]--;
	consumer->owners[core] = NULL;
	thread->live = false;
	consumer->live_count--;
	if (record == &thread->own)
		fm_result_fold(consumer->account->results, record);
}

static void on_control(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                       const struct fm_trace_entry *entry)
{
	uint64_t control = entry->what ^ FM_TRACE_CONTROL, value = entry->address;

	if (control == FM_TRACE_BEGAN) {
		thread->began = value;
		if (thread->window.number && !thread->window.begun)
			thread->window.begun = value;
		return;
	}
	if (control == FM_TRACE_ENDED) {
		thread->ended = thread->passed = value;
		fm_followed_pass(consumer, thread, thread->began, value);
		return;
	}
	if (control == FM_TRACE_THREAD_BEGIN) {
		thread_end(consumer, thread);
		thread_begin(consumer, thread, value);
		return;
	}
	if (control == FM_TRACE_LOST)
		consumer->account->results->lost_accesses += value;
	if (!thread->live)
		return;
	fm_traced_feed_rest(consumer, thread);
	fm_timing_settle(consumer, thread);
	switch (control) {
	case FM_TRACE_THREAD_END:
		thread->record->waited_ticks = value;
		thread_end(consumer, thread);
		break;
	case FM_TRACE_REGION_BEGIN:
		fm_traced_region_begin(consumer, thread, value);
		break;
	case FM_TRACE_REGION_END:
		fm_traced_region_end(consumer, thread, value);
		break;
	case FM_TRACE_WINDOW_BEGIN:
		if (consumer->windows)
			fm_known_begin(consumer, thread, value);
		break;
	case FM_TRACE_WINDOW_WARM:
		if (consumer->windows)
			fm_window_warm(consumer, thread);
		break;
	case FM_TRACE_WINDOW_END:
		if (consumer->windows)
			fm_known_end(consumer, thread, value);
		break;
	case FM_TRACE_RESTED:
		if (consumer->followed)
			fm_followed_rested(consumer->followed, value);
		break;
	default:
		break;
	}
}

/* Reading */

/* References before a window counts, and outside of the region that alone is wanted, change the caches, and nothing
   else. */
static uint64_t feed(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                     const struct fm_trace_entry *entries, uint64_t count)
{
	struct fm_core_counts before;
	uint64_t fed;

	if (!consumer->windows || (thread->window.warm && thread->counts))
		return fm_traced_feed(consumer, thread, entries, count);
	before = thread->side.core->counts;
	fed = fm_traced_feed(consumer, thread, entries, count);
	thread->side.core->counts = before;
	return fed;
}

static void look_at_code(struct fm_consumer *consumer)
{
	uint32_t mappings = __atomic_load_n(&consumer->trace->head.mappings, __ATOMIC_ACQUIRE);

	if (mappings == consumer->mappings)
		return;
	consumer->mappings = mappings;
	fm_code_look_again(consumer->code);
}

static uint64_t ring_size(const struct fm_traced_thread *thread)
{
	return thread->large ? thread->large_size : FM_TRACE_RING;
}

/* Where an entry of the thread is, and how many from there on are in a row. */
static const struct fm_trace_entry *entries_at(const struct fm_consumer *consumer,
                                               const struct fm_traced_thread *thread, uint64_t number,
                                               uint64_t *ret_count)
{
	uint64_t at = number % FM_TRACE_RING;

	if (thread->large && number >= thread->large_from) {
		at = number % thread->large_size;
		*ret_count = thread->large_size - at;
		return &consumer->large->rings[thread->large - 1][at];
	}
	*ret_count = FM_TRACE_RING - at;
	if (thread->large && thread->large_from - number < *ret_count)
		*ret_count = thread->large_from - number;
	return &consumer->trace->rings[thread - consumer->threads][at];
}

static const struct fm_trace_entry *entry_at(const struct fm_consumer *consumer, const struct fm_traced_thread *thread,
                                             uint64_t number)
{
	uint64_t count;

	return entries_at(consumer, thread, number, &count);
}

/* The duration of `count` entries of the stretch, about. */
static double ticks_of(const struct fm_traced_thread *thread, uint64_t count)
{
	return thread->read >= thread->from && thread->read < thread->until
	           ? (double)(thread->ended - thread->began) * (double)count / (double)(thread->until - thread->from)
	           : 0;
}

static void note_entries(struct fm_traced_thread *thread, uint64_t count)
{
	struct fm_result_thread *record = thread->record;

	record->entries += count;
	record->counted_entries += thread->window.warm ? count : 0;
	record->ticks += ticks_of(thread, count);
}

static void consume(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t count)
{
	if (thread->live)
		own_core(consumer, thread);
	while (count) {
		uint64_t most, fed = 0, delay = thread->side.delay;
		const struct fm_trace_entry *entries = entries_at(consumer, thread, thread->read, &most);

		if (most > count)
			most = count;
		/* references of a thread without an announcement */
		if (!thread->live && entries->what >> 28 != FM_TRACE_CONTROL >> 28) {
			thread_begin(consumer, thread, 0);
			if (!thread->live) {
				thread->read += count;
				return;
			}
		}
		if (most > STEP)
			most = STEP;
		if (consumer->beside && thread->live)
			fm_timing_catch_up(thread, fm_beside_woken(consumer->beside));
		if (thread->live)
			fed = feed(consumer, thread, entries, most);
		if (consumer->beside && consumer->timing)
			fm_beside_reach(consumer->beside, fm_timing_now(thread));
		else if (consumer->beside)
			fm_beside_pass(consumer->beside, entries, fed, thread->side.delay - delay, consumer->running);
		if (fed && (thread->window.number || !consumer->windows)) {
			note_entries(thread, fed);
			if (consumer->live_count > 1)
				fm_spinning_look(consumer, thread, entries, fed, ticks_of(thread, fed));
		}
		/* as in the other engine: a line that is fought for moves at each of these */
		if (fed && consumer->latest != thread) {
			consumer->account->results->turns += consumer->latest != NULL && consumer->live_count > 1;
			consumer->latest = thread;
		}
		if (thread->live && fed < most && entries[fed].what >= FM_TRACE_LINE)
			fed += fm_followed_feed(consumer, thread, entries + fed, most - fed);
		thread->read += fed;
		thread->unsettled += fed;
		count -= fed;
		if (fed < most) {
			struct fm_trace_entry entry = entries[fed];

			on_control(consumer, thread, &entry);
			thread->read++;
			count--;
		}
	}
	if (thread->live && thread->unsettled > UNSETTLED_MAX) {
		fm_traced_settle(consumer, thread);
		thread->unsettled = 0;
	}
}

static void give_room(struct fm_consumer *consumer, const struct fm_traced_thread *thread)
{
	struct fm_trace_thread *line = &consumer->trace->threads[thread - consumer->threads];

	__atomic_store_n(&line->read, thread->read, __ATOMIC_SEQ_CST);
	/* once it is worth it: a writer that is woken for every step does little else than sleep and wake */
	if (thread->written - thread->read <= ring_size(thread) - FM_TRACED_WORTH_WAKING &&
	    __atomic_load_n(&line->waiting, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, (uint32_t *)&line->read, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* The stretch of entries between two time stamps that the next entry is in. What has no stamps is the same moment. */
static void find_stretch(const struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	const struct fm_trace_entry *entry;
	uint64_t at = thread->read;

	if (at >= thread->from && at < thread->until)
		return;
	thread->from = at;
	entry = entry_at(consumer, thread, at);
	if (entry->what == (FM_TRACE_CONTROL | FM_TRACE_BEGAN))
		thread->began = entry->address;
	else
		thread->began = thread->ended;
	while (at < thread->written && entry->what != (FM_TRACE_CONTROL | FM_TRACE_ENDED))
		entry = entry_at(consumer, thread, ++at);
	thread->until = at < thread->written ? at + 1 : at;
	if (at < thread->written && entry->address > thread->began)
		thread->ended = entry->address;
	else
		thread->ended = thread->began;
}

static uint64_t time_of(const struct fm_traced_thread *thread, uint64_t at)
{
	return thread->began + (uint64_t)((double)(thread->ended - thread->began) * (double)(at - thread->from) /
	                                  (double)(thread->until - thread->from));
}

/* The number of entries of the thread before that time: at least a few, since turns cost, and a line does not move with
   every single store either; up to a slice. */
static uint64_t entries_until(const struct fm_traced_thread *thread, uint64_t time)
{
	uint64_t left = thread->until - thread->read, span = thread->ended - thread->began, count = left;

	if (time <= thread->began)
		count = 0;
	else if (span && time < thread->ended) {
		uint64_t up_to = thread->from + (uint64_t)((double)(time - thread->began) / (double)span *
		                                           (double)(thread->until - thread->from));

		count = up_to > thread->read ? up_to - thread->read : 0;
	}
	if (count < LEAST)
		count = LEAST;
	if (count > left)
		count = left;
	return count > SLICE ? SLICE : count;
}

/* The time up to which a thread is known that has written nothing since: it may yet write what happened just after. A
   thread that has been silent for long waits for something, and does not delay the others. */
static uint64_t horizon_of(const struct fm_traced_thread *thread, uint64_t now)
{
	return now - thread->heard > SILENT_THREAD_NS ? UINT64_MAX : thread->ended;
}

/* With several threads: the one that is furthest behind, up to where the next one is. False: wait for more. */
static bool consume_in_order(struct fm_consumer *consumer, bool all, uint64_t now, uint64_t *read)
{
	struct fm_traced_thread *first = NULL;
	uint64_t earliest = UINT64_MAX, next = UINT64_MAX, horizon = UINT64_MAX, count;

	for (unsigned i = 0; i < consumer->places; i++) {
		struct fm_traced_thread *thread = &consumer->threads[i];
		uint64_t time;

		if (thread->read == thread->written) {
			if (thread->live && horizon_of(thread, now) < horizon)
				horizon = horizon_of(thread, now);
			continue;
		}
		find_stretch(consumer, thread);
		time = time_of(thread, thread->read);
		if (!first || time < earliest) {
			next = first ? earliest : next;
			earliest = time;
			first = thread;
		} else if (time < next) {
			next = time;
		}
	}
	if (!first)
		return false;
	/* hold back, unless its writer would have to wait */
	if (!all && earliest > horizon && first->written - first->read <= ring_size(first) / 4)
		return false;
	if (!all && horizon > earliest && horizon < next)
		next = horizon;
	count = entries_until(first, next);
	consume(consumer, first, count);
	*read += count;
	return true;
}

static bool is_power_of_two(uint32_t number)
{
	return number && !(number & (number - 1));
}

/* Takes note of new entries. Returns the number of threads with unread entries. */
static unsigned look(struct fm_consumer *consumer)
{
	unsigned some = 0;
	uint64_t now = 0;

	for (unsigned i = 0; i < FM_TRACE_THREADS; i++) {
		struct fm_traced_thread *thread = &consumer->threads[i];
		const struct fm_trace_thread *line = &consumer->trace->threads[i];
		uint64_t written = __atomic_load_n(&line->written, __ATOMIC_ACQUIRE);

		if (written != thread->written) {
			if (consumer->places <= i)
				consumer->places = i + 1;
			thread->large = __atomic_load_n(&line->large, __ATOMIC_ACQUIRE);
			thread->large_size = line->large_size ? line->large_size : FM_TRACE_LARGE;
			thread->large_from = line->large_from;
			/* this is not what a writer writes: whatever there is, it is not what the program did */
			if (thread->large > (consumer->large ? FM_TRACE_LARGE_RINGS : 0) ||
			    thread->large_size > FM_TRACE_LARGE || !is_power_of_two(thread->large_size) ||
			    written - thread->read > ring_size(thread)) {
				thread->large = 0;
				consumer->account->results->lost_accesses += FM_TRACE_RING;
				consumer->account->results->native_error = EBADMSG;
				thread->read = thread->from = thread->until = written;
				give_room(consumer, thread);
			}
			thread->written = written;
			now = now ? now : fm_clock_now();
			thread->heard = now;
		}
		some += thread->read != thread->written;
	}
	return some;
}

/* The program wants to know whether it pays for our work. */
struct spent {
	uint64_t processor, wall;
};

static struct spent spent_so_far(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (struct spent){(uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec, fm_clock_now()};
}

static void note_spent(struct fm_trace_head *head, struct spent *since)
{
	struct spent now = spent_so_far();

	__atomic_store_n(&head->read_ns, head->read_ns + now.processor - since->processor, __ATOMIC_RELAXED);
	__atomic_store_n(&head->read_wall_ns, head->read_wall_ns + now.wall - since->wall, __ATOMIC_RELAXED);
	*since = now;
}

/* The only thread that has written something: up to `most` entries. */
static uint64_t read_single(struct fm_consumer *consumer, uint64_t most)
{
	struct fm_traced_thread *thread = consumer->threads;
	uint64_t count;

	while (thread->read == thread->written)
		thread++;
	count = thread->written - thread->read;
	count = count > most ? most : count;
	consume(consumer, thread, count);
	give_room(consumer, thread);
	return count;
}

static void give_all_room(struct fm_consumer *consumer)
{
	for (unsigned i = 0; i < consumer->places; i++)
		if (consumer->threads[i].read != __atomic_load_n(&consumer->trace->threads[i].read, __ATOMIC_RELAXED))
			give_room(consumer, &consumer->threads[i]);
}

/* A step, of a single thread or of several in order. False: wait for more. */
static bool read_step(struct fm_consumer *consumer, bool single, bool all, uint64_t *read)
{
	uint64_t until = *read + STEP, now;
	bool goes_on = true;

	if (single) {
		*read += read_single(consumer, STEP);
		return true;
	}
	now = fm_clock_now();
	while (*read < until && goes_on)
		goes_on = consume_in_order(consumer, all, now, read);
	give_all_room(consumer);
	return goes_on;
}

static unsigned count_unread(const struct fm_consumer *consumer)
{
	unsigned some = 0;

	for (unsigned i = 0; i < consumer->places; i++)
		some += consumer->threads[i].read != consumer->threads[i].written;
	return some;
}

/* The program's turn. False: one of its threads has to be waited for. */
static bool read_turn(struct fm_consumer *consumer, bool all, uint64_t *read)
{
	bool goes_on;

	if (consumer->running == 1 && consumer->live_count <= 1) {
		*read += read_single(consumer, FM_BESIDE_SLICE);
		return true;
	}
	goes_on = consume_in_order(consumer, all, fm_clock_now(), read);
	give_all_room(consumer);
	return goes_on;
}

/* With programs beside it: it and they in turn. With `all`, what is left of the program's. */
static uint64_t read_beside(struct fm_consumer *consumer, bool all)
{
	uint64_t read = 0;
	unsigned looked = 0;

	for (unsigned i = 0; i < BESIDE_MOST; i++) {
		enum fm_beside_turn turn;

		if (!looked) {
			looked = LOOK_EVERY;
			look_at_code(consumer);
			fm_beside_look(consumer->beside);
			look(consumer);
		}
		consumer->running = count_unread(consumer);
		if (all && !consumer->running)
			break;
		turn = all ? FM_BESIDE_PROGRAM : fm_beside_turn(consumer->beside, consumer->running);
		read += turn == FM_BESIDE_READ;
		if (turn == FM_BESIDE_WAIT || (turn == FM_BESIDE_PROGRAM && !read_turn(consumer, all, &read))) {
			if (looked == LOOK_EVERY)
				break;
			looked = 0;
			continue;
		}
		looked--;
	}
	return read;
}

static uint64_t read_some(struct fm_consumer *consumer, uint64_t most, bool all)
{
	struct fm_trace_head *head = &consumer->trace->head;
	uint64_t read = 0, noted = 0;
	struct spent since = {0};
	bool goes_on = true;
	unsigned some;

	if (consumer->beside)
		return read_beside(consumer, all);
	look_at_code(consumer);
	while (goes_on && read < most && (some = look(consumer)) > 0) {
		if (!since.wall)
			since = spent_so_far();
		goes_on = read_step(consumer, some == 1 && consumer->live_count <= 1, all, &read);
		if (read - noted >= NOTE_TIME) {
			noted = read;
			note_spent(head, &since);
			look_at_code(consumer);
		}
	}
	if (since.wall)
		note_spent(head, &since);
	return read;
}

uint64_t fm_consumer_read(struct fm_consumer *consumer, uint64_t most)
{
	fm_traced_allocations(consumer);
	return read_some(consumer, most, false);
}

/* Beginning and end */

static bool open_results(struct fm_room *room, const struct fm_consumer_task *task, unsigned cores)
{
	const struct fm_trace_head *head = &task->trace->head;
	char path[1100];

	if (task->first)
		return fm_room_open(room, task->results, cores, task->options->timing);
	snprintf(path, sizeof(path), "%s.%u.%llu", task->results, head->process, (unsigned long long)head->begun);
	return fm_room_create(room, path, cores, task->options->timing);
}

int fm_consumer_create(const struct fm_consumer_task *task, struct fm_consumer **ret_consumer, struct fm_error *error)
{
	const struct fm_engine_options *options = task->options;
	struct fm_machine_description description = *options->machine;
	struct fm_trace_head *head = &task->trace->head;
	struct fm_consumer *consumer = fm_memory_apart(1, sizeof(*consumer));
	unsigned cores = fm_description_cpus(&description);
	struct fm_results *results;
	int status;

	if (!consumer)
		return fm_error_set(error, ENOMEM, "out of memory");
	/* before everything else: the process may be short */
	consumer->code = fm_code_create(task->unknown_process ? 0 : fm_trace_process(head));
	consumer->account = fm_account_create();
	consumer->mappings = head->mappings;
	consumer->session = task->session;
	consumer->trace = task->trace;
	consumer->windows = task->session->mode == FM_TRACE_WINDOWS;
	consumer->large = task->large;
	head->processors = fm_processors_available();
	head->large_rings = consumer->windows && task->large ? fm_large_affordable() : 0;
	consumer->stretches = consumer->windows || options->timing_sampled;
	consumer->precision = options->windows.precision;
	/* zeroed as it is used, and no entry on two lines */
	consumer->sites = mmap(NULL, FM_TRACE_SITES * sizeof(*consumer->sites), PROT_READ | PROT_WRITE,
	                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (consumer->sites == MAP_FAILED)
		consumer->sites = NULL;
	consumer->rests = calloc(FM_TRACE_SITES, sizeof(*consumer->rests));
	consumer->pieces = calloc(FM_TRACE_PIECES, sizeof(*consumer->pieces));
	consumer->piece_seen = calloc(FM_TRACE_PIECES, sizeof(*consumer->piece_seen));
	consumer->piece_pauses = calloc(FM_TRACE_PIECES, sizeof(*consumer->piece_pauses));
	consumer->first_instance = options->first_instance;
	consumer->last_instance = options->last_instance ? options->last_instance : UINT64_MAX;
	if (options->region)
		snprintf(consumer->region_only, sizeof(consumer->region_only), "%s", options->region);
	if ((options->curve && !consumer->windows && fm_traced_curve_create(consumer)) ||
	    (options->timing && fm_timing_create(consumer)) || !consumer->account || !consumer->code ||
	    !consumer->sites || !consumer->rests || !consumer->pieces || !consumer->piece_seen ||
	    !consumer->piece_pauses) {
		fm_consumer_destroy(consumer);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	fm_known_forget(&consumer->known);
	if (options->page_bytes)
		description.page_bytes = (unsigned)options->page_bytes;
	status = open_results(&consumer->account->room, task, cores)
	             ? 0
	             : fm_error_set(error, ENOSPC, "no memory for counts");
	if (!status)
		consumer->account->results = fm_room_use(&consumer->account->room, NULL);
	if (!status &&
	    (!consumer->account->results || !fm_account_claim_least(consumer->account, cores, options->timing)))
		status = fm_error_set(error, ENOMEM, "out of memory");
	if (!status)
		status = fm_account_begin(consumer->account, &description, !options->no_prefetch, error);
	if (!status)
		status = fm_followed_create(&description, task->session, &consumer->followed, error);
	if (consumer->followed && options->curve && fm_followed_keep_distances(consumer->followed))
		status = fm_error_set(error, ENOMEM, "out of memory");
	if (consumer->followed)
		consumer->filter = (struct fm_translate_filter){task->session->line_multiplier,
		                                                task->session->line_limit, task->session->line_offset};
	if (!status) {
		consumer->core_list_count =
		    fm_account_core_list(consumer->account, options->cores && *options->cores ? options->cores : "0",
		                         consumer->core_list, FM_SIMULATED_CORES_MAX);
		if (!consumer->core_list_count)
			status = fm_error_set(error, EINVAL, "the list of cores is invalid");
	}
	if (!status && task->roster)
		status = fm_beside_create(options, task->roster, task->folder, consumer, &consumer->beside, error);
	if (status) {
		fm_consumer_destroy(consumer);
		return status;
	}
	results = consumer->account->results;
	results->process = head->process;
	results->parent = task->first ? 0 : head->parent;
	results->executed = !task->first && !head->forked;
	results->core_count = consumer->account->hierarchy->core_count;
	results->native = task->session->mode + 1;
	results->timing = options->timing;
	results->timing_sampled = options->timing && options->timing_sampled;
	results->ticks_per_second = task->session->ticks_per_second;
	snprintf(results->program, sizeof(results->program), "%.*s", (int)sizeof(head->program) - 1, head->program);
	results->magic = FM_RESULT_MAGIC;
	*ret_consumer = consumer;
	return 0;
}

/* String instructions that were counted only, FM_TRACE_SHORT_KINDS from the first: each makes an access for every line
   it touches. */
static void add_not_logged(const struct fm_trace_head *head, unsigned first, unsigned line_bytes,
                           struct fm_references *references)
{
	for (unsigned i = first; i < first + FM_TRACE_SHORT_KINDS; i++) {
		uint64_t times = head->not_logged[i].times, bytes = head->not_logged[i].elements << (i - first) / 2,
		         accesses = times + (bytes > times ? bytes - times : 0) / line_bytes;

		*(i % 2 ? &references->stores : &references->loads) += accesses;
		*(i % 2 ? &references->store_bytes : &references->load_bytes) += bytes;
	}
}

/* String instructions without room in the log are assumed to be like those in it. */
static void add_lost_strings(struct fm_consumer *consumer)
{
	struct fm_references lost = {0};
	double seen = (double)fm_traced_string_lines(consumer), more;

	add_not_logged(&consumer->trace->head, FM_TRACE_SHORT_KINDS, 1u << consumer->account->hierarchy->line_shift,
	               &lost);
	more = seen > 0 ? 1 + (double)(lost.loads + lost.stores) / seen : 1;
	for (unsigned i = 0; i < FM_STRING_CLASSES; i++)
		consumer->string_lines[i] = (uint64_t)llround(more * (double)consumer->string_lines[i]);
	consumer->short_lines = (uint64_t)llround(more * (double)consumer->short_lines);
	consumer->repeated_logarithm *= more;
	consumer->repeated_square *= more;
	consumer->repeated.loads += lost.loads;
	consumer->repeated.stores += lost.stores;
	consumer->repeated.load_bytes += lost.load_bytes;
	consumer->repeated.store_bytes += lost.store_bytes;
}

static double string_sizes_deviation(const struct fm_consumer *consumer)
{
	double lines = (double)consumer->short_lines, mean;

	if (!(lines > 0))
		return 0;
	mean = consumer->repeated_logarithm / lines;
	return sqrt(fmax(0, consumer->repeated_square / lines - mean * mean));
}

/* Everything that was executed, whether it was logged or not. */
static void sum_up_pieces(struct fm_consumer *consumer, struct fm_work *sum)
{
	uint32_t given = consumer->trace->head.piece_count, count = given < FM_TRACE_PIECES ? given : FM_TRACE_PIECES;
	struct fm_references *references = &consumer->account->results->all_references;
	struct fm_piece_total *totals = calloc(count + 1ul, sizeof(*totals));

	fm_seen_complete(consumer->trace->pieces, count, consumer->piece_seen);
	*references = consumer->repeated;
	consumer->account->results->all_string_lines = fm_traced_string_lines(consumer);
	consumer->account->results->short_string_lines = consumer->short_lines;
	consumer->account->results->string_sizes_deviation = string_sizes_deviation(consumer);
	add_not_logged(&consumer->trace->head, 0, 1u << consumer->account->hierarchy->line_shift, references);
	for (uint32_t i = 0; i < count; i++) {
		const struct fm_trace_piece *piece = &consumer->trace->pieces[i];
		uint64_t times = piece->executed;
		const struct fm_work *work;

		if (totals)
			totals[i] = (struct fm_piece_total){.pc = piece->pc,
			                                    .bytes = piece->bytes,
			                                    .instructions = piece->instructions,
			                                    .executed = times};
		if (!times)
			continue;
		work = fm_traced_piece(consumer, i);
		fm_work_add_times(sum, work, times);
		consumer->account->results->pace.pieces += times;
		if (piece->end == FM_TRANSLATE_INDIRECT)
			consumer->account->results->pace.transfers += times;
		references->loads += times * piece->loads;
		references->stores += times * piece->stores;
		references->load_bytes += times * piece->load_bytes;
		references->store_bytes += times * piece->store_bytes;
		if (!consumer->piece_seen[i])
			consumer->account->results->unseen_instructions += times * work->instructions;
	}
	/* with a region only, pieces do not show which of them were in it */
	if (totals && !consumer->region_only[0])
		fm_timing_sum_up(consumer, totals, count);
	free(totals);
}

/* Instructions executed in plain code at an unknown pace: assumed to be that of the rest of the time. */
static uint64_t plain_unknown(const struct fm_trace_head *head, const struct fm_work *counted)
{
	double rest = (double)head->cpu_ns - (double)head->plain_ns - (double)head->rest_ns;

	return rest > 0 ? (uint64_t)((double)counted->instructions * fmin(1, (double)head->plain_unknown_ns / rest))
	                : 0;
}

/* Instructions of native rests, of all threads and of each. Without positions in plain code, at the mean pace of plain
   code; without such, of counted code. */
static void add_rests(struct fm_consumer *consumer)
{
	struct fm_results *results = consumer->account->results;
	const struct fm_trace_head *head = &consumer->trace->head;
	double pace = fm_rest_pace(consumer->trace), plain = (double)head->plain_ns - (double)head->plain_unknown_ns,
	       counted = (double)head->threads_ns - (double)head->plain_ns - (double)head->rest_ns;

	if (!head->rest_ns)
		return;
	if (!(pace > 0) && plain > 0)
		pace = (double)head->plain_instructions / plain;
	if (!(pace > 0) && counted > 0)
		pace = UNKNOWN_SLOWDOWN * (double)results->all_work.instructions / counted;
	results->pace.rest_ns = head->rest_ns;
	results->pace.rest_instructions = (uint64_t)(pace * (double)head->rest_ns);
	for (unsigned i = 0; i < results->thread_count && i < FM_RESULT_THREADS_MAX; i++)
		results->threads[i].executed += (uint64_t)(pace * (double)results->threads[i].rested_ns);
}

/* The time for what is left is over. */
static bool is_hurried(const struct fm_consumer *consumer)
{
	return __atomic_load_n(&consumer->session->hurry, __ATOMIC_RELAXED);
}

void fm_consumer_finish(struct fm_consumer *consumer)
{
	struct fm_results *results = consumer->account->results;
	const struct fm_trace_head *head = &consumer->trace->head;

	while (!is_hurried(consumer) && read_some(consumer, UINT64_MAX, true))
		;
	for (unsigned i = 0; i < FM_TRACE_THREADS; i++) {
		struct fm_traced_thread *thread = &consumer->threads[i];

		if (!thread->live)
			continue;
		fm_traced_feed_rest(consumer, thread);
		fm_timing_settle(consumer, thread);
		if (thread->window.number)
			fm_known_end(consumer, thread, 0);
	}
	fm_traced_regions_settle(consumer);
	for (unsigned i = 0; i < FM_TRACE_THREADS; i++)
		thread_end(consumer, &consumer->threads[i]);
	fm_pace_estimate(head->episodes,
	                 head->episode_count < FM_TRACE_EPISODES ? (unsigned)head->episode_count : FM_TRACE_EPISODES,
	                 &results->pace);
	results->pace.plain_ns = head->plain_ns;
	add_lost_strings(consumer);
	sum_up_pieces(consumer, &results->all_work);
	results->pace.plain_instructions = head->plain_instructions + plain_unknown(head, &results->all_work);
	add_rests(consumer);
	if (consumer->windows)
		fm_windows_finish(consumer, results->all_work.instructions);
	fm_traced_curve_finish(consumer);
	fm_followed_finish(consumer->followed, consumer->account);
	/* pieces of which there are no entries, all or those outside the region: it is known whose they were if there
	   was only one thread */
	if ((!consumer->session->log_pieces || consumer->region_only[0]) && !consumer->windows &&
	    results->thread_count == 1)
		results->threads[0].work = results->all_work;
	results->signals_in_cache = head->ticks_in_cache;
	results->signals_outside = head->ticks_outside;
	results->native_threads = head->native_threads;
	results->lost_accesses += head->lost_entries;
	results->unlogged = head->lost_sites;
	for (unsigned i = 0; i < FM_TRACE_REASONS && i < sizeof(results->left) / sizeof(results->left[0]); i++)
		results->left[i] = head->left[i];
	results->window_ticks = head->window_ticks;
	results->waited_ticks = head->waited_ticks;
	results->translator_ticks = head->translator_ticks;
	results->cpu_ns = head->cpu_ns;
	results->threads_ns = head->threads_ns;
	if (!results->native_error)
		results->native_error = head->error ? head->error : head->filtered ? EPERM : head->limited ? EDQUOT : 0;
	if (consumer->beside)
		fm_beside_finish(consumer->beside);
	fm_account_publish_lines(consumer->account);
	fm_traced_positions(consumer);
	fm_traced_timings(consumer);
}

const struct fm_results *fm_consumer_results(const struct fm_consumer *consumer)
{
	return consumer->account->results;
}

void fm_consumer_destroy(struct fm_consumer *consumer)
{
	if (!consumer)
		return;
	for (unsigned i = 0; i < FM_TRACE_THREADS; i++) {
		free(consumer->threads[i].pieces);
		free(consumer->threads[i].touched);
	}
	fm_beside_destroy(consumer->beside);
	fm_timing_destroy(consumer);
	fm_windows_destroy(&consumer->known);
	fm_followed_destroy(consumer->followed);
	fm_code_destroy(consumer->code);
	fm_account_destroy(consumer->account);
	if (consumer->sites)
		munmap(consumer->sites, FM_TRACE_SITES * sizeof(*consumer->sites));
	free(consumer->rests);
	free(consumer->pieces);
	free(consumer->piece_seen);
	free(consumer->piece_pauses);
	free(consumer);
}

static void nap(struct fm_trace_session *session, uint32_t seen)
{
	const struct timespec limit = {0, NAP_NS};

	syscall(SYS_futex, &session->published, FUTEX_WAIT, seen, &limit, NULL, 0);
}

static bool is_dead(int process)
{
	struct pollfd end = {.fd = process, .events = POLLIN};

	return process < 0 || poll(&end, 1, 0) > 0;
}

static bool has_all_processors(const struct fm_trace_head *head)
{
	uint32_t team = __atomic_load_n(&head->team, __ATOMIC_RELAXED);

	/* of many threads, some may have no tick in a short phase */
	return team > 1 && team + head->processors / 8 >= head->processors && !head->ended;
}

/* A team that has all processors waits for any thread without one, and its other threads may spin. While it runs
   natively, nothing is read; its rings have room for several windows. */
static bool is_held_off(const struct fm_trace_head *head)
{
	return has_all_processors(head) && __atomic_load_n(&head->resting, __ATOMIC_ACQUIRE);
}

static void wait_for_phase(struct fm_trace_head *head)
{
	const struct timespec limit = {0, HELD_OFF_NS};

	syscall(SYS_futex, &head->resting, FUTEX_WAIT, 1, &limit, NULL, 0);
}

int fm_consumer_run(const struct fm_consumer_task *task, struct fm_error *error)
{
	struct fm_trace_head *head = &task->trace->head;
	/* before its number can be another's */
	int process = task->unknown_process ? -1 : (int)syscall(SYS_pidfd_open, fm_trace_process(head), 0);
	/* in a namespace into which we cannot look: it says when it ends */
	bool known = fm_trace_process(head) != FM_TRACE_UNKNOWN;
	struct fm_consumer *consumer;
	uint64_t ended = 0;
	unsigned idle = 0, held_off = 0;
	int status = fm_consumer_create(task, &consumer, error);

	while (!status) {
		uint32_t seen = __atomic_load_n(&task->session->published, __ATOMIC_ACQUIRE);
		/* asked before it is read: what a dead process wrote is there */
		bool dead = (consumer->beside || idle >= SPINS || idle % YIELD_EVERY == 1) && known && is_dead(process),
		     over = __atomic_load_n(&task->session->stop, __ATOMIC_RELAXED);
		uint64_t read;
		bool left;

		if (is_held_off(head) && !over && held_off++ < HELD_OFF_MOST && !(known && is_dead(process))) {
			wait_for_phase(head);
			continue;
		}
		held_off = 0;
		read = is_hurried(consumer)
		           ? 0
		           : fm_consumer_read(consumer, has_all_processors(head) ? POLITE_READ : UINT64_MAX);
		/* programs beside it go on for ever, and may have to be waited for */
		left = consumer->beside && look(consumer);
		if (consumer->beside && dead && !left)
			break;
		if (is_hurried(consumer))
			break;
		if (read) {
			idle = 0;
			ended = 0;
			continue;
		}
		if (head->ended && !ended && !left)
			ended = fm_clock_now();
		if ((dead && !left) || (idle && over) || (ended && fm_clock_now() - ended > ENDED_NS))
			break;
		if (++idle % YIELD_EVERY == 0)
			sched_yield(); /* the program may want this very processor */
		else if (idle < SPINS && !has_all_processors(head))
			fm_pause();
		else
			nap(task->session, seen);
	}
	if (process >= 0)
		close(process);
	if (status)
		return status;
	fm_consumer_finish(consumer);
	fm_consumer_destroy(consumer);
	return 0;
}
