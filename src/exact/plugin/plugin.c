/* The exact engine's plugin for QEMU user mode: every load and store of the program goes into the simulated machine.
   SPDX-License-Identifier: GPL-2.0-or-later

   It is loaded into QEMU: it never ends its host; when something is missing it says one line and does nothing. */
#include "exact/plugin/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "exact/plugin/calls.h"
#include "exact/plugin/decode.h"
#include "exact/plugin/places.h"
#include "exact/plugin/regions.h"
#include "exact/plugin/state.h"
#include "exact/plugin/turns.h"

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

struct fm_engine fm_engine;
/* The plugin is loaded before the program's threads begin, so the cheap kind of thread-local storage has room. */
__thread struct fm_engine_thread *fm_self __attribute__((tls_model("initial-exec")));

/* An instruction that accesses memory, as translated. */
struct access_site {
	struct fm_result_site *site;
	uint8_t whole; /* bytes of the access when it arrives in pieces of eight; else 0 */
	uint8_t nontemporal;
	uint8_t index; /* in its block, for timing */
};

/* A translated block, for timing. */
struct block {
	unsigned count;
	struct fm_decoded decoded[];
};

/* Threads */

/* The program's memory is ours, but the pointer may be anything: let the kernel check it. Page by page, since a text
   may end before what follows it begins. */
