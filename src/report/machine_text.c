#include "report/machine_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/family.h"
#include "report/bandwidth_curve.h"
#include "report/parts.h"
#include "report/plot.h"
#include "report/table.h"

void fm_disturbance_print(const struct fm_disturbance *disturbance, FILE *output, unsigned width)
{
	static const char *const causes[FM_DISTURBANCE_CAUSES] = {
	    "another task used the CPU", "the hypervisor took the CPU", "the core ran slower than its best"};
	struct fm_table *table = fm_table_create("lw");
	char text[400];
	size_t used;
	bool any = false;

	if (!disturbance->disturbed) {
		used = (size_t)snprintf(text, sizeof(text), "0 of %llu trials discarded",
		                        (unsigned long long)disturbance->trials);
	} else {
		used =
		    (size_t)snprintf(text, sizeof(text), "%llu of %llu trials discarded (%.1f %%",
		                     (unsigned long long)disturbance->disturbed,
		                     (unsigned long long)disturbance->trials, 100 * fm_disturbance_share(disturbance));
		for (int i = 0; i < FM_DISTURBANCE_CAUSES; i++)
			if (disturbance->cause[i]) {
				used +=
				    (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %llu", any ? ", " : "; ",
				                     causes[i], (unsigned long long)disturbance->cause[i]);
				any = true;
			}
		used += (size_t)snprintf(text + used, sizeof(text) - used, ")");
	}
	snprintf(text + used, sizeof(text) - used, "; steal time %.2f s in %.0f s",
	         (double)disturbance->stolen_ns / 1e9, (double)disturbance->elapsed_ns / 1e9);
	fm_table_cell(table, "Disturbance:");
	fm_table_cell(table, "%s", text);
	fm_table_end(table, output, 0, width);
}

static int by_number(const void *left, const void *right)
{
	unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;

	return (a > b) - (a < b);
}

static void print_head(const struct fm_machine *machine, FILE *output)
{
	const struct fm_topology *topology = &machine->topology;
	struct fm_cpu_list sorted = machine->cpus;
	char memory[32], frequency[64], cpus[256], first[32] = "";

	qsort(sorted.cpu, sorted.count, sizeof(sorted.cpu[0]), by_number);
	if (sorted.count && sorted.cpu[0] != machine->cpus.cpu[0])
		snprintf(first, sizeof(first), " (first on %u)", machine->cpus.cpu[0]);

	fprintf(output, "%s%s%s\n", topology->processor, *topology->hypervisor ? ", virtual machine under " : "",
	        topology->hypervisor);
	fprintf(output, "%u package%s, %u core%s, %u CPU%s, %u NUMA node%s, %s of memory\n", topology->packages,
	        topology->packages == 1 ? "" : "s", topology->cores, topology->cores == 1 ? "" : "s", topology->cpus,
	        topology->cpus == 1 ? "" : "s", topology->nodes, topology->nodes == 1 ? "" : "s",
	        fm_text_bytes(memory, sizeof(memory), (double)topology->memory_bytes));
	fprintf(output, "Core clock %s, measured on CPU%s %s%s, %s effort, %s\n",
	        fm_figure_text(frequency, sizeof(frequency), &machine->frequency_ghz),
	        machine->cpus.count == 1 ? "" : "s", fm_cpu_list_text(cpus, sizeof(cpus), &sorted), first,
	        fm_effort_name(machine->effort), machine->taken);
}

/* Figures kept from an earlier profile. */
static void print_kept(const struct fm_machine *machine, FILE *output, unsigned width)
{
	struct fm_table *table = fm_table_create("lw");

	for (int part = 0; part < FM_KEPT_PARTS; part++) {
		const char *taken = machine->kept[part].taken;
		char text[400] = "";
		size_t used = 0;

		/* one row for all figures of one measurement */
		for (int other = 0; *taken && other < FM_KEPT_PARTS; other++) {
			if (strcmp(machine->kept[other].taken, taken) != 0)
				continue;
			if (other < part)
				break;
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
			                         fm_kept_words((enum fm_kept_part)other));
		}
		if (used) {
			fm_table_cell(table, "Kept from %s:", taken);
			fm_table_cell(table, "%s", text);
		}
	}
	fm_table_end(table, output, 0, width);
}

/* "1.58 MiB (1.5–1.61)": the range in the unit of the value, to keep the table narrow. */
static const char *bytes_or(char *buffer, size_t size, const struct fm_figure *figure, const char *otherwise)
{
	double scale = 1;
	char low[32], high[32], value[32];

	if (!figure->available) {
		snprintf(buffer, size, "%s", otherwise);
		return buffer;
	}
	while (figure->value / scale >= 1024)
		scale *= 1024;
	snprintf(buffer, size, "%s (%s–%s)", fm_text_bytes(value, sizeof(value), figure->value),
	         fm_text_number(low, sizeof(low), figure->low / scale),
	         fm_text_number(high, sizeof(high), figure->high / scale));
	return buffer;
}

