#include "trust/simulate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "trust/feed.h"

/* Steps before counting begins, so that queues and window are as full as they get: blocks of a stream, lines of a
 * chase. */
enum { LEAD_IN_BLOCKS = 24, LEAD_IN_LINES = 512, CORES_MAX = 256 };

/* One core of a run. */
struct worker {
	struct fm_simulated_core *core;
	struct fm_core_timing *timing;
	uint64_t streams[4], stream_bytes;
	uint64_t at;             /* block, or place in the chase */
	uint64_t done, measured; /* blocks fed, of these counted */
	uint64_t instructions;
	bool counting, finished;
	struct fm_core_counts begin, end;
	struct fm_timing_counts timing_begin, timing_end;
	uint64_t now_begin, now_end;
};

struct simulation {
	const struct fm_machine_description *machine;
	const struct fm_plan *plan;
	const struct fm_plan_entry *entry;
	struct fm_hierarchy *hierarchy;
	struct worker workers[CORES_MAX];
	unsigned count;
	uint32_t *order; /* of the lines of a chase */
	uint64_t lines;
};

/* Far apart, so that no two cores share a page. */
static uint64_t base_of(unsigned core)
{
	return (uint64_t)(core + 1) << 36;
}

static void touch_remotely(struct simulation *simulation)
{
	struct fm_hierarchy *hierarchy = simulation->hierarchy;
	struct fm_simulated_core *other = fm_hierarchy_core(hierarchy, simulation->machine->cores);

	for (unsigned i = 0; i < simulation->count; i++)
		for (uint64_t at = 0; at < simulation->entry->bytes; at += hierarchy->description.page_bytes)
			fm_hierarchy_access(hierarchy, other, base_of(i) + at, 8, FM_ACCESS_LOAD);
	fm_hierarchy_flush(hierarchy);
}

static int add_worker(struct simulation *simulation, unsigned core, struct fm_error *error)
{
	struct worker *worker = &simulation->workers[simulation->count];
	unsigned streams = simulation->entry->kernel ? simulation->entry->kernel->streams : 1;

	worker->core = fm_hierarchy_core(simulation->hierarchy, core);
	worker->stream_bytes = simulation->entry->bytes / streams;
	for (unsigned i = 0; i < streams; i++)
		worker->streams[i] = base_of(simulation->count) + i * worker->stream_bytes;
	simulation->count++;
	return fm_core_timing_create(simulation->hierarchy, core, &worker->timing, error);
}

static void begin_counting(struct worker *worker)
{
	worker->counting = true;
	worker->begin = worker->core->counts;
	worker->timing_begin = *fm_core_timing_counts(worker->timing);
	worker->now_begin = fm_core_now(worker->timing);
}

static void end_counting(struct worker *worker)
{
	worker->finished = true;
	worker->end = worker->core->counts;
	worker->timing_end = *fm_core_timing_counts(worker->timing);
	worker->now_end = fm_core_now(worker->timing);
}

/* The next block of a stream, or the next line of a chase. */
static void step(struct simulation *simulation, struct worker *worker)
{
	const struct fm_plan_entry *entry = simulation->entry;
	bool chase = !entry->kernel;
	uint64_t streams[4], length = chase ? simulation->lines : worker->stream_bytes / FM_BLOCK_BYTES;

	if (worker->done == (chase ? LEAD_IN_LINES : LEAD_IN_BLOCKS) && !worker->counting)
		begin_counting(worker);
	if (chase) {
		uint64_t address =
		    worker->streams[0] + (uint64_t)simulation->order[worker->at] * simulation->machine->line_bytes;
		unsigned instructions = fm_feed_chase(worker->timing, address, entry->run.step,
		                                      entry->run.kind == FM_RUN_latency_dependent, worker->done);

		worker->instructions += worker->counting && !worker->finished ? instructions : 0;
	} else {
		for (unsigned i = 0; i < entry->kernel->streams; i++)
			streams[i] = worker->streams[i] + worker->at * FM_BLOCK_BYTES;
		fm_feed_block(worker->timing, entry->kernel, entry->isa, streams);
	}
	worker->at = (worker->at + 1) % length;
	worker->done++;
	if (worker->counting && !worker->finished && ++worker->measured == entry->blocks)
		end_counting(worker);
}