static size_t copy_bytes(void *target, size_t size, uint64_t address)
{
	size_t done = 0;

	while (done < size) {
		size_t part = 4096 - (address + done) % 4096;
		struct iovec into = {(char *)target + done, part < size - done ? part : size - done};
		struct iovec from = {(void *)(address + done), into.iov_len};
		ssize_t got = process_vm_readv(getpid(), &into, 1, &from, 1, 0);

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static void copy_name(char *target, size_t size, uint64_t address, uint64_t length)
{
	target[copy_bytes(target, length < size ? length : size - 1, address)] = 0;
}

static struct fm_simulated_core *choose_core(struct fm_result_thread *record)
{
	unsigned chosen = 0;
	bool found = false;

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
	return fm_hierarchy_core(fm_engine.hierarchy, chosen);
}

struct fm_engine_thread *fm_engine_thread_begin(void)
{
	struct fm_results *results = fm_engine.results;
	struct fm_engine_thread *thread = calloc(1, sizeof(*thread));
	static struct fm_result_thread nowhere;

	if (!thread)
		return NULL;
	pthread_mutex_lock(&fm_engine.mutex);
	if (results->thread_count < FM_RESULT_THREADS_MAX) {
		thread->record = &results->threads[results->thread_count];
	} else {
		thread->record = &nowhere;
		results->lost_threads++;
	}
	thread->index = fm_engine.threads_begun;
	thread->record->host_thread = (uint32_t)syscall(SYS_gettid);
	thread->core = choose_core(thread->record);
	fm_engine.threads_begun++;
	if (thread->core) {
		thread->record->at_begin = thread->core->counts;
		if (!fm_engine.deterministic && fm_engine.threads_begun > 1)
			fm_hierarchy_share(fm_engine.hierarchy);
	}
	if (thread->core && fm_engine.timing) {
		unsigned core = thread->core->index;

		if (!fm_engine.timings[core])
			fm_core_timing_create(fm_engine.hierarchy, core, &fm_engine.timings[core], NULL);
		thread->timing = fm_engine.timings[core];
		thread->record->timing_at_begin = results->timings[core];
	}
	if (thread->record != &nowhere)
		results->thread_count++;
	thread->tracing = !fm_engine.region_only[0] && fm_engine.window_begin == 0;
	pthread_mutex_unlock(&fm_engine.mutex);
	fm_self = thread;
	fm_turns_join(thread);
	return thread;
}

static struct fm_engine_thread *self(void)
{
	return __builtin_expect(fm_self != NULL, 1) ? fm_self : fm_engine_thread_begin();
}

static void publish_timing(struct fm_engine_thread *thread)
{
	if (thread->timing)
		fm_engine.results->timings[thread->core->index] = *fm_core_timing_counts(thread->timing);
}

static void publish_lines(void)
{
	struct fm_results *results = fm_engine.results;

	results->line_count =
	    (uint32_t)fm_hierarchy_shared_lines(fm_engine.hierarchy, results->lines, FM_RESULT_LINES_MAX);
	results->simulator_bytes = fm_engine.hierarchy->memory_bytes;
}

static void flush_block(struct fm_engine_thread *thread);

static void thread_end(struct fm_engine_thread *thread)
{
	if (!thread || thread->record->ended)
		return;
	flush_block(thread);
	if (thread->timing)
		fm_core_drain(thread->timing);
	publish_timing(thread);
	pthread_mutex_lock(&fm_engine.mutex);
	if (thread->core) {
		thread->record->at_end = thread->core->counts;
		thread->record->timing_at_end = fm_engine.results->timings[thread->core->index];
		fm_engine.core_users[thread->core->index]--;
	}
	thread->record->ended = 1;
	publish_lines();
	pthread_mutex_unlock(&fm_engine.mutex);
	fm_turns_leave(thread);
}

/* Accesses */

static inline void count_site(struct fm_result_site *site, unsigned served, bool store)
{
	if (store)
		site->stores++;
	else
		site->loads++;
	if (__builtin_expect(served != 0, 0)) {
		/* a line from another core's private cache missed ours; the last cache was asked, but not missed */
		unsigned levels =
		    served == FM_SERVED_CORE ? fm_engine.hierarchy->private_caches : fm_engine.cache_count;

		for (unsigned i = 0; i < levels && i < served; i++)
			site->misses[i]++;
	}
}

static inline unsigned access_bytes(qemu_plugin_meminfo_t information)
{
	return 1u << (information >> 4 & 7);
}

static inline bool access_is_store(qemu_plugin_meminfo_t information)
{
	return information >> 16 & QEMU_PLUGIN_MEM_W;
}

/* The later pieces of an access that was taken as a whole when its first piece came. */
static inline bool is_piece(struct fm_engine_thread *thread, const struct access_site *where, uint64_t address)
{
	if (thread->pieces_of != where || thread->next_piece != address)
		return false;
	thread->next_piece += 8;
	if (!--thread->pieces_left)
		thread->pieces_of = NULL;
	return true;
}

static inline unsigned whole_access(struct fm_engine_thread *thread, const struct access_site *where, uint64_t address,
                                    unsigned bytes)
{
	if (!where->whole || bytes != 8)
		return bytes;
	thread->pieces_of = where;
	thread->pieces_left = where->whole / 8u - 1;
	thread->next_piece = address + 8;
	return where->whole;
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	const struct access_site *where = data;
	struct fm_engine_thread *thread = self();
	bool store = access_is_store(information);
	enum fm_access access = !store               ? FM_ACCESS_LOAD
	                        : where->nontemporal ? FM_ACCESS_STORE_NONTEMPORAL
	                                             : FM_ACCESS_STORE;
	unsigned bytes, served;

	(void)vcpu;
	if (__builtin_expect(!thread || !thread->core || !thread->tracing, 0))
		return;
	if (where->whole && is_piece(thread, where, address))
		return;
	bytes = whole_access(thread, where, address, access_bytes(information));
	served = fm_hierarchy_access(fm_engine.hierarchy, thread->core, address, bytes, access);
	if (__builtin_expect(served != 0, 0))
		thread->clock += fm_engine.latency[served];
	count_site(where->site, served, store);
}

/* With timing, accesses are kept until their block is complete. */
static void on_access_timed(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	const struct access_site *where = data;
	struct fm_engine_thread *thread = self();
	struct fm_engine_access *kept;
	bool store = access_is_store(information);

	(void)vcpu;
	if (!thread || !thread->tracing || thread->kept_count == FM_ENGINE_KEPT_MAX)
		return;
	if (where->whole && is_piece(thread, where, address))
		return;
	kept = &thread->kept[thread->kept_count++];
	kept->access.address = address;
	kept->access.bytes = (uint8_t)whole_access(thread, where, address, access_bytes(information));
	kept->access.access = !store               ? FM_ACCESS_LOAD
	                      : where->nontemporal ? FM_ACCESS_STORE_NONTEMPORAL
	                                           : FM_ACCESS_STORE;
	kept->index = where->index;
	kept->site = where->site;
}

/* Feed the block that was executed to the core. Its accesses come in program order; those of a repeated or faulted
   instruction beyond what one may have are fed as instructions of their own. */
static void flush_block(struct fm_engine_thread *thread)
{
	const struct block *block = thread->block;
	unsigned next = 0;

	thread->block = NULL;
	if (!block || !thread->timing)
		return;
	for (unsigned i = 0; i < block->count; i++) {
		struct fm_memory_access accesses[FM_INSTRUCTION_ACCESSES_MAX];
		unsigned count = 0;

		do {
			for (count = 0; next < thread->kept_count && thread->kept[next].index == i &&
			                count < FM_INSTRUCTION_ACCESSES_MAX;
			     next++) {
				accesses[count++] = thread->kept[next].access;
				if (thread->kept[next].access.access == FM_ACCESS_LOAD)
					thread->kept[next].site->loads++;
				else
					thread->kept[next].site->stores++;
			}
			fm_core_execute(thread->timing, &block->decoded[i].instruction, accesses, count);
		} while (next < thread->kept_count && thread->kept[next].index == i);
	}
	thread->kept_count = 0;
	thread->clock = fm_core_now(thread->timing);
	if (++thread->flushes % 64 == 0)
		publish_timing(thread);
}

void fm_engine_settle(struct fm_engine_thread *thread)
{
	flush_block(thread);
	publish_timing(thread);
}

/* Blocks */

static void on_window(struct fm_engine_thread *thread)
{
	uint64_t at = thread->record->instructions;

	if (fm_engine.window_end && !fm_engine.region_only[0])
		thread->tracing = at >= fm_engine.window_begin && at < fm_engine.window_end;
}

static void on_block(unsigned vcpu, void *data)
{
	struct fm_engine_thread *thread = self();
	uint64_t count = (uintptr_t)data;

	(void)vcpu;
	if (__builtin_expect(!thread, 0))
		return;
	thread->record->instructions += count;
	thread->clock += count;
	if (__builtin_expect(fm_engine.window_end != 0, 0))
		on_window(thread);
	if (__builtin_expect(thread->clock > thread->limit, 0))
		fm_turns_yield(thread);
}

static void on_block_timed(unsigned vcpu, void *data)
{
	struct fm_engine_thread *thread = self();
	const struct block *block = data;

	(void)vcpu;
	if (!thread)
		return;
	flush_block(thread);
	thread->record->instructions += block->count;
	if (fm_engine.window_end)
		on_window(thread);
	thread->block = thread->tracing ? block : NULL;
	if (thread->clock > thread->limit)
		fm_turns_yield(thread);
}

/* QEMU translates under a lock of its own, so this runs one at a time. */
static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *translated)
{
	size_t count = qemu_plugin_tb_n_insns(translated);
	struct block *block = NULL;

	(void)id;
	if (!count)
		return;
	fm_places_note_module(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translated, 0)));
	if (fm_engine.timing) {
		block = calloc(1, sizeof(*block) + count * sizeof(block->decoded[0]));
		if (!block)
			return;
		block->count = (unsigned)count;
	}
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translated, i);
		struct fm_decoded decoded = {0};
		struct access_site *site;

		bool known = fm_engine.x86 && fm_decode(qemu_plugin_insn_data(instruction),
		                                        (unsigned)qemu_plugin_insn_size(instruction), &decoded);

		if (block)
			block->decoded[i] = decoded;
		if (known && !decoded.operand_bytes)
			continue;
		site = calloc(1, sizeof(*site));
		if (!site)
			break;
		site->site = fm_places_find(qemu_plugin_insn_vaddr(instruction));
		site->nontemporal = decoded.nontemporal;
		site->whole = decoded.single && decoded.operand_bytes > 8 && decoded.operand_bytes <= 64 &&
		                      decoded.operand_bytes % 8 == 0
		                  ? (uint8_t)decoded.operand_bytes
		                  : 0;
		site->index = (uint8_t)(i < 255 ? i : 255);
		qemu_plugin_register_vcpu_mem_cb(instruction, block ? on_access_timed : on_access,
		                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, site);
	}
	if (block)
		qemu_plugin_register_vcpu_tb_exec_cb(translated, on_block_timed, QEMU_PLUGIN_CB_NO_REGS, block);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(translated, on_block, QEMU_PLUGIN_CB_NO_REGS,
		                                     (void *)(uintptr_t)count);
}

