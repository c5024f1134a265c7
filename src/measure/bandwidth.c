#include "measure/bandwidth.h"

#include <errno.h>
#include <hwloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/buffer.h"
#include "measure/tuning.h"

enum {
	TRIAL_NS = 200000, /* long enough that reading the clock does not matter, short enough to fit between ticks */
	TEAM_TRIAL_NS = 2000000, /* and that threads which begin some microseconds later do not matter */
	PAGE_BYTES = 4096,
	ELEMENT_BYTES = 8,
	STREAMING_LEAST = 32 << 20,
	/* Between streams, so that they do not lie a power of two apart and compete for the same banks of memory. */
	GAP_PAGES = 5,
	CHUNKS = 32,
	SLACK_BYTES = 4 * (GAP_PAGES + 1) * PAGE_BYTES, /* for four streams */
};

/* The work of one thread. */
struct worker {
	struct fm_kernel_arguments arguments; /* of the timed part */
	struct fm_kernel_arguments warm;      /* of the warm-up */
	fm_kernel_function function;
	uint64_t piece; /* blocks that one call handles; 0: all of them */
	double bytes;   /* moved by one pass of the timed part */
};

/* A kernel of either kind, as a worker sees it. */
struct work {
	const char *name;
	fm_kernel_function function;
	unsigned streams;
	unsigned element_bytes; /* loaded and stored */
};

static struct work stream_work(enum fm_stream_kernel_index index, enum fm_isa isa)
{
	const struct fm_stream_kernel *kernel = &fm_streams[index];

	return (struct work){kernel->name, fm_stream_functions[index][isa], kernel->streams,
	                     kernel->loaded_bytes + kernel->stored_bytes};
}

static struct work work_of(const struct fm_bandwidth *point)
{
	const struct fm_stream_kernel *kernel = point->string;

	if (!kernel)
		return stream_work(point->kernel, point->isa);
	return (struct work){kernel->name, fm_string_functions[kernel - fm_strings], kernel->streams,
	                     kernel->loaded_bytes + kernel->stored_bytes};
}

struct job {
	struct fm_machine_session *session;
	const unsigned *who; /* as in fm_team_run */
	unsigned threads;
	bool calibrated;
	struct worker *workers;
	struct fm_team_time *times;
};

/* Streams one behind the other, each on a page of its own: with equal offsets in their pages a load never looks like it
   followed a store to the same address (only the low twelve bits are compared at first). */
static int worker_prepare(struct worker *worker, const struct fm_buffer *arena, const struct work *kernel, size_t bytes,
                          bool streaming, struct fm_error *error)
{
	size_t blocks = bytes / kernel->streams / FM_BLOCK_BYTES;
	size_t spacing = ((blocks * FM_BLOCK_BYTES + PAGE_BYTES - 1) / PAGE_BYTES + GAP_PAGES) * PAGE_BYTES;
	size_t warm_blocks = streaming ? blocks / 3 : blocks;

	if (!warm_blocks || spacing * kernel->streams > arena->bytes)
		return fm_error_set(error, EINVAL, "%zu bytes are too few for the %s kernel", bytes, kernel->name);
	worker->function = kernel->function;
	worker->arguments.scalar = worker->warm.scalar = 1.0;
	worker->arguments.passes = worker->warm.passes = 1;
	worker->warm.count = warm_blocks;
	worker->arguments.count = streaming ? blocks - warm_blocks : blocks;
	for (unsigned i = 0; i < kernel->streams; i++) {
		worker->warm.stream[i] = arena->memory + i * spacing;
		worker->arguments.stream[i] =
		    arena->memory + i * spacing + (streaming ? warm_blocks * FM_BLOCK_BYTES : 0);
	}
	worker->bytes =
	    (double)worker->arguments.count * FM_BLOCK_BYTES / ELEMENT_BYTES * (double)kernel->element_bytes;
	return 0;
}

/* One pass over some of the blocks. */
static struct fm_kernel_arguments part_of(const struct fm_kernel_arguments *whole, uint64_t first, uint64_t count)
{
	struct fm_kernel_arguments part = *whole;

	part.passes = 1;
	part.count = count < whole->count - first ? count : whole->count - first;
	for (unsigned i = 0; i < 4; i++)
		if (part.stream[i])
			part.stream[i] = (char *)part.stream[i] + first * FM_BLOCK_BYTES;
	return part;
}

