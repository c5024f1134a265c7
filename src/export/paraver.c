/* Paraver: NAME.prv has the records, NAME.pcf the labels, NAME.row the names of threads. A process is a task, numbers
   begin at 1, records are sorted by time. */
#include "export/paraver.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/timeline.h"

enum { CPUS_MAX = 4096, RUNNING = 1 };

struct place {
	uint32_t task, thread;
};

struct trace {
	const struct fm_exported *exported;
	struct fm_sink *sink;
	struct place *places; /* of each thread of the recording */
	uint32_t *of_task;    /* threads by task: indexes, */
	size_t *first;        /* those of task t from first[t] on */
	uint32_t *process_of; /* of each task */
	size_t tasks;
	uint64_t cpus;
};

void fm_paraver_event(struct fm_sink *sink, uint64_t cpu, uint64_t task, uint64_t thread, uint64_t at)
{
	fm_sink_text(sink, "2:");
	fm_sink_unsigned(sink, cpu);
	fm_sink_text(sink, ":1:");
	fm_sink_unsigned(sink, task);
	fm_sink_byte(sink, ':');
	fm_sink_unsigned(sink, thread);
	fm_sink_byte(sink, ':');
	fm_sink_unsigned(sink, at);
}

void fm_paraver_value(struct fm_sink *sink, uint64_t type, int64_t value)
{
	fm_sink_byte(sink, ':');
	fm_sink_unsigned(sink, type);
	fm_sink_byte(sink, ':');
	fm_sink_signed(sink, value);
}

void fm_paraver_sample(struct fm_sink *sink, const struct fm_exported *exported, uint32_t index, uint64_t address)
{
	const struct fm_recording *recording = exported->recording;
	const struct fm_recorded_sample *sample = &recording->samples[index];
	int64_t frame = sample->frame;
	double probability;
	unsigned level = fm_exported_level(exported, index, &probability);
	uint64_t cost;

	if (sample->kind & FM_SAMPLE_LOAD || !(sample->kind & FM_SAMPLE_STORE))
		fm_paraver_value(sink, FM_PARAVER_LOAD, (int64_t)address);
	if (sample->kind & FM_SAMPLE_STORE)
		fm_paraver_value(sink, FM_PARAVER_STORE, (int64_t)address);
	fm_paraver_value(sink, FM_PARAVER_LEVEL, 1 + (int64_t)level);
	if (level)
		fm_paraver_value(sink, FM_PARAVER_PROBABILITY, llround(100 * probability));
	if (fm_exported_cost(sample, &cost))
		fm_paraver_value(sink, FM_PARAVER_COST, (int64_t)cost);
	fm_paraver_value(sink, FM_PARAVER_OBJECT, 1 + (int64_t)fm_exported_object(exported, sample));
	fm_paraver_value(sink, FM_PARAVER_WEIGHT, (int64_t)fm_exported_weight(exported, sample));
	fm_paraver_value(sink, FM_PARAVER_BYTES, sample->size);
	if (sample->page_node >= 0)
		fm_paraver_value(sink, FM_PARAVER_NODE, 1 + (int64_t)sample->page_node);
	for (unsigned depth = 0; depth < FM_PARAVER_STACK; depth++) {
		uint32_t code = depth ? recording->frames[frame].code : sample->code;

		fm_paraver_value(sink, FM_PARAVER_CALLER + depth, 1 + (int64_t)exported->function_of[code]);
		fm_paraver_value(sink, FM_PARAVER_LINE + depth, 1 + (int64_t)exported->place_of[code]);
		frame = frame < 0 ? -1 : recording->frames[frame].caller;
		if (frame < 0)
			break;
	}
	fm_sink_byte(sink, '\n');
}

void fm_paraver_header(struct fm_sink *sink, const struct fm_exported *exported, uint64_t duration, uint64_t cpus)
{
	unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0;
	char text[64];

	if (sscanf(exported->recording->run.started, "%4u-%2u-%2uT%2u:%2u", &year, &month, &day, &hour, &minute) != 5)
		year = 1970, month = day = 1, hour = minute = 0;
	snprintf(text, sizeof(text), "#Paraver (%02u/%02u/%04u at %02u:%02u):", day, month, year, hour, minute);
	fm_sink_text(sink, text);
	fm_sink_unsigned(sink, duration);
	fm_sink_text(sink, "_ns:1(");
	fm_sink_unsigned(sink, cpus);
	fm_sink_text(sink, "):");
}

