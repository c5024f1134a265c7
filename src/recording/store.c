#include "recording/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/version.h"
#include "recording/schema.h"
#include "simulator/counters.h"

#define UNSAVED ".saving-" /* between the name of a recording and six random characters, until it is complete */

enum { STATEMENT = 4096, ROWS_MAX = 1 << 24, DOCUMENT_MAX = 64 << 20 };

/* The columns that one column of ours becomes, in the order in which they are bound and read. */
static const char *const figure_suffixes[] = {"",         "_low",    "_high",      "_unit", "_origin",
                                              "_backend", "_trials", "_set_aside", "_why"};
static const char *const figure_types[] = {"REAL", "REAL",    "REAL",    "TEXT", "TEXT",
                                           "TEXT", "INTEGER", "INTEGER", "TEXT"};
enum { FIGURE_COLUMNS = sizeof(figure_suffixes) / sizeof(figure_suffixes[0]) };

static size_t add(char *text, size_t used, const char *format, const char *a, const char *b, const char *c)
{
	if (used < STATEMENT)
		used += (size_t)snprintf(text + used, STATEMENT - used, format, a, b, c);
	return used;
}

/* "a, b, c", with types for the creation of a table. `row` is the first: references to rows count from 0. */
static void list_columns(const struct fm_table_schema *table, bool types, char *text)
{
	size_t used = (size_t)snprintf(text, STATEMENT, types ? "\"row\" INTEGER PRIMARY KEY" : "\"row\"");

	for (unsigned i = 0; i < table->column_count; i++) {
		const struct fm_column *column = &table->columns[i];
		char index[16];

		switch (column->kind) {
		case FM_COLUMN_FIGURE:
			for (unsigned k = 0; k < FIGURE_COLUMNS; k++) {
				used =
				    add(text, used, ", \"%s%s\"%s", column->name, figure_suffixes[k], types ? " " : "");
				used = add(text, used, "%s%s%s", types ? figure_types[k] : "", "", "");
			}
			break;
		case FM_COLUMN_LEVELS:
			for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++) {
				snprintf(index, sizeof(index), "_%u", k + 1);
				used = add(text, used, ", \"%s%s\"%s", column->name, index, types ? " INTEGER" : "");
			}
			break;
		case FM_COLUMN_WORK:
		case FM_COLUMN_COUNTS:
		case FM_COLUMN_TIMING:
			break;
		default:
			used = add(text, used, ", \"%s\"%s%s", column->name,
			           !types                           ? ""
			           : column->kind == FM_COLUMN_TEXT ? " TEXT"
			           : column->kind == FM_COLUMN_REAL ? " REAL"
			                                            : " INTEGER",
			           "");
		}
	}
}

static unsigned count_columns(const struct fm_table_schema *table)
{
	unsigned count = 1;

	for (unsigned i = 0; i < table->column_count; i++)
		count += fm_column_is_counts(table->columns[i].kind)  ? 0
		         : table->columns[i].kind == FM_COLUMN_FIGURE ? FIGURE_COLUMNS
		         : table->columns[i].kind == FM_COLUMN_LEVELS ? FM_SIMULATED_CACHES_MAX
		                                                      : 1;
	return count;
}

/* Writing */

struct writing {
	sqlite3 *file;
	sqlite3_stmt *counts;
};

