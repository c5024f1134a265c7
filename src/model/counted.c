#include "model/counted.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/decompose.h"

static struct fm_figure value_of(const struct fm_counted *counted, enum fm_recipe_quantity quantity, const char *level,
                                 const char *unit)
{
	const struct fm_recipe_item *item = fm_recipe_find(counted->recipe, quantity, level);

	if (!item)
		return fm_figure_unavailable("no event that can be counted here tells it");
	if (item->socket && (counted->part.region || counted->part.thread >= 0))
		return fm_figure_unavailable("only whole sockets count it, not a thread or a region");
	return fm_recipe_value(counted->recipe, item, counted->counts,
	                       counted->seconds.available ? counted->seconds.value : NAN, NAN, unit);
}

static struct fm_figure at_least_nothing(struct fm_figure figure)
{
	if (figure.available) {
		figure.value = fmax(figure.value, 0);
		figure.low = fmax(figure.low, 0);
		figure.high = fmax(figure.high, 0);
	}
	return figure;
}

/* a + sign * b where there is a b; independent, so half-widths add in quadrature. */
static struct fm_figure combine(const struct fm_figure *a, const struct fm_figure *b, double sign)
{
	double value = a->value + sign * b->value;

	if (!a->available || !b->available)
		return *a;
	return fm_figure_make(value,
	                      value - hypot(a->value - a->low, sign > 0 ? b->value - b->low : b->high - b->value),
	                      value + hypot(a->high - a->value, sign > 0 ? b->high - b->value : b->value - b->low),
	                      a->unit, a->origin, a->backend, a->trials);
}

static struct fm_figure rate(const struct fm_figure *bytes, const struct fm_figure *seconds)
{
	if (!bytes->available)
		return *bytes;
	if (!seconds->available || !(seconds->low > 0))
		return fm_figure_unavailable("there is no time to divide by");
	return fm_figure_make(bytes->value / seconds->value * 1e-9, bytes->low / seconds->high * 1e-9,
	                      bytes->high / seconds->low * 1e-9, "GB/s", bytes->origin, bytes->backend, bytes->trials);
}

/* What the level was measured to achieve; where the machine has no profile, what validation saw. */
static struct fm_figure peak_of(const struct fm_counted *counted, unsigned index, const struct fm_picture_level *level)
{
	const char *name = level->name;
	const struct fm_recipe_item *item = fm_recipe_find(counted->recipe, FM_RECIPE_read, name);

	if (counted->machine)
		return fm_picture_peak(counted->machine, NULL, level, index, counted->threads);
	if (counted->profile && counted->profile->bandwidth_count)
		return fm_picture_measured_peak(counted->profile, name, counted->threads);
	if (!item || !(item->peak_gbs > 0))
		return fm_figure_unavailable("'fathom machine' has not measured what it can do");
	return fm_figure_make(item->peak_gbs, item->peak_gbs, item->peak_gbs, "GB/s", FM_ORIGIN_measured, "validate",
	                      1);
}

static void fill_level(const struct fm_counted *counted, unsigned index, struct fm_picture_level *level)
{
	const struct fm_recipe_item *read = fm_recipe_find(counted->recipe, FM_RECIPE_read, level->name),
	                            *write = fm_recipe_find(counted->recipe, FM_RECIPE_write, level->name),
	                            *named = read ? read : write;
	struct fm_figure brought = value_of(counted, FM_RECIPE_read, level->name, "B"), moved;

	level->allocate_bytes = value_of(counted, FM_RECIPE_allocate, level->name, "B");
	level->write_bytes = value_of(counted, FM_RECIPE_write, level->name, "B");
	/* what was brought is for loads and stores alike; where they can be told apart, they are */
	level->read_bytes = at_least_nothing(combine(&brought, &level->allocate_bytes, -1));
	moved = combine(&brought, &level->write_bytes, 1);
	if (!brought.available)
		moved = level->write_bytes;
	level->gbs = rate(&moved, &counted->seconds);
	level->peak_gbs = peak_of(counted, index, level);
	level->utilisation = fm_picture_share(&level->gbs, &level->peak_gbs);
	/* of the first cache accesses are counted, of the most there can be; how wide they are is not */
	if (!index)
		level->read_bytes = level->allocate_bytes = level->write_bytes = level->gbs = level->peak_gbs =
		    fm_figure_unavailable("accesses are counted, not their bytes");
	if (named)
		fm_recipe_describe(counted->recipe, named, level->source, sizeof(level->source));
	if (named && named->socket) {
		size_t used = strlen(level->source);

		snprintf(level->source + used, sizeof(level->source) - used, " (of all programs)");
	}
}

