#include "base/limits.h"

#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"

static uint64_t system_available(void)
{
	char line[128];
	unsigned long long kilobytes = 0;
	FILE *file = fopen("/proc/meminfo", "re");

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu", &kilobytes) == 1)
			break;
	fclose(file);
	return kilobytes * 1024;
}

/* What the innermost control group with a limit leaves, or UINT64_MAX. Version 2 only: version 1 hosts report it in
   MemAvailable of their containers' lxcfs or not at all. */
static uint64_t control_group_available(void)
{
	char line[512];
	FILE *file = fopen("/proc/self/cgroup", "re");
	uint64_t least = UINT64_MAX;

	if (!file)
		return least;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "0::", 3))
			continue;
		for (char *group = line + 3;;) {
			long long limit, current;
			char *slash = strrchr(group, '/');

			if (!fm_sysfs_read_number(&limit, "fs/cgroup%s/memory.max", group) &&
			    !fm_sysfs_read_number(&current, "fs/cgroup%s/memory.current", group) && limit > current &&
			    (uint64_t)(limit - current) < least)
				least = (uint64_t)(limit - current);
			if (!slash)
				break;
			*slash = 0;
		}
	}
	fclose(file);
	return least;
}

uint64_t fm_memory_available(void)
{
	uint64_t available = system_available(), group = control_group_available();

	return available < group ? available : group;
}
