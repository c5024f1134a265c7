/* The figures of the core in one list, by name. */
#include <stdio.h>

#include "base/text.h"
#include "machine/machine.h"

static const struct fm_figure not_measured = {.why = "not measured"};

unsigned fm_machine_core_figures(const struct fm_machine *machine)
{
	(void)machine;
	return FM_CORE_PARAMETERS + FM_TRANSLATION_PARAMETERS + FM_WAYS_COUNT + FM_FAMILY_ONLY_PUBLISHED;
}

static struct fm_core_figure core_figure(const struct fm_machine *machine, unsigned index)
{
	const struct fm_figure *none = machine->core_measured ? NULL : &not_measured;

	if (index < FM_CORE_PARAMETERS) {
		enum fm_core_parameter parameter = (enum fm_core_parameter)index;

		return (struct fm_core_figure){.name = fm_core_parameter_name(parameter),
		                               .words = fm_core_parameter_words(parameter),
		                               .unit = fm_core_parameter_unit(parameter),
		                               .figure = none ? none : &machine->core[parameter]};
	}
	index -= FM_CORE_PARAMETERS;
	if (index < FM_TRANSLATION_PARAMETERS) {
		enum fm_translation_parameter parameter = (enum fm_translation_parameter)index;

		return (struct fm_core_figure){.name = fm_translation_parameter_name(parameter),
		                               .words = fm_translation_parameter_words(parameter),
		                               .unit = fm_translation_parameter_unit(parameter),
		                               .figure = none ? none : &machine->translation[parameter]};
	}
	index -= FM_TRANSLATION_PARAMETERS;
	if (index < FM_WAYS_COUNT)
		return (struct fm_core_figure){.name = fm_ways_name((enum fm_ways)index),
		                               .words = "lines that a set of the cache holds",
		                               .unit = "ways",
		                               .figure = none ? none : &machine->ways[index]};
	index -= FM_WAYS_COUNT;
	/* the first is what misses at once show */
	return (struct fm_core_figure){.name = fm_family_only_published[index].name,
	                               .words = fm_family_only_published[index].words,
	                               .unit = fm_family_only_published[index].unit,
	                               .figure = index ? &not_measured : &machine->outstanding_misses};
}

struct fm_core_figure fm_machine_core_figure(const struct fm_machine *machine, unsigned index)
{
	struct fm_core_figure core = core_figure(machine, index);

	core.published = fm_family_figure(fm_family_of(&machine->topology), core.name);
	snprintf(core.published.unit, sizeof(core.published.unit), "%s", core.unit);
	fm_text_complete(core.published.unit);
	return core;
}
