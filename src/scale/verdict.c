#include "scale/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scale/judging.h"

static const struct {
	const char *name, *advice;
	enum fm_scale_part part;
} causes[] = {
#define CAUSE(identifier, name, part, advice) {name, advice, FM_SCALE_##part},
#include "scale/causes.def"
#undef CAUSE
};

static const struct {
	const char *name, *words;
} parts[] = {
#define PART(identifier, name, words) {name, words},
#include "scale/parts.def"
#undef PART
};

const char *fm_scale_cause_name(enum fm_scale_cause cause)
{
	return causes[cause].name;
}

const char *fm_scale_cause_advice(enum fm_scale_cause cause)
{
	return causes[cause].advice;
}

const char *fm_scale_part_name(enum fm_scale_part part)
{
	return parts[part].name;
}

const char *fm_scale_part_words(enum fm_scale_part part)
{
	return parts[part].words;
}

static __attribute__((format(printf, 2, 3))) void add_evidence(struct fm_scale_verdict *verdict, const char *format,
                                                               ...)
{
	va_list arguments;

	if (verdict->evidence_count == FM_SCALE_EVIDENCE)
		return;
	va_start(arguments, format);
	vsnprintf(verdict->evidence[verdict->evidence_count++], sizeof(verdict->evidence[0]), format, arguments);
	va_end(arguments);
}

/* The outermost level whose bandwidth is used up. */
static const struct fm_scale_level *saturated_level(const struct fm_scale_count *count)
{
	for (unsigned i = count->level_count; i-- > 0;)
		if (count->levels[i].utilisation.available && count->levels[i].utilisation.value >= SATURATED_USE)
			return &count->levels[i];
	return NULL;
}

/* The outermost level whose bandwidth an observed run waits for. */
static const struct fm_recorded_scale_level *waited_level(const struct fm_scale *scale,
                                                          const struct fm_scale_count *count)
{
	const struct fm_recorded_scale_level *found = NULL;

	for (size_t i = 0; i < scale->recording->scale_levels_count; i++) {
		const struct fm_recorded_scale_level *level = &scale->recording->scale_levels[i];

		if (level->count == count->count && level->wait.available && level->wait.value >= SATURATED_WAIT)
			found = level;
	}
	return found;
}

static bool is_too_fine(const struct fm_scale_count *count)
{
	const struct fm_recorded_scale_look *look = count->look;

	return look && look->runtime_share >= FINE_RUNTIME;
}

static enum fm_scale_part leading_part(const struct fm_scale_count *count, double *ret_loss)
{
	double loss = 0, most = 0;
	enum fm_scale_part leading = FM_SCALE_useful;

	for (unsigned i = 0; i < FM_SCALE_PARTS; i++) {
		double share = count->share[i];

		if (i == FM_SCALE_useful)
			continue;
		loss += share;
		/* transfers between threads are a cost of synchronisation, or of shared data */
		if (i == FM_SCALE_waiting)
			share += count->share[FM_SCALE_transfers];
		if (share > most) {
			most = share;
			leading = (enum fm_scale_part)i;
		}
	}
	*ret_loss = loss;
	return leading;
}

static void name_line(const struct fm_scale *scale, struct fm_scale_verdict *verdict)
{
	const struct fm_scale_count *decisive = &scale->counts[verdict->decisive];
	const struct fm_recorded_scale_look *look = decisive->look ? decisive->look : scale->counts[0].look;
	bool transfers = verdict->cause == FM_SCALE_CAUSE_synchronising || verdict->cause == FM_SCALE_CAUSE_too_fine;

	if (!look || verdict->cause == FM_SCALE_CAUSE_inconclusive || verdict->cause == FM_SCALE_CAUSE_scaling ||
	    verdict->cause == FM_SCALE_CAUSE_oversubscribed)
		return;
	snprintf(verdict->line, sizeof(verdict->line), "%s",
	         transfers && *look->transfers_line ? look->transfers_line : look->line);
}

