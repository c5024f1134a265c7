#include "native/next.h"

#include <dlfcn.h>
#include <stddef.h>

struct fm_next fm_next;

void fm_next_find_all(void)
{
#define FUNCTION(name)                                \
	{                                             \
#name, offsetof(struct fm_next, name) \
	}
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {
	    FUNCTION(sigaction),      FUNCTION(sigprocmask), FUNCTION(pthread_sigmask),
	    FUNCTION(pthread_create), FUNCTION(longjmp),     FUNCTION(pthread_cancel),
	    FUNCTION(_longjmp),       FUNCTION(siglongjmp),  FUNCTION(execve),
	    FUNCTION(__longjmp_chk),  FUNCTION(quick_exit),  FUNCTION(execv),
	    FUNCTION(execvp),         FUNCTION(execvpe),     FUNCTION(prctl),
	    FUNCTION(syscall),        FUNCTION(mprotect),    FUNCTION(munmap),
	    FUNCTION(mmap),           FUNCTION(dlclose),     FUNCTION(abort),
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		*(void **)(void *)((char *)&fm_next + functions[i].offset) = dlsym(RTLD_NEXT, functions[i].name);
}
