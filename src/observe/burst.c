/* Samples of references by the runtime that is preloaded into the program (src/record): at native speed, without a PMU.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/installed.h"
#include "base/launch.h"
#include "base/own_limits.h"
#include "base/processor.h"
#include "observe/calibrate.h"
#include "observe/parts.h"
#include "base/preloadable.h"
#include "observe/sampled.h"
#include "observe/session.h"
#include "observe/unfinished.h"

enum {
	STEP_MS = 200,
	LAST_WAIT_MS = 500,
	KEEP_AFTER_MS = 100, /* saving takes the time of a short program */
};

static const char library_name[] = "libfathom-record.so";

static int probe(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *why)
{
	/* a recording of a few processes, and its analysis */
	static const struct fm_own_needs needs = {.memory = 100 << 20, .file = 4 << 20, .cpu = 1};
	char library[4096], program[4096];
	int r;

	(void)recording;
	if (fm_own_limits_check(&needs, why))
		return -ENOTSUP;
	if (access("/proc/self/maps", R_OK))
		return fm_error_set(
		    why, ENOTSUP,
		    "there is no /proc here, which says where a program's code is: mount -t proc proc /proc");
	if (!wanted->sampling || !wanted->program)
		return fm_error_set(why, ENOTSUP, "only a program that is started here can be sampled");
	r = fm_program_resolve(wanted->program[0], program, sizeof(program), why);
	if (!r)
		r = fm_preloadable_check_deep(program, "--sampler exact", why);
	if (!r && fm_preloadable_filters(program))
		r = fm_error_set(why, ENOTSUP,
		                 "%s installs a filter of system calls in its own code (seccomp), and the kernel would "
		                 "end it for one of "
		                 "the sampler's: 'fathom stat' can observe it",
		                 wanted->program[0]);
	if (r)
		return r;
	if (fm_installed_find(FM_INSTALLED_library, library_name, library, sizeof(library)))
		return fm_error_set(why, ENOTSUP, "the sampling library %s is not installed beside this program",
		                    library_name);
	/* the dynamic linker takes blanks and colons for separators */
	if (strpbrk(library, " :"))
		return fm_error_set(
		    why, ENOTSUP,
		    "%s cannot be preloaded, since its path has a blank or a colon: install Fathom elsewhere", library);
	return 0;
}

/* While the program runs */

static void wait_a_step(int process, int milliseconds)
{
	struct pollfd end = {.fd = process, .events = POLLIN};

	poll(&end, process >= 0, process >= 0 ? milliseconds : 10);
}