/* A latency, or its interval if that is wide: "12–41 ns" is more useful than "inconclusive". */
static const char *latency_text(char *buffer, size_t size, const struct fm_level *level, const struct fm_figure *figure)
{
	char low[32], high[32];

	if (!figure->available || !level->advertised_bytes ||
	    (!level->no_plateau && fm_figure_relative_width(figure) <= FM_FIGURE_INCONCLUSIVE))
		return fm_figure_text(buffer, size, figure);
	snprintf(buffer, size, "%s–%s %s", fm_text_number(low, sizeof(low), figure->low),
	         fm_text_number(high, sizeof(high), figure->high), figure->unit);
	return buffer;
}

static void print_levels(const struct fm_machine *machine, FILE *output, unsigned width)
{
	struct fm_table *table = fm_table_create("lrlrrr"), *notes = fm_table_create("lw");
	static const char *const heads[] = {"Level", "advertised", "effective", "latency", "in cycles", "on 4K pages"};

	for (unsigned i = 0; i < 6; i++)
		fm_table_cell(table, "%s", heads[i]);
	for (unsigned i = 0; i < machine->level_count; i++) {
		const struct fm_level *level = &machine->levels[i];
		char text[96];

		fm_table_cell(table, "%s", level->name);
		fm_table_cell(
		    table, "%s",
		    level->advertised_bytes ? fm_text_bytes(text, sizeof(text), (double)level->advertised_bytes) : "");
		fm_table_cell(table, "%s",
		              bytes_or(text, sizeof(text), &level->effective_bytes,
		                       level->advertised_bytes ? "not visible" : ""));
		fm_table_cell(table, "%s", latency_text(text, sizeof(text), level, &level->latency_ns));
		fm_table_cell(table, "%s", latency_text(text, sizeof(text), level, &level->latency_cycles));
		fm_table_cell(table, "%s", latency_text(text, sizeof(text), level, &level->latency_small_pages_ns));
		if (level->no_plateau && level->latency_ns.available) {
			fm_table_cell(notes, "%s:", level->name);
			fm_table_cell(notes,
			              "no plateau: latency rises steadily with the size, and the range covers the "
			              "whole rise; typical value %s ns",
			              fm_text_number(text, sizeof(text), level->latency_ns.value));
		} else if (level->advertised_bytes && !level->effective_bytes.available) {
			fm_table_cell(notes, "%s:", level->name);
			fm_table_cell(notes, "not visible: %s", level->effective_bytes.why);
		}
	}
	fm_table_print(table, output, 0, width);
	fm_table_print(notes, output, 0, width);
	fm_table_free(table);
	fm_table_free(notes);
}

static void print_latency_plot(const struct fm_machine *machine, FILE *output, unsigned width)
{
	struct fm_plot_series series[FM_PAGES_COUNT];
	double *numbers[FM_PAGES_COUNT][2] = {{NULL}};
	double marks[FM_LEVELS_MAX];
	const char *names[FM_LEVELS_MAX];
	char titles[FM_LEVELS_MAX][16];
	struct fm_plot plot = {
	    .title = "Latency in ns against data-set size (solid: 2 MiB pages, dotted: 4 KiB; | marks a level's end)",
	    .x_is_bytes = true,
	    .width = width,
	    .height = 14,
	    .series = series,
	    .marks = marks,
	    .mark_names = names};

	for (int pages = 0; pages < FM_PAGES_COUNT; pages++) {
		const struct fm_latency_curve *curve = &machine->curves[pages];

		if (!curve->count)
			continue;
		for (int axis = 0; axis < 2; axis++) {
			numbers[pages][axis] = calloc(curve->count, sizeof(double));
			if (!numbers[pages][axis])
				goto out;
		}
		for (unsigned i = 0; i < curve->count; i++) {
			numbers[pages][0][i] = (double)curve->points[i].bytes;
			numbers[pages][1][i] = curve->points[i].ns.value;
		}
		series[plot.series_count++] = (struct fm_plot_series){.name = fm_pages_name((enum fm_pages)pages),
		                                                      .x = numbers[pages][0],
		                                                      .y = numbers[pages][1],
		                                                      .count = curve->count};
	}
	if (plot.series_count == 1)
		plot.title = "Latency in ns against data-set size (4 KiB pages; | marks a level's end)";
	for (unsigned i = 0; i < machine->level_count; i++)
		if (machine->levels[i].effective_bytes.available) {
			snprintf(titles[plot.mark_count], sizeof(titles[0]), "%s|", machine->levels[i].name);
			names[plot.mark_count] = titles[plot.mark_count];
			marks[plot.mark_count++] = machine->levels[i].effective_bytes.value;
		}
	fm_plot_print(&plot, output);
out:
	for (int pages = 0; pages < FM_PAGES_COUNT; pages++) {
		free(numbers[pages][0]);
		free(numbers[pages][1]);
	}
}

