#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "windows/totals.h"
#include "report/coverage.h"
#include "report/numbers.h"
#include "report/parts.h"
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

static void print_levels(const struct fm_analysis *analysis, FILE *output, unsigned width)
{
	static const char *const names[] = {"Level",        "load hits", "load misses", "store misses",
	                                    "lines demand", "ownership", "prefetched",  "written back"};
	struct fm_table *table = fm_table_create("lrrrrrrr");
	char text[40], other[40];

	heads(table, names, 8);
	for (unsigned i = 0; i < analysis->recording->machine.cache_count; i++) {
		const struct fm_cache_counts *cache = &analysis->total.caches[i];

		fm_table_cell(table, "%s", analysis->recording->machine.caches[i].name);
		number_cell(table, cache->load_hits);
		number_cell(table, cache->load_misses);
		number_cell(table, cache->store_misses);
		number_cell(table, cache->lines_demand);
		number_cell(table, cache->lines_ownership);
		number_cell(table, cache->lines_prefetch);
		number_cell(table, cache->lines_written);
	}
	fm_table_end(table, output, 0, width);
	fprintf(output, "memory  %s lines read, ", fm_text_grouped(text, sizeof(text), analysis->total.memory_reads));
	fprintf(output, "%s written", fm_text_grouped(text, sizeof(text), analysis->total.memory_writes));
	if (analysis->recording->machine.sockets > 1)
		fprintf(output, "; from another socket %s and %s",
		        fm_text_grouped(text, sizeof(text), analysis->total.memory_reads_remote),
		        fm_text_grouped(other, sizeof(other), analysis->total.memory_writes_remote));
	if (analysis->total.nontemporal_lines)
		fprintf(output, "; %s past the caches",
		        fm_text_grouped(text, sizeof(text), analysis->total.nontemporal_lines));
	fputc('\n', output);
	for (unsigned i = 0; i < analysis->recording->machine.tlb_count; i++)
		fprintf(output, "%stranslation misses of level %u: %s", i ? ", " : "", i + 1,
		        fm_text_grouped(text, sizeof(text), analysis->total.tlb_misses[i]));
	if (analysis->recording->machine.tlb_count)
		fputc('\n', output);
}

/* The stalls of one kind, by level. */
static void print_level_stalls(const struct fm_machine_description *machine, bool bandwidth, const uint64_t *stalls,
                               uint64_t cycles, FILE *output)
{
	for (unsigned i = 0; i < FM_SERVED_COUNT; i++) {
		char words[64];

		if (stalls[i] > cycles / 1000)
			fprintf(output, "  %5.1f %%  %s\n", 100 * (double)stalls[i] / (double)cycles,
			        fm_stall_level_words(machine, bandwidth, i, words, sizeof(words)));
	}
}

static void print_cycles(const struct fm_analysis *analysis, FILE *output)
{
	const struct fm_timing_counts *timing = &analysis->timing;
	const struct fm_machine_description *machine = &analysis->recording->machine;
	char text[40];
	double cycles = (double)timing->cycles;

	if (!timing->cycles)
		return;
	fprintf(output, "\nCycles %s; nothing executed in %.1f %%:\n",
	        fm_text_grouped(text, sizeof(text), timing->cycles), 100 * (double)timing->no_execute / cycles);
	for (int i = 0; i < FM_STALL_COUNT; i++)
		if (timing->stalls[i] > timing->cycles / 1000)
			fprintf(output, "  %5.1f %%  %s\n", 100 * (double)timing->stalls[i] / cycles,
			        fm_stall_words((enum fm_stall)i));
	print_level_stalls(machine, false, timing->latency_stalls, timing->cycles, output);
	print_level_stalls(machine, true, timing->bandwidth_stalls, timing->cycles, output);
	fprintf(output,
	        "  a first-level miss outstanding in %.1f %%, fill buffers full in %.1f %%,\n"
	        "  super queue full in %.1f %%, store buffer full in %.1f %%\n",
	        100 * (double)timing->miss_pending / cycles, 100 * (double)timing->fill_buffers_full / cycles,
	        100 * (double)timing->super_queue_full / cycles, 100 * (double)timing->store_buffer_full / cycles);
}

