/* Benchmark matrices. One that is accepted is written and read back with the same runs, events and counts. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trust/matrix.h"

/* A file in memory that the reader opens by its path. */
static const char *in_memory(int *file, char *path, size_t size)
{
	if (*file < 0)
		*file = memfd_create("fathom-fuzz", MFD_CLOEXEC);
	must(*file >= 0);
	snprintf(path, size, "/proc/self/fd/%d", *file);
	must(!ftruncate(*file, 0));
	return path;
}

static void compare(const struct fm_matrix *a, const struct fm_matrix *b)
{
	must(a->run_count == b->run_count && a->event_count == b->event_count && a->repeats == b->repeats);
	for (unsigned e = 0; e < a->event_count; e++) {
		must(!strcmp(a->events[e].name, b->events[e].name) && a->events[e].socket == b->events[e].socket);
		for (unsigned r = 0; r < a->run_count; r++)
			for (unsigned k = 0; k < a->repeats; k++) {
				double x = fm_matrix_counts(a, e, r)[k], y = fm_matrix_counts(b, e, r)[k];

				must(x == y || (isnan(x) && isnan(y)));
			}
	}
	for (unsigned r = 0; r < a->run_count; r++)
		must(!strcmp(a->runs[r].name, b->runs[r].name) && a->runs[r].known == b->runs[r].known &&
		     a->runs[r].cores == b->runs[r].cores);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int first = -1, second = -1;
	struct fm_matrix *matrix = NULL, *again = NULL;
	struct fm_error error = {0};
	char path[64];
	FILE *output;
	int status;

	in_memory(&first, path, sizeof(path));
	must(pwrite(first, data, size, 0) == (ssize_t)size);
	status = fm_matrix_read(path, &matrix, &error);
	if (status) {
		must(status < 0 && *error.message);
		return 0;
	}
	must(matrix->run_count && matrix->event_count && matrix->repeats);
	in_memory(&second, path, sizeof(path));
	output = fopen(path, "w");
	must(output && !fm_matrix_write(matrix, output));
	fclose(output);
	status = fm_matrix_read(path, &again, &error);
	if (status)
		fprintf(stderr, "%s\n", error.message);
	must(!status);
	compare(matrix, again);
	for (unsigned e = 0; e < matrix->event_count; e++)
		must(fm_matrix_find_event(matrix, matrix->events[e].name) >= 0);
	fm_matrix_settle(matrix);
	for (unsigned r = 0; r < matrix->run_count; r++)
		fm_matrix_mean(matrix, 0, r);
	fm_matrix_free(matrix);
	fm_matrix_free(again);
	return 0;
}
