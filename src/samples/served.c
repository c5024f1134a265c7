#include "samples/served.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "profile/profile.h"
#include "samples/unmixing.h"

static const double Z = 1.959964;

static int32_t above(uint32_t cost, uint32_t baseline)
{
	int64_t difference = (int64_t)cost - (int64_t)baseline;

	return (int32_t)(difference > INT32_MAX - 1 ? INT32_MAX - 1
	                 : difference < -INT32_MAX  ? -INT32_MAX
	                                            : difference);
}

/* A clock that moves in coarse steps shows whole steps only. */
static int32_t in_steps(int32_t ticks, uint32_t step)
{
	double half = step / 2.0;

	return step > 4 ? (int32_t)(floor((ticks + half) / step) * fmin(step, 1 << 20)) : ticks;
}

/* Names */

static void name_levels(struct fm_served_model *model, const struct fm_recorded_sampling *sampling)
{
	char names[sizeof(sampling->level_names)], *rest = names, *word;

	snprintf(names, sizeof(names), "%s", sampling->level_names);
	model->levels = sampling->levels < FM_SERVED_LEVELS ? sampling->levels : FM_SERVED_LEVELS;
	for (unsigned i = 0; i < model->levels; i++) {
		word = strsep(&rest, " ");
		if (word && *word)
			snprintf(model->level_names[i], FM_SERVED_NAME, "%s", word);
		else
			snprintf(model->level_names[i], FM_SERVED_NAME, "level %u", i + 1);
	}
}

static void name_classes(struct fm_served_model *model)
{
	for (unsigned i = 0; i < model->levels; i++) {
		unsigned class = model->costs ? model->costs->group_of[i] : i;
		char *name = model->class_names[class];
		size_t length = strlen(name);

		model->class_of[i] = class;
		snprintf(name + length, FM_SERVED_NAME - length, "%s%s", length ? " or " : "", model->level_names[i]);
		model->classes = class + 1;
	}
	snprintf(model->class_names[model->classes++], FM_SERVED_NAME, "other");
}

/* Calibrations */

/* Calibrated costs by level; with `translations` those of neighbouring lines, by level and TLB hit or miss. */
static int calibrate(const struct fm_served_model *model, const struct fm_recording *recording, bool translations,
                     struct fm_unmix **ret_unmix)
{
	struct fm_unmix_cost *costs = calloc(recording->calibration_count + 1, sizeof(*costs));
	size_t count = 0;
	int r;

	if (!costs)
		return -ENOMEM;
	for (size_t i = 0; i < recording->calibration_count; i++) {
		const struct fm_recorded_calibration *row = &recording->calibration[i];
		unsigned level = row->level - 1;
		bool known = translations ? row->neighbour && row->neighbour_again && row->kind <= 1 : !row->kind;
		int32_t cost =
		    translations ? above(row->neighbour, row->neighbour_again) : above(row->cost, row->baseline);

		if (known && level < model->levels)
			costs[count++] = (struct fm_unmix_cost){translations ? 2 * level + row->kind : level,
			                                        in_steps(cost, recording->sampling.coarse_step), 1};
	}
	r = fm_unmix_create(costs, count, translations ? 2 * model->levels : model->levels,
	                    translations ? FM_UNMIX_ALONE : FM_UNMIX_JOIN, ret_unmix);
	free(costs);
	return r;
}

static int calibrate_costs(struct fm_served_model *model, const struct fm_recording *recording)
{
	int r = calibrate(model, recording, false, &model->costs);

	if (r == -ENODATA) {
		snprintf(model->why, sizeof(model->why), "the sampler was not calibrated");
		r = 0;
	}
	return r;
}

