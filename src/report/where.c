#include "report/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line with less than this of what is looked for is not worth a look. */
#define LITTLE 0.05

/* Fewer misses than this for each line moved, and they say nothing. */
#define HARDLY 0.1

/* Parts that show the same. */

static void mark_part(const struct fm_picture *part, const struct fm_finding *findings, unsigned count,
                      struct fm_where *where)
{
	struct fm_finding own[FM_FINDINGS_MAX];
	unsigned own_count = fm_patterns_find(part, own);

	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < own_count; k++) {
			if (own[k].verdict != FM_VERDICT_PRESENT || strcmp(own[k].name, findings[i].name) != 0)
				continue;
			if (part->part.thread < 0 && where[i].region_count < FM_WHERE_REGIONS)
				snprintf(where[i].regions[where[i].region_count++], sizeof(where[i].regions[0]), "%s",
				         part->part.region);
			else if (part->part.thread >= 0 && where[i].thread_count < FM_WHERE_THREADS)
				where[i].threads[where[i].thread_count++] = part->part.thread;
		}
}

static void mark_parts(const struct fm_picture *picture, const struct fm_picture_parts *parts,
                       const struct fm_finding *findings, unsigned count, struct fm_where *where)
{
	struct fm_picture *part = malloc(sizeof(*part));

	/* of one thread there is nothing to choose */
	for (unsigned i = 0; part && picture->threads > 1 && parts->thread(parts->context, i, part); i++)
		mark_part(part, findings, count, where);
	for (unsigned i = 0; part && parts->region(parts->context, i, part); i++)
		mark_part(part, findings, count, where);
	free(part);
}

/* Source lines */

static void add_line(struct fm_where *where, const char *file, int line, const char *function, double share)
{
	const char *slash = strrchr(file, '/');
	unsigned at = where->line_count;

	if (share < LITTLE || !*file)
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

static uint64_t weight_of(const struct fm_stat_place *line, int cache)
{
	return cache < 0 ? line->loads + line->stores : line->misses[cache];
}

/* Lines whose accesses missed the cache above the level. What was prefetched was missed by nobody: when hardly any of
   the lines that were moved were, those that missed a cache further up, or that accessed most. */
static void find_misses(const struct fm_stat *stat, const struct fm_picture *picture, unsigned level,
                        struct fm_where *where)
{
	const struct fm_picture_level *moved = &picture->levels[level];
	double lines = (moved->read_bytes.value + moved->allocate_bytes.value) / stat->machine->line_bytes;
	uint64_t all = 0;
	int cache = (int)level;

	do {
		all = 0;
		cache--;
		for (size_t i = 0; i < stat->line_count; i++)
			all += weight_of(&stat->lines[i], cache);
	} while (cache >= 0 && (double)all < HARDLY * lines);
	for (size_t i = 0; i < stat->line_count && all; i++)
		add_line(where, stat->lines[i].file, stat->lines[i].line, stat->lines[i].function,
		         (double)weight_of(&stat->lines[i], cache) / (double)all);
}

static void find_sharing(const struct fm_stat *stat, struct fm_where *where)
{
	for (size_t i = 0; i < stat->sharing_count; i++) {
		const struct fm_stat_sharing *sharing = &stat->sharing[i];

		if (strcmp(fm_sharing_kind(sharing), "false") != 0)
			continue;
		where->thread_count = 0;
		for (unsigned k = 0; k < sharing->user_count; k++) {
			if (where->thread_count < FM_WHERE_THREADS)
				where->threads[where->thread_count++] = sharing->users[k].thread;
			if (!where->line_count || where->lines[0].line != sharing->users[k].source_line)
				add_line(where, sharing->users[k].file, sharing->users[k].source_line,
				         sharing->users[k].function, 1);
		}
		return;
	}
}

/* The thread with most to do. */
static void find_busiest(const struct fm_picture *picture, struct fm_where *where)
{
	unsigned busiest = 0;

	for (unsigned i = 1; i < picture->thread_count; i++)
		if (picture->per_thread[i].useful > picture->per_thread[busiest].useful)
			busiest = i;
	where->thread_count = 0;
	if (picture->thread_count)
		where->threads[where->thread_count++] = (int)picture->per_thread[busiest].thread;
}

void fm_where_find(const struct fm_picture *picture, const struct fm_finding *findings, unsigned count,
                   const struct fm_picture_parts *parts, const struct fm_stat *stat, struct fm_where *ret_where)
{
	memset(ret_where, 0, count * sizeof(*ret_where));
	mark_parts(picture, parts, findings, count, ret_where);
	for (unsigned i = 0; i < count; i++) {
		if (findings[i].verdict != FM_VERDICT_PRESENT) {
			memset(&ret_where[i], 0, sizeof(ret_where[i]));
			continue;
		}
		if (findings[i].place == FM_PLACE_balance)
			find_busiest(picture, &ret_where[i]);
		if (stat && findings[i].place == FM_PLACE_level)
			find_misses(stat, picture, findings[i].level, &ret_where[i]);
		if (stat && findings[i].place == FM_PLACE_memory)
			find_misses(stat, picture, stat->machine->cache_count, &ret_where[i]);
		if (stat && findings[i].place == FM_PLACE_sharing)
			find_sharing(stat, &ret_where[i]);
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
	char item[400];
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
		snprintf(item, sizeof(item), "%s:%d (%s)", where->lines[i].file, where->lines[i].line,
		         where->lines[i].function);
		used = add_text(text, size, used, i ? ", " : "; ", item);
	}
	return text;
}
