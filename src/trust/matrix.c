#include "trust/matrix.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

enum { RUNS_MAX = 20000, EVENTS_MAX = 5000, REPEATS_MAX = 1000, SPARSE = 16 };

static const char *const kind_names[] = {
#define RUN_KIND(identifier, words) #identifier,
#include "trust/run_kinds.def"
#undef RUN_KIND
};

const char *fm_run_kind_name(enum fm_run_kind kind)
{
	return kind_names[kind];
}

int fm_matrix_create(const struct fm_quantities *quantities, unsigned repeats, struct fm_matrix **ret_matrix)
{
	struct fm_matrix *matrix = calloc(1, sizeof(*matrix));

	if (!matrix)
		return -ENOMEM;
	matrix->quantities = *quantities;
	matrix->repeats = repeats;
	*ret_matrix = matrix;
	return 0;
}

void fm_matrix_free(struct fm_matrix *matrix)
{
	if (!matrix)
		return;
	for (unsigned i = 0; i < matrix->event_count; i++) {
		free(matrix->events[i].counts);
		free(matrix->events[i].means);
	}
	free(matrix->events);
	free(matrix->runs);
	free(matrix);
}

struct fm_run *fm_matrix_add_run(struct fm_matrix *matrix)
{
	if (!fm_array_grow(matrix->runs, matrix->run_count, matrix->run_capacity))
		return NULL;
	memset(&matrix->runs[matrix->run_count], 0, sizeof(*matrix->runs));
	return &matrix->runs[matrix->run_count++];
}

struct fm_event_column *fm_matrix_add_event(struct fm_matrix *matrix, const char *name, bool socket)
{
	size_t count = (size_t)matrix->run_count * matrix->repeats;
	struct fm_event_column *event;

	if (!fm_array_grow(matrix->events, matrix->event_count, matrix->event_capacity))
		return NULL;
	event = &matrix->events[matrix->event_count];
	snprintf(event->name, sizeof(event->name), "%s", name);
	event->socket = socket;
	event->means = NULL;
	event->counts = malloc((count ? count : 1) * sizeof(double));
	if (!event->counts)
		return NULL;
	for (size_t i = 0; i < count; i++)
		event->counts[i] = NAN;
	matrix->event_count++;
	return event;
}

int fm_matrix_find_event(const struct fm_matrix *matrix, const char *name)
{
	for (unsigned i = 0; i < matrix->event_count; i++)
		if (!strcasecmp(matrix->events[i].name, name))
			return (int)i;
	return -1;
}

double fm_run_quantity(const struct fm_matrix *matrix, unsigned run, unsigned quantity, bool socket)
{
	const double *atoms = socket ? matrix->runs[run].socket : matrix->runs[run].own;
	uint64_t set = matrix->quantities.quantities[quantity].atoms;
	double sum = 0;

	set &= ~(socket ? matrix->missing_socket : matrix->missing);
	if (!set || set & ~(socket ? matrix->runs[run].known_socket : matrix->runs[run].known))
		return NAN;
	for (; set; set &= set - 1)
		sum += atoms[__builtin_ctzll(set)];
	return sum;
}

double fm_matrix_mean(const struct fm_matrix *matrix, unsigned event, unsigned run)
{
	const double *counts = fm_matrix_counts(matrix, event, run);
	double sum = 0;
	unsigned n = 0;

	if (matrix->events[event].means)
		return matrix->events[event].means[run];
	for (unsigned k = 0; k < matrix->repeats; k++)
		if (isfinite(counts[k])) {
			sum += counts[k];
			n++;
		}
	return n ? sum / n : NAN;
}

void fm_matrix_settle(struct fm_matrix *matrix)
{
	for (unsigned i = 0; i < matrix->event_count; i++) {
		double *means = matrix->events[i].means ? NULL : malloc((matrix->run_count + 1) * sizeof(*means));

		for (unsigned r = 0; means && r < matrix->run_count; r++)
			means[r] = fm_matrix_mean(matrix, i, r);
		if (means)
			matrix->events[i].means = means;
	}
}

