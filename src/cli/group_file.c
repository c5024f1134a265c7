#include "cli/group_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "counters/library.h"
#include "exact/description.h"

static const struct {
	const char *pmu, *folder;
} families[] = {
#define FAMILY(pmu, folder) {pmu, folder},
#include "cli/families.def"
#undef FAMILY
};

bool fm_group_file(const char *name, char *path, size_t size)
{
	char machine[4096], *slash;

	snprintf(path, size, "%s", name);
	if (!access(path, R_OK))
		return true;
	if (fm_description_file("haswell-ep", "machine", machine, sizeof(machine)) || !(slash = strrchr(machine, '/')))
		return false;
	snprintf(path, size, "%.*s/../groups/%s.txt", (int)(slash - machine), machine, name);
	return !access(path, R_OK);
}

bool fm_vendor_file(const char *family, char *path, size_t size)
{
	char name[64];

	for (size_t i = 0; !family && i < sizeof(families) / sizeof(families[0]); i++)
		if (fm_library_has_pmu(families[i].pmu))
			family = families[i].folder;
	if (!family || strchr(family, '/'))
		return false;
	snprintf(name, sizeof(name), "%s/UTILISATION", family);
	return fm_group_file(name, path, size);
}
