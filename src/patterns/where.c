#include "patterns/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patterns/analysis.h"
#include "patterns/deciding.h"

/* Parts that show the same. */

static void mark_part(const struct fm_judged *part, const struct fm_judged *whole, struct fm_where *where)
{
	for (unsigned i = 0; i < whole->finding_count; i++)
		for (unsigned k = 0; k < part->finding_count; k++) {
			if (part->findings[k].verdict != FM_VERDICT_PRESENT ||
			    strcmp(part->findings[k].name, whole->findings[i].name) != 0)
				continue;
			if (part->picture.part.thread < 0 && where[i].region_count < FM_WHERE_REGIONS)
				snprintf(where[i].regions[where[i].region_count++], sizeof(where[i].regions[0]), "%s",
				         part->picture.part.region);
			else if (part->picture.part.thread >= 0 && where[i].thread_count < FM_WHERE_THREADS)
				where[i].threads[where[i].thread_count++] = part->picture.part.thread;
		}
}

static void mark_parts(const struct fm_analysis *analysis, struct fm_where *where)
{
	/* of one thread there is nothing to choose */
	for (size_t i = 0; analysis->whole.picture.threads > 1 && i < analysis->threads.count; i++)
		mark_part(&analysis->threads.parts[i], &analysis->whole, where);
	for (size_t i = 0; i < analysis->regions.count; i++)
		mark_part(&analysis->regions.parts[i], &analysis->whole, where);
}

/* Source lines */

static void add_line(struct fm_where *where, const char *file, int64_t line, const char *function, double share)
{
	const char *slash = strrchr(file, '/');
	unsigned at = where->line_count;

	if (share < FM_LINE_REPORTED || !*file)
		return;
	/* the heaviest first */
	while (at > 0 && where->lines[at - 1].share < share)
		at--;
	if (at == FM_WHERE_LINES)
		return;
	if (where->line_count < FM_WHERE_LINES)
		where->line_count++;
	memmove(&where->lines[at + 1], &where->lines[at], (where->line_count - 1 - at) * sizeof(where->lines[0]));
	snprintf(where->lines[at].file, sizeof(where->lines[at].file), "%s", slash ? slash + 1 : file);
	snprintf(where->lines[at].function, sizeof(where->lines[at].function), "%s", function);
	where->lines[at].line = line;
	where->lines[at].share = share;
}

/* Lines of source that moved the most lines of cache out of the level: for loads, stores and the prefetchers they set
 * off. */
static void find_movers(const struct fm_analysis *analysis, unsigned level, struct fm_where *where)
{
	double all = 0;

	for (size_t i = 0; level && i < analysis->line_count; i++)
		all += (double)analysis->lines[i].moved[level - 1];
	for (size_t i = 0; all > 0 && i < analysis->line_count; i++)
		add_line(where, analysis->lines[i].file, analysis->lines[i].line, analysis->lines[i].function,
		         (double)analysis->lines[i].moved[level - 1] / all);
}

static void at_level(const struct fm_analysis *analysis, const struct fm_finding *finding, struct fm_where *where)
{
	find_movers(analysis, finding->level, where);
}

static void at_memory(const struct fm_analysis *analysis, const struct fm_finding *finding, struct fm_where *where)
{
	(void)finding;
	find_movers(analysis, analysis->recording->machine.cache_count, where);
}

static void find_sharing(const struct fm_recording *recording, bool only_false, struct fm_where *where)
{
	for (size_t i = 0; i < recording->shared_count; i++) {
		if (only_false && strcmp(fm_sharing_kind(&recording->shared[i]), "false") != 0)
			continue;
		where->thread_count = 0;
		for (size_t k = 0; k < recording->users_count; k++) {
			const struct fm_recorded_user *user = &recording->users[k];

			if (user->shared != i)
				continue;
			if (where->thread_count < FM_WHERE_THREADS)
				where->threads[where->thread_count++] = (int)user->thread;
			if (!where->line_count || where->lines[0].line != user->source_line)
				add_line(where, user->file, user->source_line, user->function, 1);
		}
		return;
	}
}

static void at_false_sharing(const struct fm_analysis *analysis, const struct fm_finding *finding,
                             struct fm_where *where)
{
	(void)finding;
	find_sharing(analysis->recording, true, where);
}

static void at_sharing(const struct fm_analysis *analysis, const struct fm_finding *finding, struct fm_where *where)
{
	(void)finding;
	find_sharing(analysis->recording, false, where);
}

/* The thread with the most useful work. */
static void at_busiest(const struct fm_analysis *analysis, const struct fm_finding *finding, struct fm_where *where)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	unsigned busiest = 0;

	(void)finding;

	for (unsigned i = 1; i < picture->thread_count; i++)
		if (picture->per_thread[i].useful > picture->per_thread[busiest].useful)
			busiest = i;
	where->thread_count = 0;
	if (picture->thread_count)
		where->threads[where->thread_count++] = (int)picture->per_thread[busiest].thread;
}

static void (*const places[])(const struct fm_analysis *analysis, const struct fm_finding *finding,
                              struct fm_where *where) = {
#define PLACE(identifier, function) function,
#include "patterns/places.def"
#undef PLACE
};

void fm_where_find(const struct fm_analysis *analysis, struct fm_where *ret_where)
{
	const struct fm_judged *whole = &analysis->whole;

	memset(ret_where, 0, whole->finding_count * sizeof(*ret_where));
	mark_parts(analysis, ret_where);
	for (unsigned i = 0; i < whole->finding_count; i++) {
		const struct fm_finding *finding = &whole->findings[i];

		if (finding->verdict != FM_VERDICT_PRESENT)
			memset(&ret_where[i], 0, sizeof(ret_where[i]));
		else if (places[finding->place])
			places[finding->place](analysis, finding, &ret_where[i]);
	}
}

static size_t add_text(char *text, size_t size, size_t used, const char *separator, const char *item)
{
	if (used < size)
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? separator : "", item);
	return used;
}

const char *fm_where_text(const struct fm_where *where, char *text, size_t size)
{
	char item[600];
	size_t used = 0;

	*text = '\0';
	for (unsigned i = 0; i < where->thread_count; i++) {
		snprintf(item, sizeof(item),
		         i                         ? "%d"
		         : where->thread_count > 1 ? "threads %d"
		                                   : "thread %d",
		         where->threads[i]);
		used = add_text(text, size, used, i ? ", " : "; ", item);
	}
	for (unsigned i = 0; i < where->region_count; i++) {
		snprintf(item, sizeof(item),
		         i                         ? "%s"
		         : where->region_count > 1 ? "regions %s"
		                                   : "region %s",
		         where->regions[i]);
		used = add_text(text, size, used, i ? ", " : "; ", item);
	}
	for (unsigned i = 0; i < where->line_count; i++) {
		snprintf(item, sizeof(item), "%s:%lld (%s)", where->lines[i].file, (long long)where->lines[i].line,
		         where->lines[i].function);
		used = add_text(text, size, used, i ? ", " : "; ", item);
	}
	return text;
}
