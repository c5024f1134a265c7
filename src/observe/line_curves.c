#include "observe/line_curves.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/assumed.h"
#include "replay/curves.h"
#include "reuse/lines.h"

enum {
	REGIONS_MOST = 16, /* curves that are kept of each kind */
	OBJECTS_MOST = 16,
	LINES_MOST = 32,
	POINTS_EVERY = 4, /* of a part's curve each fourth one is kept */
	PART_BINS = FM_LINES_BINS(FM_RESULT_REUSE_PART_BITS),
	BINS = FM_LINES_BINS(FM_RESULT_REUSE_BITS),
};

struct fm_line_part {
	enum fm_curve_kind kind;
	char name[FM_FUNCTION];
	double long_ones;
	double bins[FM_RESULT_REUSE_GROUPS][PART_BINS];
};

/* Uncounted accesses are like the rest. They touch new lines as often as the rest, or never, if a program touches all
   its memory at first: half of that. */
static double scale_of(unsigned bin, unsigned bins, double uncounted)
{
	return 1 + (bin == bins - 1 ? uncounted / 2 : uncounted);
}

static struct fm_line_part *find_part(struct fm_line_parts *parts, enum fm_curve_kind kind, const char *name)
{
	struct fm_line_part *part;

	for (size_t i = 0; i < parts->count; i++)
		if (parts->parts[i].kind == kind && !strcmp(parts->parts[i].name, name))
			return &parts->parts[i];
	part = fm_recording_grow((void **)&parts->parts, &parts->count, sizeof(*part));
	if (!part)
		return NULL;
	part->kind = kind;
	snprintf(part->name, sizeof(part->name), "%s", name);
	return part;
}

int fm_line_parts_add(struct fm_line_parts *parts, enum fm_curve_kind kind, const char *name, double uncounted,
                      const struct fm_result_reuse_part *part)
{
	struct fm_line_part *own = find_part(parts, kind, name);

	if (!own)
		return -ENOMEM;
	for (unsigned group = 0; group < FM_RESULT_REUSE_GROUPS; group++)
		for (unsigned bin = 0; bin < PART_BINS; bin++)
			if (isfinite(part->bins[group][bin]) && part->bins[group][bin] > 0) {
				double touches = part->bins[group][bin] * scale_of(bin, PART_BINS, uncounted);

				own->bins[group][bin] += touches;
				own->long_ones += touches;
			}
	return 0;
}

void fm_line_parts_free(struct fm_line_parts *parts)
{
	free(parts->parts);
	*parts = (struct fm_line_parts){0};
}

const char *fm_line_name(char *buffer, size_t size, const char *function, const char *inlined, const char *file,
                         int64_t line, const char *module)
{
	const char *slash = strrchr(file, '/'), *name = *inlined ? inlined : function;

	if (*file)
		snprintf(buffer, size, "%s:%lld (%s)", slash ? slash + 1 : file, (long long)line, name);
	else
		snprintf(buffer, size, "%s [%s]", name, module);
	return buffer;
}

static int by_weight(const void *left, const void *right)
{
	const struct fm_line_part *a = *(const struct fm_line_part *const *)left,
	                          *b = *(const struct fm_line_part *const *)right;
	int order = (a->kind > b->kind) - (a->kind < b->kind);

	if (!order)
		order = (a->long_ones < b->long_ones) - (a->long_ones > b->long_ones);
	return order ? order : strcmp(a->name, b->name);
}

/* The number of processes with distances, and their sum. */
struct program {
	double bins[FM_RESULT_GROUPS_MAX][BINS];
	unsigned groups;
	uint32_t one_in;
	double references, doubt, uncounted;
};

static void add_process(struct program *program, const struct fm_results *results, const struct fm_recording *recording,
                        size_t process)
{
	const struct fm_result_reuse *reuse = &results->reuse;
	unsigned groups = reuse->group_count < FM_RESULT_GROUPS_MAX ? reuse->group_count : FM_RESULT_GROUPS_MAX;
	double references = (double)recording->processes[process].loads + (double)recording->processes[process].stores;

	if (!groups || !reuse->share)
		return;
	program->groups = groups > program->groups ? groups : program->groups;
	program->one_in = reuse->share;
	program->references += references;
	program->uncounted += references * recording->processes[process].uncounted;
	program->doubt += (double)results->lost_accesses;
	for (unsigned group = 0; group < groups; group++)
		for (unsigned bin = 0; bin < BINS; bin++) {
			double touches = reuse->groups[group][bin], uncounted = recording->processes[process].uncounted;

			if (!isfinite(touches) || !(touches > 0))
				continue;
			program->bins[group][bin] += touches * scale_of(bin, BINS, uncounted);
			if (bin == BINS - 1)
				program->doubt += touches * uncounted / 2;
		}
}

static int write_program(const struct program *program, const struct fm_recorded_curve *described,
                         struct fm_recording *recording)
{
	const struct fm_lines_sample sample = {.one_in = program->one_in,
	                                       .references = program->references,
	                                       .groups = program->groups,
	                                       .bits = FM_RESULT_REUSE_BITS,
	                                       .bins = program->bins[0],
	                                       .doubt = program->doubt,
	                                       .uncounted = program->uncounted};
	struct fm_recorded_curve row = *described;
	struct fm_miss_curve curve;
	double widest = 0;
	int r = fm_miss_lines(&sample, &curve);

