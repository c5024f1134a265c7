#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "recording/curve_rows.h"
#include "squeeze/hit_share.h"
#include "squeeze/map.h"
#include "squeeze/pairs.h"
#include "squeeze/ranks.h"
#include "squeeze/second_opinion.h"
#include "squeeze/squeeze.h"
#include "squeeze/tuning.h"

enum { LINE_BYTES = 64 };

/* Predictions */

/* "8M" or "25%" of everything. */
static bool parse_amount(const char *text, double everything, bool is_size, double *ret_amount)
{
	char *end;
	double amount = strtod(text, &end);

	if (end == text || !(amount > 0))
		return false;
	if (!strcmp(end, "%"))
		amount *= everything / 100;
	else if (is_size)
		amount *= !strcasecmp(end, "K") || !strcasecmp(end, "KiB")   ? 1024.0
		          : !strcasecmp(end, "M") || !strcasecmp(end, "MiB") ? 1048576.0
		          : !*end                                            ? 1
		                                                             : NAN;
	else if (*end && strcasecmp(end, "GB/s") != 0)
		return false;
	*ret_amount = amount;
	return !isnan(amount) && amount <= everything * (1 + AMOUNT_SLACK);
}

int fm_squeeze_parse(const char *text, const char *level, double bytes, double gbs,
                     struct fm_squeeze_prediction *ret_prediction, struct fm_error *error)
{
	struct fm_squeeze_prediction prediction = {.bytes = bytes, .gbs = gbs};
	char parts[sizeof(prediction.text)], *saved = NULL;

	if (strlen(text) >= sizeof(parts) || !*text)
		return fm_error_set(error, EINVAL, "--predict takes l3=8M, bw=50%% or both with a comma, not \"%s\"",
		                    text);
	snprintf(prediction.text, sizeof(prediction.text), "%s", text);
	snprintf(parts, sizeof(parts), "%s", text);
	for (char *part = strtok_r(parts, ",", &saved); part; part = strtok_r(NULL, ",", &saved)) {
		char *equal = strchr(part, '=');
		bool is_bandwidth;

		if (equal)
			*equal = 0;
		is_bandwidth = !strcasecmp(part, "bw");
		if (is_bandwidth && !(gbs > 0))
			return fm_error_set(error, EINVAL, "--predict %s: bandwidth cannot be limited here", text);
		if (equal && !is_bandwidth && strcasecmp(part, level) != 0)
			return fm_error_set(
			    error, EINVAL,
			    "--predict %s: %s is the only cache limited in this run; --level NAME selects another",
			    text, level);
		if (!equal || !parse_amount(equal + 1, is_bandwidth ? gbs : bytes, !is_bandwidth,
		                            is_bandwidth ? &prediction.gbs : &prediction.bytes))
			return fm_error_set(
			    error, EINVAL,
			    "--predict %s: the maximum is %.4g MiB of %s and %.4g GB/s: write 8M, 512K, 25%%, or for "
			    "bw 8 or 50%%",
			    text, bytes / 1048576, level, gbs);
	}
	*ret_prediction = prediction;
	return 0;
}

/* Bytes from and to memory with that much of the cache. */
static double traffic_at(const struct fm_squeeze *squeeze, double bytes)
{
	struct fm_design traffic = {0};
	double value, low, high;

	for (size_t i = 0; i < squeeze->recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *step = &squeeze->recording->squeeze_steps[i];

		if (step->gbs >= squeeze->how->gbs)
			fm_design_add(&traffic, step->bytes, (double)step->memory_bytes);
	}
	return fm_design_at(&traffic, bytes, &value, &low, &high) ? value : 0;
}

/* Live: of the run in which lines were followed. */
static double references_of(const struct fm_squeeze *squeeze)
{
	const struct fm_recorded_curve *row = fm_curve_of_program(squeeze->recording);

	return row ? (double)row->references : 0;
}

