/* What the parts of observing share. */
#ifndef FATHOM_OBSERVE_PARTS_H
#define FATHOM_OBSERVE_PARTS_H

#include "base/launch.h"
#include "engine/engine.h"
#include "observe/observe.h"

#define OBSERVER(identifier) extern const struct fm_observer fm_observer_##identifier;
#include "observe/observers.def"
#undef OBSERVER

/* Which program it is, where and when. */
void fm_observe_note_run(const struct fm_observation *wanted, struct fm_recording *recording);

/* The program ran and ended, but what it did was not seen, for the reason in `error`, to which its end is added.
   Returns -ECANCELED, or the error, where it is a failure of ours. */
int fm_observe_note_unseen(struct fm_recording *recording, int exit_status, int signal, struct fm_error *error);

/* The program by itself. */
struct fm_native_wishes {
	unsigned least, most; /* runs */
	double seconds;       /* after these no further one is begun, beyond the least */
	bool silent;          /* also the first run's output is only measured */
};
int fm_native_observe(const struct fm_observation *wanted, const struct fm_native_wishes *wishes,
                      struct fm_recording *recording, struct fm_error *error);

/* The program in the engine, its results in the recording, with names. `output` is -1 or a descriptor for its output.
 */
int fm_engine_observe(const struct fm_observation *wanted, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error);

/* Its wishes for the engine; `cores` has room for the list of all, which lasts as long as the options. */
int fm_engine_wishes(const struct fm_observation *wanted, const struct fm_machine_description *machine, char *cores,
                     size_t size, struct fm_engine_options *ret_options, struct fm_error *error);

/* The program in the engine, on wanted->machine or on this one simulated; samples of one in every so many references in
   a folder, an absolute path with a file `session` (record/stream.h). With timing only if that is asked for: levels are
   the same with less of it. -ENOTSUP without QEMU, or without a profile of this machine; however the program ends is no
   error. */
struct fm_engine_sampled {
	struct fm_launch_end end;
	bool killed;                           /* it did not end when asked to */
	struct fm_machine_description machine; /* that was simulated: names and latencies of the levels */
	uint64_t references;                   /* of all processes, sampled or not */
	uint64_t lost_processes;               /* that could not be followed for want of room */
};
int fm_engine_sample(const struct fm_observation *wanted, const char *folder, uint64_t every,
                     struct fm_engine_sampled *ret_sampled, struct fm_error *error);

/* What the engine counted, as rows of a recording. */
int fm_results_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error);

/* What was timed of a region is a sample of its instructions. */
void fm_region_scale_timing(struct fm_recorded_region *region);

/* How a process was run natively, and how much of it was seen. */
void fm_native_record(const struct fm_results *results, struct fm_recorded_process *process);

/* Was the program to be looked at through windows? */
bool fm_wants_windows(const struct fm_observation *wanted);

/* The windows as rows of the recording; what the other rows have is the sum of the windows before, and becomes that of
   the whole run. */
int fm_windows_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error);

/* Moments of the first process, `interval` seconds of its own time apart, from its windows. */
int fm_windows_moments(struct fm_recording *recording, double interval, struct fm_error *error);

/* How long the program takes by itself, from the run in which it was counted; same_run.c. One that was too short for
   that to be measured in it (no trials in the figure) gets a wide interval. */
struct fm_markers;
void fm_same_run_time(const struct fm_engine_run *run, double hertz, struct fm_recorded_native *native);
/* … and what the scheduler said of its threads meanwhile. */
int fm_same_run_threads(const struct fm_engine_run *run, struct fm_recording *recording, struct fm_error *error);
int fm_same_run_regions(const struct fm_markers *markers, double seconds, struct fm_recording *recording,
                        struct fm_error *error);
/* Native time of what was counted in one of its processes, from 0. */
double fm_same_run_of(const struct fm_engine_run *run, unsigned index);
/* How much of the processor time was seen, and why not all. */
void fm_seen_share(const struct fm_engine_run *run, double hertz, struct fm_recorded_run *recorded);
/* The same of a recording with samples: `used` is the processor time that the kernel accounted for. */
struct fm_session;
void fm_seen_share_sampled(double used, const struct fm_session *session, struct fm_recording *recording);
/* As much as this was executed without being counted, compared with what was. */
double fm_same_run_uncounted(const struct fm_results *results);

/* Time in plain code, compared with the rest of the time as it would have been in plain code. */
double fm_same_run_plain(const struct fm_results *results);

/* From now on what is written to standard output goes into a file; the end gives its size and puts the old one back. */
int fm_output_divert(void);
int64_t fm_output_restore(int saved);

/* Standard input at the place where it was at first. false when it cannot be: what reads it will find nothing. */
bool fm_input_rewind(void);
/* Whether the program read from it since then, as far as that can be seen: of a pipe. */
bool fm_input_was_read(void);
void fm_input_remember(void);

#endif