static int bind_figure(sqlite3_stmt *statement, int at, const struct fm_figure *figure)
{
	if (!figure->available) {
		sqlite3_bind_text(statement, at + 8, figure->why, -1, SQLITE_TRANSIENT);
		return FIGURE_COLUMNS; /* all others are NULL */
	}
	sqlite3_bind_double(statement, at, figure->value);
	sqlite3_bind_double(statement, at + 1, figure->low);
	sqlite3_bind_double(statement, at + 2, figure->high);
	sqlite3_bind_text(statement, at + 3, figure->unit, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(statement, at + 4, fm_origin_name(figure->origin), -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(statement, at + 5, figure->backend, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(statement, at + 6, figure->trials);
	sqlite3_bind_int64(statement, at + 7, figure->set_aside);
	return FIGURE_COLUMNS;
}

static int bind_column(sqlite3_stmt *statement, int at, const struct fm_column *column, const char *place)
{
	switch (column->kind) {
	case FM_COLUMN_FLAG:
		sqlite3_bind_int(statement, at, *(const bool *)place);
		return 1;
	case FM_COLUMN_REAL:
		sqlite3_bind_double(statement, at, fm_column_real(column, place));
		return 1;
	case FM_COLUMN_TEXT:
		sqlite3_bind_text(statement, at, place, -1, SQLITE_TRANSIENT);
		return 1;
	case FM_COLUMN_FIGURE:
		return bind_figure(statement, at, (const struct fm_figure *)place);
	case FM_COLUMN_LEVELS:
		for (int i = 0; i < FM_SIMULATED_CACHES_MAX; i++)
			sqlite3_bind_int64(statement, at + i, (int64_t)fm_counter_get(place, (unsigned)i));
		return FM_SIMULATED_CACHES_MAX;
	case FM_COLUMN_INTEGER:
		sqlite3_bind_int64(statement, at, fm_column_integer(column, place));
		return 1;
	default:
		return 0;
	}
}

/* Numbers that are zero take no room. */
static int save_counts(struct writing *writing, const struct fm_table_schema *table, const struct fm_column *column,
                       size_t row, const char *place)
{
	const struct fm_schema *schema = fm_schema();

	for (unsigned i = 0; i < schema->number_count; i++) {
		int64_t value;

		if (schema->numbers[i].kind != column->kind)
			continue;
		value = (int64_t)fm_counter_get(place, schema->numbers[i].index);
		if (!value)
			continue;
		sqlite3_bind_text(writing->counts, 1, table->name, -1, SQLITE_STATIC);
		sqlite3_bind_int64(writing->counts, 2, (sqlite3_int64)row);
		sqlite3_bind_text(writing->counts, 3, schema->numbers[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_int64(writing->counts, 4, value);
		if (sqlite3_step(writing->counts) != SQLITE_DONE)
			return -1;
		sqlite3_reset(writing->counts);
	}
	return 0;
}

static int save_table(struct writing *writing, const struct fm_table_schema *table, struct fm_recording *recording)
{
	char columns[STATEMENT], text[STATEMENT + 256];
	unsigned count = count_columns(table);
	sqlite3_stmt *statement = NULL;
	size_t rows, used;
	const char *row = fm_schema_rows(table, recording, &rows);
	int r;

	list_columns(table, true, columns);
	snprintf(text, sizeof(text), "CREATE TABLE \"%s\" (%s) /* %s */", table->name, columns, table->words);
	r = sqlite3_exec(writing->file, text, NULL, NULL, NULL);
	list_columns(table, false, columns);
	used = (size_t)snprintf(text, sizeof(text), "INSERT INTO \"%s\" (%s) VALUES (?", table->name, columns);
	for (unsigned i = 1; i < count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ", ?");
	snprintf(text + used, sizeof(text) - used, ")");
	if (!r)
		r = sqlite3_prepare_v2(writing->file, text, -1, &statement, NULL);
	for (size_t i = 0; !r && i < rows; i++, row += table->row_bytes) {
		int at = 2;

		sqlite3_clear_bindings(statement);
		sqlite3_bind_int64(statement, 1, (sqlite3_int64)i);
		for (unsigned k = 0; k < table->column_count; k++) {
			const struct fm_column *column = &table->columns[k];

			at += bind_column(statement, at, column, row + column->offset);
			if (fm_column_is_counts(column->kind) &&
			    save_counts(writing, table, column, i, row + column->offset))
				r = SQLITE_ERROR;
		}
		if (!r && sqlite3_step(statement) != SQLITE_DONE)
			r = SQLITE_ERROR;
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	return r;
}

static int save_documents(sqlite3 *file, const struct fm_recording *recording)
{
	sqlite3_stmt *statement;
	int r = sqlite3_prepare_v2(file, "INSERT INTO documents VALUES (?, ?)", -1, &statement, NULL);

	for (unsigned i = 0; !r && i < recording->document_count; i++) {
		sqlite3_bind_text(statement, 1, recording->documents[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_text(statement, 2, recording->documents[i].text, -1, SQLITE_STATIC);
		if (sqlite3_step(statement) != SQLITE_DONE)
			r = SQLITE_ERROR;
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	return r;
}

/* Frequent questions, for any SQL tool. */
static const char views[] =
    "CREATE VIEW functions AS SELECT function, module, sum(loads) AS loads, sum(stores) AS stores, sum(misses_1) AS "
    "misses_1, "
    "sum(misses_2) AS misses_2, sum(misses_3) AS misses_3, sum(misses_4) AS misses_4, sum(moved_1) AS moved_1, "
    "sum(moved_2) AS "
    "moved_2, sum(moved_3) AS moved_3, sum(moved_4) AS moved_4 FROM lines GROUP BY function, module;"
    "CREATE VIEW totals AS SELECT name, sum(value) AS value FROM counts WHERE \"table\" = 'threads' GROUP BY name;";

static int save_all(sqlite3 *file, struct fm_recording *recording)
{
	const struct fm_schema *schema = fm_schema();
	struct writing writing = {.file = file};
	char text[512];
	int r;

	/* a private file without readers: no journal */
	snprintf(text, sizeof(text),
	         "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA application_id = %d; PRAGMA user_version "
	         "= %d; "
	         "BEGIN; CREATE TABLE fathom (version TEXT); INSERT INTO fathom VALUES ('%s'); "
	         "CREATE TABLE documents (name TEXT PRIMARY KEY, text TEXT); "
	         "CREATE TABLE counts (\"table\" TEXT, \"row\" INTEGER, name TEXT, value INTEGER);",
	         FM_STORE_APPLICATION, FM_STORE_VERSION, FM_VERSION);
	r = sqlite3_exec(file, text, NULL, NULL, NULL);
	if (!r)
		r = sqlite3_prepare_v2(file, "INSERT INTO counts VALUES (?, ?, ?, ?)", -1, &writing.counts, NULL);
	for (unsigned i = 0; !r && i < schema->table_count; i++)
		r = save_table(&writing, &schema->tables[i], recording);
	sqlite3_finalize(writing.counts);
	if (!r)
		r = save_documents(file, recording);
	if (!r)
		r = sqlite3_exec(file, views, NULL, NULL, NULL);
	return r ? r : sqlite3_exec(file, "COMMIT", NULL, NULL, NULL);
}

static int refuse(struct fm_error *error, int code, const char *path, const char *why)
{
	return fm_error_set(error, code, "%s: %s", path, why);
}

int fm_store_check(const char *path, struct fm_error *error)
{
	char folder[PATH_MAX], magic[16] = "";
	struct stat there;
	char *slash;
	int file;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	if (access(slash ? folder : ".", W_OK))
		return fm_error_set(error, errno, "cannot keep a recording in %s: %s", slash ? folder : ".",
		                    strerror(errno));
	if (lstat(path, &there))
		return 0;
	if (S_ISLNK(there.st_mode))
		return refuse(error, EEXIST, path,
		              "it is a symbolic link: a recording replaces it only by its own name");
	file = S_ISREG(there.st_mode) ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (file >= 0) {
		ssize_t got = read(file, magic, sizeof(magic));

		close(file);
		if (!got || (got == sizeof(magic) && !memcmp(magic, "SQLite format 3", sizeof(magic))))
			return 0;
	}
	return refuse(error, EEXIST, path, "it is there and no recording: choose another name, or remove it");
}

/* Files that tools left here which died while they saved: those that live hold a lock. */
static void remove_unsaved(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name);
	char folder[PATH_MAX];
	const struct dirent *entry;
	DIR *list;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	list = opendir(folder);
	while (list && (entry = readdir(list))) {
		struct stat there;
		int file;

		if (strncmp(entry->d_name, name, length) != 0 ||
		    strncmp(entry->d_name + length, UNSAVED, strlen(UNSAVED)) != 0)
			continue;
		file = openat(dirfd(list), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (file >= 0 && !fstat(file, &there) && S_ISREG(there.st_mode) && there.st_uid == geteuid() &&
		    !flock(file, LOCK_EX | LOCK_NB))
			unlinkat(dirfd(list), entry->d_name, 0);
		if (file >= 0)
			close(file);
	}
	if (list)
		closedir(list);
}

int fm_store_save(const char *path, const struct fm_recording *recording, struct fm_error *error)
{
	char beside[PATH_MAX];
	sqlite3 *file = NULL;
	int r = fm_store_check(path, error), descriptor, problem;

	if (r)
		return r;
	if ((size_t)snprintf(beside, sizeof(beside), "%s" UNSAVED "XXXXXX", path) >= sizeof(beside))
		return refuse(error, ENAMETOOLONG, path, "the path is too long");
	remove_unsaved(path);
	descriptor = mkostemp(beside, O_CLOEXEC);
	if (descriptor < 0)
		return fm_error_set(error, errno, "cannot write %s: %s", path, strerror(errno));
	flock(descriptor, LOCK_EX | LOCK_NB);
	fchmod(descriptor, 0644);
	problem = sqlite3_open_v2(beside, &file, SQLITE_OPEN_READWRITE, NULL);
	if (!problem)
		problem = save_all(file, (struct fm_recording *)recording);
	if (problem)
		r = fm_error_set(error, EIO, "cannot write %s: %s", path,
		                 file ? sqlite3_errmsg(file) : "out of memory");
	sqlite3_close(file);
	if (!r && rename(beside, path))
		r = fm_error_set(error, errno, "cannot write %s: %s", path, strerror(errno));
	if (r)
		unlink(beside);
	close(descriptor);
	return r;
}

/* Reading. The file is not trusted: only tables are read, never views, and every value is checked. */

static int64_t number_of(sqlite3 *file, const char *query)
{
	sqlite3_stmt *statement;
	int64_t value = -1;

	if (!sqlite3_prepare_v2(file, query, -1, &statement, NULL) && sqlite3_step(statement) == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

static bool is_table(sqlite3 *file, const char *name)
{
	char *query = sqlite3_mprintf("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = %Q", name);
	bool there = query && number_of(file, query) == 1;

	sqlite3_free(query);
	return there;
}

/* The index of a column by name in the statement; -1: none. Older files may lack some. */
static int find_column(sqlite3_stmt *statement, const char *name, const char *suffix)
{
	char wanted[96];

	snprintf(wanted, sizeof(wanted), "%s%s", name, suffix);
	for (int i = 0; i < sqlite3_column_count(statement); i++) {
		const char *own = sqlite3_column_name(statement, i);

		if (own && !strcmp(own, wanted))
			return i;
	}
	return -1;
}

static void copy_text(sqlite3_stmt *statement, int column, char *place, size_t bytes)
{
	const unsigned char *text = column < 0 ? NULL : sqlite3_column_text(statement, column);

	snprintf(place, bytes, "%s", text ? (const char *)text : "");
}

static void read_figure(sqlite3_stmt *statement, const int *columns, struct fm_figure *figure)
{
	char origin[16];

	memset(figure, 0, sizeof(*figure));
	if (columns[0] < 0 || sqlite3_column_type(statement, columns[0]) == SQLITE_NULL) {
		copy_text(statement, columns[8], figure->why, sizeof(figure->why));
		return;
	}
	figure->available = true;
	figure->value = sqlite3_column_double(statement, columns[0]);
	figure->low = columns[1] < 0 ? figure->value : sqlite3_column_double(statement, columns[1]);
	figure->high = columns[2] < 0 ? figure->value : sqlite3_column_double(statement, columns[2]);
	copy_text(statement, columns[3], figure->unit, sizeof(figure->unit));
	copy_text(statement, columns[4], origin, sizeof(origin));
	figure->origin = fm_origin_find(origin);
	copy_text(statement, columns[5], figure->backend, sizeof(figure->backend));
	figure->trials = columns[6] < 0 ? 0 : (unsigned)sqlite3_column_int64(statement, columns[6]);
	figure->set_aside = columns[7] < 0 ? 0 : (unsigned)sqlite3_column_int64(statement, columns[7]);
}

enum { PARTS_MAX = FIGURE_COLUMNS };

/* The places of the parts of each column in the statement. */
static void find_parts(sqlite3_stmt *statement, const struct fm_column *column, int *ret_parts)
{
	for (unsigned i = 0; i < PARTS_MAX; i++) {
		char suffix[16] = "";

		if (column->kind == FM_COLUMN_LEVELS)
			snprintf(suffix, sizeof(suffix), "_%u", i + 1);
		else if (column->kind == FM_COLUMN_FIGURE)
			snprintf(suffix, sizeof(suffix), "%s", figure_suffixes[i]);
		ret_parts[i] = find_column(statement, column->name, suffix);
	}
}

static void read_column(sqlite3_stmt *statement, const struct fm_column *column, const int *parts, char *place)
{
	if (column->kind == FM_COLUMN_FIGURE) {
		read_figure(statement, parts, (struct fm_figure *)place);
		return;
	}
	for (unsigned i = 0; column->kind == FM_COLUMN_LEVELS && i < FM_SIMULATED_CACHES_MAX; i++)
		fm_counter_set(place, i, parts[i] < 0 ? 0 : (uint64_t)sqlite3_column_int64(statement, parts[i]));
	if (parts[0] < 0)
		return;
	if (column->kind == FM_COLUMN_FLAG) {
		*(bool *)place = sqlite3_column_int64(statement, parts[0]) != 0;
	} else if (column->kind == FM_COLUMN_REAL) {
		fm_column_set_real(column, place, sqlite3_column_double(statement, parts[0]));
	} else if (column->kind == FM_COLUMN_TEXT) {
		copy_text(statement, parts[0], place, column->bytes);
	} else if (column->kind == FM_COLUMN_INTEGER) {
		fm_column_set_integer(column, place, sqlite3_column_int64(statement, parts[0]));
	}
}

/* Memory that an untrusted recording may take for one table. */
#define TABLE_BYTES_MAX (4ull << 30)

static int load_table(sqlite3 *file, const struct fm_table_schema *table, struct fm_recording *recording)
{
	int parts[FM_SCHEMA_COLUMNS][PARTS_MAX];
	char *base = (char *)recording;
	sqlite3_stmt *statement;
	char *query;
	size_t rows = 0;
	int r;

	if (!is_table(file, table->name))
		return 0;
	query = sqlite3_mprintf("SELECT * FROM \"%w\" ORDER BY \"row\"", table->name);
	r = query ? sqlite3_prepare_v2(file, query, -1, &statement, NULL) : SQLITE_NOMEM;
	sqlite3_free(query);
	if (r)
		return r;
	for (unsigned i = 0; i < table->column_count; i++)
		find_parts(statement, &table->columns[i], parts[i]);
	while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
		char *row = table->single ? base + table->rows
		                          : fm_recording_grow((void **)(base + table->rows),
		                                              (size_t *)(base + table->count), table->row_bytes);

		/* samples may be many and are small; other tables need less memory */
		if (!row || ++rows > ROWS_MAX || rows * table->row_bytes > TABLE_BYTES_MAX) {
			r = SQLITE_NOMEM;
			break;
		}
		for (unsigned i = 0; i < table->column_count; i++)
			read_column(statement, &table->columns[i], parts[i], row + table->columns[i].offset);
		if (table->single) {
			r = SQLITE_DONE;
			break;
		}
	}
	sqlite3_finalize(statement);
	return r == SQLITE_DONE ? 0 : r;
}

static const struct fm_table_schema *find_table(const char *name)
{
	const struct fm_schema *schema = fm_schema();

	for (unsigned i = 0; i < schema->table_count; i++)
		if (!strcmp(schema->tables[i].name, name))
			return &schema->tables[i];
	return NULL;
}

static const struct fm_number *find_number(const char *name)
{
	const struct fm_schema *schema = fm_schema();

	for (unsigned i = 0; i < schema->number_count; i++)
		if (!strcmp(schema->numbers[i].name, name))
			return &schema->numbers[i];
	return NULL;
}

static void set_count(struct fm_recording *recording, const char *table_name, int64_t row, const char *name,
                      int64_t value)
{
	const struct fm_table_schema *table = find_table(table_name);
	const struct fm_number *number = find_number(name);
	size_t rows;
	char *first;

	if (!table || !number)
		return; /* of a newer Fathom */
	first = fm_schema_rows(table, recording, &rows);
	for (unsigned i = 0; row >= 0 && (uint64_t)row < rows && i < table->column_count; i++)
		if (table->columns[i].kind == number->kind)
			fm_counter_set(first + (size_t)row * table->row_bytes + table->columns[i].offset, number->index,
			               (uint64_t)value);
}

static int load_counts(sqlite3 *file, struct fm_recording *recording)
{
	sqlite3_stmt *statement;
	uint64_t rows = 0;
	int r =
	    is_table(file, "counts")
	        ? sqlite3_prepare_v2(file, "SELECT \"table\", \"row\", name, value FROM counts", -1, &statement, NULL)
	        : SQLITE_CORRUPT;

	if (r)
		return r;
	while ((r = sqlite3_step(statement)) == SQLITE_ROW && rows++ < 16ull * ROWS_MAX) {
		const char *table = (const char *)sqlite3_column_text(statement, 0),
		           *name = (const char *)sqlite3_column_text(statement, 2);

		if (table && name)
			set_count(recording, table, sqlite3_column_int64(statement, 1), name,
			          sqlite3_column_int64(statement, 3));
	}
	sqlite3_finalize(statement);
	return r == SQLITE_DONE ? 0 : r;
}

static int load_documents(sqlite3 *file, struct fm_recording *recording)
{
	sqlite3_stmt *statement;
	int r = is_table(file, "documents")
	            ? sqlite3_prepare_v2(file, "SELECT name, text FROM documents ORDER BY rowid", -1, &statement, NULL)
	            : SQLITE_CORRUPT;

	if (r)
		return r;
	while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0),
		           *text = (const char *)sqlite3_column_text(statement, 1);

		if (name && text && fm_recording_set(recording, name, text))
			break;
	}
	sqlite3_finalize(statement);
	return r == SQLITE_DONE ? 0 : r;
}

static int load_all(sqlite3 *file, const char *path, struct fm_recording *recording, struct fm_error *error)
{
	const struct fm_schema *schema = fm_schema();
	int64_t version;
	int r;

	sqlite3_limit(file, SQLITE_LIMIT_LENGTH, DOCUMENT_MAX);
	sqlite3_db_config(file, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(file, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (number_of(file, "PRAGMA application_id") != FM_STORE_APPLICATION)
		return refuse(error, EBADMSG, path, "this is no recording of Fathom's");
	version = number_of(file, "PRAGMA user_version");
	if (version < 1 || version > FM_STORE_VERSION)
		return fm_error_set(error, EBADMSG,
		                    "%s: it has version %lld, and this Fathom reads up to %d: use a newer one", path,
		                    (long long)version, FM_STORE_VERSION);
	r = 0;
	for (unsigned i = 0; !r && i < schema->table_count; i++)
		r = load_table(file, &schema->tables[i], recording);
	if (!r)
		r = load_counts(file, recording);
	if (!r)
		r = load_documents(file, recording);
	if (r)
		return fm_error_set(error, EBADMSG, "%s: damaged: %s", path, sqlite3_errmsg(file));
	return 0;
}

/* A path as an address: special characters are written as numbers. */
static char *address_of(const char *path)
{
	char *address = malloc(3 * strlen(path) + 32), *at = address;

	if (!address)
		return NULL;
	at += sprintf(at, "file:");
	for (; *path; path++)
		at += sprintf(at, strchr("?#%", *path) ? "%%%02X" : "%c", (unsigned char)*path);
	/* nothing beside the file, such as a journal, is looked at or written */
	sprintf(at, "?immutable=1");
	return address;
}

int fm_store_load(const char *path, struct fm_recording **ret_recording, struct fm_error *error)
{
	struct fm_recording *recording;
	struct stat there;
	sqlite3 *file = NULL;
	char *address;
	int r;

	if (stat(path, &there))
		return fm_error_set(error, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(there.st_mode))
		return refuse(error, EBADMSG, path, "this is no file");
	recording = fm_recording_create();
	if (!recording)
		return fm_error_set(error, ENOMEM, "out of memory");
	address = address_of(path);
	r = address && sqlite3_open_v2(address, &file, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK
	        ? load_all(file, path, recording, error)
	        : fm_error_set(error, EBADMSG, "%s: cannot be read: %s", path,
	                       file ? sqlite3_errmsg(file) : "out of memory");
	free(address);
	sqlite3_close(file);
	if (!r && fm_recording_settle(recording, error)) {
		r = fm_error_prefix(error, "%s", path);
		error->code = EBADMSG;
	}
	if (r) {
		fm_recording_free(recording);
		return r;
	}
	*ret_recording = recording;
	return 0;
}
