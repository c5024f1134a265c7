#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "replay/replay.h"

/* glibc puts the heaps of threads where the address is a multiple of this. */
static const uint64_t arena_step = (uint64_t)64 << 20;

/* Blocks */

static struct fm_site_sum *sum_of(struct fm_replay *replay, const struct fm_block *block)
{
	struct fm_site *site = &replay->sites[block->site];

	return block->size < FM_REPLAY_OBJECT_BYTES ? &site->small : &site->large;
}

/* A range of a block came or went. */
static void block_changed(void *context, uint32_t value, int ranges)
{
	struct fm_replay_process *process = context;
	struct fm_replay *replay = process->replay;
	struct fm_block *block = &replay->blocks[value];

	block->ranges += (uint32_t)ranges;
	if (block->process == process->index) {
		block->own_ranges += (uint32_t)ranges;
		if (!block->own_ranges) {
			struct fm_site_sum *sum = sum_of(replay, block);

			block->ended = sum->ended = replay->now;
			sum->live -= block->weight * (double)block->size;
			if (block->row >= 0 && replay->recording->memories[block->row].kind != FM_MEMORY_POOL)
				replay->recording->memories[block->row].ended = replay->now;
		}
	}
	if (!block->ranges) {
		block->next_unused = replay->unused_block;
		replay->unused_block = value + 1;
	}
}

static int64_t make_block(struct fm_replay *replay)
{
	uint32_t unused = replay->unused_block;

	if (unused) {
		replay->unused_block = replay->blocks[unused - 1].next_unused;
		return unused - 1;
	}
	if (replay->block_count >= FM_RANGES_NONE - 1 ||
	    !fm_recording_grow((void **)&replay->blocks, &replay->block_count, sizeof(*replay->blocks)))
		return -1;
	return (int64_t)replay->block_count - 1;
}

static int64_t find_site(struct fm_replay *replay, int64_t frame)
{
	uint32_t *index = fm_index_map_place(&replay->site_map, (struct fm_index_key){(uint64_t)frame, 0, 0});
	struct fm_site *site;

	if (index && *index)
		return *index - 1;
	site = index ? fm_recording_grow((void **)&replay->sites, &replay->site_count, sizeof(*site)) : NULL;
	if (!site)
		return -1;
	*index = (uint32_t)replay->site_count;
	site->frame = frame;
	site->small.row = site->large.row = -1;
	site->small.began = site->large.began = replay->now;
	return *index - 1;
}

void fm_layers_allocate(struct fm_replay_process *process, const struct fm_stream_allocation *allocation, int64_t frame)
{
	struct fm_replay *replay = process->replay;
	bool heap = allocation->allocator == FM_ALLOCATED_HEAP || allocation->allocator == FM_ALLOCATED_NEW;
	uint64_t size = allocation->size ? allocation->size : 1;
	double weight = allocation->weight >= 1 && allocation->weight < 1e12 ? allocation->weight : 1;
	struct fm_site_sum *sum;
	struct fm_block *block;
	int64_t site, number;

	if (allocation->address + size < size || size > (uint64_t)1 << 56)
		return;
	site = find_site(replay, frame);
	number = site < 0 ? -1 : make_block(replay);
	if (number < 0) {
		replay->failed = true;
		return;
	}
	block = &replay->blocks[number];
	*block = (struct fm_block){.site = (uint32_t)site,
	                           .process = process->index,
	                           .address = allocation->address,
	                           .size = allocation->size,
	                           .began = replay->now,
	                           .ended = replay->now,
	                           .weight = weight,
	                           .row = -1,
	                           .allocator = allocation->allocator};
	sum = sum_of(replay, block);
	/* memory that allocators map for themselves is no allocation of the program's */
	if (allocation->allocator == FM_ALLOCATED_ARENA)
		block->weight = 0;
	else
		sum->allocations += weight;
	if (fm_ranges_put(heap ? process->heap : process->mapped, allocation->address, allocation->address + size,
	                  (uint32_t)number))
		replay->failed = true;
	/* after the removal of the replaced range */
	sum->live += block->weight * (double)block->size;
	if (sum->live > sum->most)
		sum->most = sum->live;
}

