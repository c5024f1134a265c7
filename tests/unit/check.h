/* cmocka with what it needs, and a comparison of doubles. */
#ifndef FATHOM_TESTS_CHECK_H
#define FATHOM_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define assert_near(actual, expected, tolerance)                                                                  \
	do {                                                                                                      \
		double actual_ = (actual), expected_ = (expected);                                                \
		if (!(actual_ >= expected_ - (tolerance) && actual_ <= expected_ + (tolerance)))                  \
			fail_msg("%s is %g, expected %g ± %g", #actual, actual_, expected_, (double)(tolerance)); \
	} while (0)

#endif
