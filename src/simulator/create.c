/* Making and unmaking a hierarchy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/array.h"
#include "simulator/parts.h"
#include "simulator/streams.h"
#include "simulator/tables.h"
#include "simulator/wide.h"

/* The hash of the last cache keeps together what the smallest page does. */
enum { GRANULE_SHIFT = 12, LEAST_WAYS = 8 };

static unsigned shift_of(uint64_t power)
{
	return (unsigned)__builtin_ctzll(power);
}

static uint64_t never_found;

/* The fast path finds nothing from now on. */
static void look_carefully(struct fm_simulated_core *core)
{
	/* not at the first cache either: other cores change it, under a lock that the fast path does not take */
	core->view.first_lines = &never_found;
	core->view.first_mask = 0;
	core->view.first_ways = 0;
	core->view.page_lines = &never_found;
	core->view.page_mask = 0;
	core->view.page_ways = 0;
	core->view.wide = NULL;
}

void fm_hierarchy_share(struct fm_hierarchy *hierarchy)
{
	hierarchy->concurrent = hierarchy->careful = true;
	hierarchy->access_slowly = fm_hierarchy_access_any;
	hierarchy->miss_quickly = NULL;
	for (unsigned i = 0; i < hierarchy->core_count; i++)
		if (hierarchy->cores[i].view.first_lines)
			look_carefully(&hierarchy->cores[i]);
}

/* The array of a cache: as many ways as neighbours leave, at its place in physical memory. */
static struct fm_array *create_cache(struct fm_hierarchy *hierarchy, unsigned level)
{
	const struct fm_machine_description *description = &hierarchy->description;
	const struct fm_cache_description *cache = &description->caches[level];
	uint64_t sets = cache->bytes / description->line_bytes / cache->ways;
	uint64_t lines = (cache->available ? cache->available : cache->bytes) / description->line_bytes;
	bool hashed = description->physical && level >= 2 && level == description->cache_count - 1;
	/* Data that shares a hashed cache with others is not bound to a way or two of each set. */
	uint64_t least = !hashed ? 1 : cache->ways < LEAST_WAYS ? cache->ways : LEAST_WAYS, ways;
	struct fm_array *array;

	if (lines < sets * least)
		sets = lines > least ? lines / least : 1;
	ways = (lines + sets - 1) / sets;
	if (ways > cache->ways)
		ways = cache->ways;
	array = fm_array_create(sets, (unsigned)(ways ? ways : 1), cache->replacement);
	if (!array)
		return NULL;
	hierarchy->memory_bytes += fm_array_bytes(array);
	if (ways * sets > lines)
		array->fewer = (uint32_t)(0x1p32 * (double)(ways * sets - lines) / (double)sets);
	/* the first cache is indexed by the part of the address that all pages have in common, or nearly */
	if (description->physical && level)
		fm_array_scatter(array, description->physical,
		                 (hashed ? GRANULE_SHIFT : hierarchy->page_shift) - hierarchy->line_shift, hashed);
	return array;
}

/* The arrays of a core, which all its hardware threads use. */
static int create_physical(struct fm_hierarchy *hierarchy, struct fm_physical_core *physical)
{
	const struct fm_machine_description *description = &hierarchy->description;
	unsigned most_streams = 0, most_stride = 0, most_gap = 0, most_jumps = 0, groups;
	bool back = false;

	for (unsigned level = 0; level < hierarchy->private_caches; level++) {
		const struct fm_cache_description *cache = &description->caches[level];

		physical->arrays[level] = create_cache(hierarchy, level);
		if (!physical->arrays[level])
			return -ENOMEM;
		if (cache->streams > most_streams)
			most_streams = cache->streams;
		if (cache->streams && cache->strides > most_stride)
			most_stride = cache->strides;
		if (cache->streams && cache->gaps > most_gap)
			most_gap = cache->gaps;
		back |= cache->streams && cache->back;
		if (cache->streams && cache->jumps > most_jumps)
			most_jumps = cache->jumps;
	}
	for (unsigned i = 0; i < description->tlb_count; i++) {
		const struct fm_tlb_description *tlb = &description->tlbs[i];

		physical->tlbs[i] = fm_array_create(tlb->entries / tlb->ways, tlb->ways, FM_REPLACEMENT_LRU);
		if (!physical->tlbs[i] || (!i && tlb->ways >= FM_WIDE_WAYS && !fm_wide_create(physical->tlbs[i])))
			return -ENOMEM;
	}
	physical->streams = fm_memory_apart(1, sizeof(*physical->streams) + (most_streams + 1) * sizeof(struct stream));
	if (!physical->streams)
		return -ENOMEM;
	physical->streams->count = most_streams;
	physical->streams->strides = most_stride;
	physical->streams->gaps = most_gap;
	physical->streams->back = back;
	physical->streams->steps = most_gap ? most_gap : 2;
	if (most_stride > physical->streams->steps)
		physical->streams->steps = most_stride;
	physical->streams->jumps = most_jumps;
	/* they are tried before they are judged */
	physical->streams->worth = FM_STREAM_JUMP_WORTH;
	physical->streams->places = most_streams < FM_STREAM_PLACES ? most_streams : FM_STREAM_PLACES;
	groups = most_streams ? most_streams / physical->streams->places : 0;
	physical->streams->groups = groups;
	physical->streams->mask = groups && !(groups & (groups - 1)) ? groups - 1 : 0;
	return 0;
}