void fm_matrix_take_as_zero(struct fm_matrix *matrix)
{
	uint64_t own = fm_matrix_has_no_truth(matrix, false) ? 0 : matrix->missing,
	         socket = fm_matrix_has_no_truth(matrix, true) ? 0 : matrix->missing_socket;

	for (unsigned r = 0; r < matrix->run_count; r++) {
		matrix->runs[r].known |= own;
		matrix->runs[r].known_socket |= socket;
	}
	matrix->missing &= ~own;
	matrix->missing_socket &= ~socket;
}

/* Writing */

static void write_name(FILE *output, const char *prefix, const char *name)
{
	/* names have commas at most, never quotes */
	fprintf(output, strchr(name, ',') ? "\"%s%s\"" : "%s%s", prefix, name);
}

/* With the comma before it; empty if not known. */
static void write_number(FILE *output, double value)
{
	fputc(',', output);
	if (isfinite(value))
		fprintf(output, "%.17g", value);
}

int fm_matrix_write(const struct fm_matrix *matrix, FILE *output)
{
	const struct fm_quantities *all = &matrix->quantities;

	fprintf(output, "# machine %s\n# origin %s\n# caches", matrix->machine, matrix->origin);
	for (unsigned i = 0; i < all->cache_count; i++)
		fprintf(output, " %s", all->caches[i]);
	fprintf(output, "\n# line %u\n# remote %s\n", all->line_bytes, all->remote ? "yes" : "no");
	fprintf(output, "run,kind,kernel,isa,level,cores,remote,smt,step,thread,repeat,seconds");
	for (unsigned i = 0; i < all->atom_count; i++) {
		if (!(matrix->missing >> i & 1))
			fprintf(output, ",true.%s", all->atoms[i].name);
		if (!(matrix->missing_socket >> i & 1))
			fprintf(output, ",socket.%s", all->atoms[i].name);
	}
	for (unsigned i = 0; i < matrix->event_count; i++) {
		fputc(',', output);
		write_name(output, matrix->events[i].socket ? "uncore:" : "", matrix->events[i].name);
	}
	fputc('\n', output);
	for (unsigned r = 0; r < matrix->run_count; r++)
		for (unsigned k = 0; k < matrix->repeats; k++) {
			const struct fm_run *run = &matrix->runs[r];

			write_name(output, "", run->name);
			fprintf(output, ",%s", kind_names[run->kind]);
			for (unsigned i = 0; i < 3; i++) {
				const char *const words[] = {run->kernel, run->isa, run->level};

				fputc(',', output);
				write_name(output, "", words[i]);
			}
			fprintf(output, ",%u,%d,%d,%u,%u,%u,%.9g", run->cores, run->remote, run->smt, run->step,
			        run->thread, k + 1, run->seconds);
			for (unsigned i = 0; i < all->atom_count; i++) {
				if (!(matrix->missing >> i & 1))
					write_number(output, run->known >> i & 1 ? run->own[i] : NAN);
				if (!(matrix->missing_socket >> i & 1))
					write_number(output, run->known_socket >> i & 1 ? run->socket[i] : NAN);
			}
			for (unsigned i = 0; i < matrix->event_count; i++)
				write_number(output, fm_matrix_counts(matrix, i, r)[k]);
			fputc('\n', output);
		}
	return ferror(output) ? -EIO : 0;
}

/* Reading */

enum column_kind {
	COLUMN_RUN,
	COLUMN_KIND,
	COLUMN_KERNEL,
	COLUMN_ISA,
	COLUMN_LEVEL,
	COLUMN_CORES,
	COLUMN_REMOTE,
	COLUMN_SMT,
	COLUMN_STEP,
	COLUMN_THREAD,
	COLUMN_REPEAT,
	COLUMN_SECONDS,
	COLUMN_FIXED,
	COLUMN_TRUE = COLUMN_FIXED,
	COLUMN_SOCKET,
	COLUMN_EVENT,
};

