/* operator new and delete of C++, by their names in the C++ ABI.

   Those of the C++ library call malloc and free, so ours only pass the call on; the allocation is counted in malloc,
   which leaves their frames out of the stack. Allocators such as jemalloc have operators that do not come back: then
   these here count. Which of the two it is, is found out when the program begins, since looking them up takes a lock of
   the dynamic linker; for a C++ library that is loaded later, at the first call of each. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "preload/allocator.h"
#include "record/tracking.h"

/* A section of their own tells their frames, should the compiler have made any. */
#define OPERATOR __attribute__((section("fathom_operators")))
#define INTERPOSED __attribute__((visibility("default"))) OPERATOR
#define SLOWLY static __attribute__((noinline)) OPERATOR
#define CALLER __builtin_return_address(0)

extern const char __start_fathom_operators[] __attribute__((visibility("hidden")));
extern const char __stop_fathom_operators[] __attribute__((visibility("hidden")));

enum mode { UNKNOWN, PASS_ON, COUNT };

/* An operator takes a size or an address first, then in this order, where its name says so: a size, an alignment, the
   tag of those that do not throw. The functions behind `next` ignore what they do not take. */
typedef void *operator_function(uintptr_t first, uintptr_t second, const void *third);
struct operator
{
	operator_function *next;
	uint32_t mode;
	uint32_t size; /* bytes of its code, if it passes on */
	const char *name;
};

/* If there is no other: nobody has been seen who needs these, since whoever calls an operator has one. So they do not
   throw. */
static OPERATOR void *new_by_malloc(uintptr_t size, uintptr_t second, const void *third)
{
	(void)second;
	(void)third;
	return fm_interposed_malloc(size ? size : 1);
}

static OPERATOR void *new_by_aligned_alloc(uintptr_t size, uintptr_t alignment, const void *third)
{
	(void)third;
	return fm_next_allocator.aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
}

static void *delete_by_free(uintptr_t address, uintptr_t second, const void *third)
{
	(void)second;
	(void)third;
	fm_interposed_free((void *)address);
	return NULL;
}

static operator_function *look_up(const char *name, const void *caller)
{
	void *found = dlsym(RTLD_NEXT, name), *library;
	Dl_info info;

	if (found)
		return (operator_function *)found;
	/* A C++ library that came with a plug-in is seen by that plug-in only. It stays loaded from now on. */
	if (dladdr(caller, &info) && info.dli_fname && (library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
		found = dlsym(library, name);
	dlerror(); /* the message was not for the program */
	return (operator_function *)found;
}

SLOWLY void find(struct operator* operator, operator_function * otherwise, const void *caller)
{
	const ElfW(Sym) *symbol = NULL;
	enum mode mode = PASS_ON;
	operator_function *next;
	int error = errno;
	Dl_info info;

	fm_next_allocator_find();
	next = look_up(operator->name, caller);
	if (!next)
		next = otherwise;
	else if (fm_allocator_together((const void *)next, (const void *)fm_next_allocator.malloc))
		mode = COUNT;
	if (mode == PASS_ON && dladdr1((const void *)next, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	    info.dli_saddr == (const void *)next)
		operator->size =(uint32_t) symbol->st_size;
	__atomic_store_n(&operator->next, next, __ATOMIC_RELAXED);
	__atomic_store_n(&operator->mode, mode, __ATOMIC_RELEASE);
	errno = error;
}

SLOWLY void *new_slowly(struct operator* operator, uintptr_t size, uintptr_t second, const void *third,
                        operator_function *otherwise, const void *caller)
{
	uint64_t weight;
	void *address;

	if (operator->mode == UNKNOWN) {
		find(operator, otherwise, caller);
		if (operator->mode == PASS_ON)
			return operator->next(size, second, third);
		fm_self.until_tracked--;
	}
	weight = fm_tracking_weight(size, caller);
	address = operator->next(size, second, third);
	if (address && weight)
		fm_tracking_keep(address, size, FM_ALLOCATED_NEW, weight, caller);
	return address;
}

SLOWLY void delete_slowly(struct operator* operator, uintptr_t address, uintptr_t second, const void *third,
                          const void *caller)
{
	if (operator->mode == UNKNOWN)
		find(operator, delete_by_free, caller);
	if (operator->mode == COUNT) {
		if (fm_allocator_is_reserve((const void *)address))
			return;
		fm_tracking_release((void *)address);
	}
	operator->next(address, second, third);
}

/* The tables' lines: name, parameters after the first, what is passed on for the second and third, what is called when
   there is no other. */
#define NEWS(LINE)                                                                                                 \
	LINE(_Znwm, (size_t size), 0, NULL, new_by_malloc)                                                         \
	LINE(_Znam, (size_t size), 0, NULL, new_by_malloc)                                                         \
	LINE(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (uintptr_t)tag, NULL, new_by_malloc)             \
	LINE(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (uintptr_t)tag, NULL, new_by_malloc)             \
	LINE(_ZnwmSt11align_val_t, (size_t size, size_t alignment), alignment, NULL, new_by_aligned_alloc)         \
	LINE(_ZnamSt11align_val_t, (size_t size, size_t alignment), alignment, NULL, new_by_aligned_alloc)         \
	LINE(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *tag), alignment, tag, \
	     new_by_aligned_alloc)                                                                                 \
	LINE(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *tag), alignment, tag, \
	     new_by_aligned_alloc)

#define DELETES(LINE)                                                                                                 \
	LINE(_ZdlPv, (void *address), 0, NULL)                                                                        \
	LINE(_ZdaPv, (void *address), 0, NULL)                                                                        \
	LINE(_ZdlPvm, (void *address, size_t size), size, NULL)                                                       \
	LINE(_ZdaPvm, (void *address, size_t size), size, NULL)                                                       \
	LINE(_ZdlPvRKSt9nothrow_t, (void *address, const void *tag), (uintptr_t)tag, NULL)                            \
	LINE(_ZdaPvRKSt9nothrow_t, (void *address, const void *tag), (uintptr_t)tag, NULL)                            \
	LINE(_ZdlPvSt11align_val_t, (void *address, size_t alignment), alignment, NULL)                               \
	LINE(_ZdaPvSt11align_val_t, (void *address, size_t alignment), alignment, NULL)                               \
	LINE(_ZdlPvmSt11align_val_t, (void *address, size_t size, size_t alignment), size, (const void *)alignment)   \
	LINE(_ZdaPvmSt11align_val_t, (void *address, size_t size, size_t alignment), size, (const void *)alignment)   \
	LINE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *address, size_t alignment, const void *tag), alignment, tag) \
	LINE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *address, size_t alignment, const void *tag), alignment, tag)