static const struct fm_bandwidth *find_bandwidth(const struct fm_machine *machine, unsigned level,
                                                 enum fm_stream_kernel_index kernel, int isa, unsigned threads)
{
	for (unsigned i = 0; i < machine->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &machine->bandwidths[i];

		if (point->level == level && point->kernel == kernel && (isa < 0 || point->isa == (enum fm_isa)isa) &&
		    point->threads == threads)
			return point;
	}
	return NULL;
}

/* The widest instruction set among the measurements. */
static int widest_measured(const struct fm_machine *machine)
{
	int widest = -1;

	for (unsigned i = 0; i < machine->bandwidth_count; i++)
		if ((int)machine->bandwidths[i].isa > widest)
			widest = (int)machine->bandwidths[i].isa;
	return widest;
}

static bool measured_with(const struct fm_machine *machine, enum fm_stream_kernel_index kernel, int isa,
                          unsigned threads)
{
	for (unsigned level = 0; level < machine->level_count; level++)
		if (find_bandwidth(machine, level, kernel, isa, threads))
			return true;
	return false;
}

/* One table: kernels down, levels across. */
static void print_bandwidth_table(const struct fm_machine *machine, FILE *output, unsigned width, int isa,
                                  unsigned threads)
{
	char alignment[FM_LEVELS_MAX + 3] = "ll";
	struct fm_table *table;

	memset(alignment + 2, 'r', machine->level_count);
	alignment[2 + machine->level_count] = 0;
	table = fm_table_create(alignment);
	fm_table_cells(table, "Kernel", "operation");
	for (unsigned level = 0; level < machine->level_count; level++)
		fm_table_cell(table, "%s", machine->levels[level].name);
	for (int kernel = 0; kernel < FM_STREAM_COUNT; kernel++) {
		if (!measured_with(machine, (enum fm_stream_kernel_index)kernel, isa, threads))
			continue;
		fm_table_cell(table, "%s", fm_streams[kernel].name);
		fm_table_cell(table, "%s", fm_streams[kernel].formula);
		for (unsigned level = 0; level < machine->level_count; level++) {
			const struct fm_bandwidth *point =
			    find_bandwidth(machine, level, (enum fm_stream_kernel_index)kernel, isa, threads);
			char text[64];

			fm_table_cell(table, "%s", point ? fm_figure_text_bare(text, sizeof(text), &point->gbs) : "");
		}
	}
	fm_table_end(table, output, 2, width);
}

/* Bandwidth of the load kernel per instruction set and level, as bars. */
static void print_staircase(const struct fm_machine *machine, FILE *output, unsigned width)
{
	double most = 0;
	unsigned room = width > 50 ? width - 40 : 10;

	for (unsigned i = 0; i < machine->bandwidth_count; i++)
		if (machine->bandwidths[i].kernel == FM_STREAM_load && machine->bandwidths[i].gbs.available)
			most = fmax(most, machine->bandwidths[i].gbs.value);
	if (!(most > 0))
		return;
	fprintf(output, "Bandwidth by level, load kernel\n");
	for (unsigned level = 0; level < machine->level_count; level++)
		for (unsigned i = 0; i < machine->bandwidth_count; i++) {
			const struct fm_bandwidth *point = &machine->bandwidths[i];
			unsigned eighths;
			char label[64];

			if (point->level != level || point->kernel != FM_STREAM_load || !point->gbs.available)
				continue;
			snprintf(label, sizeof(label), "%s %s x%u", machine->levels[level].name,
			         fm_isa_name(point->isa), point->threads);
			fprintf(output, "  %-18s %7.1f GB/s ", label, point->gbs.value);
			eighths = (unsigned)lround(point->gbs.value / most * room * 8);
			for (; eighths >= 8; eighths -= 8)
				fputs("\xe2\x96\x88", output);
			if (eighths)
				fprintf(output, "\xe2\x96%c", 0x90 - (int)eighths); /* ▏ … ▉ are U+258F … U+2589 */
			fputc('\n', output);
		}
}

