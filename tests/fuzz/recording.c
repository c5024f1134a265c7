/* Recordings. What is accepted is analysed, printed and exported in every format, and the exports are checked.

   An input that begins like an SQLite file is the file. Any other is a list of changes to a recording that is right, so
   that what comes out is a good SQLite file with bad contents; one change a line:
     base N                          which recording: 0 timed samples, 1 simulated ones, 2 without calibration, 3
   counted events set TABLE COLUMN ROW VALUE      ROW: a number, or * for all; VALUE: number, text, null, or long copy
   TABLE ROW                  the row once more, at the end delete TABLE ROW drop TABLE, view TABLE, trigger TABLE,
   rename TABLE COLUMN version N, application N, document NAME TEXT, byte OFFSET VALUE A word that is no table or column
   stands for some table or column, so that mutations change something. */
#include "fuzz/fuzz.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <unistd.h>

#include "export/exporter.h"
#include "patterns/analysis.h"
#include "recording/schema.h"
#include "recording/store.h"
#include "report/writer.h"
#include "samples/synthetic.h"

enum { BASES = 5, SAMPLES = 60, CALIBRATIONS = 24, WORDS = 6, CHANGES_MAX = 64 };

static uint8_t *bases[BASES];
static size_t base_sizes[BASES];

static void counted(struct fm_recording *recording)
{
	static const char *const names[] = {"instructions", "cycles", "LLC-misses"};

	recording->asked.question = FM_QUESTION_COUNTED_EVENTS;
	snprintf(recording->run.verb, sizeof(recording->run.verb), "stat");
	snprintf(recording->run.program, sizeof(recording->run.program), "./solver");
	fm_recording_add(recording, parts);
	for (unsigned i = 0; i < 3; i++) {
		struct fm_recorded_event *event = fm_recording_add(recording, events);
		struct fm_recorded_count *count = fm_recording_add(recording, event_counts);
		struct fm_recorded_place *place = fm_recording_add(recording, lines);

		snprintf(event->name, sizeof(event->name), "%s", names[i]);
		event->cpu = -1;
		*count = (struct fm_recorded_count){
		    .event = i,
		    .value = 1000 + i,
		    .enabled = 7,
		    .running = 7,
		    .figure = fm_figure_make(1000 + i, 1000, 1010, "", FM_ORIGIN_counted, "perf", 1)};
		snprintf(place->function, sizeof(place->function), "function%u", i);
		snprintf(place->file, sizeof(place->file), "file.c");
		place->line = 10 + i;
		place->loads = 100;
	}
	for (unsigned i = 0; i < 12; i++)
		*fm_recording_add(recording, intervals) = (struct fm_recorded_interval){
		    .at = 0.1 * (i / 3 + 1),
		    .event = i % 3,
		    .figure = fm_figure_make(5 + i, 5 + i, 5 + i, "", FM_ORIGIN_counted, "perf", 1)};
}

static struct fm_figure simulated(double value, const char *unit)
{
	return fm_figure_make(value, value, value, unit, FM_ORIGIN_simulated, "exact", 1);
}

/* Several numbers of threads. */
static void scaled(struct fm_recording *recording)
{
	struct fm_recorded_scale *how = fm_recording_add(recording, scales);

	snprintf(recording->run.verb, sizeof(recording->run.verb), "scale");
	snprintf(recording->run.program, sizeof(recording->run.program), "./solver");
	*how = (struct fm_recorded_scale){.by = "threads", .set_by = "{threads}", .cpus = 4};
	for (unsigned i = 0; i < 12; i++)
		*fm_recording_add(recording, scale_runs) = (struct fm_recorded_scale_run){.count = 1u << i % 3,
		                                                                          .round = i / 3,
		                                                                          .seconds = 8.0 / (1 << i % 3),
		                                                                          .cpu_seconds = 8,
		                                                                          .busiest = 4,
		                                                                          .worked = 8,
		                                                                          .workers = 1u << i % 3,
		                                                                          .alone = 0.5,
		                                                                          .alone_longest = 0.5};
	for (unsigned i = 0; i < 4; i += 2) {
		*fm_recording_add(recording, scale_looks) =
		    (struct fm_recorded_scale_look){.count = 1 + i,
		                                    .threads = 1 + i,
		                                    .seconds = simulated(8, "s"),
		                                    .blocked = simulated(0.1, ""),
		                                    .spinning = simulated(0.2, ""),
		                                    .transferring = simulated(0.1, ""),
		                                    .imbalance = simulated(1.3, ""),
		                                    .line = "solver.c:12 (solve)"};
		*fm_recording_add(recording, scale_levels) =
		    (struct fm_recorded_scale_level){.count = 1 + i,
		                                     .name = "memory",
		                                     .bytes = simulated(4e9, "B"),
		                                     .write_share = simulated(0.3, ""),
		                                     .gbs = simulated(1, "GB/s"),
		                                     .peak_gbs = simulated(10, "GB/s"),
		                                     .wait = simulated(0.5, "")};
	}
}

