/* A simulated memory hierarchy with exact counts: private caches, a shared last one, MESI between the cores, stream and
   adjacent-line prefetchers, translation buffers, NUMA homes by first touch. A core here is a hardware thread with its
   own counts. Those of one physical core share private caches, translation buffers and prefetchers, without
   transfers.

   It is functional: an access takes effect at once and returns the level that served it. simulator/core.h adds time.
   One thread may use it at a time, or several with `concurrent` set, each with its own core. */
#ifndef FATHOM_SIMULATOR_HIERARCHY_H
#define FATHOM_SIMULATOR_HIERARCHY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/bus.h"
#include "simulator/description.h"

/* STORE_WHOLE: a line stored at once by a repeated string instruction. The machine's description decides whether it is
   read first. If not, the line enters the caches without a read, and counts as served by the last cache. */
enum fm_access { FM_ACCESS_LOAD, FM_ACCESS_STORE, FM_ACCESS_STORE_NONTEMPORAL, FM_ACCESS_STORE_WHOLE };

/* The level that served an access: the index of a cache, or one of these. */
enum {
	FM_SERVED_MEMORY = FM_SIMULATED_CACHES_MAX,
	FM_SERVED_REMOTE,
	FM_SERVED_CORE, /* another core's private cache */
	FM_SERVED_COUNT
};

/* Counts of one cache by one core, in lines unless noted. */
struct fm_cache_counts {
	uint64_t load_hits;   /* accesses */
	uint64_t load_misses; /* accesses */
	uint64_t store_hits;
	uint64_t store_misses;
	uint64_t lines_demand;    /* brought in by a load */
	uint64_t lines_ownership; /* by a store: read for ownership */
	uint64_t lines_prefetch;
	uint64_t lines_prefetch_ownership;    /* of these, for expected stores */
	uint64_t prefetch_hits;               /* first demand access to a prefetched line */
	uint64_t prefetch_requests;           /* of its own prefetcher to the level below, answered or not */
	uint64_t prefetch_requests_ownership; /* of these, because of stores */
	uint64_t prefetches_answered;         /* requests of a prefetcher above that hit here */
	uint64_t lines_written;               /* dirty lines written back to the level below */
};

struct fm_core_counts {
	uint64_t loads, stores, nontemporal_stores;
	uint64_t load_bytes, store_bytes;
	uint64_t splits; /* accesses that touch two lines */
	struct fm_cache_counts caches[FM_SIMULATED_CACHES_MAX];
	uint64_t memory_reads, memory_reads_remote; /* lines; the latter are part of the former */
	uint64_t memory_writes, memory_writes_remote;
	uint64_t nontemporal_lines;
	uint64_t whole_lines; /* lines brought into the caches for a full overwrite, without a read from memory */
	uint64_t transfers_modified;        /* lines from another core that had modified them */
	uint64_t transfers_modified_remote; /* of these, on another socket */
	uint64_t transfers_modified_loads; /* of all these, those requested by a load, not by a store or a prefetcher */
	uint64_t transfers_modified_loads_remote;
	uint64_t transfers_clean; /* lines from another core that had not modified them */
	uint64_t upgrades;        /* stores to lines that other cores hold too */
	uint64_t invalidations;   /* lines invalidated in other cores by stores of this one */
	uint64_t tlb_misses[FM_SIMULATED_TLBS_MAX];
};

struct fm_array; /* the lines of one cache */

enum fm_hit {
	FM_HIT_OTHER,  /* other hits */
	FM_HIT_ABSENT, /* not in the first cache */
	FM_HIT_DONE,
};

/* Data of the fast path, constant while the core is in use. */
struct fm_fast_view {
	/* the first cache */
	uint64_t *first_lines;
	uint64_t first_mask; /* sets-1, or 0 when the number of sets is no power of two */
	unsigned first_ways;
	/* and the first translation buffer; a machine without one has an always empty buffer here */
	unsigned page_ways;
	uint64_t *page_lines;
	uint64_t page_mask;
	/* that buffer if it has many ways: page_lines then holds only the page used last */
	const struct fm_array *wide;
	unsigned line_shift, page_shift;
};