/* By the model alone, from everything and half of it. */
static struct fm_figure from_half(const struct fm_squeeze *squeeze, double bytes)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	struct fm_hit_share model = {.full_bytes = how->bytes,
	                             .near_ns = how->near_ns,
	                             .beyond_ns = how->beyond_ns,
	                             .half = fm_figure_unavailable("not run"),
	                             .curve = squeeze->has_curve ? &squeeze->curve : NULL};

	if (model.curve)
		model.references_per_ns = references_of(squeeze) * 1e-9 / squeeze->seconds;
	for (unsigned i = 0; i < squeeze->capacity.count; i++) {
		const struct fm_design_point *point = &squeeze->capacity.points[i];

		if (fabs(2 * point->amount / how->bytes - 1) < AMOUNT_SLACK)
			model.half = fm_figure_make(point->time / squeeze->seconds, point->low / squeeze->seconds,
			                            point->high / squeeze->seconds, "times", FM_ORIGIN_measured,
			                            how->backend, point->runs);
	}
	return fm_hit_share_predict(&model, bytes);
}

void fm_squeeze_predict(const struct fm_squeeze *squeeze, struct fm_squeeze_prediction *prediction)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	double capacity[3], bandwidth[3], seconds[3], least;

	prediction->from_half = how->live ? from_half(squeeze, prediction->bytes)
	                                  : fm_figure_unavailable("the runs are more precise than the model");
	/* what cannot be taken stays as it is */
	if (how->live && *how->bandwidth_why) {
		if (fm_design_at(&squeeze->capacity, prediction->bytes, &capacity[0], &capacity[1], &capacity[2]) &&
		    isfinite(capacity[2])) {
			prediction->seconds = fm_figure_make(capacity[0], capacity[1], capacity[2], "s",
			                                     FM_ORIGIN_modelled, how->backend, 1);
			prediction->slowdown = fm_figure_scaled(&prediction->seconds, 1 / squeeze->seconds, "times");
		} else {
			prediction->slowdown = prediction->from_half;
			prediction->seconds = fm_figure_scaled(&prediction->slowdown, squeeze->seconds, "s");
		}
		return;
	}
	if (!fm_design_at(&squeeze->capacity, prediction->bytes, &capacity[0], &capacity[1], &capacity[2]) ||
	    !fm_design_at(&squeeze->bandwidth, prediction->gbs, &bandwidth[0], &bandwidth[1], &bandwidth[2])) {
		prediction->slowdown = prediction->seconds =
		    fm_figure_unavailable("the amount is below the smallest tried amount, or this axis was omitted");
		return;
	}
	/* what moves cannot move faster than that; and with less cache more moves */
	least = traffic_at(squeeze, prediction->bytes) / (prediction->gbs * 1e9);
	for (unsigned i = 0; i < 3; i++) {
		double both = capacity[i] * bandwidth[i] / squeeze->seconds;

		seconds[i] = prediction->bytes < how->bytes && prediction->gbs < how->gbs ? fmax(both, least) : both;
	}
	/* either might hide the other */
	if (prediction->bytes < how->bytes && prediction->gbs < how->gbs)
		seconds[1] = fmin(seconds[1], fmax(fmax(capacity[1], bandwidth[1]), least));
	prediction->seconds =
	    fm_figure_make(seconds[0], seconds[1], seconds[2], "s", FM_ORIGIN_modelled, how->backend, 1);
	prediction->slowdown = fm_figure_scaled(&prediction->seconds, 1 / squeeze->seconds, "times");
}

static void predict_all(struct fm_squeeze *squeeze)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	char list[sizeof(how->predict)], *saved = NULL;
	struct fm_error ignored;

	snprintf(list, sizeof(list), "%s", how->predict);
	for (char *text = strtok_r(list, " ", &saved); text && squeeze->prediction_count < FM_SQUEEZE_PREDICTIONS;
	     text = strtok_r(NULL, " ", &saved)) {
		struct fm_squeeze_prediction *prediction = &squeeze->predictions[squeeze->prediction_count];

		if (fm_squeeze_parse(text, how->level, how->bytes, how->gbs, prediction, &ignored))
			continue;
		fm_squeeze_predict(squeeze, prediction);
		squeeze->prediction_count++;
	}
}

/* The second opinion: misses of caches of any size */

/* Of the program's references, how many more may miss until that is noticeable, if each took its whole latency. */
static double allowed_misses(const struct fm_squeeze *squeeze)
{
	const struct fm_recorded_squeeze_step *first = &squeeze->recording->squeeze_steps[0];
	const struct fm_recorded_squeeze *how = squeeze->how;
	const struct fm_machine_description *machine = &squeeze->recording->machine;
	unsigned next = how->cache + 1;
	double latency = next < machine->cache_count ? machine->caches[next].latency : machine->memory_latency;

	if (how->live)
		return how->noticeable * squeeze->seconds * 1e9 /
		       (references_of(squeeze) * (how->beyond_ns.value - how->near_ns.value));
	return how->noticeable * (double)first->cycles / ((double)first->references * latency);
}

