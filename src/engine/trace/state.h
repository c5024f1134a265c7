/* Data shared by the parts of the consumer. */
#ifndef FATHOM_ENGINE_TRACE_STATE_H
#define FATHOM_ENGINE_TRACE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/shared.h"
#include "engine/account/account.h"
#include "engine/trace/code.h"
#include "engine/trace/followed.h"
#include "engine/trace/spinning.h"
#include "engine/trace/string_class.h"
#include "engine/trace/timing.h"
#include "engine/trace/known.h"
#include "engine/results.h"
#include "translate/translate.h"

enum {
	FM_TRACED_OPEN_MAX = 32,
	FM_TRACED_RECENT = 8192,
	FM_TRACED_WORTH_WAKING = FM_TRACE_RING / 4 * 3, /* entries of room for which a waiting writer is woken */
};

/* Hot part of a site, half a cache line. Sites without a fast path refer to the consumer's `empty` site. */
struct fm_traced_site {
	struct fm_result_site *site;
	uint64_t sum;        /* added for each access: see feed.c */
	uint64_t first;      /* entry of the current line minus the line: from this value on … */
	uint8_t range;       /* … over this range, accesses are only counted */
	uint8_t store, last; /* bytes - 1 */
};

/* Cold part of a site. */
struct fm_stack;

struct fm_traced_rest {
	struct fm_result_site *site; /* NULL: not seen yet, or unusable */
	uint64_t pc;
	uint16_t size;
	uint8_t access; /* enum fm_access of its store, also of a store after a load */
	bool seen, loads, stores, repeated;
	bool copies;   /* a repeated instruction that loads and stores (movs) */
	bool may_stop; /* a repeated search, which only loads and may end early */
	bool apart;    /* FM_TRANSLATE_APART */
	bool locked;   /* an atomic operation */
};

struct fm_traced_open {
	struct fm_result_region *region;
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	uint64_t clock;
};

/* A repeated instruction with missing entries. */
struct fm_traced_repeated {
	const struct fm_traced_rest *site; /* NULL: none */
	uint64_t address, count;
};

struct fm_traced_thread {
	struct fm_engine_side side;
	struct fm_result_thread *record;
	struct fm_result_thread own; /* its record if the results have no room */
	unsigned index;
	bool live;
	bool counts; /* its references are counted: always, or inside the single counted region */
	/* entries of its ring */
	uint64_t read, written;
	uint32_t large; /* number of the large ring, checked; 0: none */
	uint32_t large_size;
	uint64_t large_from;
	uint64_t began, ended, from, until; /* between two time stamps: ticks and entries */
	uint64_t passed;                    /* end, by time stamp, of the last completely read stretch */
	uint64_t heard;                     /* time of the last entries in ns */
	struct fm_traced_repeated waiting, held;
	/* unsettled executions by piece, and the pieces with such executions */
	uint32_t *pieces, *touched;
	uint32_t touched_count;
	/* ring of recently executed pieces, whose code an instruction cache holds */
	uint32_t recent[FM_TRACED_RECENT], recent_next;
	uint64_t unsettled; /* entries */
	struct fm_traced_open open[FM_TRACED_OPEN_MAX];
	unsigned open_count;
	struct fm_traced_window window;
	/* a repeated instruction that may touch followed lines, before the entry with its count */
	bool line_waits;
	const struct fm_trace_site *line_site;
	uint64_t line_address;
	/* the current accesses do not reach followed lines, inside and outside of windows */
	bool unfollowed;
	uint64_t string_lines; /* simulated lines */
	struct fm_traced_timed timed;
	struct fm_traced_spinning spinning;
};

