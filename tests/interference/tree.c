#include "interference/tree.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

const char *const tree_intel[] = {"info/",
                                  "info/L3/",
                                  "info/MB/",
                                  "mon_groups/",
                                  "mon_data/",
                                  "info/L3/cbm_mask 7ff",
                                  "info/L3/min_cbm_bits 1",
                                  "info/L3/shareable_bits 600",
                                  "info/L3/num_closids 16",
                                  "info/MB/min_bandwidth 10",
                                  "info/MB/bandwidth_gran 10",
                                  "info/MB/num_closids 8",
                                  "info/last_cmd_status ok",
                                  "schemata     MB:0=100;1=100\n    L3:0=7ff;1=7ff",
                                  "tasks 1\n2",
                                  "cpus_list 0-63",
                                  NULL};
const char *const tree_cdp[] = {"info/",
                                "info/L3CODE/",
                                "info/L3DATA/",
                                "info/L2/",
                                "info/L3CODE/cbm_mask fffff",
                                "info/L3DATA/cbm_mask fffff",
                                "info/L3CODE/min_cbm_bits 2",
                                "info/L3DATA/min_cbm_bits 2",
                                "info/L2/cbm_mask ff",
                                "info/L2/min_cbm_bits 1",
                                "schemata L3DATA:0=fffff\nL3CODE:0=fffff\n    L2:0=ff;1=ff;4=ff",
                                "tasks 1",
                                NULL};
const char *const tree_amd[] = {"info/",
                                "info/L3/",
                                "info/MB/",
                                "info/L3/cbm_mask ffff",
                                "info/L3/min_cbm_bits 1",
                                "info/L3/shareable_bits 0",
                                "info/MB/min_bandwidth 0",
                                "info/MB/bandwidth_gran 1",
                                "schemata     MB:0=2048;1=2048\n    L3:0=ffff;1=ffff",
                                "tasks 1",
                                NULL};
const char *const tree_megabytes[] = {
    "info/",   "info/MB/", "info/MB/min_bandwidth 10", "info/MB/bandwidth_gran 10", "schemata     MB:0=4294967295",
    "tasks 1", NULL};

static const char *path_of(const char *path)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s/%s", root, path);
	return text;
}

void tree_write(const char *path, const char *text)
{
	FILE *file = fopen(path_of(path), "w");

	if (!file)
		abort();
	fprintf(file, "%s\n", text);
	fclose(file);
}

const char *tree_make(const char *const *layout)
{
	snprintf(root, sizeof(root), "/tmp/fathom-resctrl-XXXXXX");
	if (!mkdtemp(root))
		abort();
	for (; *layout; layout++) {
		const char *blank = strchr(*layout, ' ');
		char path[128];

		snprintf(path, sizeof(path), "%.*s", blank ? (int)(blank - *layout) : 127, *layout);
		if (!blank && mkdir(path_of(path), 0755))
			abort();
		if (blank)
			tree_write(path, blank + 1);
	}
	setenv("FATHOM_RESCTRL_ROOT", root, 1);
	return root;
}

const char *tree_read(const char *path)
{
	static char text[8192];
	FILE *file = fopen(path_of(path), "r");

	text[0] = 0;
	if (!file)
		return text;
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	return text;
}

int tree_exists(const char *path)
{
	struct stat about;

	return !lstat(path_of(path), &about);
}

static int drop(const char *path, const struct stat *about, int type, struct FTW *walk)
{
	(void)about;
	(void)type;
	(void)walk;
	return remove(path);
}

void tree_remove(void)
{
	if (*root)
		nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
	*root = 0;
}
