/* Making and unmaking a hierarchy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exact/array.h"
#include "exact/hierarchy.h"
#include "exact/streams.h"
#include "exact/tables.h"

static unsigned shift_of(uint64_t power)
{
	return (unsigned)__builtin_ctzll(power);
}

static uint64_t never_found;

/* The fast path finds nothing from now on. */
static void look_carefully(struct fm_simulated_core *core)
{
	core->view.page_lines = &never_found;
	core->view.page_mask = 0;
	core->view.page_ways = 0;
}

void fm_hierarchy_share(struct fm_hierarchy *hierarchy)
{
	hierarchy->concurrent = hierarchy->careful = true;
	hierarchy->access_slowly = fm_hierarchy_access_any;
	for (unsigned i = 0; i < hierarchy->core_count; i++)
		look_carefully(&hierarchy->cores[i]);
}

static int create_core(struct fm_hierarchy *hierarchy, unsigned index)
{
	const struct fm_machine_description *description = &hierarchy->description;
	struct fm_simulated_core *core = &hierarchy->cores[index];
	unsigned most_streams = 0;

	for (unsigned level = 0; level < hierarchy->private_caches; level++) {
		const struct fm_cache_description *cache = &description->caches[level];

		core->arrays[level] = fm_array_create(cache->bytes / description->line_bytes / cache->ways, cache->ways,
		                                      cache->replacement);
		if (!core->arrays[level])
			return -ENOMEM;
		hierarchy->memory_bytes += fm_array_bytes(core->arrays[level]);
		if (cache->streams > most_streams)
			most_streams = cache->streams;
	}
	for (unsigned i = 0; i < description->tlb_count; i++) {
		const struct fm_tlb_description *tlb = &description->tlbs[i];

		core->tlbs[i] = fm_array_create(tlb->entries / tlb->ways, tlb->ways, FM_REPLACEMENT_LRU);
		if (!core->tlbs[i])
			return -ENOMEM;
	}
	core->streams = fm_memory_apart(1, sizeof(*core->streams) + (most_streams + 1) * sizeof(struct stream));
	if (!core->streams)
		return -ENOMEM;
	core->streams->count = most_streams;
	core->view.first_lines = core->arrays[0]->entries;
	core->view.first_mask = core->arrays[0]->mask;
	core->view.first_ways = core->arrays[0]->stride;
	if (core->arrays[0]->replacement != FM_REPLACEMENT_LRU || (!core->view.first_mask && core->arrays[0]->sets > 1))
		hierarchy->careful = true;
	core->view.line_shift = hierarchy->line_shift;
	core->view.page_shift = hierarchy->page_shift;
	if (core->tlbs[0] && !core->tlbs[0]->mask && core->tlbs[0]->sets > 1)
		hierarchy->careful = true;
	if (hierarchy->careful || !core->tlbs[0]) {
		look_carefully(core);
	} else {
		core->view.page_lines = core->tlbs[0]->entries;
		core->view.page_mask = core->tlbs[0]->mask;
		core->view.page_ways = core->tlbs[0]->stride;
	}
	return 0;
}

/* Is this a machine for quick.c? Its translation buffers are always LRU. */
static bool is_plain(const struct fm_hierarchy *hierarchy)
{
	const struct fm_machine_description *description = &hierarchy->description;

	for (unsigned i = 0; i < description->cache_count; i++)
		if (description->caches[i].replacement != FM_REPLACEMENT_LRU ||
		    description->caches[i].inclusion == FM_INCLUSION_VICTIM)
			return false;
	return description->cache_count == 3 && hierarchy->private_caches == 2;
}

