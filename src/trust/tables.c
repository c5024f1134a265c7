#include "trust/tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trust/sharing.h"

static const struct fm_resource *find_resource(const struct fm_validation *validation, const char *name, bool write,
                                               bool socket)
{
	for (unsigned i = 0; i < validation->resource_count; i++) {
		const struct fm_resource *resource = &validation->resources[i];

		if (!strcmp(resource->name, name) && resource->write == write && resource->socket == socket &&
		    resource->indicator.count)
			return resource;
	}
	return NULL;
}

/* Reading and writing of a level, by one core's events or else the socket's. */
static bool find_pair(const struct fm_validation *validation, const char *level, const struct fm_resource **ret_read,
                      const struct fm_resource **ret_write)
{
	for (int socket = 0; socket < 2; socket++) {
		*ret_read = find_resource(validation, level, false, socket);
		*ret_write = find_resource(validation, level, true, socket);
		if (*ret_read && *ret_write)
			return true;
	}
	return false;
}

static void add_error(struct fm_error_cell *cells, unsigned *count, const struct fm_run *run, bool socket, double error)
{
	struct fm_error_cell *cell = NULL;

	for (unsigned i = 0; i < *count; i++)
		if (!strcmp(cells[i].level, run->level) && !strcmp(cells[i].kernel, run->kernel))
			cell = &cells[i];
	if (!cell) {
		if (*count == FM_CELLS_MAX)
			return;
		cell = &cells[(*count)++];
		*cell = (struct fm_error_cell){.socket = socket, .least = INFINITY, .most = -INFINITY};
		snprintf(cell->level, sizeof(cell->level), "%s", run->level);
		snprintf(cell->kernel, sizeof(cell->kernel), "%s", run->kernel);
	}
	cell->mean += (error - cell->mean) / ++cell->runs;
	cell->least = fmin(cell->least, error);
	cell->most = fmax(cell->most, error);
}

unsigned fm_table_errors(const struct fm_validation *validation, struct fm_error_cell *ret_cells)
{
	const struct fm_matrix *matrix = validation->matrix;
	const struct fm_quantities *all = &matrix->quantities;
	unsigned count = 0;

	for (unsigned level = 1; level <= all->cache_count; level++) {
		const char *name = level < all->cache_count ? all->caches[level] : "memory";
		const struct fm_resource *read, *write;

		if (!find_pair(validation, name, &read, &write))
			continue;
		for (unsigned r = 0; r < matrix->run_count; r++) {
			const struct fm_run *run = &matrix->runs[r];
			double truth, estimate;

			if (run->kind != FM_RUN_stream || strcmp(run->level, name) || run->remote)
				continue;
			truth = fm_run_quantity(matrix, r, read->quantity, read->socket) +
			        fm_run_quantity(matrix, r, write->quantity, write->socket);
			estimate = fm_indicator_estimate(matrix, &read->indicator, r) +
			           fm_indicator_estimate(matrix, &write->indicator, r);
			if (truth > 0 && isfinite(estimate))
				add_error(ret_cells, &count, run, read->socket, estimate / truth - 1);
		}
	}
	return count;
}

/* The runs of the product, by thread; false when there are none. */
static bool find_triangle(const struct fm_matrix *matrix, unsigned *ret_runs)
{
	unsigned found = 0;

	for (unsigned r = 0; r < matrix->run_count; r++)
		if (matrix->runs[r].kind == FM_RUN_triangle && matrix->runs[r].thread < 2) {
			ret_runs[matrix->runs[r].thread] = r;
			found |= 1u << matrix->runs[r].thread;
		}
	return found == 3;
}

static void add_imbalance(struct fm_imbalance_row *rows, unsigned *count, const char *metric, const char *formula,
                          double first, double second, double truth)
{
	struct fm_imbalance_row *row = &rows[*count];

	if (*count == FM_IMBALANCE_MAX || !(second > 0) || !isfinite(first))
		return;
	snprintf(row->metric, sizeof(row->metric), "%s", metric);
	snprintf(row->formula, sizeof(row->formula), "%s", formula);
	*row->refused = '\0';
	row->values[0] = first;
	row->values[1] = second;
	row->ratio = first / second;
	row->error = row->ratio / truth - 1;
	++*count;
}

/* A rejected metric stays rejected here: a fit to two threads that both prefetch proves nothing. */
static bool refuse_imbalance(const struct fm_matrix *matrix, const struct fm_resource *read,
                             const struct fm_resource *write, const char *metric, const char *formula,
                             struct fm_imbalance_row *row)
{
	const struct fm_resource *wrong = !fm_indicator_holds(&read->indicator)             ? read
	                                  : write && !fm_indicator_holds(&write->indicator) ? write
	                                                                                    : NULL;
	char text[160];

