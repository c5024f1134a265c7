/* A folded trace. A region is a task. Each of its modes (instances of about the same length) is a thread that passes
 * the region once. Samples have their place in the region, addresses are relative to objects, rates are counters. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/paraver.h"
#include "fold/fold.h"

/* Paraver's rates are whole numbers. */
#define SHARE_UNIT 1e6

struct thread {
	const struct fm_fold_region *region;
	const struct fm_fold_mode *mode;
	uint32_t task, number; /* from 1 */
	uint32_t name;         /* of the region */
	uint64_t length;
};

enum kind { BEGIN, END, RATE, SAMPLE };

struct record {
	uint64_t at;
	enum kind kind;
	uint32_t thread, index; /* of a rate: rate × points + point */
};

struct folded {
	const struct fm_exported *exported;
	const struct fm_fold *fold;
	struct thread *threads;
	size_t thread_count;
	/* records except samples, by place; samples are merged from a heap of the next one of each thread */
	struct record *records;
	size_t record_count;
	struct record *heap;
	size_t heap_count;
	struct fm_names regions, rates;
	uint64_t duration;
	uint32_t tasks;
};

static bool is_folded(const struct fm_fold_mode *mode)
{
	return !*mode->why && mode->length.available && mode->length.value > 0 && mode->sample_count;
}

/* The engine has no time of the program: a reference counts as a nanosecond. */
static uint64_t time_of(const struct fm_fold *fold, double at)
{
	return fm_exported_time(fold->clock == FM_FOLD_SECONDS ? at : at * 1e-9);
}

static int find_threads(struct folded *folded)
{
	int r = 0;

	for (size_t i = 0; !r && i < folded->fold->region_count; i++) {
		const struct fm_fold_region *region = &folded->fold->regions[i];
		uint32_t number = 0, name = 0;

		for (size_t k = 0; !r && k < region->mode_count; k++) {
			struct thread *thread;

			if (!is_folded(&region->modes[k]))
				continue;
			r = fm_names_find(&folded->regions, *region->name ? region->name : "?", &name);
			thread =
			    r ? NULL
			      : fm_recording_grow((void **)&folded->threads, &folded->thread_count, sizeof(*thread));
			if (!thread)
				return -ENOMEM;
			folded->tasks += !number;
			*thread = (struct thread){region,        &region->modes[k],
			                          folded->tasks, ++number,
			                          name,          time_of(folded->fold, region->modes[k].length.value)};
			if (thread->length > folded->duration)
				folded->duration = thread->length;
		}
	}
	return r;
}

static int add(struct folded *folded, uint64_t at, enum kind kind, size_t thread, size_t index)
{
	struct record *record = fm_recording_grow((void **)&folded->records, &folded->record_count, sizeof(*record));

	if (!record)
		return -ENOMEM;
	*record = (struct record){at, kind, (uint32_t)thread, (uint32_t)index};
	return 0;
}

static int take_rates(struct folded *folded, size_t number)
{
	const struct thread *thread = &folded->threads[number];
	int r = 0;

	for (size_t i = 0; !r && i < thread->mode->rate_count; i++)
		for (unsigned k = 0; !r && k < FM_FOLD_POINTS; k++)
			if (thread->mode->rates[i].points[k].available)
				r = add(folded, (uint64_t)((double)thread->length * ((k + 0.5) / FM_FOLD_POINTS)), RATE,
				        number, i * FM_FOLD_POINTS + k);
	return r;
}

