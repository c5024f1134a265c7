/* The whole characterisation, phase by phase, within the time there is. */
#include "measure/bandwidth.h"
#include "measure/bandwidth_curve.h"
#include "measure/characterise.h"
#include "measure/concurrency.h"
#include "measure/contention.h"
#include "measure/core.h"
#include "measure/latency.h"
#include "measure/prefetch.h"
#include "measure/string_stores.h"
#include "measure/touch.h"
#include "measure/translation.h"
#include "measure/ways.h"
#include "profile/follow.h"
#include "profile/peak.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"
#include "measure/clock.h"
#include "measure/tuning.h"

static int adds_trial(void *context, double *ret_cost, struct fm_error *error)
{
	enum { ADDS = 65536 };
	struct fm_kernel_arguments *arguments = context;
	uint64_t begin;

	(void)error;
	arguments->count = ADDS;
	begin = fm_clock_now();
	fm_kernel_adds(arguments);
	*ret_cost = (double)(fm_clock_now() - begin) / ADDS;
	return 0;
}

static int measure_frequency(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                             struct fm_error *error)
{
	struct fm_kernel_arguments arguments = {0};
	struct fm_measurement measurement = {
	    .trial = adds_trial, .context = &arguments, .wanted_width = FREQUENCY_WIDTH};
	struct fm_figure cost;
	int status =
	    fm_machine_session_measure(session, &measurement, 1, FREQUENCY_LEAST, FREQUENCY_MOST, seconds, error);

	if (!status) {
		cost = fm_measurement_figure(&measurement, "ns");
		machine->frequency_ghz = fm_figure_inverted(&cost, 1, "GHz");
		session->usual_beat = cost.available ? cost.value : 0;
	}
	fm_measurement_free(&measurement);
	return status;
}

static int measure_curves(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                          struct fm_error *error)
{
	for (int pages = 0; pages < FM_PAGES_COUNT; pages++) {
		int status;

		if (pages == FM_PAGES_HUGE && !session->huge_pages)
			continue;
		/* the curve on huge pages is the one the levels come from */
		status =
		    fm_latency_measure_curve(session, (enum fm_pages)pages,
		                             seconds * (pages == FM_PAGES_HUGE ? HUGE_CURVE_SHARE : SMALL_CURVE_SHARE),
		                             &machine->curves[pages], error);
		if (status)
			return status;
	}
	return 0;
}

static uint64_t to_lines(double bytes)
{
	return (uint64_t)(bytes / FM_LINE_BYTES) * FM_LINE_BYTES;
}

/* A data-set size well inside a level: clear of the level below, whose advertised or effective end is `below`, and of
   the effects of page placement near the capacity. If possible it depends on advertised sizes only, so that two runs
   measure the same size. */
static double size_inside(double below, double capacity, double advertised)
{
	if (!below)
		return fmin(advertised, capacity) > FIRST_LEVEL_TRUSTED * advertised ? advertised / 2 : capacity / 2;
	if (CLEAR_OF_BELOW * below <= CLEAR_OF_END * capacity)
		return CLEAR_OF_BELOW * below;
	return sqrt(fmin(TIGHT_BELOW * below, capacity) * TIGHT_END * capacity);
}

/* A curve as levels.h wants it; NULL when there is no memory left. */
static struct fm_curve_point *plain_points(const struct fm_latency_curve *curve, unsigned *ret_trials)
{
	struct fm_curve_point *points = calloc(curve->count + 1, sizeof(*points));

	*ret_trials = 0;
	for (unsigned i = 0; points && i < curve->count; i++) {
		points[i] = (struct fm_curve_point){(double)curve->points[i].bytes, curve->points[i].ns.value,
		                                    curve->points[i].ns.low, curve->points[i].ns.high};
		*ret_trials += curve->points[i].ns.trials;
	}
	return points;
}

