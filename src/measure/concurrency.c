#include "measure/concurrency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/kernel.h"
#include "measure/buffer.h"
#include "measure/tuning.h"

static enum fm_pages session_pages(const struct fm_machine_session *session)
{
	return session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL;
}

/* Parallel chases */

struct parallel_work {
	struct fm_kernel_arguments
	    *arguments; /* shared: every trial goes on where the one before ended, on cold lines */
	unsigned chains;
	uint64_t steps;
};

static int parallel_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct parallel_work *work = context;
	uint64_t begin;

	(void)error;
	work->arguments->count = work->steps;
	begin = fm_clock_now();
	fm_kernel_chase_parallel[work->chains - 1](work->arguments);
	*ret_cost = (double)(fm_clock_now() - begin) / (double)(work->steps * work->chains);
	return 0;
}

int fm_parallel_measure(struct fm_machine_session *session, size_t bytes, double seconds,
                        struct fm_parallel_point *points, unsigned *ret_count, struct fm_figure *ret_outstanding,
                        struct fm_error *error)
{
	static const unsigned chains[] = {1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32};
	enum { COUNT = sizeof(chains) / sizeof(chains[0]) };
	struct parallel_work *work = calloc(COUNT, sizeof(*work));
	struct fm_measurement measurements[COUNT];
	struct fm_buffer buffer = {0};
	struct fm_kernel_arguments arguments = {0};
	int status;

	memset(measurements, 0, sizeof(measurements));
	if (!work)
		return fm_error_set(error, ENOMEM, "out of memory");
	status = fm_buffer_allocate(bytes, session_pages(session), -1, &buffer, error);
	if (!status)
		status = fm_chain_build(&buffer, &session->random, arguments.chain, FM_CHAINS_MAX, error);
	if (status)
		goto out;
	for (unsigned i = 0; i < COUNT; i++) {
		work[i].chains = chains[i];
		work[i].steps = 8192 / chains[i];
		work[i].arguments = &arguments;
		measurements[i].trial = parallel_trial;
		measurements[i].context = &work[i];
		measurements[i].wanted_width = PARALLEL_WIDTH;
	}
	status =
	    fm_machine_session_measure(session, measurements, COUNT, PARALLEL_LEAST, PARALLEL_MOST, seconds, error);
	if (status)
		goto out;
	*ret_outstanding = fm_figure_unavailable("no trials");
	for (unsigned i = 0; i < COUNT; i++) {
		struct fm_figure rate, outstanding;

		points[i].chains = chains[i];
		points[i].ns_per_load = fm_measurement_figure(&measurements[i], "ns");
		rate = fm_figure_inverted(&points[i].ns_per_load, 1, "1/ns");
		outstanding = fm_figure_product(&rate, &points[0].ns_per_load, "misses");
		if (outstanding.available &&
		    (!ret_outstanding->available || outstanding.value > ret_outstanding->value))
			*ret_outstanding = outstanding;
	}
	*ret_count = COUNT;
out:
	for (unsigned i = 0; i < COUNT; i++)
		fm_measurement_free(&measurements[i]);
	fm_buffer_free(&buffer);
	free(work);
	return status;
}

/* Latency under load */

/* Core to core */

struct transfer_work {
	struct fm_machine_session *session;
	unsigned who[2];
	struct fm_kernel_arguments arguments[2];
	void *line;
};

static void transfer_member(void *context, unsigned index)
{
	struct transfer_work *work = context;

	fm_kernel_ping_pong(&work->arguments[index]);
}

static int transfer_trial(void *context, double *ret_cost, struct fm_error *error)
{
	enum { TURNS = 1024 };
	struct transfer_work *work = context;
	struct fm_team_time times[2];
	double ns;

	*(uint64_t *)work->line = 0;
	for (unsigned i = 0; i < 2; i++) {
		work->arguments[i].stream[0] = work->line;
		work->arguments[i].count = TURNS;
		work->arguments[i].passes = i;
	}
	fm_team_run(work->session->team, work->who, 2, NULL, transfer_member, work, times);
	if (!work->arguments[0].result || !work->arguments[1].result)
		return fm_error_set(error, ETIMEDOUT, "CPUs %u and %u do not run at the same time",
		                    work->session->cpus.cpu[work->who[0]], work->session->cpus.cpu[work->who[1]]);
	ns = (double)(times[1].end_ns - times[0].begin_ns);
	*ret_cost = ns / (2 * TURNS);
	return times[0].lost_ns > FM_TEAM_TOLERATED_NS || times[1].lost_ns > FM_TEAM_TOLERATED_NS ? FM_TRIAL_DISTURBED
	                                                                                          : 0;
}

int fm_transfer_measure(struct fm_machine_session *session, double seconds, struct fm_transfer **ret_list,
                        unsigned *ret_count, struct fm_error *error)
{
	enum { ALL_PAIRS_UP_TO = 32 };
	unsigned cpus = session->cpus.count;
	bool all = cpus <= ALL_PAIRS_UP_TO || session->effort == FM_EFFORT_FULL;
	unsigned count = all ? cpus * (cpus - 1) / 2 : cpus - 1;
	struct fm_transfer *list;
	struct transfer_work *work;
	struct fm_measurement *measurements;
	struct fm_buffer buffer = {0};
	unsigned next = 0;
	int status;

	if (cpus < 2)
		return fm_error_set(error, ENOTSUP, "core-to-core transfers need a second CPU");
	list = calloc(count, sizeof(*list));
	work = calloc(count, sizeof(*work));
	measurements = calloc(count, sizeof(*measurements));
	if (!list || !work || !measurements) {
		status = fm_error_set(error, ENOMEM, "out of memory");
		goto out;
	}
	status = fm_buffer_allocate(4096, FM_PAGES_SMALL, -1, &buffer, error);
	if (status)
		goto out;
	for (unsigned i = 0; i < (all ? cpus : 1); i++)
		for (unsigned j = i + 1; j < cpus; j++, next++) {
			work[next] =
			    (struct transfer_work){.session = session, .who = {i, j}, .line = buffer.memory + 1024};
			list[next].from_cpu = session->cpus.cpu[i];
			list[next].to_cpu = session->cpus.cpu[j];
			measurements[next].trial = transfer_trial;
			measurements[next].context = &work[next];
			measurements[next].elsewhere = true;
			measurements[next].wanted_width = TRANSFER_WIDTH;
		}
	status =
	    fm_machine_session_measure(session, measurements, count, TRANSFER_LEAST, TRANSFER_MOST, seconds, error);
	if (status)
		goto out;
	for (unsigned i = 0; i < count; i++)
		list[i].ns = fm_measurement_figure(&measurements[i], "ns");
	*ret_list = list;
	*ret_count = count;
	list = NULL;
out:
	for (unsigned i = 0; measurements && i < count; i++)
		fm_measurement_free(&measurements[i]);
	fm_buffer_free(&buffer);
	free(list);
	free(work);
	free(measurements);
	return status;
}
