/* Waiting of threads for each other. */
#include <math.h>

#include "model/doubt.h"
#include "model/simulated_waiting.h"
#include "model/uncertainty.h"
#include "profile/profile.h"

/* Blocked in the kernel: processor time that the threads could have had and did not use. */
static struct fm_figure blocked(const struct fm_recording *recording, const struct fm_picture *picture)
{
	const struct fm_recorded_native *native = &recording->native;
	unsigned running = native->cpus && picture->threads > native->cpus ? native->cpus : picture->threads;
	double waited, error, others, chosen, used = 0;

	if (!native->runs)
		return fm_figure_unavailable("only a native run shows waiting times of threads");
	if (picture->part.region || picture->part.thread >= 0)
		return fm_figure_unavailable("processor time is known for the whole program only");
	if (picture->threads < 2)
		return fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "native", native->runs);
	/* beside other programs the beginning takes longer, and no less of the processor time */
	if (native->seconds.value < 4 * FM_PROCESS_SECONDS ||
	    (native->cpu_seconds < 4 * FM_PROCESS_SECONDS && native->seconds.value < 12 * FM_PROCESS_SECONDS))
		return fm_figure_unavailable("it ran too briefly: most of its time was its beginning and end");
	/* of the run that was least disturbed: other programs take processors away, and that is no waiting */
	waited = fmax(0, 1 - native->busiest / running);
	/* ready threads without a processor do not wait for each other, either */
	for (size_t i = 0; i < recording->native_threads_count; i++)
		used += recording->native_threads[i].ran + recording->native_threads[i].delayed;
	waited = fmin(waited, fmax(0, 1 - used / (native->seconds.value * running)));
	/* The time lost to other programs is unknown, but its causes are counted. After each preemption, and at its
	   start, a thread waits for at most a slice. Waits that the threads chose themselves were for another thread.
	   */
	others = (double)native->preemptions + picture->threads;
	error = FM_PROCESS_SECONDS / native->seconds.value;
	chosen = waited * (double)native->switches / ((double)native->switches + others) - error;
	error += FM_SLICE_SECONDS * others / (native->seconds.value * running);
	return fm_figure_make(waited, fmax(0, fmax(waited - error, chosen)), waited, "", FM_ORIGIN_measured, "native",
	                      native->runs);
}

/* Nanoseconds to hand a line from one core to another: the median over the measured pairs; 0: not measured. */
static double transfer_ns(const struct fm_machine *profile)
{
	double sum = 0;
	unsigned count = 0;

	for (unsigned i = 0; profile && i < profile->transfer_count; i++)
		if (profile->transfers[i].ns.available) {
			sum += profile->transfers[i].ns.value;
			count++;
		}
	return count ? sum / count : 0;
}

/* Accesses to lines that at least two threads write, or one writes and others read over and over. */
static uint64_t contended_accesses(const struct fm_recording *recording)
{
	uint64_t accesses = 0;

	for (size_t i = 0; i < recording->users_count; i++) {
		const struct fm_recorded_user *user = &recording->users[i];

		if (recording->shared[user->shared].modified >= 20)
			accesses += user->loads + user->stores;
	}
	return accesses;
}

/* Cache line transfers. In the engine threads take turns, so it sees few of the transfers of parallel threads: these
   are the lower bound. The upper bound is every access to a contended line. The excess of the measured time over the
   prediction gives the value between them, without the usual error of a prediction. */
static struct fm_figure handing_over(const struct fm_recording *recording, const struct fm_core_counts *counts,
                                     const struct fm_picture *picture)
{
	double each = transfer_ns(recording->profile) * 1e-9, seconds = picture->seconds.value, least, most, gap, sure;

	if (picture->part.region || picture->part.thread >= 0)
		return fm_figure_unavailable("shared lines are known for the whole program only");
	if (picture->threads < 2)
		return fm_figure_make(0, 0, 0, "", FM_ORIGIN_simulated, "exact", 1);
	if (!recording->native.runs)
		return fm_figure_unavailable("there was no core timing (--timing)");
	if (!(each > 0) || !picture->seconds.available || !(seconds > 0))
		return fm_figure_unavailable(!(each > 0)
		                                 ? "'fathom machine' has not measured transfers between cores here"
		                                 : "there is no time to compare with");
	least = (double)counts->transfers_modified * each / (seconds * picture->threads);
	most = fmax(least, (double)contended_accesses(recording) * each / (seconds * picture->threads));
	if (most < FM_TRANSFERS_LEAST || !picture->predicted_seconds.available || !picture->user_seconds.available)
		return fm_figure_make(fmin(1, (least + most) / 2), fmin(1, least), fmin(1, most), "",
		                      FM_ORIGIN_combined, "exact", recording->native.runs);
	gap = fmax(0, 1 - picture->predicted_seconds.value / picture->user_seconds.value);
	sure = fmax(0, 1 - (1 + FM_DOUBTFUL) * picture->predicted_seconds.value / picture->user_seconds.value);
	return fm_figure_make(fmin(1, fmax(least, fmin(most, gap))), fmin(1, fmax(least, fmin(most, sure))),
	                      fmin(1, fmax(least, fmin(most, gap + FM_DOUBTFUL))), "", FM_ORIGIN_combined, "exact",
	                      recording->native.runs);
}

/* Of the predicted time of all threads, with the kernel's share and with waiting. */
static struct fm_figure share_of_time(const struct fm_recording *recording, const struct fm_picture *picture,
                                      const struct fm_figure *part)
{
	const struct fm_picture_times *times = &picture->times;
	double share = fmin(0.99, recording->native.kernel_share),
	       waiting = times->waiting.available ? times->waiting.value : 0,
	       all = times->user.value / (1 - share) + waiting, rest = all - part->value;

	if (!part->available || !(all > 0))
		return part->available ? fm_figure_unavailable("there is no time to compare with") : *part;
	return fm_figure_make(part->value / all, part->low / (rest + part->low), part->high / (rest + part->high), "",
	                      part->origin, part->backend, part->trials);
}

void fm_synchronisation(const struct fm_recording *recording, const struct fm_core_counts *counts,
                        struct fm_picture *picture)
{
	/* a native run shows the waiting time of the whole program, not of a region */
	if ((!recording->native.runs || picture->part.region) && fm_simulated_waiting(recording, picture))
		return;
	picture->signs.blocked = blocked(recording, picture);
	picture->signs.handing_over = picture->times.sharing.available
	                                  ? share_of_time(recording, picture, &picture->times.sharing)
	                                  : handing_over(recording, counts, picture);
	picture->signs.spinning = share_of_time(recording, picture, &picture->times.spinning);
}
