/* The native engine needs Zydis and a translator for the processor (src/translate). */
#ifndef FATHOM_HAS_TRACE
#include <errno.h>

#include "engine/trace/engine.h"

int fm_tracing_check(const struct fm_engine_options *options, const char *program, struct fm_error *error)
{
	(void)options, (void)program;
#if defined(__x86_64__)
	return fm_error_set(error, ENOTSUP,
	                    "Fathom was built without Zydis, which the native engine needs (apt-get install "
	                    "libzydis-dev, then build again)");
#else
	return fm_error_set(error, ENOTSUP, "the native engine exists for x86-64 only: --engine qemu");
#endif
}

int fm_tracing_begin(const struct fm_engine_options *options, const char *results, struct fm_tracing **ret_native,
                     struct fm_error *error)
{
	(void)results, (void)ret_native;
	return fm_tracing_check(options, NULL, error);
}

int fm_tracing_begin_beside(struct fm_tracing *native, struct fm_error *error)
{
	(void)native, (void)error;
	return -ENOTSUP;
}

void fm_tracing_report_beside(const struct fm_tracing *native, struct fm_engine_program_beside *ret_neighbours)
{
	(void)native, (void)ret_neighbours;
}

void fm_tracing_prepare(void *native)
{
	(void)native;
}

int fm_tracing_wait(struct fm_tracing *native, pid_t program, bool *ret_killed, uint64_t *ret_ended,
                    struct rusage *ret_used)
{
	(void)native, (void)program, (void)ret_killed, (void)ret_ended, (void)ret_used;
	return 0;
}

int fm_tracing_status(const struct fm_tracing *native, struct fm_error *error)
{
	(void)native, (void)error;
	return -ENOTSUP;
}

unsigned fm_tracing_scheduled(struct fm_tracing *native, struct fm_scheduled **ret_threads)
{
	(void)native, (void)ret_threads;
	return 0;
}

void fm_tracing_foreign(const struct fm_tracing *native, uint32_t ret_foreign[FM_FOREIGN_KINDS])
{
	(void)native, (void)ret_foreign;
}

unsigned fm_tracing_lost_processes(const struct fm_tracing *native)
{
	(void)native;
	return 0;
}

void fm_tracing_end(struct fm_tracing *native)
{
	(void)native;
}
#else
typedef int fm_traced_is_there;
#endif
