/* Positions of threads in native code, and rounds of the laboratory, as rows of a recording, with the names of their
   source lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/parts.h"
#include "symbols/symbols.h"

#define POSITION_SECONDS (65536 * 1e-9) /* unit of fm_result_position.at */

/* An address of the code, and the row of its source line. */
struct known {
	uint64_t pc;
	uint32_t row; /* NOT_ITS_OWN: in a library of ours */
};
enum { NOT_ITS_OWN = UINT32_MAX };

static int by_address(const void *left, const void *right)
{
	const struct known *a = left, *b = right;

	return (a->pc > b->pc) - (a->pc < b->pc);
}

static bool is_same(const struct fm_recorded_running *a, const struct fm_recorded_running *b)
{
	return a->line == b->line && !strcmp(a->file, b->file) && !strcmp(a->function, b->function) &&
	       !strcmp(a->inlined, b->inlined) && !strcmp(a->module, b->module);
}

static int add_row(struct fm_recording *recording, const struct fm_recorded_running *row, uint32_t *ret_row)
{
	struct fm_recorded_running *added;

	for (size_t i = 0; i < recording->runnings_count; i++)
		if (is_same(&recording->runnings[i], row)) {
			*ret_row = (uint32_t)i;
			return 0;
		}
	added = fm_recording_add(recording, runnings);
	if (!added)
		return -ENOMEM;
	*added = *row;
	*ret_row = (uint32_t)(recording->runnings_count - 1);
	return 0;
}

/* The row of the source line of an address, made if necessary. There are few, since positions are few. */
static int find_row(struct fm_recording *recording, struct fm_symbols *symbols, uint64_t pc, uint32_t *ret_row)
{
	struct fm_recorded_running row = {.function = "?"};
	struct fm_location_names names;

	if (symbols) {
		fm_symbols_find(symbols, pc, &names);
		if (!strncmp(names.module, "libfathom-", 10)) {
			*ret_row = NOT_ITS_OWN;
			return 0;
		}
		snprintf(row.function, sizeof(row.function), "%s", names.function);
		snprintf(row.inlined, sizeof(row.inlined), "%s", names.inlined);
		snprintf(row.file, sizeof(row.file), "%s", names.file);
		row.line = names.line;
		snprintf(row.module, sizeof(row.module), "%s", names.module);
	}
	return add_row(recording, &row, ret_row);
}

/* Code of the C library and of others, and code of their headers. */
static bool is_library(const struct fm_results *results, const struct fm_location_names *names, uint64_t pc)
{
	static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};

	if (*names->file && fm_symbols_is_foreign(names->file))
		return true;
	for (unsigned i = 0; i < results->module_count && i < FM_RESULT_MODULES_MAX; i++) {
		const struct fm_result_module *module = &results->modules[i];

		if (pc < module->begin || pc >= module->end)
			continue;
		for (size_t k = 0; k < sizeof(folders) / sizeof(folders[0]); k++)
			if (!strncmp(module->path, folders[k], strlen(folders[k])) &&
			    strncmp(module->path, results->program, sizeof(module->path) - 1) != 0)
				return true;
		return false;
	}
	return true; /* code that the program made */
}

/* Of a position in a library: 1 + the row of the innermost caller in the program's own source; 0: none. */
static uint32_t find_caller(const struct fm_results *results, const struct fm_result_position *position,
                            struct fm_symbols *symbols, struct fm_recording *recording)
{
	struct fm_location_names names;
	uint32_t row;

	if (!symbols)
		return 0;
	fm_symbols_find(symbols, position->pc, &names);
	if (!is_library(results, &names, position->pc))
		return 0;
	for (unsigned i = 0; i < FM_RESULT_CALLERS && position->callers[i]; i++) {
		fm_symbols_find(symbols, position->callers[i] - 1, &names);
		if (names.line && !is_library(results, &names, position->callers[i] - 1) &&
		    !find_row(recording, symbols, position->callers[i] - 1, &row) && row != NOT_ITS_OWN)
			return row + 1;
	}
	return 0;
}

/* Most positions of a program are at a few stacks. */
struct found_caller {
	uint64_t pc, callers[FM_RESULT_CALLERS];
	uint32_t row;
};
enum { FOUND_CALLERS = 4096 };

static uint32_t find_caller_again(const struct fm_results *results, const struct fm_result_position *position,
                                  struct fm_symbols *symbols, struct fm_recording *recording,
                                  struct found_caller *known)
{
	struct found_caller own = {.pc = position->pc};
	uint64_t hash = own.pc;

