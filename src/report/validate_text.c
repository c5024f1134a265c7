#include "report/validate_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/plot.h"
#include "report/table.h"

static const char *event_name(const struct fm_validation *validation, int event)
{
	return event < 0 ? "n/a" : validation->matrix->events[event].name;
}

static void print_resources(const struct fm_validation *validation, FILE *output, unsigned width, bool socket)
{
	struct fm_table *table = fm_table_create("llrrrrw");
	unsigned rows = 0;
	char text[320], limits[240];

	fm_table_cell(table, socket ? "Socket" : "Core");
	fm_table_cells(table, "access", "GB/s", "M transfers/s", "M events/s", "error", "best indicator");
	for (unsigned i = 0; i < validation->resource_count; i++) {
		const struct fm_resource *resource = &validation->resources[i];

		if (resource->socket != socket)
			continue;
		rows++;
		fm_table_cell(table, "%s", resource->name);
		fm_table_cell(table, resource->write ? "write" : "read");
		fm_table_cell(table, "%.1f", resource->bandwidth_gbs);
		fm_table_cell(table, "%.0f (%u B)", resource->transfers / 1e6, resource->transfer_bytes);
		if (resource->indicator.count) {
			fm_table_cell(table, "%.0f", resource->maximal_events / 1e6);
			fm_table_cell(table, "%.1f %%", 100 * resource->indicator.error);
		} else {
			fm_table_cells(table, "n/a", "n/a");
		}
		fm_indicator_limits(validation->matrix, &resource->indicator, limits, sizeof(limits));
		fm_table_cell(table, "%s%s%s",
		              fm_indicator_text(validation->matrix, &resource->indicator, text, sizeof(text)),
		              *limits ? ": no metric, " : "", limits);
	}
	if (rows) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
	}
	fm_table_free(table);
}

