#include "report/stat_text.h"

#include <string.h>

#include "base/text.h"
#include "report/table.h"

/* 1234567 as 1,234,567 */
static void number_cell(struct fm_table *table, uint64_t value)
{
	char text[40];

	fm_table_cell(table, "%s", fm_text_grouped(text, sizeof(text), value));
}

static void heads(struct fm_table *table, const char *const *names, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		fm_table_cell(table, "%s", names[i]);
}

static void print_levels(const struct fm_stat *stat, FILE *output, unsigned width)
{
	static const char *const names[] = {"Level",        "load hits", "load misses", "store misses",
	                                    "lines demand", "ownership", "prefetched",  "written back"};
	struct fm_table *table = fm_table_create("lrrrrrrr");
	char text[40], other[40];

	heads(table, names, 8);
	for (unsigned i = 0; i < stat->machine->cache_count; i++) {
		const struct fm_cache_counts *cache = &stat->total.caches[i];

		fm_table_cell(table, "%s", stat->machine->caches[i].name);
		number_cell(table, cache->load_hits);
		number_cell(table, cache->load_misses);
		number_cell(table, cache->store_misses);
		number_cell(table, cache->lines_demand);
		number_cell(table, cache->lines_ownership);
		number_cell(table, cache->lines_prefetch);
		number_cell(table, cache->lines_written);
	}
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
	fprintf(output, "memory  %s lines read, ", fm_text_grouped(text, sizeof(text), stat->total.memory_reads));
	fprintf(output, "%s written", fm_text_grouped(text, sizeof(text), stat->total.memory_writes));
	if (stat->machine->sockets > 1)
		fprintf(output, "; from another socket %s and %s",
		        fm_text_grouped(text, sizeof(text), stat->total.memory_reads_remote),
		        fm_text_grouped(other, sizeof(other), stat->total.memory_writes_remote));
	if (stat->total.nontemporal_lines)
		fprintf(output, "; %s past the caches",
		        fm_text_grouped(text, sizeof(text), stat->total.nontemporal_lines));
	fputc('\n', output);
	for (unsigned i = 0; i < stat->machine->tlb_count; i++)
		fprintf(output, "%stranslation misses of level %u: %s", i ? ", " : "", i + 1,
		        fm_text_grouped(text, sizeof(text), stat->total.tlb_misses[i]));
	if (stat->machine->tlb_count)
		fputc('\n', output);
}

static void print_cycles(const struct fm_timing_counts *timing, FILE *output)
{
	char text[40];
	double cycles = (double)timing->cycles;

	if (!timing->cycles)
		return;
	fprintf(output, "\nCycles %s, of which nothing executed in %.1f %%:\n",
	        fm_text_grouped(text, sizeof(text), timing->cycles), 100 * (double)timing->no_execute / cycles);
	for (int i = 0; i < FM_STALL_COUNT; i++)
		if (timing->stalls[i] > timing->cycles / 1000)
			fprintf(output, "  %5.1f %%  %s\n", 100 * (double)timing->stalls[i] / cycles,
			        fm_stall_words((enum fm_stall)i));
	fprintf(output,
	        "  a first-level miss outstanding in %.1f %%, fill buffers full in %.1f %%,\n"
	        "  super queue full in %.1f %%, store buffer full in %.1f %%\n",
	        100 * (double)timing->miss_pending / cycles, 100 * (double)timing->fill_buffers_full / cycles,
	        100 * (double)timing->super_queue_full / cycles, 100 * (double)timing->store_buffer_full / cycles);
}

static void count_row(struct fm_table *table, const struct fm_stat *stat, const struct fm_work *work,
                      const struct fm_core_counts *counts, const struct fm_timing_counts *timing)
{
	number_cell(table, work->instructions);
	number_cell(table, counts->loads);
	number_cell(table, counts->stores);
	for (unsigned i = 0; i < stat->machine->cache_count; i++)
		number_cell(table, counts->caches[i].load_misses + counts->caches[i].store_misses);
	/* there is room for one of them */
	number_cell(table, stat->timing.cycles ? timing->cycles : counts->transfers_modified + counts->transfers_clean);
}

