/* Events of the program that concern the code cache: it ends, becomes another program, limits its system calls, and
   changes its code. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "preload/unwind.h"
#include "trace/allocations.h"
#include "trace/numbers.h"
#include "trace/place.h"
#include "trace/runtime.h"
#include "trace/threads.h"
#include "preload/hooks.h"

/* Not in a child of vfork, which has its parent's memory. */
static bool is_traced(void)
{
	return fm_is_alive() && fm_process_id() == (pid_t)fm_head()->process;
}

void fm_hook_exit(int status)
{
	uint64_t mask;

	if (is_traced()) {
		if (!fm_thread_step_out(&mask))
			mask = fm_block_all();
		fm_runtime_end();
	}
	for (;;)
		fm_system_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

static void publish_before_end(void)
{
	struct fm_place *place;
	uint64_t mask;

	if (!is_traced())
		return;
	place = fm_thread_step_out(&mask);
	if (!place)
		mask = fm_block_all();
	fm_runtime_end();
	fm_change_mask(mask);
}

EXPORTED __attribute__((noreturn)) void quick_exit(int status)
{

	fm_next_find();
	publish_before_end();
	fm_next.quick_exit(status);
	__builtin_unreachable();
}

/* The program may have a handler, and go on in it. */
EXPORTED __attribute__((noreturn)) void abort(void)
{
	struct fm_place *place;
	uint64_t mask;

	fm_next_find();
	place = is_traced() ? fm_thread_step_out(&mask) : NULL;
	if (place) {
		fm_runtime_publish();
		fm_runtime_go_on();
		fm_thread_return(place, mask);
	}
	fm_next.abort();
	__builtin_unreachable();
}

/* Natively, with the program's mask, which the next program inherits. */
static struct fm_place *about_to_execute(uint64_t *ret_mask)
{
	struct fm_place *place = is_traced() ? fm_thread_step_out(ret_mask) : NULL;

	if (place) {
		fm_runtime_publish();
		fm_change_mask(*ret_mask);
	}
	return place;
}

static int did_not_execute(struct fm_place *place, int result)
{
	int error = errno;

	if (place) {
		uint64_t mask = fm_block_all();

		fm_runtime_go_on();
		fm_thread_return(place, mask);
	}
	errno = error;
	return result;
}

int fm_hook_execute(const struct fm_execution *execution)
{
	struct fm_place *place;
	uint64_t mask;

	place = about_to_execute(&mask);
	return did_not_execute(place, fm_execute_next(execution));
}

void fm_hook_filter(bool promised)
{
	if (!promised)
		fm_runtime_stop_for_good();
}

void fm_hook_code_changed(uint64_t begin, uint64_t end, bool unloaded)
{
	if (!is_traced())
		return;
	fm_places_code_changed(begin, end);
	if (unloaded) {
		fm_numbers_remapped();
		fm_unwind_forget();
	}
}

EXPORTED int munmap(void *address, size_t size)
{
	int result;

	fm_next_find();
	result = fm_next.munmap(address, size);
	fm_hook_code_changed((uint64_t)address, (uint64_t)address + size, false);
	return result;
}

EXPORTED void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
	void *result;

	fm_next_find();
	result = fm_next.mmap(address, size, protection, flags, file, offset);
	if (flags & MAP_FIXED)
		fm_hook_code_changed((uint64_t)address, (uint64_t)address + size, false);
	if (result != MAP_FAILED && protection & PROT_EXEC && file >= 0 && is_traced())
		fm_numbers_remapped();
	if (result != MAP_FAILED && flags & MAP_ANONYMOUS && protection & PROT_WRITE && !fm_allocations_pass(size))
		fm_allocations_keep(result, size, __builtin_return_address(0));
	return result;
}

EXPORTED void *mmap64(void *address, size_t size, int protection, int flags, int file, off64_t offset)
{
	return mmap(address, size, protection, flags, file, offset);
}