static void choose_access(struct fm_hierarchy *hierarchy)
{
	hierarchy->access_slowly = fm_hierarchy_access_any;
	if (!is_plain(hierarchy))
		return;
	hierarchy->access_slowly = fm_hierarchy_access_quick;
#if defined(FATHOM_HAS_AVX2_SIMULATOR)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		hierarchy->access_slowly = fm_hierarchy_access_avx2;
#endif
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
	hierarchy->core_count = description->sockets * description->cores;
	hierarchy->prefetch = true;
	hierarchy->private_caches = description->cache_count - (last->shared_by > 1 ? 1 : 0);
	choose_access(hierarchy);
	hierarchy->cores_are_ours = !cores;
	hierarchy->cores = cores ? cores : fm_memory_apart(hierarchy->core_count, sizeof(*hierarchy->cores));
	hierarchy->active = fm_memory_apart(hierarchy->core_count, sizeof(*hierarchy->active));
	hierarchy->shared = fm_memory_apart(hierarchy->core_count, sizeof(*hierarchy->shared));
	hierarchy->pages = fm_pages_create();
	hierarchy->lines = fm_lines_create();
	hierarchy->pairs =
	    fm_memory_apart((size_t)hierarchy->core_count * hierarchy->core_count, sizeof(*hierarchy->pairs));
	if (!hierarchy->cores || !hierarchy->active || !hierarchy->shared || !hierarchy->pages || !hierarchy->lines ||
	    !hierarchy->pairs || !hierarchy->private_caches) {
		fm_hierarchy_destroy(hierarchy);
		return fm_error_set(error, ENOMEM, "not enough memory to simulate %s", description->name);
	}
	for (unsigned i = 0; i < hierarchy->core_count; i++) {
		hierarchy->cores[i].index = i;
		hierarchy->cores[i].socket = i / description->cores;
		hierarchy->cores[i].last_nontemporal_line = UINT64_MAX;
	}
	*ret_hierarchy = hierarchy;
	return 0;
}

struct fm_simulated_core *fm_hierarchy_core(struct fm_hierarchy *hierarchy, unsigned index)
{
	const struct fm_machine_description *description = &hierarchy->description;
	const struct fm_cache_description *last = &description->caches[description->cache_count - 1];
	struct fm_simulated_core *core;

	if (index >= hierarchy->core_count)
		return NULL;
	core = &hierarchy->cores[index];
	if (core->active)
		return core;
	if (!core->view.first_lines && create_core(hierarchy, index))
		return NULL;
	if (hierarchy->private_caches < description->cache_count) {
		unsigned group = index / last->shared_by;

		if (!hierarchy->shared[group]) {
			hierarchy->shared[group] = fm_array_create(last->bytes / description->line_bytes / last->ways,
			                                           last->ways, last->replacement);
			if (!hierarchy->shared[group])
				return NULL;
			hierarchy->memory_bytes += fm_array_bytes(hierarchy->shared[group]);
		}
		core->arrays[description->cache_count - 1] = hierarchy->shared[group];
	}
	core->active = true;
	hierarchy->active[hierarchy->active_cores++] = core;
	return core;
}

void fm_hierarchy_destroy(struct fm_hierarchy *hierarchy)
{
	if (!hierarchy)
		return;
	for (unsigned i = 0; hierarchy->cores && i < hierarchy->core_count; i++) {
		struct fm_simulated_core *core = &hierarchy->cores[i];

		for (unsigned level = 0; level < hierarchy->private_caches; level++)
			fm_array_destroy(core->arrays[level]);
		for (unsigned k = 0; k < FM_SIMULATED_TLBS_MAX; k++)
			fm_array_destroy(core->tlbs[k]);
		free(core->streams);
	}
	for (unsigned i = 0; hierarchy->shared && i < hierarchy->core_count; i++)
		fm_array_destroy(hierarchy->shared[i]);
	if (hierarchy->cores_are_ours)
		free(hierarchy->cores);
	free(hierarchy->active);
	free(hierarchy->shared);
	fm_pages_destroy(hierarchy->pages);
	fm_lines_destroy(hierarchy->lines);
	free(hierarchy->pairs);
	free(hierarchy);
}

static void empty(struct fm_array *array)
{
	if (array)
		memset(array->entries, 0, fm_array_bytes(array));
}

void fm_hierarchy_flush(struct fm_hierarchy *hierarchy)
{
	for (unsigned i = 0; i < hierarchy->core_count; i++) {
		struct fm_simulated_core *core = &hierarchy->cores[i];

		for (unsigned level = 0; level < hierarchy->private_caches; level++)
			empty(core->arrays[level]);
		for (unsigned k = 0; k < hierarchy->description.tlb_count; k++)
			empty(core->tlbs[k]);
		empty(hierarchy->shared[i]);
	}
}

size_t fm_hierarchy_shared_lines(struct fm_hierarchy *hierarchy, struct fm_shared_line *ret_lines,
                                 struct fm_line_users *ret_users, size_t room)
{
	size_t count;

	while (hierarchy->concurrent && atomic_flag_test_and_set_explicit(&hierarchy->lock, memory_order_acquire))
		;
	count = fm_lines_list(hierarchy->lines, ret_lines, ret_users, room);
	if (hierarchy->concurrent)
		atomic_flag_clear_explicit(&hierarchy->lock, memory_order_release);

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
