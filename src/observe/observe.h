/* Observers fill a recording with the observations of a program. Each has a name, a kind, a priority and a probe that
   succeeds or gives a reason; fm_observe() chooses one. */
#ifndef FATHOM_OBSERVE_OBSERVE_H
#define FATHOM_OBSERVE_OBSERVE_H

#include "observe/sampling_wishes.h"
#include "recording/recording.h"

enum fm_observer_kind {
	FM_OBSERVER_COUNTERS,
	FM_OBSERVER_SAMPLER,
	FM_OBSERVER_ENGINE,
	FM_OBSERVER_INTERFERENCE,
	FM_OBSERVER_NATIVE, /* native runs, for the time of the program */
};

/* A request. Texts belong to the caller. */
struct fm_observation {
	char *const *program;  /* NULL with processes or system_wide */
	const char *counters;  /* name of an observer, "auto" or "simulated"; NULL: auto */
	const char *machine;   /* name of a simulated machine; NULL: this machine */
	const char *events;    /* list of names; NULL: levels and cycles */
	const char *group;     /* text of the performance group of `events`; NULL: none */
	const char *processes; /* numbers of running processes */
	bool system_wide, per_thread;
	uint64_t interval_ms, repeats;
	uint64_t moment_cycles; /* on a simulated machine: cycles between moments; 0: none, or by interval_ms */
	bool seen;              /* an earlier run has shown the program's output; further output is only measured */
	/* programs beside, on the same simulated machine: as texts, and as argument vectors */
	const char *const *beside_texts;
	char *const *const *beside;
	unsigned beside_count;
	bool beside_again; /* programs that end early are restarted */
	/* in the engine */
	const char *engine;         /* "native" or "qemu"; NULL: automatic */
	double overhead;            /* with windows: permitted share; 0: default */
	bool no_laboratory;         /* with windows: waiting for cache lines is simulated only */
	double slowdown, precision; /* with windows: largest slowdown, and precision; 0: default */
	const char *cores;
	bool timing, no_timing, sampled_timing, free_running, no_prefetch;
	bool curve; /* miss-ratio curves */
	uint64_t skew, page_bytes;
	const char *region;
	uint64_t first_instance, last_instance;
	uint64_t window_begin, window_end;
	/* sampling of references; NULL: none */
	const struct fm_sampling_wishes *sampling;
	const char *samples; /* the folder for samples of references, and their period */
	uint64_t every;
	/* callbacks and cancellation */
	const volatile bool *interrupted;
	void (*remark)(void *context, const char *text); /* may be NULL */
	void (*interval)(void *context, const struct fm_recording *recording,
	                 size_t first); /* intervals from index `first` on are new */
	void *context;
};

struct fm_observer {
	const char *name;
	enum fm_observer_kind kind;
	int priority; /* the highest priority with a successful probe is chosen */
	/* 0 if it can observe the request here, else -ENOTSUP with reason and remedy. May write findings into the
	   recording. */
	int (*probe)(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *why);
	/* The exit status of the program is no error. */
	int (*run)(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error);
	bool simulates; /* sampler on a simulated machine, of one in N references: --machine, --every */
};

extern const struct fm_observer *const fm_observers[]; /* ended by NULL */

/* An observer other than samplers, which may have the same names. */
const struct fm_observer *fm_observer_find(const char *name);

/* A sampler by its name; NULL: unknown. */
const struct fm_observer *fm_sampler_find(const char *name);

/* "auto, burst, exact", for --sampler. Returns text. */
const char *fm_sampler_names(char *text, size_t size);

/* Chooses an observer, runs it and completes the recording. -EINVAL for contradictory options, -ENOTSUP without a
   suitable observer, -ENOENT and -EACCES for the program. -ECANCELED: the program was ended by a signal or interrupted
   before the observation was complete; only run.exit_status is valid. */
int fm_observe(const struct fm_observation *wanted, struct fm_recording **ret_recording, struct fm_error *error);

/* Names of observers for --counters, "auto, perf, exact, windows or simulated". Returns text. */
const char *fm_observer_names(char *text, size_t size);

/* Sends a remark to the caller's `remark` callback, if any. */
void fm_observe_remark(const struct fm_observation *wanted, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
