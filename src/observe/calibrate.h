/* Calibration: present costs of sampled loads from each level, on this machine, with the sampler of the recording. It
   records a program that chases pointers through data of each level (programs/calibrate.c). */
#ifndef FATHOM_OBSERVE_CALIBRATE_H
#define FATHOM_OBSERVE_CALIBRATE_H

#include "observe/observe.h"

enum { FM_CALIBRATION_MAX = 16384, FM_CALIBRATION_LEVELS = 6 };

/* Kinds of struct fm_recorded_calibration. */
enum { FM_CALIBRATION_TRANSLATED, FM_CALIBRATION_UNTRANSLATED };

struct fm_calibration {
	char boot[40], processor[96]; /* boot and processor for which it is valid */
	double taken;                 /* seconds of CLOCK_REALTIME */
	unsigned levels;
	char level_names[64];
	uint32_t signal_cost;
	struct fm_recorded_calibration *rows;
	size_t count;
};

/* One chase. */
struct fm_calibration_step {
	char level_name[12];
	unsigned level;
	uint64_t bytes;
	unsigned kind;
};

/* Determines the measurable levels of this machine and their chases. Returns the number of steps. */
unsigned fm_calibration_plan(struct fm_calibration *calibration, struct fm_calibration_step *steps, unsigned room);

/* Adds the sampled loads of the calibration program, from a folder of parts, as rows. */
int fm_calibration_add(struct fm_calibration *calibration, const struct fm_calibration_step *step, const char *folder,
                       struct fm_error *error);

/* Ticks of a sample outside of the runtime's own measurement. `plain` and `sampled`: seconds per iteration of
   interleaved runs. Iterations, samples and the runtime's ticks are sums over all sampled runs. */
uint32_t fm_calibration_signal_cost(const double *plain, const double *sampled, unsigned count, double iterations,
                                    double samples, double seen_ticks, double ticks_per_second);

/* Loads and saves a file. -ESTALE if it is too old, of another boot or of another machine. */
int fm_calibration_load(const char *path, struct fm_calibration *ret_calibration);
int fm_calibration_save(const char *path, const struct fm_calibration *calibration, struct fm_error *error);
void fm_calibration_free(struct fm_calibration *calibration);

/* Loads the kept calibration or makes a new one in about two seconds. -ECANCELED if interrupted. */
int fm_calibration_get(const struct fm_observation *wanted, const char *library, struct fm_calibration *ret_calibration,
                       struct fm_error *error);

/* Copies the calibration into the recording. */
int fm_calibration_record(const struct fm_calibration *calibration, struct fm_recording *recording);

#endif
