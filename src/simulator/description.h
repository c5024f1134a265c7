/* A simulated machine as text: caches, translation buffers, memory, core. machines/ has some; docs/machines.md explains
   the format. Nothing in a file is trusted: a mistake is refused with file, line and reason. */
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
	FM_SIMULATED_CORES_MAX = 256, /* hardware threads, in all */
	FM_SIMULATED_THREADS_MAX = 8, /* of a core */
	FM_SIMULATED_SOCKETS_MAX = 8,
	FM_FORWARD_LATENCY = 5,
	FM_VECTOR_PORTS = 3,
	FM_OPERATION_CYCLES_MAX = 100000, /* of what is alone; of others 255 */
	FM_CODE_WAYS = 8,
	FM_ACCESS_WIDTHS = 4, /* of accesses: up to 8 bytes, 16, 32, 64 */
};

/* What names of caches are made of: they are parts of names of quantities, and stand in tables with commas. */
#define FM_CACHE_NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

enum fm_replacement { FM_REPLACEMENT_LRU, FM_REPLACEMENT_TREE, FM_REPLACEMENT_RANDOM };
enum fm_adjacent { FM_ADJACENT_NONE, FM_ADJACENT_PAIR, FM_ADJACENT_NEXT }; /* the other of 128 bytes, the next one */
enum fm_inclusion { FM_INCLUSION_NONE, FM_INCLUSION_INCLUSIVE, FM_INCLUSION_VICTIM };

struct fm_cache_description {
	char name[12];
	uint64_t bytes;
	uint64_t available; /* of these, what neighbours leave; 0: all */
	unsigned life; /* of the last cache: µs that a line which nobody uses stays on average, because of neighbours;
	                  0: for ever */
	unsigned ways;
	unsigned shared_by;       /* cores of a socket; 1 is private */
	unsigned latency;         /* load to use, cycles */
	unsigned interval;        /* cycles between two lines it can deliver to one core, in hundredths */
	unsigned write_interval;  /* … that it takes to accept a dirty line from above, in hundredths */
	unsigned shared_interval; /* cycles per line for all cores that share it together, in hundredths; 0: no limit */
	enum fm_replacement replacement;
	enum fm_inclusion inclusion; /* of what the private caches hold; only a shared cache has one */
	enum fm_adjacent adjacent;   /* line that is prefetched on a miss */
	unsigned next;     /* first cache: ask the second for the next line while a load waits for lower levels */
	unsigned streams;  /* stream prefetcher: how many it follows, 0 for none */
	unsigned distance; /* how many lines it runs ahead */
	unsigned beyond;   /* and how many more into the last cache only */
	unsigned crosses;  /* goes on from one page to the next */
	unsigned strides;  /* the largest stride that it follows, in lines; 0 and 1: line by line only */
	unsigned gaps;     /* the largest of uneven steps in one direction that make a stream, in lines; 0: 2, or 1 with
	                      strides */
	unsigned back;     /* a step back by no more than gaps does not end a stream */
	unsigned jumps;    /* lines that a jump within a followed page brings, in its direction */
	unsigned others;   /* loads seen coming: also fetches lines that other cores have */
};

struct fm_tlb_description {
	unsigned entries;
	unsigned ways;
	unsigned penalty; /* cycles of a miss that the next one answers; of the last: of a walk */
};

struct fm_core_description {
	unsigned width;  /* instructions issued and retired per cycle */
	unsigned window; /* instructions in flight */
	unsigned load_buffers;
	unsigned store_buffers;
	unsigned fill_buffers; /* lines on their way to the first cache */
	unsigned super_queue;  /* lines on their way to the second */
	unsigned load_ports;   /* loads of up to 8 bytes per cycle */
	unsigned store_ports;  /* … stores */
	/* of 16, 32 and 64 bytes, per cycle, in hundredths; 0: as many as of the next narrower, of stores of 64 half as
	   many */
	unsigned wide_loads[FM_ACCESS_WIDTHS - 1], wide_stores[FM_ACCESS_WIDTHS - 1];
	unsigned multiply_ports;
	unsigned vector_ports; /* 0: FM_VECTOR_PORTS */
	unsigned ports;        /* all together */
	unsigned walkers;      /* page walks at a time; 0: as many as there are */
	unsigned forward;      /* cycles from a store's data to a load of the same address, through the store buffer; 0:
	                          FM_FORWARD_LATENCY */
	unsigned reload;       /* the same where the load finds the address as the store did, in registers that have not
	                          changed; 0: as forward */
	unsigned blocked;     /* cycles from a store's data to a load of this and more, which no store has all of; 0: it
	                         does not wait */
	unsigned taken;       /* branches that are taken one per cycle, since it knows where they go at once; 0: all */
	unsigned taken_wait;  /* cycles more for any other */
	unsigned share;       /* per cent of the core's instructions per cycle that others leave to a thread; 0: all */
	unsigned return_wait; /* cycles more for a return, after which nothing comes for so long */
	unsigned indirect_wait; /* … for an indirect branch that goes to different places */
	unsigned misprediction; /* cycles that a branch costs which was not foreseen; 0: all are */
	unsigned code_bytes;    /* of its instruction cache; 0: all code is there */
	unsigned code_ways;     /* 0: 8 */
	unsigned code_interval; /* cycles from one line of code to the next that the second cache delivers, in
	                           hundredths */
	struct fm_operation_description operations[FM_OPERATION_COUNT];
};