#if defined(FATHOM_HAS_AVX2_SIMULATOR)
static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}
#endif

/* Is this a machine for quick.c? Its translation buffers are always LRU. */
static bool is_plain(const struct fm_hierarchy *hierarchy)
{
	const struct fm_machine_description *description = &hierarchy->description;

	for (unsigned i = 0; i < description->cache_count; i++)
		if (description->caches[i].replacement != FM_REPLACEMENT_LRU)
			return false;
	return description->cache_count == 3 && hierarchy->private_caches == 2;
}

static void choose_access(struct fm_hierarchy *hierarchy)
{
	bool plain = is_plain(hierarchy);

	hierarchy->access_slowly = plain ? fm_hierarchy_access_quick : fm_hierarchy_access_any;
	hierarchy->miss_quickly = plain ? fm_hierarchy_miss_quick : NULL;
#if defined(FATHOM_HAS_AVX2_SIMULATOR)
	if (plain && has_avx2()) {
		hierarchy->access_slowly = fm_hierarchy_access_avx2;
		hierarchy->miss_quickly = fm_hierarchy_miss_avx2;
	}
#endif
}

/* The other caches do not matter for a hit of the first. All cores have the same. */
static void choose_hit(struct fm_hierarchy *hierarchy, const struct fm_fast_view *view)
{
	hierarchy->hit_quickly = fm_hierarchy_choose_hit_quick(view);
	hierarchy->page_quickly = fm_hierarchy_page_quick;
#if defined(FATHOM_HAS_AVX2_SIMULATOR)
	if (has_avx2()) {
		hierarchy->hit_quickly = fm_hierarchy_choose_hit_avx2(view);
		hierarchy->page_quickly = fm_hierarchy_page_avx2;
	}
#endif
}

static bool has_ways(const struct fm_array *array, unsigned ways)
{
	return array->ways == ways && !array->fewer;
}

static bool is_by_address(const struct fm_array *array)
{
	return !array->inverse && !array->seed;
}

static enum fm_shape shape_of(const struct fm_hierarchy *hierarchy, struct fm_array *const *arrays)
{
	if (!is_plain(hierarchy) || hierarchy->line_shift != 6 || hierarchy->page_shift != 12 ||
	    !is_by_address(arrays[0]) || !is_by_address(arrays[1]))
		return FM_SHAPE_ANY;
	if (has_ways(arrays[0], 8) && has_ways(arrays[1], 8))
		return has_ways(arrays[2], 20)   ? FM_SHAPE_8_8_20
		       : has_ways(arrays[2], 16) ? FM_SHAPE_8_8_16
		                                 : FM_SHAPE_ANY;
	if (has_ways(arrays[0], 12) && has_ways(arrays[1], 20) && has_ways(arrays[2], 12))
		return FM_SHAPE_12_20_12;
	return FM_SHAPE_ANY;
}

