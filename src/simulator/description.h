/* A simulated machine as text: caches, translation buffers, memory, core. Examples are in machines/; docs/machines.md
   explains the format. Files are not trusted: an invalid one is refused with file, line and reason. */
#ifndef FATHOM_SIMULATOR_DESCRIPTION_H
#define FATHOM_SIMULATOR_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "simulator/operations.h"

enum {
	FM_SIMULATED_CACHES_MAX = 4,
	FM_SIMULATED_TLBS_MAX = 2,
	FM_SIMULATED_CORES_MAX = 256, /* hardware threads in total */
	FM_SIMULATED_THREADS_MAX = 8, /* per core */
	FM_SIMULATED_SOCKETS_MAX = 8,
	FM_FORWARD_LATENCY = 5,
	FM_VECTOR_PORTS = 3,
	FM_OPERATION_CYCLES_MAX = 100000, /* of single units; 255 of others */
	FM_CODE_WAYS = 8,
	FM_ACCESS_WIDTHS = 4, /* classes of accesses: up to 8 bytes, 16, 32, 64 */
};

/* Letters in names of caches, which are parts of quantities' names and cells of tables with commas. */
#define FM_CACHE_NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

enum fm_replacement { FM_REPLACEMENT_LRU, FM_REPLACEMENT_TREE, FM_REPLACEMENT_RANDOM };
enum fm_adjacent {
	FM_ADJACENT_NONE,
	FM_ADJACENT_PAIR,
	FM_ADJACENT_NEXT
}; /* the other half of 128 bytes, the next line */
enum fm_inclusion { FM_INCLUSION_NONE, FM_INCLUSION_INCLUSIVE, FM_INCLUSION_VICTIM };

struct fm_cache_description {
	char name[12];
	uint64_t bytes;
	uint64_t available; /* part of `bytes` not used by neighbours; 0: all */
	unsigned life;      /* of the last cache: average µs until neighbours evict an unused line; 0: never */
	unsigned ways;
	unsigned shared_by;       /* cores of a socket; 1: private */
	unsigned latency;         /* load to use, cycles */
	unsigned interval;        /* cycles per line delivered to one core, in hundredths */
	unsigned write_interval;  /* … per dirty line accepted from above, in hundredths */
	unsigned shared_interval; /* … per line for all sharing cores together, in hundredths; 0: no limit */
	enum fm_replacement replacement;
	enum fm_inclusion inclusion; /* of the private caches' lines; only for a shared cache */
	enum fm_adjacent adjacent;   /* line prefetched on a miss */
	unsigned next;     /* first cache: ask the second for the next line while a load waits for lower levels */
	unsigned streams;  /* streams that the stream prefetcher follows, 0: none */
	unsigned distance; /* lines that a stream runs ahead */
	unsigned beyond;   /* and additional lines into the last cache only */
	unsigned crosses;  /* streams continue from one page to the next */
	unsigned strides;  /* largest stride of a stream, in lines; 0 and 1: consecutive lines only */
	unsigned gaps;     /* largest of the uneven steps that form a stream, in lines; 0: 2, or 1 with strides */
	unsigned back;     /* a step back of at most `gaps` does not end a stream */
	unsigned jumps;    /* lines prefetched in its direction by a jump within a followed page */
	unsigned others;   /* loads seen in advance: also fetches lines of other cores */
};

struct fm_tlb_description {
	unsigned entries;
	unsigned ways;
	unsigned penalty; /* cycles of a miss that hits the next buffer; of the last: of a walk */
};

struct fm_core_description {
	unsigned width;  /* instructions issued and retired per cycle */
	unsigned window; /* instructions in flight */
	unsigned load_buffers;
	unsigned store_buffers;
	unsigned fill_buffers; /* lines in flight to the first cache */
	unsigned super_queue;  /* lines in flight to the second cache */
	unsigned load_ports;   /* loads of up to 8 bytes per cycle */
	unsigned store_ports;  /* … stores */
	/* of 16, 32 and 64 bytes, per cycle, in hundredths; 0: as many as of the next narrower width; stores of 64:
	   half as many */
	unsigned wide_loads[FM_ACCESS_WIDTHS - 1], wide_stores[FM_ACCESS_WIDTHS - 1];
	unsigned multiply_ports;
	unsigned vector_ports; /* 0: FM_VECTOR_PORTS */
	unsigned ports;        /* all together */
	unsigned walkers;      /* simultaneous page walks; 0: no limit */
	unsigned forward;      /* cycles from a store's data to a load of the same address, through the store buffer; 0:
	                          FM_FORWARD_LATENCY */
	unsigned reload;       /* the same with the store's address in unchanged registers; 0: as forward */
	unsigned blocked; /* cycles from a store's data to a load of more than this data, which no single store covers;
	                     0: no wait */
	unsigned taken;   /* taken branches at one per cycle, their targets being known at once; 0: all */
	unsigned taken_wait;    /* additional cycles of any other */
	unsigned share;         /* per cent of the core's instructions per cycle left to a thread by others; 0: all */
	unsigned return_wait;   /* additional cycles of a return before the next instruction */
	unsigned indirect_wait; /* … of an indirect branch with varying targets */
	unsigned misprediction; /* cycles of a mispredicted branch; 0: all are predicted */
	unsigned code_bytes;    /* of the instruction cache; 0: it holds all code */
	unsigned code_ways;     /* 0: 8 */
	unsigned code_interval; /* cycles per line of code from the second cache, in hundredths */
	struct fm_operation_description operations[FM_OPERATION_COUNT];
};

