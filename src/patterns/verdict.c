#include "patterns/verdict.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/doubt.h"
#include "patterns/causes.h"
#include "patterns/confidence.h"
#include "patterns/deciding.h"
#include "windows/laboratory.h"

enum { CANDIDATES = 64 };

static int largest_first(const void *left, const void *right)
{
	const struct fm_caused *a = left, *b = right;

	return (a->share.value < b->share.value) - (a->share.value > b->share.value);
}

static const struct fm_finding *finding_of(const struct fm_analysis *analysis, const struct fm_caused *candidate,
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

static const struct fm_finding *deciding(const struct fm_analysis *analysis, const struct fm_caused *candidate)
{
	unsigned index;

	return candidate->cause->decides ? finding_of(analysis, candidate, &index) : NULL;
}

/* A smaller loss leads only if its pattern is present. */
static double loss_that_leads(const struct fm_analysis *analysis, const struct fm_caused *candidate)
{
	const struct fm_finding *finding = deciding(analysis, candidate);

	return finding && finding->verdict == FM_VERDICT_PRESENT ? FM_LOSS_CONFIRMED : FM_LOSS_LEADS;
}

/* Two processors lose at most half of their time while one thread works. A loss of a sixth matters, although the
   calculation takes longer. */
static void put_losses_first(const struct fm_analysis *analysis, struct fm_caused *candidates, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		if (candidates[i].cause->loses &&
		    candidates[i].share.value >= loss_that_leads(analysis, &candidates[i]) &&
		    !strcmp(candidates[0].cause->name, "compute")) {
			struct fm_caused first = candidates[i];

			memmove(candidates + 1, candidates, i * sizeof(*candidates));
			candidates[0] = first;
			return;
		}
}

struct gathered {
	struct fm_caused *candidates;
	unsigned count;
};

static void gather(void *context, const struct fm_caused *caused)
{
	struct gathered *gathered = context;

	if (caused->share.available && caused->share.high > 0 && gathered->count < CANDIDATES)
		gathered->candidates[gathered->count++] = *caused;
}

static unsigned find_candidates(const struct fm_analysis *analysis, struct fm_caused *candidates)
{
	struct gathered gathered = {candidates, 0};

	fm_causes_each(analysis, gather, &gathered);
	qsort(candidates, gathered.count, sizeof(*candidates), largest_first);
	put_losses_first(analysis, candidates, gathered.count);
	return gathered.count;
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

static bool is_calculation(const struct fm_caused *caused)
{
	return !strcmp(caused->cause->name, "compute") || !strcmp(caused->cause->name, "branches");
}

/* A level near its peak, although its lines are not waited for; 0: none. */
static unsigned busy_level(const struct fm_analysis *analysis)
{
	const struct fm_picture *picture = &analysis->whole.picture;

	for (unsigned i = 1; i < picture->level_count; i++)
		if (picture->levels[i].utilisation.available && picture->levels[i].utilisation.value >= FM_NEAR_PEAK)
			return i;
	return 0;
}

/* Calculation is the rest of the time. This is no evidence of its own if the simulated core does not explain most of
   the time, or if a level is near its peak. */
static bool is_contested(const struct fm_analysis *analysis, const struct fm_caused *top)
{
	return is_calculation(top) && (fm_causes_unexplained(analysis) > FM_UNEXPLAINED ||
	                               (!strcmp(top->cause->name, "compute") &&
	                                analysis->whole.picture.laboratory.used && busy_level(analysis)));
}

/* A team that works for a few tenths of a second mostly begins and ends, and little of that is seen natively. */
static bool is_short_team(const struct fm_analysis *analysis, const struct fm_caused *top)
{
	const struct fm_recorded_native *native = fm_causes_native(analysis);

	return top->cause->loses && native && native->seconds.value < FM_SHORT_TEAM;
}

/* The smaller of two numbers: the probability by the intervals, and a frequency of right verdicts. The frequency was
   counted for such verdicts, or for the pattern that confirms this one; without a count it is that of uncalibrated
   verdicts. */
static double confidence_of(const struct fm_analysis *analysis, const struct fm_caused *candidates, unsigned count)
{
	const struct fm_finding *finding = deciding(analysis, candidates);
	unsigned rival = count > 1 && candidates->cause->loses && !strcmp(candidates[1].cause->name, "compute") ? 2 : 1;
	double least = candidates->cause->loses ? loss_that_leads(analysis, candidates) : FM_CAUSE_LEAST,
	       counted = frequency_of(analysis, candidates->cause->name, candidates->share.value),
	       likely = count > rival ? likely_larger(&candidates[0].share, &candidates[rival].share) : 1,
	       most = finding && finding->verdict == FM_VERDICT_PRESENT ? finding->confidence : FM_CONFIDENCE_UNKNOWN;

	/* one thread: counted with the laboratory, which looked at nearly all of the judged programs */
	if (counted > 0 &&
	    (analysis->whole.picture.laboratory.used || fm_way_of(&analysis->whole.picture) == FM_WAY_windows_threads))
		most = counted;
	if (is_contested(analysis, candidates) || is_short_team(analysis, candidates) ||
	    fm_causes_starts_many(analysis))
		most = fmin(most, FM_CONTESTED);
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

static bool is_same_function(const struct fm_recorded_running *a, const struct fm_recorded_running *b)
{
	return !strcmp(a->function, b->function) && !strcmp(a->module, b->module);
}

/* Code without lines, or of installed headers. */
static bool is_library(const struct fm_recorded_running *running)
{
	return !running->line || !strncmp(running->file, "/usr/", 5);
}

/* For a line of a library: the line of the program's own source that most often called this function. Otherwise, and if
   no thread was found there, the line itself. `seconds`: memory for a number for each line. */
static uint32_t own_line(const struct fm_recording *recording, uint32_t running, double *seconds)
{
	uint32_t own = running;

	if (!is_library(&recording->runnings[running]))
		return running;
	memset(seconds, 0, recording->runnings_count * sizeof(*seconds));
	for (size_t i = 0; i < recording->positions_count; i++) {
		const struct fm_recorded_position *position = &recording->positions[i];

		if (position->caller &&
		    is_same_function(&recording->runnings[position->running], &recording->runnings[running]))
			seconds[position->caller - 1] += position->seconds;
	}
	for (uint32_t i = 0; i < recording->runnings_count; i++)
		if (seconds[i] > (own == running ? 0 : seconds[own]))
			own = i;
	return own;
}

/* The place that waits most, by the laboratory: rounds come at random moments. */
static bool measured_place(const struct fm_analysis *analysis, struct fm_program_verdict *verdict)
{
	const struct fm_recording *recording = analysis->recording;
	double *waited = calloc(2 * recording->runnings_count + 2, sizeof(*waited)), sum = 0, own = 0,
	       *seconds = waited ? waited + recording->runnings_count + 1 : NULL;
	uint32_t where = (uint32_t)recording->runnings_count; /* an empty place */

	for (uint32_t i = 0; waited && i < recording->runnings_count; i++) {
		struct fm_laboratory laboratory;

		fm_laboratory_estimate(recording, i, &laboratory);
		if (!laboratory.first.known || !(laboratory.first.value > 0))
			continue;
		sum += laboratory.rounds * laboratory.first.value;
		waited[own_line(recording, i, seconds)] += laboratory.rounds * laboratory.first.value;
	}
	for (uint32_t i = 0; waited && i < recording->runnings_count; i++)
		if (!is_library(&recording->runnings[i]))
			own += waited[i];
	/* lines of libraries whose callers are unknown lead only if there is hardly anything else */
	for (uint32_t i = 0; waited && i < recording->runnings_count; i++)
		if (waited[i] > waited[where] && (own < FM_LINE_REPORTED * sum || !is_library(&recording->runnings[i])))
			where = i;
	if (own >= FM_LINE_REPORTED * sum)
		sum = own;
	if (sum > 0 && where < recording->runnings_count &&
	    (recording->runnings[where].line || *recording->runnings[where].function))
		set_place(&recording->runnings[where], waited[where] / sum, verdict);
	else
		sum = 0;
	free(waited);
	return sum > 0;
}

/* The thread with the most processor time. */
static uint32_t busiest_thread(const struct fm_recording *recording)
{
	uint32_t busiest = 0;
	double most = 0;

	for (uint32_t thread = 0; thread < recording->native_threads_count; thread++)
		if (recording->native_threads[thread].ran > most) {
			most = recording->native_threads[thread].ran;
			busiest = recording->native_threads[thread].ordinal;
		}
	return busiest;
}

/* The source line where threads were found most often while they worked: of an imbalance, the busiest thread. */
static void frequent_place(const struct fm_analysis *analysis, const struct fm_caused *candidate,
                           struct fm_program_verdict *verdict)
{
	const struct fm_recording *recording = analysis->recording;
	bool uneven = !strcmp(candidate->cause->name, "imbalance");
	uint32_t busiest = uneven ? busiest_thread(recording) : 0, where = 0;
	double *seconds, all = 0;

	if (!uneven && !is_calculation(candidate))
		return;
	seconds = calloc(recording->runnings_count + 1, sizeof(*seconds));
	if (!seconds)
		return;
	for (size_t i = 0; i < recording->positions_count; i++) {
		const struct fm_recorded_position *position = &recording->positions[i];

		if (position->kernel || position->waits || position->process ||
		    position->running >= recording->runnings_count || (uneven && position->thread != busiest))
			continue;
		all += position->seconds;
		seconds[position->caller ? position->caller - 1 : position->running] += position->seconds;
	}
	for (uint32_t i = 0; i < recording->runnings_count; i++)
		if (recording->runnings[i].line && seconds[i] > seconds[where])
			where = i;
	if (all > 0 && recording->runnings[where].line && seconds[where] >= FM_LINE_REPORTED * all)
		set_place(&recording->runnings[where], seconds[where] / all, verdict);
	free(seconds);
}

static void find_place(const struct fm_analysis *analysis, const struct fm_caused *candidate,
                       struct fm_program_verdict *verdict)
{
	unsigned index;
	const struct fm_finding *finding = finding_of(analysis, candidate, &index);
	const struct fm_where *where = finding ? &analysis->where[index] : NULL;

	if (candidate->cause->per_level && analysis->whole.picture.laboratory.used && measured_place(analysis, verdict))
		return;
	if (!where || !where->line_count) {
		frequent_place(analysis, candidate, verdict);
		return;
	}
	snprintf(verdict->place.file, sizeof(verdict->place.file), "%s", where->lines[0].file);
	snprintf(verdict->place.function, sizeof(verdict->place.function), "%s", where->lines[0].function);
	verdict->place.line = where->lines[0].line;
	verdict->place.share = where->lines[0].share;
}

/* The variable that most lines of the level belong to. */
static void find_object(const struct fm_analysis *analysis, const struct fm_caused *candidate,
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

static void find_evidence(const struct fm_analysis *analysis, const struct fm_caused *top,
                          struct fm_program_verdict *verdict)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_picture_laboratory *laboratory = &picture->laboratory;
	const struct fm_picture_team *team = &picture->team;
	const struct fm_recorded_native *native = fm_causes_native(analysis);
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
		             native->seconds.value, 100 * fm_causes_kernel(analysis));
	if (picture->memory_bound.available && picture->active.value > 0 && !laboratory->used)
		add_evidence(verdict, picture->counted ? "counters" : "simulated core", picture->memory_bound.origin,
		             "%.0f %% of the cycles wait for memory and caches",
		             100 * fmin(1, picture->memory_bound.value / picture->active.value));
}

static void find_contradictions(const struct fm_analysis *analysis, const struct fm_caused *top,
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
	if (fm_causes_starts_many(analysis))
		add_contradiction(verdict, "%zu short processes: an unknown part of the kernel time is Fathom's",
		                  analysis->recording->processes_count);
	if (top && is_contested(analysis, top) && busy_level(analysis))
		add_contradiction(verdict, "%s runs at %.0f %% of its peak", picture->levels[busy_level(analysis)].name,
		                  100 * picture->levels[busy_level(analysis)].utilisation.value);
	if (finding && finding->verdict == FM_VERDICT_ABSENT)
		add_contradiction(verdict, "pattern %s is absent: %.120s", finding->name, finding->evidence);
}

static void leave_open(const struct fm_analysis *analysis, const struct fm_caused *candidates, unsigned count,
                       const char *why, struct fm_program_verdict *verdict)
{
	const struct fm_recorded_native *native = fm_causes_native(analysis);

	snprintf(verdict->cause, sizeof(verdict->cause), "inconclusive");
	snprintf(verdict->sentence, sizeof(verdict->sentence), "%s", why);
	verdict->confidence = count ? fmin(verdict->confidence, FM_CONFIDENCE_LEAST) : 0;
	verdict->share = count ? candidates->share : fm_figure_unavailable("not known");
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

static void describe(const struct fm_analysis *analysis, const struct fm_caused *top,
                     struct fm_program_verdict *verdict)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	unsigned index;
	const struct fm_finding *finding = finding_of(analysis, top, &index);

	fm_caused_name(analysis, top, verdict->cause, sizeof(verdict->cause));
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
static void name_rivals(const struct fm_analysis *analysis, const struct fm_caused *candidates, unsigned count,
                        struct fm_program_verdict *verdict)
{
	for (unsigned i = strcmp(verdict->cause, "inconclusive") ? 1 : 0;
	     i < count && verdict->rival_count < FM_RIVALS_MAX && candidates[i].share.value >= FM_RIVAL_LEAST; i++) {
		unsigned at = verdict->rival_count++;

		fm_caused_name(analysis, &candidates[i], verdict->rivals[at].cause, sizeof(verdict->rivals[at].cause));
		verdict->rivals[at].share = candidates[i].share;
	}
}

/* Without positions, the time that threads lose is not known: then it cannot be compared with other causes. */
static bool lacks_losses(const struct fm_picture *picture)
{
	return picture->threads > 1 && !picture->team.known && picture->team.workers != 1;
}

/* In that case the patterns decide. PRESENT: of *ret_lost; INCONCLUSIVE: a loss is possible. */
static enum fm_verdict find_lost(const struct fm_analysis *analysis, struct fm_caused *ret_lost)
{
	enum fm_verdict verdict = FM_VERDICT_ABSENT;
	unsigned best = UINT_MAX, index;

	for (unsigned i = 0; i < fm_causes_count; i++) {
		const struct fm_caused candidate = {.cause = &fm_causes[i],
		                                    .share = fm_figure_unavailable("not known")};
		const struct fm_finding *finding = fm_causes[i].loses ? finding_of(analysis, &candidate, &index) : NULL;

		if (!finding || !fm_causes[i].decides)
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

static void describe_lost(const struct fm_analysis *analysis, const struct fm_caused *lost,
                          struct fm_program_verdict *verdict)
{
	unsigned index;
	const struct fm_finding *finding = finding_of(analysis, lost, &index);

	describe(analysis, lost, verdict);
	verdict->confidence = finding->confidence;
	if (is_short_team(analysis, lost))
		verdict->confidence = fmin(verdict->confidence, FM_CONTESTED);
	snprintf(verdict->sentence, sizeof(verdict->sentence), "%s", finding->evidence);
}

void fm_verdict_find(const struct fm_analysis *analysis, struct fm_program_verdict *ret_verdict)
{
	struct fm_caused candidates[CANDIDATES], lost;
	unsigned count = find_candidates(analysis, candidates);
	const struct fm_caused *top = count ? &candidates[0] : NULL;
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
