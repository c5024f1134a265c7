#include "squeeze/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

static int parse_mapping(const char *text, unsigned most, unsigned *ret_ranks)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (!strcmp(text, "spread"))
		number = 1;
	else if (!strcmp(text, "packed"))
		number = most;
	else if (end == text || *end || *text == '-' || *text == '+')
		return -EINVAL;
	*ret_ranks = number <= most ? (unsigned)number : most + 1;
	return number ? 0 : -EINVAL;
}

int fm_ranks_plan(const char *mapping, unsigned ranks, const struct fm_machine_description *machine,
                  unsigned ret_mappings[FM_SQUEEZE_MAPPINGS], unsigned *ret_count, struct fm_error *error)
{
	const struct fm_cache_description *last = &machine->caches[machine->cache_count - 1];
	unsigned room = last->shared_by > FM_ENGINE_BESIDE_MAX + 1 ? FM_ENGINE_BESIDE_MAX + 1 : last->shared_by,
	         most = ranks < room ? ranks : room, count = 0;
	char list[128], *saved = NULL;

	if (ranks < 1 || ranks > FM_RANKS_MOST)
		return fm_error_set(error, EINVAL, "--ranks is a number from 1 to %d", FM_RANKS_MOST);
	if (strlen(mapping) >= sizeof(list) || !*mapping)
		return fm_error_set(error, EINVAL, "--mapping is spread, packed, or numbers such as 1,2,4");
	snprintf(list, sizeof(list), "%s", mapping);
	ret_mappings[count++] = 1;
	for (char *text = strtok_r(list, ",", &saved); text; text = strtok_r(NULL, ",", &saved)) {
		unsigned number;
		bool again = false;

		if (parse_mapping(text, most, &number))
			return fm_error_set(error, EINVAL,
			                    "--mapping is spread, packed, or numbers such as 1,2,4, not \"%s\"", text);
		if (number > most)
			return fm_error_set(error, EINVAL,
			                    "--mapping %s: there are %u ranks, and %u of them can share the %s of %s",
			                    text, ranks, room, last->name, machine->name);
		for (unsigned i = 0; i < count; i++)
			again = again || ret_mappings[i] == number;
		if (again)
			continue;
		if (count == FM_SQUEEZE_MAPPINGS)
			return fm_error_set(error, EINVAL, "--mapping takes up to %d", FM_SQUEEZE_MAPPINGS);
		ret_mappings[count++] = number;
	}
	*ret_count = count;
	return 0;
}

/* The use of each rank, from their common use. */
static struct fm_figure each_of(const struct fm_squeeze *squeeze, const struct fm_design *design, unsigned ranks,
                                const char *unit, bool *ret_matters)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	struct fm_design_knee knee;

	*ret_matters = false;
	if (design->count < 2 || !fm_design_knee(design, &knee))
		return fm_figure_unavailable("%s", *how->stopped ? how->stopped : "omitted");
	*ret_matters = knee.sensitive;
	return fm_figure_make(knee.high / ranks, knee.low / ranks, knee.high / ranks, unit, FM_ORIGIN_simulated,
	                      how->backend, design->count);
}

static struct fm_figure simulated(const struct fm_squeeze *squeeze, double value, const char *unit)
{
	return fm_figure_make(value, value, value, unit, FM_ORIGIN_simulated, squeeze->how->backend, 1);
}

static void analyse_shared(const struct fm_squeeze *squeeze, struct fm_squeeze_mapping *mapping)
{
	const struct fm_recording *recording = squeeze->recording;
	const struct fm_recorded_squeeze *how = squeeze->how;
	const double hertz = recording->machine.frequency_ghz * 1e9;
	struct fm_design capacity = {.noticeable = how->noticeable, .full = how->bytes}, bandwidth = capacity;
	const struct fm_recorded_rank_step *whole = NULL;
	double seconds, slower;

	bandwidth.full = how->gbs;
	for (size_t i = 0; i < recording->rank_steps_count; i++) {
		const struct fm_recorded_rank_step *step = &recording->rank_steps[i];

		if (step->ranks != mapping->ranks || !(step->bytes > 0) || !(step->gbs > 0) || !step->cycles)
			continue;
		if (step->bytes >= how->bytes && step->gbs >= how->gbs && !whole)
			whole = step;
		if (step->gbs >= how->gbs)
			fm_design_add(&capacity, step->bytes, (double)step->cycles);
		if (step->bytes >= how->bytes)
			fm_design_add(&bandwidth, step->gbs, (double)step->cycles);
		mapping->runs++;
	}
	mapping->seconds = mapping->sharing = mapping->capacity_in_use = mapping->bandwidth_in_use =
	    mapping->traffic_gbs = fm_figure_unavailable("%s", *how->stopped ? how->stopped : "not run");
	if (!whole)
		return;
	seconds = (double)whole->cycles / hertz;
	slower = seconds / squeeze->seconds;
	mapping->seconds = simulated(squeeze, seconds, "s");
	mapping->sharing = simulated(squeeze, slower, "times");
	mapping->traffic_gbs = simulated(squeeze, (double)whole->memory_bytes / seconds * 1e-9, "GB/s");
	if (slower > 1 + how->noticeable) {
		mapping->capacity_in_use = mapping->bandwidth_in_use = fm_figure_unavailable(
		    "each is %.0f %% slower than alone even without a limit: together they exceed the capacity",
		    100 * (slower - 1));
		return;
	}
	mapping->capacity_in_use = each_of(squeeze, &capacity, mapping->ranks, "bytes", &mapping->capacity_matters);
	mapping->bandwidth_in_use = each_of(squeeze, &bandwidth, mapping->ranks, "GB/s", &mapping->bandwidth_matters);
}

void fm_ranks_analyse(struct fm_squeeze *squeeze)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	char list[sizeof(how->mappings)], *saved = NULL;

	snprintf(list, sizeof(list), "%s", how->mappings);
	for (char *text = strtok_r(list, " ", &saved); text && squeeze->mapping_count < FM_SQUEEZE_MAPPINGS;
	     text = strtok_r(NULL, " ", &saved)) {
		struct fm_squeeze_mapping *mapping = &squeeze->mappings[squeeze->mapping_count];
		unsigned long ranks = strtoul(text, NULL, 10);

		if (!ranks || ranks > FM_RANKS_MOST)
			continue;
		*mapping = (struct fm_squeeze_mapping){.ranks = (unsigned)ranks,
		                                       .caches = (how->ranks + (unsigned)ranks - 1) / (unsigned)ranks};
		squeeze->mapping_count++;
		if (ranks > 1) {
			analyse_shared(squeeze, mapping);
			continue;
		}
		mapping->runs = squeeze->runs;
		mapping->seconds = simulated(squeeze, squeeze->seconds, "s");
		mapping->sharing = simulated(squeeze, 1, "times");
		mapping->traffic_gbs = simulated(squeeze, squeeze->traffic_gbs, "GB/s");
		mapping->capacity_in_use = squeeze->capacity_in_use;
		mapping->bandwidth_in_use = squeeze->bandwidth_in_use;
		mapping->capacity_matters = squeeze->kind == FM_SQUEEZE_SENSITIVE;
		mapping->bandwidth_matters = squeeze->bandwidth_matters;
	}
}
