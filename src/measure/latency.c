#include "measure/latency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/kernel.h"
#include "measure/tuning.h"

enum {
	WARM_CHAINS = 12,
	BUFFERS_PER_SIZE = 4,
	LARGE_BYTES = 16 << 20, /* one buffer of this size has pages enough to be typical */
	CHAINS_PER_LINE = FM_LINE_BYTES / sizeof(void *),
	POINTS_MAX = 160,
	MANY_BYTES = 64 << 20,
	SMALL_PAGE = 4096,
};

/* One data set: a buffer with a cycle of pointers through it. */
struct walk {
	struct fm_buffer buffer;
	struct fm_kernel_arguments arguments;
	uint64_t warm_steps;   /* per chain */
	uint64_t settle_steps; /* of one chain, after that */
	uint64_t steps;
};

/* Warm-up to the steady state of a program alone on the machine. Modern processors keep a line in the last cache only
   after a reuse, so that one pass is not enough. With other guests on the cache, lines without a use for some
   milliseconds are evicted: a set that is walked slowly, as by one chain, has less of it than these passes show. */
static const struct {
	unsigned passes;       /* twelve chains at a time */
	unsigned large_passes; /* of sets of MANY_BYTES or more, which take long */
} warming[FM_EFFORT_FULL + 1] = {
    [FM_EFFORT_QUICK] = {3, 1},
    [FM_EFFORT_DEFAULT] = {4, 2},
    [FM_EFFORT_FULL] = {4, 3},
};
/* Up to this size one more pass, of one chain alone. */
enum { SETTLED_BYTES = 8 << 20 };

/* A chain through the buffer that the walk has. */
static int walk_link(struct walk *walk, struct fm_machine_session *session, struct fm_error *error)
{
	const struct fm_topology *topology = &session->topology;
	size_t last = topology->cache_count ? topology->caches[topology->cache_count - 1].bytes : 0,
	       bytes = walk->buffer.bytes, lines = bytes / FM_LINE_BYTES;
	int status = fm_chain_build(&walk->buffer, &session->random, walk->arguments.chain, WARM_CHAINS, error);

	if (status)
		return status;
	walk->warm_steps =
	    (bytes < MANY_BYTES ? warming[session->effort].passes : warming[session->effort].large_passes) *
	    (lines / WARM_CHAINS + 1);
	/* too large to be cached: what finds its pages is not */
	if (bytes > (session->effort == FM_EFFORT_QUICK ? 1 : 2) * last)
		walk->warm_steps = 2 * (bytes / SMALL_PAGE) / WARM_CHAINS + 1;
	/* the kernel takes sixteen steps at a time */
	walk->settle_steps = bytes <= SETTLED_BYTES ? lines / 16 * 16 : 0;
	walk->steps = bytes <= 1 << 20 ? 32768 : 8192;
	return 0;
}

static int walk_prepare(struct walk *walk, struct fm_machine_session *session, size_t bytes, enum fm_pages pages,
                        struct fm_error *error)
{
	int status = fm_buffer_allocate(bytes, pages, -1, &walk->buffer, error);

	return status ? status : walk_link(walk, session, error);
}

/* Memory for several large sizes: a line has room for a pointer of each. The walks do not own it. */
struct common {
	struct fm_buffer buffer;
	unsigned chains;
};

static int walk_prepare_in(struct walk *walk, struct fm_machine_session *session, size_t bytes, struct common *common,
                           struct fm_error *error)
{
	walk->buffer =
	    (struct fm_buffer){.memory = common->buffer.memory + common->chains++ * sizeof(void *), .bytes = bytes};
	return walk_link(walk, session, error);
}

/* Other trials have used the caches meanwhile: walk the whole set, twelve chains at a time, then follow one chain. It
   continues where the walk began, at the lines that were used longest ago, as in a steady state. */
