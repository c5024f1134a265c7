/* Regions of a marked program. */
#include <string.h>

#include "trace/numbers.h"
#include "trace/ring.h"
#include "trace/threads.h"
#include "trace/opening.h"
#include "preload/hooks.h"

static bool is_chosen(const char *name)
{
	return fm_session->region[0] && !strncmp(name, fm_session->region, FM_TRACE_NAME - 1);
}

static void mark(struct fm_place *place, bool begins, const char *name)
{
	uint32_t number = fm_number_name(name);
	bool chosen = is_chosen(name);

	if (begins && chosen)
		place->region_depth++;
	if (!begins && chosen && place->region_depth && !--place->region_depth)
		fm_window_end(place);
	if (number != FM_NO_NUMBER)
		fm_ring_control(place, begins ? FM_TRACE_REGION_BEGIN : FM_TRACE_REGION_END, number);
	if (!place->epoch && !place->pace.step)
		place->current = fm_place_usual(place);
}

void fm_hook_region(bool begins, const char *name)
{
	uint64_t mask;
	struct fm_place *place = fm_thread_step_out(&mask);

	if (!place)
		return;
	if (place->begun)
		mark(place, begins, name);
	fm_thread_return(place, mask);
}

/* References are not told apart by objects. */
void fm_hook_object(const char *name, const void *address, unsigned long size, const char *group)
{
	(void)name;
	(void)address;
	(void)size;
	(void)group;
}