/* SQLite wants a file with a name. */
static void scratch_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/fathom-fuzz-%s-%d", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", name,
	         (int)getpid());
}

/* The file of a recording, made once. */
static void make_base(unsigned which)
{
	struct fm_recording *recording =
	    which < 3 ? synthetic_recording(SAMPLES, 7, (enum synthetic_kind)which) : fm_recording_create();
	struct fm_error error;
	char path[96];
	FILE *file;

	if (which == 3)
		counted(recording);
	if (which == 4)
		scaled(recording);
	/* a few of each level do: there is much to try */
	for (size_t i = 0; i < recording->calibration_count; i++)
		recording->calibration[i % (8 * CALIBRATIONS)] = recording->calibration[i];
	if (recording->calibration_count > 8 * CALIBRATIONS)
		recording->calibration_count = 8 * CALIBRATIONS;
	for (size_t i = 0; i < recording->calibration_count; i++)
		recording->calibration[i].kind = i % 2;
	scratch_path(path, sizeof(path), "base");
	must(!fm_recording_settle(recording, &error));
	must(!fm_store_save(path, recording, &error));
	fm_recording_free(recording);
	file = fopen(path, "r");
	must(file && !fseek(file, 0, SEEK_END));
	base_sizes[which] = (size_t)ftell(file);
	bases[which] = malloc(base_sizes[which]);
	rewind(file);
	must(bases[which] && fread(bases[which], 1, base_sizes[which], file) == base_sizes[which]);
	fclose(file);
	unlink(path);
}

/* Changes */

static unsigned number_of(const char *word)
{
	unsigned value = 5381;

	while (*word)
		value = value * 33 + (unsigned char)*word++;
	return value;
}

static const struct fm_table_schema *table_of(const char *word)
{
	const struct fm_schema *schema = fm_schema();

	for (unsigned i = 0; i < schema->table_count; i++)
		if (!strcmp(schema->tables[i].name, word))
			return &schema->tables[i];
	return &schema->tables[number_of(word) % schema->table_count];
}

static const char *column_of(const struct fm_table_schema *table, const char *word)
{
	for (unsigned i = 0; i < table->column_count; i++)
		if (!strcmp(table->columns[i].name, word))
			return word;
	if (!strcmp(word, "row"))
		return word;
	return table->columns[number_of(word) % table->column_count].name;
}

/* Whatever it leads to: what SQLite refuses does not happen. */
static void execute(sqlite3 *base, char *query, const char *value)
{
	sqlite3_stmt *statement = NULL;
	char *end;

	if (query && !sqlite3_prepare_v2(base, query, -1, &statement, NULL)) {
		if (value && !strcmp(value, "long")) {
			static char text[70000];

			memset(text, 'x', sizeof(text) - 1);
			sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
		} else if (value && *value && strcmp(value, "null") != 0) {
			long long whole = strtoll(value, &end, 0);

			if (!*end)
				sqlite3_bind_int64(statement, 1, whole);
			else if (strtod(value, &end), !*end)
				sqlite3_bind_double(statement, 1, strtod(value, NULL));
			else
				sqlite3_bind_text(statement, 1, value, -1, SQLITE_STATIC);
		}
		sqlite3_step(statement);
	}
	sqlite3_finalize(statement);
	sqlite3_free(query);
}

static void on_rows(sqlite3 *base, const char *verb, const char *table, const char *row)
{
	if (*row == '*' || !*row)
		execute(base, sqlite3_mprintf("%s \"%w\"", verb, table), NULL);
	else
		execute(base, sqlite3_mprintf("%s \"%w\" WHERE \"row\" = %d", verb, table, atoi(row)), NULL);
}

static void set(sqlite3 *base, char **word)
{
	const struct fm_table_schema *table = table_of(word[1]);
	const char *column = column_of(table, word[2]);

	if (*word[3] == '*')
		execute(base, sqlite3_mprintf("UPDATE \"%w\" SET \"%w\" = ?", table->name, column), word[4]);
	else
		execute(base,
		        sqlite3_mprintf("UPDATE \"%w\" SET \"%w\" = ? WHERE \"row\" = %d", table->name, column,
		                        atoi(word[3])),
		        word[4]);
}

