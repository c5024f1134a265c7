/* Observing a program: ways of observing (observers) fill a recording. Each has a name, a kind, a priority and a probe
   that succeeds or says why not; fm_observe() chooses. */
#ifndef FATHOM_OBSERVE_OBSERVE_H
#define FATHOM_OBSERVE_OBSERVE_H

#include "observe/sampling_wishes.h"
#include "recording/recording.h"

enum fm_observer_kind {
	FM_OBSERVER_COUNTERS,
	FM_OBSERVER_SAMPLER,
	FM_OBSERVER_ENGINE,
	FM_OBSERVER_INTERFERENCE,
	FM_OBSERVER_NATIVE, /* the program by itself, for its time */
};

/* What is wanted. Texts belong to the caller. */
struct fm_observation {
	char *const *program;  /* NULL with processes or system_wide */
	const char *counters;  /* the name of an observer, "auto", or "simulated"; NULL is auto */
	const char *machine;   /* a simulated one; NULL: this machine */
	const char *events;    /* by name; NULL: levels and cycles */
	const char *group;     /* text of a performance group, whose events these are; NULL: none */
	const char *processes; /* running ones, by number */
	bool system_wide, per_thread;
	uint64_t interval_ms, repeats;
	bool seen; /* it has run before, and people saw what it wrote: from now on that is only measured */
	/* Programs beside it on the same simulated machine: as people wrote them, and in words; so many. */
	const char *const *beside_texts;
	char *const *const *beside;
	unsigned beside_count;
	bool beside_again; /* one that ends too early is started again */
	/* in the engine */
	const char *engine;         /* "native" or "qemu"; NULL: whichever fits */
	double slowdown, precision; /* with windows: how much slower it may be, how precise it has to be; 0: default */
	const char *cores;
	bool timing, no_timing, sampled_timing, free_running, no_prefetch;
	bool curve; /* misses of caches of any size */
	uint64_t skew, page_bytes;
	const char *region;
	uint64_t first_instance, last_instance;
	uint64_t window_begin, window_end;
	/* references are sampled; NULL: they are not */
	const struct fm_sampling_wishes *sampling;
	const char *samples; /* the folder for samples of references; of every so many one */
	uint64_t every;
	/* of the caller */
	const volatile bool *interrupted;
	void (*remark)(void *context, const char *text); /* may be NULL */
	void (*interval)(void *context, const struct fm_recording *recording,
	                 size_t first); /* intervals from there on are new */
	void *context;
};

struct fm_observer {
	const char *name;
	enum fm_observer_kind kind;
	int priority; /* the highest that can is chosen */
	/* Can it observe this here? 0, or -ENOTSUP with the reason and the remedy. It may leave what it found out in
	   the recording. */
	int (*probe)(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *why);
	/* However the program ends is no error. */
	int (*run)(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error);
};

extern const struct fm_observer *const fm_observers[]; /* ended by NULL */

/* Of those that count, by name: a sampler may have the same. */
const struct fm_observer *fm_observer_find(const char *name);

/* Choose, run, settle. -EINVAL when the wishes exclude each other, -ENOTSUP when nothing can observe it here, -ENOENT
   and -EACCES for the program. -ECANCELED: the program ended by a signal or was interrupted before everything was
   observed; run.exit_status says how, and there is nothing to analyse. */
int fm_observe(const struct fm_observation *wanted, struct fm_recording **ret_recording, struct fm_error *error);

/* Names of observers for --counters, "auto, perf, exact, windows or simulated". Returns text. */
const char *fm_observer_names(char *text, size_t size);

/* A remark for whoever wants to hear it. */
void fm_observe_remark(const struct fm_observation *wanted, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
