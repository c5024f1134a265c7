#include "preload/allocator.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "preload/hooks.h"
#include "preload/next.h"

enum { RESERVE = 65536, HEAD = 16 };

static __thread bool finding __attribute__((tls_model("initial-exec")));
static char reserve[RESERVE] __attribute__((aligned(64)));
static size_t reserve_used;
static uintptr_t allocator_begin, allocator_end;

static void *take_reserve(size_t size, size_t alignment)
{
	size_t begin, end, old = __atomic_load_n(&reserve_used, __ATOMIC_RELAXED);

	if (alignment < HEAD)
		alignment = HEAD;
	do {
		begin = (old + HEAD + alignment - 1) / alignment * alignment;
		if (size > RESERVE || begin > RESERVE - size) {
			errno = ENOMEM;
			return NULL;
		}
		end = (begin + size + HEAD - 1) / HEAD * HEAD;
	} while (!__atomic_compare_exchange_n(&reserve_used, &old, end, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*(size_t *)(void *)(reserve + begin - HEAD) = size;
	fm_hook_reserved(reserve + begin);
	return reserve + begin;
}

bool fm_allocator_is_reserve(const void *address)
{
	return (uintptr_t)address - (uintptr_t)reserve < RESERVE;
}

size_t fm_allocator_reserve_size(const void *address)
{
	return *(const size_t *)(const void *)((const char *)address - HEAD);
}

/* Also when another thread found it in the meantime. */
#define FOUND(name) \
	(fm_next_allocator_find(), __atomic_load_n(&fm_next_allocator.name, __ATOMIC_ACQUIRE) != first_##name)

static void *first_malloc(size_t size)
{
	return FOUND(malloc) ? fm_next_allocator.malloc(size) : take_reserve(size, 0);
}

static void *first_calloc(size_t count, size_t size)
{
	size_t total;

	if (FOUND(calloc))
		return fm_next_allocator.calloc(count, size);
	return take_reserve(__builtin_mul_overflow(count, size, &total) ? SIZE_MAX : total, 0);
}

static void *first_realloc(void *address, size_t size)
{
	/* what is in the reserve never comes here, and there is nothing else yet */
	return FOUND(realloc) ? fm_next_allocator.realloc(address, size) : address ? NULL : take_reserve(size, 0);
}

static void *first_memalign(size_t alignment, size_t size)
{
	return FOUND(memalign) ? fm_next_allocator.memalign(alignment, size) : take_reserve(size, alignment);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	return FOUND(aligned_alloc) ? fm_next_allocator.aligned_alloc(alignment, size) : take_reserve(size, alignment);
}

static int first_posix_memalign(void **ret_address, size_t alignment, size_t size)
{
	int error = errno;
	void *address;

	if (FOUND(posix_memalign))
		return fm_next_allocator.posix_memalign(ret_address, alignment, size);
	address = take_reserve(size, alignment);
	errno = error;
	if (!address)
		return ENOMEM;
	*ret_address = address;
	return 0;
}

static void *first_valloc(size_t size)
{
	return FOUND(valloc) ? fm_next_allocator.valloc(size) : take_reserve(size, 4096);
}

static void *first_pvalloc(size_t size)
{
	return FOUND(pvalloc) ? fm_next_allocator.pvalloc(size) : take_reserve((size + 4095) / 4096 * 4096, 4096);
}

static void first_free(void *address)
{
	if (FOUND(free))
		fm_next_allocator.free(address);
}

static size_t first_malloc_usable_size(void *address)
{
	return FOUND(malloc_usable_size) ? fm_next_allocator.malloc_usable_size(address) : 0;
}

static void *system_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
	return (void *)fm_with_errno(
	    fm_system_call(SYS_mmap, (long)address, (long)size, protection, flags, file, offset));
}

static void *system_mremap(void *address, size_t old_size, size_t size, int flags, void *new_address)
{
	return (void *)fm_with_errno(
	    fm_system_call(SYS_mremap, (long)address, (long)old_size, (long)size, flags, (long)new_address, 0));
}

static int system_munmap(void *address, size_t size)
{
	return (int)fm_with_errno(fm_system_call(SYS_munmap, (long)address, (long)size, 0, 0, 0, 0));
}

static void *first_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
	return (FOUND(mmap) ? fm_next_allocator.mmap : system_mmap)(address, size, protection, flags, file, offset);
}

static void *first_mremap(void *address, size_t old_size, size_t size, int flags, void *new_address)
{
	return (FOUND(mremap) ? fm_next_allocator.mremap : system_mremap)(address, old_size, size, flags, new_address);
}

static int first_munmap(void *address, size_t size)
{
	return (FOUND(munmap) ? fm_next_allocator.munmap : system_munmap)(address, size);
}

struct fm_next_allocator fm_next_allocator __attribute__((aligned(64))) = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .memalign = first_memalign,
    .aligned_alloc = first_aligned_alloc,
    .posix_memalign = first_posix_memalign,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
    .free = first_free,
    .malloc_usable_size = first_malloc_usable_size,
    .mmap = first_mmap,
    .mremap = first_mremap,
    .munmap = first_munmap,
};

/* Several threads may do this at once: they find the same. What is missing stays as it was and fails or, for mappings,
   asks the kernel. */
void fm_next_allocator_find(void)
{
	static const struct fm_next_name names[] = {
#define NEXT(name) {#name, offsetof(struct fm_next_allocator, name)}
	    NEXT(malloc),
	    NEXT(calloc),
	    NEXT(realloc),
	    NEXT(free),
	    NEXT(memalign),
	    NEXT(aligned_alloc),
	    NEXT(posix_memalign),
	    NEXT(valloc),
	    NEXT(pvalloc),
	    NEXT(mmap),
	    NEXT(mremap),
	    NEXT(munmap),
	    NEXT(malloc_usable_size),
#undef NEXT
	};
	static bool found_all;
	int error = errno;

	if (finding || __atomic_load_n(&found_all, __ATOMIC_ACQUIRE))
		return;
	finding = true;
	fm_next_look_up(&fm_next_allocator, names, sizeof(names) / sizeof(names[0]));
	finding = false;
	__atomic_store_n(&found_all, true, __ATOMIC_RELEASE);
	errno = error;
}

static const void *library_of(const void *function)
{
	Dl_info info;

	return dladdr(function, &info) ? info.dli_fbase : NULL;
}

bool fm_allocator_together(const void *function, const void *other)
{
	const void *library = library_of(function);

	return library && library == library_of(other);
}

static int locate(struct dl_phdr_info *info, size_t size, void *context)
{
	uintptr_t code = (uintptr_t)context;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && code - begin < segment->p_memsz) {
			/* the program itself has a name of length 0: what it maps is not known to be its allocator's */
			if (info->dlpi_name && info->dlpi_name[0]) {
				allocator_begin = begin;
				allocator_end = begin + segment->p_memsz;
			}
			return 1;
		}
	}
	return 0;
}

void fm_allocator_locate(const void *allocator)
{
	if (!fm_allocator_together(allocator, dlsym(RTLD_DEFAULT, "gnu_get_libc_version")))
		dl_iterate_phdr(locate, (void *)allocator);
}

bool fm_allocator_has_code(const void *code)
{
	return (uintptr_t)code - allocator_begin < allocator_end - allocator_begin;
}
