#include "machine/translation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "kernels/chain.h"
#include "kernels/kernel.h"
#include "machine/buffer.h"

enum { PAGE = 4096, STEPS = 4096 };

const unsigned fm_translation_points[FM_TRANSLATION_POINTS] = {
    8,   12,  16,  24,  32,  40,   48,   56,   64,   72,   80,   96,   112,  128,  160,
    192, 256, 384, 512, 768, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 4096, 6144, FM_TRANSLATION_LARGEST};

static const struct {
	const char *name, *words, *unit;
} parameters[FM_TRANSLATION_PARAMETERS] = {
#define TRANSLATION_PARAMETER(identifier, words, unit) {#identifier, words, unit},
#include "machine/translation.def"
#undef TRANSLATION_PARAMETER
};

const char *fm_translation_parameter_name(enum fm_translation_parameter parameter)
{
	return parameters[parameter].name;
}

const char *fm_translation_parameter_words(enum fm_translation_parameter parameter)
{
	return parameters[parameter].words;
}

const char *fm_translation_parameter_unit(enum fm_translation_parameter parameter)
{
	return parameters[parameter].unit;
}

static struct fm_figure like(const struct fm_figure *model, double value, double low, double high, const char *unit)
{
	return fm_figure_make(value, low, high, unit, model->origin, model->backend, model->trials);
}

/* From which point on it is more than `above`, and stays so; FM_TRANSLATION_POINTS: never. */
static unsigned rises_at(const double *cycles, unsigned from, double above)
{
	unsigned at = FM_TRANSLATION_POINTS;

	while (at > from && cycles[at - 1] > above)
		at--;
	return at;
}

static double median_between(const double *cycles, unsigned from, unsigned to)
{
	double values[FM_TRANSLATION_POINTS];
	unsigned count = 0;

	for (unsigned i = from; i < to; i++)
		values[count++] = cycles[i];
	fm_statistics_sort(values, count);
	return fm_statistics_quantile_sorted(values, count, 0.5);
}

/* The lines that lie together are on pages, too, a sixteenth as many: where these miss the first buffer, so much is
   missing of the difference. */
static void add_missing(const double *cycles, double penalty, unsigned entries, double *ret_cycles)
{
	for (unsigned i = 0; i < FM_TRANSLATION_POINTS; i++)
		ret_cycles[i] =
		    cycles[i] + (fm_translation_points[i] / (PAGE / FM_APART_BYTES) > entries ? penalty : 0);
}

void fm_translation_find(const double *given, const struct fm_figure *model, struct fm_figure *ret_figures)
{
	const double seen = 2, twice = 1.6; /* cycles that are more than chance; what is another level */
	unsigned first = rises_at(given, 0, seen), settled, second, last = FM_TRANSLATION_POINTS - 1;
	double penalty, walk, least, cycles[FM_TRANSLATION_POINTS];

	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++)
		ret_figures[i] = fm_figure_unavailable("not seen with up to %u pages", FM_TRANSLATION_LARGEST);
	if (!first || first + 4 > FM_TRANSLATION_POINTS)
		return;
	ret_figures[FM_TRANSLATION_tlb1_entries] =
	    like(model, (fm_translation_points[first - 1] + fm_translation_points[first]) / 2.0,
	         fm_translation_points[first - 1], fm_translation_points[first], "pages");
	/* half as many again, and every page misses */
	settled = first;
	while (settled < last && 2 * fm_translation_points[settled] < 3 * fm_translation_points[first])
		settled++;
	penalty =
	    median_between(given, settled, settled + 3 < FM_TRANSLATION_POINTS ? settled + 3 : FM_TRANSLATION_POINTS);
	add_missing(given, penalty, fm_translation_points[first], cycles);
	second = rises_at(cycles, settled, twice * penalty + seen);
	if (second > settled + 3)
		penalty = median_between(cycles, settled, second - 1);
	ret_figures[FM_TRANSLATION_tlb1_penalty] =
	    like(model, penalty, 0.9 * penalty - 0.5, 1.1 * penalty + 0.5, "cycles");
	if (second + 2 > FM_TRANSLATION_POINTS || second == settled)
		return;
	ret_figures[FM_TRANSLATION_tlb2_entries] =
	    like(model, (fm_translation_points[second - 1] + fm_translation_points[second]) / 2.0,
	         fm_translation_points[second - 1], fm_translation_points[second], "pages");
	walk = median_between(cycles, last - 1, FM_TRANSLATION_POINTS) - penalty;
	least = fmax(0, 0.7 * walk - 1);
	ret_figures[FM_TRANSLATION_walk] = like(model, walk, least, 1.3 * walk + 1, "cycles");
}