static void name_levels(const struct fm_counted *counted, struct fm_picture *picture)
{
	static const char *const usual[] = {"L1", "L2", "L3", "memory"};

	picture->level_count = counted->machine                                    ? counted->machine->cache_count + 1
	                       : counted->profile && counted->profile->level_count ? counted->profile->level_count
	                                                                           : 4;
	if (picture->level_count > FM_PICTURE_LEVELS)
		picture->level_count = FM_PICTURE_LEVELS;
	for (unsigned i = 0; i < picture->level_count; i++)
		snprintf(picture->levels[i].name, sizeof(picture->levels[i].name), "%s",
		         counted->machine
		             ? i < counted->machine->cache_count ? counted->machine->caches[i].name : "memory"
		         : counted->profile && counted->profile->level_count ? counted->profile->levels[i].name
		                                                             : usual[i]);
}

/* Cycles of latency of a level; 0 when nobody knows. */
static double latency_of(const struct fm_counted *counted, const struct fm_picture *picture, unsigned level)
{
	const struct fm_level *measured;

	if (counted->machine)
		return level < counted->machine->cache_count ? counted->machine->caches[level].latency
		                                             : counted->machine->memory_latency;
	measured = counted->profile ? fm_machine_level(counted->profile, picture->levels[level].name) : NULL;
	return measured && measured->latency_cycles.available ? measured->latency_cycles.value : 0;
}

static double gigahertz(const struct fm_counted *counted)
{
	return counted->machine                                                ? counted->machine->frequency_ghz
	       : counted->profile && counted->profile->frequency_ghz.available ? counted->profile->frequency_ghz.value
	                                                                       : 0;
}

/* The cycles that moving what was moved takes at least, at the level where it takes longest. */
static double least_cycles(const struct fm_counted *counted, const struct fm_picture *picture)
{
	double most = 0;

	for (unsigned i = 1; i < picture->level_count; i++) {
		const struct fm_picture_level *level = &picture->levels[i];

		if (level->utilisation.available && counted->seconds.available)
			most = fmax(most, level->utilisation.value * counted->seconds.value * gigahertz(counted) * 1e9 *
			                      counted->threads);
	}
	return most;
}

static struct fm_figure cycles_like(const struct fm_figure *model, double value)
{
	/* a decomposition is a model of what the events say */
	return fm_figure_make(value, value, value, "cycles",
	                      model->origin == FM_ORIGIN_simulated ? FM_ORIGIN_simulated : FM_ORIGIN_modelled,
	                      model->backend, model->trials);
}

static void fill_cycles(const struct fm_counted *counted, struct fm_picture *picture)
{
	struct fm_figure active = value_of(counted, FM_RECIPE_active, NULL, "cycles"),
	                 stall = value_of(counted, FM_RECIPE_stall, NULL, "cycles"),
	                 loads = value_of(counted, FM_RECIPE_loads_pending, NULL, "cycles"),
	                 stores = value_of(counted, FM_RECIPE_stores_full, NULL, "cycles"),
	                 queues = value_of(counted, FM_RECIPE_queues_full, NULL, "cycles"),
	                 lines = picture->level_count > 1 ? picture->levels[1].read_bytes : active;
	struct fm_stall_events events = {
	    .active = active.value, .no_execute = stall.value, .load_pending = loads.value};
	struct fm_decomposition parts;

	picture->active = active;
	picture->stall = stall;
	if (!active.available || !stall.available || !loads.available) {
		picture->productive = picture->memory_bound = picture->bandwidth_bound = picture->latency_bound =
		    picture->other_stall = !active.available  ? active
		                           : !stall.available ? stall
		                                              : loads;
		return;
	}
	events.stores_full = stores.available ? stores.value : 0;
	events.fill_full = queues.available ? queues.value : 0;
	events.lines = 1;
	events.line_cycles = least_cycles(counted, picture);
	events.lookups = lines.available ? lines.value / 64 * latency_of(counted, picture, 0) : 0;
	fm_decompose_corrected(&events, &parts);
	picture->productive = cycles_like(&active, parts.productive);
	picture->memory_bound = cycles_like(&active, parts.memory_bound);
	picture->bandwidth_bound = cycles_like(&active, parts.bandwidth_bound);
	picture->latency_bound = cycles_like(&active, parts.latency_bound);
	picture->other_stall = cycles_like(&active, parts.other_stall);
}

/* Counters tell how long was waited, not for which level. Lines that a level served, each for its latency, divide it; a
   factor of two in these either way is what the interval allows for. */
