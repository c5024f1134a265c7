#include "base/host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"

bool fm_host_is_virtual(void)
{
	FILE *file;
	char line[4096];
	bool found = false;

	/* device trees and Xen have a place for it; x86 processors a flag */
	if (!access("/proc/device-tree/hypervisor", F_OK) || fm_sysfs_exists("hypervisor/type"))
		return true;
	file = fopen("/proc/cpuinfo", "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "flags", 5) && strstr(line, " hypervisor");
	if (file)
		fclose(file);
	return found;
}
