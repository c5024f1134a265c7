#include "check.h"

#include "base/suggest.h"

static void finds_the_nearest(void **state)
{
	static const char *const words[] = {"doctor", "machine", "report", "record"};

	(void)state;
	assert_string_equal(fm_suggest("machin", words, 4), "machine");
	assert_string_equal(fm_suggest("docktor", words, 4), "doctor");
	assert_string_equal(fm_suggest("recrod", words, 4), "record");
	assert_null(fm_suggest("xyzzy", words, 4));
	assert_null(fm_suggest("averyveryverylongwordthatisnoverbatallreally", words, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(finds_the_nearest)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
