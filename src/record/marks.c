/* What a marked program says: include/fathom.h finds this function by name. */
#include <errno.h>

#include "record/log.h"

void fathom_record_call_(int what, const char *name, const void *address, unsigned long size, const char *group);

static void region(enum fm_stream_kind kind, const char *name)
{
	struct fm_stream_region entry = {.name = fm_log_name(name)};

	if (entry.name)
		fm_log_write(kind, &entry, sizeof(entry));
}

static void object(const char *name, const void *address, unsigned long size, const char *group)
{
	struct fm_stream_object entry = {
	    .address = (uint64_t)address,
	    .size = size,
	    .name = name ? fm_log_name(name) : 0,
	    .group = group ? fm_log_name(group) : 0,
	};

	fm_log_write(FM_STREAM_OBJECT, &entry, sizeof(entry));
}

/* 1: a region begins, 2: it ends, 3: an object has a name, 4: it has none any more. */
__attribute__((visibility("default"))) void fathom_record_call_(int what, const char *name, const void *address,
                                                                unsigned long size, const char *group)
{
	int problem = errno;

	if (!fm_log_is_open() || fm_self.inside || fm_self.ended)
		return;
	fm_self_enter();
	/* an engine that samples hears of regions itself */
	if (what == 1 && name && fm_session->sampling)
		region(FM_STREAM_REGION_BEGIN, name);
	if (what == 2 && name && fm_session->sampling)
		region(FM_STREAM_REGION_END, name);
	if (what == 3 && name)
		object(name, address, size, group);
	if (what == 4)
		object(NULL, address, 0, NULL);
	fm_self_leave();
	errno = problem;
}
