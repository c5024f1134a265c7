#include "model/uncertainty.h"
#include "model/doubt.h"
#include "profile/profile.h"

#include <math.h>

/* The level of the profile for a level of the picture; NULL: the machine is given as a file, and exact. */
static const struct fm_level *measured_level(const struct fm_recording *recording, const char *name)
{
	return recording->profile ? fm_machine_level(recording->profile, name) : NULL;
}

/* Capacity against misses */

static double lines_of(const struct fm_picture *picture, unsigned level)
{
	return picture->levels[level].read_bytes.value + picture->levels[level].allocate_bytes.value;
}

/* d log(misses) / d log(capacity) between two caches; never positive. `upper` has the misses of the accesses to level
   upper+1. */
static double slope(const struct fm_recording *recording, const struct fm_picture *picture, unsigned upper)
{
	const struct fm_machine_description *machine = &recording->machine;
	double few = lines_of(picture, upper + 2), many = lines_of(picture, upper + 1),
	       small = (double)fm_cache_available(&machine->caches[upper]),
	       large = (double)fm_cache_available(&machine->caches[upper + 1]);

	if (!(few > 0) || !(many > 0) || !(small > 0) || large <= small)
		return 0;
	return fmin(0, log(few / many) / log(large / small));
}

static void widen(struct fm_figure *figure, double low, double high)
{
	figure->low = figure->value * fmin(1, low);
	figure->high = figure->value * fmax(1, high);
}

void fm_uncertain_traffic(const struct fm_recording *recording, struct fm_picture *picture)
{
	const struct fm_machine_description *machine = &recording->machine;

	/* level i serves the misses of cache i-1 */
	for (unsigned i = 1; i < picture->level_count; i++) {
		const struct fm_level *cache = measured_level(recording, machine->caches[i - 1].name);
		double above, below, steepest, smaller, larger;

		if (!cache || !cache->effective_bytes.available || !(cache->effective_bytes.value > 0))
			continue;
		above = i > 1 ? slope(recording, picture, i - 2) : 0;
		below = i + 1 < picture->level_count ? slope(recording, picture, i - 1) : above;
		steepest = fmin(above, below);
		smaller = fmin(1, cache->effective_bytes.low / cache->effective_bytes.value);
		larger = fmax(1, cache->effective_bytes.high / cache->effective_bytes.value);
		for (struct fm_figure *
		         figures[] = {&picture->levels[i].read_bytes, &picture->levels[i].allocate_bytes,
		                      &picture->levels[i].write_bytes, &picture->levels[i].moved_bytes, NULL},
		        **at = figures;
		     *at; at++)
			widen(*at, pow(larger, steepest), smaller > 0 ? pow(smaller, steepest) : 1);
	}
}

/* Latency and bandwidth against cycles */

/* A share of the cycles that grows by a factor, the rest staying as it was. */
static double grown(double share, double factor)
{
	return share * factor / (1 - share + share * factor);
}

static void widen_share(struct fm_figure *share, double low, double high)
{
	share->low = grown(share->value, fmin(1, low));
	share->high = grown(share->value, fmax(1, high));
}

static double relative(const struct fm_figure *figure, bool high)
{
	return figure->available && figure->value > 0 ? (high ? figure->high : figure->low) / figure->value : 1;
}

/* Cycles are the sum of shares: each part has the interval of its levels', active the sum of all. */
void fm_uncertain_cycles(const struct fm_recording *recording, struct fm_picture *picture)
{
	double active = picture->active.value, latency[2] = {0}, bandwidth[2] = {0};

	if (!recording->profile)
		return;
	for (unsigned i = 1; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		const struct fm_level *measured = measured_level(recording, level->name);

		if (!measured)
			continue;
		for (int high = 0; high < 2; high++) {
			latency[high] +=
			    level->latency_share.value * active * (relative(&measured->latency_cycles, high) - 1);
			/* the slower it can deliver, the longer is waited */
			bandwidth[high] +=
			    level->bandwidth_share.value * active * (1 / relative(&level->peak_gbs, !high) - 1);
		}
		widen_share(&level->latency_share, relative(&measured->latency_cycles, false),
		            relative(&measured->latency_cycles, true));
		widen_share(&level->bandwidth_share, 1 / relative(&level->peak_gbs, true),
		            1 / relative(&level->peak_gbs, false));
	}
	for (int high = 0; high < 2; high++) {
		double *ends[] = {high ? &picture->latency_bound.high : &picture->latency_bound.low,
		                  high ? &picture->bandwidth_bound.high : &picture->bandwidth_bound.low,
		                  high ? &picture->memory_bound.high : &picture->memory_bound.low,
		                  high ? &picture->stall.high : &picture->stall.low,
		                  high ? &picture->active.high : &picture->active.low};

		*ends[0] += latency[high];
		*ends[1] += bandwidth[high];
		for (int i = 2; i < 5; i++)
			*ends[i] += latency[high] + bandwidth[high];
	}
}

