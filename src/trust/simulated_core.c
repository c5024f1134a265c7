#include "trust/simulated_core.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/installed.h"
#include "measure/core.h"
#include "measure/prefetch.h"
#include "measure/translation.h"
#include "measure/ways.h"
#include "observe/parts.h"
#include "trust/judging.h"

enum {
	PATH_LENGTH = 4096,
	STEPS = 160 * FM_CORE_STEPS, /* iterations, so that the mispredicted end of a loop does not count */
	WINDOW_STEPS = 24,
	PAGE_STEPS = 2048,
	WAY_STEPS = 512,
	SETS = FM_PREFETCH_SETS - 1,
	ARGUMENTS = 4
};

static const char *const window_names[FM_CORE_WINDOWS] = {"window", "load_buffers", "store_buffers"};

/* Cycles of a step of a region. */
static struct fm_figure cost_of(const struct fm_recording *recording, const char *name, double steps)
{
	for (size_t i = 0; i < recording->regions_count; i++) {
		const struct fm_recorded_region *region = &recording->regions[i];
		double cycles = (double)region->timing.cycles / steps;

		if (!strcmp(region->name, name) && region->timing.cycles)
			return fm_figure_make(cycles, cycles, cycles, "cycles", FM_ORIGIN_simulated, "exact", 1);
	}
	return fm_figure_unavailable("the engine did not see %s", name);
}

static void read_costs(const struct fm_recording *recording, struct fm_core_costs *ret_costs)
{
	char name[48];

	for (unsigned i = 0; i < FM_CORE_KERNELS; i++)
		ret_costs->kernels[i] = cost_of(recording, fm_core_kernels[i].name, STEPS);
	ret_costs->addition = ret_costs->kernels[FM_CORE_KERNEL_adds_chain];
	ret_costs->random_branches = cost_of(recording, "branches_random", STEPS);
	for (unsigned i = 0; i < FM_CODE_POINTS; i++) {
		snprintf(name, sizeof(name), "code_%u", i + 1);
		ret_costs->code[i] = cost_of(recording, name, (i + 1.0) * FM_CODE_STEP / 64 * FM_CODE_PASSES);
	}
	for (unsigned i = 0; i < FM_TAKEN_POINTS; i++) {
		snprintf(name, sizeof(name), "taken_%u", i + 1);
		ret_costs->taken[i] = cost_of(recording, name, (double)fm_core_branches_in_pass(i) * FM_TAKEN_PASSES);
	}
	for (unsigned i = 0; i < FM_CORE_WINDOWS; i++)
		for (unsigned k = 0; k < FM_WINDOW_FUNCTIONS; k++) {
			snprintf(name, sizeof(name), "%s_%u", window_names[i], k + 1);
			ret_costs->windows[i][k] = cost_of(recording, name, WINDOW_STEPS);
		}
}

static uint64_t beyond_caches(const struct fm_machine_description *machine)
{
	uint64_t bytes = 1 << 20;

	while (bytes < 2 * machine->caches[machine->cache_count - 1].bytes && bytes < 1ull << 32)
		bytes *= 2;
	return bytes;
}

static double steps_of(unsigned pages)
{
	return pages > PAGE_STEPS ? (pages + 15) / 16 * 16 : PAGE_STEPS;
}

static void find_pages(const struct fm_recording *recording, struct fm_figure *ret_figures)
{
	struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_simulated, "exact", 1);
	double cycles[FM_TRANSLATION_POINTS];
	char name[48];

	for (unsigned i = 0; i < FM_TRANSLATION_POINTS; i++) {
		struct fm_figure apart, together;

		snprintf(name, sizeof(name), "pages_%u", fm_translation_points[i]);
		apart = cost_of(recording, name, steps_of(fm_translation_points[i]));
		snprintf(name, sizeof(name), "lines_%u", fm_translation_points[i]);
		together = cost_of(recording, name, steps_of(fm_translation_points[i]));
		cycles[i] = apart.available && together.available ? apart.value - together.value : 0;
	}
	fm_translation_find(cycles, &model, ret_figures);
}

