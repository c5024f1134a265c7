#include "observe/sampled.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/assumed.h"
#include "replay/replay.h"
#include "observe/observe.h"
#include "observe/session.h"
#include "recording/store.h"

/* Why there was no sample */

static const char *const missed_words[] = {
#define MISSED(identifier, words) [FM_MISSED_##identifier] = words,
#include "observe/missed.def"
#undef MISSED
};

static const char *const left_words[] = {
#define REASON(name, text) text,
#include "translate/reasons.def"
#undef REASON
};

static void missed_reason(uint32_t reason, char *text, size_t size)
{
	const char *words = NULL;

	if (reason < sizeof(missed_words) / sizeof(missed_words[0]))
		words = missed_words[reason];
	else if (reason >= FM_MISSED_TRANSLATOR &&
	         reason - FM_MISSED_TRANSLATOR < sizeof(left_words) / sizeof(left_words[0]))
		words = left_words[reason - FM_MISSED_TRANSLATOR];
	if (words)
		snprintf(text, size, "%s", words);
	else
		snprintf(text, size, "reason %u", reason);
}

static int write_missed(struct fm_replay *replay)
{
	struct fm_recording *recording = replay->recording;
	struct fm_index_map rows = {0};
	int r = 0;

	for (size_t i = 0; i < replay->missed_count && !r; i++) {
		const struct fm_missed_sum *sum = &replay->missed[i];
		struct fm_recorded_missed found = {.count = 0}, *row = NULL;
		struct fm_index_key key;
		uint32_t *index;

		missed_reason(sum->reason, found.reason, sizeof(found.reason));
		fm_code_function(replay->modules, fm_call_tree_place(replay->tree, (uint32_t)sum->code), found.function,
		                 sizeof(found.function), found.module, sizeof(found.module));
		key = fm_text_key(found.function, found.module);
		key.c ^= (uint64_t)(sum->reason + 1) << 40;
		index = fm_index_map_place(&rows, key);
		if (index && *index) {
			row = &recording->missed[*index - 1];
		} else if (index) {
			row = fm_recording_add(recording, missed);
			*index = (uint32_t)recording->missed_count;
			if (row)
				*row = found;
		}
		if (row) {
			row->count += sum->count;
			row->seconds += sum->seconds;
		}
		r = row ? 0 : -ENOMEM;
	}
	fm_index_map_free(&rows);
	return r;
}

/* Of either sign. */
static const char *error_words(int32_t code)
{
	return strerror(code < 0 && code > -4096 ? -code : code);
}

/* Processes */

/* Arguments as one line. */
static void join_arguments(const char *arguments, size_t room, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	while (room && *arguments && used < size) {
		size_t length = strnlen(arguments, room);

		used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? " " : "", (int)length, arguments);
		length += length < room;
		arguments += length;
		room -= length;
	}
}

static int write_processes(struct fm_replay *replay)
{
	for (uint32_t i = 0; i < fm_parts_process_count(replay->parts); i++) {
		const struct fm_part_process *part = fm_parts_process(replay->parts, i);
		const struct fm_stream_process *head = &part->head;
		uint64_t end = head->ended > part->last ? head->ended : part->last;
		struct fm_recorded_sampled_process *row;

		if (part->same != i)
			continue;
		row = fm_recording_add(replay->recording, sampled_processes);
		if (!row)
			return -ENOMEM;
		*row = (struct fm_recorded_sampled_process){.process = head->process,
		                                            .parent = head->parent,
		                                            .forked = head->forked != 0,
		                                            .began = fm_parts_seconds(replay->parts, i, head->begun),
		                                            .ended = fm_parts_seconds(replay->parts, i, end),
		                                            .own_allocator = head->own_allocator != 0};
		snprintf(row->program, sizeof(row->program), "%s", head->program);
		join_arguments(head->arguments, sizeof(head->arguments), row->arguments, sizeof(row->arguments));
		if (!head->sampler && head->sampler_error && fm_parts_session(replay->parts)->sampling)
			snprintf(row->remark, sizeof(row->remark), "no samples: the timer could not be set: %s",
			         error_words(head->sampler_error));
		else if (part->damaged)
			snprintf(row->remark, sizeof(row->remark), "%lu pieces of its file are damaged",
			         (unsigned long)part->damaged);
		else if (head->filtered)
			snprintf(row->remark, sizeof(row->remark),
			         "from %.1f s on it is not recorded, since it limits its own system calls (seccomp)",
			         fm_parts_seconds(replay->parts, i, head->filtered));
		else if (head->own_allocator)
			snprintf(row->remark, sizeof(row->remark),
			         "its own allocator cannot be followed: the heap is one object");
		else if (head->sampler == FM_SAMPLER_CPU_TIMER && head->sampler_error)
			snprintf(row->remark, sizeof(row->remark),
			         "sampled at the kernel's ticks, a few hundred a second at most: perf events are not "
			         "allowed "
			         "(%s)",
			         error_words(head->sampler_error));
	}
	return 0;
}

/* Figures */

