#include "profile/peak.h"

#include <math.h>
#include <string.h>

#include "profile/profile.h"

static double moved(const struct fm_stream_kernel *kernel, bool first_cache)
{
	return kernel->loaded_bytes + kernel->stored_bytes + (first_cache ? 0 : kernel->write_allocate_bytes);
}

double fm_kernel_write_share(enum fm_stream_kernel_index kernel, bool first_cache)
{
	return fm_streams[kernel].stored_bytes / moved(&fm_streams[kernel], first_cache);
}

double fm_kernel_traffic_factor(enum fm_stream_kernel_index kernel, bool first_cache)
{
	return moved(&fm_streams[kernel], first_cache) / moved(&fm_streams[kernel], true);
}

/* A profile is a file: what no machine has is passed over. */
static bool usable(const struct fm_figure *figure)
{
	return figure->available && figure->value > 1e-6 && figure->low >= 0 && figure->high < 1e9;
}

/* Of two figures, `weight` (0 … 1) of the second; on reciprocals when `rates`. */
static struct fm_figure between(const struct fm_figure *first, const struct fm_figure *second, double weight,
                                bool rates)
{
	const double a[] = {first->value, first->low, first->high}, b[] = {second->value, second->low, second->high};
	double mixed[3];

	if (!(weight > 0))
		return *first;
	if (!(weight < 1))
		return *second;
	for (unsigned i = 0; i < 3; i++)
		mixed[i] = !rates                 ? a[i] + weight * (b[i] - a[i])
		           : a[i] > 0 && b[i] > 0 ? 1 / ((1 - weight) / a[i] + weight / b[i])
		                                  : 0;
	return fm_figure_make(mixed[0], mixed[1], mixed[2], first->unit, FM_ORIGIN_modelled, first->backend,
	                      first->trials < second->trials ? first->trials : second->trials);
}

static void widen(struct fm_figure *figure, const struct fm_figure *other)
{
	if (!figure->available || !other->available)
		return;
	figure->low = fmin(figure->low, other->low);
	figure->high = fmax(figure->high, other->high);
}

/* Peaks: one mixture */

/* The measurements of one mixture at one level. */
struct mixture {
	const struct fm_machine *machine;
	unsigned level;
	double share;
	/* A kernel that reads every line which it writes moves exactly this mixture; of the others we assume that the
	   cache reads them. Where there is one of the first kind, only these count. */
	bool exact;
	bool unsure; /* without a conclusive measurement at this level, any other */
};

static bool reads_what_it_writes(enum fm_stream_kernel_index kernel)
{
	return !fm_streams[kernel].write_allocate_bytes;
}

static bool same_share(double left, double right)
{
	return fabs(left - right) < 1e-6;
}

static bool belongs(const struct mixture *mixture, const struct fm_bandwidth *point)
{
	return point->level == mixture->level && !point->string && point->threads && usable(&point->gbs) &&
	       (mixture->unsure || fm_figure_relative_width(&point->gbs) <= FM_FIGURE_INCONCLUSIVE) &&
	       same_share(fm_kernel_write_share(point->kernel, !mixture->level), mixture->share) &&
	       (!mixture->exact || !mixture->level || reads_what_it_writes(point->kernel));
}

/* The best of its kernels on exactly that number of threads. */
static struct fm_figure best_of(const struct mixture *mixture, unsigned threads)
{
	struct fm_figure best = fm_figure_unavailable("not measured");

	for (unsigned i = 0; i < mixture->machine->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &mixture->machine->bandwidths[i];
		struct fm_figure traffic;

		if (point->threads != threads || !belongs(mixture, point))
			continue;
		traffic =
		    fm_figure_scaled(&point->gbs, fm_kernel_traffic_factor(point->kernel, !mixture->level), "GB/s");
		if (!best.available || traffic.value > best.value)
			best = traffic;
	}
	return best;
}

/* The nearest numbers of threads that were measured on either side; 0: none. */
static void find_neighbours(const struct mixture *mixture, unsigned threads, unsigned *ret_below, unsigned *ret_above)
{
	*ret_below = *ret_above = 0;
	for (unsigned i = 0; i < mixture->machine->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &mixture->machine->bandwidths[i];

		if (!belongs(mixture, point))
			continue;
		if (point->threads <= threads && point->threads > *ret_below)
			*ret_below = point->threads;
		if (point->threads >= threads && (!*ret_above || point->threads < *ret_above))
			*ret_above = point->threads;
	}
}