/* TLB hits and misses are distinguishable in at least one calibrated level, and in all that have both. */
static bool translations_differ(const struct fm_served_model *model)
{
	const struct fm_unmix *unmix = model->translations;
	bool any = false;

	for (unsigned i = 0; i < model->levels; i++) {
		bool both = unmix->group_of[2 * i] != FM_UNMIX_NONE && unmix->group_of[2 * i + 1] != FM_UNMIX_NONE;

		if (both && unmix->apart[2 * i + 1] < FM_CLASSES_APART)
			return false;
		any |= both;
	}
	return any;
}

static int calibrate_translations(struct fm_served_model *model, const struct fm_recording *recording)
{
	int r = calibrate(model, recording, true, &model->translations);

	if (r && r != -ENODATA)
		return r;
	if (!r && translations_differ(model))
		return 0;
	snprintf(model->translations_why, sizeof(model->translations_why), "%s",
	         r ? "the sampler was not calibrated for translations"
	           : "TLB hits and misses cost nearly the same here, or were not calibrated");
	fm_unmix_free(model->translations);
	model->translations = NULL;
	return 0;
}

/* Costs of levels in nanoseconds */

struct cost {
	double value, low, high;
};

static bool cost_of_level(const struct fm_served_model *model, const struct fm_recording *recording, unsigned level,
                          struct cost *ret_cost, bool *ret_calibrated)
{
	const struct fm_level *known =
	    recording->profile ? fm_machine_level(recording->profile, model->level_names[level]) : NULL;
	double tick = 1e9 / recording->sampling.ticks_per_second, median;

	if (known && known->latency_ns.available) {
		*ret_cost = (struct cost){known->latency_ns.value, known->latency_ns.low, known->latency_ns.high};
		return true;
	}
	if (!model->costs || !isfinite(tick) || tick <= 0)
		return false;
	median = model->costs->median[level] - model->costs->median[0];
	if (isnan(median))
		return false;
	*ret_calibrated = true;
	median = fmax(median, 0);
	*ret_cost =
	    (struct cost){(median + FM_FIRST_TICKS) * tick, ((1 - FM_COST_ERROR) * median + FM_FIRST_TICKS_LOW) * tick,
	                  ((1 + FM_COST_ERROR) * median + FM_FIRST_TICKS_HIGH) * tick};
	return true;
}

/* Of a class with several levels anything between their costs. */
static bool cost_of_class(const struct fm_served_model *model, const struct fm_recording *recording, unsigned class,
                          struct cost *ret_cost, bool *ret_calibrated)
{
	struct cost sum = {0, INFINITY, 0};
	unsigned count = 0;

	for (unsigned i = 0; i < model->levels; i++) {
		struct cost cost;

		if (model->class_of[i] != class || !cost_of_level(model, recording, i, &cost, ret_calibrated))
			continue;
		sum.value += cost.value;
		sum.low = fmin(sum.low, cost.low);
		sum.high = fmax(sum.high, cost.high);
		count++;
	}
	if (!count)
		return false;
	sum.value /= count;
	*ret_cost = sum;
	return true;
}

static void set_costs(struct fm_served_model *model, const struct fm_recording *recording)
{
	const struct fm_machine *profile = recording->profile;
	bool calibrated = false;
	struct fm_random random;

	fm_random_seed(&random, 11);
	for (unsigned class = 0; class + 1 < model->classes; class ++) {
		struct cost cost;

		if (!cost_of_class(model, recording, class, &cost, &calibrated)) {
			snprintf(model->cost_why, sizeof(model->cost_why), "the cost of %s is unknown",
			         model->class_names[class]);
			return;
		}
		for (unsigned k = 0; k < FM_UNMIX_DRAWS; k++) {
			double side = fm_random_normal(&random) / Z;

			model->cost_ns[k][class] =
			    fmax(0, cost.value + side * (side < 0 ? cost.value - cost.low : cost.high - cost.value));
		}
		model->cost_ns[FM_UNMIX_DRAWS][class] = cost.value;
	}
	if (profile && profile->frequency_ghz.available) {
		model->cycles_per_ns = profile->frequency_ghz.value;
		snprintf(model->cycles_unit, sizeof(model->cycles_unit), "cycles");
	} else if (recording->sampling.ticks_per_second > 0) {
		model->cycles_per_ns = recording->sampling.ticks_per_second / 1e9;
		snprintf(model->cycles_unit, sizeof(model->cycles_unit), "TSC cycles");
	}
	if (calibrated)
		snprintf(model->cost_origin, sizeof(model->cost_origin),
		         "from the calibration%s; L1 taken as %g TSC cycles",
		         profile ? " where the machine profile has no latency" : " (there is no machine profile)",
		         FM_FIRST_TICKS);
	else
		snprintf(model->cost_origin, sizeof(model->cost_origin), "from the latencies of the machine profile");
}

