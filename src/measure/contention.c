#include "measure/contention.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"
#include "measure/buffer.h"
#include "measure/tuning.h"

/* Operations between two looks at whether the first thread has ended, and of the first thread alone: a trial takes long
   against the start of the threads, and not much longer when many of them wait. */
enum { BATCH = 256, BATCHES = 128 };

static const struct {
	fm_kernel_function kernel;
	size_t apart;
} kinds[FM_CONTENTION_KINDS] = {
#define CONTENTION_KIND(identifier, name, kernel, apart, words) {fm_kernel_##kernel, apart},
#include "profile/contention.def"
#undef CONTENTION_KIND
};

unsigned fm_contention_threads(unsigned cpus, unsigned *ret_threads, unsigned most)
{
	unsigned count = 0;

	for (unsigned threads = 1; threads < cpus && count + 1 < most; threads *= 2)
		ret_threads[count++] = threads;
	if (cpus && count < most)
		ret_threads[count++] = cpus;
	return count;
}

struct work {
	struct fm_machine_session *session;
	struct fm_contention_point *point;
	char *line;
	atomic_bool *over; /* on another line */
	uint64_t *operations;
	struct fm_team_time *times;
};

/* All threads end together: the last ones would have the line alone. */
static void member(void *context, unsigned index)
{
	struct work *work = context;
	enum fm_contention_kind kind = work->point->kind;
	size_t offset = kinds[kind].apart * index % FM_LINE_BYTES;
	struct fm_kernel_arguments arguments = {.stream = {work->line + offset}, .count = BATCH};
	uint64_t batches = 0, wanted = BATCHES / work->point->threads;

	/* at least one of each */
	do {
		kinds[kind].kernel(&arguments);
		batches++;
	} while (index ? !atomic_load_explicit(work->over, memory_order_relaxed) : batches < wanted);
	if (!index)
		atomic_store(work->over, true);
	work->operations[index] = batches * BATCH;
}

static int trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct work *work = context;
	double ns = 0, operations = 0;
	bool disturbed = false;

	(void)error;
	atomic_store(work->over, false);
	fm_team_run(work->session->team, NULL, work->point->threads, NULL, member, work, work->times);
	for (unsigned i = 0; i < work->point->threads; i++) {
		ns += (double)(work->times[i].end_ns - work->times[i].begin_ns);
		operations += (double)work->operations[i];
		disturbed |= work->times[i].lost_ns > FM_TEAM_TOLERATED_NS;
	}
	*ret_cost = ns / operations;
	return disturbed ? FM_TRIAL_DISTURBED : 0;
}

int fm_contention_measure(struct fm_machine_session *session, double seconds, struct fm_contention_point *points,
                          unsigned *ret_count, struct fm_error *error)
{
	unsigned cpus = session->cpus.count, threads[FM_CONTENTION_POINTS_MAX / FM_CONTENTION_KINDS];
	unsigned steps = fm_contention_threads(cpus, threads, FM_CONTENTION_POINTS_MAX / FM_CONTENTION_KINDS);
	unsigned count = 0;
	struct fm_measurement measurements[FM_CONTENTION_POINTS_MAX];
	struct work work[FM_CONTENTION_POINTS_MAX];
	uint64_t *operations = calloc(cpus, sizeof(*operations));
	struct fm_team_time *times = calloc(cpus, sizeof(*times));
	struct fm_buffer buffer = {0};
	int status;

	memset(measurements, 0, sizeof(measurements));
	if (cpus < 2) {
		status = fm_error_set(error, ENOTSUP, "contention for a line needs a second CPU");
		goto out;
	}
	if (!operations || !times) {
		status = fm_error_set(error, ENOMEM, "out of memory");
		goto out;
	}
	status = fm_buffer_allocate(4096, FM_PAGES_SMALL, -1, &buffer, error);
	if (status)
		goto out;
	memset(buffer.memory, 0, buffer.bytes);
	for (unsigned kind = 0; kind < FM_CONTENTION_KINDS; kind++)
		for (unsigned i = 0; i < steps; i++, count++) {
			points[count].threads = threads[i];
			points[count].kind = (enum fm_contention_kind)kind;
			work[count] = (struct work){.session = session,
			                            .point = &points[count],
			                            .line = buffer.memory + 1024,
			                            .over = (atomic_bool *)(buffer.memory + 2048),
			                            .operations = operations,
			                            .times = times};
			measurements[count].trial = trial;
			measurements[count].context = &work[count];
			measurements[count].elsewhere = true;
			measurements[count].wanted_width = CONTENTION_WIDTH;
		}
	status =
	    fm_machine_session_measure(session, measurements, count, CONTENTION_LEAST, CONTENTION_MOST, seconds, error);
	for (unsigned i = 0; i < count && !status; i++)
		points[i].ns = fm_measurement_figure(&measurements[i], "ns");
	if (!status)
		*ret_count = count;
out:
	for (unsigned i = 0; i < count; i++)
		fm_measurement_free(&measurements[i]);
	fm_buffer_free(&buffer);
	free(operations);
	free(times);
	return status;
}
