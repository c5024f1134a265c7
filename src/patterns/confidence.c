#include "patterns/confidence.h"

#include <math.h>
#include <string.h>

#include "patterns/deciding.h"

static const struct calibrated {
	const char *pattern;
	enum fm_way way;
	enum fm_verdict verdict;
	double from; /* distance from the threshold, at least; up to that of the next line like it */
	bool doubtful;
	unsigned right, all;
} calibration[] = {
#define CALIBRATED(pattern, way, verdict, from, right, all) \
	{#pattern, FM_WAY_##way, FM_VERDICT_##verdict, from, false, right, all},
#define DOUBTED(pattern, way, verdict, right, all) {#pattern, FM_WAY_##way, FM_VERDICT_##verdict, 0, true, right, all},
#include "patterns/calibration.def"
#undef DOUBTED
#undef CALIBRATED
};

enum { LINES = sizeof(calibration) / sizeof(calibration[0]), ANY_WAY = -1 };

enum fm_way fm_way_of(const struct fm_picture *picture)
{
	const struct fm_recording *recording = picture->recording;

	bool windows = recording && recording->processes_count > 0 && recording->processes[0].native > 1;

	if (picture->threads > 1)
		return picture->counted ? FM_WAY_counters_threads
		       : windows        ? FM_WAY_windows_threads
		                        : FM_WAY_exact_threads;
	return picture->counted ? FM_WAY_counters : windows ? FM_WAY_windows : FM_WAY_exact;
}

/* patterns have hyphens, identifiers have not */
static bool is_of(const struct calibrated *line, const char *pattern)
{
	size_t length = strlen(pattern);

	if (strlen(line->pattern) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (line->pattern[i] != (pattern[i] == '-' ? '_' : pattern[i]))
			return false;
	return true;
}

/* Of lines like this: of the band that the distance is in, or of all. */
static struct fm_confidence sum(const char *pattern, enum fm_way way, enum fm_verdict verdict, double distance)
{
	struct fm_confidence confidence = {.own = pattern};
	double band = -1;

	for (size_t i = 0; i < LINES; i++) {
		const struct calibrated *line = &calibration[i];

		if (line->doubtful || line->way != way || line->verdict != verdict ||
		    (pattern && !is_of(line, pattern)))
			continue;
		if (distance >= 0 && (line->from > distance || line->from < band))
			continue;
		/* the nearest band below the distance counts alone */
		if (distance >= 0 && line->from > band)
			confidence.right = confidence.all = 0;
		band = fmax(band, line->from);
		confidence.right += line->right;
		confidence.all += line->all;
	}
	return confidence;
}

/* Of doubtful verdicts; there are too few to divide them by distance. */
static struct fm_confidence sum_in_doubt(const char *pattern, int way, enum fm_verdict verdict)
{
	struct fm_confidence confidence = {.own = pattern};

	for (size_t i = 0; i < LINES; i++) {
		const struct calibrated *line = &calibration[i];

		if (!line->doubtful || line->verdict != verdict || (way != ANY_WAY && (int)line->way != way) ||
		    (pattern && !is_of(line, pattern)))
			continue;
		confidence.right += line->right;
		confidence.all += line->all;
	}
	return confidence;
}

static double frequency(const struct fm_confidence *confidence)
{
	return (confidence->right + 1.0) / (confidence->all + 2.0);
}

struct fm_confidence fm_confidence_of(const char *pattern, enum fm_way way, enum fm_verdict verdict, double distance)
{
	struct fm_confidence confidence = sum(pattern, way, verdict, distance);

	if (confidence.all < FM_CALIBRATED_LEAST)
		confidence = sum(pattern, way, verdict, -1);
	if (confidence.all < FM_CALIBRATED_LEAST)
		confidence = sum(NULL, way, verdict, -1);
	/* a way without calibration has only the distance */
	confidence.value = confidence.all ? frequency(&confidence) : FM_UNCALIBRATED + FM_UNCALIBRATED_SLOPE * distance;
	if (!confidence.own)
		confidence.value = fmin(confidence.value, FM_CONFIDENCE_UNKNOWN);
	return confidence;
}

struct fm_confidence fm_confidence_in_doubt(const char *pattern, enum fm_way way, enum fm_verdict verdict,
                                            double distance)
{
	const struct fm_confidence usual = fm_confidence_of(pattern, way, verdict, distance);
	struct fm_confidence confidence = sum_in_doubt(pattern, (int)way, verdict);
	double most = usual.value;

	if (confidence.all >= FM_CALIBRATED_LEAST) {
		confidence.value = frequency(&confidence);
		return confidence;
	}
	confidence = sum_in_doubt(NULL, (int)way, verdict);
	if (confidence.all < FM_CALIBRATED_LEAST) {
		/* simulated programs are never doubtful, so exact and counters have no counts of their own */
		confidence = sum_in_doubt(NULL, ANY_WAY, verdict);
		most = fmin(most, FM_CONFIDENCE_UNKNOWN);
	}
	confidence.value = confidence.all < FM_CALIBRATED_LEAST ? most : fmin(most, frequency(&confidence));
	return confidence;
}
