#include "report/sample_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "json/figure.h"
#include "report/html_parts.h"
#include "report/parts.h"

enum { NAME_COLUMNS = 23 };

static const char *answer(enum fm_samples_answer given)
{
	return given == FM_ANSWER_YES ? "yes" : given == FM_ANSWER_NO ? "no" : "inconclusive";
}

static json_t *number(double value, bool page)
{
	return page ? fm_html_number(value) : json_real(value);
}

static void set_order(json_t *entry, const struct fm_pattern_verdict *verdict, bool page)
{
	const char *name = fm_pattern_name(verdict->pattern);

	if (page)
		json_object_set_new(entry, "order_reason", json_string(verdict->reason));
	json_object_set_new(entry, "order",
	                    page ? json_string(name)
	                         : json_pack("{s:s, s:f, s:s}", "pattern", name, "confidence", verdict->confidence,
	                                     "reason", verdict->reason));
}

/* Objects */

static json_t *object_json(const struct fm_samples *samples, const void *row, bool page)
{
	const struct fm_sampled_object *object = row;
	json_t *entry = json_pack(
	    "{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:i, s:b}", "name", object->name, "kind",
	    fm_memory_kind_name(object->kind), "bytes", (json_int_t)object->bytes, "count", number(object->count, page),
	    "began", number(object->began, page), "ended", number(object->ended, page), "site",
	    fm_json_text(object->site), "type", fm_json_text(object->type), "module", fm_json_text(object->module),
	    "read_only", answer(object->read_only), page ? "use" : "sharing", fm_samples_use_name(object->use),
	    "threads", (int)object->threads, "divided", object->divided);

	(void)samples;
	if (!page) {
		json_object_set_new(entry, "mean_lifetime", json_real(object->mean_lifetime));
		fm_json_set_figure(entry, "assigned_share", &object->assigned);
	}
	set_order(entry, &object->pattern, page);
	return entry;
}

static void object_name(const struct fm_samples *samples, const void *row, bool brief, char *text, size_t size)
{
	const struct fm_sampled_object *object = row;
	char name[160];

	(void)samples;
	if (brief)
		snprintf(text, size, "%s%s", fm_text_elide(name, sizeof(name), object->name, NAME_COLUMNS),
		         object->assigned.available ? " *" : "");
	else
		snprintf(text, size, "%s", object->name);
}

/* Routines */

static json_t *routine_json(const struct fm_samples *samples, const void *row, bool page)
{
	const struct fm_sampled_routine *routine = row;
	json_t *inclusive = page ? fm_html_figure(&routine->inclusive.share) : json_object();

	if (!page)
		fm_json_set_served(inclusive, samples, &routine->inclusive);
	return json_pack("{s:s, s:o, s:o}", "name", routine->function, "module", fm_json_text(routine->module),
	                 "inclusive", inclusive);
}

static void routine_name(const struct fm_samples *samples, const void *row, bool brief, char *text, size_t size)
{
	const struct fm_sampled_routine *routine = row;
	char function[128], module[64];

	(void)samples;
	if (brief)
		snprintf(text, size, "%s [%s]", fm_text_elide(function, sizeof(function), routine->function, 20),
		         fm_text_elide(module, sizeof(module), routine->module, 12));
	else
		snprintf(text, size, "%s", routine->function);
}

/* Lines */

static const char *object_of(const struct fm_samples *samples, const struct fm_sampled_line *line)
{
	return line->object < 0 ? "" : samples->objects[line->object].name;
}

static json_t *line_json(const struct fm_samples *samples, const void *row, bool page)
{
	const struct fm_sampled_line *line = row;
	json_t *entry =
	    json_pack("{s:s, s:o, s:I, s:o, s:o, s:o, s:o}", "function", line->function, "file",
	              fm_json_text(line->file), "line", (json_int_t)line->line, "inlined", fm_json_text(line->inlined),
	              "chain", fm_json_text(line->chain), "module", fm_json_text(line->module), "object",
	              page ? json_integer(line->object) : fm_json_text(object_of(samples, line)));

	set_order(entry, &line->pattern, page);
	return entry;
}

static void line_name(const struct fm_samples *samples, const void *row, bool brief, char *text, size_t size)
{
	const struct fm_sampled_line *line = row;
	const char *innermost = *line->inlined ? line->inlined : line->function;
	char file[80], function[128];

	(void)samples;
	fm_text_elide(function, sizeof(function), innermost, 16);
	if (line->line && !brief)
		snprintf(text, size, "%s:%lld %s", line->file, (long long)line->line, innermost);
	else if (line->line)
		snprintf(text, size, "%s:%lld %s", fm_text_elide(file, sizeof(file), fm_file_name(line->file), 16),
		         (long long)line->line, function);
	else if (!brief)
		snprintf(text, size, "of %s", line->function);
	else
		snprintf(text, size, "%s [%s]", function, fm_text_elide(file, sizeof(file), line->module, 16));
}

static void line_object(const struct fm_samples *samples, const void *row, char *text, size_t size)
{
	fm_text_elide(text, size, object_of(samples, row), 18);
}

/* Regions */