static void print_stalls(const struct fm_validation *validation, FILE *output, unsigned width)
{
	const struct fm_stalls *stalls = &validation->stalls;
	struct fm_cycle_formula formulas[FM_CYCLE_FORMULAS];
	unsigned count = fm_metrics_cycles(validation, formulas), shown = stalls->level_count - 1;
	struct fm_table *table;

	if (stalls->test_count) {
		unsigned cache = shown > 1 ? shown - 1 : shown;

		table = fm_table_create("lrrrrw");
		fm_table_cell(table, "Cycles per load (+24 multiplies)");
		fm_table_cell(table, "%s", stalls->levels[cache]);
		fm_table_cells(table, "+24 independent", "+24 dependent");
		fm_table_cell(table, "%s", stalls->levels[shown]);
		fm_table_cells(table, "role", "(run time)");
		fm_table_cell(table, "%.1f", stalls->cycles_plain[cache]);
		fm_table_cell(table, "%.1f", stalls->cycles_independent[cache]);
		fm_table_cell(table, "%.1f", stalls->cycles_dependent[cache]);
		fm_table_cell(table, "%.1f", stalls->cycles_plain[shown]);
		fm_table_cell(table, "%s", "");
		for (unsigned i = 0; i < stalls->test_count; i++) {
			const struct fm_stall_test *test = &stalls->tests[i];

			fm_table_cell(table, "%s", event_name(validation, (int)test->event));
			fm_table_cell(table, "%.1f", test->plain[cache]);
			fm_table_cell(table, "%.1f", test->independent[cache]);
			fm_table_cell(table, "%.1f", test->dependent[cache]);
			fm_table_cell(table, "%.1f", test->plain[shown]);
			fm_table_cell(table, "%s", fm_stall_role_words(test->role));
		}
		fputc('\n', output);
		fm_table_end(table, output, 0, width);
	}
	if (!count) {
		if (*stalls->why)
			fprintf(output, "\nNo decomposition of cycles: %s\n", stalls->why);
		return;
	}
	table = fm_table_create("lw");
	fm_table_cells(table, "Cycles", "formula");
	for (unsigned i = 0; i < count; i++) {
		fm_table_cell(table, "%s", formulas[i].name);
		fm_table_cell(table, "%s", formulas[i].formula);
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
}

/* Sorted by class, trusted events first. Short stories stand beside the names, long ones below. */
static void print_events(const struct fm_validation *validation, FILE *output, unsigned width)
{
	const struct fm_matrix *matrix = validation->matrix;

	for (unsigned class = 0; class < FM_CLASS_COUNT; class ++) {
		unsigned rows = 0;

		for (unsigned i = 0; i < matrix->event_count; i++) {
			const struct fm_judgement *judgement = &validation->judgements[i];
			struct fm_table *table;

			if (judgement->class != class)
				continue;
			if (!rows++)
				fprintf(output, "\n%s: %s\n", fm_class_name((enum fm_class) class),
				        fm_class_words((enum fm_class) class));
			fprintf(output, "  %s\n", matrix->events[i].name);
			table = fm_table_create("w");
			fm_table_cell(table, "%s", judgement->reason);
			fm_table_end(table, output, 6, width);
		}
	}
}

/* -10 % … +10 %, the mean a dot, from least to most a line. */
static void draw_bar(char *bar, unsigned cells, const struct fm_error_cell *cell, double scale)
{
	int middle = (int)cells / 2;
	int from = (int)lround(fmax(-1, cell->least / scale) * middle) + middle,
	    to = (int)lround(fmin(1, cell->most / scale) * middle) + middle,
	    dot = (int)lround(fmax(-1, fmin(1, cell->mean / scale)) * middle) + middle;

	memset(bar, ' ', cells);
	bar[cells] = '\0';
	bar[middle] = '|';
	for (int i = from; i <= to && i < (int)cells; i++)
		bar[i >= 0 ? i : 0] = '-';
	bar[dot < (int)cells ? dot : (int)cells - 1] = 'o';
}

static void print_errors(const struct fm_validation *validation, FILE *output, unsigned width)
{
	enum { BAR = 41 };
	struct fm_error_cell cells[FM_CELLS_MAX];
	unsigned count = fm_table_errors(validation, cells);
	struct fm_table *table;
	double scale = 0.02;

	if (!count)
		return;
	for (unsigned i = 0; i < count; i++)
		scale = fmax(scale, fmax(fabs(cells[i].least), fabs(cells[i].most)));
	table = fm_table_create("lllrrr");
	fm_table_cells(table, "Lines in and out", "kernel");
	fm_table_cell(table, "error from -%.0f %% to +%.0f %%", 100 * scale, 100 * scale);
	fm_table_cells(table, "mean", "min", "max");
	for (unsigned i = 0; i < count; i++) {
		char bar[BAR + 1];

		draw_bar(bar, BAR, &cells[i], scale);
		fm_table_cell(table, "%s%s", i && !strcmp(cells[i].level, cells[i - 1].level) ? "" : cells[i].level,
		              cells[i].socket && (!i || strcmp(cells[i].level, cells[i - 1].level)) ? ", socket" : "");
		fm_table_cell(table, "%s", cells[i].kernel);
		fm_table_cell(table, "%s", bar);
		fm_table_cell(table, "%+.2f %%", 100 * cells[i].mean);
		fm_table_cell(table, "%+.2f %%", 100 * cells[i].least);
		fm_table_cell(table, "%+.2f %%", 100 * cells[i].most);
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
}

static void print_imbalance(const struct fm_validation *validation, FILE *output, unsigned width)
{
	struct fm_imbalance_row rows[FM_IMBALANCE_MAX];
	unsigned count = fm_table_imbalance(validation, rows);
	struct fm_table *table;

	if (count < 2)
		return;
	table = fm_table_create("lrrrrw");
	fm_table_cells(table, "Unbalanced product", "thread 0", "thread 1", "ratio", "error", "formula");
	for (unsigned i = 0; i < count; i++) {
		fm_table_cell(table, "%s", rows[i].metric);
		if (*rows[i].refused) {
			for (unsigned k = 0; k < 4; k++)
				fm_table_cell(table, "n/a");
			fm_table_cell(table, "%s: no metric, %s", rows[i].formula, rows[i].refused);
			continue;
		}
		fm_table_cell(table, "%.4g", rows[i].values[0]);
		fm_table_cell(table, "%.4g", rows[i].values[1]);
		fm_table_cell(table, "%.3f", rows[i].ratio);
		fm_table_cell(table, i ? "%.2f %%" : " ", 100 * fabs(rows[i].error));
		fm_table_cell(table, "%s", rows[i].formula);
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
}

static void print_sharing(const struct fm_validation *validation, FILE *output, unsigned width)
{
	static const char columns[] = "llrrrrrrr";
	struct fm_sharing_table sharing;
	struct fm_table *table;
	char layout[sizeof(columns)];

	fm_table_sharing(validation, &sharing);
	if (!sharing.row_count || !sharing.event_count)
		return;
	snprintf(layout, 3 + sharing.event_count + 1, "%s", columns);
	table = fm_table_create(layout);
	fm_table_cells(table, "Lines transferred", "between", "lines");
	for (unsigned i = 0; i < sharing.event_count; i++)
		fm_table_cell(table, "[%u]", i + 1);
	for (unsigned r = 0; r < sharing.row_count; r++) {
		const struct fm_sharing_row *row = &sharing.rows[r];

		fm_table_cell(table, "%u per step", row->lines);
		fm_table_cell(table, row->remote ? "sockets" : row->smt ? "cores with two threads" : "cores");
		fm_table_cell(table, "%.0f", row->model);
		for (unsigned i = 0; i < sharing.event_count; i++)
			fm_table_cell(table, row->counts[i] > 0 ? "%+.1f %%" : "none",
			              100 * (row->counts[i] / row->model - 1));
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
	for (unsigned i = 0; i < sharing.event_count; i++)
		fprintf(output, "[%u] %s\n", i + 1, event_name(validation, (int)sharing.events[i]));
}

static void print_summary(const struct fm_validation *validation, FILE *output)
{
	const struct fm_matrix *matrix = validation->matrix;
	unsigned counts[FM_CLASS_COUNT] = {0}, shown = 0;

	for (unsigned i = 0; i < matrix->event_count; i++)
		counts[validation->judgements[i].class]++;
	fprintf(output, "%s (%s): %u events in %u runs, %u repetition%s\n", matrix->machine, matrix->origin,
	        matrix->event_count, matrix->run_count, matrix->repeats, matrix->repeats == 1 ? "" : "s");
	for (unsigned class = 0; class < FM_CLASS_COUNT; class ++)
		if (counts[class])
			fprintf(output, "%s%u %s", shown++ ? ", " : "", counts[class],
			        fm_class_name((enum fm_class) class));
	fputc('\n', output);
}

/* Missing columns of a file: counts of these quantities cannot be judged. */
static void print_missing(const struct fm_validation *validation, FILE *output, unsigned width)
{
	const struct fm_matrix *matrix = validation->matrix;
	char names[1600];
	struct fm_table *table;

	if (!fm_validation_missing(matrix, names, sizeof(names)))
		return;
	table = fm_table_create("w");
	fm_table_cell(table,
	              "Not in the file: %s. Quantities are tested without these columns; --missing-zero sets "
	              "them to 0.",
	              names);
	fm_table_end(table, output, 0, width);
}

void fm_validation_print(const struct fm_validation *validation, FILE *output, unsigned width, int verbose)
{
	print_summary(validation, output);
	print_missing(validation, output, width);
	print_resources(validation, output, width, false);
	print_resources(validation, output, width, true);
	print_stalls(validation, output, width);
	print_errors(validation, output, width);
	print_imbalance(validation, output, width);
	print_sharing(validation, output, width);
	print_events(validation, output, width);
	if (verbose < 1)
		fprintf(output, "\nDetails of one event: --explain EVENT. All counts: --dump FILE.\n");
}

/* One event */

struct point {
	double truth, count;
};

static int by_truth(const void *left, const void *right)
{
	const struct point *a = left, *b = right;

	return a->truth < b->truth ? -1 : a->truth > b->truth;
}

static void plot_event(const struct fm_validation *validation, unsigned event, FILE *output, unsigned width)
{
	const struct fm_matrix *matrix = validation->matrix;
	const struct fm_judgement *judgement = &validation->judgements[event];
	struct point *points = calloc(matrix->run_count + 1, sizeof(*points));
	double *x = calloc(2 * (matrix->run_count + 1), sizeof(*x)), *y = x ? x + matrix->run_count + 1 : NULL, ends[2],
	       line[2];
	unsigned count = 0;
	char title[160];

	if (!points || !x || judgement->quantity < 0)
		goto out;
	for (unsigned r = 0; r < matrix->run_count; r++) {
		double truth = fm_run_quantity(matrix, r, (unsigned)judgement->quantity, judgement->socket),
		       mean = fm_matrix_mean(matrix, event, r);

		if (truth > 0 && mean > 0)
			points[count++] = (struct point){truth, mean};
	}
	if (count < 2)
		goto out;
	qsort(points, count, sizeof(*points), by_truth);
	for (unsigned i = 0; i < count; i++) {
		x[i] = points[i].truth;
		y[i] = points[i].count;
	}
	ends[0] = x[0];
	ends[1] = x[count - 1];
	line[0] = judgement->factor * ends[0];
	line[1] = judgement->factor * ends[1];
	if (ends[1] > ends[0]) {
		const struct fm_plot_series series[] = {{"counted", x, y, count, 0}, {"expected", ends, line, 2, 0}};
		const struct fm_plot plot = {.title = title,
		                             .width = width < 90 ? width : 90,
		                             .height = 14,
		                             .series = series,
		                             .series_count = 2};

		snprintf(title, sizeof(title), "events against %s",
		         matrix->quantities.quantities[judgement->quantity].words);
		fputc('\n', output);
		fm_plot_print(&plot, output);
	}
out:
	free(points);
	free(x);
}

/* Events per unit of the quantity, kernel by kernel and level by level. */
static void print_ratios(const struct fm_validation *validation, unsigned event, FILE *output, unsigned width)
{
	const struct fm_matrix *matrix = validation->matrix;
	const struct fm_judgement *judgement = &validation->judgements[event];
	struct fm_table *table = fm_table_create("lllrrrr");
	unsigned rows = 0;

	fm_table_cells(table, "Kernel", "width", "data in", "cores", "true", "counted", "ratio");
	for (unsigned r = 0; r < matrix->run_count; r++) {
		const struct fm_run *run = &matrix->runs[r];
		double truth = judgement->quantity < 0
		                   ? NAN
		                   : fm_run_quantity(matrix, r, (unsigned)judgement->quantity, judgement->socket),
		       mean = fm_matrix_mean(matrix, event, r);

		if (!isfinite(mean) || (!(truth > 0) && !(mean > 0)))
			continue;
		rows++;
		fm_table_cell(table, "%s", run->kernel);
		fm_table_cell(table, "%s", run->isa);
		fm_table_cell(table, "%s%s%s", run->remote ? "remote " : "", run->level,
		              run->smt ? ", two threads" : "");
		fm_table_cell(table, "%u", run->cores);
		fm_table_cell(table, isfinite(truth) ? "%.0f" : "not known", truth);
		fm_table_cell(table, "%.0f", mean);
		fm_table_cell(table, truth > 0 ? "%.4f" : " ", mean / truth);
	}
	if (rows) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
	}
	fm_table_free(table);
}

void fm_validation_explain(const struct fm_validation *validation, unsigned event, FILE *output, unsigned width)
{
	const struct fm_matrix *matrix = validation->matrix;
	const struct fm_quantities *all = &matrix->quantities;
	const struct fm_judgement *judgement = &validation->judgements[event];
	struct fm_table *table = fm_table_create("lw");

	fprintf(output, "%s on %s (%s)\n\n", matrix->events[event].name, matrix->machine, matrix->origin);
	fm_table_cell(table, "class");
	fm_table_cell(table, "%s: %s", fm_class_name(judgement->class), fm_class_words(judgement->class));
	fm_table_cell(table, "why");
	fm_table_cell(table, "%s", judgement->reason);
	fm_table_cell(table, "scope");
	fm_table_cell(table, "%s", judgement->socket ? "the whole socket" : "one core");
	if (*judgement->formula) {
		fm_table_cell(table, "corrected");
		fm_table_cell(table, "%s", judgement->formula);
	}
	for (unsigned i = 0; i < judgement->term_count; i++) {
		const struct fm_term *term = &judgement->terms[i];

		fm_table_cell(table, "%s", i ? "" : "counts");
		fm_table_cell(table, "%.4g for each of the %s", term->coefficient,
		              term->is_atom ? all->atoms[term->index].words : all->quantities[term->index].words);
	}
	if (judgement->error_runs) {
		fm_table_cell(table, "error");
		fm_table_cell(table, "mean %+.2f %%, range %+.2f … %+.2f %%, as a count of the %s (%u runs)",
		              100 * judgement->error_mean, 100 * judgement->error_min, 100 * judgement->error_max,
		              all->quantities[judgement->quantity].words, judgement->error_runs);
	}
	if (judgement->class != FM_CLASS_dead && judgement->class != FM_CLASS_uncounted) {
		fm_table_cell(table, "fit");
		fm_table_cell(table, "error %.2f %%; on runs left out of the fit %.2f %%", 100 * judgement->misfit,
		              100 * judgement->misfit_left_out);
	}
	fm_table_cell(table, "noise");
	fm_table_cell(table, matrix->repeats > 1 ? "standard deviation %.2f %%" : "not known (one repetition)",
	              100 * judgement->reproducibility);
	fm_table_end(table, output, 0, width);
	plot_event(validation, event, output, width);
	print_ratios(validation, event, output, width);
}

void fm_validation_print_separated(const struct fm_validation *validation, FILE *output, const char *separator)
{
	const struct fm_matrix *matrix = validation->matrix;

	fprintf(output, "event%sclass%squantity%sper_unit%serror_mean%serror_min%serror_max%sformula%sreason\n",
	        separator, separator, separator, separator, separator, separator, separator, separator);
	for (unsigned i = 0; i < matrix->event_count; i++) {
		const struct fm_judgement *judgement = &validation->judgements[i];

		fprintf(output, "%s%s%s%s%s%s", matrix->events[i].name, separator, fm_class_name(judgement->class),
		        separator,
		        judgement->quantity < 0 ? "" : matrix->quantities.quantities[judgement->quantity].name,
		        separator);
		if (judgement->quantity >= 0)
			fprintf(output, "%.6g", judgement->factor);
		for (int k = 0; k < 3; k++) {
			double error = k == 0   ? judgement->error_mean
			               : k == 1 ? judgement->error_min
			                        : judgement->error_max;

			fprintf(output, "%s", separator);
			if (isfinite(error))
				fprintf(output, "%.6g", error);
		}
		fprintf(output, "%s%s%s%s\n", separator, judgement->formula, separator, judgement->reason);
	}
}
