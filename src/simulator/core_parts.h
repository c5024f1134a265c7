/* What the files of the simulated core share: core.c executes instructions, core_memory.c has their way through
   buffers, caches' bandwidth and memory, core_create.c makes and frees. */
#ifndef FATHOM_SIMULATOR_CORE_PARTS_H
#define FATHOM_SIMULATOR_CORE_PARTS_H

#include "simulator/code_cache.h"
#include "simulator/core.h"
#include "simulator/parts.h"

enum {
	REGISTERS = 64,
	/* cycles that may lie between the next instruction to issue and the last to retire: the window times the
	   longest wait, with room to spare */
	RING_CYCLES = 1 << 18,
	RING_MASK = RING_CYCLES - 1,
	PENDING_MAX = 16,
	FORWARDS = 256,
	TAKEN_WAYS = 4,
	COMING = 1024,
	LOAD_SHARES = 240, /* of a cycle, that loads divide among them: one of one, two, three, four … per cycle */
	STORE_AGE = 1,     /* a store leaves its buffer at the earliest this long after it retired */
	/* from the beginning of what follows a branch to the execution of the next one that depends on it: part of what
	   `misprediction` says that a branch costs */
	REFILL = 2,
	/* Cycles that lines of code are asked for before their instructions could be issued: the branches ahead are
	   foreseen, and what has been fetched waits in a queue. */
	FETCHED_AHEAD = 20,
	/* Instructions that come in a cycle, of one line, and cycles that they may wait in the queue: Golden Cove's
	   cache of decoded instructions delivers 8, into a queue of 144. */
	DELIVERED = 8,
	DELIVERED_AHEAD = 18,
};

enum {
	FLAG_MISS = 1, /* a load that missed the first cache is outstanding */
	FLAG_SECOND_MISS = 2,
	FLAG_LOAD = 4,
	FLAG_FILL_FULL = 8,
	FLAG_QUEUE_FULL = 16,
	FLAG_STORES_FULL = 32,
	FLAGS = 6,
};

/* What a cycle was waited for, as one number: what has no level, the latencies by who serves, the bandwidths. */
enum {
	CAUSE_LATENCY = FM_STALL_COUNT,
	CAUSE_BANDWIDTH = CAUSE_LATENCY + FM_SERVED_COUNT,
};

/* What happens in one cycle. */
struct cycle {
	uint8_t executed;
	uint8_t loads; /* shares that are taken */
	uint8_t stores;
	uint8_t multiplications;
	uint8_t vectors;
	uint8_t flags;
	uint8_t cause;
};

/* A place for a line on its way. */
struct slot {
	uint64_t line;
	uint64_t free_at;
	unsigned served; /* from where it comes */
};

struct pending {
	uint64_t line;
	unsigned level;
	unsigned served;
	bool store;
};

/* What the hardware threads of a core compete for beyond its buffers. */
enum {
	SHARED_ISSUE,
	SHARED_LOADS,
	SHARED_STORES,
	SHARED_MULTIPLICATIONS,
	SHARED_VECTORS,
	SHARED_DIVIDER,
	SHARED_COUNT
};

/* What belongs to a core rather than to one of its hardware threads. */
struct fm_shared_timing {
	struct fm_lane lanes[FM_SERVED_MEMORY + 1];     /* the ways to the levels: caches by index, memory */
	struct fm_lane stores;                          /* of the way to memory, what lines for stores may take */
	struct fm_lane units[SHARED_COUNT];             /* used only while several threads run */
	struct fm_lane *operations[FM_OPERATION_COUNT]; /* of units that are not free in every cycle; else NULL */
	struct fm_lane walks;
	struct fm_core_timing *timings[FM_SIMULATED_THREADS_MAX];
};

