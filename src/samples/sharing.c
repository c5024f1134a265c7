/* Threads and objects, and the order in which a thread goes through an object. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "samples/ordering.h"
#include "samples/parts.h"

enum {
	PATTERNS_MAX = 64,  /* objects whose order is judged … */
	VISITS_MAX = 20000, /* … by about this number of samples of each … */
	BLOCK = 2048,       /* … in sequences of this length */
};

const char *fm_samples_use_name(enum fm_samples_use use)
{
	static const char *const names[] = {
	    [FM_USE_INCONCLUSIVE] = "inconclusive",
	    [FM_USE_PRIVATE] = "private",
	    [FM_USE_SHARED_READ] = "shared read",
	    [FM_USE_SHARED_WRITTEN] = "shared written",
	};

	return names[use];
}

/* Sums by object and thread, and by memory and thread: of the former the table is made; the latter say whether an
   object of several memories is shared, or each thread has one of its own. */
struct pair {
	uint32_t object, thread;
	uint64_t count;
	double weight, squares, loads, stores;
};

struct pairs {
	struct fm_names names;
	struct pair *list;
	size_t room;
};

static int add(struct pairs *pairs, uint32_t object, const struct fm_recorded_sample *sample, double weight)
{
	uint32_t key[2] = {object, sample->thread}, number;
	struct pair *pair;
	int r;

	if (sample->flags & FM_SAMPLE_LEVEL_ONLY)
		return 0;
	r = fm_names_find_bytes(&pairs->names, key, sizeof(key), &number);
	if (r)
		return r;
	if (number >= pairs->room) {
		size_t room = pairs->room ? 2 * pairs->room : 64;
		struct pair *list = realloc(pairs->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		memset(list + pairs->room, 0, (room - pairs->room) * sizeof(*list));
		pairs->list = list;
		pairs->room = room;
	}
	pair = &pairs->list[number];
	pair->object = object;
	pair->thread = sample->thread;
	pair->count++;
	pair->weight += weight;
	pair->squares += weight * weight;
	pair->loads += sample->kind & FM_SAMPLE_LOAD ? weight : 0;
	pair->stores += sample->kind & FM_SAMPLE_STORE ? weight : 0;
	return 0;
}

static void pairs_free(struct pairs *pairs)
{
	fm_names_free(&pairs->names);
	free(pairs->list);
}

static int by_object(const void *first, const void *second)
{
	const struct pair *a = first, *b = second;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static void add_use(struct fm_samples *samples, const struct pairs *by_memory, const uint32_t *object_of)
{
	/* pairs of one memory follow each other */
	for (size_t i = 0, next; i < by_memory->names.count; i = next) {
		struct fm_sampled_object *object = &samples->objects[object_of[by_memory->list[i].object]];
		double stores = 0;
		enum fm_samples_use use;

		for (next = i;
		     next < by_memory->names.count && by_memory->list[next].object == by_memory->list[i].object; next++)
			stores += by_memory->list[next].stores;
		use = next - i < 2 ? FM_USE_PRIVATE : stores > 0 ? FM_USE_SHARED_WRITTEN : FM_USE_SHARED_READ;
		/* pools and untracked memory are many objects: each may have one thread */
		if (next - i > 1 && (object->kind == FM_MEMORY_POOL || object->kind == FM_MEMORY_UNTRACKED ||
		                     object->kind == FM_MEMORY_UNKNOWN))
			object->use = FM_USE_INCONCLUSIVE;
		else if (use > object->use)
			object->use = use;
	}
}

static int make_table(struct fm_samples *samples, const struct fm_chosen *chosen, const struct pairs *pairs)
{
	samples->sharing = calloc(pairs->names.count + 1, sizeof(*samples->sharing));
	if (!samples->sharing)
		return -ENOMEM;
	for (size_t i = 0; i < pairs->names.count; i++) {
		const struct pair *pair = &pairs->list[i];
		struct fm_sampled_sharing *row;

		samples->objects[pair->object].threads++;
		if (pair->object >= FM_DETAILED_MAX)
			continue;
		row = &samples->sharing[samples->sharing_count++];
		row->object = pair->object;
		row->thread = pair->thread;
		row->samples = pair->count;
		row->share = fm_served_share(samples->model, pair->weight, chosen->whole.weight, chosen->whole.squares);
		row->loads = fm_served_share(samples->model, pair->loads, pair->weight, pair->squares);
		row->stores = fm_served_share(samples->model, pair->stores, pair->weight, pair->squares);
	}
	return 0;
}

int fm_samples_sharing(struct fm_samples *samples, const struct fm_chosen *chosen)
{
	struct pairs pairs = {0}, by_memory = {0};
	size_t memories = samples->recording->memories_count;
	uint32_t *object_of = calloc(memories + 1, sizeof(*object_of));
	int r = object_of ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < chosen->count; i++) {
		const struct fm_recorded_sample *sample = fm_chosen_sample(chosen, i);
		uint32_t memory = (uint32_t)fm_samples_memory(samples, sample);

		object_of[memory] = chosen->object[i];
		r = add(&pairs, chosen->object[i], sample, fm_chosen_weight(chosen, i));
		if (!r)
			r = add(&by_memory, memory, sample, fm_chosen_weight(chosen, i));
	}
	if (!r) {
		if (pairs.names.count)
			qsort(pairs.list, pairs.names.count, sizeof(*pairs.list), by_object);
		if (by_memory.names.count)
			qsort(by_memory.list, by_memory.names.count, sizeof(*by_memory.list), by_object);
		add_use(samples, &by_memory, object_of);
		r = make_table(samples, chosen, &pairs);
	}
	pairs_free(&pairs);
	pairs_free(&by_memory);
	free(object_of);
	return r;
}

/* Order */

/* The order of accesses to an object, or by a line of code. */
struct walker {
	struct fm_pattern_verdict *verdict;
	const struct fm_served *served;
	struct fm_sampled_object *object; /* that a line refers to most */
	bool whole;
};

static struct walker walker_of(struct fm_samples *samples, bool lines, size_t number)
{
	if (lines)
		return (struct walker){&samples->lines[number].pattern, &samples->lines[number].served,
		                       &samples->objects[samples->lines[number].object], false};
	return (struct walker){&samples->objects[number].pattern, &samples->objects[number].served,
	                       &samples->objects[number], true};
}

/* One sample of a walker that is looked at. */
struct visit {
	uint32_t walker, memory, thread;
	double at;
	uint64_t address;
};

static int by_memory_and_address(const void *first, const void *second)
{
	const struct visit *a = first, *b = second;

	if (a->walker != b->walker)
		return a->walker < b->walker ? -1 : 1;
	if (a->memory != b->memory)
		return a->memory < b->memory ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static int by_thread_and_time(const void *first, const void *second)
{
	const struct visit *a = first, *b = second;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* The longest run of visits that agree in a member at this offset: where it begins, how many they are. */
static struct visit *longest(struct visit *visits, size_t count, size_t offset, size_t *ret_count)
{
	size_t begin = 0, most = 0, start = 0;

	for (size_t i = 1; i <= count; i++)
		if (i == count ||
		    memcmp((char *)&visits[i] + offset, (char *)&visits[start] + offset, sizeof(uint32_t))) {
			if (i - start > most) {
				most = i - start;
				begin = start;
			}
			start = i;
		}
	*ret_count = most;
	return &visits[begin];
}

/* By address, do neighbours belong to one thread far more often than by chance? */
static bool is_divided(const struct visit *visits, size_t count, size_t threads)
{
	double *of_thread = calloc(threads + 1, sizeof(*of_thread)), changes = 0, same = 0;

	for (size_t i = 0; of_thread && i < count; i++) {
		of_thread[visits[i].thread]++;
		changes += i && visits[i].thread != visits[i - 1].thread;
	}
	for (size_t i = 0; of_thread && i < threads; i++)
		same += of_thread[i] / (double)count * (of_thread[i] / (double)count);
	free(of_thread);
	return same > 0 && same < FM_ONE_THREAD && changes < FM_DIVIDED_CHANGES * (1 - same) * (double)count;
}

/* The most bytes per second that one thread can go through in an object of that size. */
static double fastest(const struct fm_machine *profile, double bytes)
{
	double gbs = 0;
	unsigned level = 0;

	if (!profile)
		return FM_FASTEST_UNKNOWN;
	while (level + 1 < profile->level_count && !(profile->levels[level].effective_bytes.available &&
	                                             profile->levels[level].effective_bytes.value >= bytes))
		level++;
	for (unsigned i = 0; i < profile->bandwidth_count; i++)
		if (profile->bandwidths[i].level == level && profile->bandwidths[i].threads == 1 &&
		    profile->bandwidths[i].gbs.available)
			gbs = fmax(gbs, profile->bandwidths[i].gbs.value);
	return gbs > 0 ? FM_FASTEST_MARGIN * 1e9 * gbs : FM_FASTEST_UNKNOWN;
}

static struct fm_pattern_hints hints_of(const struct fm_samples *samples, const struct walker *walker)
{
	const struct fm_machine *profile = samples->recording->profile;
	const struct fm_figure *first = &walker->served->levels[0];
	struct fm_pattern_hints hints = {fastest(profile, (double)walker->object->bytes), 0, 1, 48 * 1024};

	if (first->available && samples->model->classes > 2) {
		hints.first_low = first->low;
		hints.first_high = first->high;
	}
	/* lines of a first class with several levels may lie in the last of them */
	for (unsigned i = 0; profile && i < profile->level_count && i < samples->model->levels; i++)
		if (samples->model->class_of[i] == 0 && profile->levels[i].effective_bytes.available)
			hints.first_bytes = profile->levels[i].effective_bytes.value;
	return hints;
}

/* In the memory with the most samples, by the thread with the most. */
static int judge(struct fm_samples *samples, const struct walker *walker, struct visit *visits, size_t count)
{
	struct fm_pattern_hints hints = hints_of(samples, walker);
	struct fm_pattern_point *points;
	int r;

	visits = longest(visits, count, offsetof(struct visit, memory), &count);
	if (walker->whole && count >= FM_DIVIDED_VISITS && walker->object->use >= FM_USE_SHARED_READ)
		walker->object->divided = is_divided(visits, count, samples->recording->sampled_threads_count);
	qsort(visits, count, sizeof(*visits), by_thread_and_time);
	visits = longest(visits, count, offsetof(struct visit, thread), &count);
	points = malloc((count + 1) * sizeof(*points));
	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		points[i] = (struct fm_pattern_point){visits[i].at, visits[i].address};
	r = fm_pattern_judge(points, count, &hints, walker->verdict);
	free(points);
	return r;
}

static int judge_all(struct fm_samples *samples, const struct fm_chosen *chosen, bool lines)
{
	const uint32_t *walkers = lines ? chosen->line : chosen->object;
	size_t walker_count = lines ? samples->line_count : samples->object_count;
	struct visit *visits = malloc((chosen->count + 1) * sizeof(*visits));
	size_t count = 0, seen[PATTERNS_MAX] = {0};
	int r = visits ? 0 : -ENOMEM;

	for (size_t i = 0; i < walker_count; i++) {
		struct fm_pattern_verdict *verdict = walker_of(samples, lines, i).verdict;

		snprintf(verdict->reason, sizeof(verdict->reason), "%s",
		         i < PATTERNS_MAX ? "too few samples" : "only analysed for the heaviest objects");
	}
	for (size_t i = 0; !r && i < chosen->count; i++) {
		const struct fm_recorded_sample *sample = fm_chosen_sample(chosen, i);
		size_t stride;

		if (walkers[i] >= PATTERNS_MAX || sample->memory < 0)
			continue;
		stride = 1 + walker_of(samples, lines, walkers[i]).served->samples / VISITS_MAX;
		if (seen[walkers[i]]++ / BLOCK % stride == 0)
			visits[count++] = (struct visit){walkers[i], (uint32_t)sample->memory, sample->thread,
			                                 sample->at, sample->address};
	}
	if (!r && count)
		qsort(visits, count, sizeof(*visits), by_memory_and_address);
	for (size_t i = 0, next; !r && i < count; i = next) {
		struct walker walker = walker_of(samples, lines, visits[i].walker);

		for (next = i; next < count && visits[next].walker == visits[i].walker; next++)
			;
		r = judge(samples, &walker, &visits[i], next - i);
	}
	free(visits);
	return r;
}

int fm_samples_patterns(struct fm_samples *samples, const struct fm_chosen *chosen)
{
	int r = judge_all(samples, chosen, false);

	return r ? r : judge_all(samples, chosen, true);
}