static const char *const fixed_names[COLUMN_FIXED] = {"run",    "kind", "kernel", "isa",    "level",  "cores",
                                                      "remote", "smt",  "step",   "thread", "repeat", "seconds"};

struct column {
	enum column_kind kind;
	unsigned index; /* of the atom or event */
};

struct reader {
	const char *path;
	FILE *input;
	char *line;
	size_t capacity;
	unsigned number;
	struct column *columns;
	unsigned column_count, column_capacity;
	struct fm_matrix *matrix;
	struct named_event {
		char name[96];
		bool socket;
	} * events;
	unsigned event_count, event_capacity;
	/* rows as they come, before it is known how many repetitions there are */
	struct row {
		unsigned run, repeat;
		double *counts;
	} * rows;
	unsigned row_count, row_capacity;
	struct fm_error *error;
};

static int wrong(struct reader *reader, const char *format, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text), format, what);
	return fm_error_set(reader->error, EBADMSG, "%s:%u: %s", reader->path, reader->number, text);
}

/* The next field, ended by a comma or the line's end; quotes around it are taken off. NULL at the end of the line. */
static char *next_field(char **at)
{
	char *field = *at, *end;

	if (!field)
		return NULL;
	if (*field == '"') {
		field++;
		end = strchr(field, '"');
		if (!end)
			return NULL;
		*end++ = '\0';
		*at = *end == ',' ? end + 1 : NULL;
		return field;
	}
	end = strchr(field, ',');
	if (end)
		*end = '\0';
	*at = end ? end + 1 : NULL;
	return field;
}

static bool read_line(struct reader *reader)
{
	ssize_t length = getline(&reader->line, &reader->capacity, reader->input);

	if (length < 0)
		return false;
	reader->number++;
	/* a byte 0 would end the line: leave one that is no text either */
	for (ssize_t i = 0; i < length; i++)
		if (!reader->line[i])
			reader->line[i] = '\1';
	while (length > 0 && isspace((unsigned char)reader->line[length - 1]))
		reader->line[--length] = '\0';
	return true;
}

static bool number(const char *text, double least, double most, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	return end != text && !*end && isfinite(*ret) && *ret >= least && *ret <= most;
}

/* Valid names: printable, without quotes, which CSV would have to double. */
static bool plain(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || *text == '"')
			return false;
	return true;
}

struct preamble {
	char machine[96], origin[16];
	char caches[FM_SIMULATED_CACHES_MAX][12];
	unsigned cache_count;
	unsigned line_bytes;
	bool remote;
};

static int read_preamble(struct reader *reader, struct preamble *preamble)
{
	while (read_line(reader) && *reader->line == '#') {
		char *text = reader->line + 1, *save = NULL;
		const char *key = strtok_r(text, " \t", &save), *value;
		double bytes;

		if (!key)
			continue;
		if (!strcmp(key, "machine")) {
			if (save && !fm_text_is_clean(save))
				return wrong(reader, "the name of the machine is not UTF-8 text%s", "");
			snprintf(preamble->machine, sizeof(preamble->machine), "%s", save ? save : "");
			fm_text_complete(preamble->machine);
			continue;
		}
		value = strtok_r(NULL, " \t", &save);
		if (!value)
			continue;
		if (!plain(value))
			return wrong(reader, "\"%.40s\" has invalid characters", value);
		if (!strcmp(key, "origin"))
			snprintf(preamble->origin, sizeof(preamble->origin), "%s", value);
		else if (!strcmp(key, "remote"))
			preamble->remote = !strcmp(value, "yes");
		else if (!strcmp(key, "line"))
			preamble->line_bytes = number(value, 0, 1e6, &bytes) ? (unsigned)bytes : 0;
		for (; value && !strcmp(key, "caches"); value = strtok_r(NULL, " \t", &save)) {
			if (preamble->cache_count == FM_SIMULATED_CACHES_MAX || strlen(value) > 11 ||
			    strspn(value, FM_CACHE_NAME_LETTERS) != strlen(value))
				return wrong(reader, "at most four caches with short names of letters and digits%s",
				             "");
			for (unsigned i = 0; i < preamble->cache_count; i++)
				if (!strcmp(preamble->caches[i], value))
					return wrong(reader, "the cache %s is listed twice", value);
			snprintf(preamble->caches[preamble->cache_count++], 12, "%s", value);
		}
	}
	if (!preamble->cache_count)
		return wrong(reader, "there is no line \"# caches L1 L2 …\": %s",
		             "see docs/validate.md for the columns");
	if (preamble->line_bytes < 16 || preamble->line_bytes > 4096)
		return wrong(reader, "\"# line\" must give the length of a cache line in bytes%s", "");
	return 0;
}

