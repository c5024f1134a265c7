/* Objects: memories of a recording joined, their shares, and the untracked memory of pools. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/parts.h"
#include "samples/unmixing.h"

enum { APART_MAX = 4 }; /* most allocations of one call site with rows of their own */

const char *fm_memory_kind_name(uint32_t kind)
{
	static const char *const names[FM_MEMORY_KINDS] = {
	    [FM_MEMORY_UNKNOWN] = "unknown", [FM_MEMORY_STATIC] = "static", [FM_MEMORY_THREAD_LOCAL] = "thread-local",
	    [FM_MEMORY_HEAP] = "heap",       [FM_MEMORY_POOL] = "pool",     [FM_MEMORY_UNTRACKED] = "untracked",
	    [FM_MEMORY_STACK] = "stack",     [FM_MEMORY_MAPPED] = "mapped", [FM_MEMORY_FILE] = "file",
	    [FM_MEMORY_CODE] = "code",       [FM_MEMORY_NAMED] = "named",
	};

	return names[kind < FM_MEMORY_KINDS ? kind : FM_MEMORY_UNKNOWN];
}

void fm_samples_object_name(const struct fm_recorded_memory *memory, char *name, size_t size)
{
	if (*memory->group_name)
		snprintf(name, size, "%s", memory->group_name);
	else if (*memory->name)
		snprintf(name, size, "%s", memory->name);
	else
		snprintf(name, size, "%s memory", fm_memory_kind_name(memory->kind));
}

/* Grouping */

static void make_key(const struct fm_recorded_memory *memory, bool apart, char *key, size_t size)
{
	if (*memory->group_name)
		snprintf(key, size, "group\1%s", memory->group_name);
	else
		snprintf(key, size, "%u\1%s\1%s\1%s", memory->kind, memory->name, memory->module, memory->site);
	if (apart) {
		size_t length = strlen(key);

		snprintf(key + length, size - length, "\1%llx", (unsigned long long)memory->address);
	}
}

/* Only whole allocations have a place of their own. */
static bool can_be_apart(const struct fm_recorded_memory *memory)
{
	return (memory->kind == FM_MEMORY_HEAP || memory->kind == FM_MEMORY_MAPPED) && !*memory->group_name;
}

int fm_grouping_make(const struct fm_recording *recording, struct fm_grouping *ret_grouping)
{
	size_t count = recording->memories_count;
	uint32_t *object = malloc((count + 1) * sizeof(*object)), *place = malloc((count + 1) * sizeof(*place)),
	         *places = NULL;
	bool *first = NULL;
	struct fm_names sites = {0}, apart = {0}, objects = {0};
	char key[1024];
	int r = object && place ? 0 : -ENOMEM;

	/* the number of places of each site */
	for (size_t i = 0; !r && i < count; i++) {
		make_key(&recording->memories[i], false, key, sizeof(key));
		r = fm_names_find(&sites, key, &object[i]);
		if (!r)
			make_key(&recording->memories[i], true, key, sizeof(key));
		if (!r)
			r = fm_names_find(&apart, key, &place[i]);
	}
	places = calloc(sites.count + 1, sizeof(*places));
	first = calloc(apart.count + 1, sizeof(*first));
	if (!places || !first)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < count; i++) {
		places[object[i]] += !first[place[i]];
		first[place[i]] = true;
	}
	for (size_t i = 0; !r && i < count; i++) {
		bool separate = can_be_apart(&recording->memories[i]) && places[object[i]] <= APART_MAX;

		make_key(&recording->memories[i], separate, key, sizeof(key));
		r = fm_names_find(&objects, key, &object[i]);
	}
	if (!r) {
		object[count] = (uint32_t)objects.count;
		*ret_grouping = (struct fm_grouping){object, objects.count + 1};
		object = NULL;
	}
	fm_names_free(&sites);
	fm_names_free(&apart);
	fm_names_free(&objects);
	free(object);
	free(place);
	free(places);
	free(first);
	return r;
}

