/* CSV (RFC 4180) of one table: sampled references with all names in place, or any other table of the recording as it is
   stored. The first line names the columns. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "export/exporter.h"
#include "export/rows.h"

/* Samples */

static const char *const columns[] = {
    "time_s",  "process",     "thread",      "thread_name",       "cpu",       "node",  "kind",   "bytes",
    "address", "object",      "object_kind", "object_offset",     "page_node", "level", "cost",   "cost_unit",
    "weight",  "weight_unit", "function",    "inlined",           "file",      "line",  "module", "module_offset",
    "region",  "stack",       "faulted",     "level_probability", NULL};

static void text(struct fm_sink *sink, const char *value)
{
	fm_sink_byte(sink, ',');
	fm_sink_csv(sink, value);
}

static void number(struct fm_sink *sink, int64_t value)
{
	fm_sink_byte(sink, ',');
	fm_sink_signed(sink, value);
}

/* Empty if unknown. */
static void node(struct fm_sink *sink, int64_t value)
{
	fm_sink_byte(sink, ',');
	if (value >= 0)
		fm_sink_signed(sink, value);
}

static void write_object(const struct fm_exported *exported, const struct fm_recorded_sample *sample,
                         struct fm_sink *sink)
{
	const struct fm_recorded_memory *memory =
	    sample->memory < 0 ? NULL : &exported->recording->memories[sample->memory];

	text(sink, exported->objects.keys[fm_exported_object(exported, sample)]);
	text(sink, fm_memory_kind_name(memory ? memory->kind : FM_MEMORY_UNKNOWN));
	fm_sink_byte(sink, ',');
	if (memory && memory->address && sample->address >= memory->address)
		fm_sink_unsigned(sink, sample->address - memory->address);
}

/* The call stack is a text, innermost frame first; lines of frames would need another table. */
static void write_stack(const struct fm_exported *exported, const struct fm_recorded_sample *sample, char *stack,
                        size_t size, struct fm_sink *sink)
{
	const struct fm_recording *recording = exported->recording;
	int64_t frame = sample->frame < 0 ? -1 : recording->frames[sample->frame].caller;
	size_t used = 0;

	stack[0] = '\0';
	for (; frame >= 0 && used < size; frame = recording->frames[frame].caller)
		used += (size_t)snprintf(stack + used, size - used, "%s%s", used ? " < " : "",
		                         exported->places.keys[exported->place_of[recording->frames[frame].code]]);
	text(sink, stack);
}

static void write_sample(const struct fm_exported *exported, uint32_t index, struct fm_sink *sink)
{
	const struct fm_recording *recording = exported->recording;
	const struct fm_recorded_sample *sample = &recording->samples[index];
	const struct fm_recorded_code *code = &recording->codes[sample->code];
	const struct fm_recorded_sampled_thread *thread = &recording->sampled_threads[sample->thread];
	char stack[4096];
	double probability;
	unsigned level = fm_exported_level(exported, index, &probability);
	uint64_t cost;

	fm_sink_seconds(sink, fm_exported_time(sample->at));
	number(sink, recording->sampled_processes[sample->process].process);
	number(sink, thread->thread);
	text(sink, thread->name);
	number(sink, sample->cpu);
	node(sink, sample->node);
	text(sink, fm_exported_kind(sample));
	number(sink, sample->size);
	fm_sink_byte(sink, ',');
	fm_sink_address(sink, sample->address);
	write_object(exported, sample, sink);
	node(sink, sample->page_node);
	text(sink, fm_exported_level_name(exported, level));
	fm_sink_byte(sink, ',');
	if (fm_exported_cost(sample, &cost))
		fm_sink_unsigned(sink, cost);
	text(sink, exported->cost_unit);
	fm_sink_byte(sink, ',');
	if (exported->references)
		fm_sink_unsigned(sink, fm_exported_weight(exported, sample));
	else
		fm_sink_seconds(sink, fm_exported_weight(exported, sample));
	text(sink, exported->references ? "references" : "s");
	text(sink, exported->functions.keys[exported->function_of[sample->code]]);
	text(sink, code->inlined);
	text(sink, code->file);
	fm_sink_byte(sink, ',');
	if (code->line > 0)
		fm_sink_signed(sink, code->line);
	text(sink, code->module);
	fm_sink_byte(sink, ',');
	fm_sink_address(sink, code->offset);
	text(sink, sample->instance < 0 ? "" : exported->regions.keys[exported->region_of[sample->instance]]);
	write_stack(exported, sample, stack, sizeof(stack), sink);
	number(sink, !!(sample->flags & FM_SAMPLE_FAULTED));
	fm_sink_byte(sink, ',');
	if (level)
		fm_sink_real(sink, round(1e4 * probability) / 1e4, "");
	fm_sink_text(sink, "\r\n");
}

