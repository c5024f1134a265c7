/* The tool is killed at random moments: no process, thread or temporary file is left, resctrl is as it was, and the
   program goes on.

     test_faults TOOL POINTS [SEED]

   This process inherits orphans, so that whatever is left is its child. Three kinds of tools take turns: `fathom
   squeeze` with resctrl on a tree of files, with threads, and a process that has takers at work, a group and a program
   all at once, which no machine of ours offers to `fathom squeeze`. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/launch.h"
#include "base/random.h"
#include "interference/resctrl.h"
#include "interference/takers.h"
#include "interference/tree.h"
#include "profile/topology.h"

enum { KINDS = 3, MOST_MS = 600, PATIENCE_MS = 5000, UNDISTURBED = 7 };
static char *const program[] = {"/bin/sh", "-c", "sleep 0.4; exit 7", NULL};
static const char *tool_path;
static char scratch[64];

/* Everything at once. */
static void be_tool(void)
{
	struct fm_taker_wish wishes[] = {{FM_TAKER_STORAGE, 0, 1 << 20}, {FM_TAKER_BANDWIDTH, 0, 1 << 18}};
	struct fm_launch launch = {.program = program, .output = -1, .input = -1, .outlives = true};
	struct fm_resctrl_limit limit = {.cache = FM_RESCTRL_L3, .ways = 2}, done;
	struct fm_cpu_list allowed;
	struct fm_launched launched;
	struct fm_resctrl *resctrl;
	struct fm_takers *takers;
	struct fm_error error;

	if (fm_cpu_list_allowed(&allowed, &error))
		_exit(1);
	wishes[0].cpu = wishes[1].cpu = allowed.cpu[allowed.count - 1];
	if (fm_resctrl_begin(&resctrl, &error) || fm_takers_start(wishes, 2, &takers, &error) ||
	    fm_launch_begin(&launch, &launched, &error) || fm_resctrl_add(resctrl, launched.process, &error) ||
	    fm_resctrl_limit(resctrl, &limit, &done, &error) || fm_launch_release(&launched, program[0], &error))
		_exit(1);
	for (unsigned i = 0;; i++) {
		fm_takers_set(takers, i % 2, &(struct fm_taker_setting){.on = i % 4 < 2});
		fm_takers_settle(takers, 1);
		usleep(500);
	}
}

static pid_t start(unsigned kind)
{
	pid_t tool = fork();
	int nothing;

	if (tool)
		return tool;
	if (kind == 0)
		be_tool();
	nothing = open("/dev/null", O_RDWR);
	dup2(nothing, STDOUT_FILENO);
	dup2(nothing, STDERR_FILENO);
	execl(tool_path, tool_path, "squeeze", "--backend", kind == 1 ? "resctrl" : "threads", "-q", "--", program[0],
	      program[1], program[2], (char *)NULL);
	_exit(127);
}

/* What is in a folder with this in its name: how many, and the last one's name. */
static unsigned count_entries(const char *folder, const char *part, char *name, size_t size)
{
	DIR *entries = opendir(folder);
	unsigned count = 0;

	for (struct dirent *entry; entries && (entry = readdir(entries));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    strstr(entry->d_name, part)) {
			count++;
			snprintf(name, size, "%s/%.200s", folder, entry->d_name);
		}
	if (entries)
		closedir(entries);
	return count;
}

/* Collects orphans until there is none; false: some stay. Counts those that ended as the program does by itself. */
static bool collect(unsigned *ret_undisturbed)
{
	uint64_t until = fm_clock_now() + PATIENCE_MS * 1000000ull;
	int status;
	pid_t ended;

	*ret_undisturbed = 0;
	while (fm_clock_now() < until) {
		ended = waitpid(-1, &status, WNOHANG);
		if (ended < 0 && errno == ECHILD)
			return true;
		if (!ended)
			usleep(2000);
		else if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == UNDISTURBED)
			(*ret_undisturbed)++;
	}
	return false;
}

static unsigned failures, went_on;

static void fail(unsigned point, unsigned kind, unsigned ms, const char *what, const char *which)
{
	printf("FAILED: point %u, kind %u, killed after %u ms: %s %s\n", point, kind, ms, what, which);
	failures++;
}

static void try_point(unsigned point, unsigned kind, unsigned ms)
{
	const char *root = tree_make(tree_intel);
	char before[2048], left[300] = "";
	unsigned undisturbed, entries;
	char number[16];
	pid_t tool;

	snprintf(before, sizeof(before), "%s", tree_read("schemata"));
	entries = count_entries(root, "", left, sizeof(left));
	tool = start(kind);
	/* others may have files of their own in a folder of everybody */
	snprintf(number, sizeof(number), "%d", (int)tool);
	usleep(ms * 1000);
	kill(tool, SIGKILL);
	if (!collect(&undisturbed))
		fail(point, kind, ms, "a process is left", "");
	went_on += undisturbed;
	if (count_entries(root, "", left, sizeof(left)) != entries)
		fail(point, kind, ms, "resctrl is not restored:", left);
	if (strcmp(before, tree_read("schemata")) != 0)
		fail(point, kind, ms, "the default group was changed:", tree_read("schemata"));
	if (count_entries(scratch, "", left, sizeof(left)) || count_entries("/dev/shm", number, left, sizeof(left)))
		fail(point, kind, ms, "a temporary file is left:", left);
	tree_remove();
}

int main(int argc, char **argv)
{
	unsigned points = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	struct fm_random random;

	if (argc < 3 || !points || access(argv[1], X_OK)) {
		fprintf(stderr, "usage: test_faults TOOL POINTS [SEED]\n");
		return 2;
	}
	tool_path = argv[1];
	snprintf(scratch, sizeof(scratch), "/tmp/faults-XXXXXX");
	if (!mkdtemp(scratch) || prctl(PR_SET_CHILD_SUBREAPER, 1))
		return 1;
	setenv("TMPDIR", scratch, 1);
	setenv("XDG_DATA_HOME", scratch, 1);
	fm_random_seed(&random, argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
	for (unsigned i = 0; i < points; i++)
		try_point(i, i % KINDS, (unsigned)fm_random_below(&random, MOST_MS));
	rmdir(scratch);
	printf("%u points, %u programs went on to their end, %u failures\n", points, went_on, failures);
	/* a test in which no program ever ran would say nothing of them */
	if (!went_on)
		printf("FAILED: no program was ever left running\n");
	return failures || !went_on;
}