/* Every sample or none is simulated: samplers are not mixed. */
static void look_at_sampler(struct fm_served_model *model, const struct fm_recording *recording)
{
	const struct fm_recorded_sampling *sampling = &recording->sampling;

	model->simulated = recording->samples_count > 0;
	for (size_t i = 0; model->simulated && i < recording->samples_count; i++)
		model->simulated = recording->samples[i].flags & FM_SAMPLE_SIMULATED;
	/* the rate of the engine is a share of the references */
	model->every = model->simulated && sampling->rate.available && !*sampling->rate.unit && sampling->rate.low >= 1;
	snprintf(model->backend, sizeof(model->backend), "%s", sampling->sampler);
}

int fm_served_create(const struct fm_recording *recording, struct fm_served_model **ret_model)
{
	struct fm_served_model *model = calloc(1, sizeof(*model));
	int r = 0;

	if (!model)
		return -ENOMEM;
	look_at_sampler(model, recording);
	name_levels(model, &recording->sampling);
	if (!model->levels)
		snprintf(model->why, sizeof(model->why), "the recording names no levels");
	else if (!model->simulated)
		r = calibrate_costs(model, recording);
	if (r)
		goto out;
	name_classes(model);
	if (model->simulated) {
		snprintf(model->translations_why, sizeof(model->translations_why),
		         "the engine's samples have no translations");
		snprintf(model->cost_origin, sizeof(model->cost_origin), "the latencies of the simulated machine");
		snprintf(model->cycles_unit, sizeof(model->cycles_unit), "cycles");
	} else {
		r = calibrate_translations(model, recording);
		set_costs(model, recording);
	}
	if (r)
		goto out;
	*ret_model = model;
	model = NULL;
out:
	fm_served_free(model);
	return r;
}

void fm_served_free(struct fm_served_model *model)
{
	if (!model)
		return;
	fm_unmix_free(model->costs);
	fm_unmix_free(model->translations);
	free(model);
}

/* Sums */

struct fm_served_bins fm_served_bin(const struct fm_served_model *model, const struct fm_recorded_sample *sample)
{
	struct fm_served_bins bins = {FM_SERVED_NO_BIN, FM_SERVED_NO_BIN};

	if (sample->flags & (FM_SAMPLE_FAULTED | FM_SAMPLE_UNTIMED | FM_SAMPLE_SIMULATED) || !sample->cost)
		return bins;
	/* costs of the calibration are whole steps; a bin's border lies between them, so that no rounding is needed */
	if (model->costs)
		bins.cost = (uint8_t)fm_unmix_bin(model->costs, above(sample->cost, sample->baseline));
	if (model->translations && sample->neighbour && sample->neighbour_again)
		bins.translation =
		    (uint8_t)fm_unmix_bin(model->translations, above(sample->neighbour, sample->neighbour_again));
	return bins;
}