/* Fewer threads than were measured have between their even part of it and all of it. */
static struct fm_figure fewer(const struct fm_figure *measured, double part)
{
	return fm_figure_make(measured->value * (1 + part) / 2, measured->low * part, measured->high, measured->unit,
	                      FM_ORIGIN_modelled, measured->backend, measured->trials);
}

static struct fm_figure on_threads(const struct mixture *mixture, unsigned threads, unsigned *ret_threads)
{
	struct mixture any = *mixture;
	struct fm_figure low, high, mixed;
	unsigned below, above;

	find_neighbours(mixture, threads, &below, &above);
	if (!above) { /* a wide interval for that many threads is better than a narrow one for fewer */
		any.unsure = true;
		find_neighbours(&any, threads, &below, &above);
		if (!above)
			any.unsure = mixture->unsure;
		find_neighbours(&any, threads, &below, &above);
		mixture = &any;
	}
	*ret_threads = above ? threads : below;
	if (!below && !above)
		return fm_figure_unavailable("not measured");
	if (above == below)
		return best_of(mixture, below);
	if (!above) { /* more threads than were measured move as much as those, and at most as much each */
		low = best_of(mixture, below);
		return fm_figure_make(low.value, low.low, low.high * threads / below, low.unit, FM_ORIGIN_modelled,
		                      low.backend, low.trials);
	}
	high = best_of(mixture, above);
	if (!below)
		return fewer(&high, (double)threads / above);
	low = best_of(mixture, below);
	mixed = between(&low, &high, (double)(threads - below) / (above - below), false);
	/* bandwidth bends towards its limit: the line is the least of it */
	mixed.high = fmax(mixed.high, fmin(low.high * threads / below, fmax(low.high, high.high)));
	return mixed;
}

/* Few mixtures are measured on every number of threads. If `reference` has nearer numbers, its shape interpolates; the
   interval is that of the mixture's own measurements. */
static struct fm_figure like(const struct mixture *mixture, const struct mixture *reference, unsigned threads,
                             unsigned *ret_threads)
{
	struct fm_figure peak = on_threads(mixture, threads, ret_threads), of[3];
	unsigned below, above, reference_below, reference_above, ignored;
	double ratios[2], weight;

	find_neighbours(mixture, threads, &below, &above);
	find_neighbours(reference, threads, &reference_below, &reference_above);
	if (!below || !above || !reference_below || !reference_above ||
	    reference_above - reference_below >= above - below)
		return peak;
	of[0] = on_threads(reference, below, &ignored);
	of[1] = on_threads(reference, above, &ignored);
	of[2] = on_threads(reference, threads, &ignored);
	ratios[0] = best_of(mixture, below).value / of[0].value;
	ratios[1] = best_of(mixture, above).value / of[1].value;
	weight = (double)(threads - below) / (above - below);
	peak.value = fmax(peak.low, fmin(peak.high, (ratios[0] + weight * (ratios[1] - ratios[0])) * of[2].value));
	return peak;
}

/* Peaks: all mixtures */

static unsigned find_mixtures(const struct fm_machine *machine, unsigned level, bool unsure,
                              struct mixture *ret_mixtures)
{
	unsigned count = 0;

	for (unsigned i = 0; i < machine->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &machine->bandwidths[i];
		struct mixture mixture = {.machine = machine,
		                          .level = level,
		                          .share = fm_kernel_write_share(point->kernel, !level),
		                          .unsure = unsure};
		unsigned place = 0;

		if (!belongs(&mixture, point))
			continue;
		while (place < count && ret_mixtures[place].share < mixture.share - 1e-6)
			place++;
		if (place == count || !same_share(ret_mixtures[place].share, mixture.share)) {
			memmove(&ret_mixtures[place + 1], &ret_mixtures[place],
			        (count - place) * sizeof(*ret_mixtures));
			ret_mixtures[place] = mixture;
			count++;
		}
		ret_mixtures[place].exact |= reads_what_it_writes(point->kernel);
	}
	return count;
}