static void copy(sqlite3 *base, const char *table, const char *row)
{
	execute(base,
	        sqlite3_mprintf("CREATE TEMP TABLE once AS SELECT * FROM \"%w\" WHERE \"row\" = %d", table, atoi(row)),
	        NULL);
	execute(base, sqlite3_mprintf("UPDATE once SET \"row\" = (SELECT max(\"row\") + 1 FROM \"%w\")", table), NULL);
	execute(base, sqlite3_mprintf("INSERT INTO \"%w\" SELECT * FROM once", table), NULL);
	execute(base, sqlite3_mprintf("DROP TABLE once"), NULL);
}

static void change(sqlite3 *base, char **word)
{
	const char *table = table_of(word[1])->name;

	if (!strcmp(word[0], "set"))
		set(base, word);
	else if (!strcmp(word[0], "copy"))
		copy(base, table, word[2]);
	else if (!strcmp(word[0], "delete"))
		on_rows(base, "DELETE FROM", table, word[2]);
	else if (!strcmp(word[0], "drop") || !strcmp(word[0], "view"))
		execute(base, sqlite3_mprintf("DROP TABLE \"%w\"", table), NULL);
	else if (!strcmp(word[0], "trigger"))
		execute(
		    base,
		    sqlite3_mprintf("CREATE TRIGGER bad AFTER UPDATE ON \"%w\" BEGIN DELETE FROM samples; END", table),
		    NULL);
	else if (!strcmp(word[0], "rename"))
		execute(base,
		        sqlite3_mprintf("ALTER TABLE \"%w\" RENAME COLUMN \"%w\" TO \"other\"", table,
		                        column_of(table_of(word[1]), word[2])),
		        NULL);
	else if (!strcmp(word[0], "version"))
		execute(base, sqlite3_mprintf("PRAGMA user_version = %d", atoi(word[1])), NULL);
	else if (!strcmp(word[0], "application"))
		execute(base, sqlite3_mprintf("PRAGMA application_id = %d", atoi(word[1])), NULL);
	else if (!strcmp(word[0], "document"))
		execute(base, sqlite3_mprintf("INSERT OR REPLACE INTO documents VALUES (%Q, ?)", word[1]), word[2]);
	if (!strcmp(word[0], "view"))
		execute(base,
		        sqlite3_mprintf("CREATE VIEW \"%w\" AS WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 "
		                        "FROM t) SELECT n AS \"row\" FROM t",
		                        table),
		        NULL);
}

/* A line as words; the last one takes the rest of the line. */
static void split(char *line, char **word)
{
	static char none[1] = "";

	for (unsigned i = 0; i < WORDS; i++) {
		word[i] = line;
		if (!*line) {
			word[i] = none;
			continue;
		}
		line += strcspn(line, i == 4 || (i == 2 && !strcmp(word[0], "document")) ? "" : " ");
		if (*line)
			*line++ = '\0';
	}
}

struct bytes {
	uint8_t *data;
	size_t size;
};

static struct bytes apply(char *text)
{
	unsigned which = strncmp(text, "base ", 5) ? 0 : (unsigned char)(text[5] - '0') % BASES, changes = 0;
	sqlite3 *base = NULL;
	sqlite3_int64 size;
	struct bytes result;
	uint8_t *copied;
	char *next;

	if (!bases[which])
		make_base(which);
	copied = sqlite3_malloc64(base_sizes[which]);
	must(copied && !sqlite3_open(":memory:", &base));
	memcpy(copied, bases[which], base_sizes[which]);
	must(!sqlite3_deserialize(base, "main", copied, (sqlite3_int64)base_sizes[which],
	                          (sqlite3_int64)base_sizes[which],
	                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE));
	sqlite3_exec(base, "PRAGMA journal_mode = OFF; BEGIN", NULL, NULL, NULL);
	for (char *line = text; line && changes < CHANGES_MAX; line = next, changes++) {
		char *word[WORDS];

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!strncmp(line, "byte ", 5))
			continue;
		split(line, word);
		change(base, word);
	}
	sqlite3_exec(base, "COMMIT", NULL, NULL, NULL);
	result.data = sqlite3_serialize(base, "main", &size, 0);
	result.size = (size_t)size;
	sqlite3_close(base);
	return result;
}

/* Bytes are changed when the file is complete. */
static void change_bytes(char *text, struct bytes *file)
{
	for (char *line = strstr(text, "byte "); line && file->size; line = strstr(line + 5, "byte ")) {
		char *end;
		unsigned long long offset = strtoull(line + 5, &end, 10);

		file->data[offset % file->size] = (uint8_t)strtoul(end, NULL, 10);
	}
}

/* What is done with a recording */

