#include "patterns/verdict.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/doubt.h"
#include "patterns/analysis.h"
#include "patterns/confidence.h"
#include "patterns/deciding.h"
#include "windows/laboratory.h"

/* Shares of the run time */

static struct fm_figure none(void)
{
	return fm_figure_unavailable("not known");
}

static struct fm_figure scaled(const struct fm_figure *figure, double low, double value, double high)
{
	if (!figure->available)
		return *figure;
	return fm_figure_make(fmin(1, figure->value * value), fmin(1, figure->low * low), fmin(1, figure->high * high),
	                      "", figure->origin, figure->backend, figure->trials);
}

static const struct fm_recorded_native *native_of(const struct fm_analysis *analysis)
{
	const struct fm_recorded_native *native = &analysis->recording->native;

	return native->runs && native->seconds.available && native->seconds.value > 0 ? native : NULL;
}

/* The part of the run time in which one thread has a processor. */
static double busy_of(const struct fm_recorded_native *native)
{
	return native ? fmin(1, native->cpu_seconds / native->seconds.value) : 1;
}

static double kernel_of(const struct fm_recorded_native *native)
{
	return native && native->share_seconds > FM_KERNEL_SECONDS ? fmin(1, native->kernel_share) : 0;
}

/* A share of the cycles as share of the run time. */
static struct fm_figure of_run(const struct fm_analysis *analysis, const struct fm_figure *share)
{
	const struct fm_recorded_native *native = native_of(analysis);
	const struct fm_picture_team *team = &analysis->whole.picture.team;
	double user = 1 - kernel_of(native), transfers = team->true_sharing.value + team->false_sharing.value;

	if (team->known)
		return scaled(share, user * fmax(0, team->worked.low - transfers),
		              user * fmax(0, team->worked.value - transfers),
		              user * fmax(0, team->worked.high - transfers));
	user *= busy_of(native);
	return scaled(share, user, user, user);
}

/* Factors from simulated to real shares. The costs of instructions are well known, the waiting for lines is not: an
   error of the predicted time is an error of the waiting. */
struct adjustment {
	double core, waiting;
};

static struct adjustment adjustment_of(const struct fm_analysis *analysis)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	double transfers =
	           picture->team.true_sharing.value + picture->team.false_sharing.value + picture->team.spinning.value,
	       active = picture->active.value, waiting, longer;
	struct adjustment none = {1, 1}, own;

	/* of several processes, the prediction may lack some */
	if (picture->laboratory.used || picture->counted || analysis->recording->processes_count > 1 ||
	    !picture->off.available || fabs(picture->off.value) < FM_OFF_NOTICED || !picture->memory_bound.available ||
	    !(active > 0) || (picture->team.known && transfers > FM_RIVAL_LEAST))
		return none;
	waiting = fmin(1, picture->memory_bound.value / active);
	longer = fmax(1 + picture->off.value, FM_ADJUSTED_LEAST);
	/* calculation takes no more than all of the time */
	own.core = fmin(longer, waiting < 1 ? 1 / (1 - waiting) : 1);
	own.waiting = waiting > FM_SHARE_SURE ? (1 - own.core * (1 - waiting)) / waiting : 1;
	return own;
}

static struct fm_figure adjusted(struct fm_figure figure, double factor)
{
	if (!figure.available || factor == 1)
		return figure;
	/* as uncertain as the adjustment is large */
	return fm_figure_make(fmin(1, figure.value * factor), fmin(1, figure.low * fmin(factor, 1)),
	                      fmin(1, figure.high * fmax(factor, 1)), "", figure.origin, figure.backend, figure.trials);
}

static struct fm_figure waiting_of_run(const struct fm_analysis *analysis, const struct fm_figure *share)
{
	struct fm_figure own = adjusted(*share, adjustment_of(analysis).waiting);

	return of_run(analysis, &own);
}

static struct fm_figure core_of_run(const struct fm_analysis *analysis, const struct fm_figure *share)
{
	struct fm_figure own = adjusted(*share, adjustment_of(analysis).core);

	return of_run(analysis, &own);
}