/* "reads lines first (share 0.97, 0.90–1.00)" */
static const char *share_text(char *buffer, size_t size, const struct fm_figure *share)
{
	if (!share->available)
		snprintf(buffer, size, "write-allocate: n/a (%s)", share->why);
	else
		snprintf(buffer, size, "%s (share %.2f, %.2f–%.2f)",
		         share->low > 0.5     ? "write-allocate"
		         : share->high < 0.5  ? "no write-allocate"
		         : share->value > 0.5 ? "probably write-allocate"
		                              : "probably no write-allocate",
		         share->value, share->low, share->high);
	return buffer;
}

/* GB/s of a kernel in memory; in_pieces: of a string instruction that is repeated for every piece. */
static const char *string_gbs(char *buffer, size_t size, const struct fm_machine *machine, const char *kernel,
                              bool in_pieces)
{
	const struct fm_string_stores *stores = &machine->string_stores;
	char number[32];

	for (unsigned i = 0; i < stores->point_count; i++) {
		const struct fm_bandwidth *point = &stores->points[i];
		const char *name = point->string ? point->string->name : fm_streams[point->kernel].name;

		if (!strcmp(name, kernel) && !machine->levels[point->level].advertised_bytes && point->gbs.available &&
		    in_pieces == (point->piece > 0)) {
			snprintf(buffer, size, "%s", fm_text_number(number, sizeof(number), point->gbs.value));
			return buffer;
		}
	}
	snprintf(buffer, size, "n/a");
	return buffer;
}

static void print_string_stores(const struct fm_machine *machine, FILE *output, unsigned width)
{
	const struct fm_string_stores *stores = &machine->string_stores;
	const struct {
		const char *title, *string, *plain, *nontemporal, *word;
		const struct fm_figure *brief, *extended;
	} rows[] = {
	    {"Clearing, rep stos:", "rep_stos", "store", "store_nt", "stores", &stores->clear_allocates,
	     &stores->clear_long_allocates},
	    {"Copying, rep movs:", "rep_movs", "copy", "copy_nt", "copies", &stores->copy_allocates,
	     &stores->copy_long_allocates},
	};
	struct fm_table *table;

	if (!stores->point_count)
		return;
	fprintf(output, "String stores in memory, 1 thread (write-allocate is inferred from the time):\n");
	table = fm_table_create("lw");
	for (unsigned i = 0; i < 2; i++) {
		char brief[224], extended[224], gbs[4][32], bytes[2][32];

		fm_table_cell(table, "%s", rows[i].title);
		fm_table_cell(table, "%s each: %s, %s GB/s; %s at once: %s, %s GB/s; plain %s %s, non-temporal %s GB/s",
		              fm_text_bytes(bytes[0], sizeof(bytes[0]), (double)stores->short_bytes),
		              share_text(brief, sizeof(brief), rows[i].brief),
		              string_gbs(gbs[0], sizeof(gbs[0]), machine, rows[i].string, true),
		              fm_text_bytes(bytes[1], sizeof(bytes[1]), (double)stores->long_bytes),
		              share_text(extended, sizeof(extended), rows[i].extended),
		              string_gbs(gbs[1], sizeof(gbs[1]), machine, rows[i].string, false), rows[i].word,
		              string_gbs(gbs[2], sizeof(gbs[2]), machine, rows[i].plain, false),
		              string_gbs(gbs[3], sizeof(gbs[3]), machine, rows[i].nontemporal, false));
	}
	fm_table_end(table, output, 2, width);
}

static void print_small_pages(const struct fm_machine *machine, FILE *output)
{
	char text[2][64];

	if (machine->small_pages[FM_SMALL_PAGES_LOAD].available)
		fprintf(output, "Memory on 4 KiB pages, 1 thread: load %s, store %s\n",
		        fm_figure_text(text[0], sizeof(text[0]), &machine->small_pages[FM_SMALL_PAGES_LOAD]),
		        fm_figure_text(text[1], sizeof(text[1]), &machine->small_pages[FM_SMALL_PAGES_STORE]));
}

static void print_touch(const struct fm_machine *machine, FILE *output)
{
	const struct fm_figure *small = &machine->touch[FM_TOUCH_touch_write_4k],
	                       *large = &machine->touch[FM_TOUCH_touch_write_2m];
	char text[2][64];

	if (!machine->touch_measured)
		return;
	fprintf(output, "First write to a page: 4 KiB %s, 2 MiB %s (in the kernel; --core has other kinds)\n",
	        fm_figure_text(text[0], sizeof(text[0]), small), fm_figure_text(text[1], sizeof(text[1]), large));
}

