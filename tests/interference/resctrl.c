/* resctrl on trees of files: what it understands of several kinds of processors, what it writes, what it refuses, and
   that nothing of it is left. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "interference/resctrl.h"
#include "interference/tree.h"
#include "check.h"

static char group[64];

static int setup(void **state)
{
	(void)state;
	snprintf(group, sizeof(group), "fathom-%d", (int)getpid());
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove();
	return 0;
}

static const char *in_group(const char *file)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return path;
}

static void facts_of_processors(void **state)
{
	struct fm_resctrl_facts facts;
	struct fm_error error;

	(void)state;
	tree_make(tree_intel);
	assert_int_equal(fm_resctrl_probe(&facts, &error), 0);
	assert_true(facts.caches[FM_RESCTRL_L3].available);
	assert_false(facts.caches[FM_RESCTRL_L3].split);
	assert_false(facts.caches[FM_RESCTRL_L2].available);
	assert_int_equal(facts.caches[FM_RESCTRL_L3].ways, 11);
	assert_int_equal(facts.caches[FM_RESCTRL_L3].domain_count, 2);
	assert_true(facts.bandwidth.available);
	assert_int_equal(facts.bandwidth.unit, FM_RESCTRL_PERCENT);
	assert_int_equal(facts.bandwidth.least, 10);
	tree_remove();
	tree_make(tree_cdp);
	assert_int_equal(fm_resctrl_probe(&facts, &error), 0);
	assert_true(facts.caches[FM_RESCTRL_L3].available && facts.caches[FM_RESCTRL_L3].split);
	assert_int_equal(facts.caches[FM_RESCTRL_L3].least, 2);
	assert_true(facts.caches[FM_RESCTRL_L2].available && !facts.caches[FM_RESCTRL_L2].split);
	assert_int_equal(facts.caches[FM_RESCTRL_L2].domain_count, 3);
	assert_int_equal(facts.caches[FM_RESCTRL_L2].domains[2], 4);
	assert_false(facts.bandwidth.available);
	tree_remove();
	tree_make(tree_amd);
	assert_int_equal(fm_resctrl_probe(&facts, &error), 0);
	assert_int_equal(facts.bandwidth.unit, FM_RESCTRL_EIGHTHS);
	assert_int_equal(facts.bandwidth.most, 2048);
	assert_int_equal(facts.bandwidth.least, 1);
	tree_remove();
	tree_make(tree_megabytes);
	assert_int_equal(fm_resctrl_probe(&facts, &error), 0);
	assert_int_equal(facts.bandwidth.unit, FM_RESCTRL_MEGABYTES);
	assert_false(facts.caches[FM_RESCTRL_L3].available);
}

static void masks(void **state)
{
	struct fm_resctrl_ways cache = {.mask = 0x7ff, .shared = 0x600, .ways = 11, .least = 1};

	(void)state;
	assert_int_equal(fm_resctrl_mask(&cache, 1), 1);
	assert_int_equal(fm_resctrl_mask(&cache, 9), 0x1ff);
	assert_int_equal(fm_resctrl_mask(&cache, 10), 0x3ff);
	assert_int_equal(fm_resctrl_mask(&cache, 11), 0x7ff);
	assert_int_equal(fm_resctrl_mask(&cache, 12), 0);
	assert_int_equal(fm_resctrl_mask(&cache, 0), 0);
	/* the shared ones at the lower end */
	cache.shared = 3;
	assert_int_equal(fm_resctrl_mask(&cache, 4), 0x3c);
	cache.least = 2;
	assert_int_equal(fm_resctrl_mask(&cache, 1), 0);
	/* not in a row */
	cache.mask = 0x707;
	cache.ways = 6;
	assert_int_equal(fm_resctrl_mask(&cache, 4), 0);
}