static struct fm_figure at_share(const struct mixture *mixtures, const struct fm_figure *peaks, unsigned count,
                                 double share)
{
	unsigned above = 0;

	while (above < count && mixtures[above].share < share)
		above++;
	if (!above)
		return peaks[0];
	if (above == count)
		return peaks[count - 1];
	return between(&peaks[above - 1], &peaks[above],
	               (share - mixtures[above - 1].share) / (mixtures[above].share - mixtures[above - 1].share), true);
}

static struct fm_figure highest(const struct fm_figure *peaks, unsigned count)
{
	struct fm_figure best = peaks[0];

	for (unsigned i = 1; i < count; i++) {
		double low = fmin(best.low, peaks[i].low);

		if (peaks[i].value > best.value)
			best = peaks[i];
		best.low = low;
	}
	return best;
}

struct fm_peak fm_peak_find(const struct fm_machine *machine, const char *name, unsigned threads,
                            const struct fm_figure *write_share)
{
	const struct fm_level *level = fm_machine_level(machine, name);
	struct fm_peak peak = {.gbs = fm_figure_unavailable("the profile has no bandwidth of this level"),
	                       .write_share = fm_figure_unavailable("there is no peak")};
	struct mixture mixtures[FM_STREAM_COUNT + 1];
	struct fm_figure peaks[FM_STREAM_COUNT];
	unsigned index = level ? (unsigned)(level - machine->levels) : FM_LEVELS_MAX, count, own;
	double least, most;

	count = find_mixtures(machine, index, false, mixtures);
	if (!count)
		count = find_mixtures(machine, index, true, mixtures);
	if (!count)
		return peak;
	for (unsigned i = 0; i < count; i++) {
		peaks[i] = like(&mixtures[i], &mixtures[0], threads ? threads : 1, &own);
		peak.threads = own > peak.threads ? own : peak.threads;
	}
	peak.write_share = *write_share;
	if (!write_share->available) {
		peak.gbs = highest(peaks, count);
		return peak;
	}
	least = mixtures[0].share;
	most = mixtures[count - 1].share;
	peak.write_share.value = fmax(least, fmin(most, write_share->value));
	peak.write_share.low = fmax(least, fmin(most, write_share->low));
	peak.write_share.high = fmax(least, fmin(most, write_share->high));
	peak.gbs = at_share(mixtures, peaks, count, peak.write_share.value);
	if (write_share->high > write_share->low) {
		struct fm_figure ends[] = {at_share(mixtures, peaks, count, peak.write_share.low),
		                           at_share(mixtures, peaks, count, peak.write_share.high)};

		widen(&peak.gbs, &ends[0]);
		widen(&peak.gbs, &ends[1]);
	}
	return peak;
}

/* Latency beside traffic */

struct run {
	const struct fm_bandwidth_curve_point *points[FM_BANDWIDTH_CURVE_MAX];
	unsigned count;
};

/* The points of a mixture on a number of threads, and the one without other traffic, by rising traffic. */
static void find_run(const struct fm_bandwidth_curve *curve, enum fm_stream_kernel_index kernel, unsigned threads,
                     struct run *ret_run)
{
	ret_run->count = 0;
	for (unsigned i = 0; i < curve->count && ret_run->count < FM_BANDWIDTH_CURVE_MAX; i++) {
		const struct fm_bandwidth_curve_point *point = &curve->points[i];
		bool alone = !(point->rate > 0);
		unsigned place = ret_run->count;

		if (!usable(&point->traffic_gbs) || !usable(&point->latency_ns) ||
		    (!alone && (point->kernel != kernel || point->threads != threads)))
			continue;
		for (; place && ret_run->points[place - 1]->traffic_gbs.value > point->traffic_gbs.value; place--)
			ret_run->points[place] = ret_run->points[place - 1];
		ret_run->points[place] = point;
		ret_run->count++;
	}
}

static double reach(const struct run *run)
{
	return run->count ? run->points[run->count - 1]->traffic_gbs.value : 0;
}

static struct fm_figure along(const struct run *run, double gbs)
{
	unsigned above = 0;
	const struct fm_bandwidth_curve_point *left, *right;
	double distance;

	while (above < run->count && run->points[above]->traffic_gbs.value < gbs)
		above++;
	if (!above)
		return run->points[0]->latency_ns;
	if (above == run->count)
		return run->points[run->count - 1]->latency_ns;
	left = run->points[above - 1];
	right = run->points[above];
	distance = right->traffic_gbs.value - left->traffic_gbs.value;
	return between(&left->latency_ns, &right->latency_ns,
	               distance > 0 ? (gbs - left->traffic_gbs.value) / distance : 0, false);
}

