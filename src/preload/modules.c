#include "preload/modules.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#ifndef DLFO_STRUCT_HAS_EH_DBASE
struct dl_find_object {
	unsigned long long flags;
	void *dlfo_map_start, *dlfo_map_end;
	struct link_map *link_map;
	void *dlfo_eh_frame;
	unsigned long long reserved[7];
};
int _dl_find_object(void *address, struct dl_find_object *result);
#endif
#pragma weak _dl_find_object

/* Its address, so that no call goes through the lazy binding of the loader, which is not for signal handlers. */
static find_object_function *find_object;

/* Without _dl_find_object (C libraries before 2.35): a list of the modules, made anew by fm_modules_changed. Readers
   that meet an odd or changed sequence find nothing. */
enum { MODULES = 512 };
static struct {
	uint32_t sequence, count;
	struct fm_module list[MODULES];
} modules;

static int list_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct fm_module found = {.start = ~0ull};

	(void)size;
	(void)data;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && start < found.start)
			found.start = start;
		if (segment->p_type == PT_LOAD && start + segment->p_memsz > found.end)
			found.end = start + segment->p_memsz;
		if (segment->p_type == PT_GNU_EH_FRAME)
			found.header = start;
	}
	if (found.header && modules.count < MODULES) {
		struct fm_module *kept = &modules.list[modules.count];

		__atomic_store_n(&kept->start, found.start, __ATOMIC_RELAXED);
		__atomic_store_n(&kept->end, found.end, __ATOMIC_RELAXED);
		__atomic_store_n(&kept->header, found.header, __ATOMIC_RELAXED);
		__atomic_store_n(&modules.count, modules.count + 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* One thread at a time makes the list; another that comes meanwhile leaves word that it has to be made again. */
static void list_modules(void)
{
	static uint32_t wanted, busy;

	__atomic_store_n(&wanted, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&wanted, __ATOMIC_SEQ_CST) && !__atomic_exchange_n(&busy, 1, __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&wanted, 0, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&modules.sequence, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&modules.count, 0, __ATOMIC_RELAXED);
		dl_iterate_phdr(list_module, NULL);
		__atomic_add_fetch(&modules.sequence, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
	}
}

static bool listed_module(uint64_t pc, struct fm_module *ret_module)
{
	uint32_t sequence = __atomic_load_n(&modules.sequence, __ATOMIC_ACQUIRE);
	uint32_t count = __atomic_load_n(&modules.count, __ATOMIC_RELAXED);
	struct fm_module found = {0};

	for (uint32_t i = 0; i < count && i < MODULES && !found.end; i++) {
		uint64_t start = __atomic_load_n(&modules.list[i].start, __ATOMIC_RELAXED);
		uint64_t end = __atomic_load_n(&modules.list[i].end, __ATOMIC_RELAXED);

		if (pc < start || pc >= end)
			continue;
		found.start = start;
		found.end = end;
		found.header = __atomic_load_n(&modules.list[i].header, __ATOMIC_RELAXED);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!found.end || (sequence & 1) || __atomic_load_n(&modules.sequence, __ATOMIC_RELAXED) != sequence)
		return false;
	*ret_module = found;
	return true;
}

bool fm_modules_holding(uint64_t pc, struct fm_module *ret_module)
{
	struct dl_find_object found;

	if (!find_object)
		return listed_module(pc, ret_module);
	found.dlfo_map_start = found.dlfo_map_end = found.dlfo_eh_frame = NULL;
	if (fm_call_find_object(find_object, (void *)pc, &found) || !found.dlfo_eh_frame)
		return false;
	ret_module->start = (uint64_t)found.dlfo_map_start;
	ret_module->end = (uint64_t)found.dlfo_map_end;
	ret_module->header = (uint64_t)found.dlfo_eh_frame;
	return true;
}

void fm_modules_open(void)
{
#ifndef FATHOM_WITHOUT_FIND_OBJECT
	find_object = _dl_find_object;
#endif
	fm_modules_changed();
}

void fm_modules_changed(void)
{
	if (!find_object)
		list_modules();
}