/* Machines for which quick.c is compiled: lines of 64 bytes, pages of 4 KiB, these numbers of ways; in private caches
   the address alone selects the set. */
enum fm_shape { FM_SHAPE_ANY, FM_SHAPE_8_8_20, FM_SHAPE_8_8_16, FM_SHAPE_12_20_12, FM_SHAPES };

/* One hardware thread. All threads of a core share its arrays. */
struct fm_simulated_core {
	struct fm_core_counts counts;
	unsigned index;
	unsigned socket;
	unsigned core; /* of all sockets */
	bool active;
	struct fm_fast_view view;
	struct fm_array *arrays[FM_SIMULATED_CACHES_MAX]; /* private ones; the last may be shared */
	struct fm_array *tlbs[FM_SIMULATED_TLBS_MAX];
	uint64_t last_nontemporal_line;
	uint64_t touching; /* bytes of the line touched by the current access, one bit each */
	bool unread;       /* the current access overwrites the line, which is not read */
	bool locked;       /* the current access is part of an atomic operation */
	uint64_t position; /* in the thread's trace, if the caller sets it; 0: the number of accesses before */
	uint64_t moment;   /* simulated time, if the caller has it; 0: not known */
	bool goes_far;     /* the latest miss went beyond the second cache, so the next may */
	enum fm_shape shape;
	struct fm_stream_table *streams;
	/* called before a prefetch of a line into a level from `served`, for loads or stores; false drops it. NULL:
	   always */
	bool (*on_prefetch)(void *context, uint64_t line, unsigned level, unsigned served, bool store);
	/* called before a line of the second cache enters the first: is the line still on its way to the second? NULL:
	   never */
	bool (*is_coming)(void *context, uint64_t line);
	void *prefetch_context;
	struct fm_physical_core *physical; /* shared by the threads of its core */
};

struct fm_hierarchy {
	struct fm_machine_description description;
	unsigned line_shift, page_shift;
	unsigned core_count; /* hardware threads */
	unsigned physical_count;
	unsigned private_caches;
	unsigned active_cores;
	struct fm_simulated_core **active; /* first thread of every core in use */
	bool prefetch;                     /* on by default */
	bool concurrent;                   /* several threads, each with its own core: set with fm_hierarchy_share() */
	bool careful; /* no fast path: concurrent, not LRU, or sets not a power of two; the cores' views then never hit
	               */
	struct fm_simulated_core *cores;
	bool cores_are_ours;
	struct fm_physical_core *physical;
	struct fm_array **shared;                             /* the last cache, by socket and group */
	struct fm_bus memory_buses[FM_SIMULATED_SOCKETS_MAX]; /* for core timing */
	struct fm_bus link_buses[FM_SIMULATED_SOCKETS_MAX];   /* from the other sockets */
	struct fm_bus *shared_buses; /* out of the last cache, like `shared`; NULL: without limit */
	struct fm_page_table *pages;
	struct fm_line_table *lines; /* lines that moved between cores */
	uint64_t *pairs;             /* transfers from core to core, [from * core_count + to] */
	atomic_flag lock;
	unsigned (*access_slowly)(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address,
	                          unsigned bytes, enum fm_access access);
	/* Functions for hits of the first cache and first translation buffer beyond the fast path, hits of the latter
	   alone, and misses of the first cache: see below. NULL: none for this machine. */
	enum fm_hit (*hit_quickly)(const struct fm_fast_view *view, uint64_t address, bool store);
	bool (*page_quickly)(const struct fm_fast_view *view, uint64_t page);
	int (*miss_quickly)(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address,
	                    unsigned bytes, bool store);
	size_t memory_bytes; /* memory of the simulator without growing tables */
	double to_forget;    /* lines evicted by neighbours and still in the last cache */
};