static void write_loss(const struct fm_replay *replay, struct fm_recorded_sampling *sampling)
{
	const struct fm_session *session = fm_parts_session(replay->parts);
	size_t used = 0, room = sizeof(sampling->loss);
	double after =
	    session->full > session->begun ? (double)(session->full - session->begun) / session->ticks_per_second : 0;

	*sampling->loss = '\0';
	if (session->full && session->full_error)
		used = (size_t)snprintf(sampling->loss, room, "after %.1f s nothing more could be written: %s", after,
		                        error_words(session->full_error));
	else if (session->full)
		used = (size_t)snprintf(sampling->loss, room, "after %.1f s --max-size was reached", after);
	if (!fm_parts_process_count(replay->parts))
		used += (size_t)snprintf(sampling->loss + used, room - used,
		                         "%sthe program did not load the sampling library", used ? "; " : "");
	if (sampling->lost_processes && used < room)
		used += (size_t)snprintf(sampling->loss + used, room - used, "%s%lu processes could not be recorded",
		                         used ? "; " : "", (unsigned long)sampling->lost_processes);
	if (sampling->lost_threads && used < room)
		used += (size_t)snprintf(sampling->loss + used, room - used, "%s%lu threads could not be sampled",
		                         used ? "; " : "", (unsigned long)sampling->lost_threads);
	if (sampling->lost_entries && used < room)
		used += (size_t)snprintf(sampling->loss + used, room - used, "%sno room for %lu entries",
		                         used ? "; " : "", (unsigned long)sampling->lost_entries);
	if (sampling->lost_allocations && used < room)
		snprintf(sampling->loss + used, room - used, "%sno room for %lu allocations", used ? "; " : "",
		         (unsigned long)sampling->lost_allocations);
}

/* A share of time, or a number for each second of it. */
static struct fm_figure figure_of(double value, const char *unit, double spread, const char *sampler)
{
	return fm_figure_make(value, value * (1 - spread), value * (1 + spread), unit, FM_ORIGIN_measured, sampler, 1);
}

static void write_sampling(struct fm_replay *replay)
{
	const struct fm_session *session = fm_parts_session(replay->parts);
	struct fm_recorded_sampling *sampling = &replay->recording->sampling;
	double sampling_ticks = 0, allocation_ticks = 0, cpu_ns = 0, threads_ns = 0, end = 0;

	sampling->overhead_asked = session->overhead;
	sampling->rate_asked = session->rate;
	sampling->ticks_per_second = session->ticks_per_second;
	sampling->coarse_step = session->coarse_step;
	sampling->nodes = session->nodes;
	sampling->lost_processes = session->lost_processes;
	sampling->lost_entries = replay->too_many;
	sampling->lost_stacks = sampling->lost_allocations = sampling->lost_threads = 0;
	sampling->allocations = sampling->tracked = 0;
	for (uint32_t i = 0; i < fm_parts_process_count(replay->parts); i++) {
		const struct fm_part_process *part = fm_parts_process(replay->parts, i);
		const struct fm_stream_process *head = &part->head;
		uint64_t last = head->ended > part->last ? head->ended : part->last;
		double ended = fm_parts_seconds(replay->parts, i, last);

		sampling->lost_entries += head->lost_entries;
		sampling->lost_stacks += head->lost_stacks;
		sampling->lost_allocations += head->lost_allocations;
		sampling->lost_threads += head->lost_threads;
		sampling->allocations += head->allocations;
		sampling->tracked += head->tracked;
		sampling_ticks += (double)head->sampling_ticks;
		allocation_ticks += (double)head->allocation_ticks;
		cpu_ns += (double)head->cpu_ns;
		/* of a process that was killed it is not known: all of it */
		threads_ns +=
		    (double)(head->ended && head->threads_ns && head->threads_ns < head->cpu_ns ? head->threads_ns
		                                                                                : head->cpu_ns);
		end = ended > end ? ended : end;
	}
	sampling->seconds = end;
	sampling->cpu_seconds = cpu_ns * 1e-9;
	sampling->threads_seconds = threads_ns * 1e-9;
	sampling->sampling_seconds = sampling_ticks / session->ticks_per_second;
	sampling->allocation_seconds = allocation_ticks / session->ticks_per_second;
	if (cpu_ns >= 1e6) {
		double samples = (double)fm_recording_references(replay->recording);

		sampling->overhead =
		    figure_of((sampling->sampling_seconds + sampling->allocation_seconds) / sampling->cpu_seconds,
		              "share", FM_OVERHEAD_ERROR, sampling->sampler);
		sampling->rate = figure_of(samples / sampling->cpu_seconds, "1/s", 0, sampling->sampler);
	} else {
		sampling->overhead = sampling->rate = fm_figure_unavailable("it took no processor time to speak of");
	}
	write_loss(replay, sampling);
}