static void set_hidden(struct fm_level *level, const char *why)
{
	level->effective_bytes = fm_figure_unavailable("%s", why);
	level->latency_ns = level->latency_cycles = level->latency_small_pages_ns = level->effective_bytes;
}

/* A level without a plateau has its latencies from the curve; visits only widen them. */
static void set_climb(struct fm_level *level, const struct fm_found_level *found, const struct fm_figure *frequency,
                      unsigned trials)
{
	const struct fm_plateau *plateau = &found->plateau;

	level->no_plateau = true;
	level->latency_ns =
	    fm_figure_make(plateau->ns, found->ns_low, found->ns_high, "ns", FM_ORIGIN_measured, "kernels", trials);
	level->latency_cycles = fm_figure_product(&level->latency_ns, frequency, "cycles");
	level->measured_bytes = to_lines(sqrt(plateau->capacity_low * plateau->capacity_high));
}

/* The same on small pages: what their curve says at the sizes that made the interval. */
static void set_climb_on_small_pages(struct fm_level *level, const struct fm_found_level *found,
                                     const struct fm_curve_point *points, unsigned count,
                                     const struct fm_curve_point *small, unsigned small_count, unsigned trials)
{
	const double ns[] = {found->plateau.ns, found->ns_low, found->ns_high};
	double other[3];

	for (unsigned i = 0; i < 3; i++)
		other[i] = fm_levels_ns_at(small, small_count, fm_levels_bytes_at(points, count, ns[i]));
	level->latency_small_pages_ns =
	    fm_figure_make(other[0], other[1], other[2], "ns", FM_ORIGIN_measured, "kernels", trials);
}

/* Capacity of the last cache. A quick characterisation uses the effective size if that is less: a guest often has a
   small part of hundreds of megabytes, and memory takes long to allocate and to walk. */
static double last_cache_bytes(const struct fm_machine_session *session, const struct fm_machine *machine)
{
	unsigned last = session->topology.cache_count - 1;
	double advertised = (double)session->topology.caches[last].bytes;
	const struct fm_figure *effective = &machine->levels[last].effective_bytes;

	return session->effort == FM_EFFORT_QUICK && effective->available
	           ? fmin(advertised, QUICK_BEYOND_EFFECTIVE * effective->high)
	           : advertised;
}

static int find_levels(struct fm_machine_session *session, struct fm_machine *machine, struct fm_error *error)
{
	const struct fm_topology *topology = &session->topology;
	const struct fm_latency_curve *curve = &machine->curves[session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL];
	const struct fm_latency_curve *small_curve = &machine->curves[FM_PAGES_SMALL];
	unsigned trials, small_trials;
	struct fm_curve_point *points = plain_points(curve, &trials), *small = plain_points(small_curve, &small_trials);
	struct fm_found_level found[FM_LEVELS_MAX];
	double advertised[FM_CACHES_MAX];
	double below = 0, largest, last;
	int status = 0;

	if (!points || !small) {
		status = fm_error_set(error, ENOMEM, "out of memory");
		goto out;
	}
	for (unsigned i = 0; i < topology->cache_count; i++)
		advertised[i] = (double)topology->caches[i].bytes;
	if (!fm_levels_assign(points, curve->count, topology->cache_count, advertised, found)) {
		status = fm_error_set(error, ENOMEM, "not enough memory to measure beyond the L1 cache");
		goto out;
	}
	largest = points[curve->count - 1].bytes;
	for (unsigned i = 0; i < topology->cache_count; i++) {
		struct fm_level *level = &machine->levels[machine->level_count++];
		const struct fm_plateau *plateau = &found[i].plateau;

		snprintf(level->name, sizeof(level->name), "L%u", topology->caches[i].level);
		level->advertised_bytes = topology->caches[i].bytes;
		level->shared_by = topology->caches[i].shared_by;
		if (found[i].shape == FM_SHAPE_HIDDEN) {
			set_hidden(level, found[i].why);
			continue;
		}
		level->effective_bytes =
		    fm_figure_make(plateau->capacity, plateau->capacity_low, plateau->capacity_high, "B",
		                   FM_ORIGIN_measured, "kernels", trials);
		if (found[i].shape == FM_SHAPE_CLIMB) {
			set_climb(level, &found[i], &machine->frequency_ghz, trials);
			set_climb_on_small_pages(level, &found[i], points, curve->count, small, small_curve->count,
			                         small_trials);
		} else {
			level->measured_bytes =
			    to_lines(size_inside(below, plateau->capacity, (double)level->advertised_bytes));
		}
		below = fmax(plateau->capacity, (double)level->advertised_bytes);
	}
	machine->levels[machine->level_count] = (struct fm_level){.name = "memory", .shared_by = topology->cpus};
	machine->levels[machine->level_count].effective_bytes =
	    fm_figure_unavailable("memory has no capacity limit here");
	last = last_cache_bytes(session, machine);
	machine->levels[machine->level_count].measured_bytes =
	    to_lines(fmin(largest, session->effort == FM_EFFORT_QUICK ? 2 * last : 4 * fmax(below, last)));
	machine->level_count++;
out:
	free(points);
	free(small);
	return status;
}