struct fm_machine_description {
	char name[32];
	char title[96];
	char source[256]; /* path of the file */
	double frequency_ghz;
	unsigned sockets;
	unsigned cores;   /* per socket */
	unsigned threads; /* hardware threads per core, which share all of it; 0 is 1 */
	unsigned line_bytes;
	unsigned page_bytes;
	/* 0: caches are indexed by the program's addresses. Otherwise the seed of random physical pages: caches below
	   the first are indexed by physical addresses, the last of three or more by a hash. */
	unsigned physical;
	struct fm_cache_description caches[FM_SIMULATED_CACHES_MAX];
	unsigned cache_count;
	struct fm_tlb_description tlbs[FM_SIMULATED_TLBS_MAX];
	unsigned tlb_count;
	unsigned memory_latency;        /* cycles */
	unsigned memory_remote_latency; /* from another socket's memory */
	double memory_gbs;              /* per socket */
	double memory_core_gbs;         /* limit of one core; 0: its queues */
	double remote_gbs;              /* limit of a socket from the others; 0: no limit of links */
	double remote_core_gbs;         /* … one core; 0: the limit of local memory */
	double store_core_gbs;          /* limit of one core for lines requested by stores; 0: as for others */
	unsigned memory_write_percent;  /* time to write a line, relative to reading one */
	unsigned string_allocates;      /* 1: repeated string stores read the lines that they overwrite; 0: no read */
	struct fm_core_description core;
};

/* Factor by which cycles are longer because others use the core; `executes`: share of cycles with execution. */
static inline double fm_description_longer(const struct fm_machine_description *description, double executes)
{
	unsigned share = description->core.share;

	return share && share < 100 ? 1 + executes * (100.0 / share - 1) : 1;
}

/* Bytes of a cache that data can use. */
static inline uint64_t fm_cache_available(const struct fm_cache_description *cache)
{
	return cache->available ? cache->available : cache->bytes;
}

/* The width class of an access. */
static inline unsigned fm_width_of(unsigned bytes)
{
	return bytes <= 8 ? 0 : bytes <= 16 ? 1 : bytes <= 32 ? 2 : 3;
}

static inline unsigned fm_core_vector_ports(const struct fm_core_description *core)
{
	return core->vector_ports ? core->vector_ports : FM_VECTOR_PORTS;
}

/* Accesses of a width per cycle, in hundredths. */
static inline unsigned fm_core_loads(const struct fm_core_description *core, unsigned width)
{
	return !width                        ? 100 * core->load_ports
	       : core->wide_loads[width - 1] ? core->wide_loads[width - 1]
	                                     : fm_core_loads(core, width - 1);
}

static inline unsigned fm_core_stores(const struct fm_core_description *core, unsigned width)
{
	if (!width)
		return 100 * core->store_ports;
	if (core->wide_stores[width - 1])
		return core->wide_stores[width - 1];
	return fm_core_stores(core, width - 1) / (width == FM_ACCESS_WIDTHS - 1 ? 2 : 1);
}

static inline unsigned fm_description_threads(const struct fm_machine_description *description)
{
	return description->threads ? description->threads : 1;
}

/* The number of hardware threads. Their order is Linux's usual one: the first of every core, socket by socket, then the
   second of every core. */
static inline unsigned fm_description_cpus(const struct fm_machine_description *description)
{
	return description->sockets * description->cores * fm_description_threads(description);
}

/* GB/s that one core gets from its socket's memory. */
static inline double fm_description_core_gbs(const struct fm_machine_description *description)
{
	return description->memory_core_gbs > 0 ? description->memory_core_gbs : description->memory_gbs;
}

/* Cycles per line at a bandwidth in GB/s; 0: no limit. */
static inline double fm_description_line_cycles(const struct fm_machine_description *description, double gbs)
{
	return gbs > 0 ? description->line_bytes * description->frequency_ghz / gbs : 0;
}

/* Reads a file. -EBADMSG with "file:line: reason" if it is invalid. */
int fm_description_read(const char *path, struct fm_machine_description *ret_description, struct fm_error *error);

/* Reads a text; `name`: file name for messages. */
int fm_description_parse(const char *text, const char *name, struct fm_machine_description *ret_description,
                         struct fm_error *error);

/* Checks a description that was not read from a file: may a file have all its numbers and cache names? -ERANGE with the
   first that is invalid. */
int fm_description_check(const struct fm_machine_description *description, struct fm_error *error);

/* Writes a file that reads back as the same description. 0 or -errno. */
int fm_description_write(const struct fm_machine_description *description, const char *path, struct fm_error *error);

/* Writes the same as an allocated text. */
int fm_description_text(const struct fm_machine_description *description, char **ret_text, struct fm_error *error);

/* Finds and reads "haswell-ep" in the machines folder (FATHOM_MACHINES, beside the executable, or the installed one),
   or a path with a slash. -ENOENT with the available names. */
int fm_description_find(const char *name, struct fm_machine_description *ret_description, struct fm_error *error);

/* The path of another file of a machine given by name or path, such as NAME.events. */
int fm_description_file(const char *name, const char *suffix, char *path, size_t size);

#endif