static struct fm_figure find_ways(const struct fm_recording *recording, enum fm_ways ways)
{
	struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_simulated, "exact", 1);
	double costs[FM_WAYS_MAX];
	char name[48];

	for (unsigned i = 0; i < FM_WAYS_MAX; i++) {
		struct fm_figure cost;

		snprintf(name, sizeof(name), "%s_%u", fm_ways_parameters[ways].name, i + 1);
		cost = cost_of(recording, name, WAY_STEPS);
		if (!cost.available)
			return cost;
		costs[i] = cost.value;
	}
	return fm_ways_find(costs, &model);
}

/* Bytes of L2 and L3, without the cache before; 0: none of their own. */
static uint64_t set_bytes(const struct fm_machine_description *machine, unsigned level)
{
	uint64_t before, bytes;

	if (level >= machine->cache_count)
		return 0;
	before = machine->caches[level - 1].bytes;
	bytes = level == 1 ? machine->caches[level].bytes / 2 : 3 * before;
	return 2 * bytes <= machine->caches[level].bytes && bytes >= 2 * before ? bytes : 0;
}

static double plain_cost(const struct fm_recording *recording, const char *name, double steps)
{
	struct fm_figure cost = cost_of(recording, name, steps);

	return cost.available ? cost.value : NAN;
}

static void find_prefetchers(const struct fm_recording *recording, const struct fm_machine_description *machine,
                             struct fm_figure *ret_figures)
{
	struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_simulated, "exact", 1);
	struct fm_prefetch_costs costs;
	char name[48];

	for (unsigned i = 0; i < FM_WALK_KINDS; i++)
		for (unsigned k = 0; k < fm_walk_values((enum fm_walk_kind)i); k++) {
			enum fm_walk_kind kind = (enum fm_walk_kind)i;

			snprintf(name, sizeof(name), "%s_%u", fm_walk_name(kind), fm_walk_value(kind, k));
			costs.walks[i][k] = plain_cost(recording, name, fm_walk_steps(kind, fm_walk_value(kind, k)));
		}
	for (unsigned i = 0; i < FM_PREFETCH_SETS; i++)
		for (unsigned k = 0; k < FM_WALK_CHAIN_COUNTS; k++) {
			uint64_t chains = fm_walk_chain_counts[k],
			         loads = i == FM_PREFETCH_MEMORY ? FM_WALK_IN_PARALLEL : set_bytes(machine, i) / 64;

			snprintf(name, sizeof(name), "parallel_%u_%u", i, fm_walk_chain_counts[k]);
			costs.parallel[i][k] = plain_cost(recording, name, (double)(loads - loads % chains));
		}
	costs.pairs = plain_cost(recording, "parallel_pairs", FM_WALK_IN_PARALLEL);
	costs.stream = plain_cost(recording, "stream", FM_WALK_STREAMS * FM_WALK_STREAM_LINES);
	fm_prefetch_find(&costs, &model, ret_figures);
}

int fm_core_simulate(const struct fm_machine_description *machine, struct fm_found_core *ret_found,
                     struct fm_error *error)
{
	char program[PATH_LENGTH], bytes[32], steps[32], few[32], pages[FM_TRANSLATION_POINTS][12], sets[SETS][24],
	    *arguments[ARGUMENTS + FM_TRANSLATION_POINTS + SETS + 1] = {program, bytes, steps, few};
	const struct fm_observation wanted = {.program = arguments, .cores = "0", .timing = true, .seen = true};
	struct fm_recording *recording = fm_recording_create();
	struct fm_core_costs *costs = calloc(1, sizeof(*costs));
	int r = recording && costs ? 0 : fm_error_set(error, ENOMEM, "out of memory"), saved;