/* System calls */

static void on_system_call(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                           uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct fm_engine_thread *thread = self();
	struct fm_results *results = fm_engine.results;
	char name[FM_RESULT_NAME];
	unsigned kind = fm_call_kind(number, fm_engine.x86);

	(void)id, (void)vcpu, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
	if (!thread)
		return;
	flush_block(thread);
	/* a system call waits for all that came before it */
	if (thread->timing)
		fm_core_drain(thread->timing);
	publish_timing(thread);
	if (number == FM_MARKER_CALL) {
		copy_name(name, sizeof(name), a2, a3);
		if (a1 == 1)
			fm_region_begin(thread, name);
		else if (a1 == 2)
			fm_region_end(thread, name);
		return;
	}
	if (kind & FM_CALL_EXECUTES && results->exec_count < FM_RESULT_EXECS_MAX) {
		copy_name(results->execs[results->exec_count], sizeof(results->execs[0]),
		          number == 322 || number == 281 ? a2 : a1, 255);
		results->exec_count++;
	}
	if (kind & (FM_CALL_EXITS | FM_CALL_EXITS_ALL))
		publish_lines();
	if (kind & FM_CALL_EXITS) {
		thread_end(thread);
		fm_self = NULL;
		free(thread);
		return;
	}
	thread->makes_thread = thread->wakes = thread->waits = false;
	if (kind & FM_CALL_CLONES) {
		uint64_t flags = a1;

		if (number == 435)
			copy_bytes(&flags, sizeof(flags), a1);
		thread->makes_thread = flags & CLONE_THREAD;
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
	if (thread->waits)
		fm_turns_block(thread);
}

static void on_system_call_return(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result)
{
	struct fm_engine_thread *thread = fm_self;
	unsigned kind = fm_call_kind(number, fm_engine.x86);

	(void)id, (void)vcpu;
	if (!thread || number == FM_MARKER_CALL)
		return;
	if (kind & FM_CALL_READS && result > 0)
		fm_engine.results->kernel_bytes += (uint64_t)result;
	if (kind & FM_CALL_EXECUTES && fm_engine.results->exec_count)
		fm_engine.results->exec_count--; /* it came back: it failed */
	/* Whoever was made or woken must be in the list before we go on, or how far we get alone would be up to the
	 * host. */
	if (thread->makes_thread && result > 0)
		fm_turns_expect(1);
	if (thread->wakes && result > 0)
		fm_turns_expect((unsigned)result);
	if (thread->waits)
		fm_turns_unblock(thread);
	thread->makes_thread = thread->wakes = thread->waits = false;
}

static void on_thread_exit(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id, (void)vcpu;
	if (fm_self) {
		thread_end(fm_self);
		free(fm_self);
		fm_self = NULL;
	}
}

static void on_exit_all(qemu_plugin_id_t id, void *data)
{
	(void)id, (void)data;
	if (fm_self) {
		flush_block(fm_self);
		if (fm_self->timing)
			fm_core_drain(fm_self->timing);
		publish_timing(fm_self);
	}
	publish_lines();
}

/* Set-up */

static struct fm_results *map_results(const char *path, bool create)
{
	int file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);
	void *memory;

	if (file < 0)
		return NULL;
	if (create && ftruncate(file, sizeof(struct fm_results))) {
		close(file);
		return NULL;
	}
	memory = mmap(NULL, sizeof(struct fm_results), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return memory == MAP_FAILED ? NULL : memory;
}

/* In a forked child: counts of its own, from zero, in a file of its own beside the first; the caches as they were. */
static void after_fork_in_child(void)
{
	struct fm_results *before = fm_engine.results, *own;
	char path[512];

	snprintf(path, sizeof(path), "%s.%d", fm_engine.results_path, (int)getpid());
	own = map_results(path, true);
	if (!own)
		return;
	before->forks++;
	own->magic = FM_RESULT_MAGIC;
	own->process = (uint32_t)getpid();
	own->parent = before->process;
	own->deterministic = before->deterministic;
	own->timing = before->timing;
	own->core_count = before->core_count;
	memcpy(own->cores, before->cores, before->core_count * sizeof(own->cores[0]));
	for (unsigned i = 0; i < own->core_count; i++)
		memset(&own->cores[i].counts, 0, sizeof(own->cores[i].counts));
	memcpy(own->modules, before->modules, sizeof(own->modules));
	own->module_count = before->module_count;
	/* sites are known to translated code by their address: the new file goes where the old one was */
	if (mremap(own, sizeof(*own), sizeof(*own), MREMAP_MAYMOVE | MREMAP_FIXED, before) == MAP_FAILED)
		return;
	pthread_mutex_init(&fm_engine.mutex, NULL);
	fm_engine.threads_begun = 0;
	memset(fm_engine.core_users, 0, sizeof(fm_engine.core_users));
	fm_turns_reset();
	/* only this thread is left; it begins anew */
	fm_self = NULL;
}

static bool parse_core_list(const char *text)
{
	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last; first++) {
			if (first >= fm_engine.hierarchy->core_count ||
			    fm_engine.core_list_count == FM_SIMULATED_CORES_MAX)
				return false;
			fm_engine.core_list[fm_engine.core_list_count++] = (unsigned)first;
		}
		text = end + (*end == '+');
	}
	return fm_engine.core_list_count > 0;
}