/* Where the laboratory did not look, simulated waiting may be wrong, but not the traffic: a level near its peak is the
   limit whatever the core does meanwhile. */
static struct fm_figure bandwidth_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_picture_level *own = &picture->levels[level];
	struct fm_figure waited = waiting_of_run(analysis, &own->bandwidth_share), used = own->utilisation;

	if (picture->laboratory.used || !used.available || !(used.value >= FM_NEAR_PEAK))
		return waited;
	used.high = fmin(1, used.high);
	used.value = fmin(1, used.value);
	used.low = fmax(fmin(1, used.low), waited.available ? fmin(waited.low, used.value) : 0);
	used = of_run(analysis, &used);
	return !waited.available || used.value > waited.value ? used : waited;
}

static struct fm_figure latency_time(const struct fm_analysis *analysis, unsigned level)
{
	return waiting_of_run(analysis, &analysis->whole.picture.levels[level].latency_share);
}

static struct fm_figure translation_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return waiting_of_run(analysis, &analysis->whole.picture.signs.translation);
}

static struct fm_figure remote_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	unsigned memory = picture->level_count - 1;
	struct fm_figure latency = latency_time(analysis, memory), bandwidth = bandwidth_time(analysis, memory);
	const struct fm_figure *remote = &picture->signs.remote;

	(void)level;
	if (!remote->available || !(remote->value > 0) || !latency.available || !bandwidth.available)
		return none();
	latency.value = fmin(1, latency.value + bandwidth.value);
	latency.low = fmin(1, latency.low + bandwidth.low);
	latency.high = fmin(1, latency.high + bandwidth.high);
	return scaled(&latency, remote->low, remote->value, remote->high);
}

static struct fm_figure of_team(const struct fm_analysis *analysis, const struct fm_figure *share)
{
	return analysis->whole.picture.team.known ? *share : none();
}

static struct fm_figure false_sharing_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return of_team(analysis, &analysis->whole.picture.team.false_sharing);
}

static struct fm_figure true_sharing_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return of_team(analysis, &analysis->whole.picture.team.true_sharing);
}

static struct fm_figure imbalance_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return of_team(analysis, &analysis->whole.picture.team.uneven);
}

/* Threads that wait for each other call the kernel for that: then its time is not input or output. */
static bool waits_in_kernel(const struct fm_analysis *analysis)
{
	const struct fm_picture_team *team = &analysis->whole.picture.team;

	return team->known && team->waiting.available && team->waiting.value >= FM_RIVAL_LEAST;
}

/* True sharing, which is part of the team's waiting, has a name of its own. */
static struct fm_figure synchronisation_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_picture_team *team = &analysis->whole.picture.team;
	double shared = team->true_sharing.value;
	double kernel = waits_in_kernel(analysis) ? kernel_of(native_of(analysis)) * team->worked.value : 0;
	struct fm_figure waiting = of_team(analysis, &team->waiting);

	(void)level;
	if (waiting.available) {
		waiting.value = fmin(1, fmax(0, waiting.value - shared) + kernel);
		waiting.low = fmin(1, fmax(0, waiting.low - shared) + kernel);
		waiting.high = fmin(1, fmax(0, waiting.high - shared) + kernel);
	}
	return waiting;
}

static struct fm_figure supply_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return core_of_run(analysis, &analysis->whole.picture.signs.supply);
}

/* The kernel, and the time without a processor: of one thread, since several wait for each other. */
static struct fm_figure blocked_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_recorded_native *native = native_of(analysis);
	const struct fm_picture *picture = &analysis->whole.picture;
	double busy = busy_of(native), kernel = kernel_of(native), value, error;
	const struct fm_figure *faults = &picture->fault_seconds;

	(void)level;
	if (!native)
		return none();
	/* pages that are touched first are the program's memory, not its input and output */
	if (faults->available && native->cpu_seconds > 0)
		kernel = fmax(0, kernel - faults->high / native->cpu_seconds);
	if (picture->team.known)
		return waits_in_kernel(analysis) ? none() : scaled(&picture->team.worked, kernel, kernel, kernel);
	value = 1 - busy * (1 - kernel);
	error = FM_TICKS * FM_TICK / fmax(native->share_seconds, native->seconds.value);
	return fm_figure_make(value, fmax(0, value - error), fmin(1, value + error), "", FM_ORIGIN_measured, "native",
	                      native->seconds.trials);
}