/* The sizes to visit; ret_level says which level each one is. */
static void list_sizes(const struct fm_machine *machine, struct fm_latency_visits *visits, unsigned *ret_level)
{
	visits->count = 0;
	for (unsigned i = 0; i < machine->level_count; i++)
		if (machine->levels[i].measured_bytes) {
			ret_level[visits->count] = i;
			visits->bytes[visits->count++] = machine->levels[i].measured_bytes;
		}
}

/* A visit of a level without a plateau is one more size on its climb. */
static void add_visit(struct fm_level *level, struct fm_figure *latency, const struct fm_figure *visit)
{
	if (!level->no_plateau) {
		*latency = *visit;
	} else if (visit->available) {
		latency->low = fmin(latency->low, visit->value);
		latency->high = fmax(latency->high, visit->value);
	}
}

/* Called in several phases: see struct fm_latency_visits. */
static int visit_levels(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                        struct fm_error *error)
{
	struct fm_latency_visits *visits = &session->level_visits;
	unsigned level[FM_LEVELS_MAX] = {0};
	int status;

	list_sizes(machine, visits, level);
	status =
	    fm_latency_visit(session, session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL, seconds, visits, error);
	for (unsigned i = 0; i < visits->count && !status; i++) {
		struct fm_level *visited = &machine->levels[level[i]];
		struct fm_figure cycles = visits->cycles[i];

		/* where every trial was disturbed, their own clocks are not known */
		if (!cycles.available)
			cycles = fm_figure_product(&visits->ns[i], &machine->frequency_ghz, "cycles");
		add_visit(visited, &visited->latency_ns, &visits->ns[i]);
		add_visit(visited, &visited->latency_cycles, &cycles);
		if (!session->huge_pages)
			add_visit(visited, &visited->latency_small_pages_ns, &visits->ns[i]);
	}
	return status;
}

static int visit_levels_on_small_pages(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                                       struct fm_error *error)
{
	struct fm_latency_visits visits = {0};
	unsigned level[FM_LEVELS_MAX] = {0};
	int status;

	if (!session->huge_pages)
		return 0;
	list_sizes(machine, &visits, level);
	status = fm_latency_visit(session, FM_PAGES_SMALL, seconds, &visits, error);
	for (unsigned i = 0; i < visits.count && !status; i++)
		add_visit(&machine->levels[level[i]], &machine->levels[level[i]].latency_small_pages_ns, &visits.ns[i]);
	return status;
}

/* Plan of the bandwidth measurements */

struct bandwidth_plan {
	struct fm_bandwidth *list;
	unsigned count, capacity;
};