static void divide_latency(const struct fm_counted *counted, struct fm_picture *picture)
{
	double weights[FM_PICTURE_LEVELS] = {0}, sum = 0,
	       total = picture->latency_bound.value / fmax(picture->active.value, 1);

	for (unsigned i = 1; i < picture->level_count; i++) {
		const struct fm_figure *here = &picture->levels[i].read_bytes,
		                       *below =
		                           i + 1 < picture->level_count ? &picture->levels[i + 1].read_bytes : NULL;
		double served = here->available ? here->value - (below && below->available ? below->value : 0) : 0;

		weights[i] = fmax(served, 0) * latency_of(counted, picture, i);
		sum += weights[i];
	}
	for (unsigned i = 0; i < picture->level_count; i++) {
		double own = sum > 0 ? weights[i] / sum : 0;

		if (!picture->latency_bound.available)
			picture->levels[i].latency_share = picture->latency_bound;
		else if (sum > 0)
			picture->levels[i].latency_share =
			    fm_figure_make(total * own, total * own / (2 - own), total * 2 * own / (1 + own), "",
			                   FM_ORIGIN_modelled, picture->latency_bound.backend, 1);
		else if (i)
			picture->levels[i].latency_share = fm_figure_make(total / 2, 0, total, "", FM_ORIGIN_modelled,
			                                                  picture->latency_bound.backend, 1);
	}
}

/* Waiting for bandwidth is for the level that is used most of what it can do. */
static void divide_bandwidth(struct fm_picture *picture)
{
	unsigned busiest = 0;

	for (unsigned i = 1; i < picture->level_count; i++)
		if (picture->levels[i].utilisation.available &&
		    (!busiest || picture->levels[i].utilisation.value > picture->levels[busiest].utilisation.value))
			busiest = i;
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		double share = i == busiest ? picture->bandwidth_bound.value / fmax(picture->active.value, 1) : 0;

		level->bandwidth_share = !level->utilisation.available ? level->utilisation
		                         : !picture->bandwidth_bound.available || !busiest
		                             ? fm_figure_unavailable("waiting for bandwidth was not counted")
		                             : fm_figure_make(share, share, share, "", FM_ORIGIN_modelled,
		                                              picture->bandwidth_bound.backend, 1);
	}
}

static void fill_signs(const struct fm_counted *counted, struct fm_picture *picture)
{
	struct fm_figure local = value_of(counted, FM_RECIPE_read, "memory", "B"),
	                 remote = value_of(counted, FM_RECIPE_read, "remote memory", "B"),
	                 walks = value_of(counted, FM_RECIPE_translation, NULL, "cycles"),
	                 instructions = value_of(counted, FM_RECIPE_instructions, NULL, "instructions"),
	                 flops = value_of(counted, FM_RECIPE_flops, NULL, "operations"),
	                 wide = value_of(counted, FM_RECIPE_vector_calculations, NULL, "instructions");
	struct fm_figure exact =
	    fm_figure_unavailable("counters do not tell; the exact engine does (--counters exact)");

	picture->unused = picture->foreseen = picture->false_sharing = exact;
	/* of a socket's controllers, reads include those of other sockets */
	picture->remote = remote;
	if (local.available && remote.available) {
		struct fm_figure all = combine(&local, &remote, 1);

		picture->remote = fm_picture_share(&remote, all.value > 0 ? &all : &local);
		if (!(all.value > 0))
			picture->remote = fm_figure_make(0, 0, 0, "", remote.origin, remote.backend, remote.trials);
	}
	picture->translation = fm_picture_share(&walks, &picture->active);
	picture->throughput = instructions;
	if (instructions.available && picture->active.available) {
		unsigned width = counted->machine ? counted->machine->core.width : 0;
		double share = instructions.value / fmax(picture->active.value * width, 1);

		picture->throughput =
		    width ? fm_figure_make(share, share, share, "", instructions.origin, instructions.backend, 1)
		          : fm_figure_unavailable("how many instructions this core can execute at once is not known; "
		                                  "it executed %.2f per cycle",
		                                  instructions.value / fmax(picture->active.value, 1));
	}
	picture->narrow = flops.available ? wide : flops;
	if (flops.available && wide.available) {
		double share = instructions.available && flops.value < 0.05 * instructions.value
		                   ? 0
		                   : fmax(0, 1 - 4 * wide.value / fmax(flops.value, 1));

		picture->narrow = fm_figure_make(share, share, share, "", flops.origin, flops.backend, 1);
	}
}

void fm_picture_from_counts(const struct fm_counted *counted, struct fm_picture *ret_picture)
{
	struct fm_picture *picture = ret_picture;

	memset(picture, 0, sizeof(*picture));
	picture->machine = counted->machine ? counted->machine->name : "this machine";
	picture->part = counted->part;
	picture->instances = counted->instances;
	picture->threads = counted->threads ? counted->threads : 1;
	picture->seconds = counted->seconds;
	picture->predicted_seconds = fm_figure_unavailable("what is counted is not predicted");
	name_levels(counted, picture);
	for (unsigned i = 0; i < picture->level_count; i++)
		fill_level(counted, i, &picture->levels[i]);
	fill_cycles(counted, picture);
	divide_latency(counted, picture);
	divide_bandwidth(picture);
	fill_signs(counted, picture);
}

