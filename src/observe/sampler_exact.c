/* Samples of references with the level of a simulated machine: the program in the emulator, every n-th reference.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "observe/machines.h"
#include "observe/parts.h"
#include "observe/sampled.h"
#include "observe/session.h"
#include "observe/unfinished.h"

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

static uint64_t count_references(const struct fm_results *results)
{
	uint64_t references = 0;

	for (unsigned i = 0; i < results->core_count; i++)
		references += results->cores[i].counts.loads + results->cores[i].counts.stores;
	return references;
}

int fm_engine_sample(const struct fm_observation *wanted, const char *folder, uint64_t every,
                     struct fm_engine_sampled *ret_sampled, struct fm_error *error)
{
	struct fm_engine_sampled sampled = {0};
	struct fm_engine_options options;
	struct fm_engine_run run;
	struct rusage before, after;
	char cores[32];
	int r = fm_machine_chosen(wanted->machine ? wanted->machine : "host", &sampled.machine, error);

	if (r) {
		/* a machine that is not there is no program that is not there */
		if (error->code == ENOENT || error->code == EBADMSG)
			error->code = EINVAL;
		return -error->code;
	}
	r = fm_engine_wishes(wanted, &sampled.machine, cores, sizeof(cores), &options, error);
	if (r)
		return r;
	options.timing = wanted->timing;
	options.samples = folder;
	options.every = every;
	fflush(stdout);
	getrusage(RUSAGE_CHILDREN, &before);
	r = fm_engine_execute(&options, wanted->program, &run, error);
	if (r)
		return r;
	getrusage(RUSAGE_CHILDREN, &after);
	sampled.end.seconds = run.seconds;
	sampled.end.kernel_seconds = seconds(&after.ru_stime) - seconds(&before.ru_stime);
	sampled.end.cpu_seconds = sampled.end.kernel_seconds + seconds(&after.ru_utime) - seconds(&before.ru_utime);
	sampled.end.switches = (uint64_t)(after.ru_nvcsw - before.ru_nvcsw);
	sampled.end.preemptions = (uint64_t)(after.ru_nivcsw - before.ru_nivcsw);
	sampled.end.status = run.exit_status;
	sampled.end.signal = run.signal;
	sampled.killed = run.killed;
	sampled.lost_processes = run.results->lost_processes;
	sampled.references = count_references(run.results);
	for (unsigned i = 0; i < run.forked_count; i++)
		sampled.references += count_references(run.forked[i]);
	fm_engine_run_free(&run);
	*ret_sampled = sampled;
	return 0;
}

static int probe(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *why)
{
	(void)recording;
	return wanted->program
	           ? 0
	           : fm_error_set(why, ENOTSUP, "the emulator runs a program from its beginning: no -p, -a");
}

/* The levels by the names of the simulated caches' order: "L1 L2 memory". */
static void name_levels(const struct fm_machine_description *machine, struct fm_recorded_sampling *sampling)
{
	size_t used = 0;

	for (unsigned i = 0; i < machine->cache_count; i++)
		used +=
		    (size_t)snprintf(sampling->level_names + used, sizeof(sampling->level_names) - used, "L%u ", i + 1);
	snprintf(sampling->level_names + used, sizeof(sampling->level_names) - used, "memory");
	sampling->levels = machine->cache_count + 1;
}

static int run(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error)
{
	struct fm_sampling_wishes wishes;
	struct fm_session_folder folder = {.file = -1};
	struct fm_engine_sampled sampled = {0};
	char *text;
	int r;

	if (!wanted->sampling)
		return fm_error_set(error, EINVAL, "the engine samples for 'fathom record' only");
	wishes = *wanted->sampling;
	r = fm_session_create(wishes.path, &wishes, &folder, error);
	if (r) /* EEXIST and EBUSY are failures of ours, not the program's */
		return error->code == ENOMEM ? r : -(error->code = EIO);
	if (!fm_machine_chosen(wanted->machine ? wanted->machine : "host", &sampled.machine, error)) {
		name_levels(&sampled.machine, &recording->sampling);
		if (!fm_description_text(&sampled.machine, &text, error)) {
			fm_recording_set(recording, "machine", text);
			free(text);
		}
	}
	folder.session->sampling = 0; /* by the library that is loaded into the program, which sees to allocations */
	fm_unfinished_describe(&folder, "exact", recording);
	r = fm_unfinished_keep(wanted, recording, error);
	if (!r)
		r = fm_engine_sample(wanted, folder.path, wishes.every ? wishes.every : 1, &sampled, error);
	if (r) {
		fm_unfinished_discard(wanted, &folder, true);
		return r;
	}
	__atomic_store_n(&folder.session->stop, 1, __ATOMIC_RELEASE);
	recording->run.signal = sampled.end.signal;
	recording->run.exit_status = recording->run.engine_exit_status = sampled.end.status;
	recording->run.engine_seconds = sampled.end.seconds;
	recording->run.elapsed = fm_figure_make(sampled.end.seconds, sampled.end.seconds, sampled.end.seconds, "s",
	                                        FM_ORIGIN_measured, "exact", 1);
	r = fm_sampled_read(folder.path, recording, error);
	fm_session_close(&folder);
	if (r)
		return r;
	recording->sampling.every = wishes.every ? wishes.every : 1;
	recording->sampling.rate =
	    fm_figure_make(1 / (double)recording->sampling.every, 1 / (double)recording->sampling.every,
	                   1 / (double)recording->sampling.every, "", FM_ORIGIN_simulated, "exact", 1);
	recording->sampling.overhead_asked = recording->sampling.rate_asked = 0;
	recording->sampling.overhead = fm_figure_unavailable("the engine does not run the program at its own speed");
	snprintf(recording->sampling.state, sizeof(recording->sampling.state), "finished");
	*recording->sampling.parts = '\0';
	return 0;
}

const struct fm_observer fm_observer_sampler_exact = {
    .name = "exact", .kind = FM_OBSERVER_SAMPLER, .priority = 0, .simulates = true, .probe = probe, .run = run};