/* State in the low bits of a line's entry. */
enum {
	FM_LINE_SHARED = 1,
	FM_LINE_EXCLUSIVE = 2,
	FM_LINE_MODIFIED = 3,
	FM_LINE_STATE = 3,
	FM_LINE_PREFETCHED = 4,
	FM_LINE_WATCHED = 8, /* in a first cache: the line moves between cores, so its bytes are noted */
	FM_LINE_BITS = 4,
	FM_LINE_FLAGS = (1 << FM_LINE_BITS) - 1,
};

/* A line's entry without its state. The highest bit distinguishes line 0 from an empty entry. */
#define FM_LINE_KEY(line) ((uint64_t)(line) << FM_LINE_BITS | 1ull << 63)
#define FM_LINE_OF(entry) ((uint64_t)(entry) << 1 >> (FM_LINE_BITS + 1))

int fm_hierarchy_create(const struct fm_machine_description *description, struct fm_hierarchy **ret_hierarchy,
                        struct fm_error *error);

/* fm_hierarchy_create() with the cores in the caller's memory: FM_SIMULATED_CORES_MAX zeroed ones, a mapping that
   others read. */
int fm_hierarchy_create_in(const struct fm_machine_description *description, struct fm_simulated_core *cores,
                           struct fm_hierarchy **ret_hierarchy, struct fm_error *error);
void fm_hierarchy_destroy(struct fm_hierarchy *hierarchy);

/* Activates and returns the hardware thread of a number (fm_description_cpus). Only active cores are searched for
   copies. */
struct fm_simulated_core *fm_hierarchy_core(struct fm_hierarchy *hierarchy, unsigned index);

/* Passes time in which neighbours use the core's last cache, as described: they evict lines at random. The caller knows
   the time; without calls nothing is evicted. */
void fm_hierarchy_forget(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, double us);

/* Prepares the hierarchy for several simultaneous threads. */
void fm_hierarchy_share(struct fm_hierarchy *hierarchy);

/* An access beyond the fast path below. Returns the level that served it (the slowest, for two lines). One version
   serves all machines; two are faster: see quick.c. */
typedef unsigned fm_hierarchy_access_function(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                                              uint64_t address, unsigned bytes, enum fm_access access);
fm_hierarchy_access_function fm_hierarchy_access_any, fm_hierarchy_access_quick, fm_hierarchy_access_avx2;

/* An access to one line that hits the first cache and the first translation buffer, with no effect but the LRU order of
   both. The caller counts it. All other accesses have no effect. */
typedef enum fm_hit fm_hierarchy_hit_function(const struct fm_fast_view *view, uint64_t address, bool store);

/* The version for a core's first cache and first translation buffer. */
fm_hierarchy_hit_function *fm_hierarchy_choose_hit_quick(const struct fm_fast_view *view);
fm_hierarchy_hit_function *fm_hierarchy_choose_hit_avx2(const struct fm_fast_view *view);

/* The same for a line that is the latest of its set: only the page is updated. False: not in the buffer. */
typedef bool fm_hierarchy_page_function(const struct fm_fast_view *view, uint64_t page);
fm_hierarchy_page_function fm_hierarchy_page_quick, fm_hierarchy_page_avx2;

/* A load or store of one line that misses the first cache. Returns the level that served it; -1: not handled nor
   counted, call access_slowly(). */
typedef int fm_hierarchy_miss_function(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address,
                                       unsigned bytes, bool store);
fm_hierarchy_miss_function fm_hierarchy_miss_quick, fm_hierarchy_miss_avx2;

/* Is the line the latest in its set, in a state that needs no action, on the latest page in its set of the first
   translation buffer? Then no order changes, and only counting is left. */
static inline bool fm_hierarchy_only_counts(const struct fm_fast_view *view, uint64_t address, unsigned bytes,
                                            bool store)
{
	uint64_t line = address >> view->line_shift;
	uint64_t page = address >> view->page_shift;
	uint64_t end = (address + bytes - 1) >> view->line_shift;
	uint64_t difference = view->first_lines[(line & view->first_mask) * view->first_ways] ^ FM_LINE_KEY(line);
	uint64_t translated = view->page_lines[(page & view->page_mask) * view->page_ways];

	return __builtin_expect(line == end && translated == (FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE) &&
	                            (store ? difference == FM_LINE_MODIFIED : difference - 1 < FM_LINE_PREFETCHED - 1),
	                        1);
}

