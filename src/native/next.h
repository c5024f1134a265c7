/* The functions that come after ours. They are found when the library is loaded: later the thread may be in a signal
   handler, or in the loader. Whoever may be called before that finds them first. */
#ifndef FATHOM_NATIVE_NEXT_H
#define FATHOM_NATIVE_NEXT_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define HIDDEN __attribute__((visibility("hidden")))

typedef int fm_mask_function(int how, const sigset_t *set, sigset_t *before);
typedef void fm_jump_function(struct __jmp_buf_tag *buffer, int value);

struct fm_next {
	int (*sigaction)(int number, const struct sigaction *action, struct sigaction *old);
	fm_mask_function *sigprocmask, *pthread_sigmask;
	int (*pthread_create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
	                      void *argument);
	int (*pthread_cancel)(pthread_t thread);
	fm_jump_function *longjmp, *_longjmp, *siglongjmp, *__longjmp_chk;
	void (*quick_exit)(int status);
	void (*abort)(void);
	int (*execve)(const char *path, char *const *arguments, char *const *environment);
	int (*execv)(const char *path, char *const *arguments);
	int (*execvp)(const char *file, char *const *arguments);
	int (*execvpe)(const char *file, char *const *arguments, char *const *environment);
	int (*prctl)(int option, ...);
	long (*syscall)(long number, ...);
	int (*mprotect)(void *address, size_t size, int protection);
	int (*munmap)(void *address, size_t size);
	void *(*mmap)(void *address, size_t size, int protection, int flags, int file, off_t offset);
	int (*dlclose)(void *handle);
};
extern struct fm_next fm_next HIDDEN;

void fm_next_find_all(void);

static inline void fm_next_find(void)
{
	if (__builtin_expect(!fm_next.dlclose, 0))
		fm_next_find_all();
}

#endif