	if (!wrong)
		return false;
	memset(row, 0, sizeof(*row));
	snprintf(row->metric, sizeof(row->metric), "%s", metric);
	snprintf(row->formula, sizeof(row->formula), "%s",
	         wrong == read ? formula : fm_indicator_text(matrix, &wrong->indicator, text, sizeof(text)));
	fm_indicator_limits(matrix, &wrong->indicator, row->refused, sizeof(row->refused));
	return true;
}

unsigned fm_table_imbalance(const struct fm_validation *validation, struct fm_imbalance_row *ret_rows)
{
	const struct fm_matrix *matrix = validation->matrix;
	const struct fm_quantities *all = &matrix->quantities;
	unsigned runs[2], count = 0;
	double flops[2], truth;
	char metric[48], formula[160], text[160];

	if (!find_triangle(matrix, runs))
		return 0;
	for (unsigned i = 0; i < 2; i++)
		flops[i] = matrix->runs[runs[i]].own[all->flops];
	truth = flops[0] / flops[1];
	add_imbalance(ret_rows, &count, "elements", "true", flops[0] / 2, flops[1] / 2, truth);
	for (unsigned i = 0; i < matrix->event_count; i++) {
		const struct fm_judgement *judgement = &validation->judgements[i];
		const char *name = judgement->quantity >= 0 ? all->quantities[judgement->quantity].name : "";

		if (judgement->class == FM_CLASS_exact && !judgement->socket &&
		    (!strcmp(name, "flops") || !strcmp(name, "vector_calculations") || !strcmp(name, "instructions")))
			add_imbalance(ret_rows, &count, name, matrix->events[i].name,
			              fm_matrix_mean(matrix, i, runs[0]), fm_matrix_mean(matrix, i, runs[1]), truth);
	}
	for (unsigned level = 1; level <= all->cache_count && count < FM_IMBALANCE_MAX; level++) {
		const char *name = level < all->cache_count ? all->caches[level] : "memory";
		const struct fm_resource *read = find_resource(validation, name, false, false),
		                         *write = find_resource(validation, name, true, false);
		double volumes[2];

		if (!read)
			continue;
		snprintf(metric, sizeof(metric), "%s volume, bytes", name);
		snprintf(formula, sizeof(formula), "%s",
		         fm_indicator_text(matrix, &read->indicator, text, sizeof(text)));
		if (refuse_imbalance(matrix, read, write, metric, formula, &ret_rows[count])) {
			count++;
			continue;
		}
		for (unsigned i = 0; i < 2; i++)
			volumes[i] =
			    all->line_bytes * (fm_indicator_estimate(matrix, &read->indicator, runs[i]) +
			                       (write ? fm_indicator_estimate(matrix, &write->indicator, runs[i]) : 0));
		add_imbalance(ret_rows, &count, metric, formula, volumes[0], volumes[1], truth);
	}
	return count;
}

void fm_table_sharing(const struct fm_validation *validation, struct fm_sharing_table *ret_table)
{
	const struct fm_matrix *matrix = validation->matrix;
	const struct fm_quantities *all = &matrix->quantities;

	memset(ret_table, 0, sizeof(*ret_table));
	for (unsigned i = 0; i < matrix->event_count && ret_table->event_count < FM_SHARING_EVENTS_MAX; i++) {
		int quantity = validation->judgements[i].quantity;

		if ((quantity >= 0 && !strncmp(all->quantities[quantity].name, "transfers", 9)) ||
		    fm_sharing_counts_only_handovers(matrix, i))
			ret_table->events[ret_table->event_count++] = i;
	}
	for (unsigned r = 0; r < matrix->run_count && ret_table->row_count < FM_SHARING_MAX; r++) {
		const struct fm_run *run = &matrix->runs[r];
		struct fm_sharing_row *row = &ret_table->rows[ret_table->row_count];

		if (run->kind != FM_RUN_handover)
			continue;
		*row = (struct fm_sharing_row){.lines = run->step, .remote = run->remote, .smt = run->smt};
		row->model = run->own[all->transfers[0]] + (all->remote ? run->own[all->transfers[1]] : 0);
		for (unsigned i = 0; i < ret_table->event_count; i++)
			row->counts[i] = fm_matrix_mean(matrix, ret_table->events[i], r);
		ret_table->row_count++;
	}
}