void fm_grouping_free(struct fm_grouping *grouping)
{
	free(grouping->object);
}

/* Properties of an object without its samples. */

static void describe(struct fm_sampled_object *object, const struct fm_recorded_memory *memory)
{
	double lifetime = fmax(memory->ended - memory->began, 0);
	double allocations = memory->allocations > 0 ? memory->allocations : 1;

	if (object->count == 0) {
		object->kind = memory->kind < FM_MEMORY_KINDS ? memory->kind : FM_MEMORY_UNKNOWN;
		fm_samples_object_name(memory, object->name, sizeof(object->name));
		snprintf(object->group_name, sizeof(object->group_name), "%s", memory->group_name);
		snprintf(object->type, sizeof(object->type), "%s", memory->type);
		snprintf(object->module, sizeof(object->module), "%s", memory->module);
		snprintf(object->site, sizeof(object->site), "%s", memory->site);
		object->began = memory->began;
		object->ended = memory->ended;
	}
	object->bytes = memory->bytes > object->bytes ? memory->bytes : object->bytes;
	object->began = fmin(object->began, memory->began);
	object->ended = fmax(object->ended, memory->ended);
	object->mean_lifetime =
	    (object->mean_lifetime * object->count + lifetime * allocations) / (object->count + allocations);
	object->count += allocations;
}

/* Untracked memory */

/* If small allocations were sampled, a tracked block represents others, whose references were seen in untracked memory.
   Those of an instruction with one pool are that pool's (pools.c). Of the rest, each pool gets the number that its
   blocks represent, or less if all pools together claim more than there is. The remainder stays. */
struct claims {
	double *claim;     /* of each object: weight */
	double *counted;   /* of each object: weight of untracked references that were counted as its own, … */
	double *doubt;     /* … and how much of that may be something else's */
	double *untracked; /* of each object: weight of its own samples in untracked memory */
	double all, there;
};

static void claim(const struct fm_samples *samples, const struct fm_chosen *chosen, const uint32_t *of_object,
                  struct claims *claims)
{
	for (size_t i = 0; i < chosen->count; i++) {
		const struct fm_recorded_sample *sample = fm_chosen_sample(chosen, i);
		const struct fm_recorded_memory *memory =
		    sample->memory < 0 ? NULL : &samples->recording->memories[sample->memory];
		uint32_t object = of_object[chosen->object[i]];
		bool known = samples->pool_of && samples->pool_of[sample->code] != UINT32_MAX;

		if (!memory || (sample->flags & FM_SAMPLE_LEVEL_ONLY))
			continue;
		if (memory->kind == FM_MEMORY_UNTRACKED && known) {
			claims->counted[object] += fm_chosen_weight(chosen, i);
			claims->doubt[object] += fm_chosen_weight(chosen, i) * fm_samples_pool_doubt(samples, sample);
		} else if (memory->kind == FM_MEMORY_UNTRACKED) {
			claims->untracked[object] += fm_chosen_weight(chosen, i);
			claims->there += fm_chosen_weight(chosen, i);
		} else if (memory->kind == FM_MEMORY_POOL && memory->weight > 1 && !known) {
			double more = (memory->weight - 1) * fm_chosen_weight(chosen, i);

			claims->claim[object] += more;
			claims->all += more;
		}
	}
}

static void widen(struct fm_figure *share, double moved, double error)
{
	share->value += moved;
	share->low = fmax(0, fmin(share->low + moved - error, share->value));
	share->high = fmin(1, fmax(share->high + moved + error, share->value));
}