void fm_layers_release(struct fm_replay_process *process, const struct fm_stream_release *release)
{
	struct fm_range range;
	int r = 0;

	if (release->size) {
		uint64_t end = release->address + release->size;

		if (end > release->address)
			r = fm_ranges_remove(process->mapped, release->address, end);
	} else if (fm_ranges_find(process->heap, release->address, &range) && range.begin == release->address) {
		r = fm_ranges_remove(process->heap, range.begin, range.end);
	} else if (fm_ranges_find(process->mapped, release->address, &range) && range.begin == release->address) {
		r = fm_ranges_remove(process->mapped, range.begin, range.end);
	}
	process->replay->failed |= r != 0;
}

/* Named memory */

static void named_changed(void *context, uint32_t value, int ranges)
{
	struct fm_replay_process *process = context;
	struct fm_named *named = &process->replay->named[value];

	named->ranges += (uint32_t)ranges;
	if (!named->ranges)
		named->ended = process->replay->now;
}

/* The current size of that name. Parts of several processes count once each. */
static void weigh(struct fm_named *named, double difference)
{
	named->live += difference;
	if (named->live > named->most)
		named->most = named->live;
}

void fm_layers_name(struct fm_replay_process *process, const struct fm_stream_object *object)
{
	struct fm_replay *replay = process->replay;
	const char *name = fm_parts_name(replay->parts, process->file, object->name);
	const char *group = fm_parts_name(replay->parts, process->file, object->group);
	struct fm_named *named;
	struct fm_range range;
	uint32_t *index;

	if (!object->size) {
		if (fm_ranges_find(process->named, object->address, &range)) {
			weigh(&replay->named[range.value], -(double)(range.end - range.begin));
			replay->failed |= fm_ranges_remove(process->named, range.begin, range.end) != 0;
		}
		return;
	}
	if (!name || object->address + object->size < object->size)
		return;
	index = fm_index_map_place(&replay->named_map, fm_text_key(name, group));
	if (index && !*index) {
		named = fm_recording_grow((void **)&replay->named, &replay->named_count, sizeof(*named));
		if (named) {
			*index = (uint32_t)replay->named_count;
			*named = (struct fm_named){
			    .row = -1, .process = process->index, .address = object->address, .began = replay->now};
			snprintf(named->name, sizeof(named->name), "%s", name);
			snprintf(named->group, sizeof(named->group), "%s", group ? group : "");
		}
	}
	if (!index || !*index) {
		replay->failed = true;
		return;
	}
	named = &replay->named[*index - 1];
	named->allocations++;
	if (named->address != object->address || named->process != process->index)
		named->address = 0;
	if (fm_ranges_find(process->named, object->address, &range))
		weigh(&replay->named[range.value], -(double)(range.end - range.begin));
	weigh(named, (double)object->size);
	if (fm_ranges_put(process->named, object->address, object->address + object->size, *index - 1))
		replay->failed = true;
}

/* Mappings */

static int64_t find_mapping(struct fm_replay *replay, const struct fm_mapping *mapping)
{
	struct fm_index_key key = {(uint64_t)mapping->module << 32 | mapping->protection, mapping->begin,
	                           mapping->offset};
	uint32_t *index = fm_index_map_place(&replay->mapping_map, key);
	struct fm_mapping *made;

	if (index && *index)
		return *index - 1;
	made = index ? fm_recording_grow((void **)&replay->mappings, &replay->mapping_count, sizeof(*made)) : NULL;
	if (!made)
		return -1;
	*index = (uint32_t)replay->mapping_count;
	*made = *mapping;
	return *index - 1;
}