static int plan_add(struct bandwidth_plan *plan, struct fm_bandwidth point)
{
	if (!fm_array_grow(plan->list, plan->count, plan->capacity))
		return -ENOMEM;
	plan->list[plan->count++] = point;
	return 0;
}

static bool in_quick_set(enum fm_stream_kernel_index kernel)
{
	return kernel == FM_STREAM_load || kernel == FM_STREAM_store || kernel == FM_STREAM_copy ||
	       kernel == FM_STREAM_stream_triad || kernel == FM_STREAM_store_nt;
}

static bool is_nontemporal(enum fm_stream_kernel_index kernel)
{
	return kernel == FM_STREAM_store_nt || kernel == FM_STREAM_copy_nt;
}

/* Data set of one of `threads` threads for a level: its own share of a shared cache, but still more than the level
   below holds. */
static size_t level_bytes(const struct fm_machine_session *session, const struct fm_machine *machine, unsigned index,
                          unsigned threads)
{
	const struct fm_level *level = &machine->levels[index];
	double bytes = (double)level->measured_bytes;

	if (!strcmp(level->name, "memory")) {
		double last = last_cache_bytes(session, machine);

		/* three times the last cache: a third is walked untimed, so that the timed part starts in a steady
		 * state */
		last *= fm_cpu_places_caches(session->places, threads);
		bytes = fmin(fmax(3 * last / threads, 32 << 20), (double)session->memory_limit / 2 / threads);
	} else if (level->shared_by > 1 && threads > 1) {
		double below = index && machine->levels[index - 1].effective_bytes.available
		                   ? machine->levels[index - 1].effective_bytes.value
		                   : 0;

		bytes = fmax(bytes / fmin(threads, level->shared_by), SHARED_BEYOND_BELOW * below);
	}
	return (size_t)bytes;
}

static int plan_bandwidth(const struct fm_machine_session *session, const struct fm_machine *machine,
                          struct bandwidth_plan *plan)
{
	enum fm_isa widest = fm_isa_widest();
	unsigned all = session->cpus.count;

	for (unsigned level = 0; level < machine->level_count; level++) {
		bool memory = !strcmp(machine->levels[level].name, "memory");

		if (!machine->levels[level].measured_bytes)
			continue;
		for (int kernel = 0; kernel < FM_STREAM_COUNT; kernel++) {
			/* of memory also half writes: the peak of any mixture lies between */
			if (session->effort == FM_EFFORT_QUICK && !in_quick_set((enum fm_stream_kernel_index)kernel) &&
			    !(memory && kernel == FM_STREAM_update))
				continue;
			if (is_nontemporal((enum fm_stream_kernel_index)kernel) && !memory)
				continue;
			for (int isa = 0; isa < FM_ISA_COUNT; isa++) {
				struct fm_bandwidth point = {.level = level,
				                             .kernel = (enum fm_stream_kernel_index)kernel,
				                             .isa = (enum fm_isa)isa,
				                             .streaming = memory};
				unsigned threads = 1;

				if (!fm_isa_available(point.isa) ||
				    (session->effort == FM_EFFORT_QUICK && point.isa != widest))
					continue;
				/* the widest one on all cores, and in memory on every number of cores in between */
				while (threads <= all) {
					point.threads = threads;
					point.bytes = level_bytes(session, machine, level, threads);
					if (plan_add(plan, point))
						return -ENOMEM;
					if (point.isa != widest || threads == all)
						break;
					if (memory && session->effort == FM_EFFORT_FULL)
						threads++;
					else if (memory && (in_quick_set(point.kernel) || fm_mix_is(point.kernel)))
						threads = 2 * threads < all ? 2 * threads : all;
					else
						threads = all;
				}
			}
		}
	}
	return 0;
}

