/* Giving pages to the program: each page goes where one of its own is or will be. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "coloured/self.h"

/* Linux 6.8 has it, headers may be older. */
struct move {
	uint64_t to, from, bytes, mode;
	int64_t moved;
};
#define MOVE _IOWR(UFFDIO, 0x05, struct move)
#define FEATURE_MOVE (1ull << 16)
#define USER_MODE_ONLY 1

enum { MOST_MAPPINGS = 8192, STACK_ROOM = 2, STACK_LEFT = 65536 };

static void copy_page(char *to, const char *from)
{
	for (unsigned i = 0; i < FM_PAGE_BYTES / sizeof(uint64_t); i++)
		((volatile uint64_t *)(void *)to)[i] = ((const volatile uint64_t *)(const void *)from)[i];
}

static bool is_resident(char *page)
{
	unsigned char vector = 0;

	return !fm_system_call(SYS_mincore, (long)page, FM_PAGE_BYTES, (long)&vector, 0, 0, 0) && vector & 1;
}

/* A descriptor by which pages can be moved into this range; -1: the kernel cannot. */
static long enter_range(char *at, size_t bytes)
{
	long file = fm_system_call(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY, 0, 0, 0, 0, 0);
	struct uffdio_api api = {.api = UFFD_API, .features = FEATURE_MOVE};
	struct uffdio_register range = {.range = {(uint64_t)at, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};

	if (file < 0)
		return -1;
	if (fm_system_call(SYS_ioctl, file, UFFDIO_API, (long)&api, 0, 0, 0) ||
	    fm_system_call(SYS_ioctl, file, UFFDIO_REGISTER, (long)&range, 0, 0, 0)) {
		fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
		return -1;
	}
	return file;
}

static void leave_range(long file, char *at, size_t bytes)
{
	struct uffdio_range range = {(uint64_t)at, bytes};

	fm_system_call(SYS_ioctl, file, UFFDIO_UNREGISTER, (long)&range, 0, 0, 0);
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
}

static bool move_page(long file, char *to, char *from)
{
	struct move move = {.to = (uint64_t)to, .from = (uint64_t)from, .bytes = FM_PAGE_BYTES};

	return !fm_system_call(SYS_ioctl, file, (long)MOVE, (long)&move, 0, 0, 0);
}

/* The page becomes a mapping of its own there. */
static bool remap_page(char *to, char *from)
{
	if (__atomic_add_fetch(&fm_coloured.process->by_mapping, 1, __ATOMIC_RELAXED) > MOST_MAPPINGS)
		return false;
	return fm_system_call(SYS_mremap, (long)from, FM_PAGE_BYTES, FM_PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
	                      (long)to, 0) == (long)to;
}

/* One page; the old content goes with it unless it does not matter. */
static bool give_page(long file, char *to, char *from, enum fm_coloured_content content)
{
	bool resident = is_resident(to);

	if (content == FM_COLOURED_COPY || (resident && content == FM_COLOURED_KEEP))
		copy_page(from, to);
	if (file < 0)
		return remap_page(to, from);
	if (resident)
		fm_system_call(SYS_madvise, (long)to, FM_PAGE_BYTES, MADV_DONTNEED, 0, 0, 0);
	return move_page(file, to, from);
}

unsigned fm_coloured_fill(char *at, unsigned pages, enum fm_coloured_content content)
{
	size_t bytes = (size_t)pages * FM_PAGE_BYTES;
	unsigned first, taken, filled = 0;
	sigset_t old;
	long file;

	fm_coloured_block(&old);
	taken = fm_coloured_take(pages, &first);
	if (taken) {
		fm_system_call(SYS_madvise, (long)at, (long)bytes, MADV_NOHUGEPAGE, 0, 0, 0);
		file = enter_range(at, bytes);
		fm_coloured.moves = file >= 0;
		for (unsigned i = 0; i < taken; i++) {
			char *to = at + (size_t)i * FM_PAGE_BYTES, *from = fm_coloured.pages[first + i];

			if (give_page(file, to, from, content)) {
				filled++;
				continue;
			}
			if (content == FM_COLOURED_LOSE)
				continue;
			/* the content must return, in any colour; and no thread may wait for the descriptor */
			if (file >= 0)
				leave_range(file, at, bytes);
			file = -1;
			copy_page(to, from);
			break;
		}
		if (file >= 0)
			leave_range(file, at, bytes);
	}
	fm_coloured_unblock(&old);
	return filled;
}

unsigned fm_coloured_exchange(char *at, unsigned pages)
{
	size_t bytes = (size_t)pages * FM_PAGE_BYTES;
	long room =
	         fm_system_call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     file;
	unsigned filled;
	sigset_t old;

	if (fm_failed(room))
		return 0;
	file = enter_range((char *)room, bytes);
	if (file < 0) {
		/* each page becomes a mapping of its own in any case */
		fm_system_call(SYS_munmap, room, (long)bytes, 0, 0, 0, 0);
		return fm_coloured_fill(at, pages, FM_COLOURED_COPY);
	}
	leave_range(file, (char *)room, bytes);
	filled = fm_coloured_fill((char *)room, pages, FM_COLOURED_LOSE);
	fm_coloured_block(&old);
	for (unsigned i = 0; i < pages; i++)
		copy_page((char *)room + (size_t)i * FM_PAGE_BYTES, at + (size_t)i * FM_PAGE_BYTES);
	if (fm_system_call(SYS_mremap, room, (long)bytes, (long)bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (long)at, 0) !=
	    (long)at) {
		fm_system_call(SYS_munmap, room, (long)bytes, 0, 0, 0, 0);
		filled = 0;
	}
	fm_coloured_unblock(&old);
	return filled;
}

__attribute__((noinline)) unsigned fm_coloured_fill_stack(unsigned pages, const char *lowest)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) / FM_PAGE_BYTES * FM_PAGE_BYTES;
	size_t room = ((size_t)pages + STACK_ROOM) * FM_PAGE_BYTES;
	char *begin = (char *)here - room;

	if (here <= (uintptr_t)lowest || here - (uintptr_t)lowest < room + STACK_LEFT)
		return 0;
	/* the stack grows to here; what lies below is of frames that have ended */
	*(volatile char *)begin = 0;
	/* a new mapping cannot grow: the lowest page stays */
	*(volatile char *)(begin - FM_PAGE_BYTES) = 0;
	return fm_coloured_fill(begin, pages, FM_COLOURED_LOSE);
}
