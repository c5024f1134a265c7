#include "profile/follow.h"

#include <math.h>
#include <string.h>

#include "profile/tuning.h"

static void rescale(struct fm_figure *figure, double factor)
{
	if (figure->available)
		*figure = fm_figure_scaled(figure, factor, figure->unit);
}

/* What goes by the clock is known no better than the clock is: that of a rented machine may change all the time. */
static void adapt(struct fm_figure *figure, double factor, const struct fm_figure *clock)
{
	double spread = (clock->high - clock->low) / 2 / clock->value, below, above;

	rescale(figure, factor);
	if (!figure->available || !(spread > 0))
		return;
	below = hypot(figure->value - figure->low, spread * figure->value);
	above = hypot(figure->high - figure->value, spread * figure->value);
	figure->low = figure->value - below;
	figure->high = figure->value + above;
}

void fm_machine_settle(struct fm_machine *machine, const struct fm_figure *clock)
{
	uint64_t core_bytes = fm_topology_core_bytes(&machine->topology);
	double longer = machine->frequency_ghz.value / clock->value;

	machine->frequency_ghz = *clock;
	for (unsigned i = 0; i < machine->level_count; i++) {
		struct fm_level *level = &machine->levels[i];

		if (level->no_plateau || level->measured_bytes > core_bytes)
			continue;
		adapt(&level->latency_ns, longer, clock);
		adapt(&level->latency_small_pages_ns, longer, clock);
	}
	for (int pages = 0; pages < FM_PAGES_COUNT; pages++)
		for (unsigned i = 0; i < machine->curves[pages].count; i++)
			if (machine->curves[pages].points[i].bytes <= core_bytes)
				adapt(&machine->curves[pages].points[i].ns, longer, clock);
	for (unsigned i = 0; i < machine->bandwidth_count; i++)
		if (machine->bandwidths[i].threads == 1 && machine->bandwidths[i].bytes <= core_bytes)
			adapt(&machine->bandwidths[i].gbs, 1 / longer, clock);
}

bool fm_machine_is_here(const struct fm_machine *machine)
{
	struct fm_topology here;

	return !fm_topology_read(&here, NULL) && !strcmp(here.processor, machine->topology.processor) &&
	       !strcmp(here.host, machine->topology.host);
}

bool fm_machine_follow(struct fm_machine *machine, const struct fm_figure *clock)
{
	uint64_t core_bytes = fm_topology_core_bytes(&machine->topology);
	double profiled = machine->frequency_ghz.value, change;

	if (!clock->available || !machine->frequency_ghz.available || !(profiled > 0) || !fm_machine_is_here(machine))
		return false;
	change = clock->value / profiled;
	if (!(fabs(change - 1) > CLOCK_CHANGE) || change < CLOCK_LEAST || change > CLOCK_MOST)
		return false;
	fm_machine_settle(machine, clock);
	machine->profiled_ghz = profiled;
	for (unsigned i = 0; i < machine->level_count; i++)
		if (machine->levels[i].no_plateau || machine->levels[i].measured_bytes > core_bytes)
			rescale(&machine->levels[i].latency_cycles, change);
	for (unsigned i = 0; i < machine->contention_count; i++)
		if (machine->contentions[i].threads == 1)
			rescale(&machine->contentions[i].ns, 1 / change);
	return true;
}

void fm_machine_follow_life(struct fm_machine *machine, const struct fm_figure *life)
{
	for (unsigned i = machine->level_count; i--;)
		if (strcmp(machine->levels[i].name, "memory") != 0) {
			machine->levels[i].life_ns = *life;
			return;
		}
}