/* The size from which on that many more misses come. */
static struct fm_figure need_of_curve(const struct fm_squeeze *squeeze)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	double allowed = allowed_misses(squeeze) + fm_miss_at(&squeeze->curve, how->bytes).value;
	unsigned at = 0, sure = 0;

	while (at + 1 < FM_MISS_POINTS && fm_miss_bytes(at) < how->bytes && squeeze->curve.points[at].value > allowed)
		at++;
	/* sizes are as uncertain as the curve is steep */
	while (sure < at && squeeze->curve.points[sure].low > allowed)
		sure++;
	return fm_figure_make(fmin(fm_miss_bytes(at), how->bytes), sure ? fm_miss_bytes(sure - 1) : 0,
	                      fmin(fm_miss_bytes(at), how->bytes), "bytes",
	                      how->live ? FM_ORIGIN_sampled : FM_ORIGIN_simulated, how->live ? "windows" : "exact", 1);
}

static void compare_with_curve(struct fm_squeeze *squeeze)
{
	squeeze->curve_need = need_of_curve(squeeze);
	squeeze->agrees = squeeze->capacity_in_use.available &&
	                  squeeze->curve_need.low <= squeeze->capacity_in_use.high &&
	                  squeeze->curve_need.high >= squeeze->capacity_in_use.low;
}

/* A live recording may have a curve, which is useful if the cost of a miss is known. */
static void find_second_opinion(struct fm_squeeze *squeeze)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	const struct fm_recorded_curve *row = fm_curve_of_program(squeeze->recording);
	const char *why = fm_recording_get(squeeze->recording, FM_SECOND_OPINION_WHY);

	squeeze->curve_need = fm_figure_unavailable("%s", why && *why ? why : "'fathom stat --curve' shows it");
	if (!row || !row->references)
		return;
	fm_curve_read(squeeze->recording, (size_t)(row - squeeze->recording->curves), &squeeze->curve);
	squeeze->has_curve = true;
	if (how->near_ns.available && how->beyond_ns.available && how->beyond_ns.value > how->near_ns.value)
		compare_with_curve(squeeze);
	else
		squeeze->curve_need = fm_figure_unavailable("the cost of a miss is unknown");
}

/* Axes */

static struct fm_figure in_use(const struct fm_design *design, const char *unit, const char *why_not,
                               const struct fm_recorded_squeeze *how, bool *ret_sensitive)
{
	struct fm_design_knee knee;
	unsigned runs = 0;

	*ret_sensitive = false;
	if (*why_not)
		return fm_figure_unavailable("%s", why_not);
	if (design->count < 2 || !fm_design_knee(design, &knee))
		return fm_figure_unavailable("%s", *how->stopped ? how->stopped : "omitted");
	/* no amount differs */
	if (!knee.decided && knee.high >= design->full * (1 - AMOUNT_SLACK))
		return fm_figure_unavailable("%s", *how->stopped ? how->stopped : "times vary too much");
	*ret_sensitive = knee.sensitive;
	for (unsigned i = 0; i < design->count; i++)
		runs += design->points[i].runs;
	return fm_figure_make(knee.high, knee.low, knee.high, unit,
	                      how->live ? FM_ORIGIN_measured : FM_ORIGIN_simulated, how->backend,
	                      how->live ? runs : design->count);
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median_whole(const struct fm_recording *recording)
{
	double *seconds = calloc(recording->squeeze_steps_count, sizeof(*seconds)),
	       median = recording->squeeze_steps[0].seconds;
	unsigned count = 0;

	for (size_t i = 0; seconds && i < recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *step = &recording->squeeze_steps[i];

		/* the first is a whole run in any case */
		if (*recording->squeezes[0].region && !step->pair)
			continue;
		if (step->role == FM_SQUEEZE_WHOLE && !step->disturbed && step->seconds > 0)
			seconds[count++] = step->seconds;
	}
	if (count) {
		qsort(seconds, count, sizeof(*seconds), ascending);
		median = (seconds[count / 2] + seconds[(count - 1) / 2]) / 2;
	}
	free(seconds);
	return median;
}

/* Both runs of a pair are neighbours in the recording. */
static void use_pair(struct fm_squeeze *squeeze, const struct fm_recorded_squeeze_step *pair, double control_amount,
                     struct fm_pairs *capacity, struct fm_pairs *bandwidth)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	const struct fm_recorded_squeeze_step *whole = &pair[0], *less = &pair[1];
	double ratio;

	if (less->bytes >= how->bytes && less->gbs >= how->gbs) {
		whole = &pair[1];
		less = &pair[0];
	}
	ratio = less->seconds / whole->seconds;
	if (pair[0].disturbed || pair[1].disturbed) {
		squeeze->set_aside++;
		return;
	}
	if (pair[0].role == FM_SQUEEZE_CONTROL)
		fm_pairs_add(capacity, control_amount, ratio);
	else if (less->bytes < how->bytes && less->gbs >= how->gbs)
		fm_pairs_add(capacity, less->bytes, ratio);
	else if (less->gbs < how->gbs && less->bytes >= how->bytes)
		fm_pairs_add(bandwidth, less->gbs, ratio);
}