struct fm_core_timing {
	struct fm_hierarchy *hierarchy;
	struct fm_shared_timing *shared;
	unsigned sharers; /* threads of the core that run at the moment, this one included */
	struct fm_simulated_core *core;
	const struct fm_core_description *shape;
	/* resolved, of every operation */
	struct {
		enum fm_unit unit;
		unsigned latency, interval;
		struct fm_lane *lane;  /* NULL: nothing but the ports limits it */
		struct fm_lane *among; /* of units of which these are some; may be NULL */
		unsigned among_interval;
	} operations[FM_OPERATION_COUNT];
	unsigned forward_latency, reload_latency, vector_ports;
	unsigned load_shares[FM_ACCESS_WIDTHS],
	    store_intervals[FM_ACCESS_WIDTHS]; /* the latter in hundredths of cycles */
	struct fm_branches *branches;          /* NULL: all are foreseen */
	struct fm_code_cache *code;            /* NULL: it has all */
	bool delivers;                         /* code comes line by line, not all at once */
	struct fm_code_cache *taken;           /* branches that are; NULL: it has all */
	uint64_t code_line;                    /* the latest, and one more: 0 is none */
	uint64_t code_free;                    /* when the next can come, in hundredths of cycles */
	uint64_t code_from;                    /* nothing is issued before: it had not come */
	uint64_t block_line;                   /* as code_line, of what is delivered in block_cycle */
	unsigned block_count;                  /* of instructions of it so far */
	uint64_t block_cycle;
	uint64_t code_lost; /* issues_from when lines last had to be asked for anew */
	struct fm_timing_counts counts;
	struct cycle *ring;
	uint64_t accounted; /* cycles before this one are in the counts */
	struct marked {
		uint64_t from, to;
	} marked[FLAGS]; /* the last range of cycles with a flag, by its bit */

	uint64_t issue_cycle;
	uint64_t access_cycle; /* of the access under way */
	unsigned issued;       /* in that cycle */
	uint64_t retire_cycle;
	unsigned retired;
	uint64_t executed_at;    /* when the latest instruction had been */
	uint64_t issues_from;    /* nothing before: where to go on was not known */
	uint64_t latest_written; /* registers of the instruction before, if a branch that reads them is one with it */
	uint64_t ready[REGISTERS];
	uint64_t divider_free;
	/* rings of the times at which the last users of a resource let it go */
	uint64_t *window, *load_buffers, *store_buffers;
	uint64_t window_next, load_next, store_next;
	uint64_t last_commit, last_commit_line;
	uint64_t next_commit; /* hundredths of cycles */
	struct slot *fill_buffers, *super_queue;

	/* recent stores, by the words of 8 bytes that they wrote */
	struct forward {
		uint64_t address;
		uint64_t address_reads; /* registers of the address … */
		uint64_t changes;       /* … and how often these had changed by then */
		uint64_t ready, reloaded, unblocked;
		uint64_t committed; /* from when on the cache has it */
		uint8_t bytes;
	} forwards[FORWARDS];
	uint64_t changes[REGISTERS]; /* how often each was written */
	struct coming {
		uint64_t line, ready;
		unsigned served;
	} to_private[COMING];                /* lines on their way to a private cache, by line: places in the queue are
	                                        given to others before they are free */
	struct coming coming[COMING];        /* prefetched into the last cache, by line */
	struct pending pending[PENDING_MAX]; /* prefetches of the access under way */
	unsigned pending_count;
};

static inline struct cycle *cycle_at(struct fm_core_timing *timing, uint64_t cycle)
{
	return &timing->ring[cycle & RING_MASK];
}

static inline void mark(struct fm_core_timing *timing, uint64_t from, uint64_t to, uint8_t flag)
{
	struct marked *marked = &timing->marked[__builtin_ctz(flag)];

	/* many loads are outstanding at once: what an earlier one has marked is marked */
	if (from >= marked->from && from <= marked->to) {
		from = marked->to;
		if (to > marked->to)
			marked->to = to;
	} else if (to > marked->to) {
		*marked = (struct marked){from, to};
	}
	if (from < timing->accounted)
		from = timing->accounted;
	if (to > timing->accounted + RING_CYCLES)
		to = timing->accounted + RING_CYCLES;
	for (; from < to; from++)
		cycle_at(timing, from)->flags |= flag;
}

/* Buffers are divided among the threads that run. */
static inline unsigned portion(const struct fm_core_timing *timing, unsigned count)
{
	if (timing->sharers == 1)
		return count;
	return count > timing->sharers ? count / timing->sharers : 1;
}

/* An access to memory. */
struct fetched {
	uint64_t ready;
	uint64_t queued; /* of the time until then, waiting for buffers and bandwidth */
	unsigned served;
	unsigned waited_for; /* whose bandwidth that was: who served it, or what held the buffer it waited for */
	uint64_t translation;
};

/* One access at `now`. Loads mark the cycles in which they are pending. */
struct fetched fm_core_access(struct fm_core_timing *timing, struct fm_memory_access *access, uint64_t now);

/* The hierarchy's questions: context is the timing of a core. */
bool fm_core_on_prefetch(void *context, uint64_t line, unsigned level, unsigned served, bool store);
bool fm_core_is_coming(void *context, uint64_t line);

#endif
