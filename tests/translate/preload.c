/* Preloaded into unmodified programs: runs all their threads in the code cache, the first from before main(), others
   from their start routine on. Each has a translator of its own; those of ended threads are used again.
   TRANSLATE_MODE    plain (default), log (every reference is logged), fuel, count (pieces of straight code count), tick
   (every millisecond the thread leaves where it happens to be and enters again, and every eighth time all translations
   are thrown away), none (only loaded, for comparison) TRANSLATE_SIZE    KiB of each cache TRANSLATE_REPORT  file that
   gets counts and reasons, one "name value" per line, at exit */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

enum { MOST_SLOTS = 512 };
static struct slot slots[MOST_SLOTS];
static __thread struct slot *own __attribute__((tls_model("initial-exec")));

static bool enabled, stress;
static struct fm_translate_client client;
static struct fm_translate_options options = {.client = &client};
static uint64_t logged, checksum, refuelled, without;

static enum fm_translate_choice choose_all(void *context, const struct fm_translate_site *site)
{
	(void)context;
	(void)site;
	return FM_TRANSLATE_LOGGED;
}

static void on_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	uint64_t sum = 0;

	(void)context;
	for (size_t i = 0; i < count; i += 64)
		sum ^= entries[i].address;
	__atomic_fetch_xor(&checksum, sum, __ATOMIC_RELAXED);
	__atomic_fetch_add(&logged, count, __ATOMIC_RELAXED);
}

/* One number for the same piece in all threads, and after translations were thrown away. In the order in which they
   come: counters of pieces that run together share cache lines. */
static uint64_t piece_keys[2 * FM_TRANSLATE_PIECES]; /* its address << 8 | instructions */
static uint32_t piece_numbers[2 * FM_TRANSLATE_PIECES], piece_count;
static uint8_t piece_instructions[FM_TRANSLATE_PIECES];
static uint32_t number_piece(void *context, const struct fm_translate_piece *piece)
{
	uint64_t key = piece->pc << 8 | piece->instructions;
	uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 46), number;

	(void)context;
	if (__atomic_load_n(&piece_count, __ATOMIC_RELAXED) >= FM_TRANSLATE_PIECES)
		return FM_TRANSLATE_NO_PIECE;
	for (;; at = (at + 1) % (2 * FM_TRANSLATE_PIECES)) {
		uint64_t found = 0;

		if (__atomic_compare_exchange_n(&piece_keys[at], &found, key, false, __ATOMIC_RELAXED,
		                                __ATOMIC_RELAXED))
			break;
		if (found == key) {
			number = __atomic_load_n(&piece_numbers[at], __ATOMIC_ACQUIRE);
			return number ? number - 1 : FM_TRANSLATE_NO_PIECE;
		}
	}
	number = __atomic_fetch_add(&piece_count, 1, __ATOMIC_RELAXED);
	if (number >= FM_TRANSLATE_PIECES)
		return FM_TRANSLATE_NO_PIECE;
	piece_instructions[number] = (uint8_t)piece->instructions;
	__atomic_store_n(&piece_numbers[at], number + 1, __ATOMIC_RELEASE);
	return number;
}

static uint64_t executed(struct fm_translator *translator)
{
	const uint64_t *counters = fm_translator_counters(translator);
	uint64_t sum = 0;

	for (uint32_t i = 0; counters && i < FM_TRANSLATE_PIECES; i++)
		sum += counters[i] * piece_instructions[i];
	return sum;
}

static uint64_t on_fuel(void *context)
{
	(void)context;
	__atomic_fetch_add(&refuelled, 1, __ATOMIC_RELAXED);
	return 1000000;
}

struct slot *preload_slot(void)
{
	return own && own->thread == (pid_t)syscall(SYS_gettid) ? own : NULL;
}

static int add_changes(struct dl_phdr_info *information, size_t size, void *sum)
{
	(void)size;
	*(unsigned long long *)sum = information->dlpi_adds + information->dlpi_subs;
	return 1;
}

/* No lock: a child of fork() may find any state. */
static struct slot *take_slot(void)
{
	unsigned long long loaded = 0;