static void limits_and_end(void **state)
{
	struct fm_resctrl *resctrl;
	struct fm_resctrl_limit limit = {.cache = FM_RESCTRL_L3, .ways = 4, .bandwidth = 44}, done;
	struct fm_error error;
	char before[512], task[32];

	(void)state;
	tree_make(tree_intel);
	snprintf(before, sizeof(before), "%s", tree_read("schemata"));
	assert_int_equal(fm_resctrl_begin(&resctrl, &error), 0);
	assert_true(tree_exists(group));
	assert_int_equal(fm_resctrl_add(resctrl, getpid(), &error), 0);
	snprintf(task, sizeof(task), "%d\n", (int)getpid());
	assert_non_null(strstr(tree_read(in_group("tasks")), task));
	assert_int_equal(fm_resctrl_limit(resctrl, &limit, &done, &error), 0);
	assert_int_equal(done.ways, 4);
	assert_int_equal(done.bandwidth, 40);
	assert_string_equal(tree_read(in_group("schemata")), "L3:0=f;1=f\nMB:0=40;1=40\n");
	limit = (struct fm_resctrl_limit){.cache = FM_RESCTRL_L3, .bandwidth = 1};
	assert_int_equal(fm_resctrl_limit(resctrl, &limit, &done, &error), 0);
	assert_int_equal(done.ways, 11);
	assert_int_equal(done.bandwidth, 10);
	assert_int_equal(
	    fm_resctrl_limit(resctrl, &(struct fm_resctrl_limit){.cache = FM_RESCTRL_L2, .ways = 1}, &done, &error),
	    -ENOTSUP);
	assert_int_equal(fm_resctrl_end(resctrl, &error), 0);
	assert_false(tree_exists(group));
	assert_string_equal(tree_read("schemata"), before);
	assert_string_equal(tree_read("tasks"), "1\n2\n");
}

static void code_and_data_get_the_same(void **state)
{
	struct fm_resctrl *resctrl;
	struct fm_resctrl_limit limit = {.cache = FM_RESCTRL_L3, .ways = 1}, done;
	struct fm_error error;

	(void)state;
	tree_make(tree_cdp);
	assert_int_equal(fm_resctrl_begin(&resctrl, &error), 0);
	assert_int_equal(fm_resctrl_limit(resctrl, &limit, &done, &error), 0);
	assert_int_equal(done.ways, 2); /* the least there is */
	assert_string_equal(tree_read(in_group("schemata")), "L3CODE:0=3\nL3DATA:0=3\n");
	limit = (struct fm_resctrl_limit){.cache = FM_RESCTRL_L2, .ways = 3};
	assert_int_equal(fm_resctrl_limit(resctrl, &limit, &done, &error), 0);
	assert_non_null(strstr(tree_read(in_group("schemata")), "L2:0=7;1=7;4=7\n"));
	assert_int_equal(fm_resctrl_end(resctrl, &error), 0);
	assert_false(tree_exists(group));
}

static void eighths(void **state)
{
	struct fm_resctrl *resctrl;
	struct fm_resctrl_limit limit = {.cache = FM_RESCTRL_L3, .ways = 16, .bandwidth = 133}, done;
	struct fm_error error;

	(void)state;
	tree_make(tree_amd);
	assert_int_equal(fm_resctrl_begin(&resctrl, &error), 0);
	assert_int_equal(fm_resctrl_limit(resctrl, &limit, &done, &error), 0);
	assert_int_equal(done.bandwidth, 133);
	assert_string_equal(tree_read(in_group("schemata")), "L3:0=ffff;1=ffff\nMB:0=133;1=133\n");
	assert_int_equal(fm_resctrl_end(resctrl, &error), 0);
}

static void refused(int code, const char *words)
{
	struct fm_resctrl_facts facts;
	struct fm_resctrl *resctrl;
	struct fm_error error = {0};

	assert_int_equal(fm_resctrl_probe(&facts, &error), -code);
	if (!strstr(error.message, words))
		fail_msg("\"%s\" does not say \"%s\"", error.message, words);
	assert_int_equal(fm_resctrl_begin(&resctrl, &error), -code);
	assert_false(tree_exists(group));
}