static struct fm_figure compute_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_figure *memory = &picture->memory_bound, *supply = &picture->signs.supply;
	double active = picture->active.value, limited = 0;
	struct fm_figure rest;

	(void)level;
	if (!memory->available || !supply->available || !(active > 0))
		return memory->available ? *supply : *memory;
	rest = fm_figure_make(
	    fmax(0, 1 - memory->value / active - supply->value), fmax(0, 1 - memory->high / active - supply->high),
	    fmax(0, 1 - memory->low / active - supply->low), "", memory->origin, memory->backend, memory->trials);
	rest = core_of_run(analysis, &rest);
	/* while a level moves all that it can, calculation only fills the time */
	for (unsigned i = 1; i < picture->level_count; i++) {
		struct fm_figure limit = bandwidth_time(analysis, i);

		if (limit.available)
			limited = fmax(limited, limit.value);
	}
	rest.value = fmin(rest.value, 1 - limited);
	rest.low = fmin(rest.low, rest.value);
	return rest;
}

static const struct cause {
	const char *name;
	bool per_level;
	struct fm_figure (*time)(const struct fm_analysis *analysis, unsigned level);
	const char *pattern;
	bool decides, loses;
	const char *words;
} causes[] = {
#define CAUSE(name, per_level, time, pattern, decides, loses, words) \
	{name, per_level, time, pattern, decides, loses, words},
#include "patterns/causes.def"
#undef CAUSE
};
enum { CAUSES = sizeof(causes) / sizeof(causes[0]), CANDIDATES = CAUSES + 2 * FM_PICTURE_LEVELS };

struct candidate {
	const struct cause *cause;
	unsigned level;
	struct fm_figure share;
};

static int largest_first(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return (a->share.value < b->share.value) - (a->share.value > b->share.value);
}

static const struct fm_finding *finding_of(const struct fm_analysis *analysis, const struct candidate *candidate,
                                           unsigned *ret_index)
{
	const struct fm_judged *whole = &analysis->whole;

	for (unsigned i = 0; candidate->cause->pattern && i < whole->finding_count; i++) {
		size_t length = strlen(candidate->cause->pattern);

		if (strncmp(whole->findings[i].name, candidate->cause->pattern, length) != 0 ||
		    (whole->findings[i].name[length] && whole->findings[i].name[length] != ':') ||
		    (candidate->cause->per_level && whole->findings[i].level != candidate->level))
			continue;
		*ret_index = i;
		return &whole->findings[i];
	}
	return NULL;
}

static const struct fm_finding *deciding(const struct fm_analysis *analysis, const struct candidate *candidate)
{
	unsigned index;

	return candidate->cause->decides ? finding_of(analysis, candidate, &index) : NULL;
}

/* A smaller loss leads only if its pattern is present. */
static double loss_that_leads(const struct fm_analysis *analysis, const struct candidate *candidate)
{
	const struct fm_finding *finding = deciding(analysis, candidate);

	return finding && finding->verdict == FM_VERDICT_PRESENT ? FM_LOSS_CONFIRMED : FM_LOSS_LEADS;
}

/* Two processors lose at most half of their time while one thread works. A loss of a sixth matters, although the
   calculation takes longer. */
static void put_losses_first(const struct fm_analysis *analysis, struct candidate *candidates, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		if (candidates[i].cause->loses &&
		    candidates[i].share.value >= loss_that_leads(analysis, &candidates[i]) &&
		    !strcmp(candidates[0].cause->name, "compute")) {
			struct candidate first = candidates[i];

			memmove(candidates + 1, candidates, i * sizeof(*candidates));
			candidates[0] = first;
			return;
		}
}