/* The error of a claim: blocks were chosen by chance, and then samples were. */
static void assign_untracked(struct fm_samples *samples, const struct fm_chosen *chosen, struct claims *claims)
{
	double taken = fmin(claims->all, claims->there), scale = claims->all > 0 ? taken / claims->all : 0;
	double whole = chosen->whole.weight, error_all = 0;

	for (size_t i = 0; whole > 0 && i < samples->object_count; i++) {
		struct fm_sampled_object *object = &samples->objects[i];
		double moved = scale * claims->claim[i] / whole, error, counted = claims->counted[i] / whole,
		       doubt = claims->doubt[i] / whole;

		if (!(moved + counted > 0))
			continue;
		error = fmin(1, 1.96 * sqrt(2.0 / (double)object->served.samples)) * moved;
		error_all = hypot(error_all, error);
		object->assigned = fm_figure_make(moved + counted, fmax(0, moved + counted - error - doubt),
		                                  fmin(moved + counted + error, 1), "", FM_ORIGIN_sampled,
		                                  samples->model->backend, (unsigned)object->served.samples);
		widen(&object->served.share, moved, error);
		object->served.share.low = fmax(0, object->served.share.low - doubt);
	}
	for (size_t i = 0; taken > 0 && i < samples->object_count; i++) {
		struct fm_sampled_object *object = &samples->objects[i];
		double part = claims->untracked[i] / claims->there;

		if (part > 0)
			widen(&object->served.share, -part * taken / whole, part * error_all);
	}
}

static int compare_shares(const void *first, const void *second)
{
	const struct fm_sampled_object *a = first, *b = second;
	double x = a->served.share.value, y = b->served.share.value;

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* "#1", "#2" where several objects have one name and site. */
static int number_namesakes(struct fm_samples *samples)
{
	struct fm_names names = {0};
	uint32_t *number = calloc(samples->object_count + 1, sizeof(*number)),
	         *count = calloc(samples->object_count + 1, sizeof(*count)),
	         *seen = calloc(samples->object_count + 1, sizeof(*seen));
	int r = number && count && seen ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < samples->object_count; i++) {
		char key[1024];

		snprintf(key, sizeof(key), "%u\1%s\1%s\1%s", samples->objects[i].kind, samples->objects[i].name,
		         samples->objects[i].module, samples->objects[i].site);
		r = fm_names_find(&names, key, &number[i]);
		if (!r)
			count[number[i]]++;
	}
	for (size_t i = 0; !r && i < samples->object_count; i++) {
		char *name = samples->objects[i].name;
		size_t length = strlen(name);

		if (count[number[i]] > 1)
			snprintf(name + length, sizeof(samples->objects[i].name) - length, " #%u", ++seen[number[i]]);
	}
	fm_names_free(&names);
	free(number);
	free(count);
	free(seen);
	return r;
}

static enum fm_samples_answer is_read_only(const struct fm_served *served)
{
	if (served->stores.value > 0)
		return FM_ANSWER_NO;
	return served->stores.high < FM_STORES_NONE ? FM_ANSWER_YES : FM_ANSWER_INCONCLUSIVE;
}

/* Objects of the grouping that have samples, in its order: where each one ended up. */
static int make_objects(struct fm_samples *samples, const struct fm_grouping *grouping,
                        const struct fm_served_sum *sums, uint32_t *of_object)
{
	const struct fm_recording *recording = samples->recording;
	uint32_t *order = fm_samples_order(sums, grouping->count);

	samples->objects = calloc(grouping->count, sizeof(*samples->objects));
	if (!order || !samples->objects) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < grouping->count && sums[order[i]].count; i++)
		of_object[order[i]] = (uint32_t)samples->object_count++;
	for (size_t i = 0; i < recording->memories_count; i++)
		if (sums[grouping->object[i]].count)
			describe(&samples->objects[of_object[grouping->object[i]]], &recording->memories[i]);
	for (size_t i = 0; i < samples->object_count; i++) {
		struct fm_sampled_object *object = &samples->objects[i];

		if (order[i] == grouping->count - 1)
			snprintf(object->name, sizeof(object->name), "unknown memory");
		object->assigned = fm_figure_unavailable("nothing was assigned");
	}
	free(order);
	return 0;
}