/* The fewest threads, from `threads` on, whose curve reaches that far; else the one that reaches farthest. */
static bool choose_run(const struct fm_bandwidth_curve *curve, enum fm_stream_kernel_index kernel, unsigned threads,
                       double gbs, struct run *ret_run)
{
	unsigned chosen = 0, last = 0;
	double farthest = -1;
	bool reached = false;

	for (unsigned i = 0; i < curve->count; i++) {
		unsigned own = curve->points[i].threads;
		bool far;

		if (curve->points[i].kernel != kernel || !(curve->points[i].rate > 0) || own == last)
			continue;
		last = own;
		find_run(curve, kernel, own, ret_run);
		far = reach(ret_run) >= gbs;
		if (far && own >= threads ? !reached || own < chosen : !reached && reach(ret_run) > farthest) {
			chosen = own;
			farthest = reach(ret_run);
			reached |= far && own >= threads;
		}
	}
	if (chosen)
		find_run(curve, kernel, chosen, ret_run);
	return chosen && ret_run->count;
}

/* Of a mixture; `beyond` where its curve ends before. */
static struct fm_figure latency_of_mix(const struct fm_bandwidth_curve *curve, enum fm_stream_kernel_index kernel,
                                       unsigned threads, double gbs, bool *beyond)
{
	struct fm_figure latency = fm_figure_unavailable("not measured");
	struct run run;

	if (choose_run(curve, kernel, threads, gbs, &run)) {
		latency = along(&run, gbs);
		*beyond |= reach(&run) < gbs;
	}
	return latency;
}

/* Between the two mixtures with latencies that enclose the share. */
static struct fm_figure latency_at(const struct fm_bandwidth_curve *curve, unsigned threads, double share, double gbs,
                                   bool *beyond)
{
	struct fm_figure below = fm_figure_unavailable("not measured"), above = below;
	double below_share = 0, above_share = 0;
	bool below_beyond = false, above_beyond = false;

	for (unsigned i = 0; i < FM_MIXES && !above.available; i++) {
		double own = fm_kernel_write_share(fm_mixes[i].kernel, false);
		bool far = false;
		struct fm_figure latency = latency_of_mix(curve, fm_mixes[i].kernel, threads, gbs, &far);

		if (!latency.available)
			continue;
		if (own <= share) {
			below = latency;
			below_share = own;
			below_beyond = far;
		} else {
			above = latency;
			above_share = own;
			above_beyond = far;
		}
	}
	if (!below.available || !above.available || same_share(below_share, share)) {
		*beyond |= below.available ? below_beyond : above_beyond;
		return below.available ? below : above;
	}
	*beyond |= below_beyond || above_beyond;
	return between(&below, &above, (share - below_share) / (above_share - below_share), false);
}

struct fm_loaded_latency fm_peak_latency(const struct fm_machine *machine, unsigned threads,
                                         const struct fm_figure *write_share, const struct fm_figure *gbs)
{
	const struct fm_bandwidth_curve *curve = &machine->bandwidth_curve;
	struct fm_loaded_latency result = {0};
	/* a mixture that is not known is any of them */
	double shares[] = {write_share->available ? write_share->value : 0,
	                   write_share->available ? write_share->low : 0,
	                   write_share->available ? write_share->high : 0.5},
	       rates[] = {gbs->value, gbs->low, gbs->high};

	if (!gbs->available) {
		result.ns = *gbs;
		return result;
	}
	result.ns = latency_at(curve, threads, shares[0], gbs->value, &result.beyond);
	if (!result.ns.available) {
		result.ns = fm_figure_unavailable("the profile has no bandwidth–latency curve%s%s",
		                                  *curve->why.why ? ": " : "", curve->why.why);
		return result;
	}
	if (result.beyond) {
		result.at_least_ns = result.ns.value;
		result.ns =
		    fm_figure_unavailable("traffic beyond the measured curve: at least %.0f ns", result.at_least_ns);
		return result;
	}
	result.ns.origin = FM_ORIGIN_modelled;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < 3; k++) {
			bool ignored = false;
			struct fm_figure other = latency_at(curve, threads, shares[i], rates[k], &ignored);

			widen(&result.ns, &other);
		}
	return result;
}