static void check(const struct fm_exporter *exporter, const char *text, size_t size)
{
	json_t *root;

	must(size);
	if (strcmp(exporter->name, "json") != 0 && strcmp(exporter->name, "speedscope") != 0)
		return;
	/* reals of any size are written, and json_loads takes no others than a double's */
	root = json_loadb(text, size, JSON_DECODE_INT_AS_REAL, NULL);
	must(root);
	json_decref(root);
}

static void write_format(const struct fm_exporter *exporter, const struct fm_exported *exported)
{
	char *text[FM_FILES_MAX] = {0};
	size_t size[FM_FILES_MAX] = {0};
	struct fm_sink sinks[FM_FILES_MAX] = {0};
	struct fm_error error = {0};
	unsigned files = 0;
	int status;

	while (exporter->suffixes[files])
		files++;
	for (unsigned i = 0; i < files; i++) {
		sinks[i].file = open_memstream(&text[i], &size[i]);
		must(sinks[i].file);
	}
	status = exporter->write(exported, sinks, &error);
	/* what cannot be folded is refused */
	must(!status || (exported->options->folded && *error.message));
	for (unsigned i = 0; i < files; i++) {
		must(!sinks[i].failed && !fclose(sinks[i].file));
		if (!status)
			check(exporter, text[i], size[i]);
		free(text[i]);
	}
}

static void export(const struct fm_recording *recording)
{
	struct fm_export_options options = {0};
	struct fm_exported exported;
	struct fm_error error = {0};

	if (fm_exported_prepare(recording, &options, &exported, &error)) {
		must(*error.message);
		return;
	}
	for (unsigned i = 0; fm_exporters[i]; i++) {
		if (fm_exporters[i]->can && !(fm_exporters[i]->can & exported.has))
			continue;
		options.folded = false;
		write_format(fm_exporters[i], &exported);
		options.folded = true;
		if (fm_exporters[i]->folds && exported.has & FM_EXPORT_SAMPLES)
			write_format(fm_exporters[i], &exported);
	}
	fm_exported_free(&exported);
}

static void report(const struct fm_recording *recording)
{
	static FILE *nowhere;
	const struct fm_writer_options options = {.width = 100, .top = 10, .verbosity = 2, .separator = ","};
	struct fm_error error = {0};
	struct fm_samples *samples;
	struct fm_fold *fold;
	struct fm_analysis *analysis;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	must(nowhere);
	if (*recording->sampling.sampler) {
		if (fm_samples_analyse(recording, NULL, &samples, &error)) {
			must(*error.message);
			return;
		}
		must(!fm_fold_make(samples, &fold, &error) && !fm_fold_add_rates(fold, &error));
		for (unsigned i = 0; fm_writers[i]; i++)
			fm_writers[i]->samples(fold, &options, nowhere);
		fm_fold_free(fold);
		fm_samples_free(samples);
		return;
	}
	if (recording->scales_count) {
		struct fm_scale *scale;

		if (fm_scale_analyse(recording, &scale, &error)) {
			must(*error.message);
			return;
		}
		for (unsigned i = 0; fm_writers[i]; i++)
			if (fm_writers[i]->scale)
				fm_writers[i]->scale(scale, &options, nowhere);
		fm_scale_free(scale);
		return;
	}
	if (fm_analyse(recording, &analysis, &error)) {
		must(*error.message);
		return;
	}
	for (unsigned i = 0; fm_writers[i]; i++)
		fm_writers[i]->stat(analysis, &options, nowhere);
	fm_analysis_free(analysis);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char magic[] = "SQLite format 3";
	static char path[96];
	bool unchanged = size == 7 && !memcmp(data, "base ", 5) && data[5] >= '0' && data[5] <= '4' && data[6] == '\n';
	struct fm_recording *recording;
	struct fm_error error = {0};
	struct bytes made = {0};
	FILE *file;

	if (!*path)
		scratch_path(path, sizeof(path), "input");
	if (size < sizeof(magic) || memcmp(data, magic, sizeof(magic)) != 0) {
		char *text = fuzz_text(data, size), *again = fuzz_text(data, size);

		made = apply(text);
		if (made.data)
			change_bytes(again, &made);
		free(text);
		free(again);
		data = made.data;
		size = made.data ? made.size : 0;
	}
	file = fopen(path, "w");
	must(file && (!size || fwrite(data, 1, size, file) == size) && !fclose(file));
	if (fm_store_load(path, &recording, &error)) {
		must(*error.message && !unchanged);
	} else {
		report(recording);
		export(recording);
		fm_recording_free(recording);
	}
	sqlite3_free(made.data);
	unlink(path);
	return 0;
}
