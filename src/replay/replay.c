#include "replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { THREADS_MAX = 1 << 20, REGION_DEPTH_MAX = 256 };

/* Processes */

/* The state of the process of a file. */
static uint32_t state_of(const struct fm_replay *replay, uint32_t file)
{
	return fm_parts_process(replay->parts, file)->same;
}

static void begin_process(struct fm_replay *replay, uint32_t file)
{
	uint32_t index = state_of(replay, file);
	struct fm_replay_process *process = &replay->processes[index];
	const struct fm_part_process *part = fm_parts_process(replay->parts, file);
	const struct fm_replay_process *origin =
	    part->origin == file ? NULL : &replay->processes[state_of(replay, part->origin)];
	int64_t program;

	if (process->begun)
		return;
	process->begun = true;
	if (fm_layers_begin(process, origin == process ? NULL : origin)) {
		replay->failed = true;
		return;
	}
	program = *part->head.program == '/' ? fm_modules_find(replay->modules, part->head.program) : -1;
	if (program >= 0)
		process->program = program;
}

static double end_of(const struct fm_replay *replay, uint32_t index)
{
	const struct fm_part_process *part = fm_parts_process(replay->parts, index);
	uint64_t end = part->head.ended > part->last ? part->head.ended : part->last;

	return fm_parts_seconds(replay->parts, index, end);
}

static void end_process(struct fm_replay *replay, uint32_t index)
{
	struct fm_replay_process *process = &replay->processes[index];
	struct fm_recording *recording = replay->recording;
	double now = replay->now;

	if (!process->begun || process->ended)
		return;
	process->ended = true;
	replay->now = end_of(replay, index);
	fm_layers_end(process);
	for (size_t i = 0; i < process->thread_count; i++) {
		struct fm_replay_thread *thread = &process->threads[i];

		if (thread->row >= 0 && !thread->ended)
			recording->sampled_threads[thread->row].ended = replay->now;
		/* regions without an end end with the process */
		for (uint32_t k = 0; k < thread->depth; k++)
			if (thread->regions[k].instance >= 0)
				recording->instances[thread->regions[k].instance].ended = replay->now;
		free(thread->regions);
	}
	fm_index_map_free(&process->thread_map);
	free(process->threads);
	process->threads = NULL;
	process->thread_count = 0;
	replay->now = now;
}

/* Processes begin at their time, so that forked ones inherit the state of that time. They end at the last use, since
   each has a copy of its inheritance. */
struct schedule {
	uint32_t next;  /* to begin */
	uint32_t *ends; /* by needed_until */
	size_t ended;
};

