#include "model/simulated_waiting.h"

#include <math.h>
#include <string.h>

#include "model/doubt.h"
#include "model/threads.h"

/* The threads of a part, in cycles of simulated time. */
struct together {
	const struct fm_recording *recording;
	bool region; /* of a region, not of everything */
	double longest, busy;
	double most; /* instructions of the busiest */
	double handed;
	double transfers;                 /* of lines that others had changed */
	double spun, spun_low, spun_high; /* in loops that only look at a line of others */
	bool used[FM_SIMULATED_CORES_MAX];
};

static const struct fm_recorded_thread *thread_of(const struct fm_recording *recording, unsigned number)
{
	for (size_t i = 0; i < recording->threads_count; i++)
		if (!recording->threads[i].process && !recording->threads[i].others &&
		    recording->threads[i].thread == number)
			return &recording->threads[i];
	return NULL;
}

/* Spinning is known for the whole thread. The region has all of it, except for the part that fits into the rest of its
   time. */
static void add_spinning(struct together *together, const struct fm_part_thread *entry,
                         const struct fm_recorded_thread *thread)
{
	double cycles = (double)entry->timing->cycles, all = fmax(cycles, (double)thread->timing.cycles),
	       spun = fmin(all, fm_threads_spun(together->recording, thread->thread)),
	       low = fmax(0, spun - (all - cycles)), high = fmin(spun, cycles);

	together->spun_low += low;
	together->spun_high += high;
	together->spun += all > 0 ? fmin(high, fmax(low, spun * cycles / all)) : 0;
}

static void find_busiest(void *context, const struct fm_part_thread *entry)
{
	struct together *together = context;

	if (!entry->forked && !entry->others)
		together->most = fmax(together->most, (double)entry->work->instructions);
}

static void add(void *context, const struct fm_part_thread *entry)
{
	struct together *together = context;
	const struct fm_recorded_thread *thread =
	    entry->forked || entry->others ? NULL : thread_of(together->recording, entry->thread);

	if (!thread)
		return;
	together->longest = fmax(together->longest, (double)entry->elapsed);
	together->busy += (double)entry->timing->cycles;
	together->handed += (double)entry->timing->latency_stalls[FM_SERVED_CORE];
	together->transfers += (double)entry->counts->transfers_modified;
	add_spinning(together, entry, thread);
	/* one after the other on a core, threads do not wait for each other */
	if ((double)entry->work->instructions >
	    (entry->thread || together->region ? FM_WORK_LEAST : FM_WORK_STARTING) * together->most)
		together->used[thread->core % FM_SIMULATED_CORES_MAX] = true;
}

/* Threads take turns of many cycles, and a line moves once in each: if they ran at once, each access to a contended
   line could move it. */
static double most_handed(const struct together *together)
{
	const struct fm_recording *recording = together->recording;
	const struct fm_machine_description *machine = &recording->machine;
	double accesses = 0;

	for (size_t i = 0; i < recording->users_count; i++) {
		const struct fm_recorded_user *user = &recording->users[i];

		if (recording->shared[user->shared].modified >= FM_CONTENDED_LEAST)
			accesses += (double)(user->loads + user->stores) - (double)user->looks;
	}
	return fmax(together->handed,
	            accesses * (machine->cache_count ? machine->caches[machine->cache_count - 1].latency : 0));
}

static struct fm_figure simulated(double value, double low, double high)
{
	value = fmin(1, value);
	return fm_figure_make(value, fmin(value, low), fmin(1, fmax(value, high)), "", FM_ORIGIN_simulated, "exact", 1);
}

/* The time of the cores that the part used, from its beginning to its end; 0: not known. */
static double add_all(const struct fm_recording *recording, const struct fm_part *part, struct together *together,
                      unsigned *ret_cores)
{
	unsigned cores = 0;

	*together = (struct together){.recording = recording, .region = part->region};
	if (part->thread >= 0 || !recording->processes_count || recording->processes[0].native)
		return 0;
	for (size_t i = 0; i < recording->threads_count; i++)
		if (recording->threads[i].shares_core)
			return 0;
	fm_part_each(recording, part, find_busiest, together);
	fm_part_each(recording, part, add, together);
	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++)
		cores += together->used[i];
	*ret_cores = cores;
	return together->busy > 0 ? together->longest * cores : 0;
}

struct fm_figure fm_simulated_blocked(const struct fm_recording *recording, const struct fm_part *part)
{
	struct together together;
	unsigned cores = 0;
	double all = add_all(recording, part, &together, &cores), blocked;

	if (!(all > 0))
		return fm_figure_unavailable("there is no simulated time in which threads wait");
	blocked = cores < 2 ? 0 : fmax(0, 1 - together.busy / all);
	return simulated(blocked, blocked, blocked);
}

bool fm_simulated_waiting(const struct fm_recording *recording, struct fm_picture *picture)
{
	struct together together;
	unsigned cores = 0;
	double all = add_all(recording, &picture->part, &together, &cores), handed;

	if (!(all > 0))
		return false;
	picture->signs.blocked = fm_simulated_blocked(recording, &picture->part);
	if (cores < 2) {
		picture->signs.handing_over = picture->signs.spinning = simulated(0, 0, 0);
		return true;
	}
	handed = most_handed(&together);
	picture->signs.handing_over =
	    simulated(together.handed / all, together.handed / all, handed / (all - together.handed + handed));
	picture->signs.spinning = simulated(together.spun / all, together.spun_low / all, together.spun_high / all);
	return true;
}

struct fm_figure fm_simulated_false_sharing(const struct fm_recording *recording, const struct fm_picture *picture,
                                            double false_transfers, double turns)
{
	struct together whole = {.recording = recording}, part = whole;
	double low, high;

	fm_part_each(recording, &(struct fm_part){.thread = -1}, add, &whole);
	fm_part_each(recording, &picture->part, add, &part);
	low = fmax(0, false_transfers - (whole.transfers - part.transfers));
	high = fmin(false_transfers, part.transfers);
	if (high < FM_CONTENDED_LEAST)
		return simulated(0, 0, 0);
	/* the number of turns in the region is unknown: at most all */
	return simulated(fmin(1, fmax(low, high) / turns), fmin(1, low / turns), 1);
}