/* Types known to views of other tools have their numbers. */
uint64_t fm_paraver_counter_type(const char *name, size_t index)
{
	static const struct {
		const char *name;
		uint64_t type;
	} known[] = {{"instructions", 42000050}, {"cycles", 42000059}, {"cpu-cycles", 42000059}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, name))
			return known[i].type;
	return FM_PARAVER_COUNTER + index;
}

/* Labels */

static void begin_type(struct fm_sink *sink, unsigned gradient, uint64_t type, const char *label)
{
	fm_sink_text(sink, "\nEVENT_TYPE\n");
	fm_sink_unsigned(sink, gradient);
	fm_sink_text(sink, "    ");
	fm_sink_unsigned(sink, type);
	fm_sink_text(sink, "    ");
	fm_sink_line(sink, label, "?");
}

static void label_value(struct fm_sink *sink, uint64_t value, const char *label)
{
	fm_sink_unsigned(sink, value);
	fm_sink_text(sink, "      ");
	fm_sink_line(sink, label, "?");
	fm_sink_byte(sink, '\n');
}

static void label_names(struct fm_sink *sink, const struct fm_names *names)
{
	fm_sink_text(sink, "VALUES\n0      none\n");
	for (size_t i = 0; i < names->count; i++)
		label_value(sink, i + 1, names->keys[i]);
}

static void label_levels(struct fm_sink *sink, const struct fm_exported *exported)
{
	fm_sink_text(sink, "VALUES\n0      none\n");
	for (unsigned i = 0; i <= fm_exported_levels(exported); i++)
		label_value(sink, i + 1, fm_exported_level_name(exported, i));
}

static void label_nodes(struct fm_sink *sink, const struct fm_exported *exported)
{
	int64_t most = -1;
	char text[40];

	for (size_t i = 0; i < exported->count; i++)
		if (fm_exported_sample(exported, i)->page_node > most)
			most = fm_exported_sample(exported, i)->page_node;
	fm_sink_text(sink, "VALUES\n0      none\n");
	for (int64_t i = 0; i <= most && i < CPUS_MAX; i++) {
		snprintf(text, sizeof(text), "node %" PRId64, i);
		label_value(sink, (uint64_t)i + 1, text);
	}
}

/* Types with the same values share a block. */
static void label_stack(struct fm_sink *sink, uint64_t type, const char *label, const struct fm_names *names)
{
	char text[64];

	fm_sink_text(sink, "\nEVENT_TYPE\n");
	for (unsigned i = 0; i < FM_PARAVER_STACK; i++) {
		snprintf(text, sizeof(text), i ? "%s, caller at level %u" : "%s", label, i);
		fm_sink_text(sink, "9    ");
		fm_sink_unsigned(sink, type + i);
		fm_sink_text(sink, "    ");
		fm_sink_text(sink, text);
		fm_sink_byte(sink, '\n');
	}
	label_names(sink, names);
}

static void label_type(struct fm_sink *sink, const struct fm_exported *exported, uint64_t type, unsigned gradient,
                       const char *label)
{
	char text[120];

	switch (type) {
	case FM_PARAVER_CALLER:
		label_stack(sink, type, label, &exported->functions);
		return;
	case FM_PARAVER_LINE:
		label_stack(sink, type, label, &exported->places);
		return;
	case FM_PARAVER_COUNTER:
		return;
	case FM_PARAVER_COST:
		snprintf(text, sizeof(text), "Memory access cost (%s)",
		         exported->references ? "simulated cycles" : "ticks of the time stamp counter");
		label = text;
		break;
	case FM_PARAVER_WEIGHT:
		snprintf(text, sizeof(text), "%s that the sample stands for",
		         exported->references ? "References" : "Processor time (ns)");
		label = text;
		break;
	default:
		break;
	}
	begin_type(sink, gradient, type, label);
	fm_sink_byte(sink, '\n');
	switch (type) {
	case FM_PARAVER_LEVEL:
		label_levels(sink, exported);
		break;
	case FM_PARAVER_OBJECT:
		label_names(sink, &exported->objects);
		break;
	case FM_PARAVER_REGION:
		label_names(sink, &exported->regions);
		break;
	case FM_PARAVER_NODE:
		label_nodes(sink, exported);
		break;
	case FM_PARAVER_ALLOCATION:
		fm_sink_text(sink, "VALUES\n0      end\n1      malloc\n2      free\n");
		break;
	default:
		break;
	}
}