	if (!r && fm_installed_find(FM_INSTALLED_program, "fathom-core", program, sizeof(program)))
		r = fm_error_set(error, ENOTSUP, "fathom-core is not installed beside fathom");
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)beyond_caches(machine));
	snprintf(steps, sizeof(steps), "%d", STEPS);
	snprintf(few, sizeof(few), "%d", WINDOW_STEPS);
	for (unsigned i = 0; i < FM_TRANSLATION_POINTS; i++) {
		snprintf(pages[i], sizeof(pages[i]), "%u", fm_translation_points[i]);
		arguments[ARGUMENTS + i] = pages[i];
	}
	for (unsigned i = 0; i < SETS && set_bytes(machine, i + 1); i++) {
		snprintf(sets[i], sizeof(sets[i]), "@%llu", (unsigned long long)set_bytes(machine, i + 1));
		arguments[ARGUMENTS + FM_TRANSLATION_POINTS + i] = sets[i];
	}
	if (!r) {
		saved = fm_output_divert();
		r = fm_engine_observe(&wanted, machine, recording, error);
		fm_output_restore(saved);
	}
	if (!r) {
		read_costs(recording, costs);
		fm_core_find(costs, ret_found->core);
		find_pages(recording, ret_found->translation);
		for (unsigned i = 0; i < FM_WAYS_COUNT; i++)
			ret_found->ways[i] = find_ways(recording, (enum fm_ways)i);
		find_prefetchers(recording, machine, ret_found->prefetch);
	}
	fm_recording_free(recording);
	free(costs);
	return r;
}

static struct fm_operation_description operation_of(const struct fm_machine_description *machine,
                                                    enum fm_operation operation)
{
	const struct fm_operation_description *given = &machine->core.operations[operation];

	return given->given ? *given : fm_operation_usual(operation);
}

static double fewer(unsigned one, unsigned other)
{
	return one < other ? one : other;
}

/* As often as its own interval, the ports, the issue and the chains of the kernel allow. */
static double interval_of(const struct fm_machine_description *machine, enum fm_operation operation)
{
	const struct fm_core_description *core = &machine->core;
	enum fm_unit unit = fm_operation_unit(operation);
	double ports = unit == FM_UNIT_MULTIPLY ? core->multiply_ports
	               : unit == FM_UNIT_VECTOR ? fewer(core->ports, fm_core_vector_ports(core))
	                                        : core->ports;

	return fmax(fmax(operation_of(machine, operation).interval / 100.0,
	                 (double)operation_of(machine, operation).latency / FM_CORE_CHAINS),
	            fmax(1.0 / ports, 1.0 / core->width));
}

/* If it takes longer to come than to be issued, and the second cache holds all that is tried. */
static bool seen_code(const struct fm_machine_description *machine)
{
	const struct fm_core_description *core = &machine->core;
	const double issued = 8.0 / core->width;

	return core->code_bytes && core->code_interval / 100.0 > FM_CODE_VISIBLE * issued &&
	       core->code_bytes + FM_CODE_STEP < FM_STRAIGHT_BYTES / 2 && machine->line_bytes == 64;
}

/* If twice the code is available. */
static bool seen_taken(const struct fm_machine_description *machine)
{
	const struct fm_core_description *core = &machine->core;

	return core->taken && core->taken < FM_TAKEN_MOST / 2 && machine->line_bytes == 64 &&
	       (!core->code_bytes || 2 * core->taken * 64 <= core->code_bytes);
}

/* Jumps take a cycle each where code comes line by line. */
static bool delivers(const struct fm_core_description *core)
{
	return core->return_wait || core->indirect_wait || core->code_bytes;
}