void fm_served_add(const struct fm_served_model *model, struct fm_served_sum *sum,
                   const struct fm_recorded_sample *sample, struct fm_served_bins bins, double weight)
{
	if (!(sample->flags & FM_SAMPLE_LEVEL_ONLY)) {
		sum->count++;
		sum->weight += weight;
		sum->squares += weight * weight;
		sum->loads += sample->kind & FM_SAMPLE_LOAD ? weight : 0;
		sum->stores += sample->kind & FM_SAMPLE_STORE ? weight : 0;
	}
	if (bins.cost != FM_SERVED_NO_BIN)
		fm_histogram_add(&sum->costs, bins.cost, weight);
	if (bins.translation != FM_SERVED_NO_BIN)
		fm_histogram_add(&sum->translations, bins.translation, weight);
	if (model->simulated && sample->level && sample->level <= model->levels) {
		sum->level[sample->level - 1] += weight;
		sum->level_squares += weight * weight;
		sum->cost += weight * sample->cost;
		sum->cost_squares += weight * sample->cost * sample->cost;
	}
	if (sample->node >= 0 && sample->page_node >= 0 && !(sample->flags & FM_SAMPLE_LEVEL_ONLY)) {
		*(sample->node == sample->page_node ? &sum->local : &sum->remote) += weight;
		sum->node_squares += weight * weight;
	}
}

void fm_served_merge(struct fm_served_sum *sum, const struct fm_served_sum *other)
{
	sum->count += other->count;
	sum->weight += other->weight;
	sum->squares += other->squares;
	sum->loads += other->loads;
	sum->stores += other->stores;
	fm_histogram_merge(&sum->costs, &other->costs);
	fm_histogram_merge(&sum->translations, &other->translations);
	for (unsigned i = 0; i < FM_SERVED_LEVELS; i++)
		sum->level[i] += other->level[i];
	sum->level_squares += other->level_squares;
	sum->cost += other->cost;
	sum->cost_squares += other->cost_squares;
	sum->local += other->local;
	sum->remote += other->remote;
	sum->node_squares += other->node_squares;
}

/* Figures */

static unsigned trials(double count)
{
	return (unsigned)fmin(count, UINT_MAX);
}

static struct fm_figure sampled(const struct fm_served_model *model, double value, double low, double high,
                                const char *unit, double count)
{
	return fm_figure_make(value, fmin(low, value), fmax(high, value), unit,
	                      model->simulated ? FM_ORIGIN_simulated : FM_ORIGIN_sampled, model->backend,
	                      trials(count));
}

struct fm_figure fm_served_share(const struct fm_served_model *model, double part, double total, double squares)
{
	double count = fm_effective_count(total, squares), share, centre, half, scale;

	if (!(total > 0) || !(count > 0))
		return fm_figure_unavailable("there are no samples");
	share = fmin(fmax(part / total, 0), 1);
	if (model->every)
		return sampled(model, share, share, share, "", count);
	scale = 1 / (1 + Z * Z / count);
	centre = scale * (share + Z * Z / (2 * count));
	half = scale * Z * sqrt(share * (1 - share) / count + Z * Z / (4 * count * count));
	return sampled(model, share, share > 0 ? fmax(centre - half, 0) : 0, share < 1 ? fmin(centre + half, 1) : 1, "",
	               count);
}

static void no_details(const struct fm_served_model *model, struct fm_served *served, const char *why)
{
	for (unsigned i = 0; i < model->classes; i++) {
		served->levels[i] = fm_figure_unavailable("%s", why);
		served->mixture[i] = -1;
	}
	served->mean_cost_cycles = served->mean_cost_ns = fm_figure_unavailable("%s", why);
}

static void compute_simulated(const struct fm_served_model *model, const struct fm_served_sum *sum,
                              struct fm_served *served)
{
	double total = 0, mean, half, count;

