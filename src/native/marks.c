/* What a marked program says: include/fathom.h finds this function by name. */
#include <errno.h>
#include <string.h>

#include "native/numbers.h"
#include "native/ring.h"
#include "native/threads.h"
#include "native/windows.h"

enum { REGION_BEGIN = 1, REGION_END = 2 };

void fathom_record_call_(int what, const char *name, const void *address, unsigned long size, const char *group);

static bool is_chosen(const char *name)
{
	return fm_session->region[0] && !strncmp(name, fm_session->region, FM_TRACE_NAME - 1);
}

static void mark(struct fm_place *place, int what, const char *name)
{
	uint32_t number = fm_number_name(name);
	bool chosen = is_chosen(name);

	if (what == REGION_BEGIN && chosen)
		place->region_depth++;
	if (what == REGION_END && chosen && place->region_depth && !--place->region_depth)
		fm_window_end(place);
	if (number != FM_NO_NUMBER)
		fm_ring_control(place, what == REGION_BEGIN ? FM_TRACE_REGION_BEGIN : FM_TRACE_REGION_END, number);
	if (!place->epoch && !place->pace.step)
		place->current = fm_place_usual(place);
}

EXPORTED void fathom_record_call_(int what, const char *name, const void *address, unsigned long size,
                                  const char *group)
{
	struct fm_place *place;
	int error = errno;
	uint64_t mask;

	(void)address;
	(void)size;
	(void)group;
	if ((what != REGION_BEGIN && what != REGION_END) || !name || !fm_file_is_open())
		return;
	place = fm_thread_step_out(&mask);
	if (!place)
		return;
	if (place->begun)
		mark(place, what, name);
	fm_thread_return(place, mask);
	errno = error;
}