/* Memory without a time of its own existed for the whole run; memory of a thread as long as the thread. */
static void write_lifetimes(struct fm_replay *replay)
{
	struct fm_recording *recording = replay->recording;

	for (size_t i = 0; i < recording->memories_count; i++) {
		struct fm_recorded_memory *row = &recording->memories[i];

		if (row->thread >= 0) {
			row->began = recording->sampled_threads[row->thread].began;
			row->ended = recording->sampled_threads[row->thread].ended;
		} else if (row->ended <= 0 || row->ended < row->began) {
			row->ended = recording->sampling.seconds;
		}
	}
}

static void free_replay(struct fm_replay *replay)
{
	for (size_t i = 0; replay->processes && i < replay->process_count; i++)
		fm_layers_end(&replay->processes[i]);
	free(replay->processes);
	free(replay->sites);
	free(replay->blocks);
	free(replay->named);
	free(replay->mappings);
	free(replay->missed);
	free(replay->more);
	fm_index_map_free(&replay->site_map);
	fm_index_map_free(&replay->named_map);
	fm_index_map_free(&replay->mapping_map);
	fm_index_map_free(&replay->missed_map);
	fm_index_map_free(&replay->stack_map);
	fm_index_map_free(&replay->row_map);
	fm_curves_free(replay->curves);
	fm_call_tree_free(replay->tree);
	fm_modules_free(replay->modules);
	fm_parts_close(replay->parts);
}

/* Threads in the engine are announced before their program is known, and have QEMU's name until then. */
static void name_threads(struct fm_recording *recording)
{
	for (size_t i = 0; i < recording->sampled_threads_count; i++) {
		struct fm_recorded_sampled_thread *thread = &recording->sampled_threads[i];
		const char *program = recording->sampled_processes[thread->process].program,
		           *slash = strrchr(program, '/');

		if (!strncmp(thread->name, "qemu-", 5) && *program)
			snprintf(thread->name, sizeof(thread->name), "%s", slash ? slash + 1 : program);
	}
}

int fm_sampled_read(const char *folder, struct fm_recording *recording, struct fm_error *error)
{
	struct fm_replay replay = {.recording = recording};
	const struct fm_observer *sampler;
	int r = fm_parts_open(folder, &replay.parts, error);

	if (r)
		return r;
	replay.modules = fm_modules_create();
	replay.tree = fm_call_tree_create();
	replay.curves = fm_curves_create(replay.parts);
	r = replay.modules && replay.tree && replay.curves ? fm_replay_run(&replay) : -ENOMEM;
	if (!r)
		r = write_processes(&replay);
	if (!r)
		r = write_missed(&replay);
	if (!r)
		r = fm_curves_finish(replay.curves, recording);
	if (!r) {
		write_sampling(&replay);
		write_lifetimes(&replay);
	}
	/* the caches of a simulated machine are in its description */
	sampler = fm_sampler_find(recording->sampling.sampler);
	if (!r && (!sampler || !sampler->simulates))
		r = fm_curves_write_caches(recording);
	else if (!r)
		name_threads(recording);
	free_replay(&replay);
	return r ? fm_error_set(error, ENOMEM, "out of memory") : 0;
}

void fm_sampled_discard_parts(const char *path)
{
	char folder[4096];

	if ((size_t)snprintf(folder, sizeof(folder), "%s.parts", path) < sizeof(folder))
		fm_session_remove(folder);
}

int fm_sampled_parts(const char *path, bool *ret_at_work)
{
	char folder[4096];

	if ((size_t)snprintf(folder, sizeof(folder), "%s.parts", path) >= sizeof(folder))
		return -ENOENT;
	return fm_session_is_locked(folder, ret_at_work);
}

/* After the tool was killed */

int fm_sampled_recover(const char *path, struct fm_recording *recording, char *remark, size_t size,
                       struct fm_error *error)
{
	struct fm_recorded_sampling *sampling = &recording->sampling;
	char folder[4096];
	bool at_work;
	int r;

	*remark = '\0';
	if (strcmp(sampling->state, "unfinished") != 0)
		return 0;
	r = fm_session_folder_of(path, sampling->parts, folder, sizeof(folder), error);
	if (r)
		return r;
	r = fm_session_is_locked(folder, &at_work);
	if (r == -ENOENT)
		return fm_error_set(
		    error, ENOENT,
		    "%s: the recording is unfinished, and its parts (%s) are gone: nothing can be reported", path,
		    folder);
	r = fm_sampled_read(folder, recording, error);
	if (r)
		return r;
	if (at_work || fm_session_living(folder)) {
		snprintf(remark, size, "%s is still being recorded: this is what there is so far", path);
		return fm_recording_settle(recording, error);
	}
	snprintf(sampling->state, sizeof(sampling->state), "recovered");
	*sampling->parts = '\0';
	r = fm_recording_settle(recording, error);
	if (r)
		return r;
	if (fm_store_save(path, recording, error)) {
		snprintf(remark, size,
		         "the recording was unfinished: made from its parts, but it cannot be kept: %.200s",
		         error->message);
		return 0;
	}
	fm_session_remove(folder);
	snprintf(remark, size, "the recording was unfinished: made from its parts, and kept");
	return 0;
}
