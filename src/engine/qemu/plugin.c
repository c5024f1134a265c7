/* The emulator's plugin for QEMU user mode: every load and store of the program goes into the simulated machine.
   SPDX-License-Identifier: GPL-2.0-or-later

   It is loaded into QEMU: it never ends its host; when something is missing it says one line and does nothing. */
#include "simulator/numbers.h"
#include "engine/threads.h"
#include "engine/qemu/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/qemu/accesses.h"
#include "engine/qemu/affinity.h"
#include "engine/qemu/calls.h"
#include "engine/qemu/execute.h"
#include "engine/qemu/frames.h"
#include "engine/qemu/functions.h"
#include "engine/qemu/guest.h"
#include "engine/account/objects.h"
#include "engine/account/places.h"
#include "engine/qemu/queue.h"
#include "engine/qemu/regions.h"
#include "engine/account/room.h"
#include "engine/qemu/samples.h"
#include "engine/qemu/series.h"
#include "engine/qemu/state.h"
#include "engine/qemu/turns.h"

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

struct fm_engine fm_engine;
/* The plugin is loaded before the program's threads begin, so the cheap kind of thread-local storage has room. */
__thread struct fm_engine_thread *fm_self __attribute__((tls_model("initial-exec")));
__thread struct fm_simulated_core *fm_tracing_core __attribute__((tls_model("initial-exec")));

/* Threads */

static struct fm_simulated_core *choose_core(struct fm_result_thread *record)
{
	int asked = fm_affinity_expected(record->host_thread);
	unsigned chosen = asked < 0 ? 0 : (unsigned)asked;
	bool found = asked >= 0;

	/* the first core of the list without a live thread; all taken: in turn */
	for (unsigned i = 0; i < fm_engine.core_list_count && !found; i++)
		if (!fm_engine.core_users[fm_engine.core_list[i]]) {
			chosen = fm_engine.core_list[i];
			found = true;
		}
	if (!found && fm_engine.core_list_count) {
		chosen = fm_engine.core_list[fm_engine.threads_begun % fm_engine.core_list_count];
		record->shares_core = 1;
	}
	fm_engine.core_users[chosen]++;
	record->core = chosen;
	return fm_hierarchy_core(fm_engine.account->hierarchy, chosen);
}

static void use_timing(struct fm_engine_thread *thread)
{
	unsigned core = thread->core->index;

	if (!fm_engine.timings[core])
		fm_core_timing_create(fm_engine.account->hierarchy, core, &fm_engine.timings[core], NULL);
	thread->timing = fm_engine.timings[core];
	thread->record->timing_at_begin = fm_engine.account->results->timings[core];
}

/* A core may be several threads': what it counts is the one's that has the turn. */
void fm_engine_away(struct fm_engine_thread *thread)
{
	struct fm_result_thread *record = thread->record;

	if (!thread->core || record->away)
		return;
	if (thread->timing)
		fm_engine.account->results->timings[thread->core->index] = *fm_core_timing_counts(thread->timing);
	fm_regions_leave_core(thread);
	fm_numbers_add(&record->before_moves, &thread->core->counts, sizeof(record->at_begin));
	fm_numbers_subtract(&record->before_moves, &record->at_begin, sizeof(record->at_begin));
	fm_numbers_add(&record->timing_before_moves, &fm_engine.account->results->timings[thread->core->index],
	               sizeof(record->timing_at_begin));
	fm_numbers_subtract(&record->timing_before_moves, &record->timing_at_begin, sizeof(record->timing_at_begin));
	record->away = 1;
}

void fm_engine_back(struct fm_engine_thread *thread)
{
	struct fm_result_thread *record = thread->record;

	if (!thread->core || !record->away)
		return;
	record->at_begin = thread->core->counts;
	record->timing_at_begin = fm_engine.account->results->timings[thread->core->index];
	record->away = 0;
	fm_regions_enter_core(thread);
}