void fm_paraver_labels(struct fm_sink *sink, const struct fm_exported *exported,
                       const struct fm_paraver_counter *counters, size_t counter_count)
{
	static const struct {
		uint64_t type;
		unsigned gradient;
		const char *label;
	} types[] = {
#define PARAVER_TYPE(identifier, number, gradient, label) {number, gradient, label},
#include "export/paraver_types.def"
#undef PARAVER_TYPE
	};

	fm_sink_text(sink, "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n"
	                   "LOOK_BACK           100\nSPEED               1\nFLAG_ICONS          ENABLED\n"
	                   "NUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\n\nDEFAULT_SEMANTIC\n\n"
	                   "THREAD_FUNC         State As Is\n\n\nSTATES\n0    Idle\n1    Running\n\n\n"
	                   "STATES_COLOR\n0    {117,195,255}\n1    {0,0,255}\n\n");
	for (size_t i = 0; exported->samples && i < sizeof(types) / sizeof(types[0]); i++)
		label_type(sink, exported, types[i].type, types[i].gradient, types[i].label);
	for (size_t i = 0; i < counter_count; i++) {
		begin_type(sink, 7, counters[i].type, counters[i].name);
		if (*counters[i].unit) {
			fm_sink_text(sink, " (");
			fm_sink_line(sink, counters[i].unit, "");
			fm_sink_byte(sink, ')');
		}
		fm_sink_byte(sink, '\n');
	}
}

/* Threads as Paraver numbers them */

static int number_threads(struct trace *trace)
{
	const struct fm_recording *recording = trace->exported->recording;
	size_t threads = recording->sampled_threads_count, processes = recording->sampled_processes_count;
	size_t *count = calloc(processes + 1, sizeof(*count)), *begin = calloc(processes + 1, sizeof(*begin));
	uint32_t *task = calloc(processes + 1, sizeof(*task));
	int r = -ENOMEM;

	trace->places = calloc(threads + 1, sizeof(*trace->places));
	trace->of_task = calloc(threads + 1, sizeof(*trace->of_task));
	trace->first = calloc(processes + 2, sizeof(*trace->first));
	trace->process_of = calloc(processes + 1, sizeof(*trace->process_of));
	if (!count || !begin || !task || !trace->places || !trace->of_task || !trace->first || !trace->process_of)
		goto out;
	for (size_t i = 0; i < threads; i++)
		count[recording->sampled_threads[i].process]++;
	for (size_t i = 0, sum = 0; i < processes; i++) {
		begin[i] = sum;
		sum += count[i];
		/* a process without a known thread cannot be shown */
		if (!count[i])
			continue;
		trace->process_of[trace->tasks] = (uint32_t)i;
		trace->first[trace->tasks++] = begin[i];
		trace->first[trace->tasks] = sum;
		task[i] = (uint32_t)trace->tasks;
	}
	for (size_t i = 0; i < threads; i++) {
		uint32_t process = recording->sampled_threads[i].process;
		size_t number = begin[process]++;

		trace->of_task[number] = (uint32_t)i;
		trace->places[i] =
		    (struct place){task[process], (uint32_t)(number - trace->first[task[process] - 1] + 1)};
	}
	r = 0;
out:
	free(count);
	free(begin);
	free(task);
	return r;
}

static void write_threads(const struct trace *trace)
{
	fm_sink_text(trace->sink, "1:");
	fm_sink_unsigned(trace->sink, trace->tasks);
	for (size_t i = 0; i < trace->tasks; i++) {
		fm_sink_byte(trace->sink, i ? ',' : '(');
		fm_sink_unsigned(trace->sink, trace->first[i + 1] - trace->first[i]);
		fm_sink_text(trace->sink, ":1");
	}
	fm_sink_text(trace->sink, ")\n");
}

static uint64_t cpu_of(const struct trace *trace, const struct fm_recorded_sample *sample)
{
	return sample->cpu < trace->cpus ? sample->cpu + 1ull : 0;
}

static void write_allocation(const struct trace *trace, const struct fm_moment *moment)
{
	const struct fm_recorded_memory *memory = &trace->exported->recording->memories[moment->index];
	const struct place *place = &trace->places[fm_timeline_allocator(trace->exported, memory)];
	bool freed = moment->kind == FM_MOMENT_FREED;

	fm_paraver_event(trace->sink, 0, place->task, place->thread, moment->at);
	fm_paraver_value(trace->sink, FM_PARAVER_ALLOCATION, freed ? 2 : 1);
	if (!freed)
		fm_paraver_value(trace->sink, FM_PARAVER_ALLOCATION_SIZE, (int64_t)memory->bytes);
	fm_paraver_value(trace->sink, freed ? FM_PARAVER_ALLOCATION_IN : FM_PARAVER_ALLOCATION_OUT,
	                 (int64_t)memory->address);
	fm_sink_byte(trace->sink, '\n');
	fm_paraver_event(trace->sink, 0, place->task, place->thread, moment->at);
	fm_paraver_value(trace->sink, FM_PARAVER_ALLOCATION, 0);
	fm_sink_byte(trace->sink, '\n');
}

