#include "profile/family.h"

#include <string.h>

#include "profile/tuning.h"

/* The table as it is: what follows a row of kind FAMILY belongs to it. */
struct fm_family {
	enum { FAMILY, LIKE, MODELS, FIRST_CACHE, VALUE, END } kind;
	const char *name; /* identifier, vendor or parameter */
	const char *text; /* words or source */
	unsigned family, first, last;
	unsigned kib;
	double value, least, most;
};

#define SOURCE(identifier, words)
#define FAMILY(identifier, words) {.kind = FAMILY, .name = #identifier, .text = words},
#define LIKE(identifier) {.kind = LIKE, .name = #identifier},
#define MODELS(vendor, number, from, to) {.kind = MODELS, .name = vendor, .family = number, .first = from, .last = to},
#define FIRST_CACHE(size) {.kind = FIRST_CACHE, .name = "FIRST_CACHE", .kib = size},
#define BETWEEN(parameter, usual, low, high, source) \
	{.kind = VALUE, .name = #parameter, .text = #source, .value = usual, .least = low, .most = high},
static const struct fm_family rows[] = {
#include "profile/families.def"
    {.kind = END},
};

static const struct {
	const char *name, *words;
} sources[] = {
#define SOURCE(identifier, words) {#identifier, words},
#define FAMILY(identifier, words)
#define LIKE(identifier)
#define MODELS(vendor, number, from, to)
#define FIRST_CACHE(size)
#define BETWEEN(parameter, usual, low, high, source)
#include "profile/families.def"
};

/* Unless it is known to be another kind of core. */
static const struct fm_family *of_this_core(const struct fm_family *family, const struct fm_topology *topology)
{
	for (const struct fm_family *row = family + 1; row->kind != END && row->kind != FAMILY; row++)
		if (row->kind == FIRST_CACHE && topology->cache_count &&
		    topology->caches[0].bytes != row->kib * UINT64_C(1024))
			return NULL;
	return family;
}

const struct fm_family *fm_family_of(const struct fm_topology *topology)
{
	const struct fm_family *family = NULL;

	for (const struct fm_family *row = rows; row->kind != END; row++) {
		if (row->kind == FAMILY)
			family = row;
		if (family && row->kind == MODELS && !strcmp(row->name, topology->vendor) &&
		    row->family == topology->family && row->first <= topology->model && topology->model <= row->last)
			return of_this_core(family, topology);
	}
	return NULL;
}

const char *fm_family_words(const struct fm_family *family)
{
	return family->text;
}

static const struct fm_family *find_family(const char *name)
{
	for (const struct fm_family *row = rows; row->kind != END; row++)
		if (row->kind == FAMILY && !strcmp(row->name, name))
			return row;
	return NULL;
}

static const struct fm_family *find_value(const struct fm_family *family, const char *parameter)
{
	const struct fm_family *like = NULL;

	if (!family)
		return NULL;
	for (const struct fm_family *row = family + 1; row->kind != END && row->kind != FAMILY; row++) {
		if (row->kind == VALUE && !strcmp(row->name, parameter))
			return row;
		if (row->kind == LIKE)
			like = find_family(row->name);
	}
	return find_value(like, parameter);
}

struct fm_figure fm_family_figure(const struct fm_family *family, const char *parameter)
{
	const struct fm_family *found = find_value(family, parameter);

	if (!found)
		return fm_figure_unavailable(family ? "no published values for this family"
		                                    : "this processor is not in the table");
	return fm_figure_make(found->value, found->least, found->most, "", FM_ORIGIN_published, "table", 0);
}

const char *fm_family_source(const struct fm_family *family, const char *parameter)
{
	const struct fm_family *found = find_value(family, parameter);

	for (size_t i = 0; found && i < sizeof(sources) / sizeof(sources[0]); i++)
		if (!strcmp(sources[i].name, found->text))
			return sources[i].words;
	return NULL;
}

bool fm_family_differs(const struct fm_figure *measured, const struct fm_figure *published)
{
	return measured->available && published->available &&
	       (published->low > measured->high * (1 + PUBLISHED_TOLERANCE) ||
	        published->high < measured->low * (1 - PUBLISHED_TOLERANCE));
}

struct fm_figure fm_family_or_published(const struct fm_figure *measured, const struct fm_family *family,
                                        const char *parameter)
{
	struct fm_figure published = fm_family_figure(family, parameter);

	return published.available && fm_figure_relative_width(measured) > FM_FIGURE_INCONCLUSIVE ? published
	                                                                                          : *measured;
}

const char *fm_family_check(bool (*known)(const char *parameter))
{
	const struct fm_family *family = rows;

	for (const struct fm_family *row = rows; row->kind != END; row++) {
		if (row->kind == FAMILY)
			family = row;
		/* LIKE names a family that has no LIKE itself, since figures are looked up one step far */
		if (row->kind == LIKE && (!find_family(row->name) || (find_family(row->name) + 1)->kind == LIKE))
			return row->name;
		if (row->kind == MODELS && row->first > row->last)
			return family->name;
		if (row->kind == VALUE &&
		    (!known(row->name) || !fm_family_source(family, row->name) || !(row->least > 0) ||
		     row->least > row->value || row->value > row->most || find_value(family, row->name) != row))
			return row->name;
	}
	return NULL;
}