static double walk_cost(struct walk *walk)
{
	uint64_t begin;

	walk->arguments.count = walk->warm_steps;
	fm_kernel_chase_parallel[WARM_CHAINS - 1](&walk->arguments);
	if (walk->settle_steps) {
		walk->arguments.count = walk->settle_steps;
		fm_kernel_chase(&walk->arguments);
	}
	walk->arguments.count = walk->steps;
	begin = fm_clock_now();
	fm_kernel_chase(&walk->arguments);
	return (double)(fm_clock_now() - begin) / (double)walk->steps;
}

static int walk_trial(void *context, double *ret_cost, struct fm_error *error)
{
	(void)error;
	*ret_cost = walk_cost(context);
	return 0;
}

/* Several walks of one size that take turns. */
struct rotation {
	struct walk walks[BUFFERS_PER_SIZE];
	unsigned count;
	unsigned next;
};

static int rotation_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct rotation *rotation = context;

	(void)error;
	*ret_cost = walk_cost(&rotation->walks[rotation->next++ % rotation->count]);
	return 0;
}

static int by_size(const void *left, const void *right)
{
	const struct fm_latency_point *a = left, *b = right;

	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static size_t round_to_lines(double bytes)
{
	return (size_t)(bytes / FM_LINE_BYTES + 0.5) * FM_LINE_BYTES;
}

/* The sizes to begin with. Beyond twice the last cache the curve is expected to be flat: few, because they are large.
   Of a last cache of hundreds of megabytes that goes for its upper end too: fresh memory takes seconds a gigabyte in
   some virtual machines. */
static unsigned first_sizes(const struct fm_machine_session *session, enum fm_pages pages, size_t *ret_sizes)
{
	const struct fm_topology *topology = &session->topology;
	size_t first = topology->cache_count ? topology->caches[0].bytes : 32 << 10;
	size_t last = topology->cache_count ? topology->caches[topology->cache_count - 1].bytes : 32 << 20;
	double per_octave = session->effort == FM_EFFORT_QUICK ? 2 : session->effort == FM_EFFORT_DEFAULT ? 3 : 6;
	static const double beyond[FM_EFFORT_FULL + 1][4] = {{3, 6, 0, 0}, {3, 5, 10, 0}, {3, 4, 6, 10}};
	unsigned count = 0;
	double limit = (double)session->memory_limit / 2, many = session->effort == FM_EFFORT_FULL ? limit : MANY_BYTES,
	       end = fmin(2.0 * (double)last, limit);
	/* half of the usual size also exceeds a large cache */
	bool short_of_time = session->effort == FM_EFFORT_QUICK && last > MANY_BYTES;

	if (short_of_time)
		end = fmin(end, (double)last);
	/* levels come from the curve on huge pages; this one may be coarse where it is large */
	if (session->effort == FM_EFFORT_QUICK && session->huge_pages && pages == FM_PAGES_SMALL)
		end = fmin(end, many);
	for (double bytes = (double)first / 2; bytes <= end && count < POINTS_MAX - 8;
	     bytes *= exp2((bytes < many ? 1 : 2) / per_octave))
		ret_sizes[count++] = round_to_lines(bytes);
	for (unsigned i = 0; i < 4 && beyond[session->effort][i] > 0; i++) {
		double bytes = beyond[session->effort][i] * (double)last;

		if (short_of_time)
			bytes /= 2;
		/* one of them is needed, the others are good to have */
		if (i && bytes > many * 16)
			break;
		if (bytes < limit)
			ret_sizes[count++] = round_to_lines(bytes);
	}
	return count;
}

/* Prepares a walk for each of the sizes, of which the large ones share memory. */
static int prepare_points(struct fm_machine_session *session, enum fm_pages pages, const size_t *sizes, unsigned count,
                          struct walk *walks, struct common *common, struct fm_error *error)
{
	int status = 0;

	for (unsigned i = 0; i < count && !status; i++) {
		struct common *with = NULL;

		status = fm_machine_session_check(session, error);
		for (unsigned j = 0; sizes[i] >= LARGE_BYTES && !with; j++)
			if (common[j].chains < CHAINS_PER_LINE)
				with = &common[j];
		if (!status && with && !with->chains) {
			size_t most = 0;

			for (unsigned j = i; j < count; j++)
				most = sizes[j] > most ? sizes[j] : most;
			status = fm_buffer_allocate(most, pages, -1, &with->buffer, error);
		}
		if (!status)
			status = with ? walk_prepare_in(&walks[i], session, sizes[i], with, error)
			              : walk_prepare(&walks[i], session, sizes[i], pages, error);
	}
	return status;
}

static int measure_points(struct fm_machine_session *session, enum fm_pages pages, const size_t *sizes, unsigned count,
                          double seconds, struct fm_latency_point *ret_points, unsigned *ret_count,
                          struct fm_error *error)
{
	struct walk *walks = calloc(count, sizeof(*walks));
	struct fm_measurement *measurements = calloc(count, sizeof(*measurements));
	struct common common[POINTS_MAX / CHAINS_PER_LINE + 1] = {0};
	uint64_t begin = fm_clock_now();
	int status = 0;

	*ret_count = 0;
	if (!walks || !measurements) {
		status = fm_error_set(error, ENOMEM, "out of memory");
		goto out;
	}
	status = prepare_points(session, pages, sizes, count, walks, common, error);
	if (status)
		goto out;
	for (unsigned i = 0; i < count; i++) {
		measurements[i].trial = walk_trial;
		measurements[i].context = &walks[i];
		measurements[i].wanted_width = LATENCY_CURVE_WIDTH;
		measurements[i].core_clock = sizes[i] <= fm_topology_core_bytes(&session->topology);
	}
	status = fm_machine_session_measure(session, measurements, count, LATENCY_CURVE_LEAST, LATENCY_CURVE_MOST,
	                                    seconds - (double)(fm_clock_now() - begin) / 1e9, error);
	if (status)
		goto out;
	/* a size whose trials were nearly all disturbed is no point of the curve */
	for (unsigned i = 0; i < count; i++) {
		struct fm_figure ns = fm_measurement_figure(&measurements[i], "ns");

		if (ns.available && ns.value > 0)
			ret_points[(*ret_count)++] = (struct fm_latency_point){.bytes = sizes[i], .ns = ns};
	}
out:
	for (unsigned i = 0; i < count; i++) {
		if (walks)
			fm_buffer_free(&walks[i].buffer);
		if (measurements)
			fm_measurement_free(&measurements[i]);
	}
	for (unsigned i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		fm_buffer_free(&common[i].buffer);
	free(walks);
	free(measurements);
	return status;
}

int fm_latency_measure_curve(struct fm_machine_session *session, enum fm_pages pages, double seconds,
                             struct fm_latency_curve *ret_curve, struct fm_error *error)
{
	struct fm_latency_curve curve = {.pages = pages};
	size_t sizes[POINTS_MAX];
	bool quick = session->effort == FM_EFFORT_QUICK;
	double finest = quick ? FINEST_QUICK : FINEST;
	uint64_t end = fm_clock_now() + (uint64_t)(seconds * 1e9);
	unsigned wanted;
	int status;

	curve.points = calloc(POINTS_MAX, sizeof(*curve.points));
	if (!curve.points)
		return fm_error_set(error, ENOMEM, "out of memory");
	wanted = first_sizes(session, pages, sizes);
	status = measure_points(session, pages, sizes, wanted, seconds * FIRST_POINTS_SHARE, curve.points, &curve.count,
	                        error);
	qsort(curve.points, curve.count, sizeof(*curve.points), by_size);
	/* the curve that the levels come from is made finer once in any case */
	for (int round = 0; !status && round < 3; round++) {
		bool levels = !session->huge_pages || pages == FM_PAGES_HUGE;
		struct fm_curve_point points[POINTS_MAX];
		double more[POINTS_MAX];
		unsigned added, found;

		if (quick && (round || !levels) && fm_clock_now() > end)
			break;
		for (unsigned i = 0; i < curve.count; i++)
			points[i] = (struct fm_curve_point){(double)curve.points[i].bytes, curve.points[i].ns.value,
			                                    curve.points[i].ns.low, curve.points[i].ns.high};
		added = fm_levels_refine(points, curve.count, finest, more, POINTS_MAX - curve.count);
		if (!added)
			break;
		for (unsigned i = 0; i < added; i++)
			sizes[i] = round_to_lines(more[i]);
		status = measure_points(session, pages, sizes, added, seconds * REFINING_SHARE / 3,
		                        curve.points + curve.count, &found, error);
		if (status)
			break;
		curve.count += found;
		qsort(curve.points, curve.count, sizeof(*curve.points), by_size);
	}
	if (status) {
		fm_latency_curve_free(&curve);
		return status;
	}
	*ret_curve = curve;
	return 0;
}

/* ns times the clock of the same moment: one sample of cycles per trial, so that a drifting clock cancels. */
static struct fm_figure cycles_figure(const struct fm_measurement *measurement)
{
	struct fm_measurement cycles = {0};
	struct fm_figure figure;

	for (unsigned i = 0; i < measurement->costs.count; i++)
		if (fm_sample_add(&cycles.costs, measurement->costs.values[i] / measurement->beats.values[i]))
			break;
	figure = fm_measurement_figure(&cycles, "cycles");
	figure.set_aside = measurement->doubtful.count;
	fm_measurement_free(&cycles);
	return figure;
}

/* Two visits are two measurements of one thing: the interval must hold both. */
static void add_visit(struct fm_figure *hull, const struct fm_figure *figure, unsigned visits)
{
	if (!figure->available)
		return;
	if (!visits || !hull->available) {
		*hull = *figure;
	} else {
		hull->value += (figure->value - hull->value) / (visits + 1);
		hull->low = fmin(hull->low, figure->low);
		hull->high = fmax(hull->high, figure->high);
		hull->trials += figure->trials;
		hull->set_aside += figure->set_aside;
	}
	fm_figure_widen(hull, MACHINE_DRIFT);
}

int fm_latency_visit(struct fm_machine_session *session, enum fm_pages pages, double seconds,
                     struct fm_latency_visits *visits, struct fm_error *error)
{
	struct rotation *rotations = calloc(visits->count, sizeof(*rotations));
	struct fm_measurement *measurements = calloc(visits->count, sizeof(*measurements));
	uint64_t begin = fm_clock_now();
	int status = 0;

	if (!rotations || !measurements) {
		status = fm_error_set(error, ENOMEM, "out of memory");
		goto out;
	}
	for (unsigned i = 0; i < visits->count; i++) {
		rotations[i].count = visits->bytes[i] > LARGE_BYTES ? 1 : BUFFERS_PER_SIZE;
		for (unsigned j = 0; j < rotations[i].count && !status; j++) {
			status = fm_machine_session_check(session, error);
			if (!status)
				status = walk_prepare(&rotations[i].walks[j], session, visits->bytes[i], pages, error);
		}
		if (status)
			goto out;
		measurements[i].trial = rotation_trial;
		measurements[i].context = &rotations[i];
		measurements[i].weight = BUFFERS_PER_SIZE;
		measurements[i].wanted_width = LATENCY_VISIT_WIDTH;
		measurements[i].core_clock = visits->bytes[i] <= fm_topology_core_bytes(&session->topology);
	}
	status =
	    fm_machine_session_measure(session, measurements, visits->count, LATENCY_VISIT_LEAST, LATENCY_VISIT_MOST,
	                               seconds - (double)(fm_clock_now() - begin) / 1e9, error);
	if (status)
		goto out;
	for (unsigned i = 0; i < visits->count; i++) {
		struct fm_figure ns = fm_measurement_figure(&measurements[i], "ns");
		struct fm_figure cycles = cycles_figure(&measurements[i]);

		add_visit(&visits->ns[i], &ns, visits->visits);
		add_visit(&visits->cycles[i], &cycles, visits->visits);
	}
	visits->visits++;
out:
	for (unsigned i = 0; i < visits->count; i++) {
		for (unsigned j = 0; rotations && j < rotations[i].count; j++)
			fm_buffer_free(&rotations[i].walks[j].buffer);
		if (measurements)
			fm_measurement_free(&measurements[i]);
	}
	free(rotations);
	free(measurements);
	return status;
}
