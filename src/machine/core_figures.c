/* The figures of the core in one list, by name: groups in the order in which they are printed. */
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"
#include "machine/machine.h"

struct row {
	const char *name, *words, *unit;
};

static const struct row core_rows[] = {
#define PARAMETER(identifier, words, unit, ...) {#identifier, words, unit},
#include "machine/core.def"
#undef PARAMETER
};

static const struct row translation_rows[] = {
#define TRANSLATION_PARAMETER(identifier, words, unit) {#identifier, words, unit},
#include "machine/translation.def"
#undef TRANSLATION_PARAMETER
};

static const struct row ways_rows[] = {
    {"l1_ways", "lines that a set of the cache holds", "ways"},
    {"l2_ways", "lines that a set of the cache holds", "ways"},
};

static const struct row huge_rows[] = {
#define TRANSLATION_PARAMETER(identifier, words, unit) {#identifier "_2m", words ", of 2 MiB", unit},
#include "machine/translation.def"
#undef TRANSLATION_PARAMETER
};

static const struct row prefetch_rows[] = {
#define PREFETCH_PARAMETER(identifier, words, unit) {#identifier, words, unit},
#include "machine/prefetch.def"
#undef PREFETCH_PARAMETER
};

#define ROWS(rows) rows, sizeof(rows) / sizeof((rows)[0])

static const struct group {
	const struct row *rows;
	unsigned count;
	size_t figures, measured; /* in struct fm_machine */
} groups[] = {
    {ROWS(core_rows), offsetof(struct fm_machine, core), offsetof(struct fm_machine, core_measured)},
    {ROWS(translation_rows), offsetof(struct fm_machine, translation), offsetof(struct fm_machine, core_measured)},
    {ROWS(ways_rows), offsetof(struct fm_machine, ways), offsetof(struct fm_machine, core_measured)},
    {ROWS(huge_rows), offsetof(struct fm_machine, translation_huge),
     offsetof(struct fm_machine, translation_huge_measured)},
    {ROWS(prefetch_rows), offsetof(struct fm_machine, prefetch), offsetof(struct fm_machine, prefetch_measured)},
};

static const struct fm_figure not_measured = {.why = "not measured"};

unsigned fm_machine_core_figures(const struct fm_machine *machine)
{
	unsigned count = 0;

	(void)machine;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		count += groups[i].count;
	return count;
}

static struct fm_core_figure core_figure(const struct fm_machine *machine, unsigned index)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		const struct group *group = &groups[i];
		const struct row *row;

		if (index >= group->count) {
			index -= group->count;
			continue;
		}
		row = &group->rows[index];
		return (struct fm_core_figure){
		    .name = row->name,
		    .words = row->words,
		    .unit = row->unit,
		    .figure = *(const bool *)((const char *)machine + group->measured)
		                  ? (const struct fm_figure *)((const char *)machine + group->figures) + index
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
