/* What the parts of the consumer share. */
#ifndef FATHOM_ENGINE_NATIVE_STATE_H
#define FATHOM_ENGINE_NATIVE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "native/trace.h"
#include "engine/account/account.h"
#include "engine/native/code.h"
#include "engine/native/followed.h"
#include "engine/native/spinning.h"
#include "engine/native/string_class.h"
#include "engine/native/timing.h"
#include "engine/native/windows.h"
#include "engine/results.h"
#include "translate/translate.h"

enum { FM_NATIVE_OPEN_MAX = 32, FM_NATIVE_RECENT = 8192 };

/* What the loop needs of a site: half a line. What is not plain has a site here in which no address ever is. */
struct fm_native_site {
	struct fm_result_site *site;
	uint64_t sum;        /* added for each access: see feed.c */
	uint64_t first;      /* entry of the line it touches, less the line: from this value on … */
	uint8_t range;       /* … so many, there is nothing to do but count */
	uint8_t store, last; /* bytes less one */
};

/* The rest. */
struct fm_stack;

struct fm_native_rest {
	struct fm_result_site *site; /* NULL: not seen yet, or not to be used */
	uint64_t pc;
	uint16_t size;
	uint8_t access; /* enum fm_access, of a store that it is or does after a load */
	bool seen, loads, stores, repeated;
	bool copies;   /* a repeated instruction that loads and stores: both at a time */
	bool may_stop; /* it only loads: it ends when it has found what it looks for */
	bool apart;    /* FM_TRANSLATE_APART */
	bool locked;   /* an atomic operation */
};

struct fm_native_open {
	struct fm_result_region *region;
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	uint64_t clock;
};

/* A repeated instruction of which not everything has come. */
struct fm_native_repeated {
	const struct fm_native_rest *site; /* NULL: none */
	uint64_t address, count;
};

struct fm_native_thread {
	struct fm_engine_side side;
	struct fm_result_thread *record;
	struct fm_result_thread own; /* when there is no room in the results */
	unsigned index;
	bool live;
	bool counts; /* its references do: it is in the region that alone is wanted, if there is one */
	/* of its ring */
	uint64_t read, written;
	uint32_t large; /* as in the trace, checked */
	uint64_t large_from;
	uint64_t began, ended, from, until; /* the stretch between two time stamps: ticks and entries */
	uint64_t passed;                    /* the latest stamp of the end of a stretch that was read */
	uint64_t heard;                     /* ns, when something came last */
	struct fm_native_repeated waiting, held;
	/* how often pieces began since they were last added up, and which */
	uint32_t *pieces, *touched;
	uint32_t touched_count;
	/* the latest, in turn: an instruction cache has their code */
	uint32_t recent[FM_NATIVE_RECENT], recent_next;
	uint64_t unsettled; /* entries */
	struct fm_native_open open[FM_NATIVE_OPEN_MAX];
	unsigned open_count;
	struct fm_native_window window;
	/* a repeated instruction that touches lines which are followed, perhaps: how often comes next */
	bool line_waits;
	const struct fm_trace_site *line_site;
	uint64_t line_address;
	/* what is fed now is nothing for followed lines: outside of windows they would not see it either */
	bool unfollowed;
	uint64_t string_lines; /* that were simulated */
	struct fm_native_timed timed;
	struct fm_native_spinning spinning;
};

struct fm_consumer {
	struct fm_trace_session *session;
	struct fm_trace_file *trace;
	const struct fm_trace_large *large; /* NULL: none can be read */
	struct fm_code *code;
	uint32_t mappings;
	bool windows;
	bool stretches;               /* core timing only now and then: in windows, or of the whole run */
	double precision;             /* 0: windows are always as frequent */
	struct fm_native_site *sites; /* FM_TRACE_SITES, of which so many are in use: */
	uint64_t site_count;
	struct fm_native_rest *rests;
	struct fm_work *pieces; /* FM_TRACE_PIECES; instructions 0: not known yet */
	uint8_t *piece_seen;    /* as many: it was in a part of a window that counts */
	char region_only[FM_RESULT_NAME];
	uint64_t first_instance, last_instance;
	unsigned core_list[FM_SIMULATED_CORES_MAX], core_list_count;
	unsigned core_users[FM_SIMULATED_CORES_MAX];
	struct fm_native_thread *owners[FM_SIMULATED_CORES_MAX]; /* whose the counts of a core are now */
	unsigned threads_begun, live_count;
	unsigned places;                            /* of threads that were ever used, up to the last */
	struct fm_native_windows known;             /* with windows */
	struct fm_references repeated;              /* of string instructions, in windows and outside */
	uint64_t string_lines[FM_STRING_CLASSES];   /* … of the long ones */
	uint64_t short_lines;                       /* … and of the others, */
	double repeated_logarithm, repeated_square; /* of whose lines these are, added up over lines */
	struct fm_stack *stack;                     /* with a curve; else NULL */
	struct fm_followed *followed;               /* that are followed; NULL: none */
	struct fm_translate_filter filter;          /* which these are; limit 0: none */
	struct fm_native_timing *timing;            /* with core timing; else NULL */
	struct fm_beside *beside;                   /* programs beside it; NULL: none */
	unsigned running;                           /* with these: threads that have something to be read */
	const struct fm_native_thread *latest;      /* whose references were simulated last */
	struct fm_native_thread threads[FM_TRACE_THREADS];
};

/* Entries of the thread up to the next one that is neither a reference nor a piece. Returns how many. */
uint64_t fm_native_feed(struct fm_consumer *consumer, struct fm_native_thread *thread,
                        const struct fm_trace_entry *entries, uint64_t count);

/* What a repeated instruction loads, or stores, up to its end or until it was interrupted. Returns its class. */
int fm_native_count_repeated(struct fm_consumer *consumer, bool stores, bool copies, uint64_t address, uint64_t bytes);

/* Lines of all string instructions so far. */
static inline uint64_t fm_native_string_lines(const struct fm_consumer *consumer)
{
	return consumer->repeated.loads + consumer->repeated.stores;
}

/* One reference, the slow way: the site is known. A site, made ready; NULL: it is not to be used. */
void fm_native_feed_slowly(struct fm_consumer *consumer, struct fm_native_thread *thread, uint32_t number,
                           uint64_t address);
const struct fm_native_rest *fm_native_site(struct fm_consumer *consumer, uint32_t number);

/* What is known of a repeated instruction is fed now. */
void fm_native_feed_rest(struct fm_consumer *consumer, struct fm_native_thread *thread);

/* Pieces that began are added to the thread's work. */
void fm_native_settle(struct fm_consumer *consumer, struct fm_native_thread *thread);

/* Instructions, floating point operations … of a piece. */
const struct fm_work *fm_native_piece(struct fm_consumer *consumer, uint32_t number);

void fm_native_region_begin(struct fm_consumer *consumer, struct fm_native_thread *thread, uint64_t name);
void fm_native_region_end(struct fm_consumer *consumer, struct fm_native_thread *thread, uint64_t name);

/* Its core is another thread's from now on; its own again. */
void fm_native_regions_leave_core(const struct fm_consumer *consumer, struct fm_native_thread *thread);
void fm_native_regions_enter_core(const struct fm_consumer *consumer, struct fm_native_thread *thread);

/* What open regions did so far is added to them. */
void fm_native_regions_settle(struct fm_consumer *consumer);

#endif