static int analyse_live(struct fm_squeeze *squeeze, struct fm_error *error)
{
	const struct fm_recording *recording = squeeze->recording;
	const struct fm_recorded_squeeze *how = squeeze->how;
	/* the control is an amount of its own that no axis has */
	const double control_amount = 4 * how->bytes;
	struct fm_pairs *pairs = calloc(2, sizeof(*pairs));
	struct fm_location control;
	bool sensitive;

	if (!pairs)
		return fm_error_set(error, ENOMEM, "out of memory");
	for (size_t i = 1; i + 1 < recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *pair = &recording->squeeze_steps[i];

		if (!pair[0].pair || pair[0].pair != pair[1].pair)
			continue;
		if (pair[0].seconds > 0 && pair[1].seconds > 0)
			use_pair(squeeze, pair, control_amount, &pairs[0], &pairs[1]);
		i++;
	}
	squeeze->seconds = median_whole(recording);
	squeeze->control = fm_figure_unavailable("%s", *how->stopped ? how->stopped : "it was not run");
	if (fm_pairs_ratio(&pairs[0], control_amount, &control)) {
		squeeze->control = fm_figure_make(control.value, control.low, control.high, "times", FM_ORIGIN_measured,
		                                  how->backend, control.kept);
		squeeze->control_fails = control.low > 1 + how->noticeable;
		for (unsigned i = 0; i < pairs[0].count; i++)
			if (pairs[0].groups[i].amount == control_amount)
				pairs[0].groups[i].count = 0;
	}
	fm_pairs_fill(&pairs[0], how->bytes, squeeze->seconds, &squeeze->capacity);
	fm_pairs_fill(&pairs[1], how->gbs, squeeze->seconds, &squeeze->bandwidth);
	free(pairs);
	squeeze->bandwidth_in_use =
	    in_use(&squeeze->bandwidth, "GB/s", how->bandwidth_why, how, &squeeze->bandwidth_matters);
	squeeze->capacity_in_use = in_use(&squeeze->capacity, "bytes", how->capacity_why, how, &sensitive);
	squeeze->kind = sensitive                            ? FM_SQUEEZE_SENSITIVE
	                : how->footprint_bytes <= how->bytes ? FM_SQUEEZE_SMALL
	                                                     : FM_SQUEEZE_UNTOLD;
	find_second_opinion(squeeze);
	if (squeeze->kind == FM_SQUEEZE_UNTOLD && squeeze->has_curve)
		squeeze->kind = fm_miss_at(&squeeze->curve, how->bytes).value * references_of(squeeze) * LINE_BYTES >
		                        PASSES_THROUGH * how->bytes
		                    ? FM_SQUEEZE_STREAMING
		                    : FM_SQUEEZE_SMALL;
	return 0;
}

