/* JSON: the whole recording, table by table: {"name", "words", "columns", "rows"}. Tables refer to each other by row,
   as in the file. docs/schemas/export.schema.json */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "export/exporter.h"
#include "export/rows.h"

struct writer {
	struct fm_sink *sink;
	bool first;
};

static void write_cell(void *context, const struct fm_cell *cell)
{
	struct writer *writer = context;

	if (!writer->first)
		fm_sink_byte(writer->sink, ',');
	writer->first = false;
	switch (cell->kind) {
	case FM_CELL_NONE:
		fm_sink_text(writer->sink, "null");
		break;
	case FM_CELL_INTEGER:
		fm_sink_signed(writer->sink, cell->integer);
		break;
	case FM_CELL_UNSIGNED:
		fm_sink_unsigned(writer->sink, cell->natural);
		break;
	case FM_CELL_REAL:
		fm_sink_real(writer->sink, cell->real, "null");
		break;
	default:
		fm_sink_json(writer->sink, cell->text);
	}
}

/* For samples, also the likely level from the analysis. */
static void write_found(const struct fm_exported *exported, size_t row, struct fm_sink *sink)
{
	fm_sink_byte(sink, ',');
	fm_sink_json(sink, exported->samples ? fm_exported_level_name(exported, fm_exported_level(exported, row, NULL))
	                                     : "unknown");
}

static void write_table(const struct fm_exported *exported, const struct fm_table_schema *table, struct fm_sink *sink)
{
	struct writer writer = {sink, true};
	bool samples = !strcmp(table->name, "samples");
	size_t count;

	fm_sink_text(sink, "{\"name\":");
	fm_sink_json(sink, table->name);
	fm_sink_text(sink, ",\"words\":");
	fm_sink_json(sink, table->words);
	fm_sink_text(sink, ",\"columns\":[");
	fm_rows_columns(table, write_cell, &writer);
	fm_sink_text(sink, samples ? ",\"likely_level\"],\"rows\":[" : "],\"rows\":[");
	fm_schema_rows(table, (struct fm_recording *)exported->recording, &count);
	for (size_t i = 0; i < count && !fm_sink_is_over(sink); i++) {
		writer.first = true;
		fm_sink_text(sink, i ? ",\n[" : "\n[");
		fm_rows_row(exported->recording, table, i, write_cell, &writer);
		if (samples)
			write_found(exported, i, sink);
		fm_sink_byte(sink, ']');
	}
	fm_sink_text(sink, "]}");
}

static int write(const struct fm_exported *exported, struct fm_sink *sink, struct fm_error *error)
{
	const struct fm_recording *recording = exported->recording;
	const struct fm_schema *schema = fm_schema();

	(void)error;
	fm_sink_text(sink, "{\"fathom\":\"" FM_VERSION "\",\"verb\":\"export\",\"recorded\":");
	fm_sink_json(sink, recording->run.verb);
	fm_sink_text(sink, ",\n\"units\":{\"time\":\"s\",\"cost\":");
	fm_sink_json(sink, *exported->cost_unit ? exported->cost_unit : "ticks");
	fm_sink_text(sink, exported->references ? ",\"weight\":\"references\"" : ",\"weight\":\"s\"");
	fm_sink_text(sink, "},\n\"documents\":{");
	for (unsigned i = 0; i < recording->document_count; i++) {
		fm_sink_text(sink, i ? ",\n" : "\n");
		fm_sink_json(sink, recording->documents[i].name);
		fm_sink_byte(sink, ':');
		fm_sink_json(sink, recording->documents[i].text);
	}
	fm_sink_text(sink, "},\n\"tables\":[");
	for (unsigned i = 0; i < schema->table_count; i++) {
		fm_sink_text(sink, i ? ",\n" : "\n");
		write_table(exported, &schema->tables[i], sink);
	}
	fm_sink_text(sink, "]}\n");
	return 0;
}

const struct fm_exporter fm_exporter_json = {
    .name = "json",
    .suffixes = {".json", NULL},
    .opens = "a script",
    .words = "the whole recording, table by table, for scripts",
    .write = write,
};
