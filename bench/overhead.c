/* What recording costs: processor time of programs with and without `fathom record`, interleaved, at several budgets,
   with samples per second; and the cost of a sample against perf record's at the same rate. Usage: bench_overhead TOOL
   PROGRAMS-FOLDER [PAIRS] (15). `bench_overhead --run FILE COMMAND...` runs the command and writes its processor time
   into FILE: so it is known without that of the tool. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/statistics.h"

enum { WORDS = 16 };

static int run_and_note(char **arguments)
{
	struct rusage usage;
	int status;
	FILE *file;
	pid_t child = fork();

	if (!child) {
		execvp(arguments[1], arguments + 1);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child)
		return 1;
	file = fopen(arguments[0], "w");
	if (!file)
		return 1;
	fprintf(file, "%.6f\n",
	        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	            1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static const char *self;
static char note[64], recording[64];

/* Processor seconds of `sh -c command`, run by `prefix`. */
static double processor_time(const char *prefix, const char *command)
{
	char line[4096];
	double seconds = 0;
	FILE *file;

	unlink(note);
	snprintf(line, sizeof(line), "%s %s --run %s %s >/dev/null 2>&1", prefix, self, note, command);
	if (system(line))
		fprintf(stderr, "failed: %s\n", line);
	file = fopen(note, "r");
	if (file && fscanf(file, "%lf", &seconds) != 1)
		seconds = 0;
	if (file)
		fclose(file);
	return seconds;
}

static double number_of(const char *query)
{
	char line[512];
	double value = 0;
	FILE *pipe;

	snprintf(line, sizeof(line), "sqlite3 %s '%s' 2>/dev/null", recording, query);
	pipe = popen(line, "r");
	if (pipe && fscanf(pipe, "%lf", &value) != 1)
		value = 0;
	if (pipe)
		pclose(pipe);
	return value;
}

static void compare(const char *tool, const char *name, const char *command, const char *budget, unsigned pairs)
{
	struct fm_sample ratios = {0}, rates = {0}, claimed = {0}, alone = {0}, recorded = {0};
	struct fm_location ratio, rate = {0}, claim = {0}, without, with;
	char prefix[2048];

	snprintf(prefix, sizeof(prefix), "%s record --force -q -o %s --overhead %s --", tool, recording, budget);
	for (unsigned i = 0; i < pairs; i++) {
		double first, second;

		/* which of them is first changes: machines get slower and faster */
		if (i & 1) {
			first = processor_time("env", command);
			second = processor_time(prefix, command);
		} else {
			second = processor_time(prefix, command);
			first = processor_time("env", command);
		}
		if (first <= 0 || second <= 0)
			continue;
		fm_sample_add(&ratios, 100 * (second / first - 1));
		fm_sample_add(&alone, first);
		fm_sample_add(&recorded, second);
		fm_sample_add(
		    &rates, number_of("SELECT count(*) / max(0.001, (SELECT cpu_seconds FROM sampling)) FROM samples"));
		fm_sample_add(&claimed, 100 * number_of("SELECT overhead FROM sampling"));
	}
	if (fm_statistics_median(ratios.values, ratios.count, &ratio)) {
		printf("%-12s %6s failed\n", name, budget);
	} else {
		fm_statistics_median(rates.values, rates.count, &rate);
		fm_statistics_median(claimed.values, claimed.count, &claim);
		printf("%-12s %6s %7.2f %% [%.2f, %.2f], said %.2f %%, %.0f samples/s, %u pairs", name, budget,
		       ratio.value, ratio.low, ratio.high, claim.value, rate.value, ratios.count);
		/* others only ever add time: where the undisturbed runs are is steadier than ratios of pairs */
		if (!fm_statistics_location(alone.values, alone.count, &without) &&
		    !fm_statistics_location(recorded.values, recorded.count, &with))
			printf("; undisturbed %.2f %% [%.2f, %.2f]", 100 * (with.value / without.value - 1),
			       100 * (with.low / without.high - 1), 100 * (with.high / without.low - 1));
		putchar('\n');
	}
	fflush(stdout);
	fm_sample_free(&ratios);
	fm_sample_free(&rates);
	fm_sample_free(&claimed);
	fm_sample_free(&alone);
	fm_sample_free(&recorded);
}

static void against_perf(const char *tool, const char *command, unsigned pairs)
{
	static const char *const rates[] = {"1000"};
	struct fm_sample ours = {0}, theirs = {0};
	struct fm_location us, them;
	char our_prefix[2048], perf_prefix[512];

	snprintf(our_prefix, sizeof(our_prefix), "%s record --force -q -o %s --rate %s --", tool, recording, rates[0]);
	snprintf(perf_prefix, sizeof(perf_prefix), "perf record -q -o %s.perf -e cpu-clock -F %s --", recording,
	         rates[0]);
	if (system("perf --version >/dev/null 2>&1")) {
		printf("perf is not here\n");
		return;
	}
	for (unsigned i = 0; i < pairs; i++) {
		double alone = processor_time("env", command), ours_now = processor_time(our_prefix, command),
		       perf_now = processor_time(perf_prefix, command);

		/* microseconds for each sample */
		fm_sample_add(&ours, 1e6 * (ours_now - alone) / (1000 * alone));
		fm_sample_add(&theirs, 1e6 * (perf_now - alone) / (1000 * alone));
	}
	if (!fm_statistics_median(ours.values, ours.count, &us) &&
	    !fm_statistics_median(theirs.values, theirs.count, &them))
		printf("a sample at 1000/s: %.1f us [%.1f, %.1f]; perf record -e cpu-clock %.1f us [%.1f, %.1f]\n",
		       us.value, us.low, us.high, them.value, them.low, them.high);
	fm_sample_free(&ours);
	fm_sample_free(&theirs);
}

int main(int count, char **arguments)
{
	static const char *const budgets[] = {"1%", "3%", "10%"};
	char commands[5][512], data[64], line[2048];
	static const char *const names[] = {"chase", "bzip2", "gzip", "perl", "allocations"};
	unsigned pairs = count > 3 ? (unsigned)atoi(arguments[3]) : 15;

	if (count > 3 && !strcmp(arguments[1], "--run"))
		return run_and_note(arguments + 2);
	if (count < 3)
		return 2;
	self = arguments[0];
	snprintf(note, sizeof(note), "/tmp/overhead.%d", getpid());
	snprintf(recording, sizeof(recording), "/tmp/overhead.%d.fathom", getpid());
	snprintf(data, sizeof(data), "/tmp/overhead.%d.data", getpid());
	snprintf(line, sizeof(line), "for i in 1 2 3 4 5 6 7 8; do cat %s %s; done | head -c 6000000 >%s", arguments[0],
	         arguments[1], data);
	if (system(line))
		return 1;
	snprintf(commands[0], sizeof(commands[0]), "%s/program_chase", arguments[2]);
	snprintf(commands[1], sizeof(commands[1]), "bzip2 -c %s", data);
	snprintf(commands[2], sizeof(commands[2]), "gzip -9 -c %s", data);
	snprintf(commands[3], sizeof(commands[3]),
	         "perl -e 'for (1 .. 3000000) { $h{$_ %% 1000} += $_ } print join(\",\", values %%h)'");
	snprintf(commands[4], sizeof(commands[4]), "%s/program_allocate", arguments[2]);
	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = 0; k < 3; k++)
			compare(arguments[1], names[i], commands[i], budgets[k], pairs);
	against_perf(arguments[1], commands[0], pairs);
	unlink(data);
	unlink(note);
	unlink(recording);
	return 0;
}