static int by_end(const void *left, const void *right, void *context)
{
	const struct fm_replay *replay = context;
	const struct fm_replay_process *a = &replay->processes[*(const uint32_t *)left];
	const struct fm_replay_process *b = &replay->processes[*(const uint32_t *)right];

	if (a->needed_until != b->needed_until)
		return a->needed_until < b->needed_until ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static void keep_schedule(struct fm_replay *replay, struct schedule *schedule, uint64_t time)
{
	while (schedule->next < replay->process_count &&
	       fm_parts_process(replay->parts, schedule->next)->head.begun <= time)
		begin_process(replay, schedule->next++);
	while (schedule->ended < replay->process_count &&
	       replay->processes[schedule->ends[schedule->ended]].needed_until < time) {
		uint32_t index = schedule->ends[schedule->ended++];

		/* an engine's file may have its state elsewhere */
		if (state_of(replay, index) == index) {
			begin_process(replay, index);
			end_process(replay, index);
		}
	}
}

/* Threads and regions */

/* The thread of that number in the file being played, with a row; NULL with too many, or without memory. `id` is the
   kernel's number, if it is known: a thread with that number is the same one, seen by another file. */
static struct fm_replay_thread *find_thread(struct fm_replay_process *process, uint32_t number, uint32_t id)
{
	struct fm_replay *replay = process->replay;
	struct fm_recording *recording = replay->recording;
	struct fm_recorded_sampled_thread *row = NULL;
	struct fm_replay_thread *thread;
	uint32_t *place;

	if (process->thread_count >= THREADS_MAX || recording->sampled_threads_count >= FM_REPLAY_ROWS) {
		replay->too_many++;
		return NULL;
	}
	place = fm_index_map_place(&process->thread_map, (struct fm_index_key){process->file, number, 0});
	if (place && *place)
		return &process->threads[*place - 1];
	for (size_t i = process->thread_count; place && id && i-- > 0;)
		if (!process->threads[i].ended && recording->sampled_threads[process->threads[i].row].thread == id) {
			*place = (uint32_t)i + 1;
			return &process->threads[i];
		}
	if (place)
		row = fm_recording_add(recording, sampled_threads);
	thread = row ? fm_recording_grow((void **)&process->threads, &process->thread_count, sizeof(*thread)) : NULL;
	if (!thread) {
		replay->failed = true;
		return NULL;
	}
	*place = (uint32_t)process->thread_count;
	row->process = process->index;
	row->began = row->ended = replay->now;
	thread->row = (int64_t)recording->sampled_threads_count - 1;
	return thread;
}

static void play_thread(struct fm_replay_process *process, uint32_t number, const struct fm_stream_thread *entry)
{
	struct fm_replay_thread *thread = find_thread(process, number, entry->id);
	struct fm_recorded_sampled_thread *row;

	if (!thread)
		return;
	row = &process->replay->recording->sampled_threads[thread->row];
	row->thread = entry->id;
	if (*entry->name || !*row->name)
		snprintf(row->name, sizeof(row->name), "%.*s", (int)sizeof(entry->name), entry->name);
	fm_layers_thread(process, (uint32_t)(thread - process->threads), entry);
}

static void play_thread_end(struct fm_replay_process *process, uint32_t number)
{
	struct fm_replay_thread *thread = find_thread(process, number, 0);

	if (!thread)
		return;
	thread->ended = true;
	process->replay->recording->sampled_threads[thread->row].ended = process->replay->now;
	fm_layers_end_thread(process, (uint32_t)(thread - process->threads));
}

static void play_region_begin(struct fm_replay_process *process, uint32_t number, uint32_t name)
{
	struct fm_replay *replay = process->replay;
	struct fm_replay_thread *thread = find_thread(process, number, 0);
	const char *text = fm_parts_name(replay->parts, process->file, name);
	struct fm_recorded_instance *row = NULL;

	if (!thread || thread->depth == REGION_DEPTH_MAX)
		return;
	if (!fm_array_grow(thread->regions, thread->depth, thread->room)) {
		replay->failed = true;
		return;
	}
	if (replay->recording->instances_count < FM_REPLAY_ROWS)
		row = fm_recording_add(replay->recording, instances);
	else
		replay->too_many++;
	if (row) {
		*row = (struct fm_recorded_instance){.process = process->index,
		                                     .thread = (uint32_t)thread->row,
		                                     .began = replay->now,
		                                     .ended = replay->now};
		snprintf(row->name, sizeof(row->name), "%s", text ? text : "");
	}
	thread->regions[thread->depth++] =
	    (struct fm_open_region){name, row ? (int64_t)replay->recording->instances_count - 1 : -1};
}

/* Those inside it end with it. */
static void play_region_end(struct fm_replay_process *process, uint32_t number, uint32_t name)
{
	struct fm_replay_thread *thread = find_thread(process, number, 0);
	uint32_t depth = thread ? thread->depth : 0;

	while (depth && thread->regions[depth - 1].name != name)
		depth--;
	if (!depth)
		return;
	while (thread->depth >= depth) {
		int64_t instance = thread->regions[--thread->depth].instance;

		if (instance >= 0)
			process->replay->recording->instances[instance].ended = process->replay->now;
	}
}

/* Code */

/* The frame of a call stack. Of return addresses the call counts, which ends just before. The first address of a sample
   is the instruction itself, that of an allocation a return address already. */
static int64_t frame_of(struct fm_replay_process *process, uint32_t number, bool sample)
{
	struct fm_replay *replay = process->replay;
	const uint64_t *addresses;
	uint64_t seen[FM_STREAM_STACK_MAX];
	uint32_t owner, *index;
	unsigned count = fm_parts_stack(replay->parts, process->file, number, &addresses, &owner);
	int64_t frame = -1;

	if (!count)
		return -1;
	index = fm_index_map_place(&replay->stack_map, (struct fm_index_key){owner, number, sample});
	if (index && *index)
		return *index - 1;
	memcpy(seen, addresses, count * sizeof(*seen));
	for (unsigned i = count; i-- > 0 && index;) {
		struct fm_code_place place;
		int64_t code;

		fm_layers_code(process, seen[i] - (i || !sample), &place);
		code = fm_call_tree_code(replay->tree, &place);
		frame = code < 0 ? -1 : fm_call_tree_frame(replay->tree, frame, (uint32_t)code);
		if (frame < 0)
			index = NULL;
	}
	if (!index) {
		replay->failed = true;
		return -1;
	}
	*index = (uint32_t)frame + 1;
	return frame;
}

static double seconds_for(uint64_t period_ns)
{
	/* a period of an hour is damage */
	return period_ns < 3600000000000u ? (double)period_ns * 1e-9 : 0;
}

static int64_t code_of(struct fm_replay_process *process, uint64_t pc)
{
	struct fm_code_place place;
	int64_t code;

	fm_layers_code(process, pc, &place);
	code = fm_call_tree_code(process->replay->tree, &place);
	process->replay->failed |= code < 0;
	return code;
}

static void play_sample(struct fm_replay_process *process, uint32_t number, const struct fm_stream_sample *entry)
{
	struct fm_replay *replay = process->replay;
	struct fm_replay_thread *thread = find_thread(process, number, 0);
	int64_t code = thread ? code_of(process, entry->pc) : -1;
	int64_t frame = thread ? frame_of(process, entry->stack, true) : -1;
	int64_t memory = code < 0 ? -1 : fm_layers_memory(process, entry->address);
	struct fm_recorded_sample *row;

	if (code < 0)
		return;
	if (replay->recording->samples_count >= FM_REPLAY_ROWS) {
		replay->too_many++;
		return;
	}
	row = fm_recording_add(replay->recording, samples);
	if (!row) {
		replay->failed = true;
		return;
	}
	fm_call_tree_use_code(replay->tree, code);
	fm_call_tree_use_frame(replay->tree, frame);
	*row = (struct fm_recorded_sample){
	    .process = process->index,
	    .thread = (uint32_t)thread->row,
	    .at = replay->now,
	    .cpu = entry->cpu,
	    .node = entry->node < 0 ? -1 : entry->node,
	    .page_node = entry->page_node < 0 ? -1 : entry->page_node,
	    .code = (uint32_t)code,
	    .frame = (int32_t)frame,
	    .address = entry->address,
	    .memory = (int32_t)memory,
	    .instance = thread->depth ? (int32_t)thread->regions[thread->depth - 1].instance : -1,
	    .size = entry->size < UINT16_MAX ? (uint16_t)entry->size : UINT16_MAX,
	    .kind = entry->kind & (FM_STREAM_LOAD | FM_STREAM_STORE | FM_STREAM_REPEATED),
	    .flags = entry->flags,
	    .cost = entry->cost,
	    .baseline = entry->baseline,
	    .neighbour = entry->neighbour,
	    .neighbour_again = entry->neighbour_again,
	    .level = entry->level <= FM_SIMULATED_CACHES_MAX + 1 ? entry->level : 0,
	    /* the engine has no time: its samples represent references */
	    .weight =
	        (float)(entry->flags & FM_STREAM_SIMULATED ? (double)entry->period_ns : seconds_for(entry->period_ns)),
	};
}

static void play_missed(struct fm_replay_process *process, const struct fm_stream_missed *entry)
{
	struct fm_replay *replay = process->replay;
	int64_t code = code_of(process, entry->pc);
	uint32_t *index;
	struct fm_missed_sum *sum;

	if (code < 0)
		return;
	index = fm_index_map_place(&replay->missed_map, (struct fm_index_key){entry->reason, (uint64_t)code, 0});
	if (index && !*index) {
		sum = fm_recording_grow((void **)&replay->missed, &replay->missed_count, sizeof(*sum));
		if (sum) {
			*sum = (struct fm_missed_sum){.reason = entry->reason, .code = code};
			*index = (uint32_t)replay->missed_count;
		}
	}
	if (!index || !*index) {
		replay->failed = true;
		return;
	}
	sum = &replay->missed[*index - 1];
	sum->count++;
	sum->seconds += seconds_for(entry->period_ns);
}

static void play(struct fm_replay_process *process, const struct fm_part_entry *entry)
{
	/* a copy: the program may go on writing */
	union {
		struct fm_stream_thread thread;
		struct fm_stream_mapping mapping;
		struct fm_stream_sample sample;
		struct fm_stream_missed missed;
		struct fm_stream_allocation allocation;
		struct fm_stream_release release;
		struct fm_stream_object object;
		struct fm_stream_region region;
	} body = {0};
	char text[FM_STREAM_TEXT_MAX];

	memcpy(&body, entry->body, entry->size < sizeof(body) ? entry->size : sizeof(body));
	switch (entry->kind) {
	case FM_STREAM_THREAD:
		play_thread(process, entry->thread, &body.thread);
		break;
	case FM_STREAM_THREAD_END:
		play_thread_end(process, entry->thread);
		break;
	case FM_STREAM_MAPPING:
		fm_layers_map(process, &body.mapping, fm_part_text(entry, sizeof(body.mapping), text, sizeof(text)));
		break;
	case FM_STREAM_SAMPLE:
		play_sample(process, entry->thread, &body.sample);
		break;
	case FM_STREAM_MISSED:
		play_missed(process, &body.missed);
		break;
	case FM_STREAM_ALLOCATE:
		fm_layers_allocate(process, &body.allocation, frame_of(process, body.allocation.stack, false));
		break;
	case FM_STREAM_RELEASE:
		fm_layers_release(process, &body.release);
		break;
	case FM_STREAM_OBJECT:
		fm_layers_name(process, &body.object);
		break;
	case FM_STREAM_REGION_BEGIN:
		play_region_begin(process, entry->thread, body.region.name);
		break;
	case FM_STREAM_REGION_END:
		play_region_end(process, entry->thread, body.region.name);
		break;
	case FM_STREAM_WINDOW:
	case FM_STREAM_WATCHED:
	case FM_STREAM_PACE:
		process->replay->failed |= fm_curves_add(process->replay->curves, entry) != 0;
		break;
	default: /* stacks and names are known already; forks and executed programs show in files of their own */
		break;
	}
}

/* Rows of memory that samples refer to need the frames of their allocations. */
static void use_frames(struct fm_replay *replay)
{
	for (size_t i = 0; i < replay->more_count; i++)
		fm_call_tree_use_frame(replay->tree, replay->more[i].frame);
}

static void need(struct fm_replay_process *process, uint64_t until)
{
	if (process->needed_until < until)
		process->needed_until = until;
}

int fm_replay_run(struct fm_replay *replay)
{
	struct schedule schedule = {0};
	uint32_t rows = 0;
	struct fm_part_entry entry;
	struct fm_recording *recording = replay->recording;

	replay->process_count = fm_parts_process_count(replay->parts);
	replay->processes = calloc(replay->process_count + 1, sizeof(*replay->processes));
	schedule.ends = calloc(replay->process_count + 1, sizeof(*schedule.ends));
	if (!replay->processes || !schedule.ends) {
		free(schedule.ends);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < replay->process_count; i++) {
		const struct fm_part_process *part = fm_parts_process(replay->parts, i);

		replay->processes[i] =
		    (struct fm_replay_process){.replay = replay, .index = rows, .file = i, .program = -1};
		rows += part->same == i;
		schedule.ends[i] = i;
	}
	for (uint32_t i = 0; i < replay->process_count; i++) {
		const struct fm_part_process *part = fm_parts_process(replay->parts, i);

		need(&replay->processes[part->same], part->last);
		need(&replay->processes[state_of(replay, part->origin)], part->head.begun);
	}
	if (replay->process_count)
		qsort_r(schedule.ends, replay->process_count, sizeof(*schedule.ends), by_end, replay);
	while (!replay->failed && fm_parts_next(replay->parts, &entry)) {
		struct fm_replay_process *process = &replay->processes[state_of(replay, entry.process)];

		keep_schedule(replay, &schedule, entry.time);
		begin_process(replay, entry.process);
		replay->now = fm_parts_seconds(replay->parts, entry.process, entry.time);
		process->file = entry.process;
		/* a damaged time may come after its process has ended */
		if (!replay->failed && !process->ended)
			play(process, &entry);
	}
	for (uint32_t i = 0; i < replay->process_count; i++)
		if (state_of(replay, i) == i) {
			begin_process(replay, i);
			end_process(replay, i);
		}
	free(schedule.ends);
	use_frames(replay);
	if (replay->failed || fm_call_tree_write(replay->tree, replay->modules, recording))
		return -ENOMEM;
	for (size_t i = 0; i < recording->samples_count; i++) {
		recording->samples[i].code = (uint32_t)fm_call_tree_code_row(replay->tree, recording->samples[i].code);
		recording->samples[i].frame = fm_call_tree_frame_row(replay->tree, recording->samples[i].frame);
	}
	fm_memory_finish(replay);
	return 0;
}