/* The core furthest behind continues. Finished cores continue too, so that the others are not suddenly alone. */
static void run_workers(struct simulation *simulation, unsigned first)
{
	unsigned unfinished = simulation->count - first;

	while (unfinished) {
		struct worker *behind = &simulation->workers[first];

		for (unsigned i = first + 1; i < simulation->count; i++)
			if (fm_core_now(simulation->workers[i].timing) < fm_core_now(behind->timing))
				behind = &simulation->workers[i];
		if (behind->finished) {
			step(simulation, behind);
			continue;
		}
		step(simulation, behind);
		unfinished -= behind->finished;
	}
}

static void fill_caches(struct simulation *simulation, unsigned first)
{
	const struct fm_plan_entry *entry = simulation->entry;
	uint64_t length = entry->kernel ? simulation->workers[first].stream_bytes / FM_BLOCK_BYTES : simulation->lines;

	for (uint64_t at = 0; at < length; at++)
		for (unsigned i = first; i < simulation->count; i++) {
			struct worker *worker = &simulation->workers[i];
			uint64_t streams[4];

			if (!entry->kernel) {
				fm_hierarchy_access(simulation->hierarchy, worker->core,
				                    worker->streams[0] + (uint64_t)simulation->order[at] *
				                                             simulation->machine->line_bytes,
				                    8, FM_ACCESS_LOAD);
				continue;
			}
			for (unsigned k = 0; k < entry->kernel->streams; k++)
				streams[k] = worker->streams[k] + at * FM_BLOCK_BYTES;
			fm_feed_block_untimed(simulation->hierarchy, worker->core, entry->kernel, streams);
		}
}

/* Pairs of lines in random order; both lines of a pair one after the other, or only the first. */
static int make_order(struct simulation *simulation)
{
	uint64_t pairs = simulation->entry->bytes / simulation->machine->line_bytes / 2;
	bool both = simulation->entry->run.kind == FM_RUN_chase;
	uint32_t *order = malloc((pairs ? 2 * pairs : 1) * sizeof(*order)), *shuffled = fm_plan_order(pairs);

	if (!order || !shuffled) {
		free(order);
		free(shuffled);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < pairs; i++) {
		if (both) {
			order[2 * i] = 2 * shuffled[i];
			order[2 * i + 1] = 2 * shuffled[i] + 1;
		} else {
			order[i] = 2 * shuffled[i];
		}
	}
	free(shuffled);
	simulation->order = order;
	simulation->lines = both ? 2 * pairs : pairs;
	return 0;
}

static void subtract(void *a, const void *b, size_t bytes)
{
	uint64_t *left = a;
	const uint64_t *right = b;

	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		left[i] -= right[i];
}

static void add(void *a, const void *b, size_t bytes)
{
	uint64_t *left = a;
	const uint64_t *right = b;

	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		left[i] += right[i];
}

static void counted(const struct worker *worker, struct fm_core_counts *ret_counts, struct fm_timing_counts *ret_timing)
{
	*ret_counts = worker->end;
	subtract(ret_counts, &worker->begin, sizeof(*ret_counts));
	*ret_timing = worker->timing_end;
	subtract(ret_timing, &worker->timing_begin, sizeof(*ret_timing));
	/* the accounting lags behind by a little that differs from reading to reading: the clock does not */
	ret_timing->cycles = worker->now_end - worker->now_begin;
}

static void collect(struct simulation *simulation, struct fm_simulated_run *run)
{
	uint64_t longest = 0;

	counted(&simulation->workers[0], &run->own, &run->own_timing);
	for (unsigned i = 0; i < simulation->count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		counted(&simulation->workers[i], &counts, &timing);
		add(&run->socket, &counts, sizeof(counts));
		add(&run->socket_timing, &timing, sizeof(timing));
		if (timing.cycles > longest)
			longest = timing.cycles;
	}
	run->seconds = (double)longest / simulation->machine->frequency_ghz * 1e-9;
}

static void run_streams(struct simulation *simulation, struct fm_simulated_run *run)
{
	const struct fm_plan_entry *entry = simulation->entry;
	bool watch = entry->run.kind == FM_RUN_watch;

	fill_caches(simulation, watch);
	if (watch) {
		/* the first core computes for as long as the others take */
		struct worker *idle = &simulation->workers[0];

		begin_counting(idle);
		run_workers(simulation, 1);
		while (fm_core_now(idle->timing) < simulation->workers[1].now_end)
			idle->instructions += fm_feed_adds(idle->timing);
		end_counting(idle);
	} else {
		run_workers(simulation, 0);
	}
	collect(simulation, run);
	run->own_atoms[simulation->plan->quantities.instructions] += (double)simulation->workers[0].instructions;
	for (unsigned i = 0; i < simulation->count; i++)
		run->socket_atoms[simulation->plan->quantities.instructions] +=
		    (double)simulation->workers[i].instructions;
}

