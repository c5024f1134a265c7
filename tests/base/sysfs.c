/* Reading sysfs below a root that is configurable: all of Fathom's readers follow it. */
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/sysfs.h"
#include "counters/sysfs.h"
#include "profile/topology.h"

static char root[] = "/tmp/fathom-test-XXXXXX";

static void plant(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/'));) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static bool collect(const char *name, void *context)
{
	strcat(strcat(context, name), " ");
	return strcmp(name, "c") != 0;
}

static void values(void **state)
{
	char text[32], long_name[PATH_MAX], names[64] = "";
	long long number = 42;

	(void)state;
	plant("a/b", "first\nsecond\n");
	plant("a/number", "-17 and more\n");
	plant("a/empty", "");
	plant("a/.hidden", "");
	plant("a/c", "");
	plant("a/d", "");
	assert_string_equal(fm_sysfs_root(), root);
	assert_int_equal(fm_sysfs_read_line(text, sizeof(text), "%s/%c", "a", 'b'), 0);
	assert_string_equal(text, "first");
	assert_int_equal(fm_sysfs_read_line(text, 4, "a/b"), 0);
	assert_string_equal(text, "fir");
	assert_int_equal(fm_sysfs_read_line(text, sizeof(text), "a/nothing"), -ENOENT);
	assert_int_equal(fm_sysfs_read_number(&number, "a/b"), -ENODATA);
	assert_int_equal(fm_sysfs_read_number(&number, "a/empty"), -ENODATA);
	assert_int_equal(number, 42);
	assert_int_equal(fm_sysfs_read_number(&number, "a/number"), 0);
	assert_int_equal(number, -17);
	assert_true(fm_sysfs_exists("a") && fm_sysfs_exists("a/b") && !fm_sysfs_exists("b"));
	/* sorted, nothing hidden, ended by the callback */
	fm_sysfs_each(collect, names, "a");
	assert_string_equal(names, "b c ");
	fm_sysfs_each(collect, names, "nothing");
	/* no room is no file, not another one */
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	assert_false(fm_sysfs_exists("a/../%s", long_name));
	assert_string_equal(fm_sysfs_path(text, 5, "a/b"), "");
	assert_true(fm_sysfs_is_name("cpu") && !fm_sysfs_is_name("..") && !fm_sysfs_is_name("a/b") &&
	            !fm_sysfs_is_name(""));
}

/* Machine and counters see the same tree. */
static void readers(void **state)
{
	struct fm_cpu_list list;
	struct fm_error error;

	(void)state;
	plant("bus/event_source/devices/strange/type", "77\n");
	plant("bus/event_source/devices/hollow/type", "");
	assert_int_equal(fm_sysfs_type("strange"), 77);
	assert_false(fm_sysfs_has_pmu("cpu") || fm_sysfs_has_pmu("hollow"));
	/* a tree without CPUs does not say that there are none */
	assert_int_equal(fm_cpu_list_allowed(&list, &error), 0);
	plant("devices/system/cpu/cpu4321/node5/x", "");
	plant("devices/system/cpu/present", "4321\n");
	assert_int_equal(fm_topology_node_of(4321), 5);
	assert_int_equal(fm_cpu_list_parse("0", &list, &error), -EINVAL);
	assert_non_null(strstr(error.message, "this machine has CPUs 4321"));
	plant("devices/system/cpu/cpu4321/online", "0\n");
	assert_int_equal(fm_cpu_list_parse("4321", &list, &error), -EINVAL);
	assert_non_null(strstr(error.message, "is offline"));
}

/* What the control groups allow, at least the outermost; hosts of version 1 have none of these. */
static void limits(void **state)
{
	unsigned processors = fm_processors_available();
	uint64_t memory = fm_memory_available();
	char line[256] = "";
	bool grouped = false;
	FILE *file = fopen("/proc/self/cgroup", "re");

	(void)state;
	while (file && fgets(line, sizeof(line), file))
		grouped |= !strncmp(line, "0::", 3);
	if (file)
		fclose(file);
	assert_true(processors >= 1 && memory > 5000);
	if (!grouped)
		skip();
	plant("fs/cgroup/cpu.max", "max 100000\n");
	plant("fs/cgroup/memory.max", "max\n");
	plant("fs/cgroup/memory.current", "2000\n");
	assert_int_equal(fm_processors_available(), processors);
	assert_true(fm_memory_available() > 5000);
	plant("fs/cgroup/cpu.max", "150000 100000\n");
	plant("fs/cgroup/memory.max", "7000\n");
	assert_int_equal(fm_processors_available(), 1);
	assert_int_equal(fm_memory_available(), 5000);
	plant("fs/cgroup/cpu.max", "50000 100000\n");
	assert_int_equal(fm_processors_available(), 1);
}

/* Control groups of either version, with those around them. */
static void memory_of_groups(void **state)
{
	char list[128];

	(void)state;
	snprintf(list, sizeof(list), "%s/list", root);
	assert_true(fm_memory_left_by_groups("/nowhere/at/all") == UINT64_MAX);
	/* version 2: the group has room, the one around it less */
	plant("list", "0::/outer/inner\n");
	plant("fs/cgroup/memory.max", "max\n");
	plant("fs/cgroup/memory.current", "1\n");
	assert_true(fm_memory_left_by_groups(list) == UINT64_MAX);
	plant("fs/cgroup/outer/inner/memory.max", "9000\n");
	plant("fs/cgroup/outer/inner/memory.current", "1000\n");
	assert_int_equal(fm_memory_left_by_groups(list), 8000);
	plant("fs/cgroup/outer/memory.max", "10000\n");
	plant("fs/cgroup/outer/memory.current", "7000\n");
	assert_int_equal(fm_memory_left_by_groups(list), 3000);
	plant("fs/cgroup/outer/memory.stat", "anon 5000\ninactive_file 1500\nactive_file 500\n");
	assert_int_equal(fm_memory_left_by_groups(list), 4500);
	plant("fs/cgroup/outer/inner/memory.high", "4000\n");
	assert_int_equal(fm_memory_left_by_groups(list), 3000);
	/* nothing is left: that is not no limit */
	plant("fs/cgroup/outer/inner/memory.current", "9500\n");
	assert_int_equal(fm_memory_left_by_groups(list), 0);
	/* version 1, among other controllers; a limit of nearly everything is none */
	plant("list", "5:cpu,cpuacct:/\n4:hugetlb,memory:/job/7\n1:name=systemd:/\n0::/\n");
	plant("fs/cgroup/memory/job/7/memory.limit_in_bytes", "9223372036854771712\n");
	plant("fs/cgroup/memory/job/7/memory.usage_in_bytes", "100\n");
	assert_true(fm_memory_left_by_groups(list) > 1ull << 60);
	plant("fs/cgroup/memory/job/memory.limit_in_bytes", "6000\n");
	plant("fs/cgroup/memory/job/memory.usage_in_bytes", "5000\n");
	plant("fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 400\n");
	assert_int_equal(fm_memory_left_by_groups(list), 1400);
	/* in a container, whose names are the host's */
	plant("list", "4:memory:/docker/0123\n");
	plant("fs/cgroup/memory/memory.limit_in_bytes", "5000\n");
	plant("fs/cgroup/memory/memory.usage_in_bytes", "4100\n");
	assert_int_equal(fm_memory_left_by_groups(list), 900);
	/* nonsense */
	plant("list", "memory\n::\n4:memory:\n");
	assert_int_equal(fm_memory_left_by_groups(list), 900);
}

static int set_up(void **state)
{
	(void)state;
	return !mkdtemp(root) || setenv("FATHOM_SYSFS", root, 1);
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(values),
	    cmocka_unit_test(readers),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(memory_of_groups),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