void fm_layers_map(struct fm_replay_process *process, const struct fm_stream_mapping *entry, const char *path)
{
	struct fm_replay *replay = process->replay;
	struct fm_mapping mapping = {.module = FM_NO_MODULE,
	                             .protection = entry->protection & 0xff,
	                             .begin = entry->begin,
	                             .offset = entry->offset};
	int64_t module = *path ? fm_modules_find(replay->modules, path) : FM_NO_MODULE, number;

	if (entry->flags & 1) {
		/* until the list is complete, other threads may sample: the list before serves for missing entries */
		struct fm_ranges *older = process->older_mappings;

		process->older_mappings = process->mappings;
		process->mappings = older;
		fm_ranges_clear(process->mappings);
	}
	process->loaded_known = false;
	if (entry->begin >= entry->end)
		return;
	mapping.module = module < 0 ? FM_NO_MODULE : (uint32_t)module;
	number = find_mapping(replay, &mapping);
	if (module < 0 || number < 0 || fm_ranges_put(process->mappings, entry->begin, entry->end, (uint32_t)number))
		replay->failed = true;
}

static const struct fm_mapping *mapping_at(const struct fm_replay_process *process, uint64_t address,
                                           struct fm_range *ret_range)
{
	if (fm_ranges_find(process->mappings, address, ret_range) ||
	    fm_ranges_find(process->older_mappings, address, ret_range))
		return &process->replay->mappings[ret_range->value];
	return NULL;
}

void fm_layers_code(struct fm_replay_process *process, uint64_t address, struct fm_code_place *ret_place)
{
	struct fm_range range;
	const struct fm_mapping *mapping = mapping_at(process, address, &range);

	*ret_place = (struct fm_code_place){.module = FM_NO_MODULE, .process = process->index, .address = address};
	if (mapping && mapping->module != FM_NO_MODULE) {
		ret_place->module = mapping->module;
		ret_place->offset = mapping->offset + (address - mapping->begin);
	}
}

/* The addresses of the files: each mapping belongs to a known one, or shows a new one. */
static void find_loaded(struct fm_replay_process *process)
{
	struct fm_replay *replay = process->replay;
	struct fm_range range;

	process->loaded_count = 0;
	process->loaded_known = true;
	for (bool more = fm_ranges_next(process->mappings, 0, &range); more;
	     more = fm_ranges_next(process->mappings, range.end, &range)) {
		const struct fm_mapping *mapping = &replay->mappings[range.value];
		struct fm_loaded *loaded;
		uint64_t address, begin, end;
		bool known = false;

		if (mapping->module == FM_NO_MODULE || !fm_module_is_program(replay->modules, mapping->module))
			continue;
		for (size_t i = process->loaded_count; i-- > 0 && !known;)
			known =
			    process->loaded[i].module == mapping->module &&
			    range.begin - process->loaded[i].begin < process->loaded[i].end - process->loaded[i].begin;
		if (known || !fm_module_address(replay->modules, mapping->module, mapping->offset, &address))
			continue;
		fm_module_extent(replay->modules, mapping->module, &begin, &end);
		loaded = fm_recording_grow((void **)&process->loaded, &process->loaded_count, sizeof(*loaded));
		if (!loaded) {
			replay->failed = true;
			return;
		}
		*loaded = (struct fm_loaded){.module = mapping->module, .bias = mapping->begin - address};
		loaded->begin = begin + loaded->bias;
		loaded->end = end + loaded->bias;
	}
}

static const struct fm_loaded *loaded_at(struct fm_replay_process *process, uint64_t address)
{
	if (!process->loaded_known)
		find_loaded(process);
	for (size_t i = 0; i < process->loaded_count; i++)
		if (address - process->loaded[i].begin < process->loaded[i].end - process->loaded[i].begin)
			return &process->loaded[i];
	return NULL;
}

/* Threads */

void fm_layers_thread(struct fm_replay_process *process, uint32_t number, const struct fm_stream_thread *entry)
{
	struct fm_replay_thread *thread = &process->threads[number];
	int r = 0;

	if (entry->stack_begin < entry->stack_end) {
		thread->stack_begin = entry->stack_begin;
		thread->stack_end = entry->stack_end;
	}
	if (entry->local_begin < entry->local_end) {
		thread->local_begin = entry->local_begin;
		thread->local_end = entry->local_end;
	}
	if (entry->stack_begin < entry->stack_end)
		r = fm_ranges_put(process->stacks, entry->stack_begin, entry->stack_end, number);
	if (!r && entry->local_begin < entry->local_end)
		r = fm_ranges_put(process->locals, entry->local_begin, entry->local_end, number);
	process->replay->failed |= r != 0;
}