static int by_time(const void *first, const void *second)
{
	const struct record *a = first, *b = second;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	/* the region ends after all records in it */
	if ((a->kind == END) != (b->kind == END))
		return a->kind == END ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* The sample of a thread with this index; false: none. */
static bool find_sample(const struct folded *folded, size_t number, size_t index, struct record *ret_record)
{
	const struct thread *thread = &folded->threads[number];

	if (index >= thread->mode->sample_count)
		return false;
	*ret_record =
	    (struct record){(uint64_t)((double)thread->length * fmin(fmax(thread->mode->samples[index].place, 0), 1)),
	                    SAMPLE, (uint32_t)number, (uint32_t)index};
	return true;
}

/* Restores the order of the heap after a change of its first element. */
static void sink_first(struct folded *folded)
{
	struct record *heap = folded->heap, moved;
	size_t at = 0, below;

	while ((below = 2 * at + 1) < folded->heap_count) {
		if (below + 1 < folded->heap_count && by_time(&heap[below + 1], &heap[below]) < 0)
			below++;
		if (by_time(&heap[at], &heap[below]) <= 0)
			return;
		moved = heap[at];
		heap[at] = heap[below];
		heap[below] = moved;
		at = below;
	}
}

/* The next record; false: the end. `from`: index in the records that are not samples. */
static bool take_next(struct folded *folded, size_t *from, struct record *ret_record)
{
	struct record *first = folded->heap;

	if (!folded->heap_count || (*from < folded->record_count && by_time(&folded->records[*from], first) < 0)) {
		if (*from == folded->record_count)
			return false;
		*ret_record = folded->records[(*from)++];
		return true;
	}
	*ret_record = *first;
	if (!find_sample(folded, first->thread, (size_t)first->index + 1, first))
		*first = folded->heap[--folded->heap_count];
	sink_first(folded);
	return true;
}

static int take_records(struct folded *folded)
{
	int r = 0;

	folded->heap = calloc(folded->thread_count + 1, sizeof(*folded->heap));
	if (!folded->heap)
		return -ENOMEM;
	for (size_t i = 0; !r && i < folded->thread_count; i++) {
		r = add(folded, 0, BEGIN, i, 0);
		if (!r)
			r = add(folded, folded->threads[i].length, END, i, 0);
		if (!r)
			r = take_rates(folded, i);
		folded->heap_count += !r && find_sample(folded, i, 0, &folded->heap[folded->heap_count]);
	}
	if (r)
		return r;
	qsort(folded->records, folded->record_count, sizeof(*folded->records), by_time);
	if (folded->heap_count)
		qsort(folded->heap, folded->heap_count, sizeof(*folded->heap), by_time);
	return 0;
}

/* "L1 share" and its type */
static int find_rate(struct folded *folded, const struct fm_fold_rate *rate, uint32_t *ret_number)
{
	char key[FM_SERVED_NAME + 64];

	snprintf(key, sizeof(key), "Folded: %s (%s)", rate->name,
	         *rate->unit ? rate->unit : "millionths of the references");
	return fm_names_find(&folded->rates, key, ret_number);
}

static int write_record(struct folded *folded, const struct record *record, struct fm_sink *sink)
{
	const struct thread *thread = &folded->threads[record->thread];
	const struct fm_folded *sample;
	const struct fm_fold_rate *rate;
	uint64_t address;
	uint32_t number;
	double value;
	int r = 0;

	fm_paraver_event(sink, 0, thread->task, thread->number, record->at);
	switch (record->kind) {
	case SAMPLE:
		sample = &thread->mode->samples[record->index];
		address = folded->exported->recording->samples[sample->sample].address;
		fm_fold_relative(folded->exported->recording, &folded->exported->recording->samples[sample->sample],
		                 &address);
		fm_paraver_sample(sink, folded->exported, sample->sample, address);
		return 0;
	case RATE:
		rate = &thread->mode->rates[record->index / FM_FOLD_POINTS];
		r = find_rate(folded, rate, &number);
		value = rate->points[record->index % FM_FOLD_POINTS].value * (*rate->unit ? 1 : SHARE_UNIT);
		if (!r)
			fm_paraver_value(sink, FM_PARAVER_COUNTER + number, fabs(value) < 9e18 ? llround(value) : 0);
		break;
	default:
		fm_paraver_value(sink, FM_PARAVER_REGION, record->kind == BEGIN ? 1 + (int64_t)thread->name : 0);
	}
	fm_sink_byte(sink, '\n');
	return r;
}

static void write_header(const struct folded *folded, struct fm_sink *sink)
{
	fm_paraver_header(sink, folded->exported, folded->duration, 1);
	fm_sink_text(sink, "1:");
	fm_sink_unsigned(sink, folded->tasks);
	for (size_t i = 0; i < folded->thread_count;) {
		size_t end = i;

		while (end < folded->thread_count && folded->threads[end].task == folded->threads[i].task)
			end++;
		fm_sink_byte(sink, i ? ',' : '(');
		fm_sink_unsigned(sink, end - i);
		fm_sink_text(sink, ":1");
		i = end;
	}
	fm_sink_text(sink, ")\n");
}

static void write_rows(const struct folded *folded, struct fm_sink *sink)
{
	fm_sink_text(sink, "LEVEL CPU SIZE 1\nCPU 0\n\nLEVEL NODE SIZE 1\n");
	fm_sink_line(sink, folded->exported->recording->run.host, "host");
	fm_sink_text(sink, "\n\nLEVEL APPL SIZE 1\n");
	fm_sink_line(sink, folded->exported->recording->run.program, "program");
	fm_sink_text(sink, "\n\nLEVEL TASK SIZE ");
	fm_sink_unsigned(sink, folded->tasks);
	for (size_t i = 0; i < folded->thread_count; i++)
		if (folded->threads[i].number == 1) {
			fm_sink_byte(sink, '\n');
			fm_sink_line(sink, folded->threads[i].region->name, "?");
		}
	fm_sink_text(sink, "\n\nLEVEL THREAD SIZE ");
	fm_sink_unsigned(sink, folded->thread_count);
	for (size_t i = 0; i < folded->thread_count; i++) {
		const struct thread *thread = &folded->threads[i];

		fm_sink_byte(sink, '\n');
		fm_sink_line(sink, thread->region->name, "?");
		fm_sink_text(sink, ": ");
		fm_sink_unsigned(sink, thread->mode->instances);
		fm_sink_text(sink, " of ");
		fm_sink_unsigned(sink, thread->region->instance_count);
		fm_sink_text(sink, thread->region->found ? " instances, found" : " instances, marked");
	}
	fm_sink_byte(sink, '\n');
}

static int write_labels(const struct folded *folded, struct fm_sink *sink)
{
	struct fm_paraver_counter *counters = calloc(folded->rates.count + 1, sizeof(*counters));
	struct fm_exported exported = *folded->exported;

	if (!counters)
		return -ENOMEM;
	for (size_t i = 0; i < folded->rates.count; i++)
		counters[i] = (struct fm_paraver_counter){FM_PARAVER_COUNTER + i, folded->rates.keys[i], ""};
	/* detected regions have names, too */
	exported.regions = folded->regions;
	fm_paraver_labels(sink, &exported, counters, folded->rates.count);
	free(counters);
	return 0;
}

int fm_paraver_write_folded(const struct fm_exported *exported, struct fm_sink *sinks, struct fm_error *error)
{
	struct folded folded = {.exported = exported};
	struct fm_fold *fold = NULL;
	struct record record;
	size_t from = 0;
	int r = fm_fold_make(exported->samples, &fold, error);

	if (r)
		return r;
	folded.fold = fold;
	r = fm_fold_add_rates(fold, error);
	if (r)
		goto out;
	r = find_threads(&folded);
	if (!r && !folded.thread_count) {
		r = fm_error_set(error, EINVAL, "nothing can be folded: %s",
		                 *fold->why           ? fold->why
		                 : fold->region_count ? fold->regions[0].why
		                                      : "there are no regions");
		goto out;
	}
	if (!r)
		r = take_records(&folded);
	if (!r)
		write_header(&folded, &sinks[0]);
	while (!r && !fm_sink_is_over(&sinks[0]) && take_next(&folded, &from, &record))
		r = write_record(&folded, &record, &sinks[0]);
	if (!r)
		r = write_labels(&folded, &sinks[1]);
	if (!r)
		write_rows(&folded, &sinks[2]);
	if (r)
		r = fm_error_set(error, -r, "out of memory");
out:
	fm_fold_free(fold);
	free(folded.threads);
	free(folded.records);
	free(folded.heap);
	fm_names_free(&folded.regions);
	fm_names_free(&folded.rates);
	return r;
}
