/* What sampled loads from each level cost on this machine, at this time, with the same sampler: a program that chases
   pointers through as much memory as belongs to a level (programs/calibrate.c) is recorded for a moment. */
#ifndef FATHOM_OBSERVE_CALIBRATE_H
#define FATHOM_OBSERVE_CALIBRATE_H

#include "observe/observe.h"

enum { FM_CALIBRATION_MAX = 16384, FM_CALIBRATION_LEVELS = 6 };

/* Kinds of struct fm_recorded_calibration. */
enum { FM_CALIBRATION_TRANSLATED, FM_CALIBRATION_UNTRANSLATED };

struct fm_calibration {
	char boot[40], processor[96]; /* where it was taken: it holds for nothing else */
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

/* Levels of this machine as far as they can be seen, and the chases for them. Returns how many steps. */
unsigned fm_calibration_plan(struct fm_calibration *calibration, struct fm_calibration_step *steps, unsigned room);

/* The loads of the calibrating program in a folder of parts, as rows. */
int fm_calibration_add(struct fm_calibration *calibration, const struct fm_calibration_step *step, const char *folder,
                       struct fm_error *error);

/* What one sample costs beyond what the runtime saw: `plain` and `sampled` are seconds for each iteration, taken in
   turns; iterations, samples and the ticks the runtime saw are sums over all sampled runs. */
uint32_t fm_calibration_signal_cost(const double *plain, const double *sampled, unsigned count, double iterations,
                                    double samples, double seen_ticks, double ticks_per_second);

/* Files. -ESTALE when it was taken too long ago, since another start of the machine, or elsewhere. */
int fm_calibration_load(const char *path, struct fm_calibration *ret_calibration);
int fm_calibration_save(const char *path, const struct fm_calibration *calibration, struct fm_error *error);
void fm_calibration_free(struct fm_calibration *calibration);

/* The one that is kept, or a new one. Takes about two seconds. -ECANCELED when interrupted. */
int fm_calibration_get(const struct fm_observation *wanted, const char *library, struct fm_calibration *ret_calibration,
                       struct fm_error *error);

/* Into the recording. */
int fm_calibration_record(const struct fm_calibration *calibration, struct fm_recording *recording);

#endif
