/* A simulated memory hierarchy that counts exactly: private caches, a shared last one, MESI between the cores, stream
   and adjacent-line prefetchers, translation buffers, NUMA homes by first touch. What is called a core here is a
   hardware thread, with counts of its own; those of one physical core use the same private caches, translation buffers
   and prefetchers, and nothing moves between them.

   It is functional: an access takes effect at once and says who served it. Time is the business of simulator/core.h.
   One thread may use it at a time, or several with `concurrent` set, each with a core of its own. */
#ifndef FATHOM_SIMULATOR_HIERARCHY_H
#define FATHOM_SIMULATOR_HIERARCHY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/bus.h"
#include "simulator/description.h"

/* A whole line stored at once, by a repeated string instruction, need not be read before: the machine's description
   says whether it is. If not, the line is taken into the caches without a read, and the last cache counts as the one
   that served it. */
enum fm_access { FM_ACCESS_LOAD, FM_ACCESS_STORE, FM_ACCESS_STORE_NONTEMPORAL, FM_ACCESS_STORE_WHOLE };

/* Who served an access: the index of a cache, or one of these. */
enum {
	FM_SERVED_MEMORY = FM_SIMULATED_CACHES_MAX,
	FM_SERVED_REMOTE,
	FM_SERVED_CORE, /* another core's private cache */
	FM_SERVED_COUNT
};

/* What is known of one cache as one core used it. Lines, except where it says accesses. */
struct fm_cache_counts {
	uint64_t load_hits;   /* accesses */
	uint64_t load_misses; /* accesses */
	uint64_t store_hits;
	uint64_t store_misses;
	uint64_t lines_demand;    /* brought in because of a load */
	uint64_t lines_ownership; /* because of a store: read for ownership */
	uint64_t lines_prefetch;
	uint64_t lines_prefetch_ownership;    /* of these, because stores were seen coming */
	uint64_t prefetch_hits;               /* first demand access to a prefetched line */
	uint64_t prefetch_requests;           /* that its own prefetcher made of the level below, answered or not */
	uint64_t prefetch_requests_ownership; /* of these, because of stores */
	uint64_t prefetches_answered;         /* requests for lines by a prefetcher above that found them here */
	uint64_t lines_written;               /* dirty lines written back to the level below */
};

struct fm_core_counts {
	uint64_t loads, stores, nontemporal_stores;
	uint64_t load_bytes, store_bytes;
	uint64_t splits; /* accesses that touch two lines */
	struct fm_cache_counts caches[FM_SIMULATED_CACHES_MAX];
	uint64_t memory_reads, memory_reads_remote; /* lines, the latter a part of the former */
	uint64_t memory_writes, memory_writes_remote;
	uint64_t nontemporal_lines;
	uint64_t whole_lines;        /* taken into the caches to be overwritten, and therefore not read from memory */
	uint64_t transfers_modified; /* lines that came from another core that had changed them */
	uint64_t transfers_modified_remote; /* of these, on another socket */
	uint64_t
	    transfers_modified_loads; /* of all these, those that a load asked for, and neither store nor prefetcher */
	uint64_t transfers_modified_loads_remote;
	uint64_t transfers_clean; /* … that had not */
	uint64_t upgrades;        /* stores to lines that others hold too */
	uint64_t invalidations;   /* lines taken away from other cores by our stores */
	uint64_t tlb_misses[FM_SIMULATED_TLBS_MAX];
};

struct fm_array; /* the lines of one cache */

enum fm_hit {
	FM_HIT_OTHER,  /* not of that kind */
	FM_HIT_ABSENT, /* not in the first cache */
	FM_HIT_DONE,
};

/* What the fast path looks at. It does not change while the core is in use. */
struct fm_fast_view {
	/* the first cache */
	uint64_t *first_lines;
	uint64_t first_mask; /* sets-1, or 0 when the number of sets is no power of two */
	unsigned first_ways;
	/* and the first translation buffer; a machine without one has a buffer here that nothing is ever found in */
	unsigned page_ways;
	uint64_t *page_lines;
	uint64_t page_mask;
	/* that buffer, if it is one of many ways: page_lines then holds the page used last, and nothing else */
	const struct fm_array *wide;
	unsigned line_shift, page_shift;
};

/* Caches that quick.c is compiled for: lines of 64 bytes, pages of 4 KiB, so many ways of each, and in the private ones
   a line's address alone tells its set. */
enum fm_shape { FM_SHAPE_ANY, FM_SHAPE_8_8_20, FM_SHAPE_8_8_16, FM_SHAPE_12_20_12, FM_SHAPES };