static int read_heading(struct reader *reader)
{
	char *at = reader->line, *field;
	bool seen[COLUMN_FIXED] = {false};

	while ((field = next_field(&at))) {
		struct column *column;
		int atom = -1, kind = -1;

		if (!fm_array_grow(reader->columns, reader->column_count, reader->column_capacity))
			return fm_error_set(reader->error, ENOMEM, "no memory for %s", reader->path);
		column = &reader->columns[reader->column_count++];
		for (int i = 0; i < COLUMN_FIXED; i++)
			if (!strcmp(field, fixed_names[i]))
				kind = i;
		if (kind >= 0) {
			seen[kind] = true;
			*column = (struct column){(enum column_kind)kind, 0};
		} else if (!strncmp(field, "true.", 5) || !strncmp(field, "socket.", 7)) {
			bool socket = *field == 's';

			atom = fm_atom_find(&reader->matrix->quantities, field + (socket ? 7 : 5));
			if (atom < 0)
				return wrong(reader, "\"%.60s\" is not a quantity of a machine with these caches",
				             field);
			*column = (struct column){socket ? COLUMN_SOCKET : COLUMN_TRUE, (unsigned)atom};
		} else {
			bool socket = !strncmp(field, "uncore:", 7);
			if (!fm_array_grow(reader->events, reader->event_count, reader->event_capacity))
				return fm_error_set(reader->error, ENOMEM, "no memory for %s", reader->path);
			field += socket ? 7 : 0;
			if (!plain(field) || strlen(field) >= sizeof(reader->events->name))
				return wrong(reader,
				             "the name of an event is too long or has invalid characters: \"%.20s\"",
				             field);
			for (unsigned i = 0; i < reader->event_count; i++)
				if (!strcmp(reader->events[i].name, field))
					return wrong(reader, "the event \"%.60s\" has two columns", field);
			if (!*field || reader->event_count == EVENTS_MAX)
				return wrong(reader, "%s", *field ? "too many events" : "an event has no name");
			snprintf(reader->events[reader->event_count].name, sizeof(reader->events->name), "%s", field);
			reader->events[reader->event_count].socket = socket;
			*column = (struct column){COLUMN_EVENT, reader->event_count++};
		}
	}
	for (unsigned i = 0; i < COLUMN_FIXED; i++)
		if (!seen[i] && (i == COLUMN_RUN || i == COLUMN_CORES || i == COLUMN_SECONDS))
			return wrong(reader, "the column \"%s\" is missing", fixed_names[i]);
	if (!reader->event_count)
		return wrong(reader, "there is no event among the columns%s", "");
	return 0;
}

/* Atoms that have no column. */
static void note_missing(struct reader *reader)
{
	struct fm_matrix *matrix = reader->matrix;

	matrix->missing = matrix->missing_socket = (1ull << matrix->quantities.atom_count) - 1;
	for (unsigned i = 0; i < reader->column_count; i++) {
		const struct column *column = &reader->columns[i];

		if (column->kind == COLUMN_TRUE)
			matrix->missing &= ~(1ull << column->index);
		else if (column->kind == COLUMN_SOCKET)
			matrix->missing_socket &= ~(1ull << column->index);
	}
}

