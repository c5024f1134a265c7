/* Our streaming kernels against likwid-bench: same kernel, same size, widest instruction set both have, interleaved
   pairs. Usage: bench_likwid [PAIRS [SECONDS [KERNEL]]] (15 pairs of 0.1 s each and all kernels by default). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "base/text.h"
#include "kernels/kernel.h"
#include "measure/bandwidth.h"
#include "profile/topology.h"
#include "report/table.h"

struct peer {
	enum fm_stream_kernel_index kernel;
	const char *names[FM_ISA_COUNT]; /* of likwid-bench, by instruction set */
};

static const struct peer peers[] = {
    {FM_STREAM_load, {"load", "load_sse", "load_avx", "load_avx512"}},
    {FM_STREAM_store, {"store", "store_sse", "store_avx", "store_avx512"}},
    {FM_STREAM_copy, {"copy", "copy_sse", "copy_avx", "copy_avx512"}},
    {FM_STREAM_daxpy, {"daxpy", "daxpy_sse", "daxpy_avx_fma", "daxpy_avx512_fma"}},
    {FM_STREAM_vector_triad, {"triad", "triad_sse", "triad_avx_fma", "triad_avx512_fma"}},
    {FM_STREAM_stream_triad, {"stream", "stream_sse", "stream_avx_fma", "stream_avx512_fma"}},
};

/* GB/s that likwid-bench reports, 0 when it failed. */
static double run_peer(const char *test, size_t bytes, uint64_t iterations)
{
	char command[160], line[256];
	double rate = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "likwid-bench -t %s -w S0:%zukB:1 -i %llu 2>/dev/null", test, bytes / 1000,
	         (unsigned long long)iterations);
	pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof(line), pipe))
		sscanf(line, "MByte/s: %lf", &rate);
	if (pipe)
		pclose(pipe);
	return rate / 1000;
}

static void compare(struct fm_table *table, const struct peer *peer, const char *level, size_t bytes, unsigned pairs,
                    double seconds)
{
	enum fm_isa isa = fm_isa_widest();
	struct fm_sample ratios = {0}, own = {0}, their = {0};
	struct fm_location ratio, own_median, their_median;
	struct fm_error error;
	double rate;
	uint64_t iterations;

	/* whole thousands, as likwid-bench counts */
	bytes = bytes / 1000 * 1000;
	if (fm_bandwidth_once(peer->kernel, isa, bytes, seconds, &rate, &error)) {
		fprintf(stderr, "bench: %s\n", error.message);
		return;
	}
	iterations = (uint64_t)(seconds * rate * 1e9 / (double)bytes) + 1;
	for (unsigned i = 0; i < pairs; i++) {
		double ours = 0, theirs = 0;

		for (unsigned turn = 0; turn < 2; turn++)
			if ((turn + i) % 2)
				theirs = run_peer(peer->names[isa], bytes, iterations);
			else if (fm_bandwidth_once(peer->kernel, isa, bytes, seconds, &ours, &error))
				ours = 0;
		if (!(ours > 0) || !(theirs > 0))
			continue;
		fm_sample_add(&ratios, ours / theirs);
		fm_sample_add(&own, ours);
		fm_sample_add(&their, theirs);
	}
	fm_table_cell(table, "%s", fm_streams[peer->kernel].name);
	fm_table_cell(table, "%s", peer->names[isa]);
	fm_table_cell(table, "%s", level);
	if (fm_statistics_median(ratios.values, ratios.count, &ratio)) {
		for (int i = 0; i < 5; i++)
			fm_table_cell(table, "%s", i ? "" : "no pair");
	} else {
		fm_statistics_median(own.values, own.count, &own_median);
		fm_statistics_median(their.values, their.count, &their_median);
		fm_table_cell(table, "%.1f", own_median.value);
		fm_table_cell(table, "%.1f", their_median.value);
		fm_table_cell(table, "%.3f", ratio.value);
		fm_table_cell(table, "[%.3f, %.3f]", ratio.low, ratio.high);
		fm_table_cell(table, "%s", ratio.value >= 0.97 ? "" : "BELOW 0.97");
	}
	fprintf(stderr, "\r%s %s: %u pairs, ratio %.3f [%.3f, %.3f]\033[K", fm_streams[peer->kernel].name, level,
	        ratios.count, ratio.value, ratio.low, ratio.high);
	fm_sample_free(&ratios);
	fm_sample_free(&own);
	fm_sample_free(&their);
}

int main(int argc, char **argv)
{
	static const char *const heads[] = {"kernel",    "peer",  "level",    "ours GB/s",
	                                    "peer GB/s", "ratio", "interval", ""};
	unsigned pairs = argc > 1 ? (unsigned)atoi(argv[1]) : 15;
	double seconds = argc > 2 ? atof(argv[2]) : 0.1;
	struct fm_table *table = fm_table_create("lllrrrrl");
	struct fm_topology topology;
	struct fm_error error;

	if (fm_isa_read_mask(&error) || fm_topology_read(&topology, &error) || fm_bind_to_cpu(0, &error)) {
		fprintf(stderr, "bench: %s\n", error.message);
		return 1;
	}
	if (topology.cache_count < 2) {
		fprintf(stderr, "bench: the caches of this machine are not known\n");
		return 1;
	}
	for (unsigned i = 0; i < 8; i++)
		fm_table_cell(table, "%s", heads[i]);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		if (argc > 3 && strcmp(argv[3], fm_streams[peers[i].kernel].name))
			continue;
		compare(table, &peers[i], "L1", topology.caches[0].bytes / 2, pairs, seconds);
		compare(table, &peers[i], "L2", topology.caches[1].bytes / 4, pairs, seconds);
		compare(table, &peers[i], "memory", 4 * topology.caches[topology.cache_count - 1].bytes, pairs,
		        3 * seconds);
	}
	fputc('\n', stderr);
	printf(
	    "Bandwidth against likwid-bench, %u interleaved pairs each, median paired ratio with its 95 %% interval\n",
	    pairs);
	fm_table_print(table, stdout, 0, 100);
	fm_table_free(table);
	return 0;
}