struct fm_consumer {
	struct fm_account *account; /* of the process */
	struct fm_trace_session *session;
	struct fm_trace_file *trace;
	const struct fm_trace_large *large; /* NULL: unreadable */
	struct fm_code *code;
	uint32_t mappings;
	bool windows;
	bool stretches;               /* core timing of stretches only, in windows or in the whole run */
	double precision;             /* 0: windows never become rare */
	struct fm_traced_site *sites; /* FM_TRACE_SITES, of which `site_count` are in use */
	uint64_t site_count;
	struct fm_result_site empty; /* for sites without a fast path: its slots contain no address */
	struct fm_traced_rest *rests;
	struct fm_work *pieces; /* FM_TRACE_PIECES; instructions 0: unknown yet */
	uint8_t *piece_pauses;  /* FM_TRACE_PIECES; whether a piece has a pause instruction, 0: unknown yet */
	uint8_t *piece_seen;    /* FM_TRACE_PIECES; 1: executed in the counted part of a window */
	char region_only[FM_RESULT_NAME];
	uint64_t first_instance, last_instance;
	unsigned core_list[FM_SIMULATED_CORES_MAX], core_list_count;
	unsigned core_users[FM_SIMULATED_CORES_MAX];
	struct fm_traced_thread *owners[FM_SIMULATED_CORES_MAX]; /* the thread that owns the current counts of a core */
	unsigned threads_begun, live_count;
	unsigned places;                            /* used entries of `threads`, up to the last */
	struct fm_traced_windows known;             /* with windows */
	struct fm_references repeated;              /* of string instructions, inside and outside of windows */
	uint64_t string_lines[FM_STRING_CLASSES];   /* … of long ones, by class */
	uint64_t short_lines;                       /* … and of short ones */
	double repeated_logarithm, repeated_square; /* sums over all lines: logarithm of the length of the instruction,
	                                               and its square */
	struct fm_stack *stack;                     /* with a curve; else NULL */
	struct fm_followed *followed;               /* NULL: no followed lines */
	struct fm_translate_filter filter;          /* selects followed lines; limit 0: none */
	struct fm_traced_timing *timing;            /* with core timing; else NULL */
	uint64_t allocations_read;                  /* kept allocations of the program */
	struct fm_beside *beside;                   /* programs beside; NULL: none */
	unsigned running;                           /* with programs beside: threads with unread entries */
	const struct fm_traced_thread *latest;      /* the last simulated thread */
	struct fm_traced_thread threads[FM_TRACE_THREADS];
};

/* Simulates entries of the thread up to the next one that is neither a reference nor a piece. Returns their number. */
uint64_t fm_traced_feed(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                        const struct fm_trace_entry *entries, uint64_t count);

/* Counts the bytes that a repeated instruction loads or stores, up to its end or interruption. Returns its class. */
int fm_traced_count_repeated(struct fm_consumer *consumer, bool stores, bool copies, uint64_t address, uint64_t bytes);

/* Lines of all string instructions so far. */
static inline uint64_t fm_traced_string_lines(const struct fm_consumer *consumer)
{
	return consumer->repeated.loads + consumer->repeated.stores;
}

/* Slow path of a reference with a known site. The second function prepares a site; NULL: unusable. */
void fm_traced_feed_slowly(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint32_t number,
                           uint64_t address);
const struct fm_traced_rest *fm_traced_site(struct fm_consumer *consumer, uint32_t number);

/* Feeds the known part of a repeated instruction. */
void fm_traced_feed_rest(struct fm_consumer *consumer, struct fm_traced_thread *thread);

/* Adds the executions of pieces to the thread's work. */
void fm_traced_settle(struct fm_consumer *consumer, struct fm_traced_thread *thread);

/* The work of a piece: instructions, floating point operations … */
const struct fm_work *fm_traced_piece(struct fm_consumer *consumer, uint32_t number);

void fm_traced_region_begin(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t name);
void fm_traced_region_end(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t name);

/* Before another thread gets the core; after the thread has regained the core. */
void fm_traced_regions_leave_core(const struct fm_consumer *consumer, struct fm_traced_thread *thread);
void fm_traced_regions_enter_core(const struct fm_consumer *consumer, struct fm_traced_thread *thread);

/* Adds the counts of open regions to them. */
void fm_traced_regions_settle(struct fm_consumer *consumer);

#endif