static void print_concurrency(const struct fm_machine *machine, FILE *output, int verbose)
{
	char text[64], other[64];

	fprintf(output, "Outstanding misses per core: %s%s%s\n",
	        fm_figure_text(text, sizeof(text), &machine->outstanding_misses),
	        machine->outstanding_misses.available ? "" : " ",
	        machine->outstanding_misses.available ? "" : machine->outstanding_misses.why);
	if (!machine->loaded_count) {
		fprintf(output, "Latency under load: n/a (%s)\n", machine->loaded_why.why);
	} else if (!machine->bandwidth_curve.count || verbose > 0) { /* else it is part of the curve */
		fprintf(output, "Latency under load (traffic of the other CPUs, memory latency at that traffic):\n");
		for (unsigned i = 0; i < machine->loaded_count; i++)
			fprintf(output, "  %6.1f GB/s   %s\n",
			        machine->loaded[i].traffic_gbs.available ? machine->loaded[i].traffic_gbs.value : NAN,
			        fm_figure_text(other, sizeof(other), &machine->loaded[i].latency_ns));
	}
}

static void print_transfers(const struct fm_machine *machine, FILE *output, unsigned width)
{
	unsigned cpus = machine->cpus.count;
	char alignment[FM_TABLE_COLUMNS_MAX + 1];
	struct fm_table *table;

	if (!machine->transfer_count) {
		fprintf(output, "Core-to-core latency: n/a (%s)\n", machine->transfers_why.why);
		return;
	}
	if (cpus + 1 > FM_TABLE_COLUMNS_MAX) {
		double least = INFINITY, most = 0;

		for (unsigned i = 0; i < machine->transfer_count; i++) {
			if (!machine->transfers[i].ns.available)
				continue;
			least = fmin(least, machine->transfers[i].ns.value);
			most = fmax(most, machine->transfers[i].ns.value);
		}
		fprintf(output, "Core-to-core latency: %.0f to %.0f ns one way, %u pairs (--json has the matrix)\n",
		        least, most, machine->transfer_count);
		return;
	}
	fprintf(output, "Core-to-core latency, one way (one CPU writes a line, the other reads it):\n");
	memset(alignment, 'r', sizeof(alignment));
	alignment[cpus + 1] = 0;
	table = fm_table_create(alignment);
	fm_table_cell(table, "CPU");
	for (unsigned i = 0; i < cpus; i++)
		fm_table_cell(table, "%u", machine->cpus.cpu[i]);
	for (unsigned i = 0; i < cpus; i++) {
		fm_table_cell(table, "%u", machine->cpus.cpu[i]);
		for (unsigned j = 0; j < cpus; j++) {
			char text[64] = "";

			for (unsigned k = 0; k < machine->transfer_count; k++) {
				const struct fm_transfer *pair = &machine->transfers[k];

				if ((pair->from_cpu == machine->cpus.cpu[i] && pair->to_cpu == machine->cpus.cpu[j]) ||
				    (pair->from_cpu == machine->cpus.cpu[j] && pair->to_cpu == machine->cpus.cpu[i]))
					fm_figure_text(text, sizeof(text), &pair->ns);
			}
			fm_table_cell(table, "%s", i == j ? "·" : text);
		}
	}
	fm_table_end(table, output, 2, width);
}

static const struct fm_contention_point *find_contention(const struct fm_machine *machine, unsigned kind,
                                                         unsigned threads)
{
	for (unsigned i = 0; i < machine->contention_count; i++)
		if (machine->contentions[i].kind == kind && machine->contentions[i].threads == threads)
			return &machine->contentions[i];
	return NULL;
}

static void print_contention(const struct fm_machine *machine, FILE *output, unsigned width)
{
	struct fm_table *table;

	if (!machine->contention_count) {
		if (*machine->contention_why.why)
			fprintf(output, "Contention for a line: n/a (%s)\n", machine->contention_why.why);
		return;
	}
	fprintf(output, "Contention for a line (time of an operation per thread while all threads use the line):\n");
	table = fm_table_create("rrrr");
	fm_table_cells(table, "threads", "atomic add, one word", "store, own words", "add, own words");
	for (unsigned i = 0; i < machine->contention_count; i++) {
		unsigned threads = machine->contentions[i].threads;

		if (machine->contentions[i].kind != FM_CONTENTION_ATOMIC)
			continue;
		fm_table_cell(table, "%u", threads);
		for (unsigned kind = 0; kind < FM_CONTENTION_KINDS; kind++) {
			const struct fm_contention_point *point = find_contention(machine, kind, threads);
			char text[64];

			fm_table_cell(table, "%s", point ? fm_figure_text(text, sizeof(text), &point->ns) : "");
		}
	}
	fm_table_end(table, output, 2, width);
}