static unsigned find_candidates(const struct fm_analysis *analysis, struct candidate *candidates)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	unsigned count = 0;

	for (unsigned i = 0; i < CAUSES; i++)
		for (unsigned level = causes[i].per_level; level < (causes[i].per_level ? picture->level_count : 1);
		     level++) {
			struct fm_figure share = causes[i].time(analysis, level);

			if (share.available && share.high > 0)
				candidates[count++] = (struct candidate){&causes[i], level, share};
		}
	qsort(candidates, count, sizeof(*candidates), largest_first);
	put_losses_first(analysis, candidates, count);
	return count;
}

static void name_of(const struct fm_picture *picture, const struct candidate *candidate, char *text, size_t size)
{
	snprintf(text, size, candidate->cause->per_level ? "%s:%s" : "%s", candidate->cause->name,
	         picture->levels[candidate->level].name);
}

/* How sure */

/* Standard errors, from 95 % intervals. */
static double error_of(const struct fm_figure *figure)
{
	return fmax((figure->high - figure->low) / (2 * 1.96), FM_SHARE_SURE);
}

static double normal(double z)
{
	return 0.5 * erfc(-z / sqrt(2));
}

/* The probability that the first is larger than the second by its interval. */
static double likely_larger(const struct fm_figure *first, const struct fm_figure *second)
{
	double one = error_of(first), other = error_of(second);

	return normal((first->value - second->value) / sqrt(one * one + other * other));
}

static const struct judged {
	const char *cause;
	enum fm_way way;
	double from; /* share of the run time, at least */
	unsigned right, all;
} judged[] = {
#define JUDGED(cause, way, from, right, all) {#cause, FM_WAY_##way, from, right, all},
#include "patterns/verdicts.def"
#undef JUDGED
};

/* The measured frequency with which verdicts of this cause are right; 0: too few were judged. */
static double frequency_of(const struct fm_analysis *analysis, const char *cause, double share)
{
	const enum fm_way way = fm_way_of(&analysis->whole.picture);
	double frequency = 0;

	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
		bool same = judged[i].way == way && judged[i].all >= FM_CALIBRATED_LEAST && judged[i].from <= share;

		/* names have hyphens, identifiers have not */
		for (size_t k = 0; same && (cause[k] || judged[i].cause[k]); k++)
			same = cause[k] == judged[i].cause[k] || (cause[k] == '-' && judged[i].cause[k] == '_');
		if (same)
			frequency = (judged[i].right + 1.0) / (judged[i].all + 2.0);
	}
	return frequency; /* of the nearest band: larger ones come later */
}

/* The smaller of two numbers: the probability by the intervals, and a frequency of right verdicts. The frequency was
   counted for such verdicts, or for the pattern that confirms this one; without a count it is that of uncalibrated
   verdicts. */
static double confidence_of(const struct fm_analysis *analysis, const struct candidate *candidates, unsigned count)
{
	const struct fm_finding *finding = deciding(analysis, candidates);
	unsigned rival = count > 1 && candidates->cause->loses && !strcmp(candidates[1].cause->name, "compute") ? 2 : 1;
	double least = candidates->cause->loses ? loss_that_leads(analysis, candidates) : FM_CAUSE_LEAST,
	       counted = frequency_of(analysis, candidates->cause->name, candidates->share.value),
	       likely = count > rival ? likely_larger(&candidates[0].share, &candidates[rival].share) : 1,
	       most = finding && finding->verdict == FM_VERDICT_PRESENT ? finding->confidence : FM_CONFIDENCE_UNKNOWN;

	/* counted with the laboratory, which looked at nearly all of the judged programs */
	if (counted > 0 && analysis->whole.picture.laboratory.used)
		most = counted;
	if (finding && finding->verdict == FM_VERDICT_ABSENT)
		most = fmin(most, FM_CONFIDENCE_LEAST);
	return fmin(fmin(likely, most), normal((candidates->share.value - least) / error_of(&candidates->share)));
}

/* Where */

static void set_place(const struct fm_recorded_running *line, double share, struct fm_program_verdict *verdict)
{
	const char *slash = strrchr(line->file, '/');

	snprintf(verdict->place.file, sizeof(verdict->place.file), "%s", slash ? slash + 1 : line->file);
	snprintf(verdict->place.function, sizeof(verdict->place.function), "%s",
	         *line->inlined ? line->inlined : line->function);
	verdict->place.line = line->line;
	verdict->place.share = share;
}