static struct fm_table *count_table(const struct fm_stat *stat, const char *first, const char *second)
{
	char alignment[FM_TABLE_COLUMNS_MAX + 1] = "lrrrr";
	struct fm_table *table;

	memset(alignment + 5, 'r', stat->machine->cache_count + 1);
	alignment[5 + stat->machine->cache_count + 1] = 0;
	table = fm_table_create(alignment);
	fm_table_cell(table, "%s", first);
	fm_table_cell(table, "%s", second);
	fm_table_cell(table, "instructions");
	fm_table_cell(table, "loads");
	fm_table_cell(table, "stores");
	for (unsigned i = 0; i < stat->machine->cache_count; i++)
		fm_table_cell(table, "%s misses", stat->machine->caches[i].name);
	fm_table_cell(table, stat->timing.cycles ? "cycles" : "transfers");
	return table;
}

static void print_threads(const struct fm_stat *stat, FILE *output, unsigned width, unsigned top)
{
	const struct fm_results *results = stat->run->results;
	struct fm_table *table;

	if (results->thread_count < 2)
		return;
	table = count_table(stat, "Thread", "core");
	for (unsigned i = 0; i < results->thread_count && i < top; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(results, i, &counts, &timing);
		fm_table_cell(table, "%u%s", i, results->threads[i].shares_core ? " (shares)" : "");
		fm_table_cell(table, "%u", results->threads[i].core);
		count_row(table, stat, &results->threads[i].work, &counts, &timing);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	if (results->thread_count > top)
		fprintf(output, "… and %u more threads (--top)\n", results->thread_count - top);
	fm_table_free(table);
}

static void print_regions(const struct fm_stat *stat, FILE *output, unsigned width)
{
	const struct fm_results *results = stat->run->results;
	struct fm_table *table;

	if (!results->region_count)
		return;
	table = count_table(stat, "Region (thread)", "times");
	for (unsigned i = 0; i < results->region_count; i++) {
		const struct fm_result_region *region = &results->regions[i];

		fm_table_cell(table, "%.20s (%u)", region->name, region->thread);
		number_cell(table, region->instances);
		count_row(table, stat, &region->work, &region->counts, &region->timing);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
}

/* A table of places or objects: accesses and misses. */
static struct fm_table *miss_table(const struct fm_stat *stat, const char *title)
{
	char alignment[FM_TABLE_COLUMNS_MAX + 1] = "lrr";
	struct fm_table *table;

	memset(alignment + 3, 'r', stat->machine->cache_count);
	alignment[3 + stat->machine->cache_count] = 0;
	table = fm_table_create(alignment);
	fm_table_cell(table, "%s", title);
	fm_table_cell(table, "loads");
	fm_table_cell(table, "stores");
	for (unsigned i = 0; i < stat->machine->cache_count; i++)
		fm_table_cell(table, "%s misses", stat->machine->caches[i].name);
	return table;
}

static void miss_cells(struct fm_table *table, const struct fm_stat *stat, uint64_t loads, uint64_t stores,
                       const uint64_t *misses)
{
	number_cell(table, loads);
	number_cell(table, stores);
	for (unsigned k = 0; k < stat->machine->cache_count; k++)
		number_cell(table, misses[k]);
}

static void print_objects(const struct fm_stat *stat, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table;
	char bytes[40];

	if (stat->object_count < 2)
		return;
	table = miss_table(stat, "Variable");
	for (size_t i = 0; i < stat->object_count; i++) {
		const struct fm_stat_object *object = &stat->objects[i];

		/* the rest of memory is the last and always shown */
		if (i >= top && i + 1 < stat->object_count)
			continue;
		if (object->bytes)
			fm_table_cell(table, "%.22s [%.14s] %s", object->name, object->module,
			              fm_text_bytes(bytes, sizeof(bytes), (double)object->bytes));
		else if (*object->module)
			fm_table_cell(table, "%.22s [%.20s]", object->name, object->module);
		else
			fm_table_cell(table, "%s", object->name);
		miss_cells(table, stat, object->loads, object->stores, object->misses);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
}

static void print_places(const struct fm_stat *stat, FILE *output, unsigned width, const struct fm_stat_place *places,
                         size_t count, const char *title, bool lines)
{
	struct fm_table *table;

	if (!count)
		return;
	table = miss_table(stat, title);
	for (size_t i = 0; i < count; i++) {
		const char *file = strrchr(places[i].file, '/');

		if (lines && places[i].line)
			fm_table_cell(table, "%.24s:%d %.19s", file ? file + 1 : places[i].file, places[i].line,
			              places[i].function);
		else
			fm_table_cell(table, "%.22s [%.20s]", places[i].function, places[i].module);
		miss_cells(table, stat, places[i].loads, places[i].stores, places[i].misses);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
}

static void print_processes(const struct fm_stat *stat, FILE *output, unsigned width, unsigned top)
{
	const struct fm_engine_run *run = stat->run;
	struct fm_table *table;

	if (!run->forked_count)
		return;
	table = fm_table_create("lrrrr");
	fm_table_cell(table, "Process");
	fm_table_cell(table, "instructions");
	fm_table_cell(table, "loads");
	fm_table_cell(table, "stores");
	fm_table_cell(table, "lines read from memory");
	for (unsigned i = 0; i <= run->forked_count && i < top; i++) {
		const struct fm_results *results = i ? run->forked[i - 1] : run->results;
		struct fm_stat one = {0};
		const char *slash = strrchr(results->program, '/');

		fm_stat_add_process(&one, results);
		fm_table_cell(table, "%u %.40s%s", results->process, slash ? slash + 1 : results->program,
		              !i                  ? ""
		              : results->executed ? " (executed)"
		                                  : " (forked)");
		number_cell(table, one.work.instructions);
		number_cell(table, one.total.loads);
		number_cell(table, one.total.stores);
		number_cell(table, one.total.memory_reads);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	if (run->forked_count >= top)
		fprintf(output, "… and %u more processes (--top)\n", run->forked_count + 1 - top);
	fm_table_free(table);
}

/* "bytes 0-7" of a mask with one bit for each. */
static void print_bytes(FILE *output, const char *what, uint64_t mask)
{
	unsigned first = 0;

	if (!mask)
		return;
	fprintf(output, " %s", what);
	for (unsigned ranges = 0; first < 64; ranges++) {
		unsigned last;

		while (first < 64 && !(mask >> first & 1))
			first++;
		if (first == 64)
			return;
		if (ranges == 2) {
			fputs(",…", output);
			return;
		}
		for (last = first; last + 1 < 64 && mask >> (last + 1) & 1; last++)
			;
		fprintf(output, "%s%u-%u", ranges ? "," : " ", first, last);
		first = last + 1;
	}
}

static void print_shared_line(const struct fm_stat_sharing *sharing, FILE *output)
{
	fprintf(output, "  0x%llx  %s sharing%s%s: modified %llu, clean %llu, invalidated %llu\n",
	        (unsigned long long)sharing->line, fm_sharing_kind(sharing), *sharing->object ? " of " : "",
	        sharing->object, (unsigned long long)sharing->modified, (unsigned long long)sharing->clean,
	        (unsigned long long)sharing->invalidations);
	if (sharing->modified + sharing->clean < 10)
		return;
	for (unsigned i = 0; i < sharing->user_count; i++) {
		const struct fm_stat_sharer *user = &sharing->users[i];
		const char *slash = strrchr(user->file, '/');

		fprintf(output, "      thread %d", user->thread);
		print_bytes(output, "writes bytes", user->written);
		print_bytes(output, "reads bytes", user->read);
		if (*user->field)
			fprintf(output, " (%s)", user->field);
		if (*user->file)
			fprintf(output, ", %s:%d", slash ? slash + 1 : user->file, user->source_line);
		else if (*user->function)
			fprintf(output, ", %s", user->function);
		fputc('\n', output);
	}
}

static void print_sharing(const struct fm_stat *stat, FILE *output, unsigned top)
{
	const struct fm_results *results = stat->run->results;
	char text[40];

	if (!results->line_count)
		return;
	fprintf(output, "\nLines that moved between cores:\n  %s transfers of modified lines, ",
	        fm_text_grouped(text, sizeof(text), stat->total.transfers_modified));
	fprintf(output, "%s of clean ones, ", fm_text_grouped(text, sizeof(text), stat->total.transfers_clean));
	fprintf(output, "%s invalidations\n", fm_text_grouped(text, sizeof(text), stat->total.invalidations));
	for (unsigned i = 0; i < stat->sharing_count && i < top; i++)
		print_shared_line(&stat->sharing[i], output);
}

static void print_remarks(const struct fm_stat *stat, FILE *output)
{
	const struct fm_results *results = stat->run->results;
	char text[40];

	fputc('\n', output);
	for (unsigned i = 0; i < results->exec_count; i++)
		fprintf(output, "Not followed: the program executed %s, which ran outside the engine.\n",
		        results->execs[i]);
	if (stat->run->forked_count)
		fprintf(output, "%u process%s it made %s in the totals; an executed one begins with empty caches.\n",
		        stat->run->forked_count, stat->run->forked_count == 1 ? "" : "es",
		        stat->run->forked_count == 1 ? "is" : "are");
	if (stat->options->region && !results->region_count)
		fprintf(output, "The region \"%s\" never began: nothing was counted.\n", stat->options->region);
	if (stat->options->window_end || stat->options->last_instance)
		fprintf(output,
		        "Accesses are those of the window or instances; instructions are the whole program's.\n");
	if (stat->options->timing && !results->timing)
		fprintf(output,
		        "No cycles: core timing decodes x86-64 only, and this program is for another processor.\n");
	if (results->kernel_bytes)
		fprintf(output, "Not seen: %s bytes that system calls wrote into the program's buffers.\n",
		        fm_text_grouped(text, sizeof(text), results->kernel_bytes));
	if (stat->options->free_running && results->thread_count > 1)
		fprintf(output, "Free running: what depends on the order of threads differs from run to run.\n");
	if (results->forced_turns > 2)
		fprintf(output, "%s turns were given out of order.\n",
		        fm_text_grouped(text, sizeof(text), results->forced_turns));
	if (results->lost_sites || results->lost_threads || results->lost_regions)
		fprintf(output, "Too many to list: %llu places, %llu threads, %llu regions (totals are complete).\n",
		        (unsigned long long)results->lost_sites, (unsigned long long)results->lost_threads,
		        (unsigned long long)results->lost_regions);
	if (results->queue.written > results->queue.read)
		fprintf(output, "The last %llu accesses had not been simulated when the program was ended.\n",
		        (unsigned long long)(results->queue.written - results->queue.read));
	if (stat->run->signal)
		fprintf(output, "The program was ended by signal %d (%s); counts are those until then.\n",
		        stat->run->signal, strsignal(stat->run->signal));
}

void fm_stat_print(const struct fm_stat *stat, FILE *output, unsigned width, unsigned top)
{
	char text[40], other[40];

	/* a path may be long */
	fprintf(output, "%s%son %s (%s)\n", stat->program,
	        strlen(stat->program) + strlen(stat->machine->name) + strlen(stat->machine->title) + 7 > width ? "\n"
	                                                                                                       : " ",
	        stat->machine->name, stat->machine->title);
	fprintf(output,
	        "Simulated: exact counts of this machine, not of the one you are on. %.2f s under the engine.\n",
	        stat->run->seconds);
	fprintf(output, "%s instructions, ", fm_text_grouped(text, sizeof(text), stat->work.instructions));
	fprintf(output, "%s loads (%s), ", fm_text_grouped(text, sizeof(text), stat->total.loads),
	        fm_text_bytes(other, sizeof(other), (double)stat->total.load_bytes));
	fprintf(output, "%s stores (%s), ", fm_text_grouped(text, sizeof(text), stat->total.stores),
	        fm_text_bytes(other, sizeof(other), (double)stat->total.store_bytes));
	fprintf(output, "%u thread%s\n\n", stat->run->results->thread_count,
	        stat->run->results->thread_count == 1 ? "" : "s");
	print_levels(stat, output, width);
	print_cycles(&stat->timing, output);
	print_threads(stat, output, width, top);
	print_regions(stat, output, width);
	print_places(stat, output, width, stat->functions, stat->function_count < top ? stat->function_count : top,
	             "Function", false);
	print_places(stat, output, width, stat->lines, stat->line_count < top ? stat->line_count : top, "Line", true);
	print_objects(stat, output, width, top);
	print_processes(stat, output, width, top);
	print_sharing(stat, output, top);
	print_remarks(stat, output);
}