void fm_engine_move(struct fm_engine_thread *thread, unsigned core)
{
	struct fm_result_thread *record = thread->record;
	struct fm_simulated_core *next = fm_hierarchy_core(fm_engine.account->hierarchy, core);
	bool was_away = record->away;

	if (!next || !thread->core || next == thread->core)
		return;
	if (!was_away)
		fm_engine_drain(thread);
	fm_engine_away(thread);
	fm_engine.core_users[thread->core->index]--;
	fm_engine.core_users[core]++;
	thread->core = thread->side.core = next;
	record->core = core;
	record->moves++;
	if (thread->timing)
		use_timing(thread);
	if (!was_away)
		fm_engine_back(thread);
}

/* A record in the table, for good; when that is full, one that is used again after the thread's end; with no room for
   either, the thread's own. */
static struct fm_result_thread *find_record(struct fm_engine_thread *thread)
{
	struct fm_results *results = fm_engine.account->results;

	/* in the order of their beginnings: none after the first that found no room */
	if (fm_engine.threads_begun == results->thread_count && results->thread_count < FM_RESULT_THREADS_MAX &&
	    fm_room_claim(&fm_engine.account->room, &results->threads[results->thread_count],
	                  sizeof(results->threads[0])))
		return &results->threads[results->thread_count];
	for (unsigned i = 0; i < FM_RESULT_LATE_MAX; i++) {
		struct fm_result_thread *record = &results->late[i];

		if (i < results->late_count && record->host_thread)
			continue;
		if (!fm_room_claim(&fm_engine.account->room, record, sizeof(*record)))
			break;
		if (i == results->late_count)
			results->late_count++;
		return record;
	}
	return &thread->own;
}

static bool is_in_table(const struct fm_result_thread *record)
{
	return record >= fm_engine.account->results->threads &&
	       record < fm_engine.account->results->threads + FM_RESULT_THREADS_MAX;
}

struct fm_engine_thread *fm_engine_thread_begin(void)
{
	struct fm_results *results = fm_engine.account->results;
	struct fm_engine_thread *thread = fm_memory_apart(1, sizeof(*thread));

	if (!thread)
		return NULL;
	pthread_mutex_lock(&fm_engine.mutex);
	thread->record = find_record(thread);
	thread->index = fm_engine.threads_begun;
	thread->record->host_thread = (uint32_t)syscall(SYS_gettid);
	thread->core = thread->side.core = choose_core(thread->record);
	thread->side.account = fm_engine.account;
	fm_engine.threads_begun++;
	if (thread->core)
		thread->record->at_begin = thread->core->counts;
	if (thread->core && fm_engine.timing)
		use_timing(thread);
	if (is_in_table(thread->record))
		results->thread_count++;
	thread->next_live = fm_engine.live;
	if (fm_engine.live)
		fm_engine.live->previous_live = thread;
	fm_engine.live = thread;
	pthread_mutex_unlock(&fm_engine.mutex);
	fm_self = thread;
	/* the first, and perhaps the only one */
	if (thread->index == 0 && thread->core)
		fm_queue_begin(thread);
	fm_engine_trace(thread, !fm_engine.region_only[0] && fm_engine.window_begin == 0);
	if (fm_engine.follows && !fm_frames)
		fm_frames = calloc(1, sizeof(*fm_frames));
	fm_function_slot = UINT64_MAX;
	fm_samples_thread_begin(thread);
	fm_turns_join(thread);
	return thread;
}

static void forget_self(void)
{
	fm_tracing_queue = NULL;
	free(fm_frames);
	fm_frames = NULL;
	free(fm_self);
	fm_self = NULL;
	fm_tracing_core = NULL;
}

