/* What the two files of the preloaded library share: a place in the code cache for every thread. */
#ifndef FATHOM_TESTS_TRANSLATE_PRELOAD_H
#define FATHOM_TESTS_TRANSLATE_PRELOAD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "translate/translate.h"

enum { MOST_FRAMES = 16, MOST_DEFERRED = 8 };

/* A handler of the program that runs natively, or has been left by a jump. */
struct frame {
	uint64_t address;
	uint64_t alternate_start, alternate_end; /* the alternate stack, if it runs there */
};

struct deferred {
	int number;
	siginfo_t information;
};

/* Where a tick found the thread. */
enum whereabouts {
	INSIDE,
	BETWEEN,    /* on the way from the cache to the translator or back */
	IN_HANDLER, /* in a signal handler of the program */
	AT_EDGE,    /* before the thread has entered or after it has left for good */
	LEFT,       /* it left, and was brought back by this tick */
	LEFT_AGAIN, /* it left, at an instruction that cannot be translated */
	WHEREABOUTS
};

/* One translator and the thread that has it now. */
struct slot {
	int taken;
	pid_t thread;
	volatile bool wanted; /* the thread belongs in the cache */
	struct fm_translator *translator;
	unsigned long long loaded; /* libraries loaded and unloaded when it was last taken */
	void *(*routine)(void *);
	void *argument;
	int timer, delay; /* kernel numbers, -1: none */
	uint64_t used;    /* processor time at the last tick */
	unsigned depth;
	struct frame frames[MOST_FRAMES];
	unsigned deferred_count;
	struct deferred deferred[MOST_DEFERRED];

	uint64_t threads, ticks, found[WHEREABOUTS], deferrals, lost, handled, returned;
};

/* The calling thread's, NULL if it has none, or if this is a vfork's child on its parent's memory. */
struct slot *preload_slot(void);
void preload_begin_ticks(struct slot *slot, bool stress);
void preload_end_ticks(struct slot *slot);

#endif