	for (unsigned i = 0; i < model->levels; i++)
		total += sum->level[i];
	for (unsigned i = 0; i < model->levels; i++) {
		served->levels[i] = fm_served_share(model, sum->level[i], total, sum->level_squares);
		served->mixture[i] = total > 0 ? sum->level[i] / total : -1;
	}
	served->levels[model->classes - 1] = fm_figure_unavailable("the simulated machine has no other costs");
	served->mixture[model->classes - 1] = -1;
	served->mean_cost_ns = fm_figure_unavailable("simulated costs are cycles");
	count = fm_effective_count(total, sum->level_squares);
	if (!(total > 0)) {
		served->mean_cost_cycles = fm_figure_unavailable("there are no samples");
		return;
	}
	mean = sum->cost / total;
	half = model->every || count < 2 ? 0 : Z * sqrt(fmax(sum->cost_squares / total - mean * mean, 0) / (count - 1));
	served->mean_cost_cycles = sampled(model, mean, fmax(mean - half, 0), mean + half, "cycles", count);
	if (!model->every && count < 2)
		served->mean_cost_cycles = fm_figure_unavailable("one sample has no interval");
}

/* Without costs beyond levels: a page fault is no cost of a level. */
static double mean_cost(const struct fm_served_model *model, const double *shares, const double *costs)
{
	double sum = 0, total = 0;

	for (unsigned i = 0; i + 1 < model->classes; i++) {
		sum += shares[i] * costs[i];
		total += shares[i];
	}
	return total > 0 ? sum / total : 0;
}

static void compute_cost(const struct fm_served_model *model, const struct fm_mixture *mixture, double count,
                         struct fm_served *served)
{
	double draws[FM_UNMIX_DRAWS], value, low, high;

	if (*model->cost_why) {
		served->mean_cost_cycles = served->mean_cost_ns = fm_figure_unavailable("%s", model->cost_why);
		return;
	}
	value = mean_cost(model, mixture->value, model->cost_ns[FM_UNMIX_DRAWS]);
	for (unsigned k = 0; k < FM_UNMIX_DRAWS; k++)
		draws[k] = mean_cost(model, mixture->draws[k], model->cost_ns[k]);
	fm_unmix_interval(draws, FM_UNMIX_DRAWS, value, &low, &high);
	low = fmax(low, 0);
	served->mean_cost_ns =
	    fm_figure_make(value, low, high, "ns", FM_ORIGIN_combined, model->backend, trials(count));
	served->mean_cost_cycles =
	    model->cycles_per_ns > 0 ? fm_figure_scaled(&served->mean_cost_ns, model->cycles_per_ns, model->cycles_unit)
	                             : fm_figure_unavailable("the clock is not known");
}

static void compute_timed(const struct fm_served_model *model, const struct fm_served_sum *sum,
                          struct fm_served *served)
{
	double count = fm_effective_count(sum->costs.total, sum->costs.squares);
	struct fm_mixture mixture;

	if (*model->why) {
		no_details(model, served, model->why);
		return;
	}
	if (sum->costs.count < FM_SERVED_LEAST || fm_unmix_solve(model->costs, &sum->costs, &mixture)) {
		char why[80];

		snprintf(why, sizeof(why), "%llu timed samples are too few", (unsigned long long)sum->costs.count);
		no_details(model, served, why);
		return;
	}
	for (unsigned i = 0; i < model->classes; i++) {
		served->levels[i] = fm_figure_make(mixture.value[i], mixture.low[i], mixture.high[i], "",
		                                   FM_ORIGIN_sampled, model->backend, trials(count));
		served->mixture[i] = mixture.value[i];
	}
	compute_cost(model, &mixture, count, served);
}

static struct fm_figure compute_translations(const struct fm_served_model *model, const struct fm_served_sum *sum)
{
	const struct fm_unmix *unmix = model->translations;
	double draws[FM_UNMIX_DRAWS] = {0}, value = 0, low, high;
	double count = fm_effective_count(sum->translations.total, sum->translations.squares);
	bool doubtful = true;
	struct fm_mixture mixture;