static json_t *region_json(const struct fm_samples *samples, const void *row, bool page)
{
	const struct fm_sampled_region *region = row;

	(void)samples;
	return json_pack("{s:s, s:I, s:o}", "name", region->name, "instances", (json_int_t)region->instances, "seconds",
	                 number(region->seconds, page));
}

static void region_name(const struct fm_samples *samples, const void *row, bool brief, char *text, size_t size)
{
	const struct fm_sampled_region *region = row;

	(void)samples;
	fm_text_elide(text, size, region->name, brief ? NAME_COLUMNS : sizeof(region->name));
}

static void region_times(const struct fm_samples *samples, const void *row, char *text, size_t size)
{
	(void)samples;
	fm_text_grouped(text, size, ((const struct fm_sampled_region *)row)->instances);
}

static void region_seconds(const struct fm_samples *samples, const void *row, char *text, size_t size)
{
	(void)samples;
	snprintf(text, size, "%.3g", ((const struct fm_sampled_region *)row)->seconds);
}

/* Threads */

json_t *fm_thread_json(const struct fm_samples *samples, uint32_t index)
{
	const struct fm_recorded_sampled_thread *thread = &samples->recording->sampled_threads[index];

	return json_pack("{s:I, s:I, s:s}", "process",
	                 (json_int_t)samples->recording->sampled_processes[thread->process].process, "thread",
	                 (json_int_t)thread->thread, "name", thread->name);
}

static json_t *thread_json(const struct fm_samples *samples, const void *row, bool page)
{
	uint32_t index = ((const struct fm_sampled_by_thread *)row)->thread;
	json_t *entry = fm_thread_json(samples, index);

	/* points refer to it */
	if (page)
		json_object_set_new(entry, "index", json_integer(index));
	return entry;
}

static void thread_name(const struct fm_samples *samples, const void *row, bool brief, char *text, size_t size)
{
	const struct fm_recorded_sampled_thread *thread =
	    &samples->recording->sampled_threads[((const struct fm_sampled_by_thread *)row)->thread];

	snprintf(text, size, brief ? "%u %s" : "%u", thread->thread, thread->name);
}

#define ROWS(singular, type, member)                                                                           \
#singular "s", #singular, offsetof(struct fm_samples, singular##s),                                    \
	    offsetof(struct fm_samples, singular##_count), sizeof(struct type), offsetof(struct type, member), \
	    singular##_json, singular##_name
#define SHARE(heading, type, member)                         \
	{                                                    \
		heading, offsetof(struct type, member.share) \
	}
#define STORES(type)                                             \
	{                                                        \
		"stores %", offsetof(struct type, served.stores) \
	}

const struct fm_sample_rows fm_sample_rows[FM_ROWS] = {
    [FM_ROWS_OBJECTS] = {ROWS(object, fm_sampled_object, served), "Object",
                         .shares = {SHARE("share %", fm_sampled_object, served), STORES(fm_sampled_object)}},
    [FM_ROWS_ROUTINES] = {ROWS(routine, fm_sampled_routine, self), "Routine",
                          .inclusive = offsetof(struct fm_sampled_routine, inclusive),
                          .shares = {SHARE("self %", fm_sampled_routine, self),
                                     SHARE("with callees %", fm_sampled_routine, inclusive)}},
    [FM_ROWS_REGIONS] = {ROWS(region, fm_sampled_region, served), "Region",
                         .before = {{"times", region_times}, {"seconds", region_seconds}},
                         .shares = {SHARE("share %", fm_sampled_region, served)}},
    [FM_ROWS_LINES] = {ROWS(line, fm_sampled_line, served), "Line", .after = {"object", line_object},
                       .shares = {SHARE("share %", fm_sampled_line, served)}},
    [FM_ROWS_THREADS] = {ROWS(thread, fm_sampled_by_thread, served), "Thread", .least = 2,
                         .shares = {SHARE("share %", fm_sampled_by_thread, served), STORES(fm_sampled_by_thread)}},
};

size_t fm_sample_rows_count(const struct fm_samples *samples, const struct fm_sample_rows *kind)
{
	return *(const size_t *)((const char *)samples + kind->count);
}

const char *fm_sample_row(const struct fm_samples *samples, const struct fm_sample_rows *kind, size_t index)
{
	const char *rows;

	memcpy(&rows, (const char *)samples + kind->rows, sizeof(rows));
	return rows + index * kind->row_bytes;
}

void fm_sample_rows_set(json_t *root, const struct fm_samples *samples, size_t most, bool page)
{
	for (const struct fm_sample_rows *kind = fm_sample_rows; kind < fm_sample_rows + FM_ROWS; kind++) {
		json_t *array = json_array();

		for (size_t i = 0; i < fm_sample_rows_count(samples, kind) && i < most; i++) {
			const char *row = fm_sample_row(samples, kind, i);
			const struct fm_served *served = (const struct fm_served *)(row + kind->served);
			json_t *entry = kind->json(samples, row, page);

			if (page)
				json_object_set_new(entry, "served", fm_html_served(samples, served));
			else
				fm_json_set_served(entry, samples, served);
			json_array_append_new(array, entry);
		}
		json_object_set_new(root, kind->name, array);
	}
}