/* The place that waits most, by the laboratory: rounds come at random moments. */
static bool measured_place(const struct fm_analysis *analysis, struct fm_program_verdict *verdict)
{
	const struct fm_recording *recording = analysis->recording;
	double best = 0, sum = 0;
	uint32_t where = 0;

	for (uint32_t i = 0; i < recording->runnings_count; i++) {
		struct fm_laboratory laboratory;
		double waited;

		fm_laboratory_estimate(recording, i, &laboratory);
		waited = laboratory.first.known ? laboratory.rounds * laboratory.first.value : 0;
		sum += waited;
		if (waited > best) {
			best = waited;
			where = i;
		}
	}
	if (!(best > 0) || !(recording->runnings[where].line || *recording->runnings[where].function))
		return false;
	set_place(&recording->runnings[where], best / sum, verdict);
	return true;
}

static void find_place(const struct fm_analysis *analysis, const struct candidate *candidate,
                       struct fm_program_verdict *verdict)
{
	unsigned index;
	const struct fm_finding *finding = finding_of(analysis, candidate, &index);
	const struct fm_where *where = finding ? &analysis->where[index] : NULL;

	if (candidate->cause->per_level && analysis->whole.picture.laboratory.used && measured_place(analysis, verdict))
		return;
	if (!where || !where->line_count)
		return;
	snprintf(verdict->place.file, sizeof(verdict->place.file), "%s", where->lines[0].file);
	snprintf(verdict->place.function, sizeof(verdict->place.function), "%s", where->lines[0].function);
	verdict->place.line = where->lines[0].line;
	verdict->place.share = where->lines[0].share;
}

/* The variable that most lines of the level belong to. */
static void find_object(const struct fm_analysis *analysis, const struct candidate *candidate,
                        struct fm_program_verdict *verdict)
{
	unsigned level = candidate->level;
	uint64_t most = 0, all = 0;

	if (!candidate->cause->per_level || !level)
		return;
	for (size_t i = 0; i < analysis->object_count; i++) {
		const struct fm_recorded_object *object = &analysis->objects[i];

		all += object->moved[level - 1];
		if (!object->rest && object->moved[level - 1] > most) {
			most = object->moved[level - 1];
			snprintf(verdict->object, sizeof(verdict->object), "%s", object->name);
		}
	}
	if (2 * most < all)
		verdict->object[0] = 0;
}

/* Evidence */

