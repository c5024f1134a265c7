/* What the parts of observing share. */
#ifndef FATHOM_OBSERVE_PARTS_H
#define FATHOM_OBSERVE_PARTS_H

#include "base/launch.h"
#include "engine/engine.h"
#include "observe/observe.h"

#define OBSERVER(identifier) extern const struct fm_observer fm_observer_##identifier;
#include "observe/observers.def"
#undef OBSERVER

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

/* How a process was run natively, and how much of it was seen. */
void fm_native_record(const struct fm_results *results, struct fm_recorded_process *process);

/* Was the program to be looked at through windows? */
bool fm_wants_windows(const struct fm_observation *wanted);

/* The windows as rows of the recording; what the other rows have is the sum of the windows before, and becomes that of
   the whole run. */
int fm_windows_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error);

/* From now on what is written to standard output goes into a file; the end gives its size and puts the old one back. */
int fm_output_divert(void);
int64_t fm_output_restore(int saved);

/* Standard input at the place where it was at first. false when it cannot be: what reads it will find nothing. */
bool fm_input_rewind(void);
void fm_input_remember(void);

#endif
