/* Calls of a marked program: include/fathom.h finds this function by name. */
#include "preload/folder.h"
#include "preload/hooks.h"

enum { REGION_BEGIN = 1, REGION_END, OBJECT, OBJECT_END };

void fathom_record_call_(int what, const char *name, const void *address, unsigned long size, const char *group);

EXPORTED void fathom_record_call_(int what, const char *name, const void *address, unsigned long size,
                                  const char *group)
{
	int error = errno;

	if (!fm_is_alive())
		return;
	if ((what == REGION_BEGIN || what == REGION_END) && name)
		fm_hook_region(what == REGION_BEGIN, name);
	if (what == OBJECT && name)
		fm_hook_object(name, address, size, group);
	if (what == OBJECT_END)
		fm_hook_object(NULL, address, 0, NULL);
	errno = error;
}