static void thread_end(struct fm_engine_thread *thread)
{
	if (!thread || thread->record->ended)
		return;
	fm_engine_drain(thread);
	fm_samples_thread_end();
	pthread_mutex_lock(&fm_engine.mutex);
	if (thread->core) {
		thread->record->at_end = thread->core->counts;
		thread->record->timing_at_end = fm_engine.account->results->timings[thread->core->index];
		fm_engine.core_users[thread->core->index]--;
	}
	thread->record->ended = 1;
	if (thread->index == 0)
		fm_queue_end(); /* it was this thread's */
	if (thread->previous_live)
		thread->previous_live->next_live = thread->next_live;
	else
		fm_engine.live = thread->next_live;
	if (thread->next_live)
		thread->next_live->previous_live = thread->previous_live;
	fm_account_publish_lines(fm_engine.account);
	pthread_mutex_unlock(&fm_engine.mutex);
	fm_turns_leave(thread);
	/* not before the others have stopped asking how far it is */
	if (!is_in_table(thread->record)) {
		pthread_mutex_lock(&fm_engine.mutex);
		fm_result_fold(fm_engine.account->results, thread->record);
		memset(thread->record, 0, sizeof(*thread->record));
		pthread_mutex_unlock(&fm_engine.mutex);
	}
}

/* System calls */

static void on_system_call(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                           uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct fm_engine_thread *thread = fm_engine_self();
	struct fm_results *results = fm_engine.account->results;
	char name[FM_RESULT_NAME];
	unsigned kind = fm_call_kind(number, fm_engine.x86);

	(void)id, (void)vcpu, (void)a7, (void)a8;
	if (!thread)
		return;
	if (fm_engine.every)
		fm_samples_call((const uint64_t[]){a1, a2, a3, a4, a5, a6});
	/* a program with markers asks whether it runs in an engine; the read itself fails, here as anywhere */
	if (number == (fm_engine.x86 ? 0 : 63) && (int32_t)a1 == FM_QUESTION_FILE) {
		const uint64_t answer = FM_ANSWER;

		if (a3 == sizeof(answer))
			fm_guest_write(a2, &answer, sizeof(answer));
		return;
	}
	/* a system call waits for all that came before it; the simulator need not have seen it unless it matters */
	if (fm_engine.timing || kind & FM_CALL_SETTLES || number == FM_MARKER_CALL)
		fm_engine_drain(thread);
	if (number == FM_MARKER_CALL) {
		fm_guest_text(name, sizeof(name), a2, a3);
		if (a1 == 1) {
			fm_functions_marked(name);
			fm_region_begin(thread, name);
		} else if (a1 == 2) {
			fm_region_end(thread, name);
		}
		if (a1 == 1 || a1 == 2)
			fm_samples_region(name, a1 == 1);
		return;
	}
	if (kind & FM_CALL_EXECUTES && results->exec_count < FM_RESULT_EXECS_MAX) {
		fm_guest_text(results->execs[results->exec_count], sizeof(results->execs[0]),
		              number == 322 || number == 281 ? a2 : a1, 255);
		results->exec_count++;
		if (number != 322 && number != 281)
			fm_execute_follow(a1, a2, a3);
		else if ((int32_t)a1 == AT_FDCWD && !a5)
			fm_execute_follow(a2, a3, a4);
	}
	if (kind & FM_CALL_SETS_AFFINITY)
		fm_affinity_set(thread, a1, a2, a3);
	if (kind & FM_CALL_GETS_AFFINITY)
		fm_affinity_get(thread, a1, a2, a3);
	if (kind & (FM_CALL_EXITS | FM_CALL_EXITS_ALL))
		fm_function_leave();
	if (kind & FM_CALL_EXITS_ALL) {
		pthread_mutex_lock(&fm_engine.mutex);
		fm_account_publish_lines(fm_engine.account);
		pthread_mutex_unlock(&fm_engine.mutex);
	}
	if (kind & FM_CALL_EXITS) {
		thread_end(thread);
		forget_self();
		return;
	}
	thread->makes_thread = thread->wakes = thread->waits = thread->calling = false;
	if (kind & FM_CALL_CLONES) {
		uint64_t flags = a1;

		if (number == 435)
			fm_guest_copy(&flags, sizeof(flags), a1);
		thread->makes_thread = flags & CLONE_THREAD;
		/* QEMU makes a plain fork of a vfork */
		if (flags & CLONE_VM && !(flags & CLONE_VFORK)) {
			fm_queue_end();
			fm_engine_trace(thread, thread->tracing);
		}
		fm_turns_prepare(thread);
	}
	if (kind & FM_CALL_FUTEX) {
		thread->waits = fm_futex_waits(a2);
		thread->wakes = !thread->waits;
		if (thread->wakes)
			fm_turns_prepare(thread);
	}
	if (kind & FM_CALL_WAITS)
		thread->waits = true;
	thread->pauses = kind & (FM_CALL_FUTEX | FM_CALL_PAUSES);
	if (thread->waits)
		fm_turns_block(thread);
	else if (!(kind & (FM_CALL_CLONES | FM_CALL_EXITS_ALL)))
		fm_turns_call(thread);
}