static int create_core(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core)
{
	struct fm_physical_core *physical = core->physical;

	if (!physical->streams && create_physical(hierarchy, physical))
		return -ENOMEM;
	memcpy(core->arrays, physical->arrays, sizeof(core->arrays));
	memcpy(core->tlbs, physical->tlbs, sizeof(core->tlbs));
	core->streams = physical->streams;
	core->view.first_lines = core->arrays[0]->entries;
	core->view.first_mask = core->arrays[0]->mask;
	core->view.first_ways = core->arrays[0]->stride;
	if (core->arrays[0]->replacement != FM_REPLACEMENT_LRU || (!core->view.first_mask && core->arrays[0]->sets > 1))
		hierarchy->careful = true;
	core->view.line_shift = hierarchy->line_shift;
	core->view.page_shift = hierarchy->page_shift;
	if (core->tlbs[0] && !core->tlbs[0]->wide && !core->tlbs[0]->mask && core->tlbs[0]->sets > 1)
		hierarchy->careful = true;
	if (hierarchy->careful || !core->tlbs[0]) {
		hierarchy->hit_quickly = NULL;
		look_carefully(core);
	} else if (core->tlbs[0]->wide) {
		core->view.page_lines = &core->tlbs[0]->wide->latest;
		core->view.page_mask = 0;
		core->view.page_ways = 0;
		core->view.wide = core->tlbs[0];
	} else {
		core->view.page_lines = core->tlbs[0]->entries;
		core->view.page_mask = core->tlbs[0]->mask;
		core->view.page_ways = core->tlbs[0]->stride;
	}
	if (!hierarchy->careful && core->tlbs[0])
		choose_hit(hierarchy, &core->view);
	return 0;
}

int fm_hierarchy_create(const struct fm_machine_description *description, struct fm_hierarchy **ret_hierarchy,
                        struct fm_error *error)
{
	return fm_hierarchy_create_in(description, NULL, ret_hierarchy, error);
}

int fm_hierarchy_create_in(const struct fm_machine_description *description, struct fm_simulated_core *cores,
                           struct fm_hierarchy **ret_hierarchy, struct fm_error *error)
{
	struct fm_hierarchy *hierarchy = fm_memory_apart(1, sizeof(*hierarchy));
	const struct fm_cache_description *last = &description->caches[description->cache_count - 1];

	if (!hierarchy)
		return fm_error_set(error, ENOMEM, "out of memory");
	hierarchy->description = *description;
	hierarchy->line_shift = shift_of(description->line_bytes);
	hierarchy->page_shift = shift_of(description->page_bytes);
	hierarchy->core_count = fm_description_cpus(description);
	hierarchy->physical_count = description->sockets * description->cores;
	hierarchy->prefetch = true;
	/* a core's first cache is its own */
	hierarchy->private_caches =
	    description->cache_count - (last->shared_by > 1 && description->cache_count > 1 ? 1 : 0);
	choose_access(hierarchy);
	hierarchy->cores_are_ours = !cores;
	hierarchy->cores = cores ? cores : fm_memory_apart(hierarchy->core_count, sizeof(*hierarchy->cores));
	hierarchy->physical = fm_memory_apart(hierarchy->physical_count, sizeof(*hierarchy->physical));
	hierarchy->active = fm_memory_apart(hierarchy->physical_count, sizeof(*hierarchy->active));
	hierarchy->shared = fm_memory_apart(hierarchy->physical_count, sizeof(*hierarchy->shared));
	if (last->shared_interval)
		hierarchy->shared_buses = calloc(hierarchy->physical_count, sizeof(*hierarchy->shared_buses));
	hierarchy->pages = fm_pages_create();
	hierarchy->lines = fm_lines_create();
	hierarchy->pairs =
	    fm_memory_apart((size_t)hierarchy->core_count * hierarchy->core_count, sizeof(*hierarchy->pairs));
	if (!hierarchy->cores || !hierarchy->physical || !hierarchy->active || !hierarchy->shared ||
	    !hierarchy->pages || !hierarchy->lines || !hierarchy->pairs ||
	    (last->shared_interval && !hierarchy->shared_buses)) {
		fm_hierarchy_destroy(hierarchy);
		return fm_error_set(error, ENOMEM, "not enough memory to simulate %s", description->name);
	}
	for (unsigned i = 0; i < hierarchy->core_count; i++) {
		hierarchy->cores[i].index = i;
		hierarchy->cores[i].core = i % hierarchy->physical_count;
		hierarchy->cores[i].physical = &hierarchy->physical[hierarchy->cores[i].core];
		hierarchy->cores[i].socket = hierarchy->cores[i].core / description->cores;
		hierarchy->cores[i].last_nontemporal_line = UINT64_MAX;
	}
	*ret_hierarchy = hierarchy;
	return 0;
}