static void judge_slower(const struct fm_scale *scale, const struct fm_scale_count *count,
                         struct fm_scale_verdict *verdict)
{
	const struct fm_scale_level *level = saturated_level(count);
	const struct fm_recorded_scale_level *waited = waited_level(scale, count);

	if (level) {
		verdict->cause = FM_SCALE_CAUSE_saturated;
		snprintf(verdict->level, sizeof(verdict->level), "%s", level->name);
		add_evidence(verdict, "%s moves %.3g GB/s, %.0f %% of the sustainable %.3g GB/s for %u threads",
		             level->name, level->gbs.value, 100 * fmin(level->utilisation.value, 1),
		             level->sustainable_gbs.value, count->count);
	} else if (waited) {
		verdict->cause = FM_SCALE_CAUSE_saturated;
		snprintf(verdict->level, sizeof(verdict->level), "%s", waited->name);
		add_evidence(verdict, "%.0f %% of the cycles wait for the bandwidth of %s", 100 * waited->wait.value,
		             waited->name);
	} else {
		verdict->cause = FM_SCALE_CAUSE_inconclusive;
		add_evidence(verdict, "threads need more processor time for the same work, and no level is saturated: "
		                      "shared caches, shared cores or the clock");
	}
}

static void judge_losses(const struct fm_scale *scale, struct fm_scale_verdict *verdict)
{
	const struct fm_scale_count *count = &scale->counts[verdict->decisive];
	double loss;
	enum fm_scale_part part = leading_part(count, &loss);
	double share = count->share[part] + (part == FM_SCALE_waiting ? count->share[FM_SCALE_transfers] : 0);

	verdict->cause = FM_SCALE_CAUSE_inconclusive;
	add_evidence(verdict, "%u threads: %.2f times as fast as %u, %.0f %% of the ideal", count->count,
	             count->speedup.value / scale->counts[0].count, scale->counts[0].count,
	             100 * count->efficiency.value);
	if (loss < LEAST_LOSS || share < LEADING_SHARE * loss || share < LEAST_LOSS) {
		add_evidence(verdict, "lost time has no dominant cause; the largest: %.0f %% of %.0f %%, %s",
		             100 * share, 100 * loss, fm_scale_part_words(part));
		return;
	}
	add_evidence(verdict, "%.0f %% of the processors' time: %s", 100 * share, fm_scale_part_words(part));
	if (part == FM_SCALE_slower)
		judge_slower(scale, count, verdict);
	else if (part == FM_SCALE_waiting && is_too_fine(count))
		verdict->cause = FM_SCALE_CAUSE_too_fine;
	else
		for (unsigned i = 0; i < FM_SCALE_CAUSES && verdict->cause == FM_SCALE_CAUSE_inconclusive; i++)
			if (causes[i].part == part && i != FM_SCALE_CAUSE_too_fine)
				verdict->cause = (enum fm_scale_cause)i;
	if (verdict->cause == FM_SCALE_CAUSE_too_fine)
		add_evidence(verdict, "%.0f %% of the accesses are in %s", 100 * count->look->runtime_share,
		             count->look->runtime);
	if (verdict->cause != FM_SCALE_CAUSE_inconclusive)
		verdict->confidence = fmin(0.95, 0.5 + 0.5 * share / loss);
	/* where the others spin, a serial part of the first thread looks the same */
	if (verdict->cause == FM_SCALE_CAUSE_imbalanced && 2 * count->spun > count->share[FM_SCALE_imbalance]) {
		verdict->confidence = fmin(verdict->confidence, UNCERTAIN);
		add_evidence(verdict, "the other threads spin meanwhile: this may be a serial part");
	}
}

