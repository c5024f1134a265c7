/* Regions and objects of a marked program. */
#include "preload/hooks.h"
#include "record/log.h"

/* An engine that samples sees regions itself. */
void fm_hook_region(bool begins, const char *name)
{
	struct fm_stream_region entry;

	if (fm_self.inside || fm_self.ended || !fm_session->sampling)
		return;
	fm_self_enter();
	entry = (struct fm_stream_region){.name = fm_log_name(name)};
	if (entry.name)
		fm_log_write(begins ? FM_STREAM_REGION_BEGIN : FM_STREAM_REGION_END, &entry, sizeof(entry));
	fm_self_leave();
}

void fm_hook_object(const char *name, const void *address, unsigned long size, const char *group)
{
	struct fm_stream_object entry = {.address = (uint64_t)address, .size = size};

	if (fm_self.inside || fm_self.ended)
		return;
	fm_self_enter();
	entry.name = name ? fm_log_name(name) : 0;
	entry.group = group ? fm_log_name(group) : 0;
	fm_log_write(FM_STREAM_OBJECT, &entry, sizeof(entry));
	fm_self_leave();
}