void fm_layers_end_thread(struct fm_replay_process *process, uint32_t number)
{
	struct fm_replay_thread *thread = &process->threads[number];
	struct fm_range range;
	int r = 0;

	/* another thread may have the stack already */
	if (fm_ranges_find(process->stacks, thread->stack_begin, &range) && range.value == number)
		r = fm_ranges_remove(process->stacks, range.begin, range.end);
	if (!r && fm_ranges_find(process->locals, thread->local_begin, &range) && range.value == number)
		r = fm_ranges_remove(process->locals, range.begin, range.end);
	process->replay->failed |= r != 0;
}

/* Processes */

static struct fm_ranges *inherit(const struct fm_ranges *from, void (*changed)(void *, uint32_t, int),
                                 struct fm_replay_process *process)
{
	return from ? fm_ranges_copy(from, process) : fm_ranges_create(changed, process);
}

static void weigh_all(struct fm_replay_process *process, double sign)
{
	struct fm_range range;

	for (bool more = fm_ranges_next(process->named, 0, &range); more;
	     more = fm_ranges_next(process->named, range.end, &range))
		weigh(&process->replay->named[range.value], sign * (double)(range.end - range.begin));
}

/* Threads of a forked process announce themselves again. */
int fm_layers_begin(struct fm_replay_process *process, const struct fm_replay_process *origin)
{
	bool copy = origin && origin->begun && !origin->ended;

	process->heap = inherit(copy ? origin->heap : NULL, block_changed, process);
	process->mapped = inherit(copy ? origin->mapped : NULL, block_changed, process);
	process->named = inherit(copy ? origin->named : NULL, named_changed, process);
	process->mappings = inherit(copy ? origin->mappings : NULL, NULL, process);
	process->older_mappings = inherit(NULL, NULL, process);
	process->stacks = inherit(NULL, NULL, process);
	process->locals = inherit(NULL, NULL, process);
	process->program = copy ? origin->program : -1;
	if (process->named)
		weigh_all(process, 1);
	return process->heap && process->mapped && process->named && process->mappings && process->older_mappings &&
	               process->stacks && process->locals
	           ? 0
	           : -ENOMEM;
}

void fm_layers_end(struct fm_replay_process *process)
{
	struct fm_ranges **all[] = {&process->heap,   &process->mapped,   &process->named,         &process->stacks,
	                            &process->locals, &process->mappings, &process->older_mappings};

	if (process->named)
		weigh_all(process, -1);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (*all[i])
			fm_ranges_clear(*all[i]);
		fm_ranges_free(*all[i]);
		*all[i] = NULL;
	}
	free(process->loaded);
	process->loaded = NULL;
	process->loaded_count = 0;
}

/* Contents of an address */

enum { KEY_STACK = 1, KEY_LOCAL, KEY_VARIABLE, KEY_FILE, KEY_SIMPLE, KEY_THREAD_LOCALS };

static int64_t simple_row(struct fm_replay_process *process, uint32_t kind, const char *name)
{
	struct fm_row_wish wish = {.kind = kind,
	                           .key = {KEY_SIMPLE, kind, 0},
	                           .name = name,
	                           .module = -1,
	                           .process = process->index,
	                           .thread = -1,
	                           .frame = -1};

	return fm_memory_row(process->replay, &wish);
}

