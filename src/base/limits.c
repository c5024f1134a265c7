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

/* Calls back for the control group and those around it. Version 2 only: version 1 hosts report limits in the files of
   their containers' lxcfs or not at all. */
static void each_group(void (*look)(const char *group, void *context), void *context)
{
	char line[512];
	FILE *file = fopen("/proc/self/cgroup", "re");

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "0::", 3))
			continue;
		for (char *group = line + 3, *slash;; *slash = 0) {
			look(group, context);
			slash = strrchr(group, '/');
			if (!slash)
				break;
		}
	}
	if (file)
		fclose(file);
}

static void look_at_memory(const char *group, void *context)
{
	uint64_t *least = context;
	long long limit, current;

	if (!fm_sysfs_read_number(&limit, "fs/cgroup%s/memory.max", group) &&
	    !fm_sysfs_read_number(&current, "fs/cgroup%s/memory.current", group) && limit > current &&
	    (uint64_t)(limit - current) < *least)
		*least = (uint64_t)(limit - current);
}

uint64_t fm_memory_available(void)
{
	uint64_t available = fm_memory_information("MemAvailable: %llu");

	each_group(look_at_memory, &available);
	return available;
}

static void look_at_quota(const char *group, void *context)
{
	unsigned *least = context;
	long long quota, period;
	char text[64];

	if (!fm_sysfs_read_line(text, sizeof(text), "fs/cgroup%s/cpu.max", group) &&
	    sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0 && quota / period < *least)
		*least = (unsigned)(quota / period);
}

unsigned fm_processors_available(void)
{
	cpu_set_t set;
	unsigned count = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);

	each_group(look_at_quota, &count);
	return count ? count : 1;
}
