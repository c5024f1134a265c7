/* Judges sampled miss-ratio curves: synthetic streams, the exact curve of each, and the curve estimated from windows at
   random places with up to four lines watched at a time. For every seed and kind of stream: the mean absolute error
   over 32 KiB … 64 MiB in points, and the share of sizes at which the 95 % interval holds the exact value.

       judge [-n references] [-w windows] [-s window size] [-c clock error] [-k kind] seed ... */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reuse/curve.h"
#include "reuse/stack.h"
#include "reuse/streams.h"
#include "reuse/window.h"

enum { SLOTS = 4, CHUNK = 4096 };

struct settings {
	uint64_t references;
	unsigned windows, size;
	double clock_error;
	const char *kind;
	bool verbose;
};

struct watch {
	uint64_t line;
	double age, distance, weight;
	uint64_t from; /* reference after which it is watched */
	uint32_t cluster;
	uint32_t term; /* windows left */
	bool active;
};

struct sampler {
	const struct settings *settings;
	struct fm_random random;
	struct fm_times times;
	struct fm_window window;
	uint64_t *lines;
	uint32_t count; /* in the current window */
	uint64_t begin; /* of the current or next window */
	uint32_t cluster;
	struct watch slots[SLOTS];
	double clock; /* what it shows per reference */
};

static void end_watch(struct sampler *sampler, struct watch *watch, uint64_t now, bool censored, bool never)
{
	double passed = (double)(now - watch->from) * sampler->clock;
	struct fm_reuse reuse = {.time = never ? INFINITY : watch->age + passed,
	                         .entered = watch->age,
	                         .weight = watch->weight,
	                         .distance = watch->distance,
	                         .cluster = watch->cluster,
	                         .censored = censored};

	if (fm_times_add(&sampler->times, &reuse))
		abort();
	watch->active = false;
}

/* One place in every stretch of the run. */
static void place_window(struct sampler *sampler)
{
	uint64_t stretch = sampler->settings->references / sampler->settings->windows;

	sampler->begin =
	    sampler->cluster * stretch + fm_random_below(&sampler->random, stretch - sampler->settings->size);
}

static void end_window(struct sampler *sampler, uint64_t now)
{
	uint32_t size = sampler->settings->size;
	struct fm_window_choice choices[SLOTS];
	unsigned free_slots[SLOTS], wanted = 0, chosen;

	if (fm_window_add(&sampler->window, sampler->lines, NULL, size, fm_window_horizon(size), sampler->cluster,
	                  &sampler->times))
		abort();
	for (unsigned i = 0; i < SLOTS; i++) {
		struct watch *watch = &sampler->slots[i];

		if (watch->active && --watch->term == 0)
			end_watch(sampler, watch, now, true, false);
		if (!watch->active)
			free_slots[wanted++] = i;
	}
	chosen = fm_window_choose(&sampler->window, &sampler->random, wanted, choices);
	for (unsigned i = 0; i < chosen; i++)
		sampler->slots[free_slots[i]] = (struct watch){.line = sampler->lines[choices[i].position],
		                                               .age = choices[i].age,
		                                               .distance = choices[i].distance,
		                                               .weight = choices[i].weight,
		                                               .from = now,
		                                               .cluster = sampler->cluster,
		                                               .term = fm_window_term(&sampler->random, free_slots[i]),
		                                               .active = true};
	sampler->count = 0;
	sampler->cluster++;
	place_window(sampler);
}

/* `now` is the number of references so far, this one included. */
static inline void see(struct sampler *sampler, uint64_t line, uint64_t now)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (sampler->slots[i].active && sampler->slots[i].line == line)
			end_watch(sampler, &sampler->slots[i], now, false, false);
	if (now > sampler->begin && sampler->cluster < sampler->settings->windows) {
		sampler->lines[sampler->count++] = line;
		if (sampler->count == sampler->settings->size)
			end_window(sampler, now);
	}
}

struct verdict {
	double error, worst, held, width, span;
	unsigned phases;
};

static struct verdict compare(const struct fm_miss_curve *exact, const struct fm_miss_curve *found, bool verbose)
{
	struct verdict verdict = {.phases = found->phases};
	unsigned points = 0;

