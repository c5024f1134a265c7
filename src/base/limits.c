#include "base/limits.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"

/* The number in the first line of that format, 0 when there is none. */
static unsigned long long number_in(const char *path, const char *format)
{
	char line[128];
	unsigned long long number = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, format, &number) == 1)
			break;
	fclose(file);
	return number;
}

uint64_t fm_memory_information(const char *format)
{
	return number_in("/proc/meminfo", format) * 1024;
}

uint64_t fm_memory_huge_faults(void)
{
	return number_in("/proc/vmstat", "thp_fault_alloc %llu");
}

bool fm_memory_huge_always(void)
{
	char setting[64];

	return !fm_sysfs_read_line(setting, sizeof(setting), "kernel/mm/transparent_hugepage/enabled") &&
	       strstr(setting, "[always]");
}

/* Calls back for the control group of a list as /proc/self/cgroup is one, and for those around it: of version 2, and
   of version 1 with that controller. In a container the names may be those of the host; the outermost folder is the
   container's own then. */
static void each_group(const char *list, const char *controller,
                       void (*look)(const char *tree, const char *group, void *context), void *context)
{
	char line[512];
	FILE *file = fopen(list, "re");

	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL,
		     *slash;
		char names[256], *saved = NULL;
		bool version_2, wanted;

		line[strcspn(line, "\n")] = 0;
		if (!group)
			continue;
		snprintf(names, sizeof(names), "%.*s", (int)(group - controllers - 1), controllers + 1);
		version_2 = wanted = !*names;
		for (char *name = strtok_r(names, ",", &saved); name && !wanted; name = strtok_r(NULL, ",", &saved))
			wanted = !strcmp(name, controller);
		for (group++; wanted; *slash = 0) {
			if (!strcmp(group, "/"))
				*group = 0;
			look(version_2 ? "" : controller, group, context);
			/* where both versions are in use */
			if (version_2)
				look("unified", group, context);
			slash = strrchr(group, '/');
			if (!slash)
				break;
		}
	}
	if (file)
		fclose(file);
}

/* A line "NAME bytes" of a group's account; 0: there is none. */
static long long account_of(const char *folder, const char *format)
{
	char path[1024];

	return (long long)number_in(fm_sysfs_path(path, sizeof(path), "%s/memory.stat", folder), format);
}

static void look_at_memory(const char *tree, const char *group, void *context)
{
	static const struct {
		const char *limit, *used, *cached;
	} files[] = {{"memory.max", "memory.current", "inactive_file %llu"},
	             {"memory.high", "memory.current", "inactive_file %llu"},
	             {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file %llu"}};
	uint64_t *least = context;
	char folder[768];

	snprintf(folder, sizeof(folder), "fs/cgroup%s%s%s", *tree ? "/" : "", tree, group);
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		long long limit, used, left;

		if (fm_sysfs_read_number(&limit, "%s/%s", folder, files[i].limit) ||
		    fm_sysfs_read_number(&used, "%s/%s", folder, files[i].used))
			continue;
		/* unused pages of the page cache are reclaimed first */
		left = limit - used + account_of(folder, files[i].cached);
		left = left < 0 ? 0 : left > limit ? limit : left;
		if ((uint64_t)left < *least)
			*least = (uint64_t)left;
	}
}

uint64_t fm_memory_left_by_groups(const char *list)
{
	uint64_t least = UINT64_MAX;

	each_group(list, "memory", look_at_memory, &least);
	return least;
}

uint64_t fm_memory_available(void)
{
	uint64_t available = fm_memory_information("MemAvailable: %llu"),
	         left = fm_memory_left_by_groups("/proc/self/cgroup");

	return left < available ? left : available;
}

static void look_at_quota(const char *tree, const char *group, void *context)
{
	unsigned *least = context;
	long long quota, period;
	char text[64];

	if (!fm_sysfs_read_line(text, sizeof(text), "fs/cgroup%s%s%s/cpu.max", *tree ? "/" : "", tree, group) &&
	    sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0 && quota / period < *least)
		*least = (unsigned)(quota / period);
}

unsigned fm_processors_available(void)
{
	cpu_set_t set;
	unsigned count = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);

	each_group("/proc/self/cgroup", "cpu", look_at_quota, &count);
	return count ? count : 1;
}