static void print_numa(const struct fm_machine *machine, FILE *output, unsigned width)
{
	struct fm_table *table;

	if (!machine->numa_count)
		return;
	table = fm_table_create("rrrrr");
	fprintf(output, "NUMA nodes:\n");
	fm_table_cells(table, "CPUs of", "memory of", "threads", "load", "latency");
	for (unsigned i = 0; i < machine->numa_count; i++) {
		const struct fm_numa_pair *pair = &machine->numa[i];
		char text[64];

		fm_table_cell(table, "%u", pair->cpu_node);
		fm_table_cell(table, "%u", pair->memory_node);
		fm_table_cell(table, "%u", pair->threads);
		fm_table_cell(table, "%s", fm_figure_text(text, sizeof(text), &pair->gbs));
		fm_table_cell(table, "%s", fm_figure_text(text, sizeof(text), &pair->latency_ns));
	}
	fm_table_end(table, output, 2, width);
}

/* "256", "72 … 116", with a word if it differs from the measurement. */
static void print_published(struct fm_table *table, const struct fm_figure *measured, const struct fm_figure *published)
{
	const char *word = fm_family_differs(measured, published) ? " differs" : "";

	if (!published->available)
		fm_table_cell(table, "%s", "");
	else if (published->low < published->high)
		fm_table_cell(table, "%g … %g%s", published->low, published->high, word);
	else
		fm_table_cell(table, "%g%s", published->value, word);
}

static void print_parameter(struct fm_table *table, const char *name, const char *words, const char *unit,
                            const struct fm_figure *figure, const struct fm_figure *published)
{
	fm_table_cell(table, "%s", name);
	if (figure->available) {
		fm_table_cell(table, "%.2f", figure->value);
		fm_table_cell(table, "%.2f … %.2f", figure->low, figure->high);
		print_published(table, figure, published);
		fm_table_cell(table, "%s: %s", unit, words);
	} else {
		fm_table_cells(table, "-", "");
		print_published(table, figure, published);
		fm_table_cell(table, *figure->why ? "%s: %s: %s" : "%s: %s", unit, words, figure->why);
	}
}

/* Values known only from the published table; host uses them. */
static void print_taken(const struct fm_machine *machine, const struct fm_family *family, FILE *output)
{
	const char *separator = ": ";

	fprintf(output, "Published values are for %s. Published only", fm_family_words(family));
	for (unsigned i = 0; i < fm_machine_core_figures(machine); i++) {
		struct fm_core_figure core = fm_machine_core_figure(machine, i);
		struct fm_figure taken = fm_family_or_published(core.figure, family, core.name);

		if (taken.available && taken.origin == FM_ORIGIN_published) {
			fprintf(output, "%s%s", separator, core.name);
			separator = ", ";
		}
	}
	fputs(*separator == ':' ? " nothing\n" : "\n", output);
}

void fm_machine_print_core(const struct fm_machine *machine, FILE *output, unsigned width)
{
	static const char *const heads[] = {"", "measured", "interval", "published", ""};
	const struct fm_family *family = fm_family_of(&machine->topology);
	struct fm_table *table = machine->core_measured || family ? fm_table_create("lrrrw") : NULL;

	if (!machine->core_measured)
		fputs("The core was not measured: run 'fathom machine' again.\n", output);
	if (!table)
		return;
	fputs("Core (one kernel per figure; unit: cycles of dependent additions)\n", output);
	for (unsigned i = 0; i < 5; i++)
		fm_table_cell(table, "%s", i == 3 && !family ? "" : heads[i]);
	for (unsigned i = 0; i < fm_machine_core_figures(machine); i++) {
		struct fm_core_figure core = fm_machine_core_figure(machine, i);

		/* a group may be unmeasured as a whole; the reason is printed elsewhere */
		if (!core.figure->available && !core.published.available && !strcmp(core.figure->why, "not measured"))
			continue;
		print_parameter(table, core.name, core.words, core.unit, core.figure, &core.published);
	}
	for (unsigned i = 0; machine->touch_measured && i < FM_TOUCH_PARAMETERS; i++) {
		enum fm_touch_parameter parameter = (enum fm_touch_parameter)i;
		const struct fm_figure none = fm_figure_unavailable("not published");

		print_parameter(table, fm_touch_parameters[parameter].name, fm_touch_parameters[parameter].words,
		                fm_touch_parameters[parameter].unit, &machine->touch[i], &none);
	}
	fm_table_end(table, output, 2, width);
	if (family)
		print_taken(machine, family, output);
}