	if (r)
		return r;
	for (unsigned i = 0; i < FM_MISS_POINTS; i++)
		if (fm_miss_bytes(i) >= 64.0 * program->one_in * FM_LINES_LEAST)
			widest = fmax(widest, (curve.points[i].high - curve.points[i].low) / 2);
	if (widest > FM_CURVE_WIDEST)
		snprintf(row.remark, sizeof(row.remark),
		         "not conclusive at all sizes, only %.0f long distances were seen", fm_lines_long(&sample));
	return fm_curve_write(&curve, &row, 1, recording);
}

static int write_part(const struct program *program, const struct fm_line_part *part,
                      const struct fm_recorded_curve *described, struct fm_recording *recording)
{
	const struct fm_lines_sample sample = {
	    .one_in = program->one_in,
	    .references = program->references,
	    .groups = program->groups < FM_RESULT_REUSE_GROUPS ? program->groups : FM_RESULT_REUSE_GROUPS,
	    .bits = FM_RESULT_REUSE_PART_BITS,
	    .bins = part->bins[0],
	    .uncounted = program->uncounted};
	struct fm_recorded_curve row = *described;
	struct fm_miss_curve curve;
	int r = fm_miss_lines(&sample, &curve);

	if (r)
		return r;
	row.kind = part->kind;
	snprintf(row.name, sizeof(row.name), "%s", part->name);
	return fm_curve_write(&curve, &row, POINTS_EVERY, recording);
}

static int write_parts(const struct program *program, const struct fm_line_parts *parts,
                       const struct fm_recorded_curve *described, struct fm_recording *recording)
{
	unsigned left[FM_CURVE_KINDS] = {0, REGIONS_MOST, OBJECTS_MOST, LINES_MOST};
	const struct fm_line_part **sorted = calloc(parts->count + 1, sizeof(const struct fm_line_part *));
	int r = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < parts->count; i++)
		sorted[i] = &parts->parts[i];
	qsort(sorted, parts->count, sizeof(*sorted), by_weight);
	for (size_t i = 0; i < parts->count && !r; i++)
		if (sorted[i]->long_ones >= FM_CURVE_DISTANCES && left[sorted[i]->kind]) {
			left[sorted[i]->kind]--;
			r = write_part(program, sorted[i], described, recording);
		}
	free(sorted);
	return r;
}

static int write_caches(const struct fm_machine_description *machine, struct fm_recording *recording)
{
	for (unsigned i = 0; i < machine->cache_count; i++) {
		struct fm_recorded_cache *row = fm_recording_add(recording, caches);

		if (!row)
			return -ENOMEM;
		snprintf(row->name, sizeof(row->name), "%.*s", (int)sizeof(row->name) - 1, machine->caches[i].name);
		row->bytes = (double)fm_cache_available(&machine->caches[i]);
	}
	return 0;
}

int fm_line_curves_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                          const struct fm_line_parts *parts, struct fm_recording *recording)
{
	struct program *program = calloc(1, sizeof(*program));
	struct fm_recorded_curve row = {.kind = FM_CURVE_PROGRAM};
	int r;

	if (!program)
		return -ENOMEM;
	add_process(program, run->results, recording, 0);
	for (unsigned i = 0; i < run->forked_count; i++)
		add_process(program, run->forked[i], recording, i + 1);
	if (program->references > 0)
		program->uncounted /= program->references;
	row.references = (uint64_t)program->references;
	row.one_in = program->one_in;
	row.groups = program->groups;
	r = write_program(program, &row, recording);
	if (!r)
		r = write_parts(program, parts, &row, recording);
	if (!r)
		r = write_caches(machine, recording);
	free(program);
	return r == -ENODATA ? 0 : r;
}

/* Rows of the whole run, by the subject of the curve. */
static double own_references(const struct fm_recorded_curve *curve, const struct fm_recording *recording)
{
	char name[FM_FUNCTION];
	double sum = 0;

	if (curve->kind == FM_CURVE_REGION)
		for (size_t i = 0; i < recording->regions_count; i++)
			if (!strcmp(recording->regions[i].name, curve->name))
				sum += (double)recording->regions[i].counts.loads +
				       (double)recording->regions[i].counts.stores;
	if (curve->kind == FM_CURVE_OBJECT)
		for (size_t i = 0; i < recording->objects_count; i++)
			if (!strcmp(recording->objects[i].name, curve->name))
				sum += (double)recording->objects[i].loads + (double)recording->objects[i].stores;
	if (curve->kind == FM_CURVE_LINE)
		for (size_t i = 0; i < recording->lines_count; i++) {
			const struct fm_recorded_place *line = &recording->lines[i];

			if (!strcmp(fm_line_name(name, sizeof(name), line->function, line->inlined, line->file,
			                         line->line, line->module),
			            curve->name))
				sum += (double)line->loads + (double)line->stores;
		}
	return sum;
}

void fm_line_curves_settle(const char *region, struct fm_recording *recording)
{
	double counted = 0, factor;

	for (size_t i = 0; i < recording->curves_count; i++)
		recording->curves[i].own_references = own_references(&recording->curves[i], recording);
	if (!region || !recording->curves_count)
		return;
	for (size_t i = 0; i < recording->threads_count; i++)
		counted += (double)recording->threads[i].counts.loads + (double)recording->threads[i].counts.stores;
	factor = counted > 0 ? (double)recording->curves[0].references / counted : 1;
	for (size_t i = 0; i < recording->curves_count; i++)
		recording->curves[i].references = (uint64_t)counted;
	for (size_t i = 0; i < recording->curve_points_count; i++) {
		struct fm_recorded_curve_point *point = &recording->curve_points[i];

		point->value = fmin(1, point->value * factor);
		point->low = fmin(1, point->low * factor);
		point->high = fmin(1, point->high * factor);
	}
}
