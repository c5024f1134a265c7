#include "record/window.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/log.h"
#include "record/rhythm.h"
#include "record/window_log.h"

enum {
	SHORTEST = 64,      /* references: less tells nothing */
	ENTRY_BYTES = 4096, /* of a window, in one entry */
	FUEL = 40,          /* instructions for each reference */
	LOGGING_NS = 3,     /* a reference, at most */
	/* a run for the clock */
	PACE_NS = 6000000,
	PACE_SHORT_NS = 500000,
	LONG_EVERY = 8,
	PACE_LOG = 2048,      /* references that are logged at once */
	PACE_FUEL = 40000000, /* instructions */
	PACE_LEAST = 5000,    /* references: less tells nothing */
	CHUNKS = 256,
	LINE = 64, /* bytes */
	ELEMENTS_MOST =
	    1 << 24, /* of a string instruction; with more it looks for something, and stops when it finds it */
};

/* A string instruction's operand: its elements are written as one reference to each line. */
struct repeated {
	uint64_t pc, address, bytes;
};

struct fm_windows {
	bool collecting, full;
	bool is_pace;
	bool has_choice; /* of a word for the clock */
	struct fm_rhythm_choice choice;
	uint64_t pace_until;                    /* ns of processor time */
	uint64_t chunk_began, chunk_translated; /* ticks */
	unsigned chunk_count;
	double chunks[CHUNKS];       /* ticks for each reference, ascending */
	uint64_t waiting;            /* the site of a string instruction whose number of elements comes next, + 1 */
	struct repeated first, held; /* one operand; and the other one of an instruction that has two */
	uint32_t number;
	uint64_t began; /* ticks */
	uint64_t translator_before;
	uint64_t took; /* ticks, translation and collecting not included */
	/* what is watched next */
	uint32_t position;
	unsigned word_count; /* 0: nothing */
	uint64_t chosen[FM_WATCHPOINTS];
	float share;
	struct fm_window_log log;
	struct fm_rhythm rhythm;
};

static uint32_t window_count, pace_count; /* of this process */

uint32_t fm_windows_length(void)
{
	/* a quarter each of the short and the long ones */
	static const uint16_t lengths[4] = {2048, 4096, 4096, FM_WINDOW_LONGEST};

	return lengths[fm_self_random() >> 40 & 3];
}

static void add(struct fm_windows *windows, uint64_t address, uint64_t pc)
{
	if (!fm_window_log_add(&windows->log, address, pc))
		windows->full = true;
}

static void add_line(struct fm_windows *windows, struct repeated *operand)
{
	uint64_t bytes = LINE - operand->address % LINE;

	if (!operand->bytes)
		return;
	add(windows, operand->address, operand->pc);
	bytes = bytes < operand->bytes ? bytes : operand->bytes;
	operand->address += bytes;
	operand->bytes -= bytes;
}

/* Operands of one instruction take turns, line by line. */
static void add_repeated(struct fm_windows *windows, struct repeated *first, struct repeated *second)
{
	while (!windows->full && (first->bytes || second->bytes)) {
		add_line(windows, first);
		add_line(windows, second);
	}
	first->bytes = second->bytes = 0;
}

static void on_elements(struct fm_windows *windows, const struct fm_translate_site *site, uint64_t elements)
{
	struct repeated *held = &windows->held, *first = &windows->first;

	first->bytes = elements > ELEMENTS_MOST ? site->size : elements * site->size;
	if (held->bytes && held->pc == site->pc) {
		add_repeated(windows, held, first);
	} else {
		add_repeated(windows, held, &(struct repeated){0});
		*held = *first;
	}
}

/* Of a run for the clock. What a string instruction refers to is counted by lines. */
static void follow(struct translator_slot *slot, const struct fm_translate_entry *entries, size_t count)
{
	struct fm_windows *windows = slot->windows;
	struct fm_rhythm *rhythm = &windows->rhythm;

	for (size_t i = 0; i < count; i++) {
		const struct fm_translate_site *site = fm_translator_site(slot->logging, entries[i].site);

		if (!site)
			continue;
		if (windows->waiting == entries[i].site + 1) {
			windows->waiting = 0;
			if (entries[i].address <= ELEMENTS_MOST)
				rhythm->references += entries[i].address * site->size / LINE;
			continue;
		}
		windows->waiting = site->kind & FM_TRANSLATE_REPEATED ? entries[i].site + 1 : 0;
		fm_rhythm_touch(rhythm, entries[i].address >> 3);
		rhythm->references += 1 + ((site->kind & (FM_TRANSLATE_LOAD | FM_TRANSLATE_STORE)) ==
		                           (FM_TRANSLATE_LOAD | FM_TRANSLATE_STORE));
	}
}