void fm_machine_print(const struct fm_machine *machine, FILE *output, unsigned width, int verbose)
{
	int widest = widest_measured(machine);
	unsigned all = machine->cpus.count;

	print_head(machine, output);
	print_kept(machine, output, width);
	fm_disturbance_print(&machine->disturbance, output, width);
	fputc('\n', output);
	print_levels(machine, output, width);
	fputc('\n', output);
	if (machine->curves[FM_PAGES_SMALL].count || machine->curves[FM_PAGES_HUGE].count) {
		print_latency_plot(machine, output, width);
		fputc('\n', output);
	}
	for (int isa = widest; isa >= 0; isa--) {
		if (!measured_with(machine, FM_STREAM_load, isa, 1) || (isa != widest && verbose < 1))
			continue;
		fprintf(output, "Bandwidth in GB/s, 1 thread, %s (bytes that the kernel loads and stores)\n",
		        fm_isa_name((enum fm_isa)isa));
		print_bandwidth_table(machine, output, width, isa, 1);
	}
	if (widest >= 0 && all > 1) {
		fprintf(output, "Bandwidth in GB/s, %u threads, %s\n", all, fm_isa_name((enum fm_isa)widest));
		print_bandwidth_table(machine, output, width, widest, all);
	}
	fputc('\n', output);
	print_staircase(machine, output, width);
	fputc('\n', output);
	print_string_stores(machine, output, width);
	if (verbose > 0 && machine->core_measured)
		fm_machine_print_core(machine, output, width);
	print_small_pages(machine, output);
	print_touch(machine, output);
	print_concurrency(machine, output, verbose);
	fm_bandwidth_curve_print(machine, output, width);
	print_transfers(machine, output, width);
	print_contention(machine, output, width);
	print_numa(machine, output, width);
	if (machine->curves[FM_PAGES_HUGE].why.why[0])
		fprintf(output, "2 MiB pages: %s\n", machine->curves[FM_PAGES_HUGE].why.why);
	if (verbose < 1)
		return;
	for (int pages = 0; pages < FM_PAGES_COUNT; pages++) {
		const struct fm_latency_curve *curve = &machine->curves[pages];

		if (curve->count)
			fprintf(output, "Latency curve, %s pages\n", fm_pages_name((enum fm_pages)pages));
		for (unsigned i = 0; i < curve->count; i++) {
			char bytes[32], text[64];

			fprintf(output, "  %10s  %s\n",
			        fm_text_bytes(bytes, sizeof(bytes), (double)curve->points[i].bytes),
			        fm_figure_text(text, sizeof(text), &curve->points[i].ns));
		}
	}
}

static void print_line(FILE *output, const char *separator, const char *quantity, const char *place, const char *detail,
                       const struct fm_figure *figure)
{
	fprintf(output, "%s%s%s%s%s%s", quantity, separator, place, separator, detail, separator);
	if (figure->available)
		fprintf(output, "%.6g%s%s%s%.6g%s%.6g%s%s%s%u\n", figure->value, separator, figure->unit, separator,
		        figure->low, separator, figure->high, separator, fm_origin_name(figure->origin), separator,
		        figure->trials);
	else
		fprintf(output, "%s%s%s%s%s\n", separator, separator, separator, separator, separator);
}

static void separate_levels(const struct fm_machine *machine, FILE *output, const char *separator)
{
	char detail[96];

	for (unsigned i = 0; i < machine->level_count; i++) {
		const struct fm_level *level = &machine->levels[i];

		print_line(output, separator, "effective_bytes", level->name, "", &level->effective_bytes);
		print_line(output, separator, "latency", level->name, "", &level->latency_ns);
		print_line(output, separator, "latency_cycles", level->name, "", &level->latency_cycles);
		print_line(output, separator, "latency_4k", level->name, "", &level->latency_small_pages_ns);
	}
	for (int pages = 0; pages < FM_PAGES_COUNT; pages++)
		for (unsigned i = 0; i < machine->curves[pages].count; i++) {
			snprintf(detail, sizeof(detail), "%zu", machine->curves[pages].points[i].bytes);
			print_line(output, separator, "latency_at_size", fm_pages_name((enum fm_pages)pages), detail,
			           &machine->curves[pages].points[i].ns);
		}
	for (unsigned i = 0; i < machine->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &machine->bandwidths[i];

		snprintf(detail, sizeof(detail), "%s/%s/%u", fm_streams[point->kernel].name, fm_isa_name(point->isa),
		         point->threads);
		print_line(output, separator, "bandwidth", machine->levels[point->level].name, detail, &point->gbs);
	}
	if (machine->string_stores.point_count) {
		const struct fm_string_stores *stores = &machine->string_stores;

		print_line(output, separator, "lines_read_first", "memory", "rep_stos/short", &stores->clear_allocates);
		print_line(output, separator, "lines_read_first", "memory", "rep_stos/long",
		           &stores->clear_long_allocates);
		print_line(output, separator, "lines_read_first", "memory", "rep_movs/short", &stores->copy_allocates);
		print_line(output, separator, "lines_read_first", "memory", "rep_movs/long",
		           &stores->copy_long_allocates);
	}
}