#define NUMBER(name, ...) NUMBER##name,
#define DESCRIBE(operator_name, ...) {.name = #operator_name},
enum { NEWS(NUMBER) DELETES(NUMBER) OPERATORS };
static struct operator operators[OPERATORS] = {NEWS(DESCRIBE) DELETES(DESCRIBE)};

#define DEFINE_NEW(name, parameters, second, third, otherwise)                                 \
	INTERPOSED void *name parameters;                                                      \
	void *name parameters                                                                  \
	{                                                                                      \
		struct operator* operator= & operators[NUMBER##name];                          \
		uint32_t mode = __atomic_load_n(&operator->mode, __ATOMIC_ACQUIRE);            \
                                                                                               \
		if (FM_LIKELY(mode == PASS_ON) || (mode == COUNT && fm_tracking_passes(size))) \
			return operator->next(size, second, third);                            \
		return new_slowly(operator, size, second, third, otherwise, CALLER);           \
	}
#define DEFINE_DELETE(name, parameters, second, third)                                                    \
	INTERPOSED void name parameters;                                                                  \
	void name parameters                                                                              \
	{                                                                                                 \
		struct operator* operator= & operators[NUMBER##name];                                     \
		uint32_t mode = __atomic_load_n(&operator->mode, __ATOMIC_ACQUIRE);                       \
                                                                                                          \
		if (FM_LIKELY(mode == PASS_ON) || (mode == COUNT && fm_tracking_release_passes(address))) \
			operator->next((uintptr_t)address, second, third);                                \
		else                                                                                      \
			delete_slowly(operator,(uintptr_t) address, second, third, CALLER);               \
	}
NEWS(DEFINE_NEW)
DELETES(DEFINE_DELETE)

void fm_interposed_new_open(void)
{
	static operator_function *const otherwise[] = {
#define OTHERWISE(name, parameters, second, third, function) function,
#define OTHERWISE_FREE(name, ...) delete_by_free,
	    NEWS(OTHERWISE) DELETES(OTHERWISE_FREE)};

	if (!dlsym(RTLD_NEXT, operators[0].name)) {
		dlerror();
		return;
	}
	for (unsigned i = 0; i < OPERATORS; i++)
		find(&operators[i], otherwise[i], (const void *)fm_interposed_malloc);
}

bool fm_interposed_new_contains(uint64_t code)
{
	if (code - (uintptr_t)__start_fathom_operators <=
	    (uintptr_t)__stop_fathom_operators - (uintptr_t)__start_fathom_operators)
		return true;
	for (unsigned i = 0; i < OPERATORS; i++) {
		/* a return address may be just behind the end */
		if (operators[i].mode == PASS_ON && code - 1 - (uintptr_t)operators[i].next < operators[i].size)
			return true;
	}
	return false;
}
