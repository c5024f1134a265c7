#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/schedule.h"
#include "observe/machines.h"
#include "observe/parts.h"
#include "profile/cpu_places.h"
#include "scale/look.h"
#include "scale/scale.h"
#include "scale/judging.h"
#include "squeeze/live.h"

struct session {
	const struct fm_scale_wishes *wishes;
	struct fm_recording *recording;
	struct fm_recorded_scale how;
	struct fm_scale_counts counts;
	struct fm_live live[FM_SCALE_COUNTS_MAX];
	double seconds[FM_SCALE_COUNTS_MAX]; /* of the last run */
	bool placeholder;
	uint64_t began;
	unsigned done, planned;
	int status;
	struct fm_random random;
	struct fm_cpu_list cpus;
};

static double spent(const struct session *session)
{
	return (double)(fm_clock_now() - session->began) * 1e-9;
}

static void show_progress(const struct session *session, const char *what)
{
	const struct fm_scale_wishes *wishes = session->wishes;
	double share = session->planned ? (double)session->done / session->planned : 0;

	if (wishes->progress)
		wishes->progress(wishes->progress_context, what, share,
		                 session->done ? spent(session) / session->done * (session->planned - session->done)
		                               : 0);
}

static bool has_time(struct session *session, double wanted)
{
	if (spent(session) + wanted <= session->wishes->budget)
		return true;
	snprintf(session->how.stopped, sizeof(session->how.stopped), "no further run fits into the budget of %.4g s",
	         session->wishes->budget);
	return false;
}

/* Of one run */

struct running {
	struct session *session;
	unsigned count;
	struct fm_schedule *schedule;
	struct fm_scheduled *threads;
	unsigned thread_count;
};