/* Predicted against measured */

/* Wall clock time outside of the kernel. */
static struct fm_figure user_seconds(const struct fm_recorded_native *native, const struct fm_picture *picture)
{
	const struct fm_figure *seconds = &picture->seconds;
	double share, error, ran = 1, least = seconds->low;

	if (!seconds->available)
		return *seconds;
	if (!(native->share_seconds > 0))
		return fm_figure_unavailable("it ran too briefly: how much of its time was the kernel's is not known");
	share = fmin(1, native->kernel_share);
	error = FM_TICKS * FM_TICK / native->share_seconds;
	if (share + error >= 1)
		return fm_figure_unavailable("it ran too briefly: how much of its time was the kernel's is not known");
	/* of several threads, all together */
	if (picture->times.user.available) {
		double relative_low = seconds->low / seconds->value, relative_high = seconds->high / seconds->value;

		return fm_figure_make(native->cpu_seconds * (1 - share),
		                      native->cpu_seconds * (native->same_run ? relative_low : 1) * (1 - share - error),
		                      native->cpu_seconds * (native->same_run ? relative_high : 1) *
		                          fmin(1, 1 - share + error),
		                      "s", FM_ORIGIN_measured, "native", seconds->trials);
	}
	/* processor time of one run is an estimate of which the kernel's part is known: the rest has all of its error
	 */
	if (native->same_run && native->cpu_seconds > 0) {
		least = seconds->value;
		error += fmax(0, seconds->value - seconds->low) * fmax(1, native->busiest) / native->cpu_seconds;
		if (share + error >= 1)
			return fm_figure_unavailable(
			    "the kernel took nearly all of the time; the rest is too short for a comparison");
	}
	/* a single thread that was not running all the time was waiting for its processor, or for input */
	if (picture->threads < 2 && native->seconds.value > 0)
		ran = fmin(1, native->cpu_seconds / native->seconds.value);
	return fm_figure_make(seconds->value * ran * (1 - share), least * ran * (1 - share - error),
	                      seconds->high * fmin(1, 1 - share + error), "s", FM_ORIGIN_measured, "native",
	                      seconds->trials);
}

void fm_uncertain_prediction(const struct fm_recording *recording, struct fm_picture *picture)
{
	struct fm_figure *predicted = &picture->predicted_seconds;

	picture->user_seconds = fm_figure_unavailable("the program had no native run");
	picture->off = picture->user_seconds;
	if (predicted->available && recording->profile) {
		double usual = recording->profile->combination.time_most;

		predicted->low *= relative(&picture->active, false) * fmax(0, 1 - usual);
		predicted->high *= relative(&picture->active, true) * (1 + usual);
	}
	if (!recording->native.runs)
		return;
	picture->user_seconds = user_seconds(&recording->native, picture);
	picture->off = predicted->available ? picture->user_seconds : *predicted;
	picture->unchecked = predicted->available && !picture->off.available;
	if (!picture->off.available)
		return;
	picture->off = fm_figure_make(predicted->value / picture->user_seconds.value - 1,
	                              predicted->value / picture->user_seconds.high - 1,
	                              predicted->value / picture->user_seconds.low - 1, "", FM_ORIGIN_combined, "exact",
	                              picture->user_seconds.trials);
	picture->doubtful = fabs(picture->off.value) > FM_DOUBTFUL;
}

/* Out of sight */

void fm_uncertain_unseen(const struct fm_recording *recording, struct fm_picture *picture)
{
	struct fm_picture_times *times = &picture->times;
	double inside = 0, outside = 0;
	struct fm_figure why;

	for (size_t i = 0; i < recording->processes_count; i++) {
		inside += (double)recording->processes[i].found_inside;
		outside += (double)recording->processes[i].found_outside;
	}
	if (inside + outside < FM_UNSEEN_SIGNALS || outside < FM_UNSEEN_LEAST * (inside + outside))
		return;
	picture->unseen = outside / (inside + outside);
	picture->doubtful = true;
	why = fm_figure_unavailable("%.0f %% of its time it executed what is not seen (left the code cache %.60s)",
	                            100 * picture->unseen,
	                            *recording->processes[0].left ? recording->processes[0].left : "");
	picture->predicted_seconds = picture->off = why;
	times->work = times->sharing = times->spinning = times->user = times->wall = why;
}
