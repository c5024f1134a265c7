#include "squeeze/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/disturbance.h"
#include "observe/parts.h"
#include "squeeze/tuning.h"

enum { TICK_NS = 3000000 };

static int check_same(struct fm_live *live, const struct fm_live_end *end, int64_t output, struct fm_error *error)
{
	if (!live->runs) {
		live->status = end->end.status;
		live->output_bytes = -1;
		return 0;
	}
	if (end->end.status != live->status)
		return fm_error_set(error, ECANCELED,
		                    "the program does not repeat its work: it ended with %d instead of %d",
		                    end->end.status, live->status);
	if (live->output_bytes >= 0 && output != live->output_bytes)
		return fm_error_set(error, ECANCELED,
		                    "the program does not repeat its work: it wrote %lld bytes instead of %lld",
		                    (long long)output, (long long)live->output_bytes);
	live->output_bytes = output;
	return 0;
}

static void wait_for(const struct fm_live *live, struct fm_launched *launched, struct fm_launch_end *ret_end)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};

	while (!fm_launch_wait(launched, !live->watch, ret_end)) {
		if (live->watch)
			live->watch(live->watch_context);
		nanosleep(&tick, NULL);
	}
}

static int launch_and_wait(const struct fm_live *live, const struct fm_observation *wanted,
                           const struct fm_launch *launch, const struct fm_live_run *run, struct fm_live_end *ret_end,
                           struct fm_error *error)
{
	int64_t stolen = fm_disturbance_steal_now();
	struct fm_launched launched;
	int r = fm_launch_begin(launch, &launched, error);

	if (r)
		return r;
	r = run->ready ? run->ready(run->context, launched.process, error) : 0;
	if (r) {
		fm_launch_abandon(&launched);
		return r;
	}
	r = fm_launch_release(&launched, wanted->program[0], error);
	if (!r)
		wait_for(live, &launched, &ret_end->end);
	if (run->over)
		run->over(run->context);
	if (r)
		return r;
	ret_end->begun = launched.begun;
	stolen = stolen < 0 ? 0 : fm_disturbance_steal_now() - stolen;
	ret_end->disturbed =
	    (double)stolen > STOLEN_LEAST_NS && (double)stolen * 1e-9 > STOLEN_SHARE * ret_end->end.seconds;
	return 0;
}

/* In the new process. */
struct beginning {
	const struct fm_live *live;
	const struct fm_live_run *run;
};

static void prepare(void *context)
{
	const struct beginning *beginning = context;

	if (beginning->run->prepare)
		beginning->run->prepare(beginning->run->context);
	if (beginning->live->markers)
		fm_markers_announce(beginning->live->markers);
}

int fm_live_execute(struct fm_live *live, const struct fm_observation *wanted, const struct fm_live_run *run,
                    struct fm_live_end *ret_end, struct fm_error *error)
{
	struct beginning beginning = {live, run};
	struct fm_launch launch = {.program = wanted->program,
	                           .output = -1,
	                           .input = -1,
	                           .outlives = !live->runs,
	                           .prepare = prepare,
	                           .context = &beginning};
	struct fm_live_end end = {0};
	int64_t output = -1;
	int r;

	if (wanted->interrupted && *wanted->interrupted)
		return fm_error_set(error, EINTR, "it was interrupted");
	if (!live->runs) {
		fflush(stdout);
		fm_input_remember();
	} else {
		if (!fm_input_rewind())
			launch.input = open("/dev/null", O_RDONLY | O_CLOEXEC);
		launch.output = memfd_create("fathom-output", MFD_CLOEXEC);
	}
	r = launch_and_wait(live, wanted, &launch, run, &end, error);
	if (launch.output >= 0) {
		output = lseek(launch.output, 0, SEEK_END);
		close(launch.output);
	}
	if (launch.input >= 0)
		close(launch.input);
	if (!r && wanted->interrupted && *wanted->interrupted)
		r = fm_error_set(error, EINTR, "it was interrupted");
	if (!r && !live->runs && fm_input_was_read())
		r = fm_error_set(error, ECANCELED,
		                 "the program read its input from a pipe, which can be read only once: use a file as "
		                 "input");
	if (!r)
		r = check_same(live, &end, output, error);
	/* the end is reported even if it differs */
	*ret_end = end;
	live->runs++;
	return r;
}