static void count_row(struct fm_table *table, const struct fm_analysis *analysis, const struct fm_work *work,
                      const struct fm_core_counts *counts, const struct fm_timing_counts *timing)
{
	number_cell(table, work->instructions);
	number_cell(table, counts->loads);
	number_cell(table, counts->stores);
	for (unsigned i = 0; i < analysis->recording->machine.cache_count; i++)
		number_cell(table, counts->caches[i].load_misses + counts->caches[i].store_misses);
	/* the table has room for one of the two */
	number_cell(table,
	            analysis->timing.cycles ? timing->cycles : counts->transfers_modified + counts->transfers_clean);
}

static struct fm_table *count_table(const struct fm_analysis *analysis, const char *first, const char *second)
{
	char alignment[FM_TABLE_COLUMNS_MAX + 1] = "lrrrr";
	struct fm_table *table;

	memset(alignment + 5, 'r', analysis->recording->machine.cache_count + 1);
	alignment[5 + analysis->recording->machine.cache_count + 1] = 0;
	table = fm_table_create(alignment);
	fm_table_cell(table, "%s", first);
	fm_table_cell(table, "%s", second);
	fm_table_cells(table, "instructions", "loads", "stores");
	for (unsigned i = 0; i < analysis->recording->machine.cache_count; i++)
		fm_table_cell(table, "%s misses", analysis->recording->machine.caches[i].name);
	fm_table_cell(table, analysis->timing.cycles ? "cycles" : "transfers");
	return table;
}

