/* The study of Casas and Bronevetsky's "Active Measurement of Memory Resource Consumption" on the simulated Xeon
   E5-2670: their models against the simulator, what storage threads leave, whether storage and bandwidth threads leave
   each other alone, and what mappings of processes to sockets tell of two stand-ins for their programs. Nothing here is
   fitted to their results.

   bench_squeeze [models|capacity|orthogonality|mappings]...   all of them by default
   bench_squeeze capacity EVERY   every EVERY-th of the 22 sizes of buffers (default 22, the middle one; 1 is all) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "squeeze/effective.h"
#include "squeeze/scene.h"

enum { SIZES = 22, ADDITIONS = 3, THREADS = 6, MIB = 1 << 20, STORAGE_BYTES = 4 << 20, BANDWIDTH_BYTES = 520 << 10 };

static const unsigned additions[ADDITIONS] = {1, 10, 100};

static uint64_t size_of(unsigned index)
{
	/* 30 to 74 MB */
	return (uint64_t)(30 * MIB + 44.0 * MIB * index / (SIZES - 1)) / 4096 * 4096;
}

static void give_up(const struct fm_error *error)
{
	fprintf(stderr, "bench_squeeze: %s\n", error->message);
	exit(1);
}

/* Mean and spread. */
struct sum {
	double count, sum, squares, largest;
};

static void add(struct sum *sum, double value)
{
	sum->count++;
	sum->sum += value;
	sum->squares += value * value;
	sum->largest = fmax(sum->largest, value);
}

static double mean_of(const struct sum *sum)
{
	return sum->sum / sum->count;
}

static double deviation_of(const struct sum *sum)
{
	return sqrt(fmax(sum->squares / sum->count - mean_of(sum) * mean_of(sum), 0));
}

static struct fm_effective measure(const struct fm_machine_description *machine, unsigned distribution, uint64_t bytes,
                                   unsigned added, unsigned threads)
{
	const struct fm_effective_wish wish = {.distribution = &fm_distributions[distribution],
	                                       .bytes = bytes,
	                                       .additions = added,
	                                       .threads = threads,
	                                       .thread_bytes = STORAGE_BYTES,
	                                       .seed = 1 + distribution};
	struct fm_effective effective;
	struct fm_error error;

	if (fm_effective_measure(machine, &wish, &effective, &error))
		give_up(&error);
	return effective;
}

/* All 660 configurations without threads. */
static void study_models(const struct fm_machine_description *machine)
{
	struct sum all[FM_EXPECTED_COUNT] = {0}, above[FM_EXPECTED_COUNT] = {0}, size[FM_EXPECTED_COUNT][SIZES] = {0};
	double least = 1, most = 0;
	unsigned configurations = 0;

	for (unsigned i = 0; i < SIZES; i++)
		for (unsigned d = 0; d < FM_DISTRIBUTION_COUNT; d++)
			for (unsigned a = 0; a < ADDITIONS; a++) {
				struct fm_effective result = measure(machine, d, size_of(i), additions[a], 0);

				configurations++;
				least = fmin(least, result.misses);
				most = fmax(most, result.misses);
				for (unsigned m = 0; m < FM_EXPECTED_COUNT; m++) {
					double error = fabs(result.expected[m] - result.misses);

					add(&all[m], error);
					add(&size[m][i], error);
					if (result.misses > 0.5)
						add(&above[m], error);
				}
			}
	printf(
	    "Models, %u configurations, misses %.1f to %.1f %% of the accesses; error in points of the miss ratio\n\n",
	    configurations, 100 * least, 100 * most);
	printf("| model | mean | mean above 50 %% misses | worst mean of a size | that plus a deviation | largest |\n"
	       "|---|---|---|---|---|---|\n");
	for (unsigned m = 0; m < FM_EXPECTED_COUNT; m++) {
		double worst = 0, beside = 0;

		for (unsigned i = 0; i < SIZES; i++) {
			worst = fmax(worst, mean_of(&size[m][i]));
			beside = fmax(beside, mean_of(&size[m][i]) + deviation_of(&size[m][i]));
		}
		printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", fm_expected_name(m), 100 * mean_of(&all[m]),
		       100 * mean_of(&above[m]), 100 * worst, 100 * beside, 100 * all[m].largest);
	}
	printf("\n");
	fflush(stdout);
}