static void analyse_exact(struct fm_squeeze *squeeze)
{
	const struct fm_recording *recording = squeeze->recording;
	const struct fm_recorded_squeeze *how = squeeze->how;
	const double hertz = recording->machine.frequency_ghz * 1e9;
	bool sensitive;

	for (size_t i = 0; i < recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *step = &recording->squeeze_steps[i];
		double seconds = (double)step->cycles / hertz;

		if (!(step->bytes > 0) || !(step->gbs > 0))
			continue;
		if (step->gbs >= how->gbs)
			fm_design_add(&squeeze->capacity, step->bytes, seconds);
		if (step->bytes >= how->bytes)
			fm_design_add(&squeeze->bandwidth, step->gbs, seconds);
	}
	squeeze->seconds = (double)recording->squeeze_steps[0].cycles / hertz;
	squeeze->traffic_gbs = (double)recording->squeeze_steps[0].memory_bytes / squeeze->seconds * 1e-9;
	squeeze->bandwidth_in_use = in_use(&squeeze->bandwidth, "GB/s", "", how, &squeeze->bandwidth_matters);
	squeeze->capacity_in_use = in_use(&squeeze->capacity, "bytes", "", how, &sensitive);
	squeeze->kind = sensitive ? FM_SQUEEZE_SENSITIVE
	                : (double)recording->squeeze_steps[0].memory_bytes > PASSES_THROUGH * how->bytes
	                    ? FM_SQUEEZE_STREAMING
	                    : FM_SQUEEZE_SMALL;
	squeeze->control = fm_figure_unavailable("simulated runs differ in the limited resource only");
	squeeze->has_curve = fm_curve_from_distances(recording, &squeeze->curve);
	if (squeeze->has_curve)
		compare_with_curve(squeeze);
	else
		squeeze->curve_need = fm_figure_unavailable("the native engine cannot run this program");
}

/* Recordings are not trusted. */
static bool makes_sense(const struct fm_recording *recording)
{
	const struct fm_recorded_squeeze *how = recording->squeezes_count ? &recording->squeezes[0] : NULL;

	if (!how || !recording->squeeze_steps_count || !(how->bytes > 0 || *how->capacity_why))
		return false;
	if (how->live)
		return recording->squeeze_steps[0].seconds > 0 && isfinite(recording->squeeze_steps[0].seconds) &&
		       isfinite(how->bytes) && isfinite(how->gbs) && (how->gbs > 0 || *how->bandwidth_why) &&
		       how->noticeable > 0 && isfinite(how->footprint_bytes);
	return recording->has_machine && recording->machine.frequency_ghz > 0 && how->bytes > 0 && how->gbs > 0 &&
	       how->cache < recording->machine.cache_count && how->cache && recording->squeeze_steps[0].cycles;
}

int fm_squeeze_analyse(const struct fm_recording *recording, struct fm_squeeze **ret_squeeze, struct fm_error *error)
{
	const struct fm_recorded_squeeze *how = recording->squeezes;
	struct fm_squeeze *squeeze;
	int r = 0;

	if (!makes_sense(recording))
		return fm_error_set(error, EINVAL,
		                    "this recording has no results of squeeze: use 'fathom squeeze --record FILE'");
	squeeze = calloc(1, sizeof(*squeeze));
	if (!squeeze)
		return fm_error_set(error, ENOMEM, "out of memory");
	squeeze->recording = recording;
	squeeze->how = how;
	squeeze->runs = (unsigned)recording->squeeze_steps_count;
	for (unsigned i = 0; fm_squeeze_backends[i]; i++)
		if (!strcmp(fm_squeeze_backends[i]->name, how->backend))
			squeeze->backend = fm_squeeze_backends[i];
	squeeze->capacity =
	    (struct fm_design){.noticeable = how->noticeable, .precision = KNEE_RATIO, .full = how->bytes};
	squeeze->bandwidth = (struct fm_design){
	    .noticeable = how->noticeable, .precision = KNEE_RATIO, .full = how->gbs, .inverse = true};
	if (how->live)
		r = analyse_live(squeeze, error);
	else
		analyse_exact(squeeze);
	if (!r)
		r = fm_map_analyse(squeeze, error);
	if (r) {
		free(squeeze);
		return r;
	}
	predict_all(squeeze);
	if (!how->live && how->ranks)
		fm_ranks_analyse(squeeze);
	*ret_squeeze = squeeze;
	return 0;
}

void fm_squeeze_free(struct fm_squeeze *squeeze)
{
	free(squeeze);
}