static void on_system_call_return(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result)
{
	struct fm_engine_thread *thread = fm_self;
	unsigned kind = fm_call_kind(number, fm_engine.x86);

	(void)id, (void)vcpu;
	if (!thread || number == FM_MARKER_CALL)
		return;
	fm_affinity_return(thread, result);
	if (fm_engine.every)
		fm_samples_call_return(number, result);
	if (kind & FM_CALL_READS && result > 0)
		fm_engine.account->results->kernel_bytes += (uint64_t)result;
	if (kind & FM_CALL_EXECUTES && fm_engine.account->results->exec_count)
		fm_engine.account->results->exec_count--; /* it came back: it failed */
	/* Whoever was made or woken must be in the list before we go on, or how far we get alone would be up to the
	   host. */
	if (thread->makes_thread && result > 0)
		fm_turns_expect(1);
	if (thread->wakes && result > 0)
		fm_turns_expect((unsigned)result);
	if (thread->waits)
		fm_turns_unblock(thread);
	else if (thread->calling)
		fm_turns_return(thread);
	thread->makes_thread = thread->wakes = thread->waits = false;
}

static void on_thread_exit(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id, (void)vcpu;
	if (fm_self) {
		thread_end(fm_self);
		forget_self();
	}
}

static void on_exit_all(qemu_plugin_id_t id, void *data)
{
	(void)id, (void)data;
	if (fm_self)
		fm_engine_drain(fm_self);
	pthread_mutex_lock(&fm_engine.mutex);
	fm_account_publish_lines(fm_engine.account);
	/* threads whose record is not in the results */
	for (struct fm_engine_thread *live = fm_engine.live; live; live = live->next_live)
		if (live->record == &live->own && !live->own.ended) {
			fm_result_fold(fm_engine.account->results, &live->own);
			live->own.ended = 1;
		}
	pthread_mutex_unlock(&fm_engine.mutex);
	fm_samples_end();
}

/* Set-up */

static void count_lost_process(void)
{
	if (fm_engine.first)
		__atomic_fetch_add(&fm_engine.first->lost_processes, 1, __ATOMIC_RELAXED);
}

/* The parent goes on changing its cores while a child copies them: they are kept as they were. */
static struct fm_simulated_core cores_at_fork[FM_SIMULATED_CORES_MAX];

static void before_fork(void)
{
	fm_queue_drain();
	pthread_mutex_lock(&fm_engine.mutex);
	memcpy(cores_at_fork, fm_engine.account->results->cores,
	       fm_engine.account->results->core_count * sizeof(cores_at_fork[0]));
	fm_samples_before_fork();
}

static void after_fork_in_parent(void)
{
	fm_samples_after_fork_in_parent();
	pthread_mutex_unlock(&fm_engine.mutex);
}

/* A child that can have no results of its own, not even private ones, cannot be traced: it has no memory left. It must
   not touch its parent's, so it ends here as it would at its next allocation. */
static void __attribute__((noreturn)) abort_tracing(void)
{
	static const char words[] = "fathom: no memory left for a forked process\n";

	if (write(2, words, sizeof(words) - 1) < 0)
		_exit(125);
	_exit(125);
}

