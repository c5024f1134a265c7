/* cmocka with what it needs, and a comparison of doubles. */
#ifndef FATHOM_TESTS_CHECK_H
#define FATHOM_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* FATHOM_CASES='same_*' build/tests/test_engine: only the cases that match; '!same_*': only those that do not. */
static void __attribute__((constructor)) choose_cases(void)
{
	const char *pattern = getenv("FATHOM_CASES");

	if (pattern && *pattern == '!')
		cmocka_set_skip_filter(pattern + 1);
	else if (pattern && *pattern)
		cmocka_set_test_filter(pattern);
}

/* A sanitizer has pages and time of its own beside the program's. */
#define SANITIZED 0
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#undef SANITIZED
#define SANITIZED 1
#endif
#if __has_feature(thread_sanitizer)
#define THREADS_SANITIZED 1
#endif
#endif
#if !defined(THREADS_SANITIZED)
#define THREADS_SANITIZED 0
#endif

#define assert_near(actual, expected, tolerance)                                                                  \
	do {                                                                                                      \
		double actual_ = (actual), expected_ = (expected);                                                \
		if (!(actual_ >= expected_ - (tolerance) && actual_ <= expected_ + (tolerance)))                  \
			fail_msg("%s is %g, expected %g ± %g", #actual, actual_, expected_, (double)(tolerance)); \
	} while (0)

#endif