/* How long the references took that were logged at once. */
static void note_chunk(struct translator_slot *slot, size_t count)
{
	struct fm_windows *windows = slot->windows;
	uint64_t took = fm_ticks() - windows->chunk_began,
	         translated = fm_translator_ticks(slot->logging) - windows->chunk_translated;

	if (!windows->chunk_began || windows->chunk_count == CHUNKS || count < PACE_LOG / 2 || took < translated)
		return;
	/* in order: the middle one will be taken, since threads lose their processors */
	for (unsigned at = windows->chunk_count++;; at--) {
		double each = (double)(took - translated) / (double)count;

		if (at > 0 && windows->chunks[at - 1] > each) {
			windows->chunks[at] = windows->chunks[at - 1];
			continue;
		}
		windows->chunks[at] = each;
		break;
	}
}

static void on_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	struct translator_slot *slot = context;
	struct fm_windows *windows = slot->windows;

	if (windows->collecting && windows->is_pace) {
		note_chunk(slot, count);
		follow(slot, entries, count);
		return;
	}
	for (size_t i = 0; windows->collecting && !windows->full && i < count; i++) {
		const struct fm_translate_site *site = fm_translator_site(slot->logging, entries[i].site);

		if (!site)
			continue;
		if (windows->waiting == entries[i].site + 1) {
			windows->waiting = 0;
			on_elements(windows, site, entries[i].address);
			continue;
		}
		windows->waiting = 0;
		if (site->kind & FM_TRANSLATE_REPEATED) {
			windows->waiting = entries[i].site + 1;
			windows->first = (struct repeated){.pc = site->pc, .address = entries[i].address};
			continue;
		}
		add_repeated(windows, &windows->held, &(struct repeated){0});
		if (site->kind & FM_TRANSLATE_LOAD)
			add(windows, entries[i].address, site->pc);
		if (site->kind & FM_TRANSLATE_STORE)
			add(windows, entries[i].address, site->pc);
	}
}

static bool on_full(void *context)
{
	struct translator_slot *slot = context;
	struct fm_windows *windows = slot->windows;

	if (!windows->is_pace || fm_watch_now() >= windows->pace_until)
		return false;
	fm_translator_set_room(slot->logging, PACE_LOG); /* little: the log takes the caches from the program */
	windows->chunk_translated = fm_translator_ticks(slot->logging);
	windows->chunk_began = fm_ticks();
	return true;
}