static int set_field(struct reader *reader, struct fm_run *run, struct row *row, const struct column *column,
                     const char *field)
{
	double value = 0;

	if (column->kind <= COLUMN_LEVEL && !plain(field))
		return wrong(reader, "\"%.40s\" has invalid characters", field);
	switch (column->kind) {
	case COLUMN_RUN:
		if (strlen(field) >= sizeof(run->name))
			return wrong(reader, "the name of a run is too long: \"%.40s…\"", field);
		snprintf(run->name, sizeof(run->name), "%s", field);
		return 0;
	case COLUMN_KERNEL:
		snprintf(run->kernel, sizeof(run->kernel), "%s", field);
		return 0;
	case COLUMN_ISA:
		snprintf(run->isa, sizeof(run->isa), "%s", field);
		return 0;
	case COLUMN_LEVEL:
		snprintf(run->level, sizeof(run->level), "%s", field);
		return 0;
	case COLUMN_KIND:
		for (unsigned i = 0; i < FM_RUN_KIND_COUNT; i++)
			if (!strcmp(field, kind_names[i])) {
				run->kind = (enum fm_run_kind)i;
				return 0;
			}
		return wrong(reader, "\"%.40s\" is not a kind of run", field);
	default:
		break;
	}
	if (column->kind >= COLUMN_TRUE && !*field)
		return 0; /* not counted, not known */
	if (!number(field, 0, 1e18, &value))
		return wrong(reader, "\"%.40s\" is not a count", field);
	switch (column->kind) {
	case COLUMN_CORES:
		run->cores = (unsigned)fmin(value, 65536);
		return run->cores ? 0 : wrong(reader, "a run has no core%s", "");
	case COLUMN_REMOTE:
		run->remote = value != 0;
		return 0;
	case COLUMN_SMT:
		run->smt = value != 0;
		return 0;
	case COLUMN_STEP:
		run->step = (unsigned)fmin(value, 1e9);
		return 0;
	case COLUMN_THREAD:
		run->thread = (unsigned)fmin(value, 65536);
		return 0;
	case COLUMN_REPEAT:
		if (value < 1 || value > REPEATS_MAX)
			return wrong(reader, "repetitions are counted from 1 to 1000, not \"%s\"", field);
		row->repeat = (unsigned)value;
		return 0;
	case COLUMN_SECONDS:
		run->seconds = value;
		return value > 0 ? 0 : wrong(reader, "a run took no time%s", "");
	case COLUMN_TRUE:
		run->own[column->index] = value;
		run->known |= 1ull << column->index;
		return 0;
	case COLUMN_SOCKET:
		run->socket[column->index] = value;
		run->known_socket |= 1ull << column->index;
		return 0;
	default:
		row->counts[column->index] = value;
		return 0;
	}
}

static int read_row(struct reader *reader)
{
	struct fm_matrix *matrix = reader->matrix;
	char *at = reader->line, *field;
	struct fm_run run = {.cores = 1};
	struct row *row;
	unsigned count = 0, known;
	int r;

	if (!fm_array_grow(reader->rows, reader->row_count, reader->row_capacity))
		return fm_error_set(reader->error, ENOMEM, "no memory for %s", reader->path);
	row = &reader->rows[reader->row_count];
	*row = (struct row){.repeat = 1, .counts = malloc(reader->event_count * sizeof(double))};
	if (!row->counts)
		return fm_error_set(reader->error, ENOMEM, "no memory for %s", reader->path);
	reader->row_count++;
	for (unsigned i = 0; i < reader->event_count; i++)
		row->counts[i] = NAN;
	while ((field = next_field(&at))) {
		if (count == reader->column_count)
			return wrong(reader, "more fields than columns%s", "");
		r = set_field(reader, &run, row, &reader->columns[count++], field);
		if (r)
			return r;
	}
	if (count != reader->column_count)
		return wrong(reader, "fewer fields than columns%s", "");
	/* a repetition of the run before, or of an earlier one */
	for (known = matrix->run_count; known > 0; known--)
		if (!strcmp(matrix->runs[known - 1].name, run.name))
			break;
	if (!known) {
		struct fm_run *added;

		if (matrix->run_count == RUNS_MAX)
			return wrong(reader, "too many runs%s", "");
		added = fm_matrix_add_run(matrix);
		if (!added)
			return fm_error_set(reader->error, ENOMEM, "no memory for %s", reader->path);
		*added = run;
		known = matrix->run_count;
	}
	row->run = known - 1;
	if (row->repeat > matrix->repeats)
		matrix->repeats = row->repeat;
	return 0;
}