static void compute_objects(struct fm_samples *samples, const struct fm_chosen *chosen,
                            const struct fm_served_sum *sums, const uint32_t *of_object, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct fm_sampled_object *object;

		if (!sums[i].count)
			continue;
		object = &samples->objects[of_object[i]];
		fm_served_compute(samples->model, &sums[i], &chosen->whole, of_object[i] < FM_DETAILED_MAX,
		                  &object->served);
		object->read_only = is_read_only(&object->served);
	}
}

static void compute_levels(struct fm_samples *samples, const struct fm_chosen *chosen)
{
	for (size_t i = 0; i < chosen->count; i++) {
		const struct fm_served *prior = &samples->objects[chosen->object[i]].served;

		if (prior->mixture[0] < 0)
			prior = &samples->whole;
		samples->levels[chosen->index[i]] =
		    (uint8_t)fm_served_level(samples->model, prior, fm_chosen_sample(chosen, i), chosen->bins[i]);
	}
}

/* Untracked memory changes shares: sort again. */
static int sort_objects(struct fm_samples *samples, struct fm_chosen *chosen)
{
	uint32_t *where = malloc((samples->object_count + 1) * sizeof(*where));

	if (!where)
		return -ENOMEM;
	for (size_t i = 0; i < samples->object_count; i++)
		samples->objects[i].threads = (unsigned)i; /* its old place */
	qsort(samples->objects, samples->object_count, sizeof(*samples->objects), compare_shares);
	for (size_t i = 0; i < samples->object_count; i++) {
		where[samples->objects[i].threads] = (uint32_t)i;
		samples->objects[i].threads = 0;
	}
	for (size_t i = 0; i < chosen->count; i++)
		chosen->object[i] = where[chosen->object[i]];
	free(where);
	return 0;
}

int fm_samples_objects(struct fm_samples *samples, struct fm_chosen *chosen)
{
	struct fm_grouping grouping = {0};
	struct fm_served_sum *sums = NULL;
	uint32_t *of_object = NULL;
	struct claims claims = {0};
	int r = fm_grouping_make(samples->recording, &grouping);

	if (r)
		return r;
	sums = calloc(grouping.count, sizeof(*sums));
	of_object = calloc(grouping.count, sizeof(*of_object));
	claims.claim = calloc(grouping.count, sizeof(double));
	claims.untracked = calloc(grouping.count, sizeof(double));
	claims.counted = calloc(grouping.count, sizeof(double));
	claims.doubt = calloc(grouping.count, sizeof(double));
	r = sums && of_object && claims.claim && claims.untracked && claims.counted && claims.doubt
	        ? fm_samples_pools(samples, chosen, &grouping)
	        : -ENOMEM;
	for (size_t i = 0; !r && i < chosen->count; i++) {
		const struct fm_recorded_sample *sample = fm_chosen_sample(chosen, i);
		uint32_t object = grouping.object[fm_samples_memory(samples, sample)];

		chosen->object[i] = object;
		fm_served_add(samples->model, &sums[object], sample, chosen->bins[i], fm_chosen_weight(chosen, i));
	}
	if (!r)
		r = make_objects(samples, &grouping, sums, of_object);
	if (!r) {
		compute_objects(samples, chosen, sums, of_object, grouping.count);
		claim(samples, chosen, of_object, &claims);
		assign_untracked(samples, chosen, &claims);
		for (size_t i = 0; i < chosen->count; i++)
			chosen->object[i] = of_object[chosen->object[i]];
		r = sort_objects(samples, chosen);
	}
	if (!r)
		r = number_namesakes(samples);
	if (!r)
		compute_levels(samples, chosen);
	free(sums);
	free(of_object);
	free(claims.claim);
	free(claims.untracked);
	free(claims.counted);
	free(claims.doubt);
	fm_grouping_free(&grouping);
	return r;
}