static int measure_bandwidth(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                             struct fm_error *error)
{
	struct bandwidth_plan plan = {0};
	int status = plan_bandwidth(session, machine, &plan);

	if (status)
		status = fm_error_set(error, ENOMEM, "out of memory");
	else
		status = fm_bandwidth_measure(session, plan.list, plan.count, seconds, error);
	if (status) {
		free(plan.list);
		return status;
	}
	machine->bandwidths = plan.list;
	machine->bandwidth_count = plan.count;
	return 0;
}

static int measure_small_pages(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                               struct fm_error *error)
{
	struct fm_bandwidth list[FM_SMALL_PAGES_KERNELS];
	unsigned memory = machine->level_count - 1;
	bool huge_pages = session->huge_pages;
	int status;

	for (unsigned i = 0; i < FM_SMALL_PAGES_KERNELS; i++)
		list[i] = (struct fm_bandwidth){.level = memory,
		                                .kernel = fm_small_pages_kernels[i],
		                                .isa = fm_isa_widest(),
		                                .threads = 1,
		                                .bytes = level_bytes(session, machine, memory, 1),
		                                .streaming = true};
	session->huge_pages = false;
	status = fm_bandwidth_measure(session, list, FM_SMALL_PAGES_KERNELS, seconds, error);
	session->huge_pages = huge_pages;
	for (unsigned i = 0; i < FM_SMALL_PAGES_KERNELS && !status; i++)
		machine->small_pages[i] = list[i].gbs;
	return status;
}

/* A third of a stream is walked untimed; the rest is a quarter more than the last cache, which is where some processors
   begin to write past the caches. */
static int measure_string_stores(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                                 struct fm_error *error)
{
	const struct fm_level *second = fm_machine_level(machine, "L2");
	double last = (double)session->topology.caches[session->topology.cache_count - 1].bytes;
	double bytes =
	    fmin(fmax(STRING_UNTIMED * STRING_BEYOND_LAST * last, 16 << 20), (double)session->memory_limit / 4);

	return fm_string_stores_measure(
	    session, (size_t)bytes, machine->level_count - 1, second ? second->measured_bytes : 0,
	    second ? (unsigned)(second - machine->levels) : 0, seconds, &machine->string_stores, error);
}

static size_t memory_bytes(const struct fm_machine *machine)
{
	return machine->levels[machine->level_count - 1].measured_bytes;
}

static int measure_core(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                        struct fm_error *error)
{
	int status = fm_core_measure(session, memory_bytes(machine), CORE_SHARE * seconds, machine->core, error);

	if (!status)
		status = fm_translation_measure(session, TRANSLATION_SHARE * seconds, machine->translation, error);
	if (!status)
		status = fm_ways_measure(session, WAYS_SHARE * seconds, machine->ways, error);
	machine->core_measured = !status;
	return status;
}

/* Lines that are in a level and in none before it. */
static size_t set_inside(const struct fm_machine *machine, const char *name)
{
	const struct fm_level *level = fm_machine_level(machine, name);

	return level && level->latency_ns.available && !level->no_plateau ? level->measured_bytes : 0;
}

static int measure_prefetch(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                            struct fm_error *error)
{
	const size_t sets[FM_PREFETCH_SETS] = {
	    [FM_PREFETCH_L2] = set_inside(machine, "L2"), [FM_PREFETCH_L3] = set_inside(machine, "L3")};
	int status;

	if (session->effort == FM_EFFORT_QUICK)
		return 0;
	status = fm_prefetch_measure(session, sets, seconds, machine->prefetch, error);
	machine->prefetch_measured = !status;
	return status;
}

static int measure_parallel(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                            struct fm_error *error)
{
	return fm_parallel_measure(session, memory_bytes(machine), seconds, machine->parallel, &machine->parallel_count,
	                           &machine->outstanding_misses, error);
}

/* What this machine cannot show is not an error of the whole: keep the reason. */
static int optional(int status, const struct fm_error *error, struct fm_figure *why)
{
	if (status != -ENOTSUP)
		return status;
	*why = fm_figure_unavailable("%s", error->message);
	return 0;
}

