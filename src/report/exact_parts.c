#include "report/picture_text.h"

static bool thread_part(void *context, unsigned index, struct fm_picture *ret_picture)
{
	const struct fm_exact_parts *parts = context;

	if (index >= parts->source->run->results->thread_count)
		return false;
	fm_picture_build(parts->source, &(struct fm_part){.region = parts->region, .thread = (int)index}, ret_picture);
	return true;
}

static bool region_part(void *context, unsigned index, struct fm_picture *ret_picture)
{
	struct fm_exact_parts *parts = context;

	if (parts->region ? index > 0 : !fm_part_region_name(parts->source->run, index, parts->name))
		return false;
	fm_picture_build(parts->source,
	                 &(struct fm_part){.region = parts->region ? parts->region : parts->name, .thread = -1},
	                 ret_picture);
	return true;
}

struct fm_picture_parts fm_picture_exact_parts(struct fm_exact_parts *parts)
{
	return (struct fm_picture_parts){.context = parts, .thread = thread_part, .region = region_part};
}