static void write_state(const struct trace *trace, const struct fm_moment *moment)
{
	const struct fm_recorded_sampled_thread *thread = &trace->exported->recording->sampled_threads[moment->index];
	const struct place *place = &trace->places[moment->index];
	uint64_t end = fm_exported_time(thread->ended);

	fm_sink_text(trace->sink, "1:0:1:");
	fm_sink_unsigned(trace->sink, place->task);
	fm_sink_byte(trace->sink, ':');
	fm_sink_unsigned(trace->sink, place->thread);
	fm_sink_byte(trace->sink, ':');
	fm_sink_unsigned(trace->sink, moment->at);
	fm_sink_byte(trace->sink, ':');
	/* a region with an unknown end lasts to the end of the run */
	fm_sink_unsigned(trace->sink, end > moment->at ? end : trace->exported->duration);
	fm_sink_byte(trace->sink, ':');
	fm_sink_unsigned(trace->sink, RUNNING);
	fm_sink_byte(trace->sink, '\n');
}

static void write_count(const struct trace *trace, const struct fm_moment *moment)
{
	const struct fm_series *series = &trace->exported->series;
	const struct fm_series_point *point = &series->points[moment->index];

	fm_paraver_event(trace->sink, 0, 1, point->part + 1ull, moment->at);
	fm_paraver_value(trace->sink, fm_paraver_counter_type(series->counters[point->counter].name, point->counter),
	                 fabs(point->value) < 9e18 ? llround(point->value) : INT64_MAX);
	fm_sink_byte(trace->sink, '\n');
}

static void write_moment(const struct trace *trace, const struct fm_moment *moment)
{
	const struct fm_recording *recording = trace->exported->recording;
	const struct place *place;

	switch (moment->kind) {
	case FM_MOMENT_THREAD:
		write_state(trace, moment);
		return;
	case FM_MOMENT_SAMPLE:
		place = &trace->places[recording->samples[moment->index].thread];
		fm_paraver_event(trace->sink, cpu_of(trace, &recording->samples[moment->index]), place->task,
		                 place->thread, moment->at);
		fm_paraver_sample(trace->sink, trace->exported, moment->index,
		                  recording->samples[moment->index].address);
		return;
	case FM_MOMENT_ALLOCATED:
	case FM_MOMENT_FREED:
		write_allocation(trace, moment);
		return;
	case FM_MOMENT_COUNT:
		write_count(trace, moment);
		return;
	default:
		place = &trace->places[recording->instances[moment->index].thread];
		fm_paraver_event(trace->sink, 0, place->task, place->thread, moment->at);
		fm_paraver_value(trace->sink, FM_PARAVER_REGION,
		                 moment->kind == FM_MOMENT_REGION_BEGIN
		                     ? 1 + (int64_t)trace->exported->region_of[moment->index]
		                     : 0);
		fm_sink_byte(trace->sink, '\n');
	}
}

/* Names of rows */

static void write_resources(const struct trace *trace, struct fm_sink *sink)
{
	char text[40];

	fm_sink_text(sink, "LEVEL CPU SIZE ");
	fm_sink_unsigned(sink, trace->cpus);
	fm_sink_byte(sink, '\n');
	for (uint64_t i = 0; i < trace->cpus; i++) {
		snprintf(text, sizeof(text), "CPU %" PRIu64 "\n", i);
		fm_sink_text(sink, text);
	}
	fm_sink_text(sink, "\nLEVEL NODE SIZE 1\n");
	fm_sink_line(sink, trace->exported->recording->run.host, "host");
	fm_sink_text(sink, "\n\nLEVEL APPL SIZE 1\n");
	fm_sink_line(sink, trace->exported->recording->run.program, "program");
	fm_sink_byte(sink, '\n');
}

static void write_thread_rows(const struct trace *trace, struct fm_sink *sink)
{
	const struct fm_recording *recording = trace->exported->recording;

	fm_sink_text(sink, "\nLEVEL TASK SIZE ");
	fm_sink_unsigned(sink, trace->tasks);
	fm_sink_byte(sink, '\n');
	for (size_t i = 0; i < trace->tasks; i++) {
		const struct fm_recorded_sampled_process *process = &recording->sampled_processes[trace->process_of[i]];

		fm_sink_unsigned(sink, process->process);
		fm_sink_byte(sink, ' ');
		fm_sink_line(sink, process->program, "process");
		fm_sink_byte(sink, '\n');
	}
	fm_sink_text(sink, "\nLEVEL THREAD SIZE ");
	fm_sink_unsigned(sink, recording->sampled_threads_count);
	fm_sink_byte(sink, '\n');
	for (size_t i = 0; i < recording->sampled_threads_count; i++) {
		const struct fm_recorded_sampled_thread *thread = &recording->sampled_threads[trace->of_task[i]];

		fm_sink_unsigned(sink, thread->thread);
		fm_sink_byte(sink, ' ');
		fm_sink_line(sink, thread->name, "thread");
		fm_sink_byte(sink, '\n');
	}
}

