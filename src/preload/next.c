#include "preload/next.h"

#include <dlfcn.h>

struct fm_next fm_next;

void fm_next_look_up(void *functions, const struct fm_next_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(RTLD_NEXT, names[i].name);

		if (function)
			__atomic_store_n((void **)(void *)((char *)functions + names[i].offset), function,
			                 __ATOMIC_RELEASE);
	}
}

void fm_next_find_all(void)
{
	static const struct fm_next_name names[] = {
#define NEXT(type, name, arguments) {#name, offsetof(struct fm_next, name)},
#include "preload/next.def"
#undef NEXT
	};
	int error = errno;

	fm_next_look_up(&fm_next, names, sizeof(names) / sizeof(names[0]));
	errno = error;
}
