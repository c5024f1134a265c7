#include "measure/translation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "kernels/chain.h"
#include "kernels/kernel.h"
#include "measure/buffer.h"
#include "measure/tuning.h"

enum { PAGE = 4096, HUGE_PAGE = 2 << 20, STEPS = 4096 };

const unsigned fm_translation_points[FM_TRANSLATION_POINTS] = {
    8,   12,  16,  24,  32,  40,   48,   56,   64,   72,   80,   96,   112,  128,  160,
    192, 256, 384, 512, 768, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 4096, 6144, FM_TRANSLATION_LARGEST};

static struct fm_figure like(const struct fm_figure *model, double value, double low, double high, const char *unit)
{
	return fm_figure_make(value, low, high, unit, model->origin, model->backend, model->trials);
}

/* From which point on it is more than `above`, and stays so; count: never. */
static unsigned rises_at(const double *cycles, unsigned count, unsigned from, double above)
{
	unsigned at = count;

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

/* The lines that lie together are on pages, too, a sixteenth as many of 4 KiB: where these miss the first buffer, so
   much is missing of the difference. */
static void add_missing(const double *cycles, unsigned count, size_t page, double penalty, unsigned entries,
                        double *ret_cycles)
{
	for (unsigned i = 0; i < count; i++)
		ret_cycles[i] =
		    cycles[i] + (fm_translation_points[i] / (page / FM_APART_BYTES) > entries ? penalty : 0);
}

static void find(const double *given, unsigned count, size_t page, const struct fm_figure *model,
                 struct fm_figure *ret_figures)
{
	unsigned first = rises_at(given, count, 0, TRANSLATION_SEEN), settled, second, last = count ? count - 1 : 0;
	double penalty, walk, least, cycles[FM_TRANSLATION_POINTS];

	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++)
		ret_figures[i] = fm_figure_unavailable("not visible with up to %u pages", fm_translation_points[last]);
	if (!first || first + 4 > count)
		return;
	ret_figures[FM_TRANSLATION_tlb1_entries] =
	    like(model, (fm_translation_points[first - 1] + fm_translation_points[first]) / 2.0,
	         fm_translation_points[first - 1], fm_translation_points[first], "pages");
	/* half as many again, and every page misses */
	settled = first;
	while (settled < last && 2 * fm_translation_points[settled] < 3 * fm_translation_points[first])
		settled++;
	penalty = median_between(given, settled, settled + 3 < count ? settled + 3 : count);
	add_missing(given, count, page, penalty, fm_translation_points[first], cycles);
	second = rises_at(cycles, count, settled, TRANSLATION_TWICE * penalty + TRANSLATION_SEEN);
	if (second > settled + 3)
		penalty = median_between(cycles, settled, second - 1);
	ret_figures[FM_TRANSLATION_tlb1_penalty] =
	    like(model, penalty, (1 - PENALTY_ERROR) * penalty - PENALTY_ERROR_CYCLES,
	         (1 + PENALTY_ERROR) * penalty + PENALTY_ERROR_CYCLES, "cycles");
	if (second + 2 > count || second == settled)
		return;
	ret_figures[FM_TRANSLATION_tlb2_entries] =
	    like(model, (fm_translation_points[second - 1] + fm_translation_points[second]) / 2.0,
	         fm_translation_points[second - 1], fm_translation_points[second], "pages");
	walk = median_between(cycles, last - 1, count) - penalty;
	least = fmax(0, (1 - WALK_ERROR) * walk - WALK_ERROR_CYCLES);
	ret_figures[FM_TRANSLATION_walk] =
	    like(model, walk, least, (1 + WALK_ERROR) * walk + WALK_ERROR_CYCLES, "cycles");
}

void fm_translation_find(const double *given, const struct fm_figure *model, struct fm_figure *ret_figures)
{
	find(given, FM_TRANSLATION_POINTS, PAGE, model, ret_figures);
}