/* The first worker reads lines of the second. The flag between them is not simulated: its transfers are not those of
   the data. */
static void run_handover(struct simulation *simulation, struct fm_simulated_run *run)
{
	struct worker *consumer = &simulation->workers[0], *producer = &simulation->workers[1];
	unsigned line = simulation->machine->line_bytes;
	uint64_t address = base_of(CORES_MAX);

	begin_counting(consumer);
	begin_counting(producer);
	for (unsigned i = 0; i < FM_HANDOVER_STEPS; i++) {
		for (unsigned k = 0; k < simulation->entry->run.step; k++)
			fm_feed_access(producer->timing, address + (uint64_t)k * line, 8, FM_ACCESS_STORE);
		for (unsigned k = 0; k < simulation->entry->run.step; k++)
			fm_feed_access(consumer->timing, address + (uint64_t)k * line, 8, FM_ACCESS_LOAD);
		address += (uint64_t)simulation->entry->run.step * line;
	}
	end_counting(consumer);
	end_counting(producer);
	collect(simulation, run);
	run->own_atoms[simulation->plan->quantities.instructions] = (double)simulation->entry->blocks;
	run->socket_atoms[simulation->plan->quantities.instructions] = 2 * (double)simulation->entry->blocks;
}

/* One row: single elements up to a multiple of four, then four at a time; two sets of loads for each, one result. */
static void product_row(struct simulation *simulation, struct worker *worker, unsigned row, struct fm_work *work)
{
	struct fm_hierarchy *hierarchy = simulation->hierarchy;
	uint64_t rows = simulation->plan->rows, matrix = base_of(0) + row * rows * 8, x = base_of(CORES_MAX),
	         y = base_of(CORES_MAX + 1);
	uint64_t column = row;

	for (; column < rows && column % 4; column++) {
		fm_hierarchy_access(hierarchy, worker->core, x + column * 8, 8, FM_ACCESS_LOAD);
		fm_hierarchy_access(hierarchy, worker->core, matrix + column * 8, 8, FM_ACCESS_LOAD);
		work->flops += 2;
		work->instructions += 2;
	}
	for (; column + 4 <= rows; column += 4) {
		fm_hierarchy_access(hierarchy, worker->core, x + column * 8, 32, FM_ACCESS_LOAD);
		fm_hierarchy_access(hierarchy, worker->core, matrix + column * 8, 32, FM_ACCESS_LOAD);
		work->flops += 8;
		work->vector_calculations++;
		work->instructions += 2;
	}
	fm_hierarchy_access(hierarchy, worker->core, y + (uint64_t)row * 8, 8, FM_ACCESS_STORE);
	work->instructions += 3;
}

static void run_triangle(struct simulation *simulation, struct fm_simulated_run *run)
{
	unsigned rows = simulation->plan->rows, counted_thread = simulation->entry->run.thread;
	struct fm_work works[2] = {{0}};

	for (unsigned row = 0; row < rows / 2; row++)
		for (unsigned thread = 0; thread < 2; thread++)
			product_row(simulation, &simulation->workers[thread], row + thread * rows / 2, &works[thread]);
	run->own = simulation->workers[counted_thread].core->counts;
	for (unsigned thread = 0; thread < 2; thread++) {
		add(&run->socket, &simulation->workers[thread].core->counts, sizeof(run->socket));
		fm_work_add(&run->socket_work, &works[thread]);
	}
	run->own_work = works[counted_thread];
	run->own_atoms[simulation->plan->quantities.instructions] = (double)run->own_work.instructions;
	run->seconds = 1;
}

static void set_work(const struct fm_quantities *all, const double *atoms, struct fm_work *work)
{
	work->instructions = (uint64_t)atoms[all->instructions];
	work->flops = (uint64_t)atoms[all->flops];
	work->vector_calculations = (uint64_t)atoms[all->vector_calculations];
}