	dl_iterate_phdr(add_changes, &loaded);
	for (struct slot *slot = slots; slot < slots + MOST_SLOTS; slot++) {
		if (__atomic_exchange_n(&slot->taken, 1, __ATOMIC_ACQUIRE))
			continue;
		if (!slot->translator && fm_translator_create(&options, &slot->translator)) {
			slot->translator = NULL;
			__atomic_store_n(&slot->taken, 0, __ATOMIC_RELEASE);
			break;
		}
		if (slot->loaded && slot->loaded != loaded) /* another library may be where one was before */
			fm_translator_flush(slot->translator);
		slot->loaded = loaded;
		return slot;
	}
	__atomic_fetch_add(&without, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void begin_thread(struct slot *slot)
{
	slot->thread = (pid_t)syscall(SYS_gettid);
	slot->depth = slot->deferred_count = 0;
	slot->threads++;
	own = slot;
	preload_begin_ticks(slot, stress);
	slot->wanted = true;
	fm_translator_enter(slot->translator);
}

/* Also when the thread ends by pthread_exit() or is cancelled; what the C library does after that runs natively. */
static void end_thread(void *memory)
{
	struct slot *slot = memory;

	slot->wanted = false; /* from here on no tick brings it back */
	fm_translator_leave();
	preload_end_ticks(slot);
	own = NULL;
	__atomic_store_n(&slot->taken, 0, __ATOMIC_RELEASE);
}

static void *run(void *memory)
{
	struct slot *slot = memory;
	void *result;

	pthread_cleanup_push(end_thread, slot);
	begin_thread(slot);
	result = slot->routine(slot->argument);
	pthread_cleanup_pop(1);
	return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
	    (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
	struct slot *slot = enabled ? take_slot() : NULL;
	int error;

	if (!slot)
		return real(thread, attributes, routine, argument);
	slot->routine = routine;
	slot->argument = argument;
	error = real(thread, attributes, run, slot);
	if (error)
		__atomic_store_n(&slot->taken, 0, __ATOMIC_RELEASE);
	return error;
}

/* The forking thread is the only one here, still in the cache, and timers are not inherited. */
static void begin_child(void)
{
	if (!own)
		return;
	for (struct slot *slot = slots; slot < slots + MOST_SLOTS; slot++) {
		slot->threads = slot->ticks = slot->deferrals = slot->lost = slot->handled = slot->returned = 0;
		memset(slot->found, 0, sizeof(slot->found));
	}
	own->thread = (pid_t)syscall(SYS_gettid);
	own->threads = 1;
	own->deferred_count = 0;
	preload_begin_ticks(own, stress);
}

static void __attribute__((constructor)) begin(void)
{
	const char *mode = getenv("TRANSLATE_MODE"), *size = getenv("TRANSLATE_SIZE");
	struct slot *slot;

	if (mode && !strcmp(mode, "none"))
		return;
	client.on_fuel = on_fuel;
	if (mode && !strcmp(mode, "log")) {
		client.choose = choose_all;
		client.on_log = on_log;
	}
	if (mode && !strcmp(mode, "count")) {
		client.number_piece = number_piece;
		options.count_pieces = true;
		options.loop_copies = getenv("TRANSLATE_COPIES") ? (unsigned)atoi(getenv("TRANSLATE_COPIES")) : 0;
	}
	options.with_fuel = mode && !strcmp(mode, "fuel");
	stress = mode && !strcmp(mode, "tick");
	if (size)
		options.code_size = (size_t)atol(size) << 10;
	slot = take_slot();
	if (!slot)
		return;
	enabled = true;
	pthread_atfork(NULL, NULL, begin_child);
	begin_thread(slot);
}

static void add(uint64_t *sums, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sums[i] += numbers[i];
}

static void report(int file)
{
	static const char *const places[] = {
	    [INSIDE] = "inside",   [BETWEEN] = "between", [IN_HANDLER] = "in_handler",
	    [AT_EDGE] = "at_edge", [LEFT] = "outside",    [LEFT_AGAIN] = "outside_again"};
	struct fm_translate_counts sum = {0};
	struct slot all = {0};
	uint64_t instructions = 0;
	char text[4096];
	size_t used;

	for (struct slot *slot = slots; slot < slots + MOST_SLOTS; slot++) {
		if (!slot->translator)
			continue;
		add(&sum.blocks, &fm_translator_counts(slot->translator)->blocks, sizeof(sum) / sizeof(uint64_t));
		instructions += executed(slot->translator);
		all.threads += slot->threads;
		all.ticks += slot->ticks;
		all.deferrals += slot->deferrals;
		all.lost += slot->lost;
		all.handled += slot->handled;
		all.returned += slot->returned;
		add(all.found, slot->found, WHEREABOUTS);
	}
	used = (size_t)snprintf(
	    text, sizeof(text),
	    "pid %d\nblocks %lu\ninstructions %lu\nentered %lu\nchained %lu\nlooked_up %lu\nflushed %lu\n"
	    "system_calls %lu\nunlogged %lu\nlogged %lu\nrefuelled %lu\nthreads %lu\nwithout %lu\nticks %lu\n"
	    "deferred %lu\nlost %lu\nhandled %lu\nreturned %lu\nexecuted %lu\n",
	    getpid(), sum.blocks, sum.instructions, sum.entered, sum.chained, sum.looked_up, sum.flushed,
	    sum.system_calls, sum.unlogged, logged, refuelled, all.threads, without, all.ticks, all.deferrals, all.lost,
	    all.handled, all.returned, instructions);
	for (unsigned place = 0; place < WHEREABOUTS; place++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %lu\n", places[place], all.found[place]);
	for (unsigned reason = 0; reason < FM_LEFT_REASONS; reason++)
		/* threads are asked to when they end */
		if (sum.left[reason] && reason != FM_LEFT_ASKED)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "left %lu times %s\n",
			                         sum.left[reason], fm_translate_reason_text(reason));
	used += (size_t)snprintf(text + used, sizeof(text) - used, "end\n");
	(void)!write(file, text, used);
}

static void __attribute__((destructor)) end(void)
{
	const char *name = getenv("TRANSLATE_REPORT");
	int file;

	if (!name || !preload_slot())
		return;
	file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (file < 0)
		return;
	report(file);
	close(file);
}

/* Children of fork() end like this. */
__attribute__((noreturn)) void _exit(int status)
{
	end();
	for (;;)
		syscall(SYS_exit_group, status);
}