struct fm_machine_description {
	char name[32];
	char title[96];
	char source[256]; /* the file it came from */
	double frequency_ghz;
	unsigned sockets;
	unsigned cores;   /* per socket */
	unsigned threads; /* hardware threads per core, which share all it has; 0 is 1 */
	unsigned line_bytes;
	unsigned page_bytes;
	/* 0: caches are indexed by the program's addresses. Else pages lie at random in physical memory, by this seed:
	   the caches below the first are indexed by that, the last of three or more by a hash. */
	unsigned physical;
	struct fm_cache_description caches[FM_SIMULATED_CACHES_MAX];
	unsigned cache_count;
	struct fm_tlb_description tlbs[FM_SIMULATED_TLBS_MAX];
	unsigned tlb_count;
	unsigned memory_latency;        /* cycles */
	unsigned memory_remote_latency; /* from another socket's memory */
	double memory_gbs;              /* per socket */
	double memory_core_gbs;         /* one core can draw; 0: as much as its queues allow */
	double remote_gbs;              /* a socket can draw from the others; 0: no link between them limits it */
	double remote_core_gbs;         /* … one core; 0: as from its own memory */
	double store_core_gbs;          /* one core can draw of lines that its stores ask for; 0: as of others */
	unsigned memory_write_percent;  /* what writing a line costs of the time that reading one takes */
	unsigned string_allocates; /* 1: repeated string stores read the lines that they overwrite; 0: they do not */
	struct fm_core_description core;
};

/* Bytes of a cache that data can use. */
/* By how much cycles are longer, of which this share executes something, because others use the core. */
static inline double fm_description_longer(const struct fm_machine_description *description, double executes)
{
	unsigned share = description->core.share;

	return share && share < 100 ? 1 + executes * (100.0 / share - 1) : 1;
}

static inline uint64_t fm_cache_available(const struct fm_cache_description *cache)
{
	return cache->available ? cache->available : cache->bytes;
}

/* Which of the widths an access of so many bytes has. */
static inline unsigned fm_width_of(unsigned bytes)
{
	return bytes <= 8 ? 0 : bytes <= 16 ? 1 : bytes <= 32 ? 2 : 3;
}

/* Accesses of a width per cycle, in hundredths. */
static inline unsigned fm_core_vector_ports(const struct fm_core_description *core)
{
	return core->vector_ports ? core->vector_ports : FM_VECTOR_PORTS;
}

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

/* How many hardware threads there are in all. They are numbered as Linux usually does: the first of every core, socket
   by socket, then the second of every core. */
static inline unsigned fm_description_cpus(const struct fm_machine_description *description)
{
	return description->sockets * description->cores * fm_description_threads(description);
}

/* GB/s that one core gets from its socket's memory. */
static inline double fm_description_core_gbs(const struct fm_machine_description *description)
{
	return description->memory_core_gbs > 0 ? description->memory_core_gbs : description->memory_gbs;
}

/* Cycles that a line takes at so many GB/s; 0 where there is no limit. */
static inline double fm_description_line_cycles(const struct fm_machine_description *description, double gbs)
{
	return gbs > 0 ? description->line_bytes * description->frequency_ghz / gbs : 0;
}

/* Read a file. -EBADMSG with "file:line: reason" when it is wrong. */
int fm_description_read(const char *path, struct fm_machine_description *ret_description, struct fm_error *error);

/* The same from text; name stands for the file in messages. */
int fm_description_parse(const char *text, const char *name, struct fm_machine_description *ret_description,
                         struct fm_error *error);

/* Is every number, and every name of a cache, of a description that was not read from a file one that a file may have?
   -ERANGE with the first that is not. */
int fm_description_check(const struct fm_machine_description *description, struct fm_error *error);

/* The description as a file that reads back the same. 0 or -errno. */
int fm_description_write(const struct fm_machine_description *description, const char *path, struct fm_error *error);

/* The same as a text, allocated. */
int fm_description_text(const struct fm_machine_description *description, char **ret_text, struct fm_error *error);

/* "haswell-ep" in the machines folder (FATHOM_MACHINES, beside the executable, or where it was installed), or a path
   when it has a slash. -ENOENT with the names there are. */
int fm_description_find(const char *name, struct fm_machine_description *ret_description, struct fm_error *error);

/* Another file of a machine given by name or path: NAME.events. */
int fm_description_file(const char *name, const char *suffix, char *path, size_t size);

#endif