static int simulate(struct simulation *simulation, struct fm_simulated_run *run, struct fm_error *error)
{
	const struct fm_plan_entry *entry = simulation->entry;
	const struct fm_quantities *all = &simulation->plan->quantities;
	unsigned other = entry->run.remote ? simulation->machine->cores : 1;
	int r = 0;

	for (unsigned i = 0; !r && i < entry->run.cores && i < CORES_MAX; i++)
		r = add_worker(simulation, entry->run.kind == FM_RUN_handover && i ? other : i, error);
	if (r)
		return r;
	if (entry->run.remote && entry->run.kind != FM_RUN_handover)
		touch_remotely(simulation);
	switch (entry->run.kind) {
	case FM_RUN_handover:
		run_handover(simulation, run);
		break;
	case FM_RUN_triangle:
		run_triangle(simulation, run);
		return 0;
	default:
		if (!entry->kernel && make_order(simulation))
			return fm_error_set(error, ENOMEM, "no memory for a chase");
		run_streams(simulation, run);
	}
	run->own_atoms[all->cycles] = (double)run->own_timing.cycles;
	run->socket_atoms[all->cycles] = (double)run->socket_timing.cycles;
	set_work(all, run->own_atoms, &run->own_work);
	set_work(all, run->socket_atoms, &run->socket_work);
	return 0;
}

int fm_simulate_run(const struct fm_machine_description *machine, const struct fm_plan *plan,
                    const struct fm_plan_entry *entry, struct fm_simulated_run *ret_run, struct fm_error *error)
{
	struct simulation *simulation = calloc(1, sizeof(*simulation));
	struct fm_machine_description large_pages = *machine;
	int r;

	if (!simulation)
		return fm_error_set(error, ENOMEM, "no memory for a simulation");
	memset(ret_run, 0, sizeof(*ret_run));
	memcpy(ret_run->own_atoms, entry->run.own, sizeof(entry->run.own));
	memcpy(ret_run->socket_atoms, entry->run.socket, sizeof(entry->run.socket));
	/* as in benchmarks: caches and memory are measured, not translation */
	if (large_pages.page_bytes < 2 << 20)
		large_pages.page_bytes = 2 << 20;
	simulation->machine = machine;
	simulation->plan = plan;
	simulation->entry = entry;
	r = fm_hierarchy_create(&large_pages, &simulation->hierarchy, error);
	if (!r)
		r = simulate(simulation, ret_run, error);
	for (unsigned i = 0; i < simulation->count; i++)
		if (simulation->workers[i].timing)
			fm_core_timing_destroy(simulation->workers[i].timing);
	if (simulation->hierarchy)
		fm_hierarchy_destroy(simulation->hierarchy);
	free(simulation->order);
	free(simulation);
	return r;
}

/* Pages outside of the last translation buffer. */
static double walks_of(const struct fm_machine_description *machine, const struct fm_core_counts *counts)
{
	return machine->tlb_count ? (double)counts->tlb_misses[machine->tlb_count - 1] : 0;
}

/* All runs, several at once */

struct pool {
	const struct fm_machine_description *machine;
	const struct fm_plan *plan;
	const struct fm_simulate_options *options;
	struct fm_simulated_run *runs;
	uint64_t began;
	pthread_mutex_t lock;
	unsigned next, done;
	int result;
	struct fm_error error;
};

static void report(struct pool *pool)
{
	double share = (double)pool->done / pool->plan->count;
	double seconds = (double)(fm_clock_now() - pool->began) * 1e-9;

	fm_watcher_tell(&pool->options->watcher, "simulating", share, share > 0 ? seconds / share - seconds : 0);
}

static void *work(void *context)
{
	struct pool *pool = context;

	for (;;) {
		struct fm_error error;
		unsigned mine;
		int r;

		pthread_mutex_lock(&pool->lock);
		if (fm_watcher_stops(&pool->options->watcher) && !pool->result)
			pool->result = fm_error_set(&pool->error, EINTR, "interrupted");
		/* the long ones are at the end: from there */
		mine = pool->result ? pool->plan->count : pool->next++;
		pthread_mutex_unlock(&pool->lock);
		if (mine >= pool->plan->count)
			return NULL;
		mine = pool->plan->count - 1 - mine;
		r = fm_simulate_run(pool->machine, pool->plan, &pool->plan->entries[mine], &pool->runs[mine], &error);
		pthread_mutex_lock(&pool->lock);
		pool->done++;
		if (r && !pool->result) {
			pool->result = r;
			pool->error = error;
		}
		report(pool);
		pthread_mutex_unlock(&pool->lock);
	}
}