double fm_core_described(const struct fm_machine_description *machine, enum fm_core_parameter parameter)
{
	const struct fm_core_description *core = &machine->core;

	for (unsigned i = 0; i < FM_CORE_OPERATIONS; i++) {
		if (fm_core_operations[i].latency == parameter)
			return operation_of(machine, fm_core_operations[i].operation).latency;
		if (fm_core_operations[i].interval == parameter)
			return interval_of(machine, fm_core_operations[i].operation);
	}
	/* the engine has no registers of 64 bytes */
	for (unsigned i = 0; i < FM_ACCESS_WIDTHS - 1; i++) {
		if (parameter == (enum fm_core_parameter)(FM_CORE_loads_8 + i))
			return fmin(fm_core_loads(core, i) / 100.0, core->width);
		if (parameter == (enum fm_core_parameter)(FM_CORE_stores_8 + i))
			return fmin(fm_core_stores(core, i) / 100.0, core->width);
	}
	switch ((int)parameter) {
	case FM_CORE_width:
		return core->width;
	case FM_CORE_additions:
		return fewer(core->ports, core->width);
	case FM_CORE_shifts:
		return fmin(1 / interval_of(machine, FM_OPERATION_shift),
		            fm_core_described(machine, FM_CORE_additions));
	case FM_CORE_forward:
		return core->forward ? core->forward : FM_FORWARD_LATENCY;
	case FM_CORE_reload:
		return core->reload ? core->reload : fm_core_described(machine, FM_CORE_forward);
	case FM_CORE_blocked:
		return core->blocked ? core->blocked : NAN;
	case FM_CORE_taken:
		return seen_taken(machine) ? core->taken : NAN;
	case FM_CORE_taken_wait:
		return seen_taken(machine) ? core->taken_wait : NAN;
	case FM_CORE_return_wait:
		return delivers(core) ? core->return_wait : NAN;
	case FM_CORE_indirect_wait:
		return delivers(core) && core->misprediction ? core->indirect_wait : NAN;
	case FM_CORE_misprediction:
		return core->misprediction ? core->misprediction : NAN;
	case FM_CORE_code_bytes:
		return seen_code(machine) ? core->code_bytes : NAN;
	case FM_CORE_code_interval:
		return seen_code(machine) ? core->code_interval / 100.0 : NAN;
	case FM_CORE_window:
		return core->window;
	case FM_CORE_load_buffers:
		return fewer(core->load_buffers, core->window);
	case FM_CORE_store_buffers:
		return fewer(core->store_buffers, core->window);
	default:
		return NAN;
	}
}

/* Of machines with pages of 4 KiB, which the kernels have. */
double fm_translation_described(const struct fm_machine_description *machine, enum fm_translation_parameter parameter)
{
	const struct fm_tlb_description *tlbs = machine->tlbs;

	if (!machine->tlb_count || machine->page_bytes != 4096 || tlbs[0].entries >= FM_TRANSLATION_LARGEST / 4)
		return NAN;
	switch ((int)parameter) {
	case FM_TRANSLATION_tlb1_entries:
		return tlbs[0].entries;
	case FM_TRANSLATION_tlb1_penalty:
		return machine->tlb_count > 1 ? tlbs[0].penalty : NAN;
	case FM_TRANSLATION_tlb2_entries:
		return machine->tlb_count > 1 && tlbs[1].entries < FM_TRANSLATION_LARGEST / 2 ? tlbs[1].entries : NAN;
	case FM_TRANSLATION_walk:
		return machine->tlb_count > 1 && tlbs[1].entries < FM_TRANSLATION_LARGEST / 2 ? tlbs[1].penalty : NAN;
	default:
		return NAN;
	}
}

/* For chains whose lines are in one set. Random physical pages leave that to chance, and lines in the first cache never
   reach the second. */
double fm_ways_described(const struct fm_machine_description *machine, enum fm_ways ways)
{
	const struct fm_cache_description *cache = &machine->caches[ways];
	uint64_t reach = ways < machine->cache_count && cache->ways ? cache->bytes / cache->ways : 0;

	if (!reach || fm_ways_distance(ways) % reach || cache->ways >= FM_WAYS_MAX - 1 || cache->available ||
	    (ways == FM_WAYS_second && (machine->physical || cache->ways < machine->caches[0].ways)))
		return NAN;
	return cache->ways;
}