static void print_threads(const struct fm_analysis *analysis, FILE *output, unsigned width, unsigned top)
{
	const struct fm_recording *recording = analysis->recording;
	unsigned rows = 0;
	struct fm_table *table;

	if (fm_part_thread_count(recording) < 2)
		return;
	table = count_table(analysis, "Thread", "core");
	for (size_t i = 0; i < recording->threads_count; i++) {
		const struct fm_recorded_thread *thread = &recording->threads[i];

		if (thread->process || (rows++ >= top && !thread->others))
			continue;
		if (thread->others)
			fm_table_cell(table, "%llu more", (unsigned long long)thread->others);
		else
			fm_table_cell(table, "%u%s", thread->thread, thread->shares_core ? " (shares)" : "");
		fm_table_cell(table, thread->others ? "-" : "%u", thread->core);
		count_row(table, analysis, &thread->work, &thread->counts, &thread->timing);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	if (rows > top)
		fprintf(output, "… and %u more threads (--top)\n", rows - top);
	fm_table_free(table);
}

static void print_regions(const struct fm_analysis *analysis, FILE *output, unsigned width)
{
	const struct fm_recording *recording = analysis->recording;
	struct fm_table *table;
	unsigned rows = 0;

	table = count_table(analysis, "Region (thread)", "times");
	for (size_t i = 0; i < recording->regions_count; i++) {
		const struct fm_recorded_region *region = &recording->regions[i];
		char name[64];

		if (region->process)
			continue;
		rows++;
		fm_table_cell(table, "%s (%u)", fm_text_elide(name, sizeof(name), region->name, 20), region->thread);
		number_cell(table, region->instances);
		count_row(table, analysis, &region->work, &region->counts, &region->timing);
	}
	if (rows) {
		fputc('\n', output);
		fm_table_may_close(table);
		fm_table_print(table, output, 0, width);
	}
	fm_table_free(table);
}

/* A table of places or objects: accesses, misses, lines that came from memory. */
static struct fm_table *miss_table(const struct fm_analysis *analysis, const char *title)
{
	const struct fm_machine_description *machine = &analysis->recording->machine;
	char alignment[FM_TABLE_COLUMNS_MAX + 1] = "lr";
	struct fm_table *table;

	memset(alignment + 2, 'r', machine->cache_count + 1);
	alignment[2 + machine->cache_count + 1] = 0;
	table = fm_table_create(alignment);
	fm_table_cell(table, "%s", title);
	fm_table_cell(table, "accesses");
	for (unsigned i = 0; i < machine->cache_count; i++)
		fm_table_cell(table, "%s misses", machine->caches[i].name);
	fm_table_cell(table, "from memory");
	return table;
}

static void miss_cells(struct fm_table *table, const struct fm_analysis *analysis, uint64_t loads, uint64_t stores,
                       const uint64_t *misses, const uint64_t *moved)
{
	const struct fm_machine_description *machine = &analysis->recording->machine;
	char text[40];

	number_cell(table, loads + stores);
	for (unsigned k = 0; k < machine->cache_count; k++)
		number_cell(table, misses[k]);
	fm_table_cell(
	    table, "%s",
	    moved[machine->cache_count - 1]
	        ? fm_text_bytes(text, sizeof(text), (double)moved[machine->cache_count - 1] * machine->line_bytes)
	        : "-");
}

enum { NAME_COLUMNS = 30 };

static void print_objects(const struct fm_analysis *analysis, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table;
	char bytes[40], name[128], module[64];

	if (analysis->object_count < 2)
		return;
	table = miss_table(analysis, "Variable");
	for (size_t i = 0; i < analysis->object_count; i++) {
		const struct fm_recorded_object *object = &analysis->objects[i];

		/* the rest of memory is the last row and always shown */
		if (i >= top && !object->rest)
			continue;
		fm_text_elide(name, sizeof(name), object->name, object->rest ? NAME_COLUMNS : 20);
		fm_text_elide(module, sizeof(module), object->module, 12);
		if (object->bytes)
			fm_table_cell(table, "%s [%s] %s", name, module,
			              fm_text_bytes(bytes, sizeof(bytes), (double)object->bytes));
		else if (*object->module)
			fm_table_cell(table, "%s [%s]", name, module);
		else
			fm_table_cell(table, "%s", name);
		miss_cells(table, analysis, object->loads, object->stores, object->misses, object->moved);
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
}

static void print_places(const struct fm_analysis *analysis, FILE *output, unsigned width,
                         const struct fm_recorded_place *places, size_t count, const char *title, bool lines)
{
	struct fm_table *table;

	if (!count)
		return;
	table = miss_table(analysis, title);
	for (size_t i = 0; i < count; i++) {
		char function[128], module[64], file[80];

		if (lines && places[i].line) {
			fm_text_elide(file, sizeof(file), fm_file_name(places[i].file), 18);
			fm_text_elide(function, sizeof(function),
			              *places[i].inlined ? places[i].inlined : places[i].function, 18);
			fm_table_cell(table, "%s:%lld %s", file, (long long)places[i].line, function);
		} else {
			fm_text_elide(function, sizeof(function), places[i].function, 24);
			fm_text_elide(module, sizeof(module), places[i].module, 12);
			fm_table_cell(table, "%s [%s]", function, module);
		}
		miss_cells(table, analysis, places[i].loads, places[i].stores, places[i].misses, places[i].moved);
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
}

static void print_processes(const struct fm_analysis *analysis, FILE *output, unsigned width, unsigned top)
{
	const struct fm_recording *recording = analysis->recording;
	struct fm_table *table;

	if (recording->processes_count < 2)
		return;
	table = fm_table_create("lrrrr");
	fm_table_cells(table, "Process", "instructions", "loads", "stores", "lines read from memory");
	for (size_t i = 0; i < recording->processes_count && i < top; i++) {
		const struct fm_recorded_process *process = &recording->processes[i];
		char name[64];

		fm_table_cell(table, "%u %s%s", process->process,
		              fm_text_elide(name, sizeof(name), fm_file_name(process->program), 40),
		              !i                  ? ""
		              : process->executed ? " (executed)"
		              : process->parent   ? " (forked)"
		                                  : " (began)");
		number_cell(table, analysis->processes[i].work.instructions);
		number_cell(table, analysis->processes[i].counts.loads);
		number_cell(table, analysis->processes[i].counts.stores);
		number_cell(table, analysis->processes[i].counts.memory_reads);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	if (recording->processes_count > top)
		fprintf(output, "… and %zu more processes (--top)\n", recording->processes_count - top);
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

static void print_user(const struct fm_recorded_user *user, FILE *output)
{
	fprintf(output, "      thread %lld", (long long)user->thread);
	print_bytes(output, "writes bytes", user->written);
	print_bytes(output, "reads bytes", user->read);
	if (*user->field)
		fprintf(output, " (%s)", user->field);
	if (*user->file)
		fprintf(output, ", %s:%lld", fm_file_name(user->file), (long long)user->source_line);
	else if (*user->function)
		fprintf(output, ", %s", user->function);
	fputc('\n', output);
}

static void print_shared_line(const struct fm_recording *recording, unsigned index, FILE *output)
{
	const struct fm_recorded_shared *shared = &recording->shared[index];

	fprintf(output, "  0x%llx  %s sharing%s%s: modified %llu, clean %llu, invalidated %llu\n",
	        (unsigned long long)shared->line, fm_sharing_kind(shared), *shared->object ? " of " : "",
	        shared->object, (unsigned long long)shared->modified, (unsigned long long)shared->clean,
	        (unsigned long long)shared->invalidations);
	if (shared->modified + shared->clean < 10)
		return;
	for (size_t i = 0; i < recording->users_count; i++)
		if (recording->users[i].shared == index)
			print_user(&recording->users[i], output);
}

static void print_sharing(const struct fm_analysis *analysis, FILE *output, unsigned top)
{
	const struct fm_recording *recording = analysis->recording;
	char text[40];

	if (!recording->shared_count)
		return;
	fprintf(output, "\nLines that moved between cores:\n  %s transfers of modified lines, ",
	        fm_text_grouped(text, sizeof(text), analysis->total.transfers_modified));
	fprintf(output, "%s of clean ones, ", fm_text_grouped(text, sizeof(text), analysis->total.transfers_clean));
	fprintf(output, "%s invalidations\n", fm_text_grouped(text, sizeof(text), analysis->total.invalidations));
	for (unsigned i = 0; i < recording->shared_count && i < top; i++)
		print_shared_line(recording, i, output);
}

/* Sums of the losses of all processes. */
static struct fm_recorded_process losses(const struct fm_recording *recording)
{
	struct fm_recorded_process sum = {0};

	for (size_t i = 0; i < recording->processes_count; i++) {
		const struct fm_recorded_process *process = &recording->processes[i];

		sum.lost_sites += process->lost_sites;
		sum.unlogged += process->unlogged;
		sum.lost_threads += process->lost_threads;
		sum.lost_regions += process->lost_regions;
		sum.lost_processes += process->lost_processes;
		sum.accesses_lost += process->accesses_lost;
		sum.kernel_bytes += process->kernel_bytes;
		sum.forced_turns += process->forced_turns;
	}
	return sum;
}

/* Reports if the region is a function, not a marker. */
static void print_region_kind(const struct fm_recording *recording, FILE *output)
{
	uint64_t calls = 0;
	bool marked = false;

	for (size_t i = 0; i < recording->processes_count; i++) {
		calls += recording->processes[i].region_calls;
		marked |= recording->processes[i].region_marked;
	}
	if (calls && !marked)
		fprintf(output,
		        "No marker has the name \"%s\": the region is the function of that name, %llu call%s.\n",
		        recording->asked.region, (unsigned long long)calls, calls == 1 ? "" : "s");
	else if (calls)
		fprintf(
		    output,
		    "The region \"%s\" is marked. Before the first marker, %llu call%s of the function of that name "
		    "began;\n"
		    "the totals include %s accesses.\n",
		    recording->asked.region, (unsigned long long)calls, calls == 1 ? "" : "s",
		    calls == 1 ? "its" : "their");
}

/* Shared cache lines and memory traffic of the programs beside. */
static void print_beside(const struct fm_recording *recording, FILE *output)
{
	const struct fm_machine_description *machine = &recording->machine;

	for (size_t i = 0; i < recording->beside_count; i++) {
		const struct fm_recorded_beside *beside = &recording->beside[i];
		uint64_t lines;
		char text[40];

		fprintf(output, "Concurrent program from core %u on: %s (%u run%s): ", beside->core, beside->command,
		        beside->runs, beside->runs == 1 ? "" : "s");
		if (fm_lines_from_shared(machine, &beside->counts, &lines))
			fprintf(output, "%s lines from %s, ", fm_text_grouped(text, sizeof(text), lines),
			        machine->caches[machine->cache_count - 1].name);
		fprintf(output, "%s lines from memory, ",
		        fm_text_grouped(text, sizeof(text), beside->counts.memory_reads));
		fprintf(output, "%s to memory%s.\n", fm_text_grouped(text, sizeof(text), beside->counts.memory_writes),
		        beside->ended ? "; it ended before the program" : "");
	}
	if (recording->beside_count && recording->processes_count > 1)
		fprintf(output,
		        "Child processes of the program had separate caches, without the concurrent programs.\n");
}

void fm_exact_print_remarks(const struct fm_analysis *analysis, FILE *output)
{
	const struct fm_recording *recording = analysis->recording;
	const struct fm_recorded_asked *asked = &recording->asked;
	const struct fm_recorded_process lost = losses(recording);
	size_t made = recording->processes_count - 1;
	char text[40];

	print_beside(recording, output);
	for (size_t i = 0; i < recording->executions_count; i++)
		fprintf(output, "Not covered: the program executed %s, which ran outside the engine.\n",
		        recording->executions[i].program);
	if (made)
		fprintf(output,
		        "The totals include %zu other process%s; an executed program begins with empty "
		        "caches.\n",
		        made, made == 1 ? "" : "es");
	if (*asked->region && !recording->regions_count)
		fprintf(output, "The region \"%s\" never began: nothing was counted.\n", asked->region);
	print_region_kind(recording, output);
	if (asked->window_end || asked->last_instance)
		fprintf(output, "Accesses cover the window or instances only; instructions cover the whole program.\n");
	if (asked->timing && !recording->processes[0].timing)
		fprintf(output,
		        "No cycles: core timing decodes x86-64 only, and this program is for another processor.\n");
	if (lost.kernel_bytes)
		fprintf(output, "Not covered: %s bytes that system calls wrote into the program's buffers.\n",
		        fm_text_grouped(text, sizeof(text), lost.kernel_bytes));
	if (asked->free_running && fm_part_thread_count(recording) > 1)
		fprintf(output, "Free running: counts that depend on the order of threads vary between runs.\n");
	if (lost.forced_turns > 2)
		fprintf(output, "%s turns of threads were out of order.\n",
		        fm_text_grouped(text, sizeof(text), lost.forced_turns));
	if (lost.lost_sites || lost.lost_threads || lost.lost_regions)
		fprintf(output,
		        "Not listed: %llu places, %llu threads, %llu regions, beyond the limit (totals are "
		        "complete).\n",
		        (unsigned long long)lost.lost_sites, (unsigned long long)lost.lost_threads,
		        (unsigned long long)lost.lost_regions);
	if (lost.unlogged)
		fprintf(output,
		        "DOUBTFUL: the accesses of some instructions are missing: the program has too much code.\n");
	if (lost.lost_processes)
		fprintf(output,
		        "The counts of %llu processes are missing: the disk was full. Set TMPDIR to another "
		        "folder.\n",
		        (unsigned long long)lost.lost_processes);
	if (lost.accesses_lost)
		fprintf(output, "The last %llu accesses had not been simulated when the program was ended.\n",
		        (unsigned long long)lost.accesses_lost);
	if (recording->run.signal)
		fprintf(output, "The program was ended by signal %lld (%s); the counts end there.\n",
		        (long long)recording->run.signal, strsignal((int)recording->run.signal));
}

void fm_exact_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_recording *recording = analysis->recording;
	const struct fm_machine_description *machine = &recording->machine;
	const char *program = recording->run.program;
	unsigned width = options->width, top = options->top, threads = fm_part_thread_count(recording);
	char text[40], other[40];

	/* long paths get a line of their own */
	fprintf(output, "%s%son %s (%s)\n", program,
	        strlen(program) + strlen(machine->name) + strlen(machine->title) + 7 > width ? "\n" : " ",
	        machine->name, machine->title);
	fprintf(output, "Simulated: %s of this machine, not of the host. %.2f s under the engine.\n",
	        fm_windows_used(recording) ? "sampled counts" : "exact counts", recording->run.engine_seconds);
	fm_coverage_print(recording, output);
	fprintf(output, "%s instructions, ", fm_text_grouped(text, sizeof(text), analysis->work.instructions));
	fprintf(output, "%s loads (%s), ", fm_text_grouped(text, sizeof(text), analysis->total.loads),
	        fm_text_bytes(other, sizeof(other), (double)analysis->total.load_bytes));
	fprintf(output, "%s stores (%s), ", fm_text_grouped(text, sizeof(text), analysis->total.stores),
	        fm_text_bytes(other, sizeof(other), (double)analysis->total.store_bytes));
	fprintf(output, "%u thread%s\n\n", threads, threads == 1 ? "" : "s");
	print_levels(analysis, output, width);
	print_cycles(analysis, output);
	print_threads(analysis, output, width, top);
	print_regions(analysis, output, width);
	print_places(analysis, output, width, analysis->functions,
	             analysis->function_count < top ? analysis->function_count : top, "Function", false);
	print_places(analysis, output, width, analysis->lines, analysis->line_count < top ? analysis->line_count : top,
	             "Line", true);
	print_objects(analysis, output, width, top);
	print_processes(analysis, output, width, top);
	print_sharing(analysis, output, top);
	fputc('\n', output);
	fm_exact_print_remarks(analysis, output);
}
