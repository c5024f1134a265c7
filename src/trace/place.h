/* A place in the code cache for a thread: its translators, its ring, and its position among the program's handlers.
   Places of ended threads are reused. Only the thread changes its place, with all signals blocked. */
#ifndef FATHOM_TRACE_PLACE_H
#define FATHOM_TRACE_PLACE_H

#include <signal.h>
#include <sys/types.h>

#include "trace/counters.h"
#include "trace/file.h"
#include "translate/translate.h"

enum { FM_COUNTING, FM_LOGGING, FM_PLAIN, FM_UNDO, FM_TIMED /* both: laboratory.h */, FM_TRANSLATORS };
enum { FM_MOST_FRAMES = 16, FM_MOST_DEFERRED = 8, FM_LOG_ENTRIES = 8192, FM_LINE_ENTRIES = 1 << 17 };

/* A handler of the program that runs natively, or was left by a jump. */
struct fm_handler_frame {
	uint64_t address;
	uint64_t alternate_start, alternate_end; /* alternate stack of the handler, if it uses one */
};

struct fm_deferred {
	int number;
	siginfo_t information;
};

enum { FM_PACE_MARKS = 24 };

/* pace.h */
struct fm_pace {
	unsigned step; /* of the episode, 0: no episode */
	unsigned order;
	uint64_t next_ns; /* start of the next episode, in processor time of the thread */
	uint64_t began_ns, waited, translated;
	uint64_t marks[FM_PACE_MARKS]; /* addresses behind branches */
	unsigned mark_count;
	struct fm_trace_episode episode;
	/* sums over the slices of the episode */
	uint64_t counted_instructions, counted_ns, counted_passes, plain_ns, plain_passes;
	bool settles;      /* a plain phase has ended, and the counted code after it shows what its passes mean */
	unsigned together; /* slices in the present plain phase of the process (rest.h), 0: none */
	bool all;          /* plain code counts all branches */
};

struct fm_place {
	uint32_t taken;
	uint32_t number; /* in the file */
	pid_t thread;
	volatile bool wanted;     /* the thread belongs in the cache */
	volatile bool begun;      /* its entries in the ring have begun and not ended */
	bool reserved;            /* the ring is writable */
	bool resting, rested;     /* runs natively for a while; has done so before a plain phase: rest.h */
	uint32_t phase;           /* of its process, in which the thread was last counted as running */
	uint64_t rest_counted_ns; /* processor time up to which its rest is in the sums */
	uint64_t position_ns;     /* processor time at its latest position, or at the begin of native or plain code */
	uint32_t position_ticks;  /* ticks since the latest kept position */
	uint64_t position_sum;    /* … and their processor time */
	uint8_t current;          /* its translator when in the cache */
	uint32_t publishing;      /* its counters are being added up */
	uint32_t region_depth;    /* nesting depth of the session's region */
	struct fm_translator *translators[FM_TRANSLATORS];
	struct fm_counters counters[FM_TRANSLATORS];
	uint32_t versions[FM_TRANSLATORS];         /* version of the program's code at the start of translations */
	uint64_t translator_ticks[FM_TRANSLATORS]; /* as published */
	uint64_t dropped;                          /* dropped entries of lines, as published */
	struct fm_translate_short
	    not_logged[FM_TRANSLATE_STRING_KINDS]; /* unlogged string instructions, as published */
	void *(*routine)(void *);
	void *argument;
	uint32_t chosen; /* number of the site of the last choose() */
	uint64_t random;
	/* ring */
	struct fm_trace_entry *ring; /* the present ring, and its number of entries: a power of two */
	uint64_t ring_size;
	uint32_t large;   /* number of its large ring, from 1; 0: none */
	bool stays_small; /* the thread requested a large ring in vain */
	bool is_full;     /* entries were lost: the thread is to rest */
	uint64_t written;
	uint64_t began;                                    /* ticks: start of the present content of the log */
	uint64_t waited, waited_published;                 /* ticks of waiting for the reader */
	uint64_t waited_before;                            /* by earlier threads */
	uint64_t waited_outside, waited_outside_published; /* of these, outside of windows */
	/* window */
	uint32_t epoch, last_epoch; /* 0: none */
	bool warm;
	uint64_t references;                  /* logged in this window */
	uint64_t window_from, window_entries; /* begin of the window in the ring, and its most entries */
	uint64_t window_began, window_waited; /* processor time, and waited ticks, at the window's start */
	uint64_t window_until;                /* processor time: end of the warm-up, then end of the window */
	struct fm_pace pace;
	uint64_t cpu_published; /* processor time of the thread, as published */
	/* signals */
	int timer, delay; /* kernel numbers, -1: none */
	uint64_t published_at;
	volatile unsigned stepped_out; /* depth of library code that keeps the thread outside */
	unsigned depth;
	struct fm_handler_frame frames[FM_MOST_FRAMES];
	volatile bool tick_blocked; /* the program believes that it has blocked the signal of our ticks … */
	volatile bool tick_held;    /* … and was sent it meanwhile */
	bool tick_borrowed;         /* the kernel delivers it for deferred work */
	siginfo_t held;
	unsigned deferred_count;
	struct fm_deferred deferred[FM_MOST_DEFERRED];
};

extern struct fm_place fm_places[FM_TRACE_THREADS] HIDDEN;

/* The place of the calling thread; NULL: none, or a vfork's child on its parent's memory. */
struct fm_place *fm_place_own(void);

/* The current translator of the thread, made and up to date; NULL: none, or the thread rests. The thread is outside of
   the cache. */
struct fm_translator *fm_place_translator(struct fm_place *place);
/* Any translator of the place, made and up to date; NULL: none. */
struct fm_translator *fm_place_translator_of(struct fm_place *place, unsigned which);
/* In a client's on_leave(): goes on in the current translator, or natively if there is none. */
void fm_place_hand_over(struct fm_place *place, unsigned from);

/* The mode of the thread outside of windows, by the session's options. */
uint8_t fm_place_usual(const struct fm_place *place);

/* Invalidates translations of this code in all threads. */
void fm_places_code_changed(uint64_t start, uint64_t end);
bool fm_place_is_stale(const struct fm_place *place);

/* Is the address in a cache of the place? */
bool fm_place_holds(const struct fm_place *place, uint64_t address);
/* fm_translator_settle() for all translators of the place. */
int fm_place_settle(struct fm_place *place, ucontext_t *context);

/* Does the log of lines hold enough to be delivered? */
bool fm_place_has_lines(const struct fm_place *place);

/* Moves the log into the ring. The thread is in a client's function or was settled. */
void fm_place_deliver(struct fm_place *place);

/* Adds new counts of pieces to the file's. Callable from other threads when the process ends. */
void fm_place_publish(struct fm_place *place);
/* Instructions of all threads so far, as published. */
uint64_t fm_places_instructions(void);
void fm_places_forked(void);

/* Starts tracing the thread: it logs until the end of its window, or runs natively. */
void fm_place_begin(struct fm_place *place);
/* Writes the last entry. The thread stays outside of the cache. */
void fm_place_end(struct fm_place *place);

/* xorshift */
static inline uint64_t fm_place_random(struct fm_place *place)
{
	uint64_t x = place->random ? place->random : fm_ticks() | 1;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return place->random = x;
}

#endif
