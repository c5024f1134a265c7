#include "observe/observe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "observe/assumed.h"
#include "observe/parts.h"
#include "windows/estimate.h"
#include "windows/totals.h"

const struct fm_observer *const fm_observers[] = {
#define OBSERVER(identifier) &fm_observer_##identifier,
#include "observe/observers.def"
#undef OBSERVER
    NULL,
};

static bool counts(const struct fm_observer *observer)
{
	return observer->kind == FM_OBSERVER_COUNTERS || observer->kind == FM_OBSERVER_ENGINE;
}

static bool samples(const struct fm_observer *observer)
{
	return observer->kind == FM_OBSERVER_SAMPLER;
}

static const struct fm_observer *find(const char *name, bool (*is_one)(const struct fm_observer *))
{
	for (unsigned i = 0; fm_observers[i]; i++)
		if (is_one(fm_observers[i]) && !strcmp(fm_observers[i]->name, name))
			return fm_observers[i];
	return NULL;
}

const struct fm_observer *fm_observer_find(const char *name)
{
	return find(name, counts);
}

const struct fm_observer *fm_sampler_find(const char *name)
{
	return find(name, samples);
}

const char *fm_sampler_names(char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "auto");

	for (unsigned i = 0; fm_observers[i]; i++)
		if (samples(fm_observers[i]) && used < size)
			used += (size_t)snprintf(text + used, size - used, ", %s", fm_observers[i]->name);
	return text;
}

const char *fm_observer_names(char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "auto");

	for (unsigned i = 0; fm_observers[i]; i++)
		if (counts(fm_observers[i]) && used < size)
			used += (size_t)snprintf(text + used, size - used, ", %s", fm_observers[i]->name);
	if (used < size)
		snprintf(text + used, size - used, " or simulated");
	return text;
}

void fm_observe_remark(const struct fm_observation *wanted, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	if (!wanted->remark)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	wanted->remark(wanted->context, text);
}

/* The requested sampler, or the first that is available. */
static int choose_sampler(const struct fm_observation *wanted, struct fm_recording *recording,
                          const struct fm_observer **ret_observer, struct fm_error *error)
{
	const char *name = wanted->sampling->sampler;
	bool free_choice = !name || !strcmp(name, "auto");
	int least = free_choice ? 1 : 0; /* of priority 0: only when it is asked for */
	bool tried = false;
	int r = -ENOTSUP;

	fm_error_set(error, ENOTSUP, "there is no sampler \"%s\" in this build", free_choice ? "" : name);
	for (int priority = 100; priority >= least && r == -ENOTSUP; priority--)
		for (unsigned i = 0; fm_observers[i] && r == -ENOTSUP; i++) {
			struct fm_error why;

			if (fm_observers[i]->kind != FM_OBSERVER_SAMPLER || fm_observers[i]->priority != priority ||
			    (!free_choice && strcmp(fm_observers[i]->name, name) != 0))
				continue;
			r = fm_observers[i]->probe(wanted, recording, &why);
			*ret_observer = fm_observers[i];
			/* the reason of the one that would be best */
			if (r && (!tried || r != -ENOTSUP))
				*error = why;
			tried = true;
		}
	return r;
}

/* The requested observer, or the first that is available, by priority. The reason of the best one is kept. */
static int choose(const struct fm_observation *wanted, struct fm_recording *recording,
                  const struct fm_observer **ret_observer, struct fm_error *error)
{
	bool free_choice = !wanted->counters || !strcmp(wanted->counters, "auto");
	const struct fm_observer *best = NULL;
	struct fm_error why;
	int r = -ENOTSUP;

	/* running processes and named events of this machine need counters; simulation needs the engine */
	if (wanted->machine)
		best = fm_wants_windows(wanted) ? &fm_observer_windows : &fm_observer_exact;
	else if (wanted->events || wanted->processes || wanted->system_wide)
		best = &fm_observer_perf;
	else if (!free_choice)
		best = fm_observer_find(wanted->counters);
	else if (wanted->engine || wanted->window_end || wanted->free_running || wanted->skew)
		best = &fm_observer_exact; /* an option of the engine is a request for it */
	else if (wanted->region || wanted->curve)
		best = &fm_observer_windows;
	if (best) {
		*ret_observer = best;
		return best->probe(wanted, recording, error);
	}
	for (int priority = 100; priority > 0 && r; priority--)
		for (unsigned i = 0; fm_observers[i] && r; i++) {
			if (!counts(fm_observers[i]) || fm_observers[i]->priority != priority)
				continue;
			r = fm_observers[i]->probe(wanted, recording, &why);
			/* the last one needs no special means: its reason has the remedy */
			*error = why;
			*ret_observer = fm_observers[i];
			if (r && r != -ENOTSUP)
				return r;
		}
	return r;
}