static void add_evidence(struct fm_program_verdict *verdict, const char *method, enum fm_origin origin,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
static void add_evidence(struct fm_program_verdict *verdict, const char *method, enum fm_origin origin,
                         const char *format, ...)
{
	struct fm_evidence *evidence = &verdict->evidence[verdict->evidence_count];
	va_list arguments;

	if (verdict->evidence_count == FM_EVIDENCE_MAX)
		return;
	verdict->evidence_count++;
	evidence->method = method;
	evidence->origin = origin;
	va_start(arguments, format);
	vsnprintf(evidence->text, sizeof(evidence->text), format, arguments);
	va_end(arguments);
}

static void add_contradiction(struct fm_program_verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_contradiction(struct fm_program_verdict *verdict, const char *format, ...)
{
	va_list arguments;

	if (verdict->contradiction_count == FM_CONTRADICTIONS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(verdict->contradictions[verdict->contradiction_count++], sizeof(verdict->contradictions[0]), format,
	          arguments);
	va_end(arguments);
}

static void find_evidence(const struct fm_analysis *analysis, const struct candidate *top,
                          struct fm_program_verdict *verdict)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_picture_laboratory *laboratory = &picture->laboratory;
	const struct fm_picture_team *team = &picture->team;
	const struct fm_recorded_native *native = native_of(analysis);
	const struct fm_picture_level *level = top && top->cause->per_level ? &picture->levels[top->level] : NULL;

	if (laboratory->waiting.available)
		add_evidence(verdict, "laboratory", FM_ORIGIN_measured,
		             "%.0f %% (%.0f … %.0f) of the user time waits for lines that are not in L1",
		             100 * laboratory->waiting.value, 100 * laboratory->waiting.low,
		             100 * laboratory->waiting.high);
	if (level && level->gbs.available && level->peak_gbs.available)
		add_evidence(verdict, picture->counted ? "counters" : "windows", level->gbs.origin,
		             "%s moves %.3g GB/s, %.0f %% of its peak", level->name, level->gbs.value,
		             100 * fmin(1, level->utilisation.value));
	if (team->known)
		add_evidence(verdict, "positions", FM_ORIGIN_measured,
		             "%u threads: %.0f %% of the processors' time works, %.0f %% is blocked, %.0f %% spins",
		             team->workers, 100 * team->worked.value, 100 * team->idle.value,
		             100 * team->spinning.value);
	if (native)
		add_evidence(verdict, "scheduler", FM_ORIGIN_measured,
		             "%.3g s of processor time in %.3g s, %.0f %% of it in the kernel", native->cpu_seconds,
		             native->seconds.value, 100 * kernel_of(native));
	if (picture->memory_bound.available && picture->active.value > 0 && !laboratory->used)
		add_evidence(verdict, picture->counted ? "counters" : "simulated core", picture->memory_bound.origin,
		             "%.0f %% of the cycles wait for memory and caches",
		             100 * fmin(1, picture->memory_bound.value / picture->active.value));
}

static void find_contradictions(const struct fm_analysis *analysis, const struct candidate *top,
                                struct fm_program_verdict *verdict)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_picture_laboratory *laboratory = &picture->laboratory;
	const struct fm_finding *finding = top ? deciding(analysis, top) : NULL;

	if (laboratory->used && fabs(laboratory->simulated - laboratory->waiting.value) > FM_CONTRADICTS)
		add_contradiction(verdict,
		                  "the simulated core waits for memory %.0f %% of the time; the measurement counts",
		                  100 * laboratory->simulated);
	if (picture->off.available && fabs(picture->off.value) > FM_DOUBTFUL)
		add_contradiction(verdict, "the simulated core predicts %.0f %% %s user time than measured",
		                  100 * fabs(picture->off.value), picture->off.value > 0 ? "more" : "less");
	for (unsigned i = 0; i < picture->level_count; i++)
		if (picture->levels[i].beyond > 1)
			add_contradiction(verdict, "%s: counted traffic is %.1f times the measured peak",
			                  picture->levels[i].name, picture->levels[i].beyond);
	if (finding && finding->verdict == FM_VERDICT_ABSENT)
		add_contradiction(verdict, "pattern %s is absent: %.120s", finding->name, finding->evidence);
}

static void leave_open(const struct fm_analysis *analysis, const struct candidate *candidates, unsigned count,
                       const char *why, struct fm_program_verdict *verdict)
{
	const struct fm_recorded_native *native = native_of(analysis);

	snprintf(verdict->cause, sizeof(verdict->cause), "inconclusive");
	snprintf(verdict->sentence, sizeof(verdict->sentence), "%s", why);
	verdict->confidence = count ? fmin(verdict->confidence, FM_CONFIDENCE_LEAST) : 0;
	verdict->share = count ? candidates->share : none();
	if (native && native->seconds.value < FM_SHORT_RUN)
		snprintf(verdict->settle, sizeof(verdict->settle),
		         "%.2g s is short: -r 5 narrows the intervals, and so does a longer input",
		         native->seconds.value);
	else if (analysis->whole.picture.threads > 1)
		snprintf(verdict->settle, sizeof(verdict->settle), "'fathom scale' compares numbers of threads");
	else
		snprintf(verdict->settle, sizeof(verdict->settle),
		         "--counters exact observes every access; 'fathom record' shows objects and places");
}

static void describe(const struct fm_analysis *analysis, const struct candidate *top,
                     struct fm_program_verdict *verdict)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	unsigned index;
	const struct fm_finding *finding = finding_of(analysis, top, &index);

	name_of(picture, top, verdict->cause, sizeof(verdict->cause));
	verdict->share = top->share;
	snprintf(verdict->sentence, sizeof(verdict->sentence), top->cause->words, picture->levels[top->level].name);
	verdict->advice = finding ? finding->advice : "";
	find_place(analysis, top, verdict);
	find_object(analysis, top, verdict);
	/* nothing is gained beyond the time that the cause takes; calculation may become faster, but not vanish */
	if (strcmp(top->cause->name, "compute") != 0) {
		verdict->worth = top->share.value;
		verdict->worth_low = top->share.low;
		verdict->worth_high = top->share.high;
	}
}

