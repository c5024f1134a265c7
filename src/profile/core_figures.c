/* The figures of the core in one list, by name: groups in the order in which they are printed. */
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"
#include "profile/core_figures.h"
#include "profile/family.h"

#define ROWS(rows) rows, sizeof(rows) / sizeof((rows)[0])

const struct fm_core_group fm_core_groups[FM_CORE_GROUPS] = {
    {ROWS(fm_core_parameters), offsetof(struct fm_machine, core), offsetof(struct fm_machine, core_measured)},
    {ROWS(fm_translation_parameters), offsetof(struct fm_machine, translation),
     offsetof(struct fm_machine, core_measured)},
    {ROWS(fm_ways_parameters), offsetof(struct fm_machine, ways), offsetof(struct fm_machine, core_measured)},
    {ROWS(fm_translation_huge_parameters), offsetof(struct fm_machine, translation_huge),
     offsetof(struct fm_machine, translation_huge_measured)},
    {ROWS(fm_prefetch_parameters), offsetof(struct fm_machine, prefetch),
     offsetof(struct fm_machine, prefetch_measured)},
};

static const struct fm_figure not_measured = {.why = "not measured"};

unsigned fm_machine_core_figures(const struct fm_machine *machine)
{
	unsigned count = 0;

	(void)machine;
	for (unsigned i = 0; i < FM_CORE_GROUPS; i++)
		count += fm_core_groups[i].count;
	return count;
}

static struct fm_core_figure core_figure(const struct fm_machine *machine, unsigned index)
{
	for (unsigned i = 0; i < FM_CORE_GROUPS; i++) {
		const struct fm_core_group *group = &fm_core_groups[i];
		const struct fm_parameter *row;

		if (index >= group->count) {
			index -= group->count;
			continue;
		}
		row = &group->rows[index];
		return (struct fm_core_figure){.name = row->name,
		                               .words = row->words,
		                               .unit = row->unit,
		                               .figure = fm_core_group_measured(machine, i)
		                                             ? fm_core_group_figures(machine, i) + index
		                                             : &not_measured};
	}
	return (struct fm_core_figure){.name = "", .words = "", .unit = "", .figure = &not_measured};
}

struct fm_core_figure fm_machine_core_figure(const struct fm_machine *machine, unsigned index)
{
	struct fm_core_figure core = core_figure(machine, index);

	core.published = fm_family_figure(fm_family_of(&machine->topology), core.name);
	snprintf(core.published.unit, sizeof(core.published.unit), "%s", core.unit);
	fm_text_complete(core.published.unit);
	return core;
}