static bool is_too_large(struct fm_session *session)
{
	uint64_t none = 0;

	if (!session->max_bytes || __atomic_load_n(&session->used_bytes, __ATOMIC_RELAXED) <= session->max_bytes)
		return false;
	__atomic_compare_exchange_n(&session->full, &none, fm_ticks(), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return true;
}

static void wait_for_end(const struct fm_observation *wanted, struct fm_launched *launched,
                         struct fm_session_folder *folder, struct fm_recording *recording,
                         struct fm_launch_end *ret_end)
{
	int process = (int)syscall(SYS_pidfd_open, launched->process, 0);
	const struct fm_sampling_wishes *wishes = wanted->sampling;
	double stop_at = wishes->duration > 0 ? wishes->delay + wishes->duration : 0;
	struct fm_error error;
	bool kept = false;

	while (!fm_launch_wait(launched, false, ret_end)) {
		double seconds = (double)(fm_clock_now() - launched->begun) * 1e-9;
		double left = stop_at > seconds ? (stop_at - seconds) * 1000 : STEP_MS;

		/* the runtime observes the limit itself; this ends writes beyond it */
		if ((stop_at > 0 && seconds >= stop_at) || is_too_large(folder->session))
			__atomic_store_n(&folder->session->stop, 1, __ATOMIC_RELEASE);
		if (!kept && seconds * 1000 >= KEEP_AFTER_MS) {
			kept = true;
			if (fm_unfinished_keep(wanted, recording, &error))
				fm_observe_remark(wanted, "if this ends now, there will be no recording: %s",
				                  error.message);
			continue;
		}
		wait_a_step(process, !kept ? KEEP_AFTER_MS : left < STEP_MS ? (int)left + 1 : STEP_MS);
	}
	if (process >= 0)
		close(process);
}

/* Remaining processes may be about to end, too. */
static void wait_for_others(const struct fm_observation *wanted, struct fm_session_folder *folder)
{
	unsigned living = fm_session_living(folder->path);

	for (int waited = 0; living && waited < LAST_WAIT_MS; waited += 10) {
		poll(NULL, 0, 10);
		living = fm_session_living(folder->path);
	}
	__atomic_store_n(&folder->session->stop, 1, __ATOMIC_RELEASE);
	if (living)
		fm_observe_remark(wanted, "%u %s still and %s no longer recorded", living,
		                  living == 1 ? "process runs" : "processes run", living == 1 ? "is" : "are");
}

static int launch(const struct fm_observation *wanted, struct fm_session_folder *folder, struct fm_recording *recording,
                  struct fm_launch_end *ret_end, struct fm_error *error)
{
	struct fm_launch launch = {.program = wanted->program, .output = -1, .input = -1, .outlives = true};
	struct fm_session_environment saved;
	struct fm_launched launched;
	char library[4096];
	int r;

	if (fm_installed_find(FM_INSTALLED_library, library_name, library, sizeof(library)))
		return fm_error_set(error, ENOTSUP, "the sampling library %s is gone", library_name);
	if (fm_session_export(folder, library, &saved))
		return fm_error_set(error, ENOMEM, "out of memory");
	/* the new process has a copy of the environment as it is now */
	r = fm_launch_begin(&launch, &launched, error);
	fm_session_restore(&saved);
	if (r)
		return r;
	folder->session->begun = fm_ticks();
	r = fm_launch_release(&launched, wanted->program[0], error);
	if (r)
		return r;
	wait_for_end(wanted, &launched, folder, recording, ret_end);
	wait_for_others(wanted, folder);
	return 0;
}

static int run(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error)
{
	struct fm_sampling_wishes wishes = *wanted->sampling;
	struct fm_session_folder folder = {.file = -1};
	struct fm_calibration calibration = {.levels = 0};
	struct fm_launch_end end = {.status = 0};
	char library[4096], left[PATH_MAX];
	int r = 0;

	/* of a tool that died while it calibrated */
	if ((size_t)snprintf(left, sizeof(left), "%s.calibration", wishes.path) < sizeof(left))
		fm_session_clear(left);
	if (!fm_installed_find(FM_INSTALLED_library, library_name, library, sizeof(library)) &&
	    fm_calibration_get(wanted, library, &calibration, error)) {
		if (wanted->interrupted && *wanted->interrupted) {
			recording->run.exit_status = 130;
			return fm_error_set(error, ECANCELED, "interrupted before the program was started");
		}
		fm_observe_remark(wanted, "no calibration: samples will have no levels (%s)", error->message);
	}
	wishes.signal_cost = calibration.signal_cost;
	if (fm_calibration_record(&calibration, recording))
		r = fm_error_set(error, ENOMEM, "out of memory");
	fm_calibration_free(&calibration);
	if (!r)
		r = fm_session_create(wishes.path, &wishes, &folder, error);
	if (r) /* EEXIST and EBUSY are failures of ours, not the program's */
		return error->code == ENOMEM ? r : -(error->code = EIO);
	fm_unfinished_describe(&folder, "burst", recording);
	r = launch(wanted, &folder, recording, &end, error);
	if (r) {
		fm_unfinished_discard(wanted, &folder, false);
		return r;
	}
	recording->run.exit_status = end.status;
	recording->run.signal = end.signal;
	recording->run.elapsed =
	    fm_figure_make(end.seconds, end.seconds, end.seconds, "s", FM_ORIGIN_measured, "burst", 1);
	r = fm_sampled_read(folder.path, recording, error);
	if (!r)
		fm_seen_share_sampled(end.cpu_seconds, folder.session, recording);
	fm_session_close(&folder);
	if (r)
		return r;
	snprintf(recording->sampling.state, sizeof(recording->sampling.state), "finished");
	*recording->sampling.parts = '\0';
	return 0;
}

const struct fm_observer fm_observer_burst = {
    .name = "burst",
    .kind = FM_OBSERVER_SAMPLER,
    .priority = 50,
    .probe = probe,
    .run = run,
};
