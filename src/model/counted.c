#include "model/counted.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/decompose.h"
#include "model/doubt.h"
#include "model/simulated_waiting.h"
#include "profile/profile.h"

static struct fm_figure value_of(const struct fm_counted *counted, enum fm_recipe_quantity quantity, const char *level,
                                 const char *unit)
{
	const struct fm_recipe_item *item = fm_recipe_find(counted->recipe, quantity, level);

	if (!item)
		return fm_figure_unavailable("no event that can be counted here measures it");
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

/* The measured peak of the level; without a profile, the peak of the validation. */
static void fill_peak(const struct fm_counted *counted, unsigned index, struct fm_picture_level *level)
{
	const struct fm_recipe_item *item = fm_recipe_find(counted->recipe, FM_RECIPE_read, level->name);

	if (counted->machine) {
		fm_picture_described_peak(counted->machine, level, index, counted->threads);
		return;
	}
	if (counted->profile && counted->profile->bandwidth_count) {
		fm_picture_measured_peak(counted->profile, level, counted->threads);
		return;
	}
	level->peak_share = level->loaded_latency =
	    fm_figure_unavailable("'fathom machine' has not measured what it can do");
	level->peak_gbs = item && item->peak_gbs > 0 ? fm_figure_make(item->peak_gbs, item->peak_gbs, item->peak_gbs,
	                                                              "GB/s", FM_ORIGIN_measured, "validate", 1)
	                                             : level->peak_share;
}

static void fill_level(const struct fm_counted *counted, unsigned index, struct fm_picture_level *level)
{
	const struct fm_recipe_item *read = fm_recipe_find(counted->recipe, FM_RECIPE_read, level->name),
	                            *write = fm_recipe_find(counted->recipe, FM_RECIPE_write, level->name),
	                            *named = read ? read : write;
	struct fm_figure brought = value_of(counted, FM_RECIPE_read, level->name, "B"), remote, moved;

	/* a core's reads from local and from remote memory are counted separately; the controllers serve both */
	if (read && !read->socket && !strcmp(level->name, "memory")) {
		remote = value_of(counted, FM_RECIPE_read, "remote memory", "B");
		brought = combine(&brought, &remote, 1);
	}
	level->allocate_bytes = value_of(counted, FM_RECIPE_allocate, level->name, "B");
	level->write_bytes = value_of(counted, FM_RECIPE_write, level->name, "B");
	/* lines are brought for loads and stores alike; they are divided where that is possible */
	level->read_bytes = at_least_nothing(combine(&brought, &level->allocate_bytes, -1));
	moved = combine(&brought, &level->write_bytes, 1);
	/* without an event for it, a level may have written back all the lines that it read */
	if (index && brought.available && !level->write_bytes.available)
		moved.high *= 2;
	if (!brought.available)
		moved = level->write_bytes;
	level->moved_bytes = moved;
	level->gbs = rate(&moved, &counted->seconds);
	fill_peak(counted, index, level);
	level->utilisation = fm_picture_share(&level->gbs, &level->peak_gbs);
	/* of the first cache accesses are counted, of the most there can be; how wide they are is not */
	if (!index) {
		level->read_bytes = level->allocate_bytes = level->write_bytes = level->moved_bytes = level->gbs =
		    level->peak_gbs = level->peak_share =
		        fm_figure_unavailable("accesses are counted, not their bytes");
		level->peak_threads = 0;
	}
	if (named)
		fm_recipe_describe(counted->recipe, named, level->source, sizeof(level->source));
	if (named && named->socket) {
		size_t used = strlen(level->source);

		snprintf(level->source + used, sizeof(level->source) - used, " (of all programs)");
	}
}

/* Limitations of the vendor's formulas that the formulas do not state. */
static void say_limits(const struct fm_counted *counted, struct fm_picture *picture)
{
	const struct fm_recipe_item *pending = fm_recipe_find(counted->recipe, FM_RECIPE_loads_pending, NULL);

	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		const struct fm_recipe_item *write = fm_recipe_find(counted->recipe, FM_RECIPE_write, level->name);
		size_t used = strlen(level->source);

		if (write && *write->limits && used && !strstr(level->source, write->limits))
			snprintf(level->source + used, sizeof(level->source) - used, "; what is written: %s",
			         write->limits);
	}
	if (pending && *pending->limits)
		fm_recipe_describe(counted->recipe, pending, picture->cycles_source, sizeof(picture->cycles_source));
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

/* Cycles of latency of a level; 0: not known. */
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

/* The least cycles for moving the traffic, at the slowest level. */
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

enum { ACTIVE, STALL, LOADS, STORES, QUEUES, OUTSTANDING, WALKS, INPUTS };

/* The decomposition with each event as counted; one of them, perhaps, at an end of its interval. */
static struct fm_decomposition decompose(const struct fm_figure *inputs, int moved, bool up, double least,
                                         double lookups)
{
	double values[INPUTS];
	struct fm_decomposition parts;

	for (int i = 0; i < INPUTS; i++)
		values[i] = !inputs[i].available ? 0
		            : i != moved         ? inputs[i].value
		            : up                 ? inputs[i].high
		                                 : inputs[i].low;
	fm_decompose_corrected(&(struct fm_stall_events){.active = values[ACTIVE],
	                                                 .no_execute = values[STALL],
	                                                 .load_pending = values[LOADS],
	                                                 .stores_full = values[STORES],
	                                                 .fill_full = values[QUEUES],
	                                                 .lines = 1,
	                                                 .line_cycles = least,
	                                                 .lookups = lookups,
	                                                 .misses_pending = values[OUTSTANDING],
	                                                 .walks = values[WALKS]},
	                       &parts);
	return parts;
}

static void fill_cycles(const struct fm_counted *counted, struct fm_picture *picture)
{
	static const enum fm_recipe_quantity wanted[INPUTS] = {FM_RECIPE_active,        FM_RECIPE_stall,
	                                                       FM_RECIPE_loads_pending, FM_RECIPE_stores_full,
	                                                       FM_RECIPE_queues_full,   FM_RECIPE_loads_outstanding,
	                                                       FM_RECIPE_translation};
	struct fm_figure *outputs[] = {&picture->productive, &picture->memory_bound, &picture->bandwidth_bound,
	                               &picture->latency_bound, &picture->other_stall};
	struct fm_figure inputs[INPUTS],
	    lines = picture->level_count > 1 ? picture->levels[1].read_bytes : fm_figure_unavailable("%s", "");
	double least = least_cycles(counted, picture),
	       lookups = lines.available ? lines.value / 64 * latency_of(counted, picture, 0) : 0;
	double below[5] = {0}, above[5] = {0}, values[5] = {0};
	int missing = -1;

	for (int i = 0; i < INPUTS; i++)
		inputs[i] = value_of(counted, wanted[i], NULL, "cycles");
	picture->active = inputs[ACTIVE];
	picture->stall = inputs[STALL];
	for (int i = LOADS; i >= ACTIVE; i--)
		missing = inputs[i].available ? missing : i;
	if (missing >= 0) {
		for (int k = 0; k < 5; k++)
			*outputs[k] = inputs[missing];
		return;
	}
	for (int i = -1; i < INPUTS; i++)
		for (int up = 0; up < 2; up++) {
			const struct fm_decomposition parts = decompose(inputs, i, up, least, lookups);
			const double own[] = {parts.productive, parts.memory_bound, parts.bandwidth_bound,
			                      parts.latency_bound, parts.other_stall};

			for (int k = 0; k < 5; k++) {
				double off = i < 0 ? 0 : own[k] - values[k];

				if (i < 0)
					values[k] = own[k];
				*(off > 0 ? &above[k] : &below[k]) += off * off;
			}
		}
	/* a decomposition is a model of the events */
	for (int k = 0; k < 5; k++)
		*outputs[k] = fm_figure_make(
		    values[k], fmax(0, values[k] - sqrt(below[k])), values[k] + sqrt(above[k]), "cycles",
		    inputs[ACTIVE].origin == FM_ORIGIN_simulated ? FM_ORIGIN_simulated : FM_ORIGIN_modelled,
		    inputs[ACTIVE].backend, inputs[ACTIVE].trials);
}

/* Translation has a pattern of its own, and is no level's latency. A walk may be hidden behind another wait. */
static struct fm_figure without_walks(const struct fm_counted *counted, const struct fm_figure *latency)
{
	struct fm_figure walks = value_of(counted, FM_RECIPE_translation, NULL, "cycles"), rest = *latency;

	if (!rest.available || !walks.available)
		return rest;
	rest.value = fmax(0, rest.value - walks.value);
	rest.low = fmax(0, rest.low - walks.high);
	return rest;
}

/* Counters give the time of waiting, not the level. Lines that a level served, each with its latency, divide it; the
   interval allows for a factor of two in these either way. A level without a count of its lines may have all of it, and
   the others' shares may be nothing. */
static void divide_latency(const struct fm_counted *counted, struct fm_picture *picture)
{
	double weights[FM_PICTURE_LEVELS] = {0}, sum = 0;
	struct fm_figure waited = without_walks(counted, &picture->latency_bound),
	                 total = fm_picture_share(&waited, &picture->active);
	bool known[FM_PICTURE_LEVELS] = {false}, all = true;

	for (unsigned i = 1; i < picture->level_count; i++) {
		const struct fm_figure *here = &picture->levels[i].read_bytes,
		                       *below =
		                           i + 1 < picture->level_count ? &picture->levels[i + 1].read_bytes : NULL;

		known[i] = here->available && (!below || below->available);
		all &= known[i];
		if (known[i])
			weights[i] =
			    fmax(here->value - (below ? below->value : 0), 0) * latency_of(counted, picture, i);
		sum += weights[i];
	}
	for (unsigned i = 0; i < picture->level_count; i++) {
		double own = sum > 0 ? weights[i] / sum : 0;

		if (!total.available || !i)
			picture->levels[i].latency_share = total;
		else if (!known[i] || !(sum > 0))
			picture->levels[i].latency_share =
			    fm_figure_make(total.value / 2, 0, total.high, "", FM_ORIGIN_modelled, total.backend, 1);
		else
			picture->levels[i].latency_share =
			    fm_figure_make(total.value * own, all ? total.low * own / (2 - own) : 0,
			                   total.high * 2 * own / (1 + own), "", FM_ORIGIN_modelled, total.backend, 1);
	}
}

/* Waiting for bandwidth belongs to the level with the highest utilisation. If a utilisation is not known, it may belong
   to that level. */
static void divide_bandwidth(struct fm_picture *picture)
{
	struct fm_figure total = fm_picture_share(&picture->bandwidth_bound, &picture->active);
	unsigned busiest = 0;
	bool all = true;

	for (unsigned i = 1; i < picture->level_count; i++) {
		const struct fm_figure *used = &picture->levels[i].utilisation;

		all &= used->available;
		if (used->available && (!busiest || used->value > picture->levels[busiest].utilisation.value))
			busiest = i;
	}
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		bool own = i == busiest;

		level->bandwidth_share =
		    !level->utilisation.available || !total.available || !busiest
		        ? fm_figure_unavailable("how much of it was used, or waited for it, was not counted")
		        : fm_figure_make(own ? total.value : 0, own && all ? total.low : 0, own ? total.high : 0, "",
		                         FM_ORIGIN_modelled, total.backend, 1);
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
	    fm_figure_unavailable("no counter measures it; exact counting does (--counters exact)");

	picture->signs.unused = picture->signs.regular = picture->signs.false_sharing = exact;
	picture->signs.blocked = counted->blocked;
	picture->signs.handing_over = picture->signs.spinning = exact;
	/* the controllers' reads are all of them, a core's only the local ones */
	picture->signs.remote = remote;
	if (local.available && remote.available) {
		const struct fm_recipe_item *memory = fm_recipe_find(counted->recipe, FM_RECIPE_read, "memory");
		struct fm_figure all = memory->socket ? local : combine(&local, &remote, 1);

		picture->signs.remote = fm_picture_share(&remote, all.value > 0 ? &all : &local);
		if (!(all.value > 0))
			picture->signs.remote =
			    fm_figure_make(0, 0, 0, "", remote.origin, remote.backend, remote.trials);
	}
	picture->signs.translation = fm_picture_share(&walks, &picture->active);
	picture->signs.throughput = instructions;
	if (instructions.available && !picture->active.available)
		picture->signs.throughput = picture->active;
	if (instructions.available && picture->active.available) {
		unsigned width = counted->machine ? counted->machine->core.width : 0;
		double share = instructions.value / fmax(picture->active.value * width, 1);

		picture->signs.throughput =
		    width ? fm_figure_make(share, share, share, "", instructions.origin, instructions.backend, 1)
		          : fm_figure_unavailable("how many instructions this core can execute at once is not known; "
		                                  "it executed %.2f per cycle",
		                                  instructions.value / fmax(picture->active.value, 1));
	}
	picture->signs.narrow = flops.available ? wide : flops;
	if (flops.available && wide.available) {
		double share = instructions.available && flops.value < FM_FLOPS_LEAST * instructions.value
		                   ? 0
		                   : fmax(0, 1 - 4 * wide.value / fmax(flops.value, 1));

		picture->signs.narrow = fm_figure_make(share, share, share, "", flops.origin, flops.backend, 1);
	}
}

void fm_picture_from_counts(const struct fm_counted *counted, struct fm_picture *ret_picture)
{
	struct fm_picture *picture = ret_picture;

	memset(picture, 0, sizeof(*picture));
	picture->recording = counted->recording;
	picture->counted = true;
	picture->machine = counted->machine ? counted->machine->name : "this machine";
	picture->part = counted->part;
	picture->instances = counted->instances;
	picture->threads = counted->threads ? counted->threads : 1;
	picture->seconds = counted->seconds;
	picture->predicted_seconds = fm_figure_unavailable("what is counted is not predicted");
	picture->user_seconds = picture->off = picture->predicted_seconds;
	picture->kernel_seconds = picture->fault_seconds = picture->predicted_seconds;
	name_levels(counted, picture);
	for (unsigned i = 0; i < picture->level_count; i++)
		fill_level(counted, i, &picture->levels[i]);
	fill_cycles(counted, picture);
	say_limits(counted, picture);
	divide_latency(counted, picture);
	divide_bandwidth(picture);
	fill_signs(counted, picture);
}

static void count_simulated(const struct fm_recipe *recipe, const struct fm_simulated_events *events,
                            const struct fm_recording *recording, const struct fm_part_sums *sums,
                            struct fm_figure *ret_counts)
{
	struct fm_truth truth = {
	    .work = &sums->work, .counts = &sums->counts, .timing = sums->timing.cycles ? &sums->timing : NULL};

	for (size_t i = 0; i < recording->threads_count; i++)
		truth.smt |= !recording->threads[i].process && recording->threads[i].shares_core;
	for (unsigned i = 0; i < recipe->event_count; i++) {
		struct fm_error ignored;
		unsigned index;

		ret_counts[i] = fm_simulated_find(events, recipe->events[i], &index, &ignored)
		                    ? fm_figure_unavailable("the simulated machine does not have it")
		                    : fm_simulated_value(events, index, &truth);
	}
}

void fm_picture_from_simulated(const struct fm_recipe *recipe, const struct fm_simulated_events *events,
                               const struct fm_recording *recording, const struct fm_part *part,
                               struct fm_figure *counts, struct fm_picture *ret_picture)
{
	struct fm_part_sums sums;
	double seconds;
	/* the rest of the program was not counted */
	const struct fm_part waiting = {.region = part->region               ? part->region
	                                          : *recording->asked.region ? recording->asked.region
	                                                                     : NULL,
	                                .thread = part->thread};

	fm_part_sum(recording, part, &sums);
	count_simulated(recipe, events, recording, &sums, counts);
	seconds = sums.longest / recording->machine.frequency_ghz * 1e-9;
	fm_picture_from_counts(&(struct fm_counted){.recipe = recipe,
	                                            .recording = recording,
	                                            .machine = &recording->machine,
	                                            .counts = counts,
	                                            .seconds = seconds > 0
	                                                           ? fm_figure_make(seconds, seconds, seconds, "s",
	                                                                            FM_ORIGIN_simulated, "simulated", 1)
	                                                           : fm_figure_unavailable("there was no core timing"),
	                                            .blocked = fm_simulated_blocked(recording, &waiting),
	                                            .threads = sums.threads ? sums.threads : 1,
	                                            .part = *part,
	                                            .instances = sums.instances},
	                       ret_picture);
	if (part->thread >= 0)
		return;
	for (unsigned i = 0; i < fm_part_thread_count(recording); i++) {
		const struct fm_part own = {.region = part->region, .thread = (int)i};
		struct fm_figure thread[FM_EVENTS_MAX];

		fm_part_sum(recording, &own, &sums);
		if (!sums.threads)
			continue;
		count_simulated(recipe, events, recording, &sums, thread);
		fm_picture_add_thread(ret_picture, recipe, thread, i);
	}
}

/* Arithmetic if there is any, else stores. Unknown if only wide arithmetic is counted, and there is none. */
static void judge_work(struct fm_picture *picture, bool all_arithmetic)
{
	double flops = 0, stores = 0;

	for (unsigned i = 0; i < picture->thread_count; i++) {
		flops += (double)picture->per_thread[i].flops;
		stores += (double)picture->per_thread[i].stores;
	}
	for (unsigned i = 0; i < picture->thread_count; i++) {
		struct fm_picture_thread *thread = &picture->per_thread[i];

		thread->arithmetic = 2 * flops > stores;
		thread->useful = 2 * flops > stores ? thread->flops : all_arithmetic ? thread->stores : 0;
	}
}

void fm_picture_add_thread(struct fm_picture *picture, const struct fm_recipe *recipe, const struct fm_figure *counts,
                           unsigned thread)
{
	static const enum fm_recipe_quantity wanted[] = {FM_RECIPE_instructions, FM_RECIPE_flops, FM_RECIPE_stores,
	                                                 FM_RECIPE_vector_calculations};
	double values[4] = {0};
	for (unsigned i = 0; i < 4; i++) {
		const struct fm_recipe_item *item = fm_recipe_find(recipe, wanted[i], NULL);
		struct fm_figure figure =
		    item ? fm_recipe_value(recipe, item, counts, NAN, NAN, "") : fm_figure_unavailable("%s", "");

		values[i] = figure.available ? fmax(figure.value, 0) : 0;
	}
	/* arithmetic, where it is counted; else stores: a thread that spins has neither */
	values[1] = fmax(values[1], 4 * values[3]);
	if (!fm_picture_grow(picture, &(struct fm_picture_thread){.thread = thread,
	                                                          .instructions = (uint64_t)values[0],
	                                                          .flops = (uint64_t)values[1],
	                                                          .stores = (uint64_t)values[2]}))
		return;
	judge_work(picture, fm_recipe_find(recipe, FM_RECIPE_flops, NULL) != NULL);
}