/* In a forked child: counts of its own, from zero, in a file of its own beside the first; the caches as they were. */
static void after_fork_in_child(void)
{
	static struct fm_result_module modules[FM_RESULT_MODULES_MAX];
	struct fm_account *account = fm_engine.account;
	struct fm_results *results = account->results;
	char path[512], program[sizeof(results->program)];
	uint32_t parent = results->process, module_count = results->module_count, sites = results->site_count,
	         objects = results->object_count;
	unsigned cores = results->core_count;

	/* whatever happens below: only this thread is left, and it begins anew */
	pthread_mutex_init(&fm_engine.mutex, NULL);
	fm_engine.threads_begun = 0;
	memset(fm_engine.core_users, 0, sizeof(fm_engine.core_users));
	fm_engine.live = NULL;
	fm_turns_reset();
	fm_objects_after_fork(account);
	fm_series_begin(0); /* the first process's */
	fm_queue_after_fork();
	fm_self = NULL;
	fm_tracing_core = NULL;
	memcpy(program, results->program, sizeof(program));
	memcpy(modules, results->modules, module_count * sizeof(modules[0]));
	snprintf(path, sizeof(path), "%s.%d", fm_engine.results_path, (int)getpid());
	/* no file: its counts are lost, but it must not write into its parent's */
	if (fm_room_create(&account->room, path, cores, fm_engine.timing)) {
		__atomic_fetch_add(&results->forks, 1, __ATOMIC_RELAXED);
	} else {
		fm_room_none(&account->room);
		count_lost_process();
	}
	/* sites are known to translated code by their address: the new ones go where the old ones were */
	if (!fm_room_use(&account->room, results))
		abort_tracing();
	fm_account_claim_least(account, cores, fm_engine.timing);
	results->process = (uint32_t)getpid();
	results->parent = parent;
	results->deterministic = fm_engine.deterministic;
	results->timing = fm_engine.timing;
	results->core_count = cores;
	memcpy(results->cores, cores_at_fork, cores * sizeof(results->cores[0]));
	for (unsigned i = 0; i < cores; i++)
		memset(&results->cores[i].counts, 0, sizeof(results->cores[i].counts));
	memcpy(results->program, program, sizeof(program));
	if (module_count && fm_room_claim(&account->room, results->modules, module_count * sizeof(modules[0]))) {
		memcpy(results->modules, modules, module_count * sizeof(modules[0]));
		results->module_count = module_count;
	}
	fm_places_inherit(account, sites, objects);
	fm_samples_after_fork_in_child(parent);
	results->magic = FM_RESULT_MAGIC;
}