/* All blocks of all passes, a piece at a time where there are pieces. */
static void run_kernel(const struct worker *worker, struct fm_kernel_arguments *arguments)
{
	if (!worker->piece) {
		worker->function(arguments);
		return;
	}
	for (uint64_t pass = 0; pass < arguments->passes; pass++)
		for (uint64_t block = 0; block < arguments->count; block += worker->piece) {
			struct fm_kernel_arguments piece = part_of(arguments, block, worker->piece);

			worker->function(&piece);
		}
}

static void warm_worker(void *context, unsigned index)
{
	struct worker *worker = &((struct job *)context)->workers[index];

	run_kernel(worker, &worker->warm);
}

static void run_worker(void *context, unsigned index)
{
	struct worker *worker = &((struct job *)context)->workers[index];

	run_kernel(worker, &worker->arguments);
}

static void run_job(struct job *job)
{
	if (job->session && (job->threads > 1 || job->who)) {
		fm_team_run(job->session->team, job->who, job->threads, warm_worker, run_worker, job, job->times);
		return;
	}
	warm_worker(job, 0);
	job->times[0].lost_ns = 0; /* the watch of this thread sees it */
	job->times[0].begin_ns = fm_clock_now();
	run_worker(job, 0);
	job->times[0].end_ns = fm_clock_now();
}

/* From the first begin to the last end. */
static double job_duration(const struct job *job, bool *ret_disturbed)
{
	uint64_t begin = job->times[0].begin_ns, end = job->times[0].end_ns;

	*ret_disturbed = false;
	for (unsigned i = 0; i < job->threads; i++) {
		if (job->times[i].begin_ns < begin)
			begin = job->times[i].begin_ns;
		if (job->times[i].end_ns > end)
			end = job->times[i].end_ns;
		*ret_disturbed |= job->times[i].lost_ns > FM_TEAM_TOLERATED_NS;
	}
	return (double)(end - begin);
}

/* Bytes per ns of all threads, while each of them runs: those that begin or end a little later than the others would
   lengthen the time of the team. */
static double job_rate(const struct job *job, bool *ret_disturbed)
{
	double rate = 0;

	*ret_disturbed = false;
	for (unsigned i = 0; i < job->threads; i++) {
		const struct worker *worker = &job->workers[i];
		double ns = (double)(job->times[i].end_ns - job->times[i].begin_ns);

		rate += worker->bytes * (double)worker->arguments.passes / fmax(ns, 1);
		*ret_disturbed |= job->times[i].lost_ns > FM_TEAM_TOLERATED_NS;
	}
	return rate;
}

/* Choose the number of passes so that a trial takes long enough. */
static void calibrate(struct job *job, bool streaming, double wanted_ns)
{
	bool disturbed;
	double ns;

	job->calibrated = true;
	if (streaming)
		return;
	for (uint64_t passes = 1;; passes *= 4) {
		for (unsigned i = 0; i < job->threads; i++)
			job->workers[i].arguments.passes = passes;
		run_job(job);
		ns = job_duration(job, &disturbed);
		if (ns < wanted_ns / 8)
			continue;
		passes = (uint64_t)((double)passes * wanted_ns / ns) + 1;
		for (unsigned i = 0; i < job->threads; i++)
			job->workers[i].arguments.passes = passes;
		return;
	}
}

static int job_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct job *job = context;
	bool disturbed;

	(void)error;
	if (!job->calibrated)
		calibrate(job, job->workers[0].arguments.stream[0] != job->workers[0].warm.stream[0],
		          job->threads > 1 ? TEAM_TRIAL_NS : TRIAL_NS);
	run_job(job);
	*ret_cost = 1 / job_rate(job, &disturbed);
	return disturbed ? FM_TRIAL_DISTURBED : 0;
}

/* The cost of the middle one of many chunks. */
static int chunk_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct worker *worker = ((struct job *)context)->workers;
	uint64_t blocks = worker->arguments.count / CHUNKS;
	double bytes = worker->bytes / (double)worker->arguments.count * (double)blocks;
	double costs[CHUNKS];

	(void)error;
	run_kernel(worker, &worker->warm);
	for (unsigned i = 0; i < CHUNKS; i++) {
		struct fm_kernel_arguments chunk = part_of(&worker->arguments, i * blocks, blocks);
		uint64_t begin = fm_clock_now();

		run_kernel(worker, &chunk);
		costs[i] = (double)(fm_clock_now() - begin) / bytes;
	}
	fm_statistics_sort(costs, CHUNKS);
	*ret_cost = costs[CHUNKS / 2];
	return 0;
}