static void refusals_in_words(void **state)
{
	static const char *const empty[] = {NULL}, *const idle[] = {"info/", "info/L3_MON/", "schemata ", NULL};
	char path[64], link[96];

	(void)state;
	setenv("FATHOM_RESCTRL_ROOT", "/nonexistent", 1);
	refused(ENOTSUP, "cat_l3");
	tree_make(empty);
	refused(ENOTSUP, "mount -t resctrl");
	tree_remove();
	tree_make(idle);
	refused(ENOTSUP, "neither cache ways");
	tree_remove();
	/* others are at work */
	snprintf(path, sizeof(path), "%s", tree_make(tree_intel));
	snprintf(link, sizeof(link), "%s/someone", path);
	assert_int_equal(mkdir(link, 0755), 0);
	refused(EBUSY, "someone");
	tree_remove();
	tree_make(tree_intel);
	tree_write("schemata", "    MB:0=100;1=100\n    L3:0=7ff;1=3f");
	refused(EBUSY, "default group");
	tree_remove();
	if (geteuid()) {
		snprintf(path, sizeof(path), "%s", tree_make(tree_intel));
		assert_int_equal(chmod(path, 0555), 0);
		refused(ENOTSUP, "run as root");
		assert_int_equal(chmod(path, 0755), 0);
		tree_remove();
	}
}

/* Whoever plants a link does not get our writes, nor a reading of what is behind it. */
static void links_are_not_followed(void **state)
{
	struct fm_resctrl *resctrl;
	struct fm_resctrl_limit limit = {.cache = FM_RESCTRL_L3, .ways = 2}, done;
	struct fm_resctrl_facts facts;
	struct fm_error error;
	char outside[96], link[160], path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s", tree_make(tree_intel));
	tree_write("outside", "untouched");
	snprintf(outside, sizeof(outside), "%s/outside", path);
	assert_int_equal(fm_resctrl_begin(&resctrl, &error), 0);
	snprintf(link, sizeof(link), "%s/%s/schemata", path, group);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(fm_resctrl_limit(resctrl, &limit, &done, &error), -EIO);
	snprintf(link, sizeof(link), "%s/%s/tasks", path, group);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_not_equal(fm_resctrl_add(resctrl, getpid(), &error), 0);
	assert_int_equal(fm_resctrl_end(resctrl, &error), 0);
	assert_string_equal(tree_read("outside"), "untouched\n");
	/* a root that is a link, and a folder on the way */
	snprintf(link, sizeof(link), "%s/info/L3", path);
	snprintf(outside, sizeof(outside), "%s/aside", path);
	assert_int_equal(rename(link, outside), 0);
	assert_int_equal(symlink("../aside", link), 0);
	assert_int_equal(fm_resctrl_probe(&facts, &error), -EBUSY); /* "aside" is a group now; L3 is not seen */
	assert_false(facts.caches[FM_RESCTRL_L3].available);
	snprintf(link, sizeof(link), "%s-link", path);
	assert_int_equal(symlink(path, link), 0);
	setenv("FATHOM_RESCTRL_ROOT", link, 1);
	assert_int_equal(fm_resctrl_probe(&facts, &error), -ENOTSUP);
	unlink(link);
}

/* A tool that is killed leaves nothing, and its guardian goes. */
static void restored_after_a_kill(void **state)
{
	char name[64];
	int ends[2], status;
	char byte;
	pid_t tool;
	uint64_t until;

	(void)state;
	tree_make(tree_intel);
	assert_int_equal(pipe(ends), 0);
	tool = fork();
	if (!tool) {
		struct fm_resctrl *resctrl;
		struct fm_resctrl_limit limit = {.cache = FM_RESCTRL_L3, .ways = 2}, done;
		struct fm_error error;

		if (fm_resctrl_begin(&resctrl, &error) || fm_resctrl_add(resctrl, getpid(), &error) ||
		    fm_resctrl_limit(resctrl, &limit, &done, &error))
			_exit(1);
		if (write(ends[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	snprintf(name, sizeof(name), "fathom-%d", (int)tool);
	assert_true(tree_exists(name));
	kill(tool, SIGKILL);
	waitpid(tool, &status, 0);
	until = fm_clock_now() + 5000000000u;
	while (tree_exists(name) && fm_clock_now() < until)
		usleep(1000);
	assert_false(tree_exists(name));
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(facts_of_processors, setup, teardown),
	    cmocka_unit_test(masks),
	    cmocka_unit_test_setup_teardown(limits_and_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(code_and_data_get_the_same, setup, teardown),
	    cmocka_unit_test_setup_teardown(eighths, setup, teardown),
	    cmocka_unit_test_setup_teardown(refusals_in_words, setup, teardown),
	    cmocka_unit_test_setup_teardown(links_are_not_followed, setup, teardown),
	    cmocka_unit_test_setup_teardown(restored_after_a_kill, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