/* One hardware thread. All of a core have its arrays. */
struct fm_simulated_core {
	struct fm_core_counts counts;
	unsigned index;
	unsigned socket;
	unsigned core; /* of all sockets */
	bool active;
	struct fm_fast_view view;
	struct fm_array *arrays[FM_SIMULATED_CACHES_MAX]; /* private ones are its own, the last may be shared */
	struct fm_array *tlbs[FM_SIMULATED_TLBS_MAX];
	uint64_t last_nontemporal_line;
	uint64_t touching; /* bytes of its line that the access under way touches, one bit each */
	bool unread;       /* it overwrites the line, which is not read */
	bool locked;       /* it is a part of an atomic operation */
	uint64_t position; /* of it in the thread's trace, for whoever feeds one; 0: as many accesses were before */
	uint64_t moment;   /* of simulated time, for whoever has one; 0: not told */
	bool goes_far;     /* the latest miss went beyond the second cache, so the next one may */
	enum fm_shape shape;
	struct fm_stream_table *streams;
	/* asked before a line is prefetched into a level from where it is, for loads or for stores; false drops it.
	   NULL: always */
	bool (*on_prefetch)(void *context, uint64_t line, unsigned level, unsigned served, bool store);
	/* asked before the first cache is given a line of the second: is it still on its way there? NULL: never */
	bool (*is_coming)(void *context, uint64_t line);
	void *prefetch_context;
	struct fm_physical_core *physical; /* what it shares with the other threads of its core */
};

struct fm_hierarchy {
	struct fm_machine_description description;
	unsigned line_shift, page_shift;
	unsigned core_count; /* hardware threads */
	unsigned physical_count;
	unsigned private_caches;
	unsigned active_cores;
	struct fm_simulated_core **active; /* so many: of every core in use, the first thread that was */
	bool prefetch;                     /* on by default */
	bool concurrent; /* several threads, each with a core of its own: set with fm_hierarchy_share() */
	bool careful;    /* the fast path does not apply: concurrent, or not LRU, or no power of two of sets; the cores'
	                    views then never hold what is looked for */
	struct fm_simulated_core *cores;
	bool cores_are_ours;
	struct fm_physical_core *physical;
	struct fm_array **shared;                             /* the last cache, by socket and group */
	struct fm_bus memory_buses[FM_SIMULATED_SOCKETS_MAX]; /* for core timing */
	struct fm_bus link_buses[FM_SIMULATED_SOCKETS_MAX];   /* from the other sockets */
	struct fm_bus *shared_buses; /* out of the last cache, like `shared`; NULL: without limit */
	struct fm_page_table *pages;
	struct fm_line_table *lines; /* of lines that moved between cores */
	uint64_t *pairs;             /* transfers from core to core, [from * core_count + to] */
	atomic_flag lock;
	unsigned (*access_slowly)(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address,
	                          unsigned bytes, enum fm_access access);
	/* Hits of the first cache and of the first translation buffer that the fast path does not handle, of the
	   latter alone, and misses of the first cache: see below. NULL: there is none for this machine. */
	enum fm_hit (*hit_quickly)(const struct fm_fast_view *view, uint64_t address, bool store);
	bool (*page_quickly)(const struct fm_fast_view *view, uint64_t page);
	int (*miss_quickly)(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address,
	                    unsigned bytes, bool store);
	size_t memory_bytes; /* what the simulator itself occupies, without the tables that grow */
	double to_forget;    /* lines of the last cache, that neighbours have driven out and are still in it */
};

/* State in the low bits of a line's entry. */
enum {
	FM_LINE_SHARED = 1,
	FM_LINE_EXCLUSIVE = 2,
	FM_LINE_MODIFIED = 3,
	FM_LINE_STATE = 3,
	FM_LINE_PREFETCHED = 4,
	FM_LINE_WATCHED = 8, /* in a first cache: moves between cores, so that its bytes are noted */
	FM_LINE_BITS = 4,
	FM_LINE_FLAGS = (1 << FM_LINE_BITS) - 1,
};

/* A line's entry without its state. The highest bit tells line 0 from an empty entry. */
#define FM_LINE_KEY(line) ((uint64_t)(line) << FM_LINE_BITS | 1ull << 63)
#define FM_LINE_OF(entry) ((uint64_t)(entry) << 1 >> (FM_LINE_BITS + 1))

int fm_hierarchy_create(const struct fm_machine_description *description, struct fm_hierarchy **ret_hierarchy,
                        struct fm_error *error);

/* The same with the cores in memory of the caller's, FM_SIMULATED_CORES_MAX of them, zeroed: a mapping that others
 * read. */
int fm_hierarchy_create_in(const struct fm_machine_description *description, struct fm_simulated_core *cores,
                           struct fm_hierarchy **ret_hierarchy, struct fm_error *error);
void fm_hierarchy_destroy(struct fm_hierarchy *hierarchy);

/* The hardware thread of that number (fm_description_cpus), made active: only active cores are searched for copies. */
struct fm_simulated_core *fm_hierarchy_core(struct fm_hierarchy *hierarchy, unsigned index);