int fm_record_windows_open(struct translator_slot *slot, struct fm_translate_client client, size_t code_size)
{
	const struct fm_translate_options options = {
	    .code_size = code_size,
	    .log_entries = FM_WINDOW_LONGEST,
	    .with_fuel = true,
	    .not_inherited = true,
	    .client = &client,
	};
	long result = fm_system_call(SYS_mmap, 0, sizeof(struct fm_windows), PROT_READ | PROT_WRITE,
	                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	if (result < 0 && result > -4096)
		return (int)result;
	fm_system_call(SYS_madvise, result, sizeof(struct fm_windows), MADV_DONTFORK, 0, 0, 0);
	slot->windows = (struct fm_windows *)result;
	client.context = slot;
	client.on_log = on_log;
	client.on_full = on_full;
	error = fm_translator_create(&options, &slot->logging);
	if (error) {
		fm_system_call(SYS_munmap, result, sizeof(struct fm_windows), 0, 0, 0, 0);
		slot->windows = NULL;
	}
	return error;
}

static void begin(struct translator_slot *slot, uint32_t length, uint64_t fuel)
{
	struct fm_windows *windows = slot->windows;

	/* what a fault left there belongs to no window */
	windows->collecting = false;
	fm_translator_set_room(slot->logging, length);
	fm_translator_set_fuel(slot->logging, fuel);
	fm_window_log_begin(&windows->log);
	windows->full = false;
	windows->waiting = 0;
	windows->held.bytes = 0;
	windows->collecting = true;
	windows->translator_before = fm_translator_ticks(slot->logging);
	windows->began = fm_ticks();
}

void fm_record_window_begin(struct translator_slot *slot, uint32_t length)
{
	slot->windows->is_pace = false;
	begin(slot, length, (uint64_t)FUEL * length);
}

void fm_windows_begin_pace(struct translator_slot *slot)
{
	bool is_long;

	slot->windows->is_pace = true;
	/* mostly short: long ones find words that are touched rarely, but cost */
	is_long = __atomic_fetch_add(&pace_count, 1, __ATOMIC_RELAXED) % LONG_EVERY == 1;
	slot->windows->pace_until = fm_watch_now() + (is_long ? PACE_NS : PACE_SHORT_NS);
	slot->windows->chunk_began = 0;
	slot->windows->chunk_count = 0;
	fm_rhythm_begin(&slot->windows->rhythm);
	begin(slot, PACE_LOG, PACE_FUEL);
}

void fm_windows_end_pace(struct translator_slot *slot)
{
	struct fm_windows *windows = slot->windows;
	double ticks = fm_session->ticks_per_second * 1e-9, least;
	struct fm_stream_pace pace = {.gap = 1, .gaps = (uint32_t)windows->rhythm.references};

	windows->collecting = false;
	windows->word_count = 0;
	windows->has_choice = false;
	windows->took = fm_ticks() - windows->began;
	fm_watch_pass(&slot->burst->watches, NULL, 0, slot->burst->cpu_began);
	if (windows->rhythm.references < PACE_LEAST || !windows->chunk_count)
		return;
	pace.ns = windows->chunks[windows->chunk_count / 2] / ticks;
	fm_log_write(FM_STREAM_PACE, &pace, sizeof(pace));
	/* the program itself is faster, and its touches are to be further apart than what each of them takes */
	least = 2 * (double)fm_watch_cycle() / (pace.ns > 2 * LOGGING_NS ? pace.ns - LOGGING_NS : pace.ns / 4);
	windows->has_choice = fm_rhythm_choose(&windows->rhythm, least, &windows->choice) ||
	                      fm_rhythm_choose(&windows->rhythm, least / 4, &windows->choice);
}

void fm_windows_flush(struct translator_slot *slot)
{
	slot->windows->collecting = false; /* the log is delivered */
	fm_translator_flush(slot->logging);
}

static void write_down(const struct fm_window_log *log, size_t size, struct fm_stream_window *window)
{
	window->all_bytes = (uint32_t)size;
	for (size_t at = 0; at < size; at += window->bytes) {
		uint8_t *room;

		window->first_byte = (uint32_t)at;
		window->bytes = (uint32_t)(size - at < ENTRY_BYTES ? size - at : ENTRY_BYTES);
		room = fm_log_begin(FM_STREAM_WINDOW, sizeof(*window) + window->bytes);
		if (!room)
			return;
		memcpy(room, window, sizeof(*window));
		memcpy(room + sizeof(*window), log->bytes + at, window->bytes);
		fm_log_commit(room);
	}
}

/* Which line is watched, if any. */
static void choose_line(struct fm_windows *windows, struct burst *burst)
{
	const struct fm_window_log *log = &windows->log;
	unsigned room = fm_watch_room(&burst->watches);
	double share;

	windows->word_count = 0;
	if (!room || !log->survivors)
		return;
	windows->position = fm_window_log_choose(log, fm_self_random());
	windows->word_count =
	    fm_window_log_words(log, &burst->habits, windows->position, room, windows->chosen, &share);
	windows->share = (float)share;
}

void fm_windows_end(struct translator_slot *slot)
{
	struct fm_windows *windows = slot->windows;
	struct fm_window_log *log = &windows->log;
	struct burst *burst = slot->burst;
	/* the translator's ticks have those of on_log(), too */
	uint64_t took = fm_ticks() - windows->began;
	uint64_t translated = fm_translator_ticks(slot->logging) - windows->translator_before;
	struct fm_stream_window window = {.period_ns = burst->period};

	windows->collecting = false;
	windows->word_count = 0;
	windows->took = took > translated ? took - translated : 0;
	add_repeated(windows, &windows->held, &(struct repeated){0});
	fm_watch_pass(&burst->watches, log->words, log->count, burst->cpu_began);
	if (log->count < SHORTEST)
		return;
	fm_window_log_link(log, &burst->habits);
	choose_line(windows, burst);
	window.references = log->count;
	window.ticks = windows->took;
	window.number = windows->number = __atomic_add_fetch(&window_count, 1, __ATOMIC_RELAXED);
	window.watched = windows->word_count ? windows->position + 1 : 0;
	write_down(log, fm_window_log_encode(log), &window);
}

void fm_windows_watch(struct translator_slot *slot)
{
	struct fm_windows *windows = slot->windows;
	struct fm_watches *watches = &slot->burst->watches;

	watches->references += windows->is_pace ? windows->rhythm.references : windows->log.count;
	watches->own_ns += fm_watch_now() - slot->burst->cpu_began +
	                   (uint64_t)(fm_session->signal_cost / fm_session->ticks_per_second * 1e9);
	if (windows->is_pace) {
		if (windows->has_choice)
			fm_watch_pace(watches, &windows->choice);
	} else if (windows->word_count)
		fm_watch_begin(watches, windows->chosen, windows->word_count, windows->share, windows->number,
		               windows->position);
}

uint64_t fm_windows_extra(const struct translator_slot *slot)
{
	uint32_t references =
	    slot->windows->is_pace ? (uint32_t)slot->windows->rhythm.references : slot->windows->log.count;
	uint64_t most = (uint64_t)(references * LOGGING_NS * fm_session->ticks_per_second * 1e-9);

	return slot->windows->took < most ? slot->windows->took : most;
}