	if (!unmix)
		return fm_figure_unavailable("%s", model->translations_why);
	if (sum->translations.count < FM_SERVED_LEAST || fm_unmix_solve(unmix, &sum->translations, &mixture))
		return fm_figure_unavailable("%llu samples are too few", (unsigned long long)sum->translations.count);
	for (unsigned i = 1; i < 2 * model->levels; i += 2) {
		unsigned group = unmix->group_of[i];

		if (group == FM_UNMIX_NONE)
			continue;
		value += mixture.value[group];
		doubtful &= mixture.low[group] <= 0;
		for (unsigned k = 0; k < FM_UNMIX_DRAWS; k++)
			draws[k] += mixture.draws[k][group];
	}
	fm_unmix_interval(draws, FM_UNMIX_DRAWS, value, &low, &high);
	if (value < 3 / count)
		high = fmax(high, 3 / count);
	return fm_figure_make(value, doubtful && low < FM_SHARE_DOUBTED ? 0 : fmax(low, 0), fmin(high, 1), "",
	                      FM_ORIGIN_sampled, model->backend, trials(count));
}

void fm_served_compute(const struct fm_served_model *model, const struct fm_served_sum *sum,
                       const struct fm_served_sum *whole, bool detailed, struct fm_served *ret_served)
{
	struct fm_served *served = ret_served;

	memset(served, 0, sizeof(*served));
	served->samples = sum->count;
	served->seconds = sum->weight;
	served->share = fm_served_share(model, sum->weight, whole->weight, whole->squares);
	served->loads = fm_served_share(model, sum->loads, sum->weight, sum->squares);
	served->stores = fm_served_share(model, sum->stores, sum->weight, sum->squares);
	served->local = sum->local + sum->remote > 0
	                    ? fm_served_share(model, sum->local, sum->local + sum->remote, sum->node_squares)
	                    : fm_figure_unavailable("the node of the pages is not known");
	if (model->simulated) {
		compute_simulated(model, sum, served);
		served->translation_misses = fm_figure_unavailable("%s", model->translations_why);
	} else if (detailed) {
		compute_timed(model, sum, served);
		served->translation_misses = compute_translations(model, sum);
	} else {
		no_details(model, served, "only shown for the heaviest rows");
		served->translation_misses = fm_figure_unavailable("only shown for the heaviest rows");
	}
}

bool fm_served_probabilities(const struct fm_served_model *model, const struct fm_served *prior,
                             const struct fm_recorded_sample *sample, double ret_probabilities[FM_SERVED_CLASSES])
{
	uint8_t bin = fm_served_bin(model, sample).cost;
	double sum = 0;

	memset(ret_probabilities, 0, FM_SERVED_CLASSES * sizeof(*ret_probabilities));
	if (model->simulated) {
		if (!sample->level || sample->level > model->levels)
			return false;
		ret_probabilities[model->class_of[sample->level - 1]] = 1;
		return true;
	}
	if (prior->mixture[0] < 0)
		return false;
	if (bin != FM_SERVED_NO_BIN && fm_unmix_posterior(model->costs, prior->mixture, bin, ret_probabilities))
		return true;
	for (unsigned i = 0; i < model->classes; i++)
		sum += ret_probabilities[i] = prior->mixture[i];
	for (unsigned i = 0; i < model->classes && sum > 0; i++)
		ret_probabilities[i] /= sum;
	return sum > 0;
}

unsigned fm_served_level(const struct fm_served_model *model, const struct fm_served *prior,
                         const struct fm_recorded_sample *sample, struct fm_served_bins bins)
{
	unsigned found = 0, members = 0;
	struct fm_mixture mixture;
	int class;

	if (model->simulated)
		return sample->level <= model->levels ? sample->level : 0;
	if (bins.cost == FM_SERVED_NO_BIN || prior->mixture[0] < 0)
		return 0;
	memcpy(mixture.value, prior->mixture, sizeof(prior->mixture));
	class = fm_unmix_likely(model->costs, &mixture, bins.cost);
	for (unsigned i = 0; i < model->levels; i++)
		if (class >= 0 && model->class_of[i] == (unsigned)class) {
			found = i + 1;
			members++;
		}
	return members == 1 ? found : 0;
}
