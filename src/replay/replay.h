/* Plays the entries of a recording in order of time, with the memory of each process at the time of a sample. Shared by
   replay.c (processes, threads, regions, samples), memory_layers.c (contents of addresses) and memory_rows.c (their
   rows in the recording). */
#ifndef FATHOM_REPLAY_REPLAY_H
#define FATHOM_REPLAY_REPLAY_H

#include "replay/call_tree.h"
#include "replay/curves.h"
#include "base/index_map.h"
#include "replay/modules.h"
#include "replay/parts_reader.h"
#include "replay/ranges.h"
#include "recording/recording.h"

enum {
	FM_REPLAY_OBJECT_BYTES = 4096, /* allocations from this size on become separate objects */
	FM_REPLAY_SITE_OBJECTS = 16,   /* … with the same call stack */
	FM_REPLAY_ROWS = 1 << 22,      /* rows of a table: the limit of the store */
};

struct fm_replay;

/* A call stack that allocated: small allocations together, and large ones together. */
struct fm_site {
	int64_t frame;
	struct fm_site_sum {
		double allocations, live, most; /* live, most: bytes */
		double began, ended;
		int64_t row;      /* of the pool; -1: without samples */
		uint32_t objects; /* objects with their own rows */
		double apart;     /* allocations that these objects represent */
	} small, large;
};

/* A live allocation, in one process or in several forked since. */
struct fm_block {
	uint32_t site, process;
	uint32_t own_ranges, ranges; /* ranges of the block: in its process, and in all */
	uint64_t address, size;
	double began, ended, weight;
	int64_t row; /* -1: without samples */
	uint32_t allocator;
	uint32_t next_unused;
};

/* Memory named by the program. */
struct fm_named {
	int64_t row;
	uint32_t process, ranges;
	double allocations, live, most, began, ended;
	uint64_t address;
	char name[FM_NAME], group[FM_NAME];
};

struct fm_mapping {
	uint32_t module; /* FM_NO_MODULE: anonymous */
	uint32_t protection;
	uint64_t begin, offset;
};

/* A file mapped into a process. */
struct fm_loaded {
	uint32_t module;
	uint64_t bias, begin, end;
};

struct fm_open_region {
	uint32_t name; /* number */
	int64_t instance;
};

struct fm_replay_thread {
	int64_t row; /* -1: not seen yet */
	bool ended;
	struct fm_open_region *regions;
	uint32_t depth, room;
	uint64_t stack_begin, stack_end, local_begin, local_end;
};

struct fm_replay_process {
	struct fm_replay *replay;
	uint32_t index; /* row in sampled_processes */
	uint32_t file;  /* index in the parts of the file with the current entry */
	bool begun, ended;
	uint64_t needed_until; /* ticks of its last entry, or of the last fork from it */
	struct fm_ranges *named, *heap, *mapped, *stacks, *locals, *mappings, *older_mappings;
	struct fm_loaded *loaded;
	size_t loaded_count;
	bool loaded_known;
	int64_t program; /* module; -1: not known */
	/* threads of the program, by the runtime and by the engine */
	struct fm_replay_thread *threads;
	size_t thread_count;
	struct fm_index_map thread_map; /* by file and number */
};

struct fm_missed_sum {
	uint32_t reason;
	int64_t code;
	uint64_t count;
	double seconds;
};

/* Additional data of a row of `memories`, until all entries are read. */
struct fm_row_more {
	int64_t frame;
	double weights;
	uint64_t samples;
	int64_t module;
	const char *variable;
};

struct fm_replay {
	struct fm_parts *parts;
	struct fm_recording *recording;
	struct fm_modules *modules;
	struct fm_call_tree *tree;
	struct fm_replay_process *processes; /* one per file; two files of one process use the first's */
	size_t process_count;
	double now; /* seconds */
	struct fm_site *sites;
	struct fm_block *blocks;
	struct fm_named *named;
	struct fm_mapping *mappings;
	struct fm_missed_sum *missed;
	struct fm_row_more *more;
	size_t site_count, block_count, named_count, mapping_count, missed_count, more_count;
	uint32_t unused_block; /* + 1 */
	struct fm_index_map site_map, named_map, mapping_map, missed_map, stack_map, row_map;
	struct fm_curves *curves;
	uint64_t too_many; /* entries without a row left */
	bool failed;       /* out of memory */
};

/* replay.c */
int fm_replay_run(struct fm_replay *replay);

/* memory_layers.c: contents of addresses. Start and end of a process, then its entries. */
int fm_layers_begin(struct fm_replay_process *process, const struct fm_replay_process *origin);
void fm_layers_end(struct fm_replay_process *process);
void fm_layers_map(struct fm_replay_process *process, const struct fm_stream_mapping *mapping, const char *path);
void fm_layers_allocate(struct fm_replay_process *process, const struct fm_stream_allocation *allocation,
                        int64_t frame);
void fm_layers_release(struct fm_replay_process *process, const struct fm_stream_release *release);
void fm_layers_name(struct fm_replay_process *process, const struct fm_stream_object *object);
void fm_layers_thread(struct fm_replay_process *process, uint32_t thread, const struct fm_stream_thread *entry);
void fm_layers_end_thread(struct fm_replay_process *process, uint32_t thread);

/* The place of a code address, in the files mapped at this time. */
void fm_layers_code(struct fm_replay_process *process, uint64_t address, struct fm_code_place *ret_place);

/* The row of the memory at an address, made if necessary; -1: out of memory. */
int64_t fm_layers_memory(struct fm_replay_process *process, uint64_t address);

/* memory_rows.c */
struct fm_row_wish {
	uint32_t kind;
	struct fm_index_key key; /* the key of the row; `a` is free for the kind */
	const char *name, *group, *variable;
	int64_t module, process, thread, frame;
	uint64_t address, bytes;
	double began, ended;
};
int64_t fm_memory_row(struct fm_replay *replay, const struct fm_row_wish *wish);
int64_t fm_memory_block_row(struct fm_replay *replay, struct fm_block *block, uint32_t process);
int64_t fm_memory_named_row(struct fm_replay *replay, struct fm_named *named, uint32_t process);
void fm_memory_sampled(struct fm_replay *replay, int64_t row, double weight);

/* Completes the rows after fm_call_tree_write(): sums, sites, types. */
void fm_memory_finish(struct fm_replay *replay);

/* Combines two texts to one key. */
struct fm_index_key fm_text_key(const char *first, const char *second);

#endif
