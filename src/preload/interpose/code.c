/* Code may change where pages get other rights, and where a library is unloaded. */
#include <link.h>

#include "preload/hooks.h"

EXPORTED int mprotect(void *address, size_t size, int protection)
{
	int result;

	fm_next_find();
	result = fm_next.mprotect(address, size, protection);
	fm_hook_code_changed((uint64_t)address, (uint64_t)address + size, false);
	return result;
}

static int note_unloaded(struct dl_phdr_info *information, size_t size, void *sum)
{
	(void)size;
	*(unsigned long long *)sum = information->dlpi_subs;
	return 1;
}

EXPORTED int dlclose(void *handle)
{
	unsigned long long before = 0, after = 0;
	int result;

	fm_next_find();
	dl_iterate_phdr(note_unloaded, &before);
	result = fm_next.dlclose(handle);
	dl_iterate_phdr(note_unloaded, &after);
	if (before != after)
		fm_hook_code_changed(0, UINT64_MAX, true);
	return result;
}
