#include "profile/cpu_places.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sysfs.h"
#include "profile/tuning.h"

/* CPUs of a core, in a list such as "0,64" or "0-1". */
static unsigned first_sibling(unsigned cpu)
{
	long long first;

	if (!fm_sysfs_read_number(&first, "devices/system/cpu/cpu%u/topology/core_cpus_list", cpu) ||
	    !fm_sysfs_read_number(&first, "devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu))
		return (unsigned)first;
	return cpu;
}

static void read_caches(struct fm_cpu_place *place)
{
	long long level, highest = 0, number;

	place->cache = place->core;
	place->kib = 0;
	for (unsigned i = 0;
	     !fm_sysfs_read_number(&level, "devices/system/cpu/cpu%u/cache/index%u/level", place->cpu, i); i++) {
		if (!fm_sysfs_read_number(&number, "devices/system/cpu/cpu%u/cache/index%u/size", place->cpu, i))
			place->kib += (unsigned)number;
		if (level > highest &&
		    !fm_sysfs_read_number(&number, "devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list", place->cpu,
		                          i)) {
			highest = level;
			place->cache = (unsigned)number;
		}
	}
}

void fm_cpu_places_read(const struct fm_cpu_list *cpus, struct fm_cpu_place *ret_places)
{
	for (unsigned i = 0; i < cpus->count; i++) {
		struct fm_cpu_place *place = &ret_places[i];

		place->cpu = cpus->cpu[i];
		place->core = first_sibling(place->cpu);
		read_caches(place);
		place->node = fm_topology_node_of(place->cpu);
	}
}

/* How many CPUs of the same core come before it. */
static unsigned rank_of(const struct fm_cpu_place *places, unsigned position)
{
	unsigned rank = 0;

	for (unsigned i = 0; i < position; i++)
		rank += places[i].core == places[position].core;
	return rank;
}

/* How many other nodes come before its own. */
static unsigned node_rank_of(const struct fm_cpu_place *places, unsigned position)
{
	unsigned first = 0, rank = 0;

	while (places[first].node != places[position].node)
		first++;
	for (unsigned i = 0; i < first; i++) {
		bool seen = false;

		for (unsigned k = 0; k < i; k++)
			seen |= places[k].node == places[i].node;
		rank += !seen;
	}
	return rank;
}

struct key {
	unsigned rank, node, position;
	struct fm_cpu_place place;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

void fm_cpu_places_order(struct fm_cpu_list *cpus, struct fm_cpu_place *places)
{
	struct key *keys = calloc(cpus->count ? cpus->count : 1, sizeof(*keys));

	/* without memory the order stays as it is: nothing depends on it but how good it is */
	if (!keys)
		return;
	for (unsigned i = 0; i < cpus->count; i++)
		keys[i] = (struct key){rank_of(places, i), node_rank_of(places, i), i, places[i]};
	qsort(keys, cpus->count, sizeof(*keys), by_key);
	for (unsigned i = 0; i < cpus->count; i++) {
		places[i] = keys[i].place;
		cpus->cpu[i] = keys[i].place.cpu;
	}
	free(keys);
}

unsigned fm_cpu_places_beside_first(const struct fm_cpu_place *places, unsigned count, unsigned *ret_who)
{
	unsigned found = 0;

	for (unsigned i = 0; i < count; i++)
		if (!i || !places || places[i].core != places[0].core)
			ret_who[found++] = i;
	return found;
}

unsigned fm_cpu_places_caches(const struct fm_cpu_place *places, unsigned count)
{
	unsigned found = 0;

	for (unsigned i = 0; places && i < count; i++) {
		bool seen = false;

		for (unsigned k = 0; k < i && !seen; k++)
			seen = places[k].cache == places[i].cache;
		found += !seen;
	}
	return found ? found : 1;
}

void fm_busy_read(const char *text, struct fm_busy_clock *ret_clock)
{
	ret_clock->count = 0;
	for (const char *line = text; line && *line && ret_clock->count < FM_CPUS_MAX;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		unsigned long long user, nice, system, idle, waiting, interrupt = 0, soft = 0, stolen = 0;
		unsigned cpu, place = ret_clock->count;

		/* not the sum of all, which has a blank there */
		if (strncmp(line, "cpu", 3) || line[3] == ' ' ||
		    sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice, &system, &idle,
		           &waiting, &interrupt, &soft, &stolen) < 6)
			continue;
		ret_clock->cpu[place] = cpu;
		ret_clock->busy[place] = user + nice + system + interrupt + soft + stolen;
		ret_clock->all[place] = ret_clock->busy[place] + idle + waiting;
		ret_clock->count++;
	}
}

void fm_busy_between(const struct fm_busy_clock *before, const struct fm_busy_clock *after, struct fm_busy *ret_busy)
{
	ret_busy->count = 0;
	for (unsigned i = 0, k = 0; i < after->count; i++) {
		while (k < before->count && before->cpu[k] < after->cpu[i])
			k++;
		if (k == before->count || before->cpu[k] != after->cpu[i])
			continue;
		ret_busy->cpus[ret_busy->count].cpu = after->cpu[i];
		ret_busy->cpus[ret_busy->count].core = first_sibling(after->cpu[i]);
		ret_busy->cpus[ret_busy->count++].share =
		    after->all[i] > before->all[k] && after->busy[i] >= before->busy[k]
		        ? (double)(after->busy[i] - before->busy[k]) / (double)(after->all[i] - before->all[k])
		        : 0;
	}
}

static int read_clock(struct fm_busy_clock *ret_clock)
{
	enum { ROOM = 1 << 18 }; /* the lines of CPUs come first */
	FILE *file = fopen("/proc/stat", "r");
	char *text = file ? malloc(ROOM) : NULL;
	int status = file ? -ENOMEM : -errno;

	if (text) {
		text[fread(text, 1, ROOM - 1, file)] = 0;
		fm_busy_read(text, ret_clock);
		status = 0;
	}
	free(text);
	if (file)
		fclose(file);
	return status;
}

int fm_busy_measure(double seconds, struct fm_busy *ret_busy)
{
	struct fm_busy_clock *clocks = calloc(2, sizeof(*clocks));
	struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - floor(seconds)))};
	int status = clocks ? read_clock(&clocks[0]) : -ENOMEM;

	if (!status) {
		nanosleep(&pause, NULL);
		status = read_clock(&clocks[1]);
	}
	if (!status)
		fm_busy_between(&clocks[0], &clocks[1], ret_busy);
	free(clocks);
	return status;
}

unsigned fm_cpu_places_quietest(const struct fm_cpu_place *places, unsigned count, const struct fm_busy *busy)
{
	unsigned best = 0;
	double least = -1;

	for (unsigned i = 0; i < count; i++) {
		double share = 0;

		if (places[i].kib != places[0].kib)
			continue;
		for (unsigned k = 0; k < busy->count; k++)
			if (busy->cpus[k].core == places[i].core)
				share += busy->cpus[k].share;
		if (share <= CPU_QUIET)
			return i;
		if (least < 0 || share < least) {
			least = share;
			best = i;
		}
	}
	return best;
}

void fm_cpu_places_to_front(struct fm_cpu_list *cpus, struct fm_cpu_place *places, unsigned position)
{
	struct fm_cpu_place chosen;

	if (position >= cpus->count)
		return;
	chosen = places[position];
	memmove(places + 1, places, position * sizeof(*places));
	places[0] = chosen;
	for (unsigned i = 0; i < cpus->count; i++)
		cpus->cpu[i] = places[i].cpu;
}
