/* Data shared by the files of the simulated core: core.c executes instructions, core_memory.c models their buffers,
   bandwidth and memory accesses, core_create.c makes and frees. */
#ifndef FATHOM_SIMULATOR_CORE_PARTS_H
#define FATHOM_SIMULATOR_CORE_PARTS_H

#include "simulator/code_cache.h"
#include "simulator/core.h"
#include "simulator/parts.h"
#include "simulator/tuning.h"

enum {
	REGISTERS = 64,
	/* maximal cycles between the next instruction to issue and the last to retire: the window times the longest
	   wait, with a margin */
	RING_CYCLES = 1 << 18,
	RING_MASK = RING_CYCLES - 1,
	PENDING_MAX = 16,
	FORWARDS = 256,
	TAKEN_WAYS = 4,
	COMING = 1024,
	LOAD_SHARES = 240, /* of a cycle, divided among its loads: divisible by one, two, three, four … per cycle */
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

/* The cause of a waiting cycle as one number: causes without a level, latencies by level, bandwidths by level. */
enum {
	CAUSE_LATENCY = FM_STALL_COUNT,
	CAUSE_BANDWIDTH = CAUSE_LATENCY + FM_SERVED_COUNT,
};

/* The events of one cycle. */
struct cycle {
	uint8_t executed;
	uint8_t loads; /* shares in use */
	uint8_t stores;
	uint8_t multiplications;
	uint8_t vectors;
	uint8_t flags;
	uint8_t cause;
};

/* A buffer entry of a line in flight. */
struct slot {
	uint64_t line;
	uint64_t free_at;
	unsigned served; /* level of the line */
};

struct pending {
	uint64_t line;
	unsigned level;
	unsigned served;
	bool store;
};

/* Resources shared by the hardware threads of a core, beyond its buffers. */
enum {
	SHARED_ISSUE,
	SHARED_LOADS,
	SHARED_STORES,
	SHARED_MULTIPLICATIONS,
	SHARED_VECTORS,
	SHARED_DIVIDER,
	SHARED_COUNT
};

/* Timing data of a core, common to its hardware threads. */
struct fm_shared_timing {
	struct fm_lane lanes[FM_SERVED_MEMORY + 1];     /* paths to the levels: caches by index, memory */
	struct fm_lane stores;                          /* part of the path to memory for lines of stores */
	struct fm_lane units[SHARED_COUNT];             /* used only while several threads run */
	struct fm_lane *operations[FM_OPERATION_COUNT]; /* units that are not free in every cycle; else NULL */
	struct fm_lane walks;
	struct fm_core_timing *timings[FM_SIMULATED_THREADS_MAX];
};

struct fm_core_timing {
	struct fm_hierarchy *hierarchy;
	struct fm_shared_timing *shared;
	unsigned sharers; /* running threads of the core, this one included */
	struct fm_simulated_core *core;
	const struct fm_core_description *shape;
	/* per operation, with defaults resolved */
	struct {
		enum fm_unit unit;
		unsigned latency, interval;
		struct fm_lane *lane;  /* NULL: limited by the ports only */
		struct fm_lane *among; /* units that include these; may be NULL */
		unsigned among_interval;
	} operations[FM_OPERATION_COUNT];
	unsigned forward_latency, reload_latency, vector_ports;
	unsigned load_shares[FM_ACCESS_WIDTHS],
	    store_intervals[FM_ACCESS_WIDTHS]; /* the latter in hundredths of cycles */
	struct fm_branches *branches;          /* NULL: all are predicted */
	struct fm_code_cache *code;            /* NULL: holds all code */
	bool delivers;                         /* code arrives line by line */
	struct fm_code_cache *taken;           /* taken branches; NULL: holds all */
	uint64_t code_line;                    /* the latest line + 1; 0: none */
	uint64_t code_free;                    /* earliest arrival of the next line, in hundredths of cycles */
	uint64_t code_from;                    /* no issue before: the code had not arrived */
	uint64_t block_line;                   /* as code_line, of the code delivered in block_cycle */
	unsigned block_count;                  /* number of its instructions so far */
	uint64_t block_cycle;
	uint64_t code_lost; /* issues_from at the last new request of lines */
	struct fm_timing_counts counts;
	struct cycle *ring;
	uint64_t accounted; /* cycles before this one are in the counts */
	struct marked {
		uint64_t from, to;
	} marked[FLAGS]; /* the last range of cycles with a flag, by its bit */

	uint64_t issue_cycle;
	uint64_t access_cycle; /* of the current access */
	unsigned issued;       /* in that cycle */
	uint64_t retire_cycle;
	unsigned retired;
	uint64_t executed_at;    /* when the latest instruction was executed */
	uint64_t issues_from;    /* no issue before: the next code was not known */
	uint64_t latest_written; /* registers written by the previous instruction, if a branch on them fuses with it */
	uint64_t ready[REGISTERS];
	uint64_t divider_free;
	/* rings of the release times of a resource's last users */
	uint64_t *window, *load_buffers, *store_buffers;
	uint64_t window_next, load_next, store_next;
	uint64_t last_commit, last_commit_line;
	uint64_t next_commit; /* hundredths of cycles */
	struct slot *fill_buffers, *super_queue;

	/* recent stores, by their 8-byte words */
	struct forward {
		uint64_t address;
		uint64_t address_reads; /* registers of the address … */
		uint64_t changes;       /* … and how often these had changed at the store */
		uint64_t ready, reloaded, unblocked;
		uint64_t committed; /* from this time on the cache has it */
		uint8_t bytes;
	} forwards[FORWARDS];
	uint64_t changes[REGISTERS]; /* number of writes of each register */
	struct coming {
		uint64_t line, ready;
		unsigned served;
	} to_private[COMING]; /* lines in flight to a private cache, by line: queue entries are reassigned before they
	                         are free */
	struct coming coming[COMING];        /* prefetched into the last cache, by line */
	struct pending pending[PENDING_MAX]; /* prefetches of the current access */
	unsigned pending_count;
};

static inline struct cycle *cycle_at(struct fm_core_timing *timing, uint64_t cycle)
{
	return &timing->ring[cycle & RING_MASK];
}

static inline void mark(struct fm_core_timing *timing, uint64_t from, uint64_t to, uint8_t flag)
{
	struct marked *marked = &timing->marked[__builtin_ctz(flag)];

	/* many loads are outstanding at once: a marked range stays marked */
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

/* Buffers are divided among the running threads. */
static inline unsigned portion(const struct fm_core_timing *timing, unsigned count)
{
	if (timing->sharers == 1)
		return count;
	return count > timing->sharers ? count / timing->sharers : 1;
}

/* An access to memory. */
struct fetched {
	uint64_t ready;
	uint64_t queued; /* part of that time spent waiting for buffers and bandwidth */
	unsigned served;
	unsigned waited_for; /* level of that bandwidth, or of the line in the buffer */
	uint64_t translation;
};

/* Performs one access at `now`. Loads mark the cycles in which they are pending. */
struct fetched fm_core_access(struct fm_core_timing *timing, struct fm_memory_access *access, uint64_t now);

/* Callbacks of the hierarchy; the context is the timing of a core. */
bool fm_core_on_prefetch(void *context, uint64_t line, unsigned level, unsigned served, bool store);
bool fm_core_is_coming(void *context, uint64_t line);

#endif