static void note_question(const struct fm_observation *wanted, const struct fm_observer *observer,
                          struct fm_recording *recording)
{
	struct fm_recorded_asked *asked = &recording->asked;
	bool simulated_counters = wanted->counters && !strcmp(wanted->counters, "simulated");

	*asked = (struct fm_recorded_asked){.free_running = wanted->free_running,
	                                    .system_wide = wanted->system_wide,
	                                    .per_thread = wanted->per_thread,
	                                    .first_instance = wanted->first_instance,
	                                    .last_instance = wanted->last_instance,
	                                    .window_begin = wanted->window_begin,
	                                    .window_end = wanted->window_end,
	                                    .interval_ms = wanted->interval_ms,
	                                    .repeats = wanted->repeats};
	if (observer->kind == FM_OBSERVER_COUNTERS)
		asked->question = wanted->events ? FM_QUESTION_COUNTED_EVENTS : FM_QUESTION_COUNTED_LEVELS;
	else if (!wanted->machine)
		asked->question = FM_QUESTION_COMBINED;
	else
		asked->question = wanted->events       ? FM_QUESTION_SIMULATED_EVENTS
		                  : simulated_counters ? FM_QUESTION_SIMULATED_LEVELS
		                                       : FM_QUESTION_EXACT;
	snprintf(asked->machine, sizeof(asked->machine), "%s",
	         observer->kind == FM_OBSERVER_COUNTERS ? ""
	         : wanted->machine                      ? wanted->machine
	                                                : "host");
	snprintf(asked->region, sizeof(asked->region), "%s", wanted->region ? wanted->region : "");
	snprintf(asked->events, sizeof(asked->events), "%s", wanted->events ? wanted->events : "");
	snprintf(asked->processes, sizeof(asked->processes), "%s", wanted->processes ? wanted->processes : "");
}

void fm_observe_note_run(const struct fm_observation *wanted, struct fm_recording *recording)
{
	struct fm_recorded_run *run = &recording->run;
	time_t now = time(NULL);
	struct tm utc;

	snprintf(run->verb, sizeof(run->verb), wanted->sampling ? "record" : "stat");
	snprintf(run->program, sizeof(run->program), "%s", wanted->program ? wanted->program[0] : "");
	if (gethostname(run->host, sizeof(run->host) - 1))
		run->host[0] = 0;
	if (gmtime_r(&now, &utc))
		strftime(run->started, sizeof(run->started), "%Y-%m-%dT%H:%M:%SZ", &utc);
	run->elapsed = fm_figure_unavailable("not counted");
	recording->native.seconds = fm_figure_unavailable("there was no native run");
}

/* Observe it with the one that was chosen. */
static int run_chosen(const struct fm_observer *observer, const struct fm_observation *wanted,
                      struct fm_recording *recording, struct fm_error *error)
{
	struct fm_observation chosen = *wanted;

	if (!wanted->sampling)
		note_question(wanted, observer, recording);
	if (observer == &fm_observer_windows)
		chosen.counters = observer->name;
	return observer->run(&chosen, recording, error);
}

int fm_observe_note_unseen(struct fm_recording *recording, int exit_status, int signal, struct fm_error *error)
{
	struct fm_error why = *error;

	recording->run.exit_status = exit_status;
	recording->run.signal = signal;
	/* that it could not be seen is no failure; that the results are damaged is one */
	return fm_error_set(error, why.code == ENOTSUP ? ECANCELED : why.code, "%s; the program itself ended with %d",
	                    why.message, exit_status);
}

static bool has_threads(const struct fm_recording *recording)
{
	return recording->threads_count > recording->processes_count;
}

static double string_lines(const struct fm_recording *recording)
{
	double lines = 0;

	for (size_t i = 0; i < recording->processes_count; i++)
		lines += (double)recording->processes[i].string_lines;
	return lines;
}

