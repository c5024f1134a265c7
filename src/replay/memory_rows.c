#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "replay/replay.h"

struct fm_index_key fm_text_key(const char *first, const char *second)
{
	struct fm_index_key key = {0xcbf29ce484222325u, 0x9e3779b97f4a7c15u, 0};
	const char *texts[] = {first ? first : "", second ? second : ""};

	for (unsigned i = 0; i < 2; i++) {
		for (const unsigned char *at = (const unsigned char *)texts[i]; *at; at++) {
			key.a = (key.a ^ *at) * 0x100000001b3u;
			key.b = (key.b + *at) * 0xbf58476d1ce4e5b9u;
			key.b ^= key.b >> 31;
			key.c++;
		}
		key.a = (key.a ^ 0x1ff) * 0x100000001b3u;
		key.c += (uint64_t)1 << 32;
	}
	return key;
}

static int64_t add_row(struct fm_replay *replay)
{
	struct fm_recorded_memory *row = NULL;
	struct fm_row_more *more;

	if (replay->recording->memories_count >= FM_REPLAY_ROWS) {
		replay->too_many++;
		return -1;
	}
	more = fm_recording_grow((void **)&replay->more, &replay->more_count, sizeof(*more));
	if (more)
		row = fm_recording_add(replay->recording, memories);
	if (!row) {
		replay->failed = true;
		return -1;
	}
	*more = (struct fm_row_more){.frame = -1, .module = -1};
	row->process = row->thread = row->frame = -1;
	return (int64_t)replay->recording->memories_count - 1;
}

/* Once it is known that several processes have it, it belongs to none. */
static void note_process(struct fm_recorded_memory *row, int64_t process)
{
	if (row->process != process)
		row->process = -1;
}

int64_t fm_memory_row(struct fm_replay *replay, const struct fm_row_wish *wish)
{
	uint32_t *index = fm_index_map_place(&replay->row_map, wish->key);
	struct fm_recorded_memory *row;
	int64_t number;

	if (!index) {
		replay->failed = true;
		return -1;
	}
	if (*index) {
		row = &replay->recording->memories[*index - 1];
		note_process(row, wish->process);
		if (row->address != wish->address)
			row->address = 0;
		if (wish->bytes > row->bytes)
			row->bytes = wish->bytes;
		return *index - 1;
	}
	number = add_row(replay);
	if (number < 0) {
		/* the place is taken: give it a number that is always there */
		*index = replay->recording->memories_count ? 1 : 0;
		return *index ? 0 : -1;
	}
	*index = (uint32_t)number + 1;
	row = &replay->recording->memories[number];
	row->kind = wish->kind;
	row->process = wish->process;
	row->thread = wish->thread;
	row->address = wish->address;
	row->bytes = wish->bytes;
	row->began = wish->began;
	row->ended = wish->ended;
	if (wish->variable)
		fm_symbols_demangle(wish->variable, row->name, sizeof(row->name));
	if (!*row->name)
		fm_text_elide(row->name, sizeof(row->name), wish->name, SIZE_MAX);
	snprintf(row->group_name, sizeof(row->group_name), "%s", wish->group ? wish->group : "");
	if (wish->module >= 0 && wish->module != FM_NO_MODULE)
		fm_text_elide(row->module, sizeof(row->module), fm_module_name(replay->modules, (uint32_t)wish->module),
		              SIZE_MAX);
	replay->more[number].frame = wish->frame;
	replay->more[number].module = wish->module;
	replay->more[number].variable = wish->variable;
	return number;
}

/* One of many like it: small, or beyond the first of its call stack. */
static int64_t pool_row(struct fm_replay *replay, struct fm_site_sum *sum, int64_t frame, uint32_t process)
{
	if (sum->row < 0) {
		sum->row = add_row(replay);
		if (sum->row < 0)
			return -1;
		replay->recording->memories[sum->row].kind = FM_MEMORY_POOL;
		replay->recording->memories[sum->row].process = process;
		replay->more[sum->row].frame = frame;
	}
	note_process(&replay->recording->memories[sum->row], process);
	return sum->row;
}

