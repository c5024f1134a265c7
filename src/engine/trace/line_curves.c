#include "engine/trace/line_curves.h"

#include <stdlib.h>
#include <string.h>

#include "engine/account/objects.h"
#include "engine/account/places.h"
#include "engine/account/room.h"
#include "engine/trace/state.h"
#include "engine/trace/tuning.h"
#include "reuse/lines.h"

enum { LINE_SHIFT = 6 };

struct fm_line_curves {
	struct fm_stack stack;
	double groups[FM_RESULT_GROUPS_MAX][FM_LINES_BINS(FM_RESULT_REUSE_BITS)];
	struct fm_result_reuse_part *parts; /* FM_RESULT_REUSE_PARTS_MAX */
	uint32_t part_count;
	uint64_t lost;
	/* their parts, plus one */
	uint16_t regions[FM_RESULT_REGIONS_MAX], objects[FM_RESULT_OBJECTS_MAX + 1], sites[FM_RESULT_SITES_MAX];
	uint8_t seen[FM_RESULT_SITES_MAX]; /* long distances of a site that has no part yet */
};

struct fm_line_curves *fm_line_curves_create(void)
{
	const struct fm_stack_options options = {.lines_most = FOLLOWED_LINES_MOST};
	struct fm_line_curves *curves = calloc(1, sizeof(*curves));

	if (!curves)
		return NULL;
	curves->parts = calloc(FM_RESULT_REUSE_PARTS_MAX, sizeof(*curves->parts));
	if (!curves->parts || fm_stack_create(&curves->stack, &options)) {
		free(curves->parts);
		free(curves);
		return NULL;
	}
	return curves;
}

void fm_line_curves_destroy(struct fm_line_curves *curves)
{
	if (!curves)
		return;
	fm_stack_free(&curves->stack);
	free(curves->parts);
	free(curves);
}

static struct fm_result_reuse_part *find_part(struct fm_line_curves *curves, uint16_t *place, enum fm_reuse_kind kind,
                                              uint32_t number)
{
	if (!*place) {
		if (curves->part_count == FM_RESULT_REUSE_PARTS_MAX)
			return NULL;
		curves->parts[curves->part_count].kind = kind;
		curves->parts[curves->part_count].number = number;
		*place = (uint16_t)++curves->part_count;
	}
	return &curves->parts[*place - 1];
}

struct touch {
	unsigned group, bin;
	double weight;
};

static void count(struct fm_line_curves *curves, uint16_t *place, enum fm_reuse_kind kind, uint32_t number,
                  const struct touch *touch)
{
	struct fm_result_reuse_part *part = find_part(curves, place, kind, number);

	if (part)
		part->bins[touch->group % FM_RESULT_REUSE_GROUPS][touch->bin] += touch->weight;
	else
		curves->lost++;
}

/* In a region inside itself only once. */
static bool is_outermost(const struct fm_traced_thread *thread, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (thread->open[i].region == thread->open[at].region)
			return false;
	return true;
}

/* The instruction may know: it has its latest two. */
static uint32_t object_at(struct fm_account *account, const struct fm_result_site *site, uint64_t address)
{
	for (unsigned i = 0; site && i < 2; i++)
		if (fm_account_in_slot(&site->slots[i], address))
			return fm_places_of(account, site)->objects[i];
	return fm_objects_at(account, address);
}

static void count_parts(struct fm_line_curves *curves, const struct fm_traced_thread *thread, uint64_t address,
                        const struct fm_result_site *site, struct touch touch)
{
	const struct fm_results *results = thread->side.account->results;
	uint32_t object = object_at(thread->side.account, site, address);
	size_t number = site ? (size_t)(site - results->sites) : FM_RESULT_SITES_MAX;

	for (unsigned i = 0; i < thread->open_count; i++) {
		size_t region = (size_t)(thread->open[i].region - results->regions);

		if (region < FM_RESULT_REGIONS_MAX && is_outermost(thread, i))
			count(curves, &curves->regions[region], FM_REUSE_REGION, (uint32_t)region, &touch);
	}
	if (object <= FM_RESULT_OBJECTS_MAX)
		count(curves, &curves->objects[object], FM_REUSE_OBJECT, object, &touch);
	if (number >= FM_RESULT_SITES_MAX)
		return;
	if (!curves->sites[number]) {
		if (++curves->seen[number] < SITE_DISTANCES_LEAST)
			return;
		touch.weight *= SITE_DISTANCES_LEAST;
	}
	count(curves, &curves->sites[number], FM_REUSE_SITE, (uint32_t)number, &touch);
}

void fm_line_curves_touch(struct fm_line_curves *curves, const struct fm_traced_thread *thread, unsigned group,
                          uint64_t address, const struct fm_result_site *site)
{
	uint64_t distance;
	double weight;

	if (fm_stack_touch(&curves->stack, address >> LINE_SHIFT) || !thread->counts)
		return;
	distance = curves->stack.distance;
	if (distance == FM_DISTANCE_UNKNOWN)
		return;
	weight = 1 / fm_stack_share(&curves->stack);
	curves->groups[group][fm_lines_bin(distance, FM_RESULT_REUSE_BITS)] += weight;
	if (distance >= FM_LINES_LEAST && thread->side.account)
		count_parts(curves, thread, address, site,
		            (struct touch){.group = group,
		                           .bin = fm_lines_bin(distance, FM_RESULT_REUSE_PART_BITS),
		                           .weight = weight});
}

void fm_line_curves_finish(const struct fm_line_curves *curves, unsigned group_count, unsigned share,
                           struct fm_account *account)
{
	struct fm_results *results = account->results;
	struct fm_result_reuse *reuse = &results->reuse;
	size_t parts = curves->part_count * sizeof(reuse->parts[0]);

	if (!fm_room_claim(&account->room, reuse, offsetof(struct fm_result_reuse, parts)))
		return;
	memcpy(reuse->groups, curves->groups, sizeof(reuse->groups));
	reuse->lost_parts = curves->lost;
	if (parts && fm_room_claim(&account->room, reuse->parts, parts)) {
		memcpy(reuse->parts, curves->parts, parts);
		reuse->part_count = curves->part_count;
	}
	reuse->share = share;
	reuse->group_count = group_count;
}