	memcpy(own.callers, position->callers, sizeof(own.callers));
	for (unsigned i = 0; i < FM_RESULT_CALLERS; i++)
		hash = (hash ^ own.callers[i]) * 0x9e3779b97f4a7c15u;
	known += hash >> 52;
	_Static_assert(FOUND_CALLERS == 1 << 12, "the highest bits");
	if (known->pc != own.pc || memcmp(known->callers, own.callers, sizeof(own.callers)) != 0) {
		own.row = find_caller(results, position, symbols, recording);
		*known = own;
	}
	return known->row;
}

static int name_all(const struct fm_results *results, unsigned count, struct fm_symbols *symbols, struct known *known,
                    unsigned *ret_known, struct fm_recording *recording)
{
	unsigned used = 0;
	int r = 0;

	for (unsigned i = 0; i < count; i++)
		known[i].pc = results->positions[i].pc;
	qsort(known, count, sizeof(*known), by_address);
	for (unsigned i = 0; i < count && !r; i++)
		if (!used || known[used - 1].pc != known[i].pc) {
			known[used] = known[i];
			r = find_row(recording, symbols, known[used].pc, &known[used].row);
			used++;
		}
	*ret_known = used;
	return r;
}

int fm_positions_record(const struct fm_results *results, uint32_t process, struct fm_symbols *symbols,
                        struct fm_recording *recording)
{
	unsigned count = results->position_count < FM_RESULT_POSITIONS_MAX ? results->position_count
	                                                                   : FM_RESULT_POSITIONS_MAX,
	         known_count;
	struct known *known = calloc(count + 1ul, sizeof(*known));
	struct found_caller *callers = calloc(FOUND_CALLERS, sizeof(*callers));
	int r = known && callers ? name_all(results, count, symbols, known, &known_count, recording) : -ENOMEM;

	for (unsigned i = 0; i < count && !r; i++) {
		const struct fm_result_position *from = &results->positions[i];
		const struct known wanted = {.pc = from->pc},
		                   *found = bsearch(&wanted, known, known_count, sizeof(*known), by_address);
		struct fm_recorded_position *row;
		uint32_t caller;

		/* another process writes the results: it may have changed them meanwhile */
		if (!found || found->row == NOT_ITS_OWN)
			continue;
		caller = find_caller_again(results, from, symbols, recording, callers);
		row = fm_recording_add(recording, positions);
		if (!row) {
			r = -ENOMEM;
			break;
		}
		*row = (struct fm_recorded_position){.process = process,
		                                     .thread = from->thread,
		                                     .running = found->row,
		                                     .caller = caller,
		                                     .at = (float)(from->at * POSITION_SECONDS),
		                                     .seconds = (float)(from->ns * 1e-9),
		                                     .plain = from->plain,
		                                     .kernel = from->kernel,
		                                     .locks = from->locks,
		                                     .waits = from->waits,
		                                     .shares = from->shares > 100 ? 1 : from->shares / 100.0f};
	}
	free(known);
	free(callers);
	return r;
}

static const char *const kinds[] = {
#define KIND(name, text) text,
#define PROBLEM(name, text)
#include "base/timings.def"
#undef PROBLEM
#undef KIND
};
static const char *const problems[] = {
#define KIND(name, text)
#define PROBLEM(name, text) text,
#include "base/timings.def"
#undef PROBLEM
#undef KIND
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), PROBLEMS = sizeof(problems) / sizeof(problems[0]) };

int fm_timings_record(const struct fm_results *results, uint32_t process, struct fm_symbols *symbols,
                      struct fm_recording *recording)
{
	unsigned count = results->timing_count < FM_RESULT_TIMINGS_MAX ? results->timing_count : FM_RESULT_TIMINGS_MAX;
	struct known latest = {.row = NOT_ITS_OWN};

	for (unsigned i = 0; i < count; i++) {
		const struct fm_result_timing *from = &results->timed[i];
		struct fm_recorded_timing *row;

		/* the branch in front of the mark */
		if (latest.row == NOT_ITS_OWN || latest.pc != from->mark) {
			latest.pc = from->mark;
			if (find_row(recording, from->mark ? symbols : NULL, from->mark - 1, &latest.row))
				return -ENOMEM;
		}
		if (latest.row == NOT_ITS_OWN || from->kind >= KINDS || from->problem >= PROBLEMS)
			continue;
		row = fm_recording_add(recording, timed);
		if (!row)
			return -ENOMEM;
		*row = (struct fm_recorded_timing){.process = process,
		                                   .mark = from->mark,
		                                   .running = latest.row,
		                                   .seconds = (double)from->ns * 1e-9,
		                                   .visits = from->visits,
		                                   .instructions = from->instructions,
		                                   .lines = from->lines,
		                                   .pages = from->pages};
		snprintf(row->kind, sizeof(row->kind), "%s", kinds[from->kind]);
		if (from->problem)
			snprintf(row->problem, sizeof(row->problem), "%s", problems[from->problem]);
	}
	return 0;
}
