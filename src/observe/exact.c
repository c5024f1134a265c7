/* The program in the engine: every load and store on a simulated machine. Without --machine also native runs (-r), for
   its time. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "counters/group.h"
#include "counters/markers.h"
#include "measure/host_load.h"
#include "observe/assumed.h"
#include "profile/simulated_host.h"
#include "observe/line_curves.h"
#include "observe/machines.h"
#include "observe/parts.h"
#include "simulator/simulated.h"

static unsigned long largest_number(const char *list)
{
	unsigned long largest = 0;

	while (*list) {
		char *end;
		unsigned long number = strtoul(list, &end, 10);

		largest = number > largest ? number : largest;
		list = end + (*end != '\0');
	}
	return largest;
}

/* The number of cores for others: those outside of the list, or all but one. */
static unsigned cores_left(const char *list, unsigned cores)
{
	bool used[FM_SIMULATED_CORES_MAX] = {false};
	unsigned left = 0;

	if (!list)
		return cores - 1;
	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		for (; first <= last && first < cores; first++)
			used[first] = true;
		list = end + (*end != '\0');
	}
	for (unsigned i = 0; i < cores; i++)
		left += !used[i];
	return left;
}

/* Documents */

static int keep(struct fm_recording *recording, const char *name, const char *text, struct fm_error *error)
{
	return fm_recording_set(recording, name, text) ? fm_error_set(error, ENOMEM, "out of memory") : 0;
}

static int keep_file(struct fm_recording *recording, const char *name, const char *path, struct fm_error *error)
{
	char *text;
	int r = fm_file_text(path, &text, error);

	if (!r) {
		r = keep(recording, name, text, error);
		free(text);
	}
	return r;
}

/* The events of the simulated machine, and whether those asked for are among them: before the run, which may be long.
 */