static int64_t stack_row(struct fm_replay_process *process, uint32_t number, const struct fm_range *range)
{
	int64_t thread = number < process->thread_count ? process->threads[number].row : -1;
	const struct fm_recorded_sampled_thread *row =
	    thread < 0 ? NULL : &process->replay->recording->sampled_threads[thread];
	char name[64];
	struct fm_row_wish wish = {.kind = FM_MEMORY_STACK,
	                           .key = {KEY_STACK, process->index, number},
	                           .name = name,
	                           .module = -1,
	                           .process = process->index,
	                           .thread = thread,
	                           .frame = -1,
	                           .address = range->begin,
	                           .bytes = range->end - range->begin,
	                           .began = row ? row->began : 0,
	                           .ended = row ? row->ended : 0};

	if (row && *row->name)
		snprintf(name, sizeof(name), "stack of thread %u (%s)", row->thread, row->name);
	else if (row)
		snprintf(name, sizeof(name), "stack of thread %u", row->thread);
	else
		snprintf(name, sizeof(name), "stack");
	return fm_memory_row(process->replay, &wish);
}

/* The block of the program itself ends at the thread pointer, where the range of the thread ends; those of its
   libraries lie below, and only the dynamic linker knows where. */
static int64_t local_row(struct fm_replay_process *process, uint32_t number, uint64_t address,
                         const struct fm_range *range)
{
	struct fm_replay *replay = process->replay;
	uint64_t bytes = process->program < 0 ? 0 : fm_module_local_bytes(replay->modules, (uint32_t)process->program);
	const struct fm_module_variable *variable = NULL;
	int64_t thread = number < process->thread_count ? process->threads[number].row : -1;
	const struct fm_recorded_sampled_thread *row = thread < 0 ? NULL : &replay->recording->sampled_threads[thread];
	char name[64];
	struct fm_row_wish wish = {.kind = FM_MEMORY_THREAD_LOCAL,
	                           .module = -1,
	                           .process = process->index,
	                           .thread = thread,
	                           .frame = -1,
	                           .began = row ? row->began : 0,
	                           .ended = row ? row->ended : 0};

	if (bytes && range->end - address <= bytes)
		variable = fm_module_variable(replay->modules, (uint32_t)process->program,
		                              address - (range->end - bytes), true);
	if (variable) {
		wish.key = (struct fm_index_key){KEY_LOCAL, (uint64_t)process->index << 32 | number, variable->address};
		wish.module = process->program;
		wish.variable = wish.name = variable->name;
		wish.address = range->end - bytes + variable->address;
		wish.bytes = variable->size;
	} else {
		snprintf(name, sizeof(name), "thread-local variables of thread %u", row ? row->thread : number);
		wish.key = (struct fm_index_key){KEY_THREAD_LOCALS, process->index, number};
		wish.name = name;
		wish.address = range->begin;
		wish.bytes = range->end - range->begin;
	}
	return fm_memory_row(replay, &wish);
}

/* In a loaded file: a variable, or memory without a name. */
static int64_t loaded_row(struct fm_replay_process *process, const struct fm_loaded *loaded, uint64_t address)
{
	struct fm_replay *replay = process->replay;
	uint64_t own = address - loaded->bias;
	const struct fm_module_variable *variable = fm_module_variable(replay->modules, loaded->module, own, false);
	bool writable = fm_module_is_writable(replay->modules, loaded->module, own);
	char name[FM_FUNCTION];
	struct fm_row_wish wish = {.kind = variable || writable ? FM_MEMORY_STATIC : FM_MEMORY_CODE,
	                           .key = {KEY_FILE, loaded->module, 1 + writable},
	                           .name = name,
	                           .module = loaded->module,
	                           .process = process->index,
	                           .thread = -1,
	                           .frame = -1};

	if (variable) {
		wish.key = (struct fm_index_key){KEY_VARIABLE, loaded->module, variable->address};
		wish.variable = wish.name = variable->name;
		wish.address = loaded->bias + variable->address;
		wish.bytes = variable->size;
	} else {
		snprintf(name, sizeof(name), "%s of %s", writable ? "data without a name" : "code and constants",
		         fm_module_name(replay->modules, loaded->module));
	}
	return fm_memory_row(replay, &wish);
}