static int measure_loaded(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                          struct fm_error *error)
{
	int status = optional(
	    fm_bandwidth_curve_measure(session, memory_bytes(machine), seconds, &machine->bandwidth_curve, error),
	    error, &machine->loaded_why);

	machine->bandwidth_curve.why = machine->loaded_why;
	machine->loaded_count = fm_loaded_points(&machine->bandwidth_curve, session->cpus.count, machine->loaded);
	return status;
}

static int measure_transfers(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                             struct fm_error *error)
{
	return optional(fm_transfer_measure(session, seconds, &machine->transfers, &machine->transfer_count, error),
	                error, &machine->transfers_why);
}

static int measure_contention(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                              struct fm_error *error)
{
	return optional(
	    fm_contention_measure(session, seconds, machine->contentions, &machine->contention_count, error), error,
	    &machine->contention_why);
}

static int measure_touch(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                         struct fm_error *error)
{
	int status = fm_touch_measure(session, seconds, machine->touch, error);

	machine->touch_measured = !status;
	return status;
}

static int measure_huge_pages(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                              struct fm_error *error)
{
	int status;

	if (session->effort == FM_EFFORT_QUICK)
		return 0;
	status = fm_translation_measure_huge(session, seconds, machine->translation_huge, error);
	machine->translation_huge_measured = !status;
	return status;
}

static int measure_numa(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                        struct fm_error *error)
{
	unsigned nodes = session->topology.nodes;

	if (nodes < 2 || nodes > FM_NODES_MAX)
		return 0;
	machine->numa = calloc((size_t)nodes * nodes, sizeof(*machine->numa));
	if (!machine->numa)
		return fm_error_set(error, ENOMEM, "out of memory");
	return fm_numa_measure(session, memory_bytes(machine), seconds, machine->numa, &machine->numa_count, error);
}

static int first_visit(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
                       struct fm_error *error)
{
	int status = find_levels(session, machine, error);

	return status ? status : visit_levels(session, machine, seconds, error);
}

/* The clock over the whole run is known now. Figures that depend on it were measured for the clock of the moment. */
static void settle_clock(const struct fm_machine_session *session, struct fm_machine *machine)
{
	struct fm_figure clock = fm_disturbance_clock(&session->watch);

	if (!clock.available || !(session->usual_beat > 0))
		return;
	fm_figure_widen(&clock, MACHINE_DRIFT / 2);
	fm_machine_settle(machine, &clock);
}

/* Phases in order, each with its share of the time. A phase that ends early leaves its time to the later ones. Parts
   that may be kept are measured by a quick characterisation only if there is nothing to keep and there is time left. */
static const struct {
	const char *what; /* NULL: the name of the part that may be kept */
	double weight;
	int (*run)(struct fm_machine_session *session, struct fm_machine *machine, double seconds,
	           struct fm_error *error);
	bool may_be_kept;
	enum fm_kept_part part;
} phases[] = {
    {"core frequency", 1, measure_frequency, false, 0},
    {"latency against size", 34, measure_curves, false, 0},
    {"latency of levels", 7, first_visit, false, 0},
    {NULL, 8, measure_core, true, FM_KEPT_core},
    {"bandwidth", 26, measure_bandwidth, false, 0},
    {NULL, 7, measure_string_stores, true, FM_KEPT_string_stores},
    {"latency of levels", 7, visit_levels, false, 0},
    {"latency on 4K pages", 4, visit_levels_on_small_pages, false, 0},
    {NULL, 3, measure_small_pages, true, FM_KEPT_small_pages},
    {NULL, 14, measure_prefetch, true, FM_KEPT_prefetch},
    {NULL, 6, measure_parallel, true, FM_KEPT_parallel},
    {NULL, 8, measure_loaded, true, FM_KEPT_loaded},
    {"core to core", 2, measure_transfers, false, 0},
    {NULL, 6, measure_huge_pages, true, FM_KEPT_huge_pages},
    {NULL, 2, measure_touch, true, FM_KEPT_touch},
    {"contention for a line", 1, measure_contention, false, 0},
    {"NUMA nodes", 2, measure_numa, false, 0},
    {"latency of levels", 7, visit_levels, false, 0},
};
enum { PHASES = sizeof(phases) / sizeof(phases[0]) };

