/* The moment in a burst just before the chosen reference. */
#ifndef FATHOM_RECORD_CHOSEN_H
#define FATHOM_RECORD_CHOSEN_H

#include "preload/probe.h"
#include "record/stream.h"
#include "record/watch.h"
#include "record/window_log.h"
#include "translate/translate.h"

/* The purpose of a burst. */
enum burst_kind {
	BURST_SAMPLE, /* two references are chosen, and one of them is timed */
	BURST_WINDOW, /* all references are logged: windows.h */
	BURST_PACE,   /* a long run of references, for the clock: windows.h too */
};

/* The burst of a thread, in its own memory. */
struct burst {
	struct burst *next_free;
	struct translator_slot *slot;     /* NULL: not in a burst */
	struct fm_translator *translator; /* the translator of the slot in use */
	uint64_t spent;                   /* ticks, in the handler and in the probe */
	uint64_t translator_before;       /* the translator's ticks when the burst began */
	enum burst_kind kind;
	uint64_t period;     /* processor time that the sample represents, ns */
	uint64_t own_period; /* ns missed in the runtime itself, not yet logged */
	uint64_t references; /* before the second choice */
	/* The early first choice, with its call stack: a copy, since translations may be discarded before it is
	   logged. */
	struct fm_translate_site first;
	uint64_t first_address, first_references;
	uint64_t stack[FM_STREAM_STACK_MAX];
	unsigned stack_count;
	bool has_first;
	/* the second, timed choice */
	const struct fm_translate_site *site; /* NULL: none */
	uint64_t address;
	bool untimed, inside;
	struct fm_probe_result probe;
	uint64_t began;     /* ticks */
	uint64_t cpu_began; /* of a window: processor time of the thread, ns */
	uint64_t unpaid;    /* ticks not yet counted as the cost of a burst */
	struct fm_window_habits habits;
	struct fm_watches watches;
	uint8_t frame[] __attribute__((aligned(64)));
};

struct translator_slot {
	uint32_t busy;
	uint32_t stale; /* code has changed since its translation */
	struct fm_translator *translator;
	struct fm_translator *logging; /* for windows: windows.h; NULL: not made yet */
	struct fm_windows *windows;
	struct burst *burst; /* of the present thread */
};

/* Registers in the order of their encoding, as fm_unwind() needs them. */
struct fm_unwind_registers;
void fm_burst_unwind_from(uint64_t pc, const uint64_t *registers, struct fm_unwind_registers *ret_start);

/* on_counted() of the translator's client; the context is the slot. */
bool fm_burst_chosen(void *context, const struct fm_translate_site *site, uint64_t address, const uint64_t *registers);

#endif