int64_t fm_memory_block_row(struct fm_replay *replay, struct fm_block *block, uint32_t process)
{
	struct fm_site *site = &replay->sites[block->site];
	struct fm_recorded_memory *row;

	if (block->size < FM_REPLAY_OBJECT_BYTES)
		return block->row = pool_row(replay, &site->small, site->frame, process);
	if (block->row >= 0)
		return block->row;
	if (site->large.objects >= FM_REPLAY_SITE_OBJECTS)
		return block->row = pool_row(replay, &site->large, site->frame, process);
	block->row = add_row(replay);
	if (block->row < 0)
		return -1;
	site->large.objects++;
	site->large.apart += block->weight;
	row = &replay->recording->memories[block->row];
	row->kind = block->allocator == FM_ALLOCATED_MAPPED ? FM_MEMORY_MAPPED : FM_MEMORY_HEAP;
	row->process = block->process;
	row->address = block->address;
	row->bytes = block->size;
	row->began = block->began;
	row->ended = block->own_ranges ? -1 : block->ended; /* -1: it still lives */
	row->allocations = block->weight;
	replay->more[block->row].frame = site->frame;
	return block->row;
}

int64_t fm_memory_named_row(struct fm_replay *replay, struct fm_named *named, uint32_t process)
{
	struct fm_recorded_memory *row;

	if (named->row < 0) {
		named->row = add_row(replay);
		if (named->row < 0)
			return -1;
		row = &replay->recording->memories[named->row];
		row->kind = FM_MEMORY_NAMED;
		row->process = named->process;
		snprintf(row->name, sizeof(row->name), "%s", named->name);
		snprintf(row->group_name, sizeof(row->group_name), "%s", named->group);
	}
	note_process(&replay->recording->memories[named->row], process);
	return named->row;
}

void fm_memory_sampled(struct fm_replay *replay, int64_t row, double weight)
{
	replay->more[row].samples++;
	replay->more[row].weights += weight;
}

static void finish_pool(struct fm_replay *replay, const struct fm_site_sum *sum)
{
	struct fm_recorded_memory *row;

	if (sum->row < 0)
		return;
	row = &replay->recording->memories[sum->row];
	row->bytes = (uint64_t)(sum->most < 1e18 ? sum->most : 1e18);
	row->began = sum->began;
	row->ended = sum->ended;
	row->allocations = sum->allocations - sum->apart;
}

void fm_memory_finish(struct fm_replay *replay)
{
	for (size_t i = 0; i < replay->site_count; i++) {
		finish_pool(replay, &replay->sites[i].small);
		finish_pool(replay, &replay->sites[i].large);
	}
	for (size_t i = 0; i < replay->named_count; i++) {
		const struct fm_named *named = &replay->named[i];
		struct fm_recorded_memory *row;

		if (named->row < 0)
			continue;
		row = &replay->recording->memories[named->row];
		row->address = named->address;
		row->bytes = (uint64_t)(named->most < 1e18 ? named->most : 1e18);
		row->allocations = named->allocations;
		row->began = named->began;
		row->ended = named->ended;
	}
	for (size_t i = 0; i < replay->more_count; i++) {
		struct fm_recorded_memory *row = &replay->recording->memories[i];
		const struct fm_row_more *more = &replay->more[i];
		char site_name[FM_FUNCTION];

		row->frame = fm_call_tree_frame_row(replay->tree, more->frame);
		row->weight = more->samples ? more->weights / (double)more->samples : 1;
		fm_call_tree_site(replay->tree, more->frame, row->site, sizeof(row->site), site_name,
		                  sizeof(site_name));
		if (!*row->name)
			snprintf(row->name, sizeof(row->name), "%s",
			         *site_name ? site_name : "allocated at an unknown place");
		if (more->variable && more->module >= 0)
			fm_module_type(replay->modules, (uint32_t)more->module, more->variable, row->type,
			               sizeof(row->type));
	}
}