static int keep_events(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error)
{
	struct fm_simulated_events *events;
	char path[4096], list[4096], *saved = NULL, missing[300] = "";
	size_t used = 0;
	int r = fm_simulated_load(wanted->machine, &events, error);

	if (r) {
		if (error->code == ENOENT)
			error->code = ENOTSUP;
		return -error->code;
	}
	snprintf(list, sizeof(list), "%s", wanted->events ? wanted->events : "");
	for (char *name = strtok_r(list, ",{}", &saved); name && !r; name = strtok_r(NULL, ",{}", &saved)) {
		unsigned index;

		r = fm_simulated_find(events, name, &index, error);
		if (r && wanted->group && used < sizeof(missing)) {
			used +=
			    (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s", used ? ", " : "", name);
			r = 0;
		}
	}
	fm_simulated_free(events);
	if (used)
		return fm_error_set(error, ENOTSUP, "%s does not have these events of the group: %s", wanted->machine,
		                    missing);
	if (!r && !fm_description_file(wanted->machine, "events", path, sizeof(path)))
		r = keep_file(recording, "machine events", path, error);
	return r;
}

/* Formulas for the counters of the machine. */
static int keep_formulas(const char *machine, const char *family, struct fm_recording *recording,
                         struct fm_error *error)
{
	char *profile, path[4096], *text = NULL;
	struct fm_error ignored;
	json_t *root, *metrics;
	int r = fm_profile_path(machine, &profile, error);

	if (r)
		return r;
	root = fm_file_text(profile, &text, &ignored) ? NULL : json_loads(text, 0, NULL);
	free(text);
	metrics = json_object_get(root, "metrics");
	text = metrics ? json_dumps(metrics, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	if (text)
		r = keep(recording, "metrics", text, error);
	free(text);
	if (!r && fm_vendor_path(family, path, sizeof(path)))
		r = keep_file(recording, "vendor group", path, error);
	json_decref(root);
	free(profile);
	return r;
}

/* Running */

bool fm_wants_windows(const struct fm_observation *wanted)
{
	return wanted->counters && !strcmp(wanted->counters, fm_observer_windows.name);
}

/* Whether the native engine is the better one, unless one is asked for: where cycles of stretches are enough, and
   nothing is wanted that only the other one has. */
static bool suits_native(const struct fm_observation *wanted)
{
	const struct fm_engine_options options = {0};
	struct fm_error ignored;

	if (wanted->sampled_timing)
		return true;
	return !wanted->machine && wanted->program && !wanted->timing && !wanted->interval_ms && !wanted->window_end &&
	       !wanted->free_running && !wanted->skew && !wanted->sampling &&
	       !fm_engine_check_tracing(&options, wanted->program[0], &ignored);
}

static void remark_waiting(void *context)
{
	fm_observe_remark(context, "the program has ended; what it did last is still being simulated");
}

int fm_engine_wishes(const struct fm_observation *wanted, const struct fm_machine_description *machine,
                     char *cores_text, size_t size, struct fm_engine_options *ret_options, struct fm_error *error)
{
	unsigned cores = fm_description_cpus(machine);
	bool simulated_counters = wanted->counters && !strcmp(wanted->counters, "simulated"),
	     windows = fm_wants_windows(wanted),
	     native = windows || wanted->curve || wanted->beside_count ||
	              (wanted->engine && !strcmp(wanted->engine, "native")) ||
	              (!wanted->engine && suits_native(wanted));

	if (wanted->cores && largest_number(wanted->cores) >= cores)
		return fm_error_set(error, EINVAL, "--cores %s: %s has cores 0 to %u", wanted->cores, machine->name,
		                    cores - 1);
	if (wanted->beside_count > cores_left(wanted->cores, cores))
		return fm_error_set(error, EINVAL, "%s has %u cores%s%s: too few for %u programs beside this one",
		                    machine->name, cores, wanted->cores ? ", and the program has " : "",
		                    wanted->cores ? wanted->cores : "", wanted->beside_count);
	snprintf(cores_text, size, "0-%u", cores - 1);
	*ret_options = (struct fm_engine_options){
	    .machine = machine,
	    .cores = wanted->cores ? wanted->cores : cores_text,
	    .timing = wanted->timing || wanted->interval_ms || wanted->moment_cycles || wanted->sampled_timing ||
	              (!wanted->no_timing && (windows || !wanted->machine || simulated_counters)),
	    .free_running = wanted->free_running,
	    .no_prefetch = wanted->no_prefetch,
	    .skew = wanted->skew,
	    .page_bytes = wanted->page_bytes,
	    .region = wanted->region,
	    .first_instance = wanted->first_instance,
	    .last_instance = wanted->last_instance,
	    .window_begin = wanted->window_begin,
	    .window_end = wanted->window_end};
	/* with a machine of its own, or when all is asked for, all of it */
	ret_options->timing_sampled = native && (wanted->sampled_timing || (!wanted->machine && !wanted->timing));
	ret_options->kind = native ? FM_ENGINE_NATIVE : FM_ENGINE_QEMU;
	ret_options->curve = wanted->curve;
	ret_options->beside = wanted->beside;
	ret_options->beside_count = wanted->beside_count;
	ret_options->beside_again = wanted->beside_again;
	ret_options->windows.on = windows;
	ret_options->windows.pace = windows && !wanted->machine;
	ret_options->silent = wanted->seen;
	ret_options->waiting = remark_waiting;
	ret_options->waiting_context = (void *)wanted;
	ret_options->windows.slowdown = wanted->slowdown;
	ret_options->windows.overhead = wanted->overhead;
	ret_options->windows.no_laboratory = wanted->no_laboratory;
	ret_options->windows.precision = wanted->precision > 0 ? wanted->precision : FM_WINDOWS_PRECISION;
	ret_options->interval = wanted->moment_cycles;
	if (wanted->interval_ms)
		ret_options->interval = (uint64_t)((double)wanted->interval_ms * machine->frequency_ghz * 1e6);
	return 0;
}

/* In windows without --machine the program runs only once: its regions have their times from this run too. */
static int execute(const struct fm_engine_options *options, const struct fm_observation *wanted,
                   struct fm_engine_run *ret_run, struct fm_recording *recording, struct fm_error *error)
{
	bool once = options->windows.pace;
	struct fm_markers *markers = NULL;
	uint64_t huge = fm_memory_huge_faults();
	struct fm_error ignored;
	int r;

	if (once && !fm_markers_create(NULL, 0, &markers, &ignored)) {
		if (wanted->region && wanted->last_instance)
			fm_markers_choose(markers, wanted->region, wanted->first_instance, wanted->last_instance);
		fm_markers_announce(markers);
	}
	r = fm_engine_execute(options, wanted->program, ret_run, error);
	huge = fm_memory_huge_faults() - huge;
	if (!r && once) {
		fm_same_run_time(ret_run, options->machine->frequency_ghz * 1e9, &recording->native);
		recording->native.huge_always = fm_memory_huge_always();
		recording->native.huge_faults = huge < recording->native.faults ? huge : recording->native.faults;
		r = fm_same_run_threads(ret_run, recording, error);
		if (!r && markers)
			r = fm_same_run_regions(markers, ret_run->seconds, recording, error);
	}
	if (markers) {
		fm_markers_conceal();
		fm_markers_free(markers);
	}
	return r;
}

static int record_beside(const struct fm_observation *wanted, const struct fm_engine_run *run,
                         struct fm_recording *recording, struct fm_error *error)
{
	for (unsigned i = 0; i < wanted->beside_count; i++) {
		const struct fm_result_beside *result = &run->results->beside[i];
		const struct fm_engine_program_beside *neighbour = &run->beside[i];
		struct fm_recorded_beside *row = fm_recording_add(recording, beside);

		if (!row)
			return fm_error_set(error, ENOMEM, "out of memory");
		*row = (struct fm_recorded_beside){.core = result->first_core,
		                                   .runs = neighbour->runs,
		                                   .processes = result->processes,
		                                   .threads = result->threads,
		                                   .ended = neighbour->ended,
		                                   .exit_status = neighbour->exit_status,
		                                   .instructions = result->instructions,
		                                   .counts = result->counts};
		snprintf(row->command, sizeof(row->command), "%s", wanted->beside_texts[i]);
		if (neighbour->ended)
			fm_observe_remark(
			    wanted, "%s ended with %d before the program did%s", row->command, neighbour->exit_status,
			    neighbour->exit_status || wanted->beside_again ? "" : "; --beside-again starts it again");
	}
	if (wanted->beside_count && recording->processes_count > 1)
		fm_observe_remark(
		    wanted, "processes that the program made or executed had caches of their own, without the commands "
		            "of --beside: run the program itself, without a shell around it");
	return 0;
}

int fm_engine_observe(const struct fm_observation *wanted, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error)
{
	struct fm_machine_description shared = *machine;
	struct fm_engine_options options;
	struct fm_engine_run run;
	struct fm_core_watch *watch;
	struct fm_figure share;
	char all_cores[32], *text;
	int r = fm_engine_wishes(wanted, machine, all_cores, sizeof(all_cores), &options, error);

	if (r)
		return r;
	/* the live machine's core may be shared with others meanwhile */
	watch = wanted->machine ? NULL : fm_core_watch_begin(fm_host_best_rate(machine->frequency_ghz));
	r = execute(&options, wanted, &run, recording, error);
	share = fm_core_watch_end(watch);
	if (r && run.unseen)
		r = fm_observe_note_unseen(recording, run.exit_status, run.signal, error);
	if (r)
		return r;
	if (share.available)
		shared.core.share = (unsigned)fmax(1, round(100 * share.value));
	r = fm_description_text(&shared, &text, error);
	if (!r) {
		r = keep(recording, "machine", text, error);
		free(text);
	}
	if (r) {
		fm_engine_run_free(&run);
		return r;
	}
	recording->asked.timing = options.timing;
	recording->run.signal = run.signal;
	recording->run.exit_status = recording->run.engine_exit_status = run.exit_status;
	recording->run.engine_seconds = run.seconds;
	snprintf(recording->run.engine, sizeof(recording->run.engine), "%s", options.windows.on ? "windows" : "exact");
	if (run.kind == FM_ENGINE_NATIVE)
		fm_seen_share(&run, machine->frequency_ghz * 1e9, &recording->run);
	r = fm_results_record(&run, machine, recording, error);
	if (!r)
		r = record_beside(wanted, &run, recording, error);
	if (!r && options.windows.on)
		r = fm_windows_record(&run, machine, recording, error);
	if (!r && options.windows.on && options.curve) {
		fm_line_curves_settle(options.region, recording);
		if (!recording->curves_count)
			fm_observe_remark(wanted,
			                  "no lines were followed, so there is no curve: --counters exact draws it");
	}
	if (!r && options.windows.on && wanted->interval_ms)
		r = fm_windows_moments(recording, (double)wanted->interval_ms * 1e-3, error);
	fm_engine_run_free(&run);
	return r;
}

/* Native runs, by the number of -r, then one run in the engine, whose output was shown already. Without -r there is
   only the run in the engine, and the time is simulated. */
static int run_combined(const struct fm_observation *wanted, const struct fm_machine_description *machine,
                        struct fm_recording *recording, struct fm_error *error)
{
	struct fm_recorded_native *native = &recording->native;
	struct fm_observation again = *wanted;
	unsigned natively = wanted->repeats ? (unsigned)wanted->repeats - 1 : 0;
	int r, saved;

	again.seen = natively || wanted->seen;
	if (natively) {
		const struct fm_native_wishes wishes = {.least = natively, .most = natively, .silent = wanted->seen};

		r = fm_native_observe(wanted, &wishes, recording, error);
		if (r)
			return r;
		if (native->signalled || (wanted->interrupted && *wanted->interrupted)) {
			recording->run.exit_status = native->exit_status;
			return fm_error_set(
			    error, ECANCELED, "the program ended with %d after %.3g s; it was not run again",
			    (int)native->exit_status, native->seconds.available ? native->seconds.value : 0);
		}
		if (!fm_input_rewind() && !isatty(STDIN_FILENO))
			fm_observe_remark(wanted,
			                  "standard input cannot be read twice: the engine's run finds it empty");
	} else {
		native->seconds = fm_figure_unavailable("it ran once, in the engine; -r 3 runs it natively, too");
	}
	if (!again.seen)
		return fm_engine_observe(&again, machine, recording, error);
	saved = fm_output_divert();
	r = fm_engine_observe(&again, machine, recording, error);
	recording->run.engine_output_bytes = fm_output_restore(saved);
	/* the exit status is that of the run with visible output */
	if (!r && natively && !(wanted->interrupted && *wanted->interrupted))
		recording->run.exit_status = native->exit_status;
	return r;
}

static int run(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error)
{
	bool simulated_counters = wanted->counters && !strcmp(wanted->counters, "simulated");
	struct fm_machine_description machine;
	char *profile = NULL;
	int r;

	/* the profile has peaks and the expected error */
	if (!wanted->machine) {
		r = fm_profile_ensure(wanted, error);
		if (!r)
			r = fm_profile_text(NULL, &profile, error);
		if (r == -ECANCELED)
			recording->run.exit_status = 130;
		if (!r)
			r = keep(recording, "profile", profile, error);
		free(profile);
		if (r)
			return r;
	}
	r = fm_machine_chosen(wanted->machine ? wanted->machine : "host", &machine, error);
	if (r) {
		/* a machine that is not there is no program that is not there */
		if (error->code == ENOENT || error->code == EBADMSG)
			error->code = EINVAL;
		return -error->code;
	}
	if (wanted->machine && (wanted->events || simulated_counters))
		r = keep_events(wanted, recording, error);
	if (!r && simulated_counters)
		r = keep_formulas(wanted->machine, machine.name, recording, error);
	if (wanted->page_bytes)
		machine.page_bytes = (unsigned)wanted->page_bytes;
	if (r)
		return r;
	fflush(stdout);
	r = wanted->machine || fm_wants_windows(wanted) ? fm_engine_observe(wanted, &machine, recording, error)
	                                                : run_combined(wanted, &machine, recording, error);
	if (!r && recording->run.signal == 4)
		fm_observe_remark(
		    wanted,
		    "the program met an instruction that the engine does not have, such as AVX-512: build it for AVX2 "
		    "(-march=x86-64-v3), or mask it (GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F)");
	for (size_t i = 0; !r && i < recording->executions_count; i++)
		fm_observe_remark(wanted, "the program executed %s, which was not followed",
		                  recording->executions[i].program);
	return r;
}

static int probe(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *why)
{
	(void)recording, (void)why;
	return wanted->program
	           ? 0
	           : fm_error_set(why, ENOTSUP, "the emulator runs a program from its beginning: no -p, -a");
}

const struct fm_observer fm_observer_exact = {
    .name = "exact", .kind = FM_OBSERVER_ENGINE, .priority = 0, .probe = probe, .run = run};

static int probe_windows(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *why)
{
	const struct fm_engine_options options = {.windows.on = true};

	(void)recording;
	if (!wanted->program)
		return fm_error_set(why, ENOTSUP, "windows need a program that is run from its beginning: no -p, -a");
	if (wanted->window_end || wanted->events || wanted->free_running || wanted->skew ||
	    (wanted->engine && strcmp(wanted->engine, "native") != 0))
		return fm_error_set(why, ENOTSUP,
		                    "windows have no --window, -e, --free-running, --skew and --engine qemu");
	return fm_engine_check_tracing(&options, wanted->program[0], why);
}

/* The same, natively and through windows. */
const struct fm_observer fm_observer_windows = {
    .name = "windows", .kind = FM_OBSERVER_ENGINE, .priority = 15, .probe = probe_windows, .run = run};