static struct fm_simulated_core *activate(struct fm_hierarchy *hierarchy, unsigned index)
{
	const struct fm_machine_description *description = &hierarchy->description;
	struct fm_simulated_core *core;

	if (index >= hierarchy->core_count)
		return NULL;
	core = &hierarchy->cores[index];
	if (core->active)
		return core;
	if (!core->view.first_lines && create_core(hierarchy, core))
		return NULL;
	if (hierarchy->private_caches < description->cache_count) {
		unsigned group = fm_hierarchy_group(hierarchy, core);

		if (!hierarchy->shared[group]) {
			hierarchy->shared[group] = create_cache(hierarchy, description->cache_count - 1);
			if (!hierarchy->shared[group])
				return NULL;
		}
		core->arrays[description->cache_count - 1] = hierarchy->shared[group];
	}
	core->shape = shape_of(hierarchy, core->arrays);
	core->active = true;
	if (!core->physical->first) {
		core->physical->first = core;
		hierarchy->active[hierarchy->active_cores++] = core;
	}
	return core;
}

struct fm_simulated_core *fm_hierarchy_core(struct fm_hierarchy *hierarchy, unsigned index)
{
	struct fm_simulated_core *core;

	/* others may be searching the active cores for a line */
	fm_hierarchy_lock(hierarchy, &hierarchy->lock);
	core = activate(hierarchy, index);
	fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
	return core;
}

void fm_hierarchy_destroy(struct fm_hierarchy *hierarchy)
{
	if (!hierarchy)
		return;
	for (unsigned i = 0; hierarchy->physical && i < hierarchy->physical_count; i++) {
		struct fm_physical_core *physical = &hierarchy->physical[i];

		for (unsigned level = 0; level < hierarchy->private_caches; level++)
			fm_array_destroy(physical->arrays[level]);
		for (unsigned k = 0; k < FM_SIMULATED_TLBS_MAX; k++) {
			fm_wide_destroy(physical->tlbs[k]);
			fm_array_destroy(physical->tlbs[k]);
		}
		free(physical->streams);
		fm_shared_timing_destroy(physical->timing);
	}
	for (unsigned i = 0; hierarchy->shared && i < hierarchy->physical_count; i++)
		fm_array_destroy(hierarchy->shared[i]);
	free(hierarchy->physical);
	if (hierarchy->cores_are_ours)
		free(hierarchy->cores);
	free(hierarchy->active);
	free(hierarchy->shared);
	free(hierarchy->shared_buses);
	fm_pages_destroy(hierarchy->pages);
	fm_lines_destroy(hierarchy->lines);
	free(hierarchy->pairs);
	free(hierarchy);
}

static void empty(struct fm_array *array)
{
	if (array)
		memset(array->entries, 0, fm_array_bytes(array));
	if (array && array->wide)
		fm_wide_empty(array);
}

void fm_hierarchy_flush(struct fm_hierarchy *hierarchy)
{
	for (unsigned i = 0; i < hierarchy->physical_count; i++) {
		struct fm_physical_core *physical = &hierarchy->physical[i];

		for (unsigned level = 0; level < hierarchy->private_caches; level++)
			empty(physical->arrays[level]);
		for (unsigned k = 0; k < hierarchy->description.tlb_count; k++)
			empty(physical->tlbs[k]);
		empty(hierarchy->shared[i]);
	}
}

size_t fm_hierarchy_shared_lines(struct fm_hierarchy *hierarchy, struct fm_shared_line *ret_lines,
                                 struct fm_line_users *ret_users, size_t room)
{
	size_t count;

	fm_hierarchy_lock(hierarchy, &hierarchy->lock);
	count = fm_lines_list(hierarchy->lines, ret_lines, ret_users, room);
	fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
	for (size_t i = 0; i < count; i++)
		ret_lines[i].line <<= hierarchy->line_shift;
	return count;
}

void fm_core_counts_add(struct fm_core_counts *a, const struct fm_core_counts *b)
{
	/* nothing but uint64_t inside */
	uint64_t *target = (uint64_t *)a;
	const uint64_t *source = (const uint64_t *)b;

	_Static_assert(sizeof(*a) % sizeof(uint64_t) == 0, "fm_core_counts holds numbers only");
	for (size_t i = 0; i < sizeof(*a) / sizeof(uint64_t); i++)
		target[i] += source[i];
}