/* Threads without a processor, beyond the number of processors. */
static bool is_oversubscribed(const struct fm_scale *scale, unsigned at)
{
	const struct fm_scale_count *count = &scale->counts[at];

	/* the usual numbers exceed the processors only to distinguish a serial part from imbalance */
	return (scale->how->asked || count->count <= scale->how->cpus) && count->threads > scale->how->cpus &&
	       count->share[FM_SCALE_delayed] >= OVERSUBSCRIBED_DELAY;
}

/* There are enough processors, and other programs have them. */
static bool is_disturbed(const struct fm_scale *scale, const struct fm_scale_count *count)
{
	return 2 * count->disturbed > count->runs ||
	       (count->threads <= scale->how->cpus && count->share[FM_SCALE_delayed] >= OVERSUBSCRIBED_DELAY &&
	        strcmp(scale->how->by, "cpus") != 0);
}

/* The largest number that does not exceed the number of processors. */
static unsigned decisive(const struct fm_scale *scale)
{
	unsigned at = 0;

	for (unsigned i = 0; i < scale->count; i++)
		if (scale->counts[i].count <= scale->how->cpus)
			at = i;
	return at;
}

static bool ignores_number(const struct fm_scale *scale, const struct fm_scale_count *count)
{
	return !strcmp(scale->how->by, "threads") && count->threads <= scale->counts[0].threads &&
	       count->seen <= scale->counts[0].seen && count->count > scale->counts[0].count;
}

void fm_scale_judge(const struct fm_scale *scale, struct fm_scale_verdict *ret_verdict)
{
	struct fm_scale_verdict verdict = {.cause = FM_SCALE_CAUSE_inconclusive, .decisive = decisive(scale)};
	const struct fm_scale_count *count = &scale->counts[verdict.decisive];
	unsigned last = scale->count - 1;

	if (is_oversubscribed(scale, last) && (!verdict.decisive || count->efficiency.low >= SCALING_EFFICIENCY)) {
		verdict.decisive = last;
		verdict.cause = FM_SCALE_CAUSE_oversubscribed;
		verdict.confidence = 0.9;
		add_evidence(&verdict,
		             "%u threads share %u processors: ready and without a processor for %.0f %% of "
		             "the time",
		             scale->counts[last].threads, scale->how->cpus,
		             100 * scale->counts[last].share[FM_SCALE_delayed]);
	} else if (!verdict.decisive) {
		add_evidence(&verdict, "only one number of threads does not exceed the number of processors");
	} else if (!count->efficiency.available) {
		add_evidence(&verdict, "no undisturbed runs with %u threads: %.100s", count->count,
		             count->efficiency.why);
	} else if (ignores_number(scale, count)) {
		add_evidence(&verdict,
		             "the program had %u working threads for every number: put {threads} into the command, "
		             "name its variable (--variable), or use --by cpus",
		             count->threads);
	} else if (is_disturbed(scale, count)) {
		add_evidence(&verdict,
		             "other programs or the hypervisor used the processors: %u of %u runs disturbed; threads "
		             "waited for a processor for %.0f %% of the time",
		             count->disturbed, count->runs, 100 * count->share[FM_SCALE_delayed]);
	} else if (count->efficiency.low >= SCALING_EFFICIENCY) {
		verdict.cause = FM_SCALE_CAUSE_scaling;
		verdict.confidence = 0.95;
		add_evidence(&verdict, "%u threads: %.2f times as fast as %u, %.0f %% of the ideal", count->count,
		             count->speedup.value / scale->counts[0].count, scale->counts[0].count,
		             100 * count->efficiency.value);
	} else if (count->efficiency.high >= SCALING_EFFICIENCY &&
	           count->efficiency.high - count->efficiency.low > 0.2) {
		add_evidence(&verdict, "%u threads: %.0f to %.0f %% of the ideal; run times vary too much",
		             count->count, 100 * count->efficiency.low, 100 * count->efficiency.high);
	} else {
		judge_losses(scale, &verdict);
	}
	name_line(scale, &verdict);
	*ret_verdict = verdict;
}
