/* What a page of many samples costs: processor time, peak memory and size of `report --html`, and the same of the text,
   which has the same analysis. Usage: bench_html TOOL SAMPLES … */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording/store.h"
#include "samples/synthetic.h"

struct cost {
	double seconds;
	double mebibytes;
};

/* Processor time: others may use the machine. */
static double seconds_of(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* In a process of its own, so that its memory is given back before anything is measured. */
static int make(const char *path, unsigned samples)
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		struct fm_recording *recording = synthetic_recording(samples, 1, SYNTHETIC_TIMED);
		struct fm_error error;
		int r = fm_recording_settle(recording, &error) || fm_store_save(path, recording, &error);

		if (r)
			fprintf(stderr, "%s\n", error.message);
		_exit(r != 0);
	}
	return child < 0 || waitpid(child, &status, 0) < 0 || status ? -EIO : 0;
}

static int run(char *const *arguments, struct cost *ret_cost)
{
	pid_t child = fork();
	struct rusage usage;
	int status = 1;

	if (!child) {
		int nowhere = open("/dev/null", O_WRONLY);

		if (nowhere >= 0)
			dup2(nowhere, 1);
		execv(arguments[0], arguments);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status)
		return -EIO;
	*ret_cost = (struct cost){seconds_of(&usage), (double)usage.ru_maxrss / 1024};
	return 0;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/fathom-html-XXXXXX", recording[64], page[64];
	double first = 0, last = 0;

	if (argc < 3 || !mkdtemp(folder)) {
		fprintf(stderr, "usage: bench_html TOOL SAMPLES ...\n");
		return 2;
	}
	snprintf(recording, sizeof(recording), "%s/samples.fathom", folder);
	snprintf(page, sizeof(page), "%s/page.html", folder);
	printf("%10s  %24s  %36s\n%10s  %12s %11s  %12s %11s %11s\n", "", "report (text)", "report --html", "samples",
	       "s", "MiB", "s", "MiB", "page, MiB");
	for (int i = 2; i < argc; i++) {
		char *text[] = {argv[1], "report", recording, NULL},
		     *html[] = {argv[1], "report", recording, "--html", page, NULL};
		struct cost costs[2];
		struct stat status;

		if (make(recording, (unsigned)atoi(argv[i])) || run(text, &costs[0]) || run(html, &costs[1]) ||
		    stat(page, &status))
			return 1;
		printf("%10s  %12.2f %11.0f  %12.2f %11.0f %11.2f\n", argv[i], costs[0].seconds, costs[0].mebibytes,
		       costs[1].seconds, costs[1].mebibytes, (double)status.st_size / 1048576);
		fflush(stdout);
		last = costs[1].seconds;
		first = i == 2 ? last : first;
		unlink(recording);
	}
	if (argc > 3)
		printf("time of --html grows with samples to the power of %.2f\n",
		       log(last / first) / log(atof(argv[argc - 1]) / atof(argv[2])));
	unlink(page);
	rmdir(folder);
	return 0;
}