static void study_capacity(const struct fm_machine_description *machine, unsigned every)
{
	printf("Capacity left by storage threads of 4 MB, MiB: mean and standard deviation over distributions and "
	       "sizes\n\n"
	       "| threads | 1 addition | 10 | 100 | all, che | all, seed's equation | configurations |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (unsigned threads = 0; threads < THREADS; threads++) {
		struct sum by_addition[ADDITIONS] = {0}, all[FM_EXPECTED_COUNT] = {0};

		for (unsigned a = 0; a < ADDITIONS; a++)
			for (unsigned i = every / 2; i < SIZES; i += every)
				for (unsigned d = 0; d < FM_DISTRIBUTION_COUNT; d++) {
					struct fm_effective result =
					    measure(machine, d, size_of(i), additions[a], threads);

					add(&by_addition[a], result.capacity[FM_EXPECTED_che] / MIB);
					for (unsigned m = 0; m < FM_EXPECTED_COUNT; m++)
						add(&all[m], result.capacity[m] / MIB);
				}
		printf("| %u |", threads);
		for (unsigned a = 0; a < ADDITIONS; a++)
			printf(" %.2f ± %.2f |", mean_of(&by_addition[a]), deviation_of(&by_addition[a]));
		printf(" %.2f ± %.2f | %.2f ± %.2f | %.0f |\n", mean_of(&all[FM_EXPECTED_che]),
		       deviation_of(&all[FM_EXPECTED_che]), mean_of(&all[FM_EXPECTED_seed]),
		       deviation_of(&all[FM_EXPECTED_seed]), all[FM_EXPECTED_che].count);
		fflush(stdout);
	}
	printf("\n");
}

static struct fm_scene *scene_of(const struct fm_machine_description *machine)
{
	struct fm_scene *scene;
	struct fm_error error;

	if (fm_scene_create(machine, true, &scene, &error))
		give_up(&error);
	return scene;
}

static void add_threads(struct fm_scene *scene, unsigned storage, unsigned bandwidth)
{
	const struct fm_error error = {.message = "too few cores"};

	for (unsigned i = 0; i < storage; i++)
		if (!fm_scene_add_storage_thread(scene, STORAGE_BYTES, 100 + i))
			give_up(&error);
	for (unsigned i = 0; i < bandwidth; i++)
		if (!fm_scene_add_bandwidth_thread(scene, BANDWIDTH_BYTES))
			give_up(&error);
}

/* The first stream after `warm` references, over `counted` more. */
static struct fm_scene_mark run(struct fm_scene *scene, uint64_t warm, uint64_t counted)
{
	struct fm_scene_mark mark;
	struct fm_error error;

	if (fm_scene_run(scene, warm, 0, &error))
		give_up(&error);
	mark = fm_scene_mark(&scene->streams[0]);
	if (fm_scene_run(scene, counted, 0, &error))
		give_up(&error);
	return fm_scene_since(&scene->streams[0], &mark);
}

static void print_thread(const struct fm_scene *scene, unsigned others, const struct fm_scene_mark *since)
{
	printf("| %u | %.2f | %.1f | %.2f |\n", others, fm_scene_bandwidth(scene, since),
	       100 * (double)since->misses / (double)since->references,
	       (double)since->time / (double)since->references / scene->hierarchy->description.frequency_ghz);
	fflush(stdout);
}

/* Figures 7 and 8. */
static void study_orthogonality(const struct fm_machine_description *machine)
{
	for (unsigned kind = 0; kind < 2; kind++) {
		printf("%s\n\n| beside it | GB/s | misses, %% of accesses | ns per access |\n|---|---|---|---|\n",
		       kind ? "One storage thread beside bandwidth threads"
		            : "One bandwidth thread beside storage threads");
		for (unsigned others = 0; others < THREADS; others++) {
			struct fm_scene *scene = scene_of(machine);
			struct fm_scene_mark since;

			add_threads(scene, kind, !kind);
			add_threads(scene, kind ? 0 : others, kind ? others : 0);
			since = run(scene, 1200000, 400000);
			print_thread(scene, others, &since);
			fm_scene_destroy(scene);
		}
		printf("\n");
	}
}

/* Stand-ins: their memory, and how often they go there, were chosen before anything was measured. */
static const struct stand_in {
	const char *name;
	struct fm_scene_mixture mixture;
	unsigned additions;
} stand_ins[] = {
    {"MCB, 5 MiB", {.random_bytes = 5 * MIB}, 12},
    {"Lulesh 22, 5 MiB", {.random_bytes = 3 * MIB, .sweep_bytes = 2 * MIB, .sweep_percent = 50}, 8},
    {"Lulesh 36, 14 MiB", {.random_bytes = 8 * MIB, .sweep_bytes = 6 * MIB, .sweep_percent = 50}, 8},
};