static int refuse(const char *why)
{
	fprintf(stderr, "fathom: the exact engine cannot start: %s\n", why);
	return 1;
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                                               char **argv)
{
	struct fm_machine_description description;
	const char *machine = NULL, *cores = NULL, *pages = NULL;
	struct fm_error error;

	fm_engine.skew = 1000;
	fm_engine.last_instance = UINT64_MAX;
	fm_engine.deterministic = true;
	bool prefetch = true;
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			continue;
		*value++ = 0;
		if (!strcmp(argv[i], "out"))
			snprintf(fm_engine.results_path, sizeof(fm_engine.results_path), "%s", value);
		else if (!strcmp(argv[i], "machine"))
			machine = value;
		else if (!strcmp(argv[i], "cores"))
			cores = value;
		else if (!strcmp(argv[i], "pages"))
			pages = value;
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
		else if (!strcmp(argv[i], "instances"))
			sscanf(value, "%lu-%lu", &fm_engine.first_instance, &fm_engine.last_instance);
		else if (!strcmp(argv[i], "window"))
			sscanf(value, "%lu-%lu", &fm_engine.window_begin, &fm_engine.window_end);
	}
	if (info->version.cur < 1 || info->version.min > 1)
		return refuse("this QEMU has another plugin interface");
	if (info->system_emulation || !machine || !*fm_engine.results_path)
		return refuse("it is started by 'fathom stat', not by hand");
	fm_engine.x86 = !strcmp(info->target_name, "x86_64");
	if (!fm_engine.x86)
		fm_engine.timing = false;
	fm_engine.results = map_results(fm_engine.results_path, false);
	if (!fm_engine.results)
		return refuse("its result file cannot be opened");
	if (fm_description_read(machine, &description, &error))
		return refuse(error.message);
	if (pages)
		description.page_bytes = (unsigned)strtoul(pages, NULL, 10);
	if (fm_hierarchy_create_in(&description, fm_engine.results->cores, &fm_engine.hierarchy, &error))
		return refuse(error.message);
	fm_engine.hierarchy->prefetch = prefetch;
	if (!parse_core_list(cores ? cores : "0"))
		return refuse("its list of cores is wrong");
	fm_engine.cache_count = description.cache_count;
	for (unsigned i = 0; i < description.cache_count; i++)
		fm_engine.latency[i] = description.caches[i].latency;
	fm_engine.latency[FM_SERVED_MEMORY] = description.memory_latency;
	fm_engine.latency[FM_SERVED_REMOTE] = description.memory_remote_latency;
	fm_engine.latency[FM_SERVED_CORE] = description.caches[description.cache_count - 1].latency;
	pthread_mutex_init(&fm_engine.mutex, NULL);
	fm_turns_reset();
	pthread_atfork(NULL, NULL, after_fork_in_child);
	fm_engine.results->magic = FM_RESULT_MAGIC;
	fm_engine.results->process = (uint32_t)getpid();
	fm_engine.results->core_count = fm_engine.hierarchy->core_count;
	fm_engine.results->deterministic = fm_engine.deterministic;
	fm_engine.results->timing = fm_engine.timing;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_system_call_return);
	qemu_plugin_register_vcpu_exit_cb(id, on_thread_exit);
	qemu_plugin_register_atexit_cb(id, on_exit_all, NULL);
	return 0;
}
