/* Built without Zydis, the tool has no native engine. */
#ifndef FATHOM_HAS_NATIVE
#include <errno.h>

#include "engine/native/native.h"

int fm_native_check(const struct fm_engine_options *options, const char *program, struct fm_error *error)
{
	(void)options, (void)program;
	return fm_error_set(error, ENOTSUP,
	                    "Fathom was built without Zydis, which the native engine needs (apt-get install "
	                    "libzydis-dev, then build again)");
}

int fm_native_begin(const struct fm_engine_options *options, const char *results, struct fm_native **ret_native,
                    struct fm_error *error)
{
	(void)results, (void)ret_native;
	return fm_native_check(options, NULL, error);
}

int fm_native_begin_beside(struct fm_native *native, struct fm_error *error)
{
	(void)native, (void)error;
	return -ENOTSUP;
}

void fm_native_report_beside(const struct fm_native *native, struct fm_engine_neighbour *ret_neighbours)
{
	(void)native, (void)ret_neighbours;
}

void fm_native_prepare(void *native)
{
	(void)native;
}

int fm_native_wait(struct fm_native *native, pid_t program, bool *ret_killed, uint64_t *ret_ended,
                   struct rusage *ret_used)
{
	(void)native, (void)program, (void)ret_killed, (void)ret_ended, (void)ret_used;
	return 0;
}

int fm_native_status(const struct fm_native *native, struct fm_error *error)
{
	(void)native, (void)error;
	return -ENOTSUP;
}

unsigned fm_native_scheduled(struct fm_native *native, struct fm_scheduled **ret_threads)
{
	(void)native, (void)ret_threads;
	return 0;
}

void fm_native_foreign(const struct fm_native *native, uint32_t ret_foreign[FM_FOREIGN_KINDS])
{
	(void)native, (void)ret_foreign;
}

unsigned fm_native_lost_processes(const struct fm_native *native)
{
	(void)native;
	return 0;
}

void fm_native_end(struct fm_native *native)
{
	(void)native;
}
#else
typedef int fm_native_is_there;
#endif