static int refuse(const char *why)
{
	fprintf(stderr, "fathom: the emulator cannot start: %s\n", why);
	return 1;
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                                               char **argv)
{
	struct fm_machine_description description;
	struct fm_account *account;
	const char *machine = NULL, *cores = NULL, *pages = NULL, *samples = NULL;
	uint64_t every = 1;
	struct fm_error error;

	fm_engine.skew = 1000;
	fm_engine.last_instance = UINT64_MAX;
	fm_engine.deterministic = true;
	bool prefetch = true, executed = false;
	unsigned core_count;

	fm_execute_remember(argc, argv);
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			continue;
		*value++ = 0;
		if (!strcmp(argv[i], "out"))
			snprintf(fm_engine.results_path, sizeof(fm_engine.results_path), "%s", value);
		else if (!strcmp(argv[i], "first"))
			snprintf(fm_engine.first_path, sizeof(fm_engine.first_path), "%s", value);
		else if (!strcmp(argv[i], "executed"))
			executed = *value == '1';
		else if (!strcmp(argv[i], "machine"))
			machine = value;
		else if (!strcmp(argv[i], "cores"))
			cores = value;
		else if (!strcmp(argv[i], "pages"))
			pages = value;
		else if (!strcmp(argv[i], "samples"))
			samples = value;
		else if (!strcmp(argv[i], "every"))
			every = strtoull(value, NULL, 10);
		else if (!strcmp(argv[i], "skew"))
			fm_engine.skew = strtoull(value, NULL, 10);
		else if (!strcmp(argv[i], "free"))
			fm_engine.deterministic = *value != '1';
		else if (!strcmp(argv[i], "prefetch"))
			prefetch = *value == '1';
		else if (!strcmp(argv[i], "timing"))
			fm_engine.timing = *value == '1';
		else if (!strcmp(argv[i], "region"))
			snprintf(fm_engine.region_only, sizeof(fm_engine.region_only), "%s", value);
		else if (!strcmp(argv[i], "interval"))
			fm_series_begin(strtoull(value, NULL, 10));
		else if (!strcmp(argv[i], "instances"))
			sscanf(value, "%lu-%lu", &fm_engine.first_instance, &fm_engine.last_instance);
		else if (!strcmp(argv[i], "window"))
			sscanf(value, "%lu-%lu", &fm_engine.window_begin, &fm_engine.window_end);
	}
	if (info->version.cur < 1 || info->version.min > 1)
		return refuse("this QEMU has another plugin interface");
	if (info->system_emulation || !machine || !*fm_engine.results_path)
		return refuse("the plugin must be started by 'fathom stat'");
	fm_engine.x86 = !strcmp(info->target_name, "x86_64");
	if (!fm_engine.x86)
		fm_engine.timing = false;
	if (fm_description_read(machine, &description, &error))
		return refuse(error.message);
	if (!*fm_engine.first_path)
		memcpy(fm_engine.first_path, fm_engine.results_path, sizeof(fm_engine.first_path));
	fm_engine.first = fm_room_first(fm_engine.first_path);
	core_count = description.sockets * description.cores;
	account = fm_engine.account = fm_account_create();
	if (!account)
		return refuse("no memory for the results");
	/* what another program executed runs on without */
	if (!executed && !fm_room_open(&account->room, fm_engine.results_path, core_count, fm_engine.timing))
		return refuse("no memory for the results");
	if (executed && !fm_room_create(&account->room, fm_engine.results_path, core_count, fm_engine.timing)) {
		fm_room_none(&account->room);
		count_lost_process();
	}
	account->results = fm_room_use(&account->room, NULL);
	if (!account->results || (!fm_account_claim_least(account, core_count, fm_engine.timing) && !executed))
		return refuse("no memory for the results");
	if (pages)
		description.page_bytes = (unsigned)strtoul(pages, NULL, 10);
	if (fm_account_begin(account, &description, prefetch, &error))
		return refuse(error.message);
	/* before a second thread exists: the fast path cannot be taken away under a running thread */
	if (!fm_engine.deterministic)
		fm_hierarchy_share(account->hierarchy);
	fm_engine.core_list_count =
	    fm_account_core_list(account, cores ? cores : "0", fm_engine.core_list, FM_SIMULATED_CORES_MAX);
	if (!fm_engine.core_list_count)
		return refuse("the list of cores is invalid");
	account->before_objects = fm_queue_drain;
	if (fm_engine.region_only[0])
		account->on_function = fm_functions_add;
	pthread_mutex_init(&fm_engine.mutex, NULL);
	fm_turns_reset();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	account->results->magic = FM_RESULT_MAGIC;
	account->results->executed = executed;
	account->results->parent = executed ? (uint32_t)getppid() : 0;
	account->results->process = (uint32_t)getpid();
	account->results->core_count = account->hierarchy->core_count;
	account->results->deterministic = fm_engine.deterministic;
	account->results->timing = fm_engine.timing;
	if (samples && every) {
		fm_samples_use(samples, every);
		fm_samples_begin(executed ? (uint32_t)getppid() : 0, executed);
	}
	fm_engine.follows = fm_engine.every || fm_engine.region_only[0];
	qemu_plugin_register_vcpu_tb_trans_cb(id, fm_engine_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_system_call_return);
	qemu_plugin_register_vcpu_exit_cb(id, on_thread_exit);
	qemu_plugin_register_atexit_cb(id, on_exit_all, NULL);
	return 0;
}