/* Time passes in which neighbours use the last cache of the core, as its description says: they drive out lines at
   random. Whoever feeds the hierarchy knows the time; nothing is lost of one that is never told. */
void fm_hierarchy_forget(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, double us);

/* From now on several threads use the hierarchy at once. */
void fm_hierarchy_share(struct fm_hierarchy *hierarchy);

/* All but what the fast path below handles. Returns who served it (the slowest, when it touches two lines). There is
   one for all machines, and two quicker ones: see quick.c. */
typedef unsigned fm_hierarchy_access_function(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                                              uint64_t address, unsigned bytes, enum fm_access access);
fm_hierarchy_access_function fm_hierarchy_access_any, fm_hierarchy_access_quick, fm_hierarchy_access_avx2;

/* An access to one line that is in the first cache, on a page that is in the first translation buffer, with nothing to
   do but to make both the latest of their sets. Whoever calls counts. Otherwise nothing is done. */
typedef enum fm_hit fm_hierarchy_hit_function(const struct fm_fast_view *view, uint64_t address, bool store);

/* The one for a core's first cache and first translation buffer. */
fm_hierarchy_hit_function *fm_hierarchy_choose_hit_quick(const struct fm_fast_view *view);
fm_hierarchy_hit_function *fm_hierarchy_choose_hit_avx2(const struct fm_fast_view *view);

/* The same for a line that is the latest of its set: only the page has to be. False: the buffer does not have it. */
typedef bool fm_hierarchy_page_function(const struct fm_fast_view *view, uint64_t page);
fm_hierarchy_page_function fm_hierarchy_page_quick, fm_hierarchy_page_avx2;

/* A load or store of one line that the first cache does not have. Returns who served it; -1, and nothing counted: it is
   for access_slowly(). */
typedef int fm_hierarchy_miss_function(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address,
                                       unsigned bytes, bool store);
fm_hierarchy_miss_function fm_hierarchy_miss_quick, fm_hierarchy_miss_avx2;

/* The line used last in its set, in a state that nothing has to be done about, on the page used last in its set of the
   first translation buffer: no order changes, nothing but counting is left to do. */
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

/* Such an access, counted; false, and nothing done, for all others. */
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
	uint64_t users; /* for the simulator: where its users are, plus one */
};

enum { FM_LINE_USERS = 8, FM_LINE_NEAR = 4096, FM_LOOK_MOST = 1000 };

/* What a core has not touched yet of a line that it got: asked for, or brought by a prefetcher. What a prefetcher
   brings in vain is nobody's sharing. */
enum fm_pending { FM_PENDING_NO, FM_PENDING_ASKED, FM_PENDING_PREFETCHED };

/* Who touched which bytes of such a line (one bit each; of longer lines, each stands for several), and whether its
   transfers brought anything: one is true sharing when the core that got the line touched a byte that others had
   written since it had the line before, false sharing when it asked for the line and did not. */
struct fm_line_users {
	uint64_t true_transfers, false_transfers;
	struct fm_line_user {
		uint32_t core;    /* plus one */
		uint32_t pending; /* enum fm_pending: it has the line, and has touched nothing new yet */
		uint64_t fresh;   /* it has just got the line, and nobody has said by which code */
		uint64_t read, written;
		uint64_t loads, stores; /* accesses since the line first moved */
		uint64_t atomics;       /* of the stores, those of atomic operations */
		uint64_t got;           /* times it got the line from another core */
		/* steps from one of its accesses to the next within FM_LINE_NEAR positions, and positions in them */
		uint64_t near, span;
		uint64_t looks;       /* loads that came right after another load of the line, with no access between */
		uint64_t look_cycles; /* from one of these to the next, where moments are told */
		uint64_t moment;      /* of the latest access */
		uint64_t at;          /* position of the latest access */
		bool looked;          /* it was a load, or the first part of one that also stores */
		uint64_t stale;       /* written by others since it had the line */
		uint64_t incoming;    /* what was stale when it got the line */
		uint64_t site, votes; /* for the engine: the code that fetched it most often, if one did mostly */
	} users[FM_LINE_USERS];
};

/* Returns how many were written, at most `room`. ret_users may be NULL; lines without users have zeros there. */
size_t fm_hierarchy_shared_lines(struct fm_hierarchy *hierarchy, struct fm_shared_line *ret_lines,
                                 struct fm_line_users *ret_users, size_t room);

/* The code that made this core fetch a line from another. */
void fm_hierarchy_note_site(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t address,
                            uint64_t site);

/* Add b to a, number by number. */
void fm_core_counts_add(struct fm_core_counts *a, const struct fm_core_counts *b);

/* Forget what the caches hold, keep the counts. */
void fm_hierarchy_flush(struct fm_hierarchy *hierarchy);

#endif