static void separate_core(const struct fm_machine *machine, FILE *output, const char *separator)
{
	const struct {
		bool measured;
		const struct fm_parameter *parameters;
		const struct fm_figure *figures;
		unsigned count;
		const char *place, *detail;
	} groups[] = {
	    {machine->core_measured, fm_core_parameters, machine->core, FM_CORE_PARAMETERS, "core", ""},
	    {machine->core_measured, fm_translation_parameters, machine->translation, FM_TRANSLATION_PARAMETERS, "core",
	     "4 KiB pages"},
	    {machine->core_measured, fm_ways_parameters, machine->ways, FM_WAYS_COUNT, "core", ""},
	    {machine->prefetch_measured, fm_prefetch_parameters, machine->prefetch, FM_PREFETCH_PARAMETERS, "core", ""},
	    {machine->translation_huge_measured, fm_translation_parameters, machine->translation_huge,
	     FM_TRANSLATION_PARAMETERS, "core", "2 MiB pages"},
	    {machine->touch_measured, fm_touch_parameters, machine->touch, FM_TOUCH_PARAMETERS, "kernel", ""},
	};

	for (unsigned g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (unsigned i = 0; groups[g].measured && i < groups[g].count; i++)
			print_line(output, separator, groups[g].parameters[i].name, groups[g].place, groups[g].detail,
			           &groups[g].figures[i]);
	for (unsigned i = 0; i < fm_machine_core_figures(machine); i++) {
		struct fm_core_figure core = fm_machine_core_figure(machine, i);

		if (core.published.available)
			print_line(output, separator, core.name, "core", "published", &core.published);
	}
}

static void separate_memory(const struct fm_machine *machine, FILE *output, const char *separator)
{
	char detail[96];

	for (unsigned i = 0; i < FM_SMALL_PAGES_KERNELS; i++)
		print_line(output, separator, fm_streams[fm_small_pages_kernels[i]].name, "memory", "4 KiB pages",
		           &machine->small_pages[i]);
	print_line(output, separator, "outstanding_misses", "core", "", &machine->outstanding_misses);
	for (unsigned i = 0; i < machine->loaded_count; i++) {
		snprintf(detail, sizeof(detail), "%.1f GB/s", machine->loaded[i].traffic_gbs.value);
		print_line(output, separator, "loaded_latency", "memory", detail, &machine->loaded[i].latency_ns);
	}
	for (unsigned i = 0; i < machine->bandwidth_curve.count; i++) {
		const struct fm_bandwidth_curve_point *point = &machine->bandwidth_curve.points[i];

		snprintf(detail, sizeof(detail), "%s/%u/%.3g", fm_streams[point->kernel].name, point->threads,
		         point->rate);
		print_line(output, separator, "curve_traffic", "memory", detail, &point->traffic_gbs);
		print_line(output, separator, "curve_latency", "memory", detail, &point->latency_ns);
	}
}

static void separate_pairs(const struct fm_machine *machine, FILE *output, const char *separator)
{
	char detail[96];

	for (unsigned i = 0; i < machine->transfer_count; i++) {
		snprintf(detail, sizeof(detail), "%u-%u", machine->transfers[i].from_cpu, machine->transfers[i].to_cpu);
		print_line(output, separator, "core_to_core", "core", detail, &machine->transfers[i].ns);
	}
	for (unsigned i = 0; i < machine->contention_count; i++) {
		snprintf(detail, sizeof(detail), "%s/%u", fm_contention_kinds[machine->contentions[i].kind].name,
		         machine->contentions[i].threads);
		print_line(output, separator, "contention", "core", detail, &machine->contentions[i].ns);
	}
	for (unsigned i = 0; i < machine->numa_count; i++) {
		snprintf(detail, sizeof(detail), "%u-%u", machine->numa[i].cpu_node, machine->numa[i].memory_node);
		print_line(output, separator, "numa_bandwidth", "memory", detail, &machine->numa[i].gbs);
		print_line(output, separator, "numa_latency", "memory", detail, &machine->numa[i].latency_ns);
	}
}

void fm_machine_print_separated(const struct fm_machine *machine, FILE *output, const char *separator)
{
	fm_separated_head(output, separator, "quantity place detail value unit low high origin trials");
	print_line(output, separator, "frequency", "core", "", &machine->frequency_ghz);
	separate_levels(machine, output, separator);
	separate_core(machine, output, separator);
	separate_memory(machine, output, separator);
	separate_pairs(machine, output, separator);
}