/* All other causes; without a verdict, all of them. */
static void name_rivals(const struct fm_analysis *analysis, const struct candidate *candidates, unsigned count,
                        struct fm_program_verdict *verdict)
{
	for (unsigned i = strcmp(verdict->cause, "inconclusive") ? 1 : 0;
	     i < count && verdict->rival_count < FM_RIVALS_MAX && candidates[i].share.value >= FM_RIVAL_LEAST; i++) {
		unsigned at = verdict->rival_count++;

		name_of(&analysis->whole.picture, &candidates[i], verdict->rivals[at].cause,
		        sizeof(verdict->rivals[at].cause));
		verdict->rivals[at].share = candidates[i].share;
	}
}

/* Without positions, the time that threads lose is not known: then it cannot be compared with other causes. */
static bool lacks_losses(const struct fm_picture *picture)
{
	return picture->threads > 1 && !picture->team.known && picture->team.workers != 1;
}

/* In that case the patterns decide. PRESENT: of *ret_lost; INCONCLUSIVE: a loss is possible. */
static enum fm_verdict find_lost(const struct fm_analysis *analysis, struct candidate *ret_lost)
{
	enum fm_verdict verdict = FM_VERDICT_ABSENT;
	unsigned best = UINT_MAX, index;

	for (unsigned i = 0; i < CAUSES; i++) {
		const struct candidate candidate = {.cause = &causes[i], .share = none()};
		const struct fm_finding *finding = causes[i].loses ? finding_of(analysis, &candidate, &index) : NULL;

		if (!finding || !causes[i].decides)
			continue;
		if (finding->verdict > verdict)
			verdict = finding->verdict;
		if (finding->verdict == FM_VERDICT_PRESENT && index < best) {
			best = index;
			*ret_lost = candidate;
		}
	}
	return verdict;
}

static void describe_lost(const struct fm_analysis *analysis, const struct candidate *lost,
                          struct fm_program_verdict *verdict)
{
	unsigned index;
	const struct fm_finding *finding = finding_of(analysis, lost, &index);

	describe(analysis, lost, verdict);
	verdict->confidence = finding->confidence;
	snprintf(verdict->sentence, sizeof(verdict->sentence), "%s", finding->evidence);
}

void fm_verdict_find(const struct fm_analysis *analysis, struct fm_program_verdict *ret_verdict)
{
	struct candidate candidates[CANDIDATES], lost;
	unsigned count = find_candidates(analysis, candidates);
	const struct candidate *top = count ? &candidates[0] : NULL;
	enum fm_verdict loss = lacks_losses(&analysis->whole.picture) ? find_lost(analysis, &lost) : FM_VERDICT_ABSENT;

	memset(ret_verdict, 0, sizeof(*ret_verdict));
	ret_verdict->advice = "";
	if (loss != FM_VERDICT_ABSENT) {
		if (loss == FM_VERDICT_PRESENT)
			describe_lost(analysis, &lost, ret_verdict);
		else
			leave_open(analysis, NULL, 0, "the time that threads wait for each other is not known",
			           ret_verdict);
		find_evidence(analysis, NULL, ret_verdict);
		return;
	}
	if (top)
		ret_verdict->confidence = confidence_of(analysis, candidates, count);
	if (!top)
		leave_open(analysis, candidates, 0, analysis->whole.picture.active.why, ret_verdict);
	else if (ret_verdict->confidence < FM_CONFIDENCE_LEAST)
		leave_open(analysis, candidates, count, "no cause is clearly larger than the others", ret_verdict);
	else
		describe(analysis, top, ret_verdict);
	name_rivals(analysis, candidates, count, ret_verdict);
	find_evidence(analysis, top, ret_verdict);
	find_contradictions(analysis, top, ret_verdict);
}