static void write_part_rows(const struct trace *trace, struct fm_sink *sink)
{
	const struct fm_recording *recording = trace->exported->recording;

	fm_sink_text(sink, "\nLEVEL TASK SIZE 1\n");
	fm_sink_line(sink, recording->run.program, "program");
	fm_sink_text(sink, "\n\nLEVEL THREAD SIZE ");
	fm_sink_unsigned(sink, trace->exported->series.parts);
	fm_sink_byte(sink, '\n');
	for (size_t i = 0; i < trace->exported->series.parts; i++) {
		if (i < recording->parts_count && recording->parts[i].thread > 0) {
			fm_sink_text(sink, "thread ");
			fm_sink_signed(sink, recording->parts[i].thread);
		} else {
			fm_sink_text(sink, recording->parts_count ? "everything" : "all cores");
		}
		fm_sink_byte(sink, '\n');
	}
}

static void find_cpus(struct trace *trace)
{
	trace->cpus = 1;
	for (size_t i = 0; i < trace->exported->count; i++) {
		uint32_t cpu = fm_exported_sample(trace->exported, i)->cpu;

		if (cpu >= trace->cpus && cpu < CPUS_MAX)
			trace->cpus = cpu + 1ull;
	}
}

static int label_all(const struct fm_exported *exported, struct fm_sink *sink)
{
	const struct fm_series *series = &exported->series;
	struct fm_paraver_counter *counters = calloc(series->counter_count + 1, sizeof(*counters));

	if (!counters)
		return -ENOMEM;
	for (size_t i = 0; i < series->counter_count; i++)
		counters[i] = (struct fm_paraver_counter){fm_paraver_counter_type(series->counters[i].name, i),
		                                          series->counters[i].name, series->counters[i].unit};
	fm_paraver_labels(sink, exported, counters, series->counter_count);
	free(counters);
	return 0;
}

static int write_raw(const struct fm_exported *exported, struct fm_sink *sinks, struct fm_error *error)
{
	struct trace trace = {.exported = exported, .sink = &sinks[0]};
	bool sampled = exported->has & FM_EXPORT_SAMPLES;
	struct fm_timeline timeline = {0};
	struct fm_moment moment;
	int r = number_threads(&trace);

	if (!r)
		r = fm_timeline_begin(&timeline, exported);
	if (r)
		goto out;
	find_cpus(&trace);
	fm_paraver_header(trace.sink, exported, exported->duration, trace.cpus);
	if (sampled) {
		write_threads(&trace);
	} else {
		fm_sink_text(trace.sink, "1:1(");
		fm_sink_unsigned(trace.sink, exported->series.parts);
		fm_sink_text(trace.sink, ":1)\n");
	}
	while (!fm_sink_is_over(trace.sink) && fm_timeline_next(&timeline, &moment))
		if (sampled ? moment.kind != FM_MOMENT_COUNT : moment.kind == FM_MOMENT_COUNT)
			write_moment(&trace, &moment);
	r = label_all(exported, &sinks[1]);
	write_resources(&trace, &sinks[2]);
	(sampled ? write_thread_rows : write_part_rows)(&trace, &sinks[2]);
out:
	fm_timeline_end(&timeline);
	free(trace.places);
	free(trace.of_task);
	free(trace.first);
	free(trace.process_of);
	return r ? fm_error_set(error, -r, "out of memory") : 0;
}

static int write(const struct fm_exported *exported, struct fm_sink *sinks, struct fm_error *error)
{
	return (exported->options->folded ? fm_paraver_write_folded : write_raw)(exported, sinks, error);
}

const struct fm_exporter fm_exporter_paraver = {
    .name = "paraver",
    .suffixes = {".prv", ".pcf", ".row", NULL},
    .opens = "wxparaver",
    .words = "trace for Paraver (three files): samples, regions, allocations, or counts over time",
    .can = FM_EXPORT_SAMPLES | FM_EXPORT_SERIES,
    .folds = true,
    .write = write,
};