/* Two lines for one repetition of a run contradict each other. */
static int check_repetitions(struct reader *reader)
{
	const struct fm_matrix *matrix = reader->matrix;
	bool *seen = calloc((size_t)matrix->run_count * matrix->repeats + 1, sizeof(*seen));
	int r = 0;

	if (!seen)
		return fm_error_set(reader->error, ENOMEM, "no memory for %s", reader->path);
	for (unsigned i = 0; !r && i < reader->row_count; i++) {
		const struct row *row = &reader->rows[i];
		bool *place = &seen[(size_t)row->run * matrix->repeats + row->repeat - 1];

		if (*place)
			r = fm_error_set(reader->error, EBADMSG, "%s: repetition %u of the run \"%s\" is listed twice",
			                 reader->path, row->repeat, matrix->runs[row->run].name);
		*place = true;
	}
	free(seen);
	return r;
}

static int read_all(struct reader *reader)
{
	struct preamble preamble = {.line_bytes = 64, .origin = "measured"};
	struct fm_quantities quantities;
	int r = read_preamble(reader, &preamble);

	if (r)
		return r;
	fm_quantities_build(&quantities, preamble.cache_count, (const char(*)[12])preamble.caches, preamble.remote,
	                    preamble.line_bytes);
	r = fm_matrix_create(&quantities, 1, &reader->matrix);
	if (r)
		return fm_error_set(reader->error, -r, "no memory for %s", reader->path);
	snprintf(reader->matrix->machine, sizeof(reader->matrix->machine), "%s", preamble.machine);
	snprintf(reader->matrix->origin, sizeof(reader->matrix->origin), "%s", preamble.origin);
	r = read_heading(reader);
	if (!r)
		note_missing(reader);
	while (!r && read_line(reader))
		if (*reader->line && *reader->line != '#')
			r = fm_text_is_clean(reader->line) ? read_row(reader)
			                                   : wrong(reader, "the file is not UTF-8 text%s", "");
	if (!r && !reader->row_count)
		r = wrong(reader, "there is no run%s", "");
	/* memory is for all repetitions of all runs: a few lines must not ask for gigabytes of it */
	if (!r &&
	    (size_t)reader->matrix->run_count * reader->matrix->repeats > SPARSE * (size_t)reader->row_count + SPARSE)
		r = wrong(reader, "most repetitions of most runs are missing%s", "");
	for (unsigned i = 0; !r && i < reader->event_count; i++)
		if (!fm_matrix_add_event(reader->matrix, reader->events[i].name, reader->events[i].socket))
			r = fm_error_set(reader->error, ENOMEM, "no memory for %s", reader->path);
	if (!r)
		r = check_repetitions(reader);
	for (unsigned i = 0; !r && i < reader->row_count; i++)
		for (unsigned k = 0; k < reader->event_count; k++)
			fm_matrix_counts(reader->matrix, k, reader->rows[i].run)[reader->rows[i].repeat - 1] =
			    reader->rows[i].counts[k];
	return r;
}

int fm_matrix_read(const char *path, struct fm_matrix **ret_matrix, struct fm_error *error)
{
	struct reader reader = {.path = path, .error = error};
	int r;

	reader.input = fopen(path, "re");
	if (!reader.input)
		return fm_error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	r = read_all(&reader);
	fclose(reader.input);
	free(reader.line);
	free(reader.columns);
	free(reader.events);
	for (unsigned i = 0; i < reader.row_count; i++)
		free(reader.rows[i].counts);
	free(reader.rows);
	if (r)
		fm_matrix_free(reader.matrix);
	else
		*ret_matrix = reader.matrix;
	return r;
}