static bool passed_over(const struct fm_machine_session *session, struct fm_machine *machine, unsigned phase,
                        const struct fm_machine *earlier)
{
	if (session->effort != FM_EFFORT_QUICK || !phases[phase].may_be_kept)
		return false;
	return (earlier && fm_machine_keep(machine, phases[phase].part, earlier)) ||
	       fm_machine_session_time_left(session) < QUICK_LEAST;
}

static int judge_disturbance(const struct fm_machine *machine, double tolerate, struct fm_error *error)
{
	double share = fm_disturbance_share(&machine->disturbance);

	/* wide intervals are better than no profile */
	if (tolerate >= 1)
		return 0;
	if (share > tolerate)
		return fm_error_set(
		    error, EBUSY,
		    "the machine was disturbed beyond use: %.0f %% of %llu trials excluded (limit %.0f %%). Stop other "
		    "programs, choose other CPUs with -C, or accept it with --tolerate",
		    100 * share, (unsigned long long)machine->disturbance.trials, 100 * tolerate);
	/* a shared cache may really be that unsteady; the first level and memory are not, unless we were disturbed */
	for (unsigned i = 0; i < machine->level_count; i += machine->level_count - 1) {
		const struct fm_level *level = &machine->levels[i];

		if (!level->latency_ns.available ||
		    fm_figure_relative_width(&level->latency_ns) > FM_FIGURE_INCONCLUSIVE)
			return fm_error_set(
			    error, EBUSY,
			    "the machine was disturbed beyond use: the latency of %s is not conclusive (interval wider "
			    "than ±50 %%). Stop other programs, choose other CPUs with -C, or give more time with "
			    "--budget",
			    level->name);
	}
	return 0;
}

/* One CPU per core first. The first one has an otherwise idle core, if the choice is free: a busy sibling takes half of
   the throughput. */
static int order_cpus(const struct fm_characterise_options *options, struct fm_machine_session *session,
                      struct fm_error *error)
{
	struct fm_busy *busy = calloc(1, sizeof(*busy));
	bool choose = options->choose_first && session->cpus.count > 1;

	session->places = calloc(session->cpus.count, sizeof(*session->places));
	if (!busy || !session->places) {
		free(busy);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	fm_cpu_places_read(&session->cpus, session->places);
	if (choose && !fm_busy_measure(CPUS_WATCHED, busy))
		fm_cpu_places_to_front(&session->cpus, session->places,
		                       fm_cpu_places_quietest(session->places, session->cpus.count, busy));
	fm_cpu_places_order(&session->cpus, session->places);
	free(busy);
	return 0;
}

int fm_machine_characterise(const struct fm_characterise_options *options, struct fm_machine **ret_machine,
                            struct fm_error *error)
{
	struct fm_machine *machine = calloc(1, sizeof(*machine));
	struct fm_machine_session session = {
	    .effort = options->effort,
	    .cpus = options->cpus,
	    .watcher = options->watcher,
	};
	double weight_left = 0, weight_all = 0, budget;
	struct fm_error why_no_huge_pages;
	time_t now = time(NULL);
	struct tm utc;
	int status;