/* Counts such an access. False: another access, without effect. */
static inline bool fm_hierarchy_hit(struct fm_simulated_core *core, uint64_t address, unsigned bytes, bool store)
{
	if (!fm_hierarchy_only_counts(&core->view, address, bytes, store))
		return false;
	if (store) {
		core->counts.stores++;
		core->counts.store_bytes += bytes;
		core->counts.caches[0].store_hits++;
	} else {
		core->counts.loads++;
		core->counts.load_bytes += bytes;
		core->counts.caches[0].load_hits++;
	}
	return true;
}

/* One access of up to a line's length, which may touch two lines. */
static inline unsigned fm_hierarchy_access(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                                           uint64_t address, unsigned bytes, enum fm_access access)
{
	if (access == FM_ACCESS_LOAD ? fm_hierarchy_hit(core, address, bytes, false)
	                             : access == FM_ACCESS_STORE && fm_hierarchy_hit(core, address, bytes, true))
		return 0;
	return hierarchy->access_slowly(hierarchy, core, address, bytes, access);
}

/* Lines that moved between cores, most transfers first. */
struct fm_shared_line {
	uint64_t line; /* address of its first byte */
	uint64_t modified;
	uint64_t clean;
	uint64_t invalidations;
	uint64_t users; /* simulator's index of its users, plus one */
};

enum { FM_LINE_USERS = 8 };

/* A line that a core received and has not touched: requested, or prefetched. A vain prefetch is no sharing. */
enum fm_pending { FM_PENDING_NO, FM_PENDING_ASKED, FM_PENDING_PREFETCHED };

/* The users of such a line with their bytes (one bit each; several bytes in longer lines), and its transfers by kind.
   True sharing: the receiver touched a byte that others had written since it last had the line. False sharing: the
   receiver requested the line and touched no such byte. */
struct fm_line_users {
	uint64_t true_transfers, false_transfers;
	struct fm_line_user {
		uint32_t core;    /* plus one */
		uint32_t pending; /* enum fm_pending: received, no new byte touched yet */
		uint64_t fresh;   /* just received; the code is not known yet */
		uint64_t read, written;
		uint64_t loads, stores; /* accesses since the line first moved */
		uint64_t atomics;       /* of the stores, those of atomic operations */
		uint64_t got;           /* transfers from another core to this one */
		/* steps between consecutive accesses within FM_LINE_NEAR positions, and the sum of these positions */
		uint64_t near, span;
		uint64_t looks;       /* loads right after another load of the line, without an access between */
		uint64_t look_cycles; /* cycles between these loads, where moments are known */
		uint64_t moment;      /* of the latest access */
		uint64_t at;          /* position of the latest access */
		bool looked;          /* the latest access was a load, or the load of an access that also stores */
		uint64_t stale;       /* bytes written by others since it had the line */
		uint64_t incoming;    /* bytes stale at the line's arrival */
		uint64_t site, votes; /* for the engine: the code with most fetches, if one has a majority */
	} users[FM_LINE_USERS];
};

/* Lists shared lines. Returns their number, at most `room`. ret_users may be NULL; lines without users have zeros
   there. */
size_t fm_hierarchy_shared_lines(struct fm_hierarchy *hierarchy, struct fm_shared_line *ret_lines,
                                 struct fm_line_users *ret_users, size_t room);

/* Notes the code whose access fetched a line from another core. */
void fm_hierarchy_note_site(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t address,
                            uint64_t site);

/* Adds b to a, number by number. */
void fm_core_counts_add(struct fm_core_counts *a, const struct fm_core_counts *b);

/* Empties the caches, keeps the counts. */
void fm_hierarchy_flush(struct fm_hierarchy *hierarchy);

#endif