static void count_simulated(const struct fm_recipe *recipe, const struct fm_simulated_events *events,
                            const struct fm_results *results, const struct fm_part_sums *sums,
                            struct fm_figure *ret_counts)
{
	struct fm_truth truth = {
	    .work = &sums->work, .counts = &sums->counts, .timing = sums->timing.cycles ? &sums->timing : NULL};

	for (unsigned i = 0; i < results->thread_count; i++)
		truth.smt |= results->threads[i].shares_core != 0;
	for (unsigned i = 0; i < recipe->event_count; i++) {
		struct fm_error ignored;
		unsigned index;

		ret_counts[i] = fm_simulated_find(events, recipe->events[i], &index, &ignored)
		                    ? fm_figure_unavailable("the simulated machine does not have it")
		                    : fm_simulated_value(events, index, &truth);
	}
}

void fm_picture_from_simulated(const struct fm_recipe *recipe, const struct fm_simulated_events *events,
                               const struct fm_machine_description *machine, const struct fm_engine_run *run,
                               const struct fm_part *part, struct fm_figure *counts, struct fm_picture *ret_picture)
{
	struct fm_part_sums sums;
	double seconds;

	fm_part_sum(run, part, &sums);
	count_simulated(recipe, events, run->results, &sums, counts);
	seconds = sums.longest / machine->frequency_ghz * 1e-9;
	fm_picture_from_counts(&(struct fm_counted){.recipe = recipe,
	                                            .machine = machine,
	                                            .counts = counts,
	                                            .seconds = seconds > 0
	                                                           ? fm_figure_make(seconds, seconds, seconds, "s",
	                                                                            FM_ORIGIN_simulated, "simulated", 1)
	                                                           : fm_figure_unavailable("there was no core timing"),
	                                            .threads = sums.threads ? sums.threads : 1,
	                                            .part = *part,
	                                            .instances = sums.instances},
	                       ret_picture);
	if (part->thread >= 0)
		return;
	for (unsigned i = 0; i < run->results->thread_count; i++) {
		const struct fm_part own = {.region = part->region, .thread = (int)i};
		struct fm_figure thread[FM_EVENTS_MAX];

		fm_part_sum(run, &own, &sums);
		if (!sums.threads)
			continue;
		count_simulated(recipe, events, run->results, &sums, thread);
		fm_picture_add_thread(ret_picture, recipe, thread, i);
	}
}

/* Arithmetic where there is such, else stores; where only wide arithmetic is counted and there is none, nobody knows.
 */
static void judge_work(struct fm_picture *picture, bool all_arithmetic)
{
	double flops = 0, stores = 0;

	for (unsigned i = 0; i < picture->thread_count; i++) {
		flops += (double)picture->per_thread[i].flops;
		stores += (double)picture->per_thread[i].stores;
	}
	for (unsigned i = 0; i < picture->thread_count; i++) {
		struct fm_picture_thread *thread = &picture->per_thread[i];

		thread->useful = 2 * flops > stores ? thread->flops : all_arithmetic ? thread->stores : 0;
	}
}

void fm_picture_add_thread(struct fm_picture *picture, const struct fm_recipe *recipe, const struct fm_figure *counts,
                           unsigned thread)
{
	static const enum fm_recipe_quantity wanted[] = {FM_RECIPE_instructions, FM_RECIPE_flops, FM_RECIPE_stores,
	                                                 FM_RECIPE_vector_calculations};
	double values[4] = {0};
	struct fm_picture_thread *entry;

	if (picture->thread_count == FM_RESULT_THREADS_MAX)
		return;
	for (unsigned i = 0; i < 4; i++) {
		const struct fm_recipe_item *item = fm_recipe_find(recipe, wanted[i], NULL);
		struct fm_figure figure =
		    item ? fm_recipe_value(recipe, item, counts, NAN, NAN, "") : fm_figure_unavailable("%s", "");

		values[i] = figure.available ? fmax(figure.value, 0) : 0;
	}
	/* arithmetic, where it is counted; else stores: a thread that spins has neither */
	values[1] = fmax(values[1], 4 * values[3]);
	entry = &picture->per_thread[picture->thread_count++];
	*entry = (struct fm_picture_thread){.thread = thread,
	                                    .instructions = (uint64_t)values[0],
	                                    .flops = (uint64_t)values[1],
	                                    .stores = (uint64_t)values[2]};
	judge_work(picture, fm_recipe_find(recipe, FM_RECIPE_flops, NULL) != NULL);
}
