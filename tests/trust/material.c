/* Counters of a real machine, from outside: the file is read whole. FATHOM_MATERIAL names the folder. */
#include "unit/check.h"

#include <math.h>
#include <string.h>

#include "material.h"
#include "trust/matrix.h"

static char path[1024];

static void h200_is_read(void **state)
{
	struct fm_matrix *matrix = NULL;
	struct fm_error error;

	(void)state;
	if (fm_matrix_read(path, &matrix, &error))
		fail_msg("%s", error.message);
	assert_int_equal(matrix->run_count, 19);
	assert_int_equal(matrix->event_count, 23);
	assert_int_equal(matrix->repeats, 2);
	for (unsigned run = 0; run < matrix->run_count; run++) {
		assert_true(*matrix->runs[run].name && matrix->runs[run].seconds > 0 && matrix->runs[run].known);
		for (unsigned event = 0; event < matrix->event_count; event++)
			for (unsigned k = 0; k < matrix->repeats; k++)
				assert_true(isfinite(fm_matrix_counts(matrix, event, run)[k]));
	}
	assert_true(fm_matrix_find_event(matrix, "dram__sectors_read.sum") >= 0 ||
	            fm_matrix_find_event(matrix, "dram__sectors_read") >= 0);
	fm_matrix_free(matrix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(h200_is_read)};

	if (!material_find("counters/h200.csv", path, sizeof(path)))
		return MATERIAL_MISSING;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