/* Cycles per access of one of `processes` beside threads. */
static double pace_of(const struct fm_machine_description *machine, const struct stand_in *stand_in, unsigned processes,
                      unsigned storage, unsigned bandwidth, double *ret_gbs)
{
	uint64_t lines = (stand_in->mixture.random_bytes + stand_in->mixture.sweep_bytes) / machine->line_bytes;
	struct fm_scene *scene = scene_of(machine);
	struct fm_scene_mark since;

	for (unsigned i = 0; i < processes; i++)
		if (!fm_scene_add_mixture(scene, &stand_in->mixture, stand_in->additions, 1 + i))
			give_up(&(struct fm_error){.message = "too few cores"});
	add_threads(scene, storage, bandwidth);
	/* each line has been there ten times, most of it by chance */
	since = run(scene, 10 * lines, 4 * lines);
	if (ret_gbs)
		*ret_gbs = fm_scene_bandwidth(scene, &since);
	fm_scene_destroy(scene);
	return (double)since.time / (double)since.references;
}

/* Figures 9 to 12: what a process needs, from the most threads that cost it nothing and the fewest that do. */
static void study_mappings(const struct fm_machine_description *machine)
{
	static const unsigned processes[] = {1, 2, 3, 4};
	const double noticeable = 0.03;
	double left[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		left[i] = measure(machine, FM_DISTRIBUTION_uni, 50ull * MIB, 10, i).capacity[FM_EXPECTED_che] / MIB;
	printf(
	    "Mappings: slower by, %%, and the capacity of a process that this tells\n\n"
	    "| stand-in | processes | 1 CSThr | 2 | 3 | 4 | 5 | MiB of a process | 1 BWThr | 2 | GB/s of a process |\n"
	    "|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (unsigned s = 0; s < sizeof(stand_ins) / sizeof(*stand_ins); s++)
		for (unsigned p = 0; p < sizeof(processes) / sizeof(*processes); p++) {
			unsigned count = processes[p], free_cores = machine->cores - count;
			uint64_t bytes = count * (stand_ins[s].mixture.random_bytes + stand_ins[s].mixture.sweep_bytes);
			double gbs, alone, fits = left[0], tight = 0;

			/* processes that do not fit without threads say nothing */
			if (bytes > machine->caches[machine->cache_count - 1].bytes)
				continue;
			alone = pace_of(machine, &stand_ins[s], count, 0, 0, &gbs);

			printf("| %s | %u |", stand_ins[s].name, count);
			for (unsigned k = 1; k < THREADS; k++) {
				double slower = k <= free_cores
				                    ? pace_of(machine, &stand_ins[s], count, k, 0, NULL) / alone - 1
				                    : NAN;

				if (isnan(slower))
					printf(" – |");
				else
					printf(" %.1f |", 100 * slower);
				if (slower <= noticeable && tight <= 0)
					fits = left[k];
				else if (slower > noticeable && tight <= 0)
					tight = left[k];
			}
			if (tight > 0)
				printf(" %.1f–%.1f |", tight / count, fits / count);
			else
				printf(" under %.1f |", fits / count);
			for (unsigned k = 1; k <= 2; k++)
				if (k <= free_cores)
					printf(" %.1f |",
					       100 * (pace_of(machine, &stand_ins[s], count, 0, k, NULL) / alone - 1));
				else
					printf(" – |");
			printf(" %.2f |\n", gbs);
			fflush(stdout);
		}
	printf("\n");
}

int main(int argc, char **argv)
{
	struct fm_machine_description machine;
	struct fm_error error;
	unsigned every = 22;

	if (fm_description_find("xeon-e5-2670", &machine, &error))
		give_up(&error);
	for (int i = 1; i < argc || i == 1; i++) {
		const char *what = i < argc ? argv[i] : "all";
		bool all = !strcmp(what, "all");

		if (i + 1 < argc && atoi(argv[i + 1]) > 0)
			every = (unsigned)atoi(argv[++i]);
		if (all || !strcmp(what, "models"))
			study_models(&machine);
		if (all || !strcmp(what, "capacity"))
			study_capacity(&machine, every);
		if (all || !strcmp(what, "orthogonality"))
			study_orthogonality(&machine);
		if (all || !strcmp(what, "mappings"))
			study_mappings(&machine);
	}
	return 0;
}