struct work {
	struct fm_kernel_arguments arguments;
};

static int trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct work *work = context;
	uint64_t begin;

	(void)error;
	work->arguments.count = STEPS;
	fm_kernel_chase(&work->arguments);
	begin = fm_clock_now();
	fm_kernel_chase(&work->arguments);
	*ret_cost = (double)(fm_clock_now() - begin) / STEPS;
	return 0;
}

/* One number of pages: two chains, taken in turns. */
static int measure_point(struct fm_machine_session *session, const struct fm_buffer *buffer, unsigned pages,
                         double seconds, double *ret_more, unsigned *ret_trials, struct fm_error *error)
{
	struct fm_measurement measurements[2];
	struct work work[2];
	struct fm_figure apart, together;
	int status;

	memset(measurements, 0, sizeof(measurements));
	memset(work, 0, sizeof(work));
	work[0].arguments.chain[0] = fm_chain_link(buffer->memory, pages, PAGE, fm_random_next(&session->random));
	work[1].arguments.chain[0] = fm_chain_link(buffer->memory + fm_chain_bytes(FM_TRANSLATION_LARGEST, PAGE), pages,
	                                           FM_APART_BYTES, fm_random_next(&session->random));
	for (unsigned i = 0; i < 2; i++)
		measurements[i] = (struct fm_measurement){.trial = trial, .context = &work[i], .wanted_width = 0.01};
	status = fm_machine_session_measure(session, measurements, 2, 8, 60, seconds, error);
	apart = fm_measurement_figure(&measurements[0], "ns");
	together = fm_measurement_figure(&measurements[1], "ns");
	*ret_more = apart.available && together.available ? apart.value - together.value : NAN;
	*ret_trials += apart.trials;
	for (unsigned i = 0; i < 2; i++)
		fm_measurement_free(&measurements[i]);
	return status;
}

int fm_translation_measure(struct fm_machine_session *session, const struct fm_figure *frequency_ghz, double seconds,
                           struct fm_figure *ret_figures, struct fm_error *error)
{
	struct fm_buffer buffer = {0};
	double cycles[FM_TRANSLATION_POINTS];
	struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "kernels", 0);
	bool whole = true;
	int status = fm_buffer_allocate(fm_chain_bytes(FM_TRANSLATION_LARGEST, PAGE) +
	                                    fm_chain_bytes(FM_TRANSLATION_LARGEST, FM_APART_BYTES),
	                                FM_PAGES_SMALL, -1, &buffer, error);

	for (unsigned i = 0; i < FM_TRANSLATION_POINTS && !status; i++) {
		status = measure_point(session, &buffer, fm_translation_points[i], seconds / FM_TRANSLATION_POINTS,
		                       &cycles[i], &model.trials, error);
		cycles[i] *= frequency_ghz->value;
		whole &= !isnan(cycles[i]);
	}
	fm_buffer_free(&buffer);
	if (status)
		return status;
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS && !whole; i++)
		ret_figures[i] = fm_figure_unavailable("the times were too unsteady");
	if (whole)
		fm_translation_find(cycles, &model, ret_figures);
	return 0;
}