	if (!machine)
		return fm_error_set(error, ENOMEM, "out of memory");
	status = fm_kernels_check(error);
	if (status)
		goto out_early;
	budget = options->budget_seconds > 0 ? options->budget_seconds : BUDGETS[options->effort];
	session.deadline_ns = fm_clock_now() + (uint64_t)(budget * 1e9);
	fm_random_seed(&session.random, options->seed);
	session.memory_limit = fm_memory_available() / 2;
	status = order_cpus(options, &session, error);
	if (!status)
		status = fm_topology_read_at(session.cpus.cpu[0], &session.topology, error);
	if (status)
		goto out_early;
	if (!session.topology.cache_count) {
		/* some containers and emulators hide the caches: assume a common shape, which the curve then corrects
		 */
		session.topology.caches[0] =
		    (struct fm_cache){.level = 1, .bytes = 32 << 10, .line_bytes = 64, .shared_by = 1};
		session.topology.caches[1] =
		    (struct fm_cache){.level = 2, .bytes = 1 << 20, .line_bytes = 64, .shared_by = 1};
		session.topology.caches[2] = (struct fm_cache){
		    .level = 3, .bytes = 32 << 20, .line_bytes = 64, .shared_by = session.topology.cpus};
		session.topology.cache_count = 3;
	}
	if (session.memory_limit < 64 << 20) {
		char have[32];

		status = fm_error_set(error, ENOMEM, "not enough memory: %s are available, 128 MiB are needed",
		                      fm_text_bytes(have, sizeof(have), 2.0 * (double)session.memory_limit));
		goto out_early;
	}
	status = fm_bind_to_cpu(session.cpus.cpu[0], error);
	if (status)
		goto out_early;
	status = fm_team_create(&session.cpus, &session.team, error);
	if (status)
		goto out_early;
	session.huge_pages = !fm_huge_pages_probe(&why_no_huge_pages);
	if (!session.huge_pages)
		machine->curves[FM_PAGES_HUGE].why = fm_figure_unavailable("%s", why_no_huge_pages.message);
	fm_disturbance_open(&session.watch);
	gmtime_r(&now, &utc);
	strftime(machine->taken, sizeof(machine->taken), "%Y-%m-%dT%H:%M:%SZ", &utc);
	machine->effort = options->effort;
	machine->seed = options->seed;
	machine->topology = session.topology;
	machine->cpus = session.cpus;
	machine->loaded_why = machine->transfers_why = fm_figure_unavailable("not measured");
	machine->outstanding_misses = fm_figure_unavailable("not measured");
	machine->contention_why = machine->outstanding_misses;
	for (unsigned i = 0; i < FM_SMALL_PAGES_KERNELS; i++)
		machine->small_pages[i] = machine->outstanding_misses;
	for (unsigned i = 0; i < FM_PREFETCH_PARAMETERS; i++)
		machine->prefetch[i] = fm_figure_unavailable("not measured with --quick");
	machine->huge_always = fm_memory_huge_always();
	for (unsigned i = 0; i < PHASES; i++)
		weight_all += phases[i].weight;
	weight_left = weight_all;
	for (unsigned i = 0; i < PHASES && !status; i++) {
		double share = phases[i].weight / weight_left;

		session.phase = phases[i].what ? phases[i].what : fm_kept_words(phases[i].part);
		session.phase_begin = 1 - weight_left / weight_all;
		session.phase_end = session.phase_begin + phases[i].weight / weight_all;
		status = fm_machine_session_check(&session, error);
		if (!status && !passed_over(&session, machine, i, options->earlier))
			status =
			    phases[i].run(&session, machine, fm_machine_session_time_left(&session) * share, error);
		weight_left -= phases[i].weight;
	}
	if (!status)
		settle_clock(&session, machine);
	machine->disturbance = session.watch.total;
	fm_disturbance_close(&session.watch);
	fm_team_destroy(session.team);
	if (!status)
		status = judge_disturbance(machine, options->tolerate, error);
	if (!status) {
		free(session.places);
		*ret_machine = machine;
		return 0;
	}
out_early:
	free(session.places);
	fm_machine_free(machine);
	return status;
}
