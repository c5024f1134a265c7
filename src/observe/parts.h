/* Shared by the observers. */
#ifndef FATHOM_OBSERVE_PARTS_H
#define FATHOM_OBSERVE_PARTS_H

#include "base/launch.h"
#include "engine/engine.h"
#include "observe/observe.h"

#define OBSERVER(identifier) extern const struct fm_observer fm_observer_##identifier;
#include "observe/observers.def"
#undef OBSERVER

/* Records program, machine and time. */
void fm_observe_note_run(const struct fm_observation *wanted, struct fm_recording *recording);

/* For a program that ran unobserved, for the reason in `error`: appends its exit status. Returns -ECANCELED, or the
   error if the tool failed. */
int fm_observe_note_unseen(struct fm_recording *recording, int exit_status, int signal, struct fm_error *error);

/* Number and duration of native runs. */
struct fm_native_wishes {
	unsigned least, most; /* runs */
	double seconds;       /* time limit for starting runs beyond `least` */
	bool silent;          /* the first run's output is measured, too, and not shown */
};
int fm_native_observe(const struct fm_observation *wanted, const struct fm_native_wishes *wishes,
                      struct fm_recording *recording, struct fm_error *error);

/* Runs the program in the engine and records its results with names. */
int fm_engine_observe(const struct fm_observation *wanted, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error);

/* Converts the request to engine options; `cores` is a buffer for the core list and must outlive the options. */
int fm_engine_wishes(const struct fm_observation *wanted, const struct fm_machine_description *machine, char *cores,
                     size_t size, struct fm_engine_options *ret_options, struct fm_error *error);

/* Runs the program in the engine on wanted->machine, or on `host`. Writes a sample per `every` references into a
   folder: an absolute path, with a file `session` (record/stream.h). Core timing only on request, since levels do not
   need it. -ENOTSUP without QEMU or without a profile of this machine. The exit status of the program is no error. */
struct fm_engine_sampled {
	struct fm_launch_end end;
	bool killed;                           /* ignored the request to end */
	struct fm_machine_description machine; /* simulated machine: names and latencies of the levels */
	uint64_t references;                   /* of all processes, sampled or not */
	uint64_t lost_processes;               /* processes not followed for lack of room */
};
int fm_engine_sample(const struct fm_observation *wanted, const char *folder, uint64_t every,
                     struct fm_engine_sampled *ret_sampled, struct fm_error *error);

/* Adds the engine's counts as rows of a recording. */
int fm_results_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error);

/* Scales the timed stretches of a region to all its instructions. */
void fm_region_scale_timing(struct fm_recorded_region *region);

/* Records the engine of a process and its coverage. */
void fm_native_record(const struct fm_results *results, struct fm_recorded_process *process);

/* True if the request implies windows. */
bool fm_wants_windows(const struct fm_observation *wanted);

/* Adds the windows as rows of the recording, and scales the other rows from sums over windows to totals of the run. */
int fm_windows_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error);

/* Adds moments from the windows of the first process, at intervals of `interval` seconds of its time. */
int fm_windows_moments(struct fm_recording *recording, double interval, struct fm_error *error);

/* Estimates the native run time from an instrumented run (same_run.c). A run too short for a measurement gets a wide
   interval and 0 trials. */
struct fm_markers;
void fm_same_run_time(const struct fm_engine_run *run, double hertz, struct fm_recorded_native *native);
/* … and the waiting of its threads, by the scheduler's accounts. */
int fm_same_run_threads(const struct fm_engine_run *run, struct fm_recording *recording, struct fm_error *error);
int fm_same_run_regions(const struct fm_markers *markers, double seconds, struct fm_recording *recording,
                        struct fm_error *error);
/* Native time of the counted code in one process of the run; index from 0. */
double fm_same_run_of(const struct fm_engine_run *run, unsigned index);
/* Records the coverage of the processor time, and the reasons for the rest. */
void fm_seen_share(const struct fm_engine_run *run, double hertz, struct fm_recorded_run *recorded);
/* Coverage of a recording with samples; `used`: processor time by the kernel's account. */
struct fm_session;
void fm_seen_share_sampled(double used, const struct fm_session *session, struct fm_recording *recording);
/* Uncounted instructions over counted ones. */
double fm_same_run_uncounted(const struct fm_results *results);
/* The same of native rests only. */
double fm_same_run_rested(const struct fm_results *results);

/* Where the threads of a process were while they ran natively. `symbols`: names of its code; NULL: none. */
struct fm_symbols;
int fm_positions_record(const struct fm_results *results, uint32_t process, struct fm_symbols *symbols,
                        struct fm_recording *recording);
/* … and of rounds of the laboratory to the table timed. */
int fm_timings_record(const struct fm_results *results, uint32_t process, struct fm_symbols *symbols,
                      struct fm_recording *recording);

/* Time in code without counting, over the rest of the time converted to such code. */
double fm_same_run_plain(const struct fm_results *results);

/* Diverts standard output to a file. Returns the saved descriptor, for fm_output_restore(), which returns the file's
   size. */
int fm_output_divert(void);
int64_t fm_output_restore(int saved);

/* Moves standard input to its first position. False if it cannot seek: readers then get an empty input. */
bool fm_input_rewind(void);
/* True if the program has read from standard input since fm_input_remember(); detectable for pipes only. */
bool fm_input_was_read(void);
void fm_input_remember(void);

#endif