static int job_create(struct job *job, struct fm_machine_session *session, unsigned threads, struct fm_error *error)
{
	job->session = session;
	job->threads = threads;
	job->workers = calloc(threads, sizeof(*job->workers));
	job->times = calloc(threads, sizeof(*job->times));
	if (!job->workers || !job->times)
		return fm_error_set(error, ENOMEM, "out of memory");
	return 0;
}

static void job_free(struct job *job)
{
	free(job->workers);
	free(job->times);
}

/* Arenas are written first by the thread that uses them, so that they lie in its NUMA node. */
struct arenas {
	struct fm_buffer *buffers;
	size_t *bytes;
	enum fm_pages pages;
	int node;
	int status;
	struct fm_error error;
};

static void allocate_arena(void *context, unsigned index)
{
	struct arenas *arenas = context;
	struct fm_error error;

	if (arenas->bytes[index] &&
	    fm_buffer_allocate(arenas->bytes[index], arenas->pages, arenas->node, &arenas->buffers[index], &error)) {
		/* any one of several failures will do; they all say the same */
		arenas->error = error;
		arenas->status = -error.code;
	}
}

static int arenas_create(struct arenas *arenas, struct fm_machine_session *session, const unsigned *who,
                         unsigned threads, struct fm_error *error)
{
	struct fm_team_time *times = calloc(threads, sizeof(*times));

	arenas->pages = session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL;
	if (!times)
		return fm_error_set(error, ENOMEM, "out of memory");
	fm_team_run(session->team, who, threads, NULL, allocate_arena, arenas, times);
	free(times);
	if (arenas->status && error)
		*error = arenas->error;
	return arenas->status;
}

static void arenas_free(struct arenas *arenas, unsigned threads)
{
	for (unsigned i = 0; arenas->buffers && i < threads; i++)
		fm_buffer_free(&arenas->buffers[i]);
	free(arenas->buffers);
	free(arenas->bytes);
}

int fm_bandwidth_measure(struct fm_machine_session *session, struct fm_bandwidth *list, unsigned count, double seconds,
                         struct fm_error *error)
{
	struct arenas arenas = {.node = -1};
	struct job *jobs = calloc(count, sizeof(*jobs));
	struct fm_measurement *measurements = calloc(count, sizeof(*measurements));
	uint64_t begin = fm_clock_now();
	unsigned threads = 0;
	int status = 0;

	for (unsigned i = 0; i < count; i++)
		threads = list[i].threads > threads ? list[i].threads : threads;
	arenas.buffers = calloc(threads ? threads : 1, sizeof(*arenas.buffers));
	arenas.bytes = calloc(threads ? threads : 1, sizeof(*arenas.bytes));
	if (!jobs || !measurements || !arenas.buffers || !arenas.bytes) {
		status = fm_error_set(error, ENOMEM, "out of memory");
		goto out;
	}
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < list[i].threads; j++)
			if (list[i].bytes + SLACK_BYTES > arenas.bytes[j])
				arenas.bytes[j] = list[i].bytes + SLACK_BYTES;
	status = arenas_create(&arenas, session, NULL, threads, error);
	if (status)
		goto out;
	for (unsigned i = 0; i < count; i++) {
		struct work work = work_of(&list[i]);

		status = job_create(&jobs[i], session, list[i].threads, error);
		for (unsigned j = 0; j < list[i].threads && !status; j++) {
			status = worker_prepare(&jobs[i].workers[j], &arenas.buffers[j], &work, list[i].bytes,
			                        list[i].streaming, error);
			jobs[i].workers[j].piece = list[i].piece / FM_BLOCK_BYTES;
		}
		if (status)
			goto out;
		measurements[i].trial = list[i].chunked ? chunk_trial : job_trial;
		measurements[i].context = &jobs[i];
		measurements[i].elsewhere = list[i].threads > 1 || list[i].chunked;
		measurements[i].wanted_width = BANDWIDTH_WIDTH;
		/* of several threads each has a clock of its own */
		measurements[i].core_clock =
		    list[i].threads == 1 && list[i].bytes <= fm_topology_core_bytes(&session->topology);
		/* one long instruction cannot be timed in chunks: more trials instead, some of which are left alone */
		if (list[i].streaming && list[i].string && !list[i].chunked)
			measurements[i].weight = 3;
	}
	status = fm_machine_session_measure(
	    session, measurements, count, session->effort == FM_EFFORT_QUICK ? BANDWIDTH_QUICK_LEAST : BANDWIDTH_LEAST,
	    BANDWIDTH_MOST, seconds - (double)(fm_clock_now() - begin) / 1e9, error);
	if (status)
		goto out;
	for (unsigned i = 0; i < count; i++) {
		/* the cost is ns per byte, which is the reciprocal of GB/s */
		struct fm_figure cost = fm_measurement_figure(&measurements[i], "ns/B");

		list[i].gbs = fm_figure_inverted(&cost, 1, "GB/s");
		fm_figure_widen(&list[i].gbs, MACHINE_DRIFT);
	}