void fm_translation_find_huge(const double *given, unsigned count, const struct fm_figure *model,
                              struct fm_figure *ret_figures)
{
	find(given, count, HUGE_PAGE, model, ret_figures);
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

struct place {
	char *apart, *together;
	size_t page;
};

/* One number of pages: two chains, taken in turns. */
static int measure_point(struct fm_machine_session *session, const struct place *place, unsigned pages, double seconds,
                         double *ret_more, unsigned *ret_trials, struct fm_error *error)
{
	struct fm_measurement measurements[2];
	struct work work[2];
	struct fm_figure apart, together;
	int status;

	memset(measurements, 0, sizeof(measurements));
	memset(work, 0, sizeof(work));
	work[0].arguments.chain[0] = (place->page == PAGE ? fm_chain_link : fm_chain_link_alike)(
	    place->apart, pages, place->page, fm_random_next(&session->random));
	work[1].arguments.chain[0] =
	    fm_chain_link(place->together, pages, FM_APART_BYTES, fm_random_next(&session->random));
	for (unsigned i = 0; i < 2; i++)
		measurements[i] = (struct fm_measurement){
		    .trial = trial, .context = &work[i], .wanted_width = TRANSLATION_WIDTH, .core_clock = true};
	status =
	    fm_machine_session_measure(session, measurements, 2, TRANSLATION_LEAST, TRANSLATION_MOST, seconds, error);
	apart = fm_measurement_figure(&measurements[0], "ns");
	together = fm_measurement_figure(&measurements[1], "ns");
	*ret_more = apart.available && together.available ? apart.value - together.value : NAN;
	*ret_trials += apart.trials;
	for (unsigned i = 0; i < 2; i++)
		fm_measurement_free(&measurements[i]);
	return status;
}

/* The first `count` numbers of pages. */
static int measure_points(struct fm_machine_session *session, const struct place *place, unsigned count, double seconds,
                          struct fm_figure *ret_figures, struct fm_error *error)
{
	double cycles[FM_TRANSLATION_POINTS];
	struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "kernels", 0);
	bool whole = true;
	int status = 0;

	for (unsigned i = 0; i < count && !status; i++) {
		status = measure_point(session, place, fm_translation_points[i], seconds / count, &cycles[i],
		                       &model.trials, error);
		cycles[i] /= session->usual_beat;
		whole &= isfinite(cycles[i]);
	}
	if (status)
		return status;
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS && !whole; i++)
		ret_figures[i] = fm_figure_unavailable("the times were too unsteady");
	if (whole)
		find(cycles, count, place->page, &model, ret_figures);
	return 0;
}

int fm_translation_measure(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                           struct fm_error *error)
{
	struct fm_buffer buffer = {0};
	size_t apart = fm_chain_bytes(FM_TRANSLATION_LARGEST, PAGE);
	int status = fm_buffer_allocate(apart + fm_chain_bytes(FM_TRANSLATION_LARGEST, FM_APART_BYTES), FM_PAGES_SMALL,
	                                -1, &buffer, error);

	if (!status)
		status = measure_points(session, &(struct place){buffer.memory, buffer.memory + apart, PAGE},
		                        FM_TRANSLATION_POINTS, seconds, ret_figures, error);
	fm_buffer_free(&buffer);
	return status;
}

unsigned fm_translation_huge_points(uint64_t bytes)
{
	unsigned count = 0;

	while (count < FM_TRANSLATION_POINTS && (uint64_t)fm_translation_points[count] * HUGE_PAGE <= bytes)
		count++;
	return count;
}

static void unavailable(struct fm_figure *ret_figures, const char *why)
{
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++)
		ret_figures[i] = fm_figure_unavailable("%s", why);
}

/* Touches the pages in order. A kernel that must move other pages first may take long; the present ones are used.
   Returns bytes. */
static size_t fill(const struct fm_buffer *buffer, double seconds)
{
	uint64_t end = fm_clock_now() + (uint64_t)(seconds * 1e9);
	size_t bytes = 0;

	while (bytes < buffer->bytes && fm_clock_now() < end) {
		buffer->memory[bytes] = 1;
		bytes += HUGE_PAGE;
	}
	return bytes;
}

int fm_translation_measure_huge(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                                struct fm_error *error)
{
	/* the session may use half of the available memory */
	uint64_t most = session->effort == FM_EFFORT_FULL ? 8ull << 30 : 1ull << 30,
	         bytes = session->memory_limit / 4 < most ? session->memory_limit / 4 : most;
	uint64_t begin = fm_clock_now();
	struct fm_buffer buffer = {0};
	unsigned count;
	int status = 0;

	if (!session->huge_pages) {
		unavailable(ret_figures, "no huge pages are available");
		return 0;
	}
	/* the first page is for the lines that lie together */
	if (!fm_buffer_reserve(bytes + HUGE_PAGE, FM_PAGES_HUGE, &buffer, error))
		bytes = fill(&buffer, HUGE_FILL_SHARE * seconds);
	else
		bytes = 0;
	count = fm_translation_huge_points(bytes > HUGE_PAGE ? bytes - HUGE_PAGE : 0);
	if (count < FM_TRANSLATION_HUGE_LEAST)
		unavailable(ret_figures, "not enough memory or time for pages of 2 MiB");
	else if (fm_buffer_huge_bytes(&buffer) < (long long)bytes)
		unavailable(ret_figures, "the kernel provided fewer huge pages than requested");
	else
		status =
		    measure_points(session, &(struct place){buffer.memory + HUGE_PAGE, buffer.memory, HUGE_PAGE}, count,
		                   fmax(0, seconds - (double)(fm_clock_now() - begin) * 1e-9), ret_figures, error);
	fm_buffer_free(&buffer);
	return status;
}
