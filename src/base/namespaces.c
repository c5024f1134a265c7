#include "base/namespaces.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

uint64_t fm_namespace_of_processes(void)
{
	struct stat there;

	return stat("/proc/self/ns/pid", &there) ? 0 : there.st_ino;
}

static bool maps(const char *process, const char *file)
{
	char path[64], line[4352];
	FILE *list;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%.20s/maps", process);
	list = fopen(path, "re");
	while (list && !found && fgets(line, sizeof(line), list)) {
		size_t length, wanted = strlen(file);

		line[strcspn(line, "\n")] = 0;
		length = strlen(line);
		found = length > wanted && !strcmp(line + length - wanted, file) && line[length - wanted - 1] == '/';
	}
	if (list)
		fclose(list);
	return found;
}

pid_t fm_namespace_find(const char *file)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	pid_t process = 0;

	while (folder && !process && (entry = readdir(folder)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && maps(entry->d_name, file))
			process = (pid_t)strtol(entry->d_name, NULL, 10);
	if (folder)
		closedir(folder);
	return process;
}