	for (unsigned i = FM_MISS_PER_OCTAVE; i < FM_MISS_POINTS - 2 * FM_MISS_PER_OCTAVE; i++, points++) {
		const struct fm_miss_point *point = &found->points[i];
		double truth = exact->points[i].value, error = fabs(point->value - truth);

		verdict.error += error;
		verdict.worst = fmax(verdict.worst, error);
		verdict.held += truth >= point->low - 1e-9 && truth <= point->high + 1e-9;
		verdict.width += (point->high - point->low) / 2;
		if (verbose && i % (FM_MISS_PER_OCTAVE / 2) == 0)
			printf("    %8.0f KiB  exact %.4f  found %.4f  %.4f–%.4f%s\n", fm_miss_bytes(i) / 1024, truth,
			       point->value, point->low, point->high,
			       truth < point->low - 1e-9 || truth > point->high + 1e-9 ? "  *" : "");
	}
	verdict.span =
	    exact->points[FM_MISS_PER_OCTAVE].value - exact->points[FM_MISS_POINTS - 2 * FM_MISS_PER_OCTAVE - 1].value;
	verdict.error /= points;
	verdict.held /= points;
	verdict.width /= points;
	return verdict;
}

static struct verdict judge(const struct settings *settings, const struct stream_kind *kind, uint64_t seed)
{
	struct stream stream;
	struct fm_stack stack;
	struct sampler sampler = {.settings = settings, .clock = 1};
	struct fm_distances *distances = malloc(sizeof(*distances));
	struct fm_miss_curve exact, found;
	struct verdict verdict;
	uint64_t chunk[CHUNK];

	stream_start(&stream, kind, seed, settings->references);
	/* other windows and another clock for every kind */
	fm_random_seed(&sampler.random, seed ^ (uint64_t)(kind - stream_kinds + 1) << 32);
	sampler.clock = exp(settings->clock_error * fm_random_normal(&sampler.random));
	sampler.lines = malloc(settings->size * sizeof(*sampler.lines));
	if (!distances || !sampler.lines || fm_stack_create(&stack, &(struct fm_stack_options){0}))
		abort();
	place_window(&sampler);
	for (uint64_t done = 0; done < settings->references; done += CHUNK) {
		for (unsigned i = 0; i < CHUNK; i++) {
			chunk[i] = kind->next(&stream);
			stream.place++;
			see(&sampler, chunk[i], stream.place);
		}
		if (fm_stack_touch_all(&stack, chunk, CHUNK))
			abort();
	}
	for (unsigned i = 0; i < SLOTS; i++)
		if (sampler.slots[i].active)
			end_watch(&sampler, &sampler.slots[i], stream.place, true, true);
	fm_stack_result(&stack, distances);
	if (fm_miss_exact(distances, 64, &exact) ||
	    fm_miss_estimate(&sampler.times,
	                     &(struct fm_miss_options){.clock_error = settings->clock_error, .random = &sampler.random},
	                     &found, NULL))
		abort();
	verdict = compare(&exact, &found, settings->verbose);
	printf("%6lu  %-8s  %6.2f  %6.2f  %5.0f  %6.2f  %5.1f  %u  %s\n", (unsigned long)seed, kind->name,
	       100 * verdict.error, 100 * verdict.worst, 100 * verdict.held, 100 * verdict.width, 100 * verdict.span,
	       verdict.phases, stream.words);
	fflush(stdout);
	fm_stack_free(&stack);
	fm_times_free(&sampler.times);
	fm_window_free(&sampler.window);
	free(sampler.lines);
	free(distances);
	return verdict;
}

int main(int count, char **words)
{
	struct settings settings = {.references = 16 << 20, .windows = 400, .size = 4000};
	double error = 0, held = 0, worst = 0, width = 0;
	unsigned cases = 0;
	int option;

	while ((option = getopt(count, words, "n:w:s:c:k:v")) != -1)
		switch (option) {
		case 'n':
			settings.references = strtoull(optarg, NULL, 0) / CHUNK * CHUNK;
			break;
		case 'w':
			settings.windows = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 's':
			settings.size = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 'c':
			settings.clock_error = strtod(optarg, NULL);
			break;
		case 'k':
			settings.kind = optarg;
			break;
		case 'v':
			settings.verbose = true;
			break;
		default:
			return 2;
		}
	if (optind == count || settings.references / settings.windows <= settings.size)
		return 2;
	printf("  seed  stream     error   worst  holds   width   span  phases\n");
	for (int i = optind; i < count; i++)
		for (const struct stream_kind *kind = stream_kinds; kind->name; kind++) {
			struct verdict verdict;

			if (settings.kind && strcmp(settings.kind, kind->name))
				continue;
			verdict = judge(&settings, kind, strtoull(words[i], NULL, 0));
			error += verdict.error;
			held += verdict.held;
			width += verdict.width;
			worst = fmax(worst, verdict.error);
			cases++;
		}
	printf(
	    "%u curves: mean absolute error %.2f points (worst curve %.2f), intervals hold at %.1f %% of sizes, mean "
	    "half-width %.2f points\n",
	    cases, 100 * error / cases, 100 * worst, 100 * held / cases, 100 * width / cases);
	return 0;
}