out:
	for (unsigned i = 0; i < count; i++) {
		if (jobs)
			job_free(&jobs[i]);
		if (measurements)
			fm_measurement_free(&measurements[i]);
	}
	free(jobs);
	free(measurements);
	arenas_free(&arenas, threads);
	return status;
}

int fm_bandwidth_once(enum fm_stream_kernel_index kernel, enum fm_isa isa, size_t bytes, double seconds,
                      double *ret_gbs, struct fm_error *error)
{
	struct work work = stream_work(kernel, isa);
	struct job job = {0};
	struct fm_buffer arena = {0};
	bool disturbed;
	int status = fm_buffer_allocate(bytes + SLACK_BYTES, FM_PAGES_SMALL, -1, &arena, error);

	if (status)
		return status;
	status = job_create(&job, NULL, 1, error);
	if (!status)
		status = worker_prepare(&job.workers[0], &arena, &work, bytes, false, error);
	if (!status) {
		calibrate(&job, false, seconds * 1e9);
		run_job(&job);
		*ret_gbs =
		    job.workers[0].bytes * (double)job.workers[0].arguments.passes / job_duration(&job, &disturbed);
	}
	job_free(&job);
	fm_buffer_free(&arena);
	return status;
}

/* One pair of nodes: who runs, where the memory is. */
struct numa_work {
	struct job job;
	struct arenas arenas;
	unsigned who[FM_CPUS_MAX];
	struct fm_kernel_arguments chase;
	struct fm_buffer chain;
	uint64_t steps;
};

static void chase_worker(void *context, unsigned index)
{
	struct numa_work *work = context;

	(void)index;
	work->chase.count = work->steps;
	fm_kernel_chase(&work->chase);
}

static int numa_chase_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct numa_work *work = context;
	struct fm_team_time time;

	(void)error;
	fm_team_run(work->job.session->team, work->who, 1, NULL, chase_worker, work, &time);
	*ret_cost = (double)(time.end_ns - time.begin_ns) / (double)work->steps;
	return time.lost_ns > FM_TEAM_TOLERATED_NS ? FM_TRIAL_DISTURBED : 0;
}

/* Bytes per thread: together three times their caches, or the requested size. More would only take time: a node may
   have a hundred CPUs, and there are many pairs. */
static size_t streaming_share(const struct fm_machine_session *session, const unsigned *who, unsigned count,
                              size_t bytes)
{
	enum { LEAST = 4 << 20 };
	const struct fm_topology *topology = &session->topology;
	uint64_t last = topology->cache_count ? topology->caches[topology->cache_count - 1].bytes : 0;
	struct fm_cpu_place *places = session->places ? calloc(count, sizeof(*places)) : NULL;
	uint64_t share = STREAMING_LEAST;

	if (places) {
		for (unsigned i = 0; i < count; i++)
			places[i] = session->places[who[i]];
		share = 3 * last * fm_cpu_places_caches(places, count) / count;
	}
	free(places);
	share = share > bytes / count ? share : bytes / count;
	return share > LEAST ? (size_t)share : LEAST;
}

