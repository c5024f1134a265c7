/* A place in the code cache for a thread: its translators, its ring, and where it is between the program's handlers.
   Places of ended threads are used again. What is in one belongs to its thread, with all signals blocked. */
#ifndef FATHOM_NATIVE_PLACE_H
#define FATHOM_NATIVE_PLACE_H

#include <signal.h>
#include <sys/types.h>

#include "native/counters.h"
#include "native/file.h"
#include "translate/translate.h"

enum { FM_COUNTING, FM_LOGGING, FM_PLAIN, FM_TRANSLATORS };
enum { FM_MOST_FRAMES = 16, FM_MOST_DEFERRED = 8, FM_LOG_ENTRIES = 8192, FM_LINE_ENTRIES = 1 << 17 };

/* A handler of the program that runs natively, or has been left by a jump. */
struct fm_frame {
	uint64_t address;
	uint64_t alternate_start, alternate_end; /* the alternate stack, if it runs there */
};

struct fm_deferred {
	int number;
	siginfo_t information;
};

enum { FM_PACE_MARKS = 24 };

/* pace.h */
struct fm_pace {
	unsigned step; /* of the episode, 0: in none */
	unsigned order;
	uint64_t next_ns; /* processor time of the thread: when the next one begins */
	uint64_t began_ns, waited, translated;
	uint64_t marks[FM_PACE_MARKS]; /* addresses behind branches */
	unsigned mark_count;
	struct fm_trace_episode episode;
	/* all slices of the episode */
	uint64_t counted_instructions, counted_ns, counted_passes, plain_ns, plain_passes;
};

struct fm_place {
	uint32_t taken;
	uint32_t number; /* in the file */
	pid_t thread;
	volatile bool wanted;  /* the thread belongs in the cache */
	volatile bool begun;   /* it has entries in the ring, not yet the last one */
	bool reserved;         /* the ring can be written to */
	uint8_t current;       /* FM_COUNTING, FM_LOGGING or FM_PLAIN: where the thread runs when it is in the cache */
	uint32_t publishing;   /* somebody adds its counters up */
	uint32_t region_depth; /* how often the session's region was begun */
	struct fm_translator *translators[FM_TRANSLATORS];
	struct fm_counters counters[FM_TRANSLATORS];
	uint32_t versions[FM_TRANSLATORS];         /* of the program's code when translations were begun */
	uint64_t translator_ticks[FM_TRANSLATORS]; /* as published */
	uint64_t dropped;                          /* entries of lines, as published */
	struct fm_translate_short not_logged[FM_TRANSLATE_STRING_KINDS]; /* the same of string instructions */
	void *(*routine)(void *);
	void *argument;
	uint32_t chosen; /* number of the site that choose() was asked for last */
	uint64_t random;
	/* ring */
	struct fm_trace_entry *ring; /* where it writes now, and how many entries that holds: a power of two */
	uint64_t ring_size;
	uint32_t large;   /* number of its large ring, from 1; 0: none */
	bool stays_small; /* it has asked for one in vain */
	uint64_t written;
	uint64_t began;                                    /* ticks: when what is in the log now began */
	uint64_t waited, waited_published;                 /* ticks, for the reader */
	uint64_t waited_before;                            /* by earlier threads */
	uint64_t waited_outside, waited_outside_published; /* of these, outside of windows */
	/* window */
	uint32_t epoch, last_epoch; /* 0: none */
	bool warm;
	uint64_t references;                  /* logged in this window */
	uint64_t window_began, window_waited; /* processor time, and what it had waited */
	uint64_t window_until;                /* processor time: until it is warm, then until its end */
	struct fm_pace pace;
	uint64_t cpu_published; /* processor time of the thread, as published */
	/* signals */
	int timer, delay; /* kernel numbers, -1: none */
	uint64_t published_at;
	volatile unsigned stepped_out; /* code of this library, for which the thread is outside */
	unsigned depth;
	struct fm_frame frames[FM_MOST_FRAMES];
	volatile bool tick_blocked; /* the program has blocked the signal of our ticks, as it thinks … */
	volatile bool tick_held;    /* … and was sent it since */
	bool tick_borrowed;         /* the kernel lets it through for the sake of what is deferred */
	siginfo_t held;
	unsigned deferred_count;
	struct fm_deferred deferred[FM_MOST_DEFERRED];
};

extern struct fm_place fm_places[FM_TRACE_THREADS] HIDDEN;

/* The calling thread's; NULL if it has none, or if this is a vfork's child on its parent's memory. */
struct fm_place *fm_place_own(void);

/* The translator in which the thread is to run now, made and up to date; NULL: none. The thread is outside of it. */
struct fm_translator *fm_place_translator(struct fm_place *place);

/* Where the thread runs by the session's wishes when it is in no window. */
uint8_t fm_place_usual(const struct fm_place *place);

/* Translations of this code are not valid any more, in any thread. */
void fm_places_code_changed(uint64_t start, uint64_t end);
bool fm_place_is_stale(const struct fm_place *place);

/* Whether the address is in one of its caches. */
bool fm_place_holds(const struct fm_place *place, uint64_t address);
/* As fm_translator_settle(), for both. */
int fm_place_settle(struct fm_place *place, ucontext_t *context);

/* Whether the log of lines has so much in it that it should be delivered. */
bool fm_place_has_lines(const struct fm_place *place);

/* Puts what is in the log into the ring. The thread is in a client's function or was settled. */
void fm_place_deliver(struct fm_place *place);

/* Adds what pieces have counted since the last time to the file's. Also from other threads when the process ends. */
void fm_place_publish(struct fm_place *place);
/* Instructions of all threads so far, as published. */
uint64_t fm_places_instructions(void);
void fm_places_forked(void);

/* The thread logs from now on until the end of its window, or runs natively. */
void fm_place_begin(struct fm_place *place);
/* The last entry. The thread stays outside. */
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
