/* The moment in a burst when the reference that was chosen is about to be made. */
#ifndef FATHOM_RECORD_CHOSEN_H
#define FATHOM_RECORD_CHOSEN_H

#include "record/probe.h"
#include "record/stream.h"
#include "record/watch.h"
#include "record/window_log.h"
#include "translate/translate.h"

/* What a burst is for. */
enum burst_kind {
	BURST_SAMPLE, /* two references are chosen, and one of them is timed */
	BURST_WINDOW, /* all references are logged: windows.h */
	BURST_PACE,   /* a long run of references, for the clock: windows.h too */
};

/* A thread's, in memory of its own. */
struct burst {
	struct burst *next_free;
	struct translator_slot *slot;     /* NULL: not in a burst */
	struct fm_translator *translator; /* of the slot, that the burst is in */
	uint64_t spent;                   /* ticks, in the handler and in the probe */
	uint64_t translator_before;       /* the translator's ticks when the burst began */
	enum burst_kind kind;
	uint64_t period;     /* ns of processor time that it stands for */
	uint64_t own_period; /* ns: missed in the runtime itself, and not written down yet */
	uint64_t references; /* before the second choice */
	/* The first choice, early, with its call stack. A copy: translations may be thrown away before it is written.
	 */
	struct fm_translate_site first;
	uint64_t first_address, first_references;
	uint64_t stack[FM_STREAM_STACK_MAX];
	unsigned stack_count;
	bool has_first;
	/* the second, which is timed */
	const struct fm_translate_site *site; /* NULL: none */
	uint64_t address;
	bool untimed, inside;
	struct fm_probe_result probe;
	uint64_t began;     /* ticks */
	uint64_t cpu_began; /* ns of the thread's processor time, of a window */
	uint64_t unpaid;    /* ticks that no burst has counted as a cost yet */
	struct fm_window_habits habits;
	struct fm_watches watches;
	uint8_t frame[] __attribute__((aligned(64)));
};

struct translator_slot {
	uint32_t busy;
	uint32_t stale; /* code has changed since it was translated */
	struct fm_translator *translator;
	struct fm_translator *logging; /* for windows: windows.h; NULL: there was none yet */
	struct fm_windows *windows;
	struct burst *burst; /* of the thread that has it now */
};

/* Registers in the order of their encoding, as unwinding wants them. */
struct fm_unwind_registers;
void fm_burst_unwind_from(uint64_t pc, const uint64_t *registers, struct fm_unwind_registers *ret_start);

/* A client's on_counted() of the translator; its context is the slot. */
bool fm_burst_chosen(void *context, const struct fm_translate_site *site, uint64_t address, const uint64_t *registers);

#endif