static double yes_or_no(bool yes)
{
	return yes ? 1 : 0;
}

/* For machines with lines of 64 bytes and prefetchers in the second cache, as in the walks. */
double fm_prefetch_described(const struct fm_machine_description *machine, enum fm_prefetch_parameter parameter)
{
	const struct fm_cache_description *cache = &machine->caches[1],
	                                  *last = &machine->caches[machine->cache_count - 1];
	const struct fm_core_description *core = &machine->core;
	double nanoseconds = machine->memory_latency / machine->frequency_ghz,
	       bandwidth = nanoseconds *
	                   fmin(machine->memory_core_gbs > 0 ? machine->memory_core_gbs : machine->memory_gbs,
	                        machine->memory_gbs) /
	                   machine->line_bytes;
	bool beyond = machine->cache_count > 2 && last->inclusion != FM_INCLUSION_VICTIM && cache->beyond;

	if (machine->cache_count < 2 || machine->line_bytes != 64 || machine->physical)
		return NAN;
	switch ((int)parameter) {
	case FM_PREFETCH_prefetch_adjacent:
		return yes_or_no(cache->adjacent == FM_ADJACENT_PAIR);
	case FM_PREFETCH_prefetch_next:
		return yes_or_no(cache->adjacent == FM_ADJACENT_NEXT);
	case FM_PREFETCH_prefetch_streams:
		return cache->streams < FM_WALK_STREAMS_MOST ? cache->streams : NAN;
	case FM_PREFETCH_prefetch_distance:
		return cache->distance < FM_WALK_AHEAD_MOST ? (cache->streams ? cache->distance : 0) : NAN;
	case FM_PREFETCH_prefetch_beyond:
		return cache->distance + cache->beyond < FM_WALK_AHEAD_MOST
		           ? (beyond && cache->streams ? cache->beyond : 0)
		           : NAN;
	case FM_PREFETCH_prefetch_crosses:
		return yes_or_no(cache->streams && cache->crosses);
	case FM_PREFETCH_prefetch_strides:
	case FM_PREFETCH_prefetch_instruction_strides:
		/* a first cache that asks for the next line makes steps of one line of any */
		if (machine->caches[0].next || cache->strides > 16)
			return NAN;
		return cache->streams ? fmax(1, fmax(cache->strides, cache->gaps)) : 0;
	case FM_PREFETCH_prefetch_gaps:
		return !machine->caches[0].next && cache->streams && cache->gaps ? cache->gaps : NAN;
	case FM_PREFETCH_prefetch_jumps:
		/* The walk visits all the followed pages in turns. Longer strides are no jumps, and a first cache with
		   a next-line prefetcher makes other jumps. */
		if (machine->caches[0].next ||
		    (cache->jumps && (cache->streams < 4 || cache->strides > 5 || cache->gaps > 5)))
			return NAN;
		return cache->streams ? cache->jumps : 0;
	case FM_PREFETCH_prefetch_pages:
		return !machine->caches[0].next && cache->jumps == 2 && cache->streams >= 4 && cache->strides <= 5 &&
		               cache->gaps <= 5
		           ? cache->streams
		           : NAN;
	case FM_PREFETCH_queue:
		/* streams far ahead fill it where there is the bandwidth */
		return cache->streams >= FM_WALK_STREAMS && cache->distance * FM_WALK_STREAMS > 4 * core->super_queue &&
		               FM_QUEUE_VISIBLE * core->super_queue < bandwidth
		           ? core->super_queue
		           : NAN;
	case FM_PREFETCH_fill_buffers:
		return core->fill_buffers < FM_CHAINS_MAX - 4 && core->fill_buffers < fmin(bandwidth, core->super_queue)
		           ? core->fill_buffers
		           : NAN;
	default:
		return NAN;
	}
}