static void write_samples(const struct fm_exported *exported, struct fm_sink *sink)
{
	for (unsigned i = 0; columns[i]; i++) {
		if (i)
			fm_sink_byte(sink, ',');
		fm_sink_text(sink, columns[i]);
	}
	fm_sink_text(sink, "\r\n");
	for (size_t i = 0; i < exported->count && !fm_sink_is_over(sink); i++)
		write_sample(exported, exported->order[i], sink);
}

/* Any table */

static void cell(struct fm_sink *sink, bool first, const struct fm_cell *value)
{
	if (!first)
		fm_sink_byte(sink, ',');
	switch (value->kind) {
	case FM_CELL_NONE:
		return;
	case FM_CELL_INTEGER:
		fm_sink_signed(sink, value->integer);
		return;
	case FM_CELL_UNSIGNED:
		fm_sink_unsigned(sink, value->natural);
		return;
	case FM_CELL_REAL:
		fm_sink_real(sink, value->real, "");
		return;
	default:
		fm_sink_csv(sink, value->text);
	}
}

struct writer {
	struct fm_sink *sink;
	bool first;
};

static void write_cell(void *context, const struct fm_cell *value)
{
	struct writer *writer = context;

	cell(writer->sink, writer->first, value);
	writer->first = false;
}

static void write_table(const struct fm_exported *exported, const struct fm_table_schema *table, struct fm_sink *sink)
{
	struct writer writer = {sink, true};
	size_t count;

	fm_rows_columns(table, write_cell, &writer);
	fm_sink_text(sink, "\r\n");
	fm_schema_rows(table, (struct fm_recording *)exported->recording, &count);
	for (size_t i = 0; i < count && !fm_sink_is_over(sink); i++) {
		writer.first = true;
		fm_rows_row(exported->recording, table, i, write_cell, &writer);
		fm_sink_text(sink, "\r\n");
	}
}

static int no_table(const char *name, struct fm_error *error)
{
	const struct fm_schema *schema = fm_schema();
	char names[1024] = "";
	size_t used = 0;

	for (unsigned i = 0; i < schema->table_count && used < sizeof(names); i++)
		used +=
		    (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? " " : "", schema->tables[i].name);
	return fm_error_set(error, EINVAL, "--table %s: recordings have no such table. Tables: %.400s …", name, names);
}

static int write(const struct fm_exported *exported, struct fm_sink *sink, struct fm_error *error)
{
	const char *name = exported->options->table;
	const struct fm_table_schema *table;

	if (!name)
		name = exported->has & FM_EXPORT_SAMPLES  ? NULL
		       : exported->has & FM_EXPORT_LINES  ? "lines"
		       : exported->has & FM_EXPORT_SERIES ? "intervals"
		                                          : "event_counts";
	if (!name) {
		write_samples(exported, sink);
		return 0;
	}
	table = fm_rows_table(name);
	if (!table)
		return no_table(name, error);
	write_table(exported, table, sink);
	return 0;
}

const struct fm_exporter fm_exporter_csv = {
    .name = "csv",
    .suffixes = {".csv", NULL},
    .opens = "a spreadsheet",
    .words = "one row for each sample, or one table of the recording (--table), for spreadsheets and pandas",
    .can = FM_EXPORT_SAMPLES | FM_EXPORT_LINES | FM_EXPORT_COUNTS | FM_EXPORT_SERIES,
    .tables = true,
    .write = write,
};