/* In the new process. */
static void confine(void *context)
{
	const struct running *running = context;
	const struct session *session = running->session;
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned i = 0; i < running->count && i < session->cpus.count; i++)
		CPU_SET(session->cpus.cpu[i], &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int ready(void *context, pid_t process, struct fm_error *error)
{
	struct running *running = context;

	(void)error;
	running->schedule = fm_schedule_begin(process);
	return 0;
}

static void over(void *context)
{
	struct running *running = context;

	if (running->schedule)
		running->thread_count = fm_schedule_end(running->schedule, running->threads);
	running->schedule = NULL;
}

static void note_threads(const struct running *running, struct fm_recorded_scale_run *row)
{
	for (unsigned i = 0; i < running->thread_count; i++) {
		row->delayed += running->threads[i].delayed;
		row->alone += running->threads[i].alone;
		if (running->threads[i].alone > row->alone_longest)
			row->alone_longest = running->threads[i].alone;
		if (running->threads[i].ran > row->busiest)
			row->busiest = running->threads[i].ran;
	}
	row->threads = running->thread_count;
	for (unsigned i = 0; i < running->thread_count; i++)
		if (running->threads[i].ran > WORKER_SHARE / running->count * row->busiest) {
			row->worked += running->threads[i].ran;
			row->workers++;
		}
}

/* The wishes for one number of threads, with the number in the environment. `program` is freed by end_wishes(). */
static int begin_wishes(struct session *session, unsigned count, struct fm_observation *ret_wishes, char ***ret_program,
                        struct fm_error *error)
{
	*ret_wishes = session->wishes->observation;
	*ret_program = NULL;
	if (session->placeholder) {
		*ret_program = fm_scale_program(ret_wishes->program, count);
		if (!*ret_program)
			return fm_error_set(error, ENOMEM, "out of memory");
		ret_wishes->program = *ret_program;
	}
	if (!session->wishes->by_cpus && !session->placeholder)
		fm_scale_set_variables(session->wishes->variable, count);
	return 0;
}

static void end_wishes(const struct session *session, char **program)
{
	if (!session->wishes->by_cpus && !session->placeholder)
		fm_scale_set_variables(session->wishes->variable, 0);
	fm_scale_program_free(program);
}

static int run_live(struct session *session, unsigned at, unsigned round, struct fm_error *error)
{
	unsigned count = session->counts.values[at];
	struct running running = {.session = session, .count = count};
	struct fm_live_run run = {
	    .prepare = session->wishes->by_cpus ? confine : NULL, .context = &running, .ready = ready, .over = over};
	struct fm_live *live = &session->live[at];
	struct fm_recorded_scale_run *row;
	struct fm_observation wishes;
	struct fm_live_end end = {0};
	char **program;
	int r;

	running.threads = calloc(FM_SCHEDULED_MAX, sizeof(*running.threads));
	if (!running.threads)
		return fm_error_set(error, ENOMEM, "out of memory");
	if (round && !live->runs)
		*live = (struct fm_live){.runs = 1, .status = session->status, .output_bytes = -1};
	r = begin_wishes(session, count, &wishes, &program, error);
	if (!r)
		r = fm_live_execute(live, &wishes, &run, &end, error);
	end_wishes(session, program);
	if (!round)
		session->status = end.end.status;
	if (!r) {
		row = fm_recording_add(session->recording, scale_runs);
		if (!row)
			r = fm_error_set(error, ENOMEM, "out of memory");
	}
	if (!r) {
		*row = (struct fm_recorded_scale_run){.count = count,
		                                      .round = round,
		                                      .seconds = end.end.seconds,
		                                      .cpu_seconds = end.end.cpu_seconds,
		                                      .kernel_seconds = end.end.kernel_seconds,
		                                      .switches = end.end.switches,
		                                      .disturbed = end.disturbed};
		note_threads(&running, row);
		/* ready threads without a processor, although there are enough: other programs have them */
		row->disturbed |= row->workers <= session->how.cpus && row->delayed > OTHERS_DELAY * row->cpu_seconds &&
		                  !session->wishes->by_cpus;
		session->seconds[at] = row->seconds;
		session->done++;
	}
	free(running.threads);
	if (!r && !round && end.end.signal)
		r = fm_error_set(error, ECANCELED, "the program ended by signal %d: it is not run again",
		                 end.end.signal);
	return r;
}

/* An observed run with this number of threads. On this machine it measures shares; on a simulated one time, too. */
static int look(struct session *session, unsigned at, bool simulated, bool seen, struct fm_error *error)
{
	unsigned count = session->counts.values[at];
	struct fm_recording *recording = NULL;
	struct fm_observation wishes;
	char **program, cores[24];
	cpu_set_t before;
	bool confined = session->wishes->by_cpus && !sched_getaffinity(0, sizeof(before), &before);
	int r = begin_wishes(session, count, &wishes, &program, error), output = -1;

	wishes.seen = seen;
	wishes.timing = simulated;
	wishes.moment_cycles = simulated ? FIRST_MOMENT : 0;
	if (simulated) {
		snprintf(cores, sizeof(cores), "0-%u", count - 1);
		wishes.cores = count > 1 ? cores : "0";
	}
	/* people have seen the output of the first run; processes inherit the mask */
	if (seen) {
		fm_input_rewind();
		output = fm_output_divert();
	}
	if (confined)
		confine(&(struct running){.session = session, .count = count});
	if (!r)
		r = fm_observe(&wishes, &recording, error);
	if (confined)
		sched_setaffinity(0, sizeof(before), &before);
	if (seen)
		fm_output_restore(output);
	end_wishes(session, program);
	if (recording && !seen) {
		session->status = recording->run.exit_status;
		session->recording->run.exit_status = recording->run.exit_status;
	}
	/* what was cut short, or did something else, is no result */
	if (wishes.interrupted && *wishes.interrupted)
		r = fm_error_set(error, EINTR, "it was interrupted");
	else if (!r && seen && recording && recording->run.exit_status != session->status)
		r = fm_error_set(error, ECANCELED,
		                 "the program does not repeat its work: it ended with %d instead of %d",
		                 (int)recording->run.exit_status, session->status);
	else if (!r && !seen && fm_input_was_read())
		r = fm_error_set(error, ECANCELED,
		                 "the program read its input from a pipe, which can be read only once: use a file as "
		                 "input");
	if (!r)
		r = fm_scale_look_add(recording, count, simulated, session->recording, error);
	fm_recording_free(recording);
	session->done += !r;
	return r;
}

/* An error that ends the runs, but keeps what was measured. */
static int stop(struct session *session, int r, const struct fm_error *error)
{
	if (!r)
		return 0;
	if (!session->recording->scale_runs_count || r == -ENOMEM)
		return r;
	snprintf(session->how.stopped, sizeof(session->how.stopped), "%s",
	         r == -EINTR ? "interrupted" : error->message);
	return 1;
}

/* Largest number that does not exceed the processors; its index. */
static unsigned decisive(const struct session *session)
{
	unsigned at = 0;

	for (unsigned i = 0; i < session->counts.count; i++)
		if (session->counts.values[i] <= session->how.cpus)
			at = i;
	return at;
}

/* Runs that fail are named, and the other runs go on. 1: interrupted. */
static int look_live(struct session *session)
{
	const unsigned chosen[] = {0, decisive(session)};
	struct fm_error error;

	for (unsigned i = 0; i < 2; i++) {
		int r;

		if (i && chosen[1] == chosen[0])
			break;
		show_progress(session, "observed run");
		if (!has_time(session, LOOK_SLOWDOWN * session->seconds[chosen[i]]))
			break;
		r = look(session, chosen[i], false, true, &error);
		if (r == -EINTR)
			return stop(session, r, &error);
		if (r)
			fm_observe_remark(&session->wishes->observation, "%u threads: not observed: %.300s",
			                  session->counts.values[chosen[i]], error.message);
	}
	return 0;
}

static unsigned rounds_for(const struct session *session)
{
	double wanted;

	if (session->wishes->rounds)
		return session->wishes->rounds;
	wanted = session->seconds[0] > 0 ? ceil(ENOUGH_SECONDS / session->seconds[0]) : LEAST_ROUNDS;
	return (unsigned)fmin(fmax(wanted, LEAST_ROUNDS), MOST_ROUNDS);
}

static int run_round(struct session *session, unsigned round, struct fm_error *error)
{
	unsigned order[FM_SCALE_COUNTS_MAX];

	for (unsigned i = 0; i < session->counts.count; i++) {
		unsigned k = (unsigned)fm_random_below(&session->random, i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (unsigned i = 0; i < session->counts.count; i++) {
		int r;

		show_progress(session, "runs");
		if (!has_time(session, session->seconds[order[i]]))
			return 1;
		r = run_live(session, order[i], round, error);
		if (r)
			return stop(session, r, error);
	}
	return 0;
}

static int run_all_live(struct session *session, struct fm_error *error)
{
	unsigned rounds;
	int r;

	session->planned = 1;
	show_progress(session, "first run");
	/* with the largest number: it ends first, usually */
	r = run_live(session, session->counts.count - 1, 0, error);
	session->recording->run.exit_status = session->status;
	if (r)
		return r;
	/* fewer threads take longer: up to all processor time, one after the other */
	for (unsigned i = 0; i < session->counts.count; i++)
		session->seconds[i] = fmax(session->seconds[session->counts.count - 1],
		                           session->recording->scale_runs[0].cpu_seconds / session->counts.values[i]);
	session->planned = 1 + session->counts.count * LEAST_ROUNDS;
	r = run_round(session, 1, error);
	rounds = rounds_for(session);
	session->planned = 1 + session->counts.count * rounds + (session->wishes->times_only ? 0 : 2);
	if (!r && !session->wishes->times_only)
		r = look_live(session);
	for (unsigned round = 2; !r && round <= rounds; round++)
		r = run_round(session, round, error);
	session->how.planned = session->planned > session->done ? session->planned - session->done : 0;
	return r > 0 ? 0 : r;
}

static int run_all_simulated(struct session *session, struct fm_error *error)
{
	session->planned = session->counts.count;
	for (unsigned i = 0; i < session->counts.count; i++) {
		int r;

		show_progress(session, "simulated run");
		if (i && !has_time(session, 0))
			break;
		r = look(session, i, true, i > 0, error);
		if (r && !i)
			return r;
		if (stop(session, r, error))
			break;
	}
	session->how.planned = session->planned - session->done;
	return 0;
}

/* Processors by place: one of every core first. */
static int choose_cpus(struct session *session, struct fm_error *error)
{
	struct fm_cpu_place *places;
	int r = fm_cpu_list_allowed(&session->cpus, error);

	if (r)
		return r;
	places = calloc(FM_CPUS_MAX, sizeof(*places));
	if (!places)
		return fm_error_set(error, ENOMEM, "out of memory");
	fm_cpu_places_read(&session->cpus, places);
	fm_cpu_places_order(&session->cpus, places);
	free(places);
	return 0;
}

static int choose_counts(struct session *session, struct fm_error *error)
{
	const struct fm_scale_wishes *wishes = session->wishes;
	unsigned most = session->how.cpus;

	session->counts = wishes->counts.count
	                      ? wishes->counts
	                      : fm_scale_counts_default(most, !wishes->by_cpus && !session->how.simulated);
	if (session->counts.count < 2)
		return fm_error_set(error, wishes->counts.count ? EINVAL : ENOTSUP,
		                    wishes->counts.count ? "-t needs at least two numbers of threads"
		                                         : "there is only one processor here: nothing can scale; "
		                                           "-t 1,2 runs two threads nevertheless");
	if ((session->how.simulated || wishes->by_cpus) && session->counts.values[session->counts.count - 1] > most)
		return fm_error_set(error, EINVAL, "%u %s: %s has %u",
		                    session->counts.values[session->counts.count - 1],
		                    wishes->by_cpus ? "CPUs" : "threads",
		                    session->how.simulated ? wishes->observation.machine : "this machine", most);
	return 0;
}

static void describe(struct session *session)
{
	struct fm_recorded_scale *how = &session->how;
	char names[140];

	snprintf(how->by, sizeof(how->by), "%s", session->wishes->by_cpus ? "cpus" : "threads");
	if (session->wishes->by_cpus)
		snprintf(how->set_by, sizeof(how->set_by), "processor masks");
	else
		snprintf(how->set_by, sizeof(how->set_by), "%s",
		         session->placeholder
		             ? FM_SCALE_PLACEHOLDER
		             : fm_scale_variables_text(session->wishes->variable, names, sizeof(names)));
}

int fm_scale_run(const struct fm_scale_wishes *wishes, struct fm_recording **ret_recording, struct fm_error *error)
{
	struct session *session = calloc(1, sizeof(*session));
	struct fm_recorded_scale *row = NULL;
	int r = 0;

	*ret_recording = NULL;
	if (!session)
		return fm_error_set(error, ENOMEM, "out of memory");
	session->wishes = wishes;
	session->began = fm_clock_now();
	session->placeholder = fm_scale_has_placeholder(wishes->observation.program);
	session->how.simulated = wishes->observation.machine != NULL;
	session->how.asked = wishes->counts.count > 0;
	session->how.cpus = fm_processors_available();
	fm_random_seed(&session->random, session->began);
	session->recording = fm_recording_create();
	if (!session->recording)
		r = fm_error_set(error, ENOMEM, "out of memory");
	if (!r && session->how.simulated) {
		struct fm_machine_description *machine = calloc(1, sizeof(*machine));

		r = machine ? fm_machine_chosen(wishes->observation.machine, machine, error)
		            : fm_error_set(error, ENOMEM, "out of memory");
		if (!r)
			session->how.cpus = machine->sockets * machine->cores;
		/* no machine of this name is wrong usage, not a missing program */
		if (r && error->code == ENOENT) {
			error->code = EINVAL;
			r = -EINVAL;
		}
		free(machine);
	}
	if (!r && wishes->by_cpus)
		r = choose_cpus(session, error);
	if (!r)
		r = choose_counts(session, error);
	if (!r) {
		describe(session);
		fm_observe_note_run(&wishes->observation, session->recording);
		if (session->how.simulated)
			snprintf(session->recording->asked.machine, sizeof(session->recording->asked.machine), "%s",
			         wishes->observation.machine);
		snprintf(session->recording->run.verb, sizeof(session->recording->run.verb), "scale");
		r = session->how.simulated ? run_all_simulated(session, error) : run_all_live(session, error);
	}
	if (session->recording)
		row = fm_recording_add(session->recording, scales);
	if (row) {
		struct fm_error ignored;
		char *profile;

		*row = session->how;
		/* nothing but peaks depends on it */
		if (!session->how.simulated && !fm_profile_text(NULL, &profile, &ignored)) {
			fm_recording_set(session->recording, "profile", profile);
			free(profile);
		}
	} else if (!r) {
		r = fm_error_set(error, ENOMEM, "out of memory");
	}
	if (!r)
		r = fm_recording_settle(session->recording, error);
	if (!r || r == -ECANCELED)
		*ret_recording = session->recording;
	else
		fm_recording_free(session->recording);
	free(session);
	return r;
}