static int run_all(struct pool *pool)
{
	enum { JOBS_MAX = 64 };
	pthread_t threads[JOBS_MAX];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned jobs = pool->options->jobs ? pool->options->jobs
	                : processors > 0    ? (unsigned)processors
	                                    : 1,
	         started = 0;

	pool->began = fm_clock_now();
	while (started + 1 < jobs && started < JOBS_MAX && !pthread_create(&threads[started], NULL, work, pool))
		started++;
	work(pool);
	while (started)
		pthread_join(threads[--started], NULL);
	return pool->result;
}

static int fill_matrix(const struct fm_machine_description *machine, const struct fm_plan *plan,
                       const struct fm_simulated_run *runs, const struct fm_simulated_events *events,
                       const struct fm_simulate_options *options, struct fm_matrix *matrix)
{
	struct fm_random random;

	fm_random_seed(&random, options->seed);
	for (unsigned i = 0; i < plan->count; i++) {
		struct fm_run *run = fm_matrix_add_run(matrix);

		if (!run)
			return -ENOMEM;
		*run = plan->entries[i].run;
		memcpy(run->own, runs[i].own_atoms, sizeof(run->own));
		memcpy(run->socket, runs[i].socket_atoms, sizeof(run->socket));
		run->seconds = runs[i].seconds;
	}
	for (unsigned k = 0; k < fm_simulated_count(events); k++) {
		bool uncore = fm_simulated_is_uncore(events, k);

		if (!fm_matrix_add_event(matrix, fm_simulated_name(events, k), uncore))
			return -ENOMEM;
		for (unsigned i = 0; i < plan->count; i++) {
			/* the product is not timed: its second is none in which others work */
			double seconds = plan->entries[i].run.kind == FM_RUN_triangle ? 0 : runs[i].seconds;
			const struct fm_truth truth = {
			    .work = uncore ? &runs[i].socket_work : &runs[i].own_work,
			    .counts = uncore ? &runs[i].socket : &runs[i].own,
			    .timing = uncore ? &runs[i].socket_timing : &runs[i].own_timing,
			    .smt = plan->entries[i].run.smt,
			    .random = &random,
			};

			for (unsigned repeat = 0; repeat < matrix->repeats; repeat++) {
				struct fm_figure figure = fm_simulated_value(events, k, &truth);
				double beside = options->floors
				                    ? fm_floors_draw(options->floors, fm_simulated_name(events, k),
				                                     seconds, walks_of(machine, truth.counts), &random)
				                    : 0;

				if (figure.available)
					fm_matrix_counts(matrix, k, i)[repeat] = figure.value + beside;
			}
		}
	}
	return 0;
}

int fm_simulate_matrix(const struct fm_machine_description *machine, const struct fm_plan *plan,
                       const struct fm_simulated_events *events, const struct fm_simulate_options *options,
                       struct fm_matrix **ret_matrix, struct fm_error *error)
{
	struct pool pool = {.machine = machine, .plan = plan, .options = options, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct fm_matrix *matrix = NULL;
	unsigned repeats = options->floors ? options->repeats ? options->repeats : 10 : 1;
	int r;

	for (unsigned i = 0; i < fm_simulated_count(events); i++)
		if (fm_simulated_is_noisy(events, i))
			repeats = options->repeats ? options->repeats : 10;
	pool.runs = calloc(plan->count ? plan->count : 1, sizeof(*pool.runs));
	if (!pool.runs)
		return fm_error_set(error, ENOMEM, "no memory for the runs");
	r = run_all(&pool);
	if (r)
		*error = pool.error;
	if (!r && ((r = fm_matrix_create(&plan->quantities, repeats, &matrix)) ||
	           (r = fill_matrix(machine, plan, pool.runs, events, options, matrix))))
		r = fm_error_set(error, -r, "no memory for the matrix");
	free(pool.runs);
	if (r) {
		fm_matrix_free(matrix);
		return r;
	}
	snprintf(matrix->machine, sizeof(matrix->machine), "%s", machine->name);
	snprintf(matrix->origin, sizeof(matrix->origin), "simulated");
	*ret_matrix = matrix;
	return 0;
}