static int64_t mapping_row(struct fm_replay_process *process, const struct fm_mapping *mapping,
                           const struct fm_range *range)
{
	struct fm_replay *replay = process->replay;
	const char *path = mapping->module == FM_NO_MODULE ? "" : fm_module_path(replay->modules, mapping->module);
	struct fm_row_wish wish = {.kind = FM_MEMORY_FILE,
	                           .key = {KEY_FILE, mapping->module, 0},
	                           .name = path,
	                           .module = mapping->module,
	                           .process = process->index,
	                           .thread = -1,
	                           .frame = -1,
	                           .bytes = range->end - range->begin};

	if (!strcmp(path, "[stack]"))
		return stack_row(process, 0, range); /* of the first thread */
	if (!strcmp(path, "[heap]") || (!*path && !(range->begin % arena_step)))
		return simple_row(process, FM_MEMORY_UNTRACKED, "heap, not tracked");
	if (!*path || path[0] == '[')
		return simple_row(process, FM_MEMORY_MAPPED, "anonymous memory, not tracked");
	if (mapping->protection & PROT_EXEC)
		wish.kind = FM_MEMORY_CODE;
	return fm_memory_row(replay, &wish);
}

static int64_t block_row(struct fm_replay_process *process, uint32_t number)
{
	struct fm_replay *replay = process->replay;

	if (replay->blocks[number].allocator == FM_ALLOCATED_ARENA)
		return simple_row(process, FM_MEMORY_UNTRACKED, "heap, not tracked");
	return fm_memory_block_row(replay, &replay->blocks[number], process->index);
}

static int64_t named_row(struct fm_replay_process *process, uint32_t number, uint64_t address)
{
	struct fm_replay *replay = process->replay;
	int64_t row = fm_memory_named_row(replay, &replay->named[number], process->index);
	struct fm_range range;

	/* the site of the allocation is useful */
	if (row >= 0 && replay->more[row].frame < 0 &&
	    (fm_ranges_find(process->heap, address, &range) || fm_ranges_find(process->mapped, address, &range)))
		replay->more[row].frame = replay->sites[replay->blocks[range.value].site].frame;
	return row;
}

/* A file that the program mapped itself has a path, if a list of mappings shows it; the path is more useful than the
   call. */
static const struct fm_mapping *file_at(const struct fm_replay_process *process, uint64_t address,
                                        const struct fm_block *block, struct fm_range *ret_range)
{
	const struct fm_mapping *mapping = mapping_at(process, address, ret_range);

	return mapping && mapping->module != FM_NO_MODULE && mapping->begin - block->address < block->size &&
	               fm_module_path(process->replay->modules, mapping->module)[0] == '/'
	           ? mapping
	           : NULL;
}

int64_t fm_layers_memory(struct fm_replay_process *process, uint64_t address)
{
	struct fm_replay *replay = process->replay;
	const struct fm_mapping *mapping;
	const struct fm_loaded *loaded;
	struct fm_range range;
	double weight = 1;
	int64_t row;

	if (fm_ranges_find(process->named, address, &range)) {
		row = named_row(process, range.value, address);
	} else if (fm_ranges_find(process->heap, address, &range)) {
		weight = replay->blocks[range.value].weight;
		row = block_row(process, range.value);
	} else if (fm_ranges_find(process->locals, address, &range)) {
		row = local_row(process, range.value, address, &range);
	} else if (fm_ranges_find(process->stacks, address, &range)) {
		row = stack_row(process, range.value, &range);
	} else if (fm_ranges_find(process->mapped, address, &range)) {
		const struct fm_block *block = &replay->blocks[range.value];
		uint32_t number = range.value;

		if (block->weight >= 1)
			weight = block->weight;
		mapping = file_at(process, address, block, &range);
		row = mapping ? mapping_row(process, mapping, &range) : block_row(process, number);
	} else if ((loaded = loaded_at(process, address))) {
		row = loaded_row(process, loaded, address);
	} else if ((mapping = mapping_at(process, address, &range))) {
		row = mapping_row(process, mapping, &range);
	} else {
		row = simple_row(process, FM_MEMORY_UNKNOWN, "unknown memory");
	}
	if (row >= 0)
		fm_memory_sampled(replay, row, weight);
	return row;
}