/* Would every access be seen soon enough? Emulated ones take 200 to 300 ns an instruction, others 30 to 50. But few
   windows say little of threads that get in each other's way, and waiting ones execute far more instructions here. */
static bool is_over_at_once(const struct fm_recording *recording)
{
	const double most = has_threads(recording) ? FM_SEE_ALL_THREADS : FM_SEE_ALL_INSTRUCTIONS;
	double instructions = 0;

	for (size_t i = 0; i < recording->processes_count; i++)
		instructions += (double)recording->processes[i].instructions;
	return instructions + FM_STRING_LINE_INSTRUCTIONS * string_lines(recording) < most &&
	       recording->run.engine_seconds < FM_SEE_ALL_SECONDS;
}

/* Too short for windows: one of the runs that were asked for had better see every access. */
static bool is_too_short(const struct fm_recording *recording)
{
	return (recording->windows_count < FM_WINDOWS_LEAST && recording->run.engine_seconds < FM_WINDOWLESS_SECONDS &&
	        string_lines(recording) < FM_WINDOWLESS_STRING_LINES) ||
	       (recording->windows_count < FM_WINDOWS_FEW && is_over_at_once(recording));
}

/* Every access, after a run with too few windows. */
static int see_all(const struct fm_observation *wanted, struct fm_recording **recording, struct fm_error *error)
{
	struct fm_recording *fresh = fm_recording_create();
	struct fm_observation again = *wanted;
	int64_t exit_status = (*recording)->run.exit_status;
	int r;

	if (!fresh)
		return fm_error_set(error, ENOMEM, "out of memory");
	again.seen = true;
	again.repeats--;
	/* short threads hardly ever meet; emulated, they take turns */
	if (has_threads(*recording))
		again.engine = "qemu";
	fm_recording_free(*recording);
	*recording = fresh;
	fm_observe_note_run(wanted, fresh);
	r = run_chosen(&fm_observer_exact, &again, fresh, error);
	fresh->run.exit_status = exit_status;
	return r;
}

/* The other requested runs, without visible output. */
static int repeat(const struct fm_observation *wanted, struct fm_recording **recording, struct fm_error *error)
{
	const struct fm_native_wishes wishes = {
	    .least = (unsigned)wanted->repeats - 1, .most = (unsigned)wanted->repeats - 1, .silent = true};
	int64_t exit_status = (*recording)->run.exit_status;
	int r;

	if ((*recording)->run.signal || (wanted->interrupted && *wanted->interrupted))
		return 0;
	if (fm_input_was_read()) {
		fm_observe_remark(wanted, "its input came through a pipe, which can be read only once: it ran once");
		return 0;
	}
	if (wanted->repeats > 2 && is_too_short(*recording))
		return see_all(wanted, recording, error);
	(*recording)->run.engine_output_bytes = -1;
	/* its time, measured, replaces the estimate of the first run */
	memset(&(*recording)->native, 0, sizeof((*recording)->native));
	(*recording)->native_threads_count = 0;
	(*recording)->native_regions_count = 0;
	r = fm_native_observe(wanted, &wishes, *recording, error);
	(*recording)->run.exit_status = exit_status;
	return r;
}

int fm_observe(const struct fm_observation *wanted, struct fm_recording **ret_recording, struct fm_error *error)
{
	struct fm_recording *recording = fm_recording_create();
	const struct fm_observer *observer = NULL;
	int r;

	if (!recording)
		return fm_error_set(error, ENOMEM, "out of memory");
	fm_observe_note_run(wanted, recording);
	r = wanted->sampling ? choose_sampler(wanted, recording, &observer, error)
	                     : choose(wanted, recording, &observer, error);
	fm_input_remember();
	if (!r)
		r = run_chosen(observer, wanted, recording, error);
	if (!r && wanted->repeats > 1 && observer == &fm_observer_windows)
		r = repeat(wanted, &recording, error);
	if (!r && wanted->group && fm_recording_set(recording, "group", wanted->group))
		r = fm_error_set(error, ENOMEM, "out of memory");
	if (!r)
		r = fm_recording_settle(recording, error);
	if (!r && fm_estimates_keep(recording))
		r = fm_error_set(error, ENOMEM, "out of memory");
	/* the exit status is needed even without results */
	if (r && r != -ECANCELED) {
		fm_recording_free(recording);
		return r;
	}
	*ret_recording = recording;
	return r;
}