static int numa_prepare(struct numa_work *work, struct fm_machine_session *session, struct fm_numa_pair *pair,
                        size_t bytes, struct fm_error *error)
{
	struct work load = stream_work(FM_STREAM_load, fm_isa_widest());
	int status;
	size_t share;

	pair->threads = 0;
	for (unsigned i = 0; i < session->cpus.count; i++)
		if (fm_topology_node_of(session->cpus.cpu[i]) == pair->cpu_node)
			work->who[pair->threads++] = i;
	if (!pair->threads)
		return fm_error_set(error, EINVAL, "none of the selected CPUs is in NUMA node %u", pair->cpu_node);
	status = job_create(&work->job, session, pair->threads, error);
	if (status)
		return status;
	work->job.who = work->who;
	work->arenas.node = (int)pair->memory_node;
	work->arenas.buffers = calloc(pair->threads, sizeof(*work->arenas.buffers));
	work->arenas.bytes = calloc(pair->threads, sizeof(*work->arenas.bytes));
	if (!work->arenas.buffers || !work->arenas.bytes)
		return fm_error_set(error, ENOMEM, "out of memory");
	share = streaming_share(session, work->who, pair->threads, bytes);
	for (unsigned i = 0; i < pair->threads; i++)
		work->arenas.bytes[i] = share + SLACK_BYTES;
	status = arenas_create(&work->arenas, session, work->who, pair->threads, error);
	for (unsigned i = 0; i < pair->threads && !status; i++)
		status = worker_prepare(&work->job.workers[i], &work->arenas.buffers[i], &load, share, true, error);
	if (!status)
		status = fm_buffer_allocate(bytes, session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL,
		                            (int)pair->memory_node, &work->chain, error);
	if (!status)
		status = fm_chain_build(&work->chain, &session->random, work->chase.chain, 1, error);
	work->steps = 8192;
	return status;
}

/* Nodes with memory, as hwloc numbers them. */
static unsigned memory_nodes(unsigned *ret_nodes)
{
	hwloc_topology_t topology;
	unsigned count = 0;
	hwloc_obj_t node = NULL;

	if (hwloc_topology_init(&topology))
		return 0;
	if (!hwloc_topology_load(topology))
		while (count < FM_NODES_MAX && (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)))
			if (node->attr->numanode.local_memory)
				ret_nodes[count++] = node->os_index;
	hwloc_topology_destroy(topology);
	return count;
}

int fm_numa_measure(struct fm_machine_session *session, size_t bytes, double seconds, struct fm_numa_pair *pairs,
                    unsigned *ret_count, struct fm_error *error)
{
	unsigned nodes[FM_NODES_MAX];
	unsigned node_count = memory_nodes(nodes);
	bool seen[FM_NODES_MAX] = {false};
	uint64_t begin = fm_clock_now();
	unsigned count = 0;
	int status = 0;

	for (unsigned i = 0; i < session->cpus.count; i++) {
		unsigned cpu_node = fm_topology_node_of(session->cpus.cpu[i]);

		if (seen[cpu_node])
			continue;
		seen[cpu_node] = true;
		for (unsigned j = 0; j < node_count; j++) {
			struct fm_numa_pair *pair = &pairs[count++];
			struct numa_work *work = calloc(1, sizeof(*work));
			struct fm_measurement measurements[2] = {
			    {.trial = job_trial, .wanted_width = NUMA_WIDTH, .elsewhere = true},
			    {.trial = numa_chase_trial, .wanted_width = NUMA_WIDTH, .elsewhere = true},
			};

			if (!work)
				return fm_error_set(error, ENOMEM, "out of memory");
			pair->cpu_node = cpu_node;
			pair->memory_node = nodes[j];
			/* pairs of the first node are always measured, as an example of remote memory */
			if (count > node_count && session->effort != FM_EFFORT_FULL &&
			    (double)(fm_clock_now() - begin) > NUMA_LATE * 1e9 * seconds) {
				pair->gbs = pair->latency_ns = fm_figure_unavailable(
				    "the time limit was reached: 'fathom machine --full' measures all pairs");
				free(work);
				continue;
			}
			measurements[0].context = &work->job;
			measurements[1].context = work;
			status = numa_prepare(work, session, pair, bytes, error);
			if (!status)
				status = fm_machine_session_measure(
				    session, measurements, 2, NUMA_LEAST, NUMA_MOST,
				    seconds / (session->topology.nodes * session->topology.nodes), error);
			if (!status) {
				struct fm_figure cost = fm_measurement_figure(&measurements[0], "ns/B");

				pair->gbs = fm_figure_inverted(&cost, 1, "GB/s");
				pair->latency_ns = fm_measurement_figure(&measurements[1], "ns");
			}
			fm_measurement_free(&measurements[0]);
			fm_measurement_free(&measurements[1]);
			fm_buffer_free(&work->chain);
			arenas_free(&work->arenas, pair->threads);
			job_free(&work->job);
			free(work);
			if (status)
				return status;
		}
	}
	*ret_count = count;
	return 0;
}
